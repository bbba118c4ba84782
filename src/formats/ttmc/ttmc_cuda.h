/* GPU side of the tensor-times-matrix chain: what formats give, and what runs it. */
#ifndef PD_TTMC_CUDA_H
#define PD_TTMC_CUDA_H

#include "device/cuda/cuda_state.h"
#include "formats/format.h"
#include "formats/scratch_cuda.h"
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

/** Scratch of chains with factors of some ranks; a format fills in `list`. */
struct pd_ttmc_gpu_work {
  struct pd_scratch base;
  int order;
  struct pd_ttmc_list list[POLYAD_MAX_ORDER];
  double *carries; /* heads and tails of the largest mode */
};

/** Fills in work->list of every mode. */
typedef polyad_status pd_ttmc_fill_function(polyad_context *context, const void *storage,
                                            struct pd_ttmc_gpu_work *work);
polyad_status pd_ttmc_gpu_fill(polyad_context *context, int order, pd_ttmc_fill_function *fill,
                               const void *storage, const uint64_t *ranks, void *work);
/** Bytes of heads and tails for nnz nonzeros: an upper bound. */
uint64_t pd_ttmc_gpu_carry_bytes(int order, uint64_t nnz, const uint64_t *ranks);

/** Defines pd_NAME_ttmc_walk_cuda, the walk of the chain for a format, whose storage is a struct
 *  pd_NAME, with functions NAME_ttmc_cuda_bytes() and NAME_ttmc_cuda_lists(). */
#define PD_TTMC_WALK_CUDA(name)                                                                    \
  static polyad_status name##_ttmc_cuda_fill(polyad_context *context, const void *storage,         \
                                             const uint64_t *ranks, void *work) {                  \
    return pd_ttmc_gpu_fill(context, ((const struct pd_##name *)storage)->order,                   \
                            name##_ttmc_cuda_lists, storage, ranks, work);                         \
  }                                                                                                \
  const struct pd_walk pd_##name##_ttmc_walk_cuda = {.ops = PD_OPS_TTMC,                           \
                                                     .scratch_bytes =                              \
                                                         sizeof(struct pd_ttmc_gpu_work),          \
                                                     .workspace_bytes = name##_ttmc_cuda_bytes,    \
                                                     .fill = name##_ttmc_cuda_fill,                \
                                                     .run = pd_ttmc_gpu_run,                       \
                                                     .rows = pd_ttmc_gpu_rows};
polyad_status pd_ttmc_gpu_run(polyad_context *context, const void *storage, void *work,
                              const struct pd_call *call);
bool pd_ttmc_gpu_rows(const void *work, int mode, struct pd_row_list *list);

#endif
