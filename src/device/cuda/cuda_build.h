/* The steps of building a storage on a GPU. */
#ifndef PD_CUDA_BUILD_H
#define PD_CUDA_BUILD_H

#include "device/build.h"

extern const struct pd_device_build pd_cuda_build;

struct pd_build {
  const struct pd_device *device;
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
  void *block; /* what is allocated together: see pd_cuda_build_allocate() */
  uint32_t *index[POLYAD_MAX_ORDER];
  uint64_t borrowed; /* bit n: index[n] is somebody else's, or in the block */
  bool child;        /* keys, permutations and numbers are those of the build it was made from */
  bool lent_values;  /* values are, or in the block */
  int least;         /* how many pieces of a key a sort must look at, whatever they are */
  void *values;
  void *keys[2];
  uint32_t *permutation[2];
  int at;            /* the permutation that was found last is permutation[at] */
  bool identity;     /* it is the tensor's own order */
  uint32_t *sorted;  /* output rows in an order, as tables of rows want them: in the keys' memory */
  uint32_t *degree;  /* one per slice of the longest mode */
  uint64_t *numbers; /* sums of classes, and how many rows were found */
  uint64_t classified; /* bit n: classes[n] have been counted */
  struct pd_build_classes classes[POLYAD_MAX_ORDER];
  uint64_t merged, zeros; /* of a caller's arrays: repeats that were merged, and zeros found */
  void *temporary;
  uint64_t temporary_bytes;
};

/** Makes `temporary` at least so long. */
polyad_status pd_cuda_build_temporary(polyad_context *context, struct pd_build *build,
                                      size_t bytes);
/** Takes the memory that sorting needs, once lengths are known, and with it that of indices and
 *  values where these are to be filled. It is one block, since the driver takes as long for a short
 *  array as for a long one. */
polyad_status pd_cuda_build_allocate(polyad_context *context, struct pd_build *build, bool arrays);
/** Slots of the table. */
polyad_status pd_cuda_arrays_open(polyad_context *context, const struct pd_device *device,
                                  const polyad_tensor_input *input, struct pd_build **out);
polyad_status pd_cuda_arrays_facts(polyad_context *context, struct pd_build *build,
                                   struct pd_build_facts *facts);
polyad_status pd_cuda_arrays_scale(polyad_context *context, struct pd_build *build, int exponent);
polyad_status pd_cuda_deal(polyad_context *context, struct pd_build *build,
                           const struct pd_build_grid *grid, uint64_t *count);
polyad_status pd_cuda_deal_mark(polyad_context *context, const struct pd_device *device,
                                const uint32_t *index, uint64_t count, uint64_t first,
                                uint64_t length, uint32_t *has);
polyad_status pd_cuda_deal_renumber(polyad_context *context, const struct pd_device *device,
                                    uint32_t *index, uint64_t count, uint64_t first,
                                    uint64_t length, const uint32_t *number);
polyad_status pd_cuda_build_sort(polyad_context *context, struct pd_build *build,
                                 const struct pd_build_key *key);
/** The order that was found last; NULL: that of the tensor. */
const uint32_t *pd_cuda_build_order(const struct pd_build *build);
polyad_status pd_cuda_build_runs(polyad_context *context, struct pd_build *build,
                                 const struct pd_build_key *key, uint32_t **start, uint32_t *runs);
polyad_status pd_cuda_build_split(polyad_context *context, struct pd_build *build,
                                  const struct pd_build_key *key, uint32_t least,
                                  struct pd_build_parts *parts);
polyad_status pd_cuda_build_bitmaps(polyad_context *context, struct pd_build *build,
                                    const struct pd_build_parts *parts,
                                    const struct pd_build_planes *cell, uint64_t words,
                                    uint32_t *bits);
polyad_status pd_cuda_build_pack(polyad_context *context, struct pd_build *build,
                                 const struct pd_build_planes *items, int bits, uint64_t words);
polyad_status pd_cuda_build_largest(polyad_context *context, struct pd_build *build, double *most);
void pd_cuda_build_close(polyad_context *context, struct pd_build *build);
polyad_status pd_cuda_build_group(polyad_context *context, struct pd_build *build, const int *modes,
                                  int count, struct pd_build_groups *groups);
uint64_t pd_cuda_build_group_bytes(uint64_t nnz, uint64_t tuples, int count, polyad_type type);

#endif
