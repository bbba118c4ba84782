/* First models of CP decompositions: uniform random factors, or the caller's model; and the power
 * of two by which the plan has scaled the values, which goes back into the weights. */
#include "algorithms/model_start.h"
#include "core/random.h"
#include <math.h>
#include <string.h>

void pd_model_fill_random(polyad_context *context, const polyad_plan *plan, int restart,
                          polyad_ktensor *model) {
  uint64_t seed = polyad_seed(context);
  for (int n = 0; n < model->order; ++n) {
    uint64_t stream = pd_model_stream(restart, n);
    uint64_t rank = model->rank, rows = model->dims[n];
    int threads = pd_threads_for(context, rows * rank, 1 << 16);
    void *factor = model->factor[n];
#pragma omp parallel for num_threads(threads) schedule(static)
    for (uint64_t i = 0; i < rows; ++i) {
      uint64_t first = (plan != NULL ? pd_plan_index(plan, n, i) : i) * rank;
      for (uint64_t r = 0; r < rank; ++r)
        pd_model_set(model, factor, i * rank + r, pd_random_uniform(seed, stream, first + r));
    }
  }
}

void pd_model_unit_weights(polyad_ktensor *model) {
  for (uint64_t r = 0; r < model->rank; ++r)
    pd_model_set(model, model->weights, r, 1.0);
}

static polyad_status model_start_check_initial(polyad_context *context, const polyad_plan *plan,
                                               const polyad_ktensor *initial,
                                               const polyad_ktensor *model) {
  PD_EXPECT(context, initial != NULL, "no initial model is given");
  if (initial->order != model->order)
    return pd_fail(context, POLYAD_MISMATCH,
                   "the initial model has %d modes; expected %d, as the tensor has", initial->order,
                   model->order);
  if (initial->rank != model->rank)
    return pd_fail(context, POLYAD_MISMATCH, "the initial model has rank %llu; expected %llu",
                   (unsigned long long)initial->rank, (unsigned long long)model->rank);
  for (int n = 0; n < model->order; ++n)
    if (initial->dims[n] != pd_plan_length(plan, n))
      return pd_fail(context, POLYAD_MISMATCH,
                     "mode %d of the initial model has length %llu; expected %llu, as the tensor "
                     "has",
                     pd_shown_mode(context, n), (unsigned long long)initial->dims[n],
                     (unsigned long long)pd_plan_length(plan, n));
  return POLYAD_OK;
}

/* One mode's rows. Returns the first of them that has an entry that is not finite, or UINT64_MAX.
 */
static uint64_t take_rows(polyad_context *context, const polyad_plan *plan,
                          const polyad_ktensor *initial, bool clip, int n, polyad_ktensor *model) {
  uint64_t rows = model->dims[n], rank = model->rank, bad = UINT64_MAX;
  int threads = pd_threads_for(context, rows * rank, 1 << 16);
  void *factor = model->factor[n];
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : bad)
  for (uint64_t i = 0; i < rows; ++i) {
    uint64_t first = pd_plan_index(plan, n, i) * rank;
    for (uint64_t r = 0; r < rank; ++r) {
      double value = pd_model_number(initial, initial->factor[n], first + r);
      if (!isfinite(value) && i < bad) bad = i;
      pd_model_set(model, factor, i * rank + r, clip && value < 0 ? 0 : value);
    }
  }
  return bad;
}

polyad_status pd_model_take_initial(polyad_context *context, const polyad_plan *plan,
                                    const polyad_ktensor *initial, uint32_t clipped,
                                    polyad_ktensor *model) {
  PD_TRY(model_start_check_initial(context, plan, initial, model));
  for (int n = 0; n < model->order; ++n) {
    uint64_t bad = take_rows(context, plan, initial, clipped >> n & 1, n, model);
    if (bad != UINT64_MAX)
      return pd_fail(context, POLYAD_NUMERICAL,
                     "the initial factor of mode %d has an entry that is not finite in row %llu",
                     pd_shown_mode(context, n),
                     (unsigned long long)pd_shown(context, pd_plan_index(plan, n, bad)));
  }
  return POLYAD_OK;
}

polyad_status pd_model_scale_result(polyad_context *context, int exponent, double norm,
                                    polyad_ktensor *model, double *fit_bound) {
  double rounded = 0;
  if (exponent == 0) return POLYAD_OK;
  for (uint64_t r = 0; r < model->rank; ++r) {
    double weight = pd_model_number(model, model->weights, r);
    pd_model_set(model, model->weights, r, ldexp(weight, exponent));
    double scaled = pd_model_number(model, model->weights, r);
    rounded += fabs(weight - ldexp(scaled, -exponent));
    if (!isfinite(scaled))
      return pd_fail(context, POLYAD_NUMERICAL,
                     "weight %llu of the model is too large for %s; scale the tensor's values",
                     (unsigned long long)pd_shown(context, r),
                     model->type == POLYAD_F64 ? "double precision" : "single precision");
  }
  if (rounded > 0) *fit_bound += rounded / norm;
  return POLYAD_OK;
}

polyad_status pd_model_scale_weights(polyad_context *context, int exponent, polyad_ktensor *model) {
  double unused = 0;
  return pd_model_scale_result(context, exponent, 1, model, &unused);
}

polyad_status pd_model_copy(polyad_context *context, const polyad_ktensor *from,
                            polyad_ktensor **copy) {
  PD_TRY(polyad_ktensor_create(context, from->order, from->dims, from->rank, from->type, copy));
  size_t row = (size_t)from->rank * pd_type_bytes(from->type);
  memcpy((*copy)->weights, from->weights, row);
  for (int n = 0; n < from->order; ++n)
    pd_copy(context, (*copy)->factor[n], from->factor[n], row * from->dims[n]);
  return POLYAD_OK;
}
