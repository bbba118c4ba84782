/* Arrays of workspaces on a GPU: as pd_scratch_array() (engine/op.h), which modules do not have. */
#ifndef PD_SCRATCH_CUDA_H
#define PD_SCRATCH_CUDA_H

#include "device/cuda/cuda_state.h"
#include "engine/op.h"

/** An array of a workspace on the device. */
#define PD_CUDA_SCRATCH(context, scratch, count, size, out)                                        \
  pd_cuda_scratch_array((context), (scratch), (count), (size), (void **)(out))
static inline polyad_status pd_cuda_scratch_array(polyad_context *context,
                                                  struct pd_scratch *scratch, uint64_t count,
                                                  size_t size, void **out) {
  struct pd_scratch *root = scratch->root;
  PD_TRY(pd_cuda_allocate(context, root->device, count, size, out));
  root->array[root->count++] = *out;
  return POLYAD_OK;
}

#endif
