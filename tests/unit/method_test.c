/* What the frame of all decompositions promises, for every method: a resumed run has the bits of
 * one that was left alone, the best of several starts is returned as it was, and options out of
 * range are refused. */
#include "als_fixture.h"
#include "core/core.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum method {
  ALS,
  NONNEGATIVE,
  MU,
  PDNR,
  PQNR,
  HOOI,
  RANDOMIZED,
  COMPLETE_ALS,
  COMPLETE_CCD,
  COMPLETE_SGD,
  METHODS
};
enum { RANK = 4, ORDER = 3 };
static const uint64_t dims[ORDER] = {30, 20, 25};

struct setting {
  polyad_context *context;
  polyad_tensor *tensor;
  polyad_plan *plan;
  enum method method;
};

/* What a run gave. */
struct outcome {
  polyad_status status;
  uint64_t count;
  double number[4096]; /* the model's */
  polyad_run_info info;
};

static struct setting start(enum method method, polyad_type type) {
  struct setting s = {.context = cpu_context(1), .method = method};
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.precision = type;
  options.rank = RANK;
  options.kernel = method == MU                             ? POLYAD_KERNEL_PHI
                   : method == HOOI || method == RANDOMIZED ? POLYAD_KERNEL_TTMC
                                                            : POLYAD_KERNEL_MTTKRP;
  s.tensor = als_random_tensor(s.context, ORDER, dims, 2000, 4, 1);
  ALS_OK(s.context, polyad_plan_create(s.context, s.tensor, &options, &s.plan));
  return s;
}

static void finish(struct setting *s) {
  polyad_plan_destroy(s->plan);
  polyad_tensor_destroy(s->tensor);
  context_end(s->context);
}

static void take(struct outcome *outcome, polyad_type type, const void *values, uint64_t count) {
  for (uint64_t k = 0; k < count; ++k)
    outcome->number[outcome->count++] =
        type == POLYAD_F64 ? ((const double *)values)[k] : (double)((const float *)values)[k];
}

static void take_ktensor(struct outcome *outcome, polyad_ktensor *model) {
  if (model == NULL) return;
  uint64_t rank = polyad_ktensor_rank(model);
  take(outcome, polyad_ktensor_type(model), polyad_ktensor_weights(model), rank);
  for (int n = 0; n < ORDER; ++n)
    take(outcome, polyad_ktensor_type(model), polyad_ktensor_factor(model, n), dims[n] * rank);
  polyad_ktensor_destroy(model);
}

static void take_ttensor(struct outcome *outcome, polyad_ttensor *model) {
  if (model == NULL) return;
  take(outcome, polyad_ttensor_type(model), polyad_ttensor_core(model),
       polyad_ttensor_core_size(model));
  for (int n = 0; n < ORDER; ++n)
    take(outcome, polyad_ttensor_type(model), polyad_ttensor_factor(model, n), dims[n] * RANK);
  polyad_ttensor_destroy(model);
}

static polyad_run_options defaults(enum method method) {
  polyad_cp_als_options als;
  polyad_cp_apr_options apr;
  polyad_tucker_options tucker;
  polyad_cp_complete_options complete;
  polyad_cp_als_options_init(&als);
  polyad_cp_apr_options_init(&apr);
  polyad_tucker_options_init(&tucker);
  polyad_cp_complete_options_init(&complete);
  return method <= NONNEGATIVE  ? als.run
         : method <= PQNR       ? apr.run
         : method <= RANDOMIZED ? tucker.run
                                : complete.run;
}

static struct outcome *run(struct setting *s, const polyad_run_options *options) {
  struct outcome *outcome = calloc(1, sizeof *outcome);
  polyad_ktensor *ktensor = NULL;
  polyad_ttensor *ttensor = NULL;
  assert_non_null(outcome);
  if (s->method <= NONNEGATIVE) {
    polyad_cp_als_options als;
    polyad_cp_als_options_init(&als);
    als.run = *options;
    als.rank = RANK;
    als.nonnegative = s->method == NONNEGATIVE;
    outcome->status = polyad_cp_als(s->context, s->plan, &als, &ktensor, &outcome->info);
  } else if (s->method <= PQNR) {
    polyad_cp_apr_options apr;
    polyad_cp_apr_options_init(&apr);
    apr.run = *options;
    apr.rank = RANK;
    apr.method = (polyad_apr_method)(s->method - MU);
    outcome->status = polyad_cp_apr(s->context, s->plan, &apr, &ktensor, &outcome->info);
  } else if (s->method >= COMPLETE_ALS) {
    polyad_cp_complete_options complete;
    polyad_cp_complete_options_init(&complete);
    complete.run = *options;
    complete.rank = RANK;
    complete.method = (polyad_complete_method)(s->method - COMPLETE_ALS);
    complete.biases = 1;
    complete.validation_share = 0.2;
    complete.patience = 100;
    outcome->status = polyad_cp_complete(s->context, s->plan, &complete, &ktensor, &outcome->info);
  } else {
    polyad_tucker_options tucker;
    polyad_tucker_options_init(&tucker);
    tucker.run = *options;
    tucker.init = POLYAD_INIT_RANDOM;
    tucker.svd = s->method == RANDOMIZED ? POLYAD_SVD_RANDOMIZED : POLYAD_SVD_EXACT;
    for (int n = 0; n < ORDER; ++n)
      tucker.ranks[n] = RANK;
    outcome->status = polyad_tucker(s->context, s->plan, &tucker, &ttensor, &outcome->info);
  }
  take_ktensor(outcome, ktensor);
  take_ttensor(outcome, ttensor);
  return outcome;
}

static struct outcome *run_well(struct setting *s, const polyad_run_options *options) {
  struct outcome *outcome = run(s, options);
  if (outcome->status != POLYAD_OK) fail_msg("%s", polyad_last_error(s->context));
  return outcome;
}

static void forget(struct outcome *outcome) {
  polyad_run_info_clear(&outcome->info);
  free(outcome);
}

static void same_number(double a, double b) {
  if (!(a == b || (isnan(a) && isnan(b)))) fail_msg("%.17g and %.17g", a, b);
}

static void same_trace(const polyad_run_info *a, const polyad_run_info *b) {
  assert_int_equal(a->trace_rows, b->trace_rows);
  for (int k = 0; k < a->trace_rows; ++k) {
    const polyad_trace_row *x = &a->trace[k], *y = &b->trace[k];
    assert_int_equal(x->iteration, y->iteration);
    same_number(x->fit, y->fit);
    same_number(x->residual, y->residual);
    same_number(x->log_likelihood, y->log_likelihood);
    same_number(x->kkt_violation, y->kkt_violation);
    same_number(x->fit_bound, y->fit_bound);
    same_number(x->validation_rmse, y->validation_rmse);
    assert_true(x->inner_iterations == y->inner_iterations && x->fit_from == y->fit_from);
  }
}

static void same_outcome(const struct outcome *a, const struct outcome *b) {
  assert_true(a->count == b->count && a->count > 0);
  assert_memory_equal(a->number, b->number, a->count * sizeof *a->number);
  same_trace(&a->info, &b->info);
  same_number(a->info.fit, b->info.fit);
  same_number(a->info.log_likelihood, b->info.log_likelihood);
  same_number(a->info.rmse, b->info.rmse);
  same_number(a->info.validation_rmse, b->info.validation_rmse);
  assert_int_equal(a->info.best_iteration, b->info.best_iteration);
  assert_string_equal(a->info.diagnosis, b->info.diagnosis);
}

/* ---- checkpoints -------------------------------------------------------------------------- */

static void resume(enum method method, polyad_type type) {
  char folder[] = "/tmp/polyad-method-XXXXXX", path[64], previous[80];
  struct setting s = start(method, type);
  polyad_run_options options = defaults(method);
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/state", folder);
  snprintf(previous, sizeof previous, "%s.prev", path);
  if (method < MU || method > PQNR) options.tolerance = 0;
  options.max_iterations = 9;
  struct outcome *whole = run_well(&s, &options);
  options.checkpoint = path;
  options.checkpoint_every = 3;
  for (int stop = 1; stop <= 9; stop += 4) {
    options.resume = NULL;
    options.max_iterations = stop;
    forget(run_well(&s, &options));
    options.resume = path;
    options.max_iterations = 9;
    struct outcome *rest = run_well(&s, &options);
    same_outcome(whole, rest);
    forget(rest);
  }
  forget(whole);
  polyad_set_seed(s.context, 77);
  struct outcome *other = run(&s, &options);
  assert_int_equal(other->status, POLYAD_MISMATCH);
  assert_non_null(strstr(polyad_last_error(s.context), "seed 0; expected 77"));
  forget(other);
  finish(&s);
  assert_int_equal(unlink(path), 0);
  (void)unlink(previous);
  assert_int_equal(rmdir(folder), 0);
}

static void resumed_runs_have_the_same_bits(void **state) {
  (void)state;
  for (int method = 0; method < METHODS; ++method) {
    resume((enum method)method, POLYAD_F32);
    resume((enum method)method, POLYAD_F64);
  }
}

/* ---- starts ------------------------------------------------------------------------------- */

/* With a seed whose first start is the best of three, the run is that of one start. */
static void best_start(enum method method, polyad_type type) {
  struct setting s = start(method, type);
  polyad_run_options options = defaults(method);
  int best = -1;
  options.max_iterations = 6;
  for (uint64_t seed = 0; seed < 30 && best != 0; ++seed) {
    polyad_set_seed(s.context, seed);
    options.starts = 3;
    struct outcome *several = run_well(&s, &options);
    const polyad_run_info *info = &several->info;
    assert_int_equal(info->start_count, 3);
    best = info->best_restart;
    for (int k = 0; k < 3; ++k)
      assert_true(info->starts[k].objective <= info->starts[best].objective);
    assert_int_equal(info->starts[best].iterations, info->iterations);
    if (best == 0) {
      options.starts = 1;
      struct outcome *one = run_well(&s, &options);
      same_outcome(one, several);
      forget(one);
    }
    forget(several);
  }
  assert_int_equal(best, 0);
  finish(&s);
}

static void best_start_is_returned(void **state) {
  (void)state;
  for (int method = 0; method < METHODS; ++method) {
    best_start((enum method)method, POLYAD_F32);
    best_start((enum method)method, POLYAD_F64);
  }
}

/* ---- options ------------------------------------------------------------------------------ */

static void refused(struct setting *s, const polyad_run_options *options, const char *words) {
  struct outcome *outcome = run(s, options);
  assert_int_equal(outcome->status, POLYAD_INVALID_ARGUMENT);
  assert_int_equal(outcome->count, 0);
  if (strstr(polyad_last_error(s->context), words) == NULL)
    fail_msg("'%s' lacks '%s'", polyad_last_error(s->context), words);
  forget(outcome);
}

static void options_out_of_range_are_refused(void **state) {
  (void)state;
  for (int method = 0; method < METHODS; ++method) {
    struct setting s = start((enum method)method, POLYAD_F64);
    polyad_run_options good = defaults((enum method)method), options;
    assert_true(good.starts == 1 && good.tolerance == 1e-4 && good.max_seconds == 0);
    assert_int_equal(good.max_iterations, method >= COMPLETE_ALS           ? 500
                                          : method >= MU && method <= PQNR ? 1000
                                                                           : 50);
#define REFUSE(change, words)                                                                      \
  options = good;                                                                                  \
  options.change;                                                                                  \
  refused(&s, &options, words)
    REFUSE(starts = 0, "0 starts");
    bool tucker = method == HOOI || method == RANDOMIZED;
    REFUSE(max_iterations = tucker ? 0 : -1, "iterations found");
    REFUSE(tolerance = -1, "tolerance -1");
    REFUSE(tolerance = INFINITY, "tolerance inf");
    REFUSE(max_seconds = NAN, "max_seconds nan");
    good.checkpoint = "/nowhere/state";
    REFUSE(checkpoint_every = 0, "every 0 iterations");
    REFUSE(starts = 2, "several starts");
#undef REFUSE
    finish(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(resumed_runs_have_the_same_bits),
      cmocka_unit_test(best_start_is_returned),
      cmocka_unit_test(options_out_of_range_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
