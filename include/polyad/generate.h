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
  double scale;                    /**< with `like`: multiplies nnz only; default 1 */
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
