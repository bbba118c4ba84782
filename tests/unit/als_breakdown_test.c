/* A fall of the fit is never convergence. No data is known on which damped updates fail, so that
 * here the product itself is wrong from some iteration on: its rows come in another order. The run
 * ends there with the iterate before, whatever the format, and says so. */
#include "als_fixture.h"
#include "plan/plan.h"
#include <stdio.h>
#include <string.h>

enum { RANK = 3, WHOLE = 5 }; /* iterations with right products */

static const uint64_t dims[] = {12, 11, 10};

/* ---- wrong products ---------------------------------------------------------------------------
 */

static struct {
  const struct pd_walk *real;
  int products, right; /* done, and those that are right */
} faulty;

static void turn_rows(struct pd_matrix *m) {
  size_t row = m->stride * pd_type_bytes(m->type);
  char kept[1024];
  assert_true(row <= sizeof kept);
  for (uint64_t i = 0; i < m->rows / 2; ++i) {
    char *a = (char *)m->data + i * row, *b = (char *)m->data + (m->rows - 1 - i) * row;
    memcpy(kept, a, row);
    memcpy(a, b, row);
    memcpy(b, kept, row);
  }
}

/* The last mode's product tells the fit, and stays right. */
static polyad_status run_wrong(polyad_context *context, const void *storage, void *scratch,
                               const struct pd_call *call) {
  polyad_status status = faulty.real->run(context, storage, scratch, call);
  if (pd_op_bit(&call->op) == PD_OPS_MTTKRP && faulty.products++ >= faulty.right && call->mode == 0)
    turn_rows(call->out);
  return status;
}

/* ---- runs -------------------------------------------------------------------------------------
 */

struct setting {
  polyad_context *context;
  polyad_tensor *tensor;
  polyad_plan *plan;
  struct polyad_kernels kernels;
  struct pd_walk walk;
  polyad_cp_als_options options;
  char warning[1024];
};

static void keep_warning(void *user, polyad_log_level level, const char *message) {
  struct setting *s = user;
  if (level == POLYAD_LOG_WARNING) snprintf(s->warning, sizeof s->warning, "%s", message);
}

static void start(struct setting *s, const char *format, polyad_type type) {
  polyad_plan_options options;
  *s = (struct setting){.context = cpu_context(2)};
  polyad_set_log(s->context, POLYAD_LOG_WARNING, keep_warning, s);
  s->tensor = als_random_tensor(s->context, 3, dims, 400, 6, 1);
  polyad_plan_options_init(&options);
  options.format = format;
  options.rank = RANK;
  options.precision = type;
  ALS_OK(s->context, polyad_plan_create(s->context, s->tensor, &options, &s->plan));
  polyad_cp_als_options_init(&s->options);
  s->options.rank = RANK;
  s->options.run.tolerance = 0;
}

static void finish(struct setting *s) {
  polyad_plan_destroy(s->plan);
  polyad_tensor_destroy(s->tensor);
  context_end(s->context);
}

/* From now on products are wrong after `right` of them. */
static void break_plan(struct setting *s, int right) {
  s->kernels = *s->plan->kernels;
  faulty.real = pd_walk_of(s->plan->kernels, PD_OPS_MTTKRP);
  assert_ptr_equal(faulty.real, s->kernels.walks[0]);
  s->walk = *faulty.real;
  s->walk.run = run_wrong;
  s->kernels.walks[0] = &s->walk;
  s->plan->kernels = &s->kernels;
  faulty.products = 0;
  faulty.right = right;
}

static polyad_ktensor *decompose(struct setting *s, int iterations, polyad_run_info *info) {
  polyad_ktensor *model;
  s->options.run.max_iterations = iterations;
  ALS_OK(s->context, polyad_cp_als(s->context, s->plan, &s->options, &model, info));
  return model;
}

static void ends_with_the_iterate_before(const char *format, polyad_type type, int nonnegative) {
  struct setting s;
  polyad_run_info info = {0};
  start(&s, format, type);
  s.options.nonnegative = nonnegative;
  polyad_ktensor *whole = decompose(&s, WHOLE, NULL);
  break_plan(&s, 3 * WHOLE);
  polyad_ktensor *broken = decompose(&s, 4 * WHOLE, &info);
  assert_int_equal(info.reason, POLYAD_REASON_BREAKDOWN);
  assert_string_equal(polyad_reason_string(info.reason), "breakdown");
  assert_int_equal(info.converged, 0);
  assert_int_equal(info.iterations, WHOLE);
  assert_true(als_same_model(whole, broken));
  assert_true(info.fit == info.trace[WHOLE - 1].fit);
  assert_non_null(strstr(info.diagnosis, "The fit fell to"));
  assert_non_null(strstr(info.diagnosis, type == POLYAD_F32 ? "float64" : "ridge"));
  assert_non_null(strstr(s.warning, "the model is that of iteration 5"));
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(broken);
  polyad_ktensor_destroy(whole);
  finish(&s);
}

static void a_fall_ends_the_run(void **state) {
  (void)state;
  static const char *const formats[] = {"coo",      "csf",     "alto", "hls",
                                        "modecopy", "twotree", "dense"};
  for (size_t k = 0; k < sizeof formats / sizeof *formats; ++k) {
    ends_with_the_iterate_before(formats[k], POLYAD_F64, 0);
    ends_with_the_iterate_before(formats[k], POLYAD_F32, 0);
  }
  ends_with_the_iterate_before("auto", POLYAD_F64, 1);
}

/* However generous the tolerance, a fall is not taken for convergence; with a ridge the objective
 * is another one, and the fit may fall to its limit. */
static void a_fall_is_no_convergence(void **state) {
  (void)state;
  struct setting s;
  polyad_run_info info = {0};
  start(&s, "coo", POLYAD_F64);
  break_plan(&s, 3); /* of the first iteration */
  s.options.run.tolerance = 1e-12;
  polyad_ktensor_destroy(decompose(&s, WHOLE, &info));
  assert_int_equal(info.reason, POLYAD_REASON_BREAKDOWN);
  assert_int_equal(info.iterations, 1);
  polyad_run_info_clear(&info);
  s.options.ridge = 0.5;
  faulty.products = 0;
  polyad_ktensor_destroy(decompose(&s, WHOLE, &info));
  assert_int_not_equal(info.reason, POLYAD_REASON_BREAKDOWN);
  polyad_run_info_clear(&info);
  finish(&s);
}

/* Of several starts each may break down; the best one is returned. */
static void a_start_that_breaks_down_is_one_of_several(void **state) {
  (void)state;
  struct setting s;
  polyad_run_info info = {0};
  start(&s, "coo", POLYAD_F64);
  break_plan(&s, 3 * WHOLE);
  s.options.run.starts = 3;
  polyad_ktensor_destroy(decompose(&s, 2 * WHOLE, &info));
  assert_int_equal(info.start_count, 3);
  for (int k = 0; k < 3; ++k)
    assert_int_equal(info.starts[k].reason, POLYAD_REASON_BREAKDOWN);
  polyad_run_info_clear(&info);
  finish(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fall_ends_the_run),
      cmocka_unit_test(a_fall_is_no_convergence),
      cmocka_unit_test(a_start_that_breaks_down_is_one_of_several),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
