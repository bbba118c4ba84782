/* Every decomposition that a test runs is checked: the reported fit (and of CP-APR the
 * log-likelihood) is that of the returned model, computed here anew in long double, to the bound
 * that the run states; and the trace falls by no more than its bounds (of Tucker, and the factors'
 * rounding). The linker puts the checks around the functions (--wrap; see tests/CMakeLists.txt).
 * Problems that would take long are not checked. */
#include "harness.h"
#include "invariant_model.h"
#include "plan/plan.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_PRODUCTS = 1 << 26 };

static bool worth_it(const polyad_plan *plan, const struct invariant_model *model, uint64_t rank) {
  uint64_t products = pd_mul_saturated(plan->nnz, invariant_work(model));
  for (int n = 0; n < plan->order; ++n)
    products =
        pd_add_saturated(products, pd_mul_saturated(plan->dims[n], pd_mul_saturated(rank, rank)));
  return products < MOST_PRODUCTS;
}

/* Calls `use` with every nonzero of the plan's. */
static void visit(const polyad_plan *plan, const struct invariant_model *model,
                  void (*use)(long double x, long double m, void *sums), void *sums) {
  struct pd_plan_nonzeros opened;
  assert_int_equal(pd_plan_nonzeros_open(plan->context, plan, &opened), POLYAD_OK);
  struct pd_nonzeros nonzeros = opened.all;
  struct pd_chunk chunk;
  for (uint64_t first = 0; first < nonzeros.nnz; first += PD_CHUNK) {
    int count = pd_chunk_count(first, nonzeros.nnz);
    nonzeros.decode(nonzeros.storage, first, count, &chunk);
    for (int p = 0; p < count; ++p) {
      uint64_t coordinate[POLYAD_MAX_ORDER];
      for (int n = 0; n < plan->order; ++n)
        coordinate[n] = chunk.index[n][p];
      use((long double)chunk.value[p], invariant_entry(model, coordinate), sums);
    }
  }
  pd_plan_nonzeros_close(plan->context, plan, &opened);
}

static const char *type_name(const polyad_plan *plan) {
  return plan->type == POLYAD_F32 ? "float32" : "float64";
}

/* ---- the fit -------------------------------------------------------------------------------- */

struct squares {
  long double data, missed, covered;
};

static void add_squares(long double x, long double m, void *sums) {
  struct squares *s = sums;
  s->data += x * x;
  s->missed += (x - m) * (x - m);
  s->covered += m * m;
}

/* The fit against the nonzeros that the plan stores, and what long double may have lost of it. */
static long double fit_of(const polyad_plan *plan, const struct invariant_model *model,
                          long double *lost) {
  struct squares sum = {0};
  visit(plan, model, add_squares, &sum);
  long double rho = (sum.missed + (invariant_norm_squared(model) - sum.covered)) / sum.data;
  long double norms = invariant_magnitude(model);
  long double error = 64 * LDBL_EPSILON * (1 + norms * norms / sum.data);
  *lost = sqrtl(fmaxl(rho, 0) + error) - sqrtl(fmaxl(rho - error, 0));
  return 1 - sqrtl(fmaxl(rho, 0));
}

static void check_fit(const polyad_plan *plan, const struct invariant_model *model,
                      const polyad_run_info *found) {
  long double lost, fit = fit_of(plan, model, &lost);
  if (!(fabsl(fit - (long double)found->fit) <= (long double)found->fit_bound + lost))
    fail_msg("fit %.12g is reported, to %.3g; that of the model is %.12Lg (format %s, %s)",
             found->fit, found->fit_bound, fit, polyad_plan_format(plan), type_name(plan));
}

/* Iterates may be worse by `moved`, which is not the fit's own rounding. */
static void check_trace(const polyad_run_info *info, double moved) {
  for (int k = 1; k < info->trace_rows; ++k) {
    const polyad_trace_row *row = &info->trace[k], *before = row - 1;
    if (before->fit - row->fit > before->fit_bound + row->fit_bound + moved)
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

polyad_status __wrap_polyad_cp_als(polyad_context *context, const polyad_plan *plan,
                                   const polyad_cp_als_options *options, polyad_ktensor **model,
                                   polyad_run_info *info) {
  polyad_run_info mine = {0};
  polyad_run_info *found = info != NULL ? info : &mine;
  polyad_status status = __real_polyad_cp_als(context, plan, options, model, found);
  if (status == POLYAD_OK && pd_plan_team(plan) == NULL) { /* nobody has all of a team's tensor */
    struct invariant_model seen = invariant_kruskal(*model, plan->value_exponent);
    if (worth_it(plan, &seen, options->rank)) check_fit(plan, &seen, found);
    if (found->reason == POLYAD_REASON_TOLERANCE && options->ridge == 0)
      assert_true(found->fit >= 0);
    if (options->ridge == 0) check_trace(found, 0);
  }
  polyad_run_info_clear(&mine);
  return status;
}

/* ---- completion ----------------------------------------------------------------------------- */

polyad_status __real_polyad_cp_complete(polyad_context *context, const polyad_plan *plan,
                                        const polyad_cp_complete_options *options,
                                        polyad_ktensor **model, polyad_run_info *info);
polyad_status __wrap_polyad_cp_complete(polyad_context *context, const polyad_plan *plan,
                                        const polyad_cp_complete_options *options,
                                        polyad_ktensor **model, polyad_run_info *info);

/* The fit counts the observations alone: the plan's entries. */
static void check_observed_fit(const polyad_plan *plan, const struct invariant_model *model,
                               const polyad_run_info *found) {
  struct squares sum = {0};
  visit(plan, model, add_squares, &sum);
  long double fit = 1 - sqrtl(sum.missed / sum.data);
  long double rmse = ldexpl(sqrtl(sum.missed / (long double)plan->nnz), plan->value_exponent);
  long double bound = (long double)found->fit_bound + 64 * LDBL_EPSILON;
  long double norm = ldexpl(sqrtl(sum.data / (long double)plan->nnz), plan->value_exponent);
  assert_int_equal(found->fit_from, POLYAD_FIT_OBSERVED);
  if (!(fabsl(fit - (long double)found->fit) <= bound))
    fail_msg("fit %.12g is reported, to %.3g; that of the model is %.12Lg (%s)", found->fit,
             found->fit_bound, fit, type_name(plan));
  if (!(fabsl(rmse - (long double)found->rmse) <= bound * norm))
    fail_msg("a root mean square error of %.12g is reported; that of the model is %.12Lg",
             found->rmse, rmse);
}

/* Weights and observations that are held back are the tests' own to check. */
polyad_status __wrap_polyad_cp_complete(polyad_context *context, const polyad_plan *plan,
                                        const polyad_cp_complete_options *options,
                                        polyad_ktensor **model, polyad_run_info *info) {
  polyad_run_info mine = {0};
  polyad_run_info *found = info != NULL ? info : &mine;
  polyad_status status = __real_polyad_cp_complete(context, plan, options, model, found);
  if (status == POLYAD_OK && options->weights == NULL && options->validation_share == 0) {
    struct invariant_model seen = invariant_kruskal(*model, plan->value_exponent);
    if (worth_it(plan, &seen, options->rank)) check_observed_fit(plan, &seen, found);
  }
  polyad_run_info_clear(&mine);
  return status;
}

/* ---- Tucker --------------------------------------------------------------------------------- */

polyad_status __real_polyad_tucker(polyad_context *context, const polyad_plan *plan,
                                   const polyad_tucker_options *options, polyad_ttensor **model,
                                   polyad_run_info *info);
polyad_status __wrap_polyad_tucker(polyad_context *context, const polyad_plan *plan,
                                   const polyad_tucker_options *options, polyad_ttensor **model,
                                   polyad_run_info *info);

/* Singular vectors that are not exact need not improve the fit. Rounding orthonormal factors and a
 * core of norm at most ||X|| to their type moves the model by `moved` ||X||. */
polyad_status __wrap_polyad_tucker(polyad_context *context, const polyad_plan *plan,
                                   const polyad_tucker_options *options, polyad_ttensor **model,
                                   polyad_run_info *info) {
  polyad_run_info mine = {0};
  polyad_run_info *found = info != NULL ? info : &mine;
  polyad_status status = __real_polyad_tucker(context, plan, options, model, found);
  if (status == POLYAD_OK) {
    struct invariant_model seen = invariant_tucker(*model, plan->value_exponent);
    uint64_t rank = 1;
    double unit = plan->type == POLYAD_F32 ? 0x1p-24 : 0x1p-53, moved = 2 * unit;
    for (int n = 0; n < plan->order; ++n) {
      uint64_t own = polyad_ttensor_ranks(*model)[n];
      if (own > rank) rank = own;
      moved += unit * sqrt((double)own);
    }
    if (worth_it(plan, &seen, rank)) check_fit(plan, &seen, found);
    if (options->svd == POLYAD_SVD_EXACT) check_trace(found, moved);
    invariant_clear(&seen);
  }
  polyad_run_info_clear(&mine);
  return status;
}

/* ---- CP-APR --------------------------------------------------------------------------------- */

struct likelihood {
  int exponent; /* of the plan's values */
  long double logarithms, counts, magnitude;
};

static void add_logarithm(long double x, long double m, void *sums) {
  struct likelihood *s = sums;
  x = ldexpl(x, s->exponent);
  s->counts += x;
  if (x == 0) return;
  s->logarithms += x * logl(m);
  s->magnitude += x * (fabsl(logl(m)) + abs(s->exponent));
}

/* Nothing is negative, so that each entry of the model is within a relative error of one rounding
 * per product and addition; those of the factors' scaling and of the weights come on top. An error
 * of m is one of x log m by x times as much. Sums are in double. */
static void check_likelihood(const polyad_plan *plan, polyad_ktensor *model,
                             const polyad_run_info *found) {
  struct likelihood sum = {.exponent = plan->value_exponent};
  struct invariant_model seen = invariant_kruskal(model, 0);
  visit(plan, &seen, add_logarithm, &sum);
  long double mass = invariant_mass(&seen), expected = sum.logarithms - mass;
  double unit = plan->type == POLYAD_F32 ? 0x1p-24 : 0x1p-53, rows = 0;
  for (int n = 0; n < plan->order; ++n)
    rows += (double)plan->dims[n];
  double steps = (double)polyad_ktensor_rank(model) + 4.0 * plan->order + 8;
  long double bound = steps * unit * (sum.counts + mass) + 0x1p-53L *
                                                               ((long double)plan->nnz + rows + 8) *
                                                               (sum.magnitude + sum.counts + mass);
  if (!(fabsl(expected - (long double)found->log_likelihood) <= bound) &&
      !(isinf(expected) && expected == (long double)found->log_likelihood))
    fail_msg("log-likelihood %.15g is reported; that of the model is %.15Lg, to %.3Lg "
             "(format %s, %s)",
             found->log_likelihood, expected, bound, polyad_plan_format(plan), type_name(plan));
}

polyad_status __real_polyad_cp_apr(polyad_context *context, const polyad_plan *plan,
                                   const polyad_cp_apr_options *options, polyad_ktensor **model,
                                   polyad_run_info *info);
polyad_status __wrap_polyad_cp_apr(polyad_context *context, const polyad_plan *plan,
                                   const polyad_cp_apr_options *options, polyad_ktensor **model,
                                   polyad_run_info *info);

/* Without memory for the tensor there is no fit. */
polyad_status __wrap_polyad_cp_apr(polyad_context *context, const polyad_plan *plan,
                                   const polyad_cp_apr_options *options, polyad_ktensor **model,
                                   polyad_run_info *info) {
  polyad_run_info mine = {0};
  polyad_run_info *found = info != NULL ? info : &mine;
  polyad_status status = __real_polyad_cp_apr(context, plan, options, model, found);
  if (status == POLYAD_OK && pd_plan_team(plan) == NULL) {
    struct invariant_model seen = invariant_kruskal(*model, plan->value_exponent);
    if (worth_it(plan, &seen, options->rank)) {
      check_likelihood(plan, *model, found);
      if (!isnan(found->fit)) check_fit(plan, &seen, found);
    }
  }
  polyad_run_info_clear(&mine);
  return status;
}
