/* Whether a tensor has the shape of a model. */
#include "tensor/tensor.h"

polyad_status pd_model_check_shape(polyad_context *context, int order, const uint64_t *dims,
                                   const polyad_tensor *tensor, unsigned free_modes,
                                   const char *expected) {
  if (tensor->order != order)
    return pd_fail(context, POLYAD_MISMATCH, "the model has %d modes and the tensor %d", order,
                   tensor->order);
  for (int n = 0; n < order; ++n)
    if ((free_modes >> n & 1) == 0 && tensor->dims[n] != dims[n])
      return pd_fail(context, POLYAD_MISMATCH,
                     "mode %d has length %llu in the model and %llu in the tensor; expected %s",
                     pd_shown_mode(context, n), (unsigned long long)dims[n],
                     (unsigned long long)tensor->dims[n], expected);
  return POLYAD_OK;
}
