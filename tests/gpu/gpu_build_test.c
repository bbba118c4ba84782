/* A storage that the GPU builds is the one that the host builds and copies there: every array, bit
 * for bit, and so every sum. Failures in the middle leave nothing behind. */
#include "device/build.h"
#include "formats/portable/portable_format.h"
#include "formats/twotree/twotree.h"
#include "formats/twotree/twotree_layout.h"
#include "gpu/gpu_context.h"
#include "harness.h"
#include "unit/same_modecopy.h"
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
  const uint64_t ranks[POLYAD_MAX_ORDER] = {RANK, RANK, RANK, RANK, RANK};
  must(s, walk->workspace_create(s->context, s->device, on_device, ranks, &scratch), "workspace");
  must(s,
       pd_matrix_create(s->context, s->device, s->request.precision, s->tensor->dims[mode], RANK,
                        &out),
       "output");
  must(s, walk->run(s->context, on_device, scratch, &call), "mttkrp");
  must(s, pd_matrix_to_host(s->context, &out, result), "output");
  pd_matrix_destroy(s->context, &out);
  walk->workspace_destroy(s->context, scratch);
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

/* The lists that both formats are made of. */
static const struct pd_modecopy *lists_of(const struct setting *s, const void *storage) {
  if (s->format != &pd_portable_format) return storage;
  return ((const struct pd_portable *)storage)->lists;
}

/* The two storages of lists that a side of twotree is made of, and the indices of its tuples. */
static void same_sides(const struct setting *s, const struct pd_twotree *found,
                       const struct pd_twotree *wanted) {
  assert_int_equal(found->sides, wanted->sides);
  for (int k = 0; k < found->sides; ++k) {
    const struct pd_twotree_side *f = &found->side[k], *w = &wanted->side[k];
    assert_memory_equal(&f->modes, &w->modes, sizeof f->modes);
    assert_true(f->tuples == w->tuples);
    assert_same_modecopy(s->problem.from->name, f->nonzeros, w->nonzeros);
    if (f->modes.count == 1) continue;
    assert_same_modecopy(s->problem.from->name, f->by_tuple, w->by_tuple);
    for (int n = 0; n < f->modes.count; ++n)
      assert_memory_equal(f->tuple_id[n], w->tuple_id[n], 4 * f->tuples);
  }
}

static void same_arrays(const struct setting *s, const void *on_device, const void *wanted) {
  void *found = NULL;
  must(s, s->kernels->download(s->context, s->device, on_device, true, &found), "download");
  must(s, s->format->check(s->context, found), "check");
  if (s->format == &pd_twotree_format)
    same_sides(s, found, wanted);
  else
    assert_same_modecopy(s->problem.from->name, lists_of(s, found), lists_of(s, wanted));
  s->format->destroy(s->context, found);
}

/* What decoding needs of a storage is enough for it. */
static void same_nonzeros(const struct setting *s, const void *on_device) {
  void *found = NULL;
  polyad_tensor *back = NULL;
  must(s, s->kernels->download(s->context, s->device, on_device, false, &found), "download");
  must(s, pd_storage_expand(s->context, s->format, found, s->tensor, &back), "expand");
  assert_true(polyad_tensor_hash(back) == polyad_tensor_hash(s->tensor));
  polyad_tensor_destroy(back);
  s->format->destroy(s->context, found);
}

static void compare(const char *format, const struct mttkrp_case *from, polyad_type type,
                    const char *variant) {
  struct setting s;
  void *header = NULL, *built = NULL, *wanted = NULL, *copied = NULL;
  set_up(format, from, type, variant, &s);
  must(&s, pd_storage_build(s.context, s.format, s.tensor, false, &s.request, &wanted), "host");
  must(&s, s.kernels->upload(s.context, s.device, wanted, &copied), "upload");
  same_arrays(&s, copied, wanted);
  same_nonzeros(&s, copied);
  if (s.kernels->build_bytes(&s.traits, &s.request, 0) > 0) {
    must(&s, s.format->begin(s.context, s.tensor, &s.request, &header), "begin");
    must(&s, s.kernels->build(s.context, s.device, s.tensor, &s.traits, &s.request, header, &built),
         "build");
    assert_true(s.format->bytes(header) == s.format->bytes(wanted));
    same_arrays(&s, built, wanted);
    same_nonzeros(&s, built);
    same_sums(&s, built, copied);
    s.kernels->unload(s.context, s.device, built);
    s.format->destroy(s.context, header);
  } else {
    assert_string_equal(variant, "paper");
  }
  s.kernels->unload(s.context, s.device, copied);
  s.format->destroy(s.context, wanted);
  tear_down(&s);
}

static void test_same_bits(void **state) {
  (void)state;
  for (size_t c = 0; c < built_case_count; ++c) {
    compare("modecopy", &built_cases[c], POLYAD_F32, "auto");
    compare("modecopy", &built_cases[c], POLYAD_F64, "auto");
    compare("modecopy", &built_cases[c], POLYAD_F32, "paper");
    compare("portable", &built_cases[c], POLYAD_F32, "auto");
    compare("portable", &built_cases[c], POLYAD_F64, "auto");
    if (built_cases[c].order < pd_twotree_format.min_order) continue;
    compare("twotree", &built_cases[c], POLYAD_F32, "auto");
    compare("twotree", &built_cases[c], POLYAD_F64, "auto");
  }
}

/* Sorts of several million nonzeros, and transfers that several threads share. */
static void test_long(void **state) {
  (void)state;
  static const struct mttkrp_case from = {"long",  4,           {1000, 3000, 20000, 700},
                                          3000001, SHAPE_HEAVY, false};
  compare("modecopy", &from, POLYAD_F64, "auto");
  compare("portable", &from, POLYAD_F32, "auto");
  compare("twotree", &from, POLYAD_F64, "auto");
}

/* ---- plans ------------------------------------------------------------------------------------
 */

/* The host keeps no copy; what reads the nonzeros gets them back. */
static void test_plan(void **state) {
  (void)state;
  static const char *const variants[] = {"auto", "paper"};
  for (int v = 0; v < 2; ++v) {
    struct setting s;
    polyad_plan_options options;
    polyad_plan *plan = NULL;
    polyad_tensor *back = NULL;
    set_up("modecopy", &built_cases[8], POLYAD_F64, variants[v], &s);
    uint64_t before = polyad_memory_in_use(s.context);
    polyad_plan_options_init(&options);
    options.format = "modecopy";
    options.variant = variants[v];
    options.rank = RANK;
    must(&s, polyad_plan_create(s.context, s.tensor, &options, &plan), "plan");
    uint64_t held = polyad_memory_in_use(s.context) - before;
    assert_true(polyad_plan_bytes(plan) > s.tensor->nnz * 8 * 3);
    if (held > 64 << 10) fail_msg("the host keeps %llu bytes", (unsigned long long)held);
    must(&s, pd_plan_check(s.context, plan), "check");
    must(&s, pd_plan_expand(s.context, plan, &back), "expand");
    assert_true(polyad_tensor_hash(back) == polyad_tensor_hash(s.tensor));
    assert_true(polyad_memory_in_use(s.context) > before + held);
    polyad_tensor_destroy(back);
    problem_compare(s.context, plan, &s.problem, variants[v]);
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
  for (uint64_t limit = 1 << 16; status != POLYAD_OK; limit += 1 << 16) {
    void *header = NULL, *built = NULL;
    must(&s, polyad_set_memory_limit(s.context, UINT64_MAX), "limit");
    must(&s, s.format->begin(s.context, s.tensor, &s.request, &header), "begin");
    uint64_t held = polyad_memory_in_use(s.context);
    must(&s, polyad_set_memory_limit(s.context, limit), "limit");
    status = s.kernels->build(s.context, s.device, s.tensor, &s.traits, &s.request, header, &built);
    if (status == POLYAD_OK) {
      s.kernels->unload(s.context, s.device, built);
    } else {
      ++failures;
      assert_int_equal(status, POLYAD_MEMORY_LIMIT);
      assert_null(built);
    }
    assert_true(polyad_memory_in_use(s.context) == held);
    assert_int_equal(device_bytes_held(&s, limit), 0);
    s.format->destroy(s.context, header);
    assert_true(limit < UINT64_C(1) << 30);
  }
  assert_true(failures > 10);
  must(&s, polyad_set_memory_limit(s.context, UINT64_MAX), "limit");
  tear_down(&s);
}

static void test_memory_limits(void **state) {
  (void)state;
  fail_each_allocation("modecopy");
  fail_each_allocation("twotree");
}

/* An argument names the one test to run. */
int main(int argc, char **argv) {
  int missing = gpu_missing();
  if (missing != 0) return missing;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_bits),     cmocka_unit_test(test_long),
      cmocka_unit_test(test_plan),          cmocka_unit_test(test_empty),
      cmocka_unit_test(test_memory_limits),
  };
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
