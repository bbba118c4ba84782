/** @file
 *  @brief Synthetic tensors: uniform, skewed, like a published one, from known factors.
 *
 *  All generators are deterministic: the same options give the same tensor for every number
 *  of threads. */
#ifndef POLYAD_GENERATE_H
#define POLYAD_GENERATE_H

#include <polyad/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How the nonzeros of a tensor like a published one lie.
 *
 *  POLYAD_STRUCTURE_FIBERS: with as many distinct tuples of the first modes, and as many non-empty
 *  slices, as the real tensor has where these counts are published (T. Torun, A. Taweel, D. Unat,
 *  "A Sparse Tensor Generator with Efficient Feature Extraction", arXiv 2405.04944; for a tensor of
 *  M modes, tuples of the first M - 1 and M - 2, with spread and largest value of fibers in a slice
 *  and nonzeros in a fiber). All slices of other modes are non-empty. With `scale`, tuples of two
 *  modes and more are multiplied as the nonzeros are, so that fibers keep their lengths, as far as
 *  dims allow; slices stay non-empty while four tuples or more end in each, else their number is
 *  multiplied, too.
 *
 *  POLYAD_STRUCTURE_FLAT: by independent laws of the modes, or published tiles: fibers of the first
 *  modes are then shorter than real ones, 5.7 nonzeros to a pair of nell-2's first two modes, where
 *  the real tensor has 228. */
typedef enum polyad_structure {
  POLYAD_STRUCTURE_AUTO = 0, /**< fibers where counts are published, else flat */
  POLYAD_STRUCTURE_FIBERS,   /**< as published; POLYAD_INVALID_ARGUMENT where nothing is */
  POLYAD_STRUCTURE_FLAT      /**< without regard to fibers */
} polyad_structure;

/** What to generate. Start from polyad_generate_options_init().
 *
 *  Without `rank`, indices of each mode follow a power law over its ranks 1 to I_n, the ranks
 *  being scattered over the indices (but in modes longer than 2^26), and values are counts from 1
 *  to 9. With `rank`, values come from a known model: with `poisson`, events fall on cells with
 *  the model's probabilities until `nnz` cells are hit, and values count them; else each
 *  component has normally distributed entries in a share of the rows of each mode, so that the
 *  model itself is sparse; the few cells that are then too many, the smallest ones, are left out,
 *  and noise falls on the others. */
typedef struct polyad_generate_options {
  const char *like;                /**< name of a published tensor, or NULL; see
                                        polyad_generate_like_name() */
  double scale;                    /**< with `like`: multiplies nnz, not dims; default 1 */
  polyad_structure structure;      /**< with `like`: default POLYAD_STRUCTURE_AUTO */
  int order;                       /**< number of modes (without `like`) */
  uint64_t dims[POLYAD_MAX_ORDER]; /**< length of each mode (without `like`) */
  uint64_t nnz;                    /**< number of distinct nonzeros, exact (without `like`) */
  double skew[POLYAD_MAX_ORDER];   /**< exponent of each mode's power law, 0 to 8; 0: uniform */
  double cluster;                  /**< share of nonzeros that continue a fiber of the last mode,
                                        0 to below 1 */
  uint64_t rank;                   /**< not 0: values from a known model of this rank */
  double noise;                    /**< with rank: ||noise|| / ||signal||, Gaussian */
  int poisson;                     /**< with rank: values are Poisson counts of the model */
  polyad_type type;                /**< type of the values; default POLYAD_F64 */
} polyad_generate_options;

/** Sets defaults: no skew, no clustering, scale 1, POLYAD_F64. */
POLYAD_API void polyad_generate_options_init(polyad_generate_options *options);

/** Generates a tensor with the context's seed.
 *  @param[out] tensor  destroyed with polyad_tensor_destroy()
 *  @param[out] truth   with rank: the known model; may be NULL
 *  @return POLYAD_INVALID_ARGUMENT (more nonzeros than cells names both numbers),
 *  POLYAD_MEMORY_LIMIT, POLYAD_OUT_OF_MEMORY */
POLYAD_API POLYAD_CHECKED polyad_status polyad_generate(polyad_context *context,
                                                        const polyad_generate_options *options,
                                                        polyad_tensor **tensor,
                                                        polyad_ktensor **truth);
/** Generates straight into a file; it holds exactly the tensor that polyad_generate() makes.
 *  Text (.tns, also .gz and .zst) and .ptn are written piece by piece, so that the tensor may be
 *  larger than the memory limit; other formats, and tensors with `rank`, are made in memory.
 *  @param path  file; "-" for text on standard output
 *  @return as polyad_generate(); POLYAD_IO, POLYAD_CANCELLED */
POLYAD_API POLYAD_CHECKED polyad_status polyad_generate_to_file(
    polyad_context *context, const polyad_generate_options *options, const char *path);

/** Name of the published tensor number `which` (from 0), or NULL after the last. */
POLYAD_API const char *polyad_generate_like_name(int which);

#ifdef __cplusplus
}
#endif
#endif
