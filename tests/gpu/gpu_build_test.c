/* A storage that the GPU builds is the one that the host builds: every array, bit for bit, and so
 * every sum. All formats go there and back as they are. Failures in the middle leave nothing
 * behind.
 */
#include "formats/sent.h"
#include "gpu/gpu_context.h"
#include "harness.h"
#include "unit/built_cases.h"
#include "unit/same_storage.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 5 };

/* A case on a device. */
struct setting {
  polyad_context *context;
  const struct pd_device *device;
  const struct polyad_format *format;
  const struct polyad_kernels *kernels;
  struct problem problem;
  polyad_tensor *tensor;
  struct pd_request request;
  struct pd_traits traits;
};

static void set_up(const char *format, const struct mttkrp_case *from, polyad_type type,
                   const char *variant, struct setting *s) {
  *s = (struct setting){.context = gpu_context(), .format = pd_format_find(format)};
  assert_int_equal(pd_device_of(s->context, &s->device), POLYAD_OK);
  s->kernels = pd_kernels_find(format, s->device->kind);
  problem_make(from, RANK, 3, &s->problem);
  s->tensor = problem_polyad(s->context, &s->problem, type);
  s->request = (struct pd_request){
      .variant = variant, .rank = RANK, .precision = type, .threads = 4, .device = s->device};
  assert_int_equal(pd_traits_compute(s->context, s->tensor, &s->traits), POLYAD_OK);
  s->request.traits = &s->traits;
}

static void tear_down(struct setting *s) {
  polyad_tensor_destroy(s->tensor);
  problem_free(&s->problem);
  assert_int_equal(polyad_memory_in_use(s->context), 0);
  polyad_context_destroy(s->context);
}

static void must(const struct setting *s, polyad_status status, const char *what) {
  if (status != POLYAD_OK)
    fail_msg("%s, %s: %s", s->problem.from->name, what, polyad_last_error(s->context));
}

/* ---- sums -------------------------------------------------------------------------------------
 */

static void make_factors(const struct setting *s, struct pd_matrix factors[POLYAD_MAX_ORDER]) {
  for (int n = 0; n < s->tensor->order; ++n) {
    uint64_t count = s->tensor->dims[n] * RANK;
    float *narrow = malloc(count * sizeof *narrow);
    assert_non_null(narrow);
    for (uint64_t k = 0; k < count; ++k)
      narrow[k] = (float)s->problem.factor[n][k];
    must(s,
         pd_matrix_create(s->context, s->device, s->request.precision, s->tensor->dims[n], RANK,
                          &factors[n]),
         "factor");
    must(s,
         pd_matrix_from_host(s->context, &factors[n],
                             s->request.precision == POLYAD_F32 ? (const void *)narrow
                                                                : s->problem.factor[n]),
         "factor");
    free(narrow);
  }
}

/* The MTTKRP of one mode on the host. */
static void *run_mode(const struct setting *s, const void *on_device, int mode,
                      const struct pd_matrix *factors) {
  const struct pd_matrix *pointers[POLYAD_MAX_ORDER];
  struct pd_matrix out;
  void *scratch = NULL;
  size_t bytes = s->tensor->dims[mode] * RANK * pd_type_bytes(s->request.precision);
  void *result = malloc(bytes);
  assert_non_null(result);
  for (int n = 0; n < s->tensor->order; ++n)
    pointers[n] = &factors[n];
  const struct pd_walk *walk = pd_walk_of(s->kernels, PD_OPS_MTTKRP);
  const struct pd_call call = {.op = PD_MTTKRP, .mode = mode, .factors = pointers, .out = &out};
  uint64_t ranks[POLYAD_MAX_ORDER];
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    ranks[n] = RANK;
  must(s, pd_walk_open(s->context, walk, s->device, on_device, ranks, &scratch), "workspace");
  must(s,
       pd_matrix_create(s->context, s->device, s->request.precision, s->tensor->dims[mode], RANK,
                        &out),
       "output");
  must(s, walk->run(s->context, on_device, scratch, &call), "mttkrp");
  must(s, pd_matrix_to_host(s->context, &out, result), "output");
  pd_matrix_destroy(s->context, &out);
  pd_walk_close(scratch);
  return result;
}

static void same_sums(const struct setting *s, const void *found, const void *wanted) {
  struct pd_matrix factors[POLYAD_MAX_ORDER];
  make_factors(s, factors);
  for (int mode = 0; mode < s->tensor->order; ++mode) {
    size_t bytes = s->tensor->dims[mode] * RANK * pd_type_bytes(s->request.precision);
    void *one = run_mode(s, found, mode, factors), *other = run_mode(s, wanted, mode, factors);
    if (memcmp(one, other, bytes) != 0)
      fail_msg("%s: sums of mode %d differ", s->problem.from->name, mode);
    free(one);
    free(other);
  }
  for (int n = 0; n < s->tensor->order; ++n)
    pd_matrix_destroy(s->context, &factors[n]);
}

/* ---- arrays -----------------------------------------------------------------------------------
 */

static void same_arrays(const struct setting *s, const void *on_device, const void *wanted) {
  void *found = NULL;
  must(s, pd_storage_bring(s->context, s->format, s->device, on_device, true, &found), "bring");
  must(s, s->format->check(s->context, found), "check");
  assert_same_storage(s->problem.from->name, s->format, found, wanted);
  pd_storage_free(s->context, s->format, found);
}

/* What decoding needs of a storage is enough for it. */
static void same_nonzeros(const struct setting *s, const void *on_device) {
  void *found = NULL;
  polyad_tensor *back = NULL;
  must(s, pd_storage_bring(s->context, s->format, s->device, on_device, false, &found), "bring");
  must(s, pd_storage_expand(s->context, s->format, found, s->tensor, &back), "expand");
  if (s->request.compute == POLYAD_COMPUTE_NATIVE) /* others round the values */
    assert_true(polyad_tensor_hash(back) == polyad_tensor_hash(s->tensor));
  polyad_tensor_destroy(back);
  pd_storage_free(s->context, s->format, found);
}

static bool can_hold(const struct setting *s) {
  char reason[PD_REASON_BYTES];
  return s->tensor->order >= s->format->min_order && s->tensor->order <= s->format->max_order &&
         s->format->supports(&s->traits, &s->request, reason);
}

/* Whether the GPU builds it. */
static bool builds_there(const struct setting *s) {
  return s->format->build_there != NULL && s->format->bytes_there(&s->traits, &s->request, 0) > 0;
}

/* The GPU finds the traits that the host finds. */
static void same_traits(struct setting *s) {
  struct pd_build *sent = NULL;
  struct pd_traits traits;
  s->request.sent = &sent;
  must(s, pd_sent_begin(s->context, s->tensor, &s->request), "sending");
  if (sent != NULL) {
    struct pd_request host = {.device = s->device};
    must(s, pd_traits_compute_sent(s->context, s->tensor, &s->request, &traits), "traits");
    must(s, pd_traits_count_tuples(s->context, s->tensor, &s->request, &traits), "tuples");
    must(s, pd_traits_count_tuples(s->context, s->tensor, &host, &s->traits), "tuples");
    assert_memory_equal(&traits, &s->traits, sizeof traits);
  }
  pd_sent_end(s->context, &s->request);
  s->request.sent = NULL;
}

static void compare_held(struct setting *s) {
  void *built = NULL, *wanted = NULL, *copied = NULL;
  must(s, pd_storage_build(s->context, s->format, s->tensor, false, &s->request, &wanted), "host");
  must(s, pd_storage_put(s->context, s->format, s->device, wanted, &copied), "put");
  same_arrays(s, copied, wanted);
  same_nonzeros(s, copied);
  if (builds_there(s)) {
    same_traits(s);
    must(s, pd_storage_begin(s->context, s->format, s->tensor, &s->request, &built), "begin");
    must(s, pd_sent_build(s->context, s->format, s->tensor, &s->request, built), "build");
    same_arrays(s, built, wanted);
    same_nonzeros(s, built);
    if (!pd_walk_of(pd_kernels_find(s->format->name, "cuda"), PD_OPS_MTTKRP)->any_order &&
        strncmp(s->request.variant, "paper", 5) != 0 &&
        strstr(s->request.variant, "atomic") == NULL)
      same_sums(s, built, copied);
    pd_storage_release(s->context, s->format, s->device, built);
  }
  pd_storage_release(s->context, s->format, s->device, copied);
  pd_storage_free(s->context, s->format, wanted);
}

/* Returns whether the GPU has built it. */
static bool compare(const char *format, const struct mttkrp_case *from, polyad_type type,
                    const char *variant) {
  struct setting s;
  set_up(format, from, type, variant, &s);
  bool held = can_hold(&s), built = held && builds_there(&s);
  if (held) compare_held(&s);
  tear_down(&s);
  return built;
}

/* Every variant of every format that has kernels here. */
static void compare_variants(const struct polyad_format *format, const struct mttkrp_case *from,
                             polyad_type type) {
  char variants[256], *rest = variants;
  snprintf(variants, sizeof variants, "%s", format->variants);
  for (char *variant; (variant = strtok_r(rest, " ", &rest)) != NULL;)
    (void)compare(format->name, from, type, variant);
}

static void test_same_bits(void **state) {
  (void)state;
  for (int f = 0; f < pd_format_count(); ++f) {
    const struct polyad_format *format = pd_format_at(f);
    if (pd_kernels_find(format->name, "cuda") == NULL) continue;
    for (size_t c = 0; c < built_case_count; ++c)
      compare_variants(format, &built_cases[c], c % 2 == 0 ? POLYAD_F32 : POLYAD_F64);
  }
}

/* Formats that are not only moved. */
static const char *const built_there[][2] = {
    {"modecopy", "auto"}, {"portable", "auto"}, {"coo", "auto"},         {"coo", "paper"},
    {"twotree", "auto"},  {"alto", "auto"},     {"alto", "keys-atomic"}, {"alto", "coo-pull"},
    {"blco", "auto"},     {"flycoo", "auto"},   {"flycoo", "paper"},     {"hls", "auto"}};

static void test_built_there(void **state) {
  (void)state;
  for (size_t b = 0; b < sizeof built_there / sizeof *built_there; ++b)
    for (size_t c = 0; c < built_case_count; ++c) {
      const struct polyad_format *format = pd_format_find(built_there[b][0]);
      if (built_cases[c].order < format->min_order || built_cases[c].order > format->max_order)
        continue;
      assert_true(compare(built_there[b][0], &built_cases[c], POLYAD_F32, built_there[b][1]));
      assert_true(compare(built_there[b][0], &built_cases[c], POLYAD_F64, built_there[b][1]));
    }
}

/* Tiles of hls, and values of other types: tiles that have so many nonzeros are dense. */
static void compare_tiles(const struct mttkrp_case *from, polyad_type type, polyad_compute compute,
                          int threshold) {
  struct setting s;
  set_up("hls", from, type, "auto", &s);
  s.request.compute = compute;
  s.request.parameter[0] = threshold;
  if (can_hold(&s)) {
    assert_true(builds_there(&s));
    compare_held(&s);
  }
  tear_down(&s);
}

static const polyad_compute computes[] = {POLYAD_COMPUTE_F16, POLYAD_COMPUTE_BF16,
                                          POLYAD_COMPUTE_TF32};

static void test_tiles(void **state) {
  (void)state;
  static const int thresholds[] = {1, 3, 20, 4097};
  for (size_t c = 0; c < built_case_count; ++c)
    for (size_t k = 0; k < 3; ++k)
      compare_tiles(&built_cases[c], c % 2 == 0 ? POLYAD_F32 : POLYAD_F64, computes[k],
                    thresholds[(c + k) % 4]);
}

/* Few nonzeros, for sanitizers: every step of every builder. */
static void test_few(void **state) {
  (void)state;
  static const struct mttkrp_case from = {"few", 4, {40, 33, 50, 17}, 1500, SHAPE_HEAVY, false};
  for (size_t b = 0; b < sizeof built_there / sizeof *built_there; ++b)
    assert_true(compare(built_there[b][0], &from, POLYAD_F32, built_there[b][1]));
  for (size_t k = 0; k < 3; ++k)
    compare_tiles(&from, POLYAD_F32, computes[k], 2);
}

/* Sorts of several million nonzeros, and transfers that several threads share. */
static void test_long(void **state) {
  (void)state;
  static const struct mttkrp_case from = {"long",  4,           {1000, 3000, 20000, 700},
                                          3000001, SHAPE_HEAVY, false};
  for (size_t b = 0; b < sizeof built_there / sizeof *built_there; ++b)
    (void)compare(built_there[b][0], &from, b % 2 == 0 ? POLYAD_F64 : POLYAD_F32,
                  built_there[b][1]);
}

/* ---- plans ------------------------------------------------------------------------------------
 */

/* What the plan knows of the values it has found beside building. */
static void same_facts(const struct setting *s, const polyad_plan *plan) {
  double sum = 0, first = 0;
  for (uint64_t p = 0; p < s->tensor->nnz; ++p) {
    double value = pd_tensor_value(s->tensor, p);
    sum += value;
    if (value < 0 && first == 0) first = value;
  }
  assert_true(plan->tensor_hash == polyad_tensor_hash(s->tensor));
  assert_true(plan->sum == sum);
  assert_true(plan->negative.found == (first < 0));
  assert_true(plan->negative.value == first);
}

/* The host keeps no copy; what reads the nonzeros gets them back. */
static void test_plan(void **state) {
  (void)state;
  static const char *const held[][2] = {
      {"modecopy", "auto"}, {"modecopy", "paper"}, {"coo", "auto"},     {"alto", "auto"},
      {"blco", "auto"},     {"flycoo", "auto"},    {"hls", "auto"},     {"csf", "auto"},
      {"bcsf", "auto"},     {"fcoo", "auto"},      {"fwc", "auto"},     {"hbcsf", "auto"},
      {"hicoo", "auto"},    {"mmcsf", "auto"},     {"portable", "auto"}};
  for (size_t v = 0; v < sizeof held / sizeof *held; ++v) {
    struct setting s;
    if (pd_kernels_find(held[v][0], "cuda") == NULL) continue;
    polyad_plan_options options;
    polyad_plan *plan = NULL;
    polyad_tensor *back = NULL;
    set_up(held[v][0], &built_cases[10], POLYAD_F64, held[v][1], &s);
    uint64_t before = polyad_memory_in_use(s.context);
    polyad_plan_options_init(&options);
    options.format = held[v][0];
    options.variant = held[v][1];
    options.rank = RANK;
    must(&s, polyad_plan_create(s.context, s.tensor, &options, &plan), "plan");
    uint64_t kept = polyad_memory_in_use(s.context) - before;
    assert_true(polyad_plan_bytes(plan) > s.tensor->nnz * 8);
    if (kept > 64 << 10)
      fail_msg("%s: the host keeps %llu bytes", options.format, (unsigned long long)kept);
    same_facts(&s, plan);
    must(&s, pd_plan_check(s.context, plan), "check");
    must(&s, pd_plan_expand(s.context, plan, &back), "expand");
    assert_true(polyad_tensor_hash(back) == polyad_tensor_hash(s.tensor));
    assert_true(polyad_memory_in_use(s.context) > before + kept);
    polyad_tensor_destroy(back);
    problem_compare(s.context, plan, &s.problem, held[v][0]);
    polyad_plan_destroy(plan);
    tear_down(&s);
  }
}

static void test_empty(void **state) {
  (void)state;
  static const struct mttkrp_case from = {"empty", 3, {4, 5, 6}, 0, SHAPE_UNIFORM, false};
  struct problem problem;
  polyad_context *context = gpu_context();
  polyad_plan_options options;
  polyad_tensor *back = NULL;
  polyad_plan_options_init(&options);
  options.format = "modecopy";
  options.rank = RANK;
  problem_make(&from, RANK, 1, &problem);
  polyad_plan *plan = gpu_plan(context, &problem, &options);
  if (pd_plan_expand(context, plan, &back) != POLYAD_OK) fail_msg("%s", polyad_last_error(context));
  assert_true(polyad_tensor_nnz(back) == 0);
  polyad_tensor_destroy(back);
  problem_compare(context, plan, &problem, "empty");
  polyad_plan_destroy(plan);
  problem_free(&problem);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

/* ---- too little memory ------------------------------------------------------------------------
 */

static uint64_t device_bytes_held(const struct setting *s, uint64_t limit) {
  return limit - s->device->functions->memory_available(s->context, s->device);
}

/* With more and more memory every allocation is once the first that fails. */
static void fail_each_allocation(const char *format) {
  struct setting s;
  set_up(format, &built_cases[8], POLYAD_F64, "auto", &s);
  polyad_status status = POLYAD_MEMORY_LIMIT;
  int failures = 0;
  for (uint64_t limit = 1 << 14; status != POLYAD_OK; limit += 1 << 14) {
    void *built = NULL;
    must(&s, polyad_set_memory_limit(s.context, UINT64_MAX), "limit");
    uint64_t held = polyad_memory_in_use(s.context);
    must(&s, pd_storage_begin(s.context, s.format, s.tensor, &s.request, &built), "begin");
    must(&s, polyad_set_memory_limit(s.context, limit), "limit");
    status = pd_sent_build(s.context, s.format, s.tensor, &s.request, built);
    if (status != POLYAD_OK) {
      ++failures;
      assert_int_equal(status, POLYAD_MEMORY_LIMIT);
    }
    pd_storage_release(s.context, s.format, s.device, built);
    assert_true(polyad_memory_in_use(s.context) == held);
    assert_int_equal(device_bytes_held(&s, limit), 0);
    assert_true(limit < UINT64_C(1) << 30);
  }
  assert_true(failures > 10);
  must(&s, polyad_set_memory_limit(s.context, UINT64_MAX), "limit");
  tear_down(&s);
}

static void test_memory_limits(void **state) {
  (void)state;
  fail_each_allocation("modecopy");
  fail_each_allocation("coo");
  fail_each_allocation("twotree");
  fail_each_allocation("alto");
  fail_each_allocation("blco");
  fail_each_allocation("flycoo");
  fail_each_allocation("hls");
}

/* An argument names the one test to run. */
int main(int argc, char **argv) {
  int missing = gpu_missing();
  if (missing != 0) return missing;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_bits), cmocka_unit_test(test_built_there),
      cmocka_unit_test(test_few),       cmocka_unit_test(test_tiles),
      cmocka_unit_test(test_long),      cmocka_unit_test(test_plan),
      cmocka_unit_test(test_empty),     cmocka_unit_test(test_memory_limits),
  };
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
