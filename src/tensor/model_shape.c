/* Whether a tensor has the shape of a model, and coordinates lie in it. */
#include "tensor/tensor.h"
#include <inttypes.h>

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

polyad_status pd_check_coordinates(polyad_context *context, int order, const uint64_t *dims,
                                   uint64_t count, const uint64_t *coordinates) {
  uint64_t modes = (uint64_t)order, bad = UINT64_MAX;
  int threads = pd_threads_for(context, count, 1 << 12);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : bad)
  for (uint64_t p = 0; p < count; ++p)
    for (uint64_t n = 0; n < modes; ++n)
      if (coordinates[p * modes + n] >= dims[n] && p < bad) bad = p;
  for (uint64_t n = 0; bad != UINT64_MAX && n < modes; ++n)
    PD_EXPECT(context, coordinates[bad * modes + n] < dims[n],
              "coordinate %" PRIu64 " has index %" PRIu64 " in mode %" PRIu64
              "; expected %d to %" PRIu64 " (all counted from %d)",
              pd_shown(context, bad), pd_shown(context, coordinates[bad * modes + n]),
              pd_shown(context, n), pd_shown_mode(context, 0), pd_shown(context, dims[n] - 1),
              pd_shown_mode(context, 0));
  return POLYAD_OK;
}
