/* Values of a Kruskal tensor at chosen coordinates. */
#include "tensor/ktensor_scale.h"
#include <inttypes.h>
#include <math.h>

polyad_status polyad_ktensor_values(polyad_context *context, const polyad_ktensor *ktensor,
                                    uint64_t count, const uint64_t *coordinates, double *values) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (ktensor == NULL || (count != 0 && (coordinates == NULL || values == NULL)))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "a NULL where a model, coordinates or values were expected");
  uint64_t order = (uint64_t)ktensor->order, bad = UINT64_MAX;
  int threads = pd_threads_for(context, count, 1 << 12);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : bad)
  for (uint64_t p = 0; p < count; ++p)
    for (uint64_t n = 0; n < order; ++n)
      if (coordinates[p * order + n] >= ktensor->dims[n] && p < bad) bad = p;
  for (uint64_t n = 0; bad != UINT64_MAX && n < order; ++n)
    if (coordinates[bad * order + n] >= ktensor->dims[n])
      return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                     "coordinate %" PRIu64 " has index %" PRIu64 " in mode %" PRIu64
                     "; expected %d to %" PRIu64 " (all counted from %d)",
                     pd_shown(context, bad), pd_shown(context, coordinates[bad * order + n]),
                     pd_shown(context, n), pd_shown_mode(context, 0),
                     pd_shown(context, ktensor->dims[n] - 1), pd_shown_mode(context, 0));

  struct pd_scaled_model model;
  PD_TRY(pd_scale_model(context, ktensor, &model));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < count; ++p)
    values[p] = ldexp(pd_model_value(&model, coordinates + p * order), model.exponent);
  pd_unscale_model(context, &model);
  return POLYAD_OK;
}
