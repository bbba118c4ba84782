/* Every decomposition that a test runs is checked: the reported fit (and of CP-APR the
 * log-likelihood) is that of the returned model, computed here anew in long double, to the bound
 * that the run states; and the trace falls by no more than its bounds (of Tucker, and the factors'
 * rounding). The linker puts the checks around the functions (--wrap; see tests/CMakeLists.txt).
 * Problems that would take long are not checked.
 *
 * Of a team every member calls the decomposition, and so its check: it visits the member's own
 * nonzeros, and the members add up what they have. Members that are devices of one process are all
 * behind the one plan that the caller has. */
#include "harness.h"
#include "invariant_model.h"
#include "plan/members.h"
#include "plan/part.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PRODUCTS = 1 << 26 };

/* The whole tensor's nonzeros and lengths, whatever this member has of it. */
static uint64_t whole_nnz(const polyad_plan *plan) {
  return plan->part != NULL ? plan->part->nnz : plan->nnz;
}

static const uint64_t *whole_dims(const polyad_plan *plan) {
  return plan->part != NULL ? plan->part->dims : plan->dims;
}

/* What a check takes is not of the context under test, whose allocations may be made to fail. */
static _Thread_local polyad_context *checking;

/* The team whose other members check the same run; NULL: there are none. */
static polyad_team *team_of(const polyad_plan *plan) {
  return plan->members == NULL ? pd_plan_team(plan) : NULL;
}

static bool worth_it(const polyad_plan *plan, const struct invariant_model *model, uint64_t rank) {
  uint64_t products = pd_mul_saturated(whole_nnz(plan), invariant_work(model));
  for (int n = 0; n < plan->order; ++n)
    products = pd_add_saturated(
        products, pd_mul_saturated(whole_dims(plan)[n], pd_mul_saturated(rank, rank)));
  return products < MOST_PRODUCTS;
}

static void visit_own(const polyad_plan *plan, const struct invariant_model *model,
                      void (*use)(long double x, long double m, void *sums), void *sums) {
  struct pd_plan_nonzeros opened;
  polyad_context *own; /* nonzeros on a device are copied into its memory */
  assert_int_equal(polyad_context_create(&own), POLYAD_OK);
  assert_int_equal(pd_plan_nonzeros_open(own, plan, &opened), POLYAD_OK);
  struct pd_nonzeros nonzeros = opened.all;
  struct pd_chunk chunk;
  for (uint64_t first = 0; first < nonzeros.nnz; first += PD_CHUNK) {
    int count = pd_chunk_count(first, nonzeros.nnz);
    nonzeros.decode(nonzeros.storage, first, count, &chunk);
    for (int p = 0; p < count; ++p) {
      uint64_t coordinate[POLYAD_MAX_ORDER];
      for (int n = 0; n < plan->order; ++n) {
        uint64_t index = chunk.index[n][p];
        coordinate[n] = plan->part != NULL ? plan->part->mode[n].index[index] : index;
      }
      use((long double)chunk.value[p], invariant_entry(model, coordinate), sums);
    }
  }
  pd_plan_nonzeros_close(own, plan, &opened);
  polyad_context_destroy(own);
}

/* Calls `use` with every nonzero of the plan's, of all devices that share it. */
static void visit(const polyad_plan *plan, const struct invariant_model *model,
                  void (*use)(long double x, long double m, void *sums), void *sums) {
  for (int k = 0; k < pd_members_count(plan); ++k)
    visit_own(pd_members_plan(plan, k), model, use, sums);
}

/* Adds `count` sums up over a team, in double: each loses `team_lost` of its size at most. */
static void add_over_team(const polyad_plan *plan, int count, long double *const *sums) {
  polyad_team *team = team_of(plan);
  double numbers[4];
  if (team == NULL) return;
  for (int k = 0; k < count; ++k)
    numbers[k] = (double)*sums[k];
  assert_int_equal(pd_team_sum(checking, team, (uint64_t)count, numbers), POLYAD_OK);
  for (int k = 0; k < count; ++k)
    *sums[k] = numbers[k];
}

static long double team_lost(const polyad_plan *plan) {
  polyad_team *team = team_of(plan);
  return team == NULL ? 0 : (pd_team_size(team) + 1) * 0x1p-53L;
}

/* A team's model is member 0's: the others get a copy of it. */
static polyad_ktensor *model_of(const polyad_plan *plan, polyad_ktensor *model) {
  polyad_team *team = team_of(plan);
  polyad_ktensor *copy;
  uint64_t shape[2] = {0};
  if (team == NULL) return model;
  assert_int_equal(polyad_context_create(&checking), POLYAD_OK);
  if (pd_team_rank(team) == 0) {
    shape[0] = polyad_ktensor_rank(model);
    shape[1] = (uint64_t)polyad_ktensor_type(model);
  }
  assert_int_equal(pd_team_broadcast(checking, team, 0, shape, sizeof shape), POLYAD_OK);
  polyad_type type = (polyad_type)shape[1];
  assert_int_equal(
      polyad_ktensor_create(checking, plan->order, whole_dims(plan), shape[0], type, &copy),
      POLYAD_OK);
  for (int n = -1; n < plan->order; ++n) {
    size_t rows = n < 0 ? 1 : (size_t)whole_dims(plan)[n];
    size_t bytes = rows * shape[0] * pd_type_bytes(type);
    void *to = n < 0 ? polyad_ktensor_weights(copy) : polyad_ktensor_factor(copy, n);
    if (pd_team_rank(team) == 0)
      memcpy(to, n < 0 ? polyad_ktensor_weights(model) : polyad_ktensor_factor(model, n), bytes);
    assert_int_equal(pd_team_broadcast(checking, team, 0, to, bytes), POLYAD_OK);
  }
  return copy;
}

static void forget(polyad_ktensor *copy, const polyad_ktensor *model) {
  if (copy == model) return;
  polyad_ktensor_destroy(copy);
  polyad_context_destroy(checking);
}

static const char *type_name(const polyad_plan *plan) {
  return plan->type == POLYAD_F32 ? "float32" : "float64";
}

/* ---- the fit -------------------------------------------------------------------------------- */

/* Sums of squares, and what additions have lost of them: plain sums of a million equal terms would
 * be off by 10^5 units, for these round alike. */
struct squares {
  long double data, missed, covered, lost[3];
};

static void add_square(long double x, long double *sum, long double *lost) {
  long double square = x * x, before = *sum;
  *sum += square;
  *lost += before >= square ? (before - *sum) + square : (square - *sum) + before;
}

static void add_squares(long double x, long double m, void *sums) {
  struct squares *s = sums;
  add_square(x, &s->data, &s->lost[0]);
  add_square(x - m, &s->missed, &s->lost[1]);
  add_square(m, &s->covered, &s->lost[2]);
}

static struct squares squares_of(const polyad_plan *plan, const struct invariant_model *model) {
  struct squares sum = {0};
  visit(plan, model, add_squares, &sum);
  sum.data += sum.lost[0];
  sum.missed += sum.lost[1];
  sum.covered += sum.lost[2];
  return sum;
}

/* The fit against the nonzeros that the plan stores, and what long double may have lost of it. */
static long double fit_of(const polyad_plan *plan, const struct invariant_model *model,
                          long double *lost) {
  struct squares sum = squares_of(plan, model);
  add_over_team(plan, 3, (long double *[]){&sum.data, &sum.missed, &sum.covered});
  long double rho = (sum.missed + (invariant_norm_squared(model) - sum.covered)) / sum.data;
  long double norms = invariant_magnitude(model);
  long double error = (64 * LDBL_EPSILON + 3 * team_lost(plan)) * (1 + norms * norms / sum.data);
  *lost = sqrtl(fmaxl(rho, 0) + error) - sqrtl(fmaxl(rho - error, 0));
  return 1 - sqrtl(fmaxl(rho, 0));
}

static void check_number(const polyad_plan *plan, const struct invariant_model *model, double found,
                         double bound) {
  long double lost, fit = fit_of(plan, model, &lost);
  if (!(fabsl(fit - (long double)found) <= (long double)bound + lost))
    fail_msg("fit %.17g is reported, to %.3g; that of the model is %.17Lg (format %s, %s)", found,
             bound, fit, polyad_plan_format(plan), type_name(plan));
}

static void check_fit(const polyad_plan *plan, const struct invariant_model *model,
                      const polyad_run_info *found) {
  check_number(plan, model, found->fit, found->fit_bound);
}

/* The models of all starts, where they are kept. Of the others' bounds is known that each is at
 * most a tenth of the tolerance, or the residual's. A team keeps them at member 0 alone. */
static void check_starts(const polyad_plan *plan, const polyad_cp_als_options *options,
                         const polyad_run_info *found) {
  double bound = fmax(found->fit_bound, 0.1 * fmax(options->run.tolerance, 1e-5));
  if (team_of(plan) != NULL || found->models == NULL) return;
  for (int k = 0; k < found->start_count; ++k) {
    if (found->models[k] == NULL) continue;
    struct invariant_model seen = invariant_kruskal(found->models[k], plan->value_exponent);
    if (worth_it(plan, &seen, options->rank))
      check_number(plan, &seen, found->starts[k].objective, bound);
  }
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
  if (status == POLYAD_OK) {
    polyad_ktensor *whole = model_of(plan, *model);
    struct invariant_model seen = invariant_kruskal(whole, plan->value_exponent);
    if (worth_it(plan, &seen, options->rank)) check_fit(plan, &seen, found);
    forget(whole, *model);
    check_starts(plan, options, found);
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
  struct squares sum = squares_of(plan, model);
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
  add_over_team(plan, 3, (long double *[]){&sum.counts, &sum.logarithms, &sum.magnitude});
  long double mass = invariant_mass(&seen), expected = sum.logarithms - mass;
  double unit = plan->type == POLYAD_F32 ? 0x1p-24 : 0x1p-53, rows = 0;
  for (int n = 0; n < plan->order; ++n)
    rows += (double)whole_dims(plan)[n];
  double steps = (double)polyad_ktensor_rank(model) + 4.0 * plan->order + 8;
  long double depth = (long double)whole_nnz(plan) + rows + 8;
  long double bound = steps * unit * (sum.counts + mass) +
                      (0x1p-53L * depth + team_lost(plan)) * (sum.magnitude + sum.counts + mass);
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
  if (status == POLYAD_OK) {
    polyad_ktensor *whole = model_of(plan, *model);
    struct invariant_model seen = invariant_kruskal(whole, plan->value_exponent);
    if (worth_it(plan, &seen, options->rank)) {
      check_likelihood(plan, whole, found);
      if (!isnan(found->fit)) check_fit(plan, &seen, found);
    }
    forget(whole, *model);
  }
  polyad_run_info_clear(&mine);
  return status;
}
