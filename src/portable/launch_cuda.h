/* Starts the instance just defined in the C++ dialects for GPUs. */
#include "portable/real_types.h"

static PD_GPU_ERROR PD_INSTANCE(run)(const struct pd_rows_launch *launch, PD_GPU_STREAM stream) {
  const struct pd_rows_pointers *at = &launch->at;
  uint64_t blocks = (launch->groups + PD_GROUPS - 1) / PD_GROUPS;
  PD_INSTANCE(rows)<<<(unsigned)blocks, PD_GROUPS * PD_LANES, 0, stream>>>(
      launch->job, static_cast<const pd_u32 *>(at->ends), static_cast<const REAL *>(at->values),
      static_cast<const pd_u64 *>(at->row_start), static_cast<const pd_u32 *>(at->row_id),
      static_cast<const pd_u32 *>(at->chunk_row), static_cast<const REAL *>(at->b),
      static_cast<REAL *>(at->out), static_cast<REAL *>(at->head), static_cast<REAL *>(at->tail),
      PD_LIST(PD_PLANE_ARGUMENT), PD_LIST(PD_FACTOR_ARGUMENT));
  return PD_GPU_LAST_ERROR();
}

#include "portable/real_types_end.h"
