/* Values of a Kruskal tensor at chosen coordinates. */
#include "tensor/ktensor_scale.h"
#include "tensor/tensor.h"
#include <math.h>

polyad_status polyad_ktensor_values(polyad_context *context, const polyad_ktensor *ktensor,
                                    uint64_t count, const uint64_t *coordinates, double *values) {
  PD_ENTER(context);
  if (ktensor == NULL || (count != 0 && (coordinates == NULL || values == NULL)))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "a NULL where a model, coordinates or values were expected");
  uint64_t order = (uint64_t)ktensor->order;
  PD_TRY(pd_check_coordinates(context, ktensor->order, ktensor->dims, count, coordinates));
  struct pd_scaled_model model;
  PD_TRY(pd_scale_model(context, ktensor, &model));
  int threads = pd_threads_for(context, count, 1 << 12);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < count; ++p)
    values[p] = ldexp(pd_model_value(&model, coordinates + p * order), model.exponent);
  pd_unscale_model(context, &model);
  return POLYAD_OK;
}
