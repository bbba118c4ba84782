/* The higher-order singular value decomposition's factors: the leading left singular vectors of
 * each unfolding, one mode after the other. */
#include "algorithms/hosvd.h"
#include "algorithms/unfolding.h"
#include "core/numbers.h"
#include <float.h>
#include <math.h>

void pd_hosvd_store(uint64_t rows, uint64_t count, const double *vectors, uint64_t stride,
                    uint64_t rank, polyad_type type, void *factor) {
  for (uint64_t r = 0; r < count; ++r) {
    double largest = 0;
    for (uint64_t i = 0; i < rows; ++i)
      if (fabs(vectors[i * stride + r]) > fabs(largest)) largest = vectors[i * stride + r];
    for (uint64_t i = 0; i < rows; ++i) {
      double value = copysign(1, largest) * vectors[i * stride + r];
      pd_store(type, factor, i * rank + r, value);
    }
  }
}

/* Eigenvalues beyond this part of the largest are rounding error. */
static uint64_t significant(uint64_t rows, uint64_t count, const double *values) {
  double least = values[0] * DBL_EPSILON * (double)rows;
  uint64_t found = 0;
  while (found < count && values[found] > least)
    ++found;
  return found;
}

static polyad_status one_mode(struct pd_stage *stage, const polyad_tensor *tensor, int mode,
                              uint64_t rank, polyad_type type, void *factor, double *residual) {
  polyad_context *context = stage->context;
  polyad_status status = POLYAD_OK;
  struct pd_unfolding x = {0};
  double *values = NULL, *vectors = NULL;
  uint64_t rows = tensor->dims[mode], count = rank < rows ? rank : rows;
  PD_TRY_CLEANUP(pd_stage_tick(stage));
  PD_TRY_CLEANUP(pd_unfold(context, tensor, mode, &x));
  PD_TRY_CLEANUP(PD_NEW(context, count, &values));
  PD_TRY_CLEANUP(PD_NEW(context, pd_mul_saturated(rows, count), &vectors));
  PD_TRY_CLEANUP(pd_unfolding_leading(stage, &x, count, PD_HOSVD_TOLERANCE, PD_HOSVD_PRODUCTS,
                                      values, vectors, residual));
  pd_hosvd_store(rows, significant(rows, count, values), vectors, count, rank, type, factor);
cleanup:
  PD_FREE(context, values, vectors);
  pd_unfolding_clear(&x);
  return status;
}

polyad_status pd_hosvd(polyad_context *context, const polyad_plan *plan, const uint64_t *ranks,
                       polyad_type type, void *const *factors, struct pd_hosvd_report *report) {
  struct pd_stage stage = pd_stage_begin(context, "HOSVD");
  struct pd_hosvd_report found = {.mode = -1, .residual = PD_HOSVD_TOLERANCE};
  polyad_tensor *tensor = NULL;
  PD_TRY(pd_plan_expand(context, plan, &tensor));
  polyad_status status = POLYAD_OK;
  for (int n = 0; n < plan->order && status == POLYAD_OK; ++n) {
    double residual = 0;
    status = one_mode(&stage, tensor, n, ranks[n], type, factors[n], &residual);
    if (residual > found.residual) found = (struct pd_hosvd_report){n, residual};
  }
  polyad_tensor_destroy(tensor);
  if (status == POLYAD_OK && found.mode >= 0)
    pd_log(
        context, POLYAD_LOG_INFO,
        "HOSVD of mode %d stopped after %d block products at a residual of %.1e (%.0e asked for)",
        found.mode + 1, PD_HOSVD_PRODUCTS, found.residual, PD_HOSVD_TOLERANCE);
  if (report != NULL) *report = found;
  return status;
}
