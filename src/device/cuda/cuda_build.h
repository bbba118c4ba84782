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
  uint32_t *index[POLYAD_MAX_ORDER];
  uint64_t borrowed; /* bit n: index[n] is somebody else's */
  bool child;        /* keys, permutations and numbers are those of the build it was made from */
  bool lent_values;  /* values are, too */
  int least;         /* how many modes a sort must look at, however they are ordered */
  void *values;
  void *keys[2];
  uint32_t *permutation[2];
  int at;            /* the permutation that was found last is permutation[at] */
  bool identity;     /* it is the tensor's own order */
  uint32_t *degree;  /* one per slice of the longest mode */
  uint64_t *numbers; /* sums of classes, and how many rows were found */
  void *temporary;
  uint64_t temporary_bytes;
};

uint64_t pd_cuda_build_longest(int order, const uint64_t *dims);
/** Makes `temporary` at least so long. */
polyad_status pd_cuda_build_temporary(polyad_context *context, struct pd_build *build,
                                      size_t bytes);
/** Slots of the table. */
polyad_status pd_cuda_build_sort(polyad_context *context, struct pd_build *build, const int *modes,
                                 int count);
void pd_cuda_build_close(polyad_context *context, struct pd_build *build);
polyad_status pd_cuda_build_group(polyad_context *context, struct pd_build *build, const int *modes,
                                  int count, struct pd_build_groups *groups);
uint64_t pd_cuda_build_group_bytes(uint64_t nnz, uint64_t tuples, int count, polyad_type type);

#endif
