/* Every decomposition that a test runs is checked: the reported fit is that of the returned model,
 * computed here anew in long double, to the bound that the run states; and the trace falls by no
 * more than its bounds. The linker puts the check around polyad_cp_als() in every test (--wrap). */
#include "harness.h"
#include "plan/plan.h"
#include <float.h>
#include <math.h>
#include <polyad/polyad.h>

enum { MOST_PRODUCTS = 1 << 26 };

static long double number(const void *array, polyad_type type, uint64_t place) {
  return type == POLYAD_F32 ? (long double)((const float *)array)[place]
                            : (long double)((const double *)array)[place];
}

/* The model's entry, its weights times 2^-exponent as the plan's values are. */
static long double entry(polyad_ktensor *model, int exponent, const struct pd_chunk *chunk, int p) {
  polyad_type type = polyad_ktensor_type(model);
  uint64_t rank = polyad_ktensor_rank(model);
  long double sum = 0;
  for (uint64_t r = 0; r < rank; ++r) {
    long double product = ldexpl(number(polyad_ktensor_weights(model), type, r), -exponent);
    for (int n = 0; n < polyad_ktensor_order(model); ++n)
      product *= number(polyad_ktensor_factor(model, n), type, chunk->index[n][p] * rank + r);
    sum += product;
  }
  return sum;
}

static long double norm_squared(polyad_ktensor *model, int exponent) {
  polyad_type type = polyad_ktensor_type(model);
  uint64_t rank = polyad_ktensor_rank(model);
  long double total = 0;
  for (uint64_t r = 0; r < rank; ++r)
    for (uint64_t s = 0; s < rank; ++s) {
      long double product = ldexpl(number(polyad_ktensor_weights(model), type, r), -exponent) *
                            ldexpl(number(polyad_ktensor_weights(model), type, s), -exponent);
      for (int n = 0; n < polyad_ktensor_order(model) && product != 0; ++n) {
        const void *factor = polyad_ktensor_factor(model, n);
        long double gram = 0;
        for (uint64_t i = 0; i < polyad_ktensor_dims(model)[n]; ++i)
          gram += number(factor, type, i * rank + r) * number(factor, type, i * rank + s);
        product *= gram;
      }
      total += product;
    }
  return total;
}

/* The fit against the nonzeros that the plan stores, and what long double may have lost of it. */
static long double fit_of(const polyad_plan *plan, polyad_ktensor *model, long double *lost) {
  struct pd_nonzeros nonzeros = pd_plan_nonzeros(plan);
  long double data = 0, missed = 0, covered = 0;
  struct pd_chunk chunk;
  for (uint64_t first = 0; first < nonzeros.nnz; first += PD_CHUNK) {
    int count = pd_chunk_count(first, nonzeros.nnz);
    nonzeros.decode(nonzeros.storage, first, count, &chunk);
    for (int p = 0; p < count; ++p) {
      long double x = (long double)chunk.value[p],
                  m = entry(model, plan->value_exponent, &chunk, p);
      data += x * x;
      missed += (x - m) * (x - m);
      covered += m * m;
    }
  }
  long double whole = norm_squared(model, plan->value_exponent);
  long double rho = (missed + (whole - covered)) / data, norms = 0;
  for (uint64_t r = 0; r < polyad_ktensor_rank(model); ++r)
    norms += fabsl(ldexpl(number(polyad_ktensor_weights(model), polyad_ktensor_type(model), r),
                          -plan->value_exponent));
  long double error = 64 * LDBL_EPSILON * (1 + norms * norms / data);
  *lost = sqrtl(fmaxl(rho, 0) + error) - sqrtl(fmaxl(rho - error, 0));
  return 1 - sqrtl(fmaxl(rho, 0));
}

static bool worth_it(const polyad_plan *plan, uint64_t rank) {
  uint64_t products = plan->nnz;
  for (int n = 0; n < plan->order; ++n)
    products = pd_add_saturated(products, pd_mul_saturated(plan->dims[n], rank));
  return pd_mul_saturated(products, rank) < MOST_PRODUCTS;
}

static void check_trace(const polyad_run_info *info, double ridge) {
  for (int k = 1; k < info->trace_rows && ridge == 0; ++k) {
    const polyad_trace_row *row = &info->trace[k], *before = row - 1;
    if (before->fit - row->fit > before->fit_bound + row->fit_bound)
      fail_msg("iteration %d: the fit falls from %.12g to %.12g, bounds %.3g and %.3g",
               row->iteration, before->fit, row->fit, before->fit_bound, row->fit_bound);
  }
}

polyad_status __real_polyad_cp_als(polyad_context *context, const polyad_plan *plan,
                                   const polyad_cp_als_options *options, polyad_ktensor **model,
                                   polyad_run_info *info);
polyad_status __wrap_polyad_cp_als(polyad_context *context, const polyad_plan *plan,
                                   const polyad_cp_als_options *options, polyad_ktensor **model,
                                   polyad_run_info *info);

/* Problems that would take long are not checked. */
polyad_status __wrap_polyad_cp_als(polyad_context *context, const polyad_plan *plan,
                                   const polyad_cp_als_options *options, polyad_ktensor **model,
                                   polyad_run_info *info) {
  polyad_run_info mine = {0};
  polyad_run_info *found = info != NULL ? info : &mine;
  polyad_status status = __real_polyad_cp_als(context, plan, options, model, found);
  if (status == POLYAD_OK && worth_it(plan, options->rank)) {
    long double lost, fit = fit_of(plan, *model, &lost);
    if (!(fabsl(fit - (long double)found->fit) <= (long double)found->fit_bound + lost))
      fail_msg("fit %.12g is reported, to %.3g; that of the model is %.12Lg (format %s, %s)",
               found->fit, found->fit_bound, fit, polyad_plan_format(plan),
               plan->type == POLYAD_F32 ? "float32" : "float64");
    if (found->reason == POLYAD_REASON_TOLERANCE && options->ridge == 0)
      assert_true(found->fit >= 0);
    check_trace(found, options->ridge);
  }
  polyad_run_info_clear(&mine);
  return status;
}
