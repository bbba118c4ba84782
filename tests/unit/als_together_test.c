/* Runs of CP-ALS side by side: each has the model, the fit and the end that it has alone, and the
 * list ends early where the caller or the clock wants it. */
#include "als_fixture.h"

#include "algorithms/als_together.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The kind of device to test, the program's argument. */
static const char *kind = "cpu";

enum { TASKS = 8, MOST_ORDER = 8 };

/* Ranks that fill the columns, ones that do not divide them, and one that has more than all. */
static const uint64_t ranks[TASKS] = {1, 3, 17, 2, 53, 5, 30, 1};
static const uint64_t dims[MOST_ORDER] = {9, 7, 6, 1, 3, 2, 4, 2};

static void heard(void *user, int task) {
  int *calls = user;
  ++calls[task];
}

struct lot {
  polyad_context *context;
  polyad_plan *plan;
  polyad_ktensor *initial[TASKS];
  struct pd_als_task task[TASKS];
  int calls[TASKS];
};

static void make_lot(struct lot *lot, int order, int nonnegative, const char *format,
                     polyad_type precision) {
  memset(lot, 0, sizeof *lot);
  lot->context = cpu_context(2);
  ALS_OK(lot->context, polyad_set_device(lot->context, kind));
  polyad_tensor *x =
      als_random_tensor(lot->context, order, dims, order == 1 ? 9 : 150, 3, nonnegative);
  polyad_plan_options how;
  polyad_plan_options_init(&how);
  how.format = format;
  how.precision = precision;
  ALS_OK(lot->context, polyad_plan_create(lot->context, x, &how, &lot->plan));
  polyad_tensor_destroy(x);
  double cells = 1;
  for (int n = 0; n < order; ++n)
    cells *= (double)dims[n];
  for (int k = 0; k < TASKS; ++k) {
    polyad_cp_als_options *options = &lot->task[k].options;
    polyad_cp_als_options_init(options);
    lot->initial[k] = als_random_model(lot->context, order, dims, ranks[k], 40 + (uint64_t)k, 1);
    options->rank = ranks[k];
    options->init = POLYAD_INIT_MODEL;
    options->initial = lot->initial[k];
    options->nonnegative = nonnegative == 1;
    options->nonnegative_modes = nonnegative == 2 ? 1 : 0; /* mode 0 */
    options->ridge = cells; /* no entry of the normal equations of uniform factors is larger */
    options->run.max_iterations = 1 + k % 4; /* they leave at different times */
    options->run.tolerance = 0;
  }
}

static polyad_status run(struct lot *lot) {
  struct pd_als_tasks tasks = {
      .task = lot->task, .count = TASKS, .announce = heard, .user = lot->calls};
  return pd_als_together(lot->context, lot->plan, &tasks);
}

static void clear_lot(struct lot *lot) {
  for (int k = 0; k < TASKS; ++k) {
    polyad_ktensor_destroy(lot->initial[k]);
    polyad_ktensor_destroy(lot->task[k].model);
  }
  polyad_plan_destroy(lot->plan);
  context_end(lot->context);
}

/* What rounding may make of a fit. A run alone and one of several add the same products in other
 * orders: each update rounds an entry of the MTTKRP once for every nonzero and mode, and the solve
 * for every column, all times the condition of the normal equations; with a ridge as large as any
 * entry of theirs that is 1 + R. The fit feels what all updates have done to the model, twice. */
static double most_difference(const struct lot *lot, const struct pd_als_task *task) {
  double unit = polyad_plan_type(lot->plan) == POLYAD_F32 ? 0x1p-24 : 0x1p-53;
  double rank = (double)task->options.rank, order = polyad_plan_order(lot->plan);
  double roundings = (double)polyad_plan_nnz(lot->plan) + order + 2 * rank;
  return 2 * unit * roundings * (1 + rank) * order * task->options.run.max_iterations;
}

static void compare_with_alone(struct lot *lot) {
  for (int k = 0; k < TASKS; ++k) {
    struct pd_als_task *task = &lot->task[k];
    polyad_ktensor *model;
    polyad_run_info info = {0};
    ALS_OK(lot->context, polyad_cp_als(lot->context, lot->plan, &task->options, &model, &info));
    assert_non_null(task->model);
    assert_int_equal(task->reason, info.reason);
    assert_int_equal(lot->calls[k], info.iterations);
    if (!(fabs(task->fit - info.fit) <= most_difference(lot, task)))
      fail_msg("task %d: fit %.17g, alone %.17g", k, task->fit, info.fit);
    als_check_model(task->model);
    polyad_run_info_clear(&info);
    polyad_ktensor_destroy(model);
  }
}

static void models_are_those_of_runs_alone(void **state) {
  (void)state;
  static const char *const of_cpu[] = {"auto", "csf", "coo", "alto", "modecopy"};
  static const char *const of_gpu[] = {"auto", "twotree", "coo", "portable", "modecopy"};
  const char *const *formats = strcmp(kind, "cpu") == 0 ? of_cpu : of_gpu;
  for (int order = 1; order <= MOST_ORDER; ++order)
    for (int c = 0; c < 6; ++c) {
      struct lot lot;
      make_lot(&lot, order, c % 3, order < 3 ? "auto" : formats[(order + c) % 5],
               c < 3 ? POLYAD_F64 : POLYAD_F32);
      assert_true(pd_als_can_share(lot.plan));
      ALS_OK(lot.context, run(&lot));
      compare_with_alone(&lot);
      clear_lot(&lot);
    }
}

/* A run that breaks down, or is damped, is completed by products of its own: values of 32 bits and
 * a rank far above what the tensor supports make the fit fall. */
static void runs_that_fall_go_on_alone(void **state) {
  (void)state;
  struct lot lot;
  make_lot(&lot, 3, 0, "auto", POLYAD_F32);
  for (int k = 0; k < TASKS; ++k) {
    lot.task[k].options.run.max_iterations = 60;
    lot.task[k].options.ridge = 0;
  }
  ALS_OK(lot.context, run(&lot));
  for (int k = 0; k < TASKS; ++k) {
    assert_non_null(lot.task[k].model);
    als_check_model(lot.task[k].model);
    assert_true(lot.task[k].fit > 0 && lot.task[k].fit <= 1);
  }
  assert_true(lot.task[4].fit > 0.99); /* rank 53 of a tensor of 9 x 7 x 6 */
  clear_lot(&lot);
}

static int end_now(void *user, const polyad_progress *progress) {
  int *calls = user;
  (void)progress;
  return ++*calls == 3;
}

static void all_end_when_one_is_ended(void **state) {
  (void)state;
  struct lot lot;
  int calls = 0, cancelled = 0, missing = 0;
  make_lot(&lot, 3, 0, "auto", POLYAD_F64);
  for (int k = 0; k < TASKS; ++k)
    lot.task[k].options.run.max_iterations = 100;
  polyad_set_progress(lot.context, end_now, &calls);
  ALS_OK(lot.context, run(&lot));
  polyad_set_progress(lot.context, NULL, NULL);
  for (int k = 0; k < TASKS; ++k) {
    cancelled += lot.task[k].model != NULL && lot.task[k].reason == POLYAD_REASON_CANCELLED;
    missing += lot.task[k].model == NULL;
  }
  assert_true(cancelled >= 1 && missing >= 3);
  clear_lot(&lot);
}

static void refuses_what_runs_alone_refuse(void **state) {
  (void)state;
  struct lot lot;
  make_lot(&lot, 3, 0, "auto", POLYAD_F64);
  lot.task[5].options.ridge = -1;
  assert_int_equal(run(&lot), POLYAD_INVALID_ARGUMENT);
  assert_non_null(strstr(polyad_last_error(lot.context), "ridge -1"));
  clear_lot(&lot);
}

int main(int count, char **arguments) {
  if (count > 1) kind = arguments[1];
  polyad_context *context = NULL;
  if (polyad_context_create(&context) != POLYAD_OK) return 1;
  const char *why = polyad_device_why_not(context, kind);
  bool missing = why[0] != '\0';
  if (missing) fprintf(stderr, "skipped: %s\n", why);
  polyad_context_destroy(context);
  if (missing) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(models_are_those_of_runs_alone),
                                     cmocka_unit_test(runs_that_fall_go_on_alone),
                                     cmocka_unit_test(all_end_when_one_is_ended),
                                     cmocka_unit_test(refuses_what_runs_alone_refuse)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
