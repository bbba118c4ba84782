/* GPU side of the tensor-times-matrix chain: what formats give, and what runs it. */
#ifndef PD_TTMC_CUDA_H
#define PD_TTMC_CUDA_H

#include "device/cuda/cuda_state.h"
#include "formats/format.h"
#include "formats/ttmc/ttmc_gpu.h"

/** The nonzeros of one output mode on the device. */
struct pd_ttmc_list {
  uint64_t nnz;
  int columns;
  int column_mode[POLYAD_MAX_ORDER];
  struct pd_gpu_ttmc_index column[POLYAD_MAX_ORDER], row;
  const uint32_t *order;
  const void *values;
  bool atomic; /* rows are not in order */
};

enum { PD_TTMC_OWNED = 3 * POLYAD_MAX_ORDER + 2 };

/** Scratch of chains with factors of some ranks; a format fills in `list` and what it uploads for
 *  it. */
struct pd_ttmc_gpu_work {
  const struct pd_device *device;
  int order;
  struct pd_ttmc_list list[POLYAD_MAX_ORDER];
  double *carries; /* heads and tails of the largest mode */
  int owned;
  void *own[PD_TTMC_OWNED]; /* arrays on the device that belong to the work */
};

/** Fills in work->list of every mode. */
typedef polyad_status pd_ttmc_fill_function(polyad_context *context, const void *storage,
                                            struct pd_ttmc_gpu_work *work);
/** `scratch` becomes a struct pd_ttmc_gpu_work, NULL on failure. */
polyad_status pd_ttmc_gpu_create(polyad_context *context, const struct pd_device *device, int order,
                                 pd_ttmc_fill_function *fill, const void *storage,
                                 const uint64_t *ranks, void **scratch);
void pd_ttmc_gpu_destroy(polyad_context *context, void *work);
/** An array on the device that the work owns, to be filled there. */
polyad_status pd_ttmc_gpu_own(polyad_context *context, struct pd_ttmc_gpu_work *work,
                              uint64_t count, size_t size, void **out);
/** Bytes of heads and tails for nnz nonzeros: an upper bound. */
uint64_t pd_ttmc_gpu_carry_bytes(int order, uint64_t nnz, const uint64_t *ranks);

/** Defines pd_NAME_ttmc_walk_cuda, the walk of the chain for a format, whose storage is a struct
 *  pd_NAME, with functions NAME_ttmc_cuda_bytes() and NAME_ttmc_cuda_fill(). */
#define PD_TTMC_WALK_CUDA(name)                                                                    \
  static polyad_status name##_ttmc_cuda_create(                                                    \
      polyad_context *context, const struct pd_device *device, const void *storage,                \
      const uint64_t *ranks, void **scratch) {                                                     \
    return pd_ttmc_gpu_create(context, device, ((const struct pd_##name *)storage)->order,         \
                              name##_ttmc_cuda_fill, storage, ranks, scratch);                     \
  }                                                                                                \
  const struct pd_walk pd_##name##_ttmc_walk_cuda = {.ops = PD_OPS_TTMC,                           \
                                                     .workspace_bytes = name##_ttmc_cuda_bytes,    \
                                                     .workspace_create = name##_ttmc_cuda_create,  \
                                                     .workspace_destroy = pd_ttmc_gpu_destroy,     \
                                                     .run = pd_ttmc_gpu_run};
polyad_status pd_ttmc_gpu_run(polyad_context *context, const void *storage, void *work,
                              const struct pd_call *call);

#endif
