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

/** What to generate. Start from polyad_generate_options_init(). */
typedef struct polyad_generate_options {
  const char *like;                /**< name of a published tensor, or NULL; see
                                        polyad_generate_like_name() */
  double scale;                    /**< with `like`: multiplies nnz only; default 1 */
  int order;                       /**< number of modes (without `like`) */
  uint64_t dims[POLYAD_MAX_ORDER]; /**< length of each mode (without `like`) */
  uint64_t nnz;                    /**< number of distinct nonzeros (without `like`) */
  double skew[POLYAD_MAX_ORDER];   /**< exponent of each mode's power law; 0: uniform */
  double cluster;                  /**< share of nonzeros that continue a fiber, 0 to below 1 */
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
/** Generates straight into a file (.tns or .ptn), also when the tensor is larger than the
 *  memory limit; the file holds exactly the tensor that polyad_generate() makes. */
POLYAD_API POLYAD_CHECKED polyad_status polyad_generate_to_file(
    polyad_context *context, const polyad_generate_options *options, const char *path);

/** Name of the published tensor number `which` (from 0), or NULL after the last. */
POLYAD_API const char *polyad_generate_like_name(int which);

#ifdef __cplusplus
}
#endif
#endif
