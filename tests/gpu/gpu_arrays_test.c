/* A plan of arrays in a GPU's memory has the nonzeros, bit for bit, of a tensor that the host makes
 * of the same arrays, and builds the same storage from them; nothing of the arrays' size comes to
 * the host. What is wrong with the arrays is said in words, and leaves nothing behind. */
#include "gpu/gpu_context.h"
#include "harness.h"
#include "plan/plan.h"
#include "unit/built_cases.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 5 };

/* The host's arrays of a tensor, and the same on the GPU. */
struct arrays {
  polyad_context *context;
  const struct pd_device *device;
  polyad_tensor_input here, there;
  void *block[POLYAD_MAX_ORDER + 1], *copy[POLYAD_MAX_ORDER + 1];
  int blocks;
};

static void must(const struct arrays *a, polyad_status status) {
  if (status != POLYAD_OK) fail_msg("%s", polyad_last_error(a->context));
}

/* Gives both inputs an array of their own of the same bytes. */
static void share(struct arrays *a, const void *from, size_t bytes, const void **here,
                  const void **there) {
  int k = a->blocks++;
  a->block[k] = malloc(bytes + 8);
  assert_non_null(a->block[k]);
  memcpy(a->block[k], from, bytes);
  must(a, a->device->functions->allocate(a->context, a->device, bytes, &a->copy[k]));
  must(a, a->device->functions->copy_in(a->context, a->device, a->copy[k], from, bytes));
  *here = a->block[k];
  *there = a->copy[k];
}

static void arrays_free(struct arrays *a) {
  for (int k = 0; k < a->blocks; ++k) {
    free(a->block[k]);
    a->device->functions->release(a->context, a->device, a->copy[k]);
  }
}

static void put_index(void *to, polyad_index_type type, size_t at, uint64_t index) {
  if (type == POLYAD_I32 || type == POLYAD_U32)
    ((uint32_t *)to)[at] = (uint32_t)index;
  else
    ((uint64_t *)to)[at] = index;
}

/* One (n, N) array of indices, or N arrays; values that are doubles or floats. */
static void arrays_make(const struct problem *problem, polyad_index_type type, bool together,
                        polyad_type value_type, struct arrays *a) {
  int order = problem->from->order;
  size_t n = problem->entries, item = type == POLYAD_I32 || type == POLYAD_U32 ? 4 : 8;
  void *index = malloc(n * (size_t)order * item + 8);
  void *values = problem_in_type(problem->value, n, value_type);
  assert_non_null(index);
  polyad_tensor_input_init(&a->here);
  a->here.order = order;
  a->here.nnz = n;
  a->here.dims = problem->from->dims;
  a->here.index_type = type;
  a->here.value_type = value_type;
  a->here.value_stride = value_type == POLYAD_F32 ? 4 : 8;
  a->there = a->here;
  for (int m = 0; m < order; ++m) {
    for (size_t p = 0; p < n; ++p)
      put_index(index, type, together ? p * (size_t)order + (size_t)m : p,
                problem->index[p * (size_t)order + (size_t)m]);
    a->here.index_stride[m] = (int64_t)item * (together ? order : 1);
    a->there.index_stride[m] = a->here.index_stride[m];
    if (!together) share(a, index, n * item, &a->here.index[m], &a->there.index[m]);
  }
  if (together) {
    const void *here, *there;
    share(a, index, n * (size_t)order * item, &here, &there);
    for (int m = 0; m < order; ++m) {
      a->here.index[m] = (const char *)here + (size_t)m * item;
      a->there.index[m] = (const char *)there + (size_t)m * item;
    }
  }
  share(a, values, n * (value_type == POLYAD_F32 ? 4 : 8), &a->here.values, &a->there.values);
  free(index);
  free(values);
}

static void begin(struct arrays *a) {
  *a = (struct arrays){.context = gpu_context()};
  assert_int_equal(pd_device_of(a->context, &a->device), POLYAD_OK);
}

static void end(struct arrays *a) {
  arrays_free(a);
  assert_int_equal(polyad_memory_in_use(a->context), 0);
  polyad_context_destroy(a->context);
}

/* ---- the same plan ----------------------------------------------------------------------------
 */

/* Sums of n terms in any order differ by n eps times the sum of magnitudes at most. */
static void same_facts(const polyad_plan *found, const polyad_plan *wanted,
                       const polyad_tensor *tensor) {
  double magnitudes = 0, terms = (double)tensor->nnz + 8;
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    magnitudes += fabs(ldexp(pd_tensor_value(tensor, p), -wanted->value_exponent));
  assert_int_equal(found->value_exponent, wanted->value_exponent);
  assert_int_equal(found->zeros, wanted->zeros);
  assert_true(fabs(found->norm - wanted->norm) <= terms * 0x1p-52 * wanted->norm);
  assert_true(fabs(found->sum - wanted->sum) <= terms * 0x1p-52 * magnitudes);
  assert_memory_equal(&found->negative, &wanted->negative, sizeof found->negative);
  assert_memory_equal(found->longest_row, wanted->longest_row, sizeof found->longest_row);
}

/* What a format cannot hold it refuses from either side. */
static bool both_refuse(struct arrays *a, const polyad_tensor *tensor,
                        const polyad_plan_options *options, polyad_plan **wanted,
                        polyad_plan **found) {
  polyad_status status = polyad_plan_create(a->context, tensor, options, wanted);
  if (status != POLYAD_UNSUPPORTED) must(a, status);
  polyad_status there = polyad_plan_create_from_device(a->context, &a->there, options, found);
  if (status == POLYAD_OK) must(a, there);
  assert_int_equal(there, status);
  return status != POLYAD_OK;
}

static void same_plan(struct arrays *a, const polyad_plan_options *options) {
  polyad_tensor *tensor, *back, *expected;
  polyad_plan *found, *wanted;
  a->here.type = options->precision;
  must(a, polyad_tensor_create(a->context, &a->here, &tensor));
  if (both_refuse(a, tensor, options, &wanted, &found)) {
    polyad_tensor_destroy(tensor);
    return;
  }
  must(a, pd_plan_check(a->context, found));
  assert_int_equal(found->nnz, wanted->nnz);
  assert_memory_equal(found->dims, wanted->dims, sizeof found->dims);
  assert_string_equal(polyad_plan_variant(found), polyad_plan_variant(wanted));
  if (tensor->nnz > 0) same_facts(found, wanted, tensor);
  must(a, pd_plan_expand(a->context, found, &back));
  must(a, pd_plan_expand(a->context, wanted, &expected));
  assert_true(polyad_tensor_hash(back) == polyad_tensor_hash(expected));
  polyad_tensor_destroy(expected);
  polyad_tensor_destroy(back);
  polyad_plan_destroy(found);
  polyad_plan_destroy(wanted);
  polyad_tensor_destroy(tensor);
}

static const char *const formats[] = {"modecopy", "coo", "alto", "portable"};

/* Every case, with types, layouts and formats in turn. */
static void test_same_plan(void **state) {
  (void)state;
  for (size_t c = 0; c < built_case_count; ++c)
    for (int k = 0; k < 4; ++k) {
      struct problem problem;
      struct arrays a;
      polyad_plan_options options;
      begin(&a);
      problem_make(&built_cases[c], RANK, 3, &problem);
      arrays_make(&problem, (polyad_index_type)k, (c + (size_t)k) % 2 == 0,
                  k < 2 ? POLYAD_F32 : POLYAD_F64, &a);
      polyad_plan_options_init(&options);
      options.format = formats[(c + (size_t)k) % 4];
      options.rank = RANK;
      options.precision = k % 2 == 0 ? POLYAD_F64 : POLYAD_F32;
      if (problem.entries > 0) same_plan(&a, &options);
      problem_free(&problem);
      end(&a);
    }
}

static const struct mttkrp_case many = {"many", 3, {30, 20, 25}, 9000, SHAPE_HEAVY, true};

/* Every policy for repeats, with values that cancel to zero, and without dims. */
static void test_policies(void **state) {
  (void)state;
  for (int policy = 0; policy <= POLYAD_DUPLICATES_COUNT; ++policy)
    for (int keep = 0; keep < 2; ++keep) {
      if (policy == POLYAD_DUPLICATES_ERROR) continue;
      struct problem problem;
      struct arrays a;
      polyad_plan_options options;
      begin(&a);
      problem_make(&many, RANK, 5, &problem);
      for (size_t p = 0; p < problem.entries; ++p)
        problem.value[p] = (double)(p % 5) - 2;
      arrays_make(&problem, POLYAD_I64, true, POLYAD_F64, &a);
      a.here.duplicates = a.there.duplicates = (polyad_duplicates)policy;
      a.here.zeros = a.there.zeros = keep ? POLYAD_ZEROS_KEEP : POLYAD_ZEROS_DROP;
      a.here.dims = a.there.dims = NULL;
      polyad_plan_options_init(&options);
      options.format = "modecopy";
      options.zeros = a.here.zeros;
      same_plan(&a, &options);
      problem_free(&problem);
      end(&a);
    }
}

/* Values whose squares overflow are scaled there; ones where no values are given; nothing but
 * zeros. */
static void test_values(void **state) {
  (void)state;
  for (int k = 0; k < 4; ++k) {
    static const double scale[] = {0x1p-1000, 0x1p900, 1, 0};
    struct problem problem;
    struct arrays a;
    polyad_plan_options options;
    begin(&a);
    problem_make(&many, RANK, 5, &problem);
    for (size_t p = 0; p < problem.entries; ++p)
      problem.value[p] *= scale[k];
    arrays_make(&problem, POLYAD_U32, false, POLYAD_F64, &a);
    if (k == 2) a.here.values = a.there.values = NULL;
    polyad_plan_options_init(&options);
    options.format = k == 3 ? "coo" : "modecopy";
    same_plan(&a, &options);
    problem_free(&problem);
    end(&a);
  }
}

/* Kernels find what the oracle finds, whatever format is chosen. */
static void test_products(void **state) {
  (void)state;
  struct problem problem;
  struct arrays a;
  polyad_plan_options options;
  polyad_plan *plan;
  begin(&a);
  problem_make(&built_cases[8], RANK, 3, &problem);
  arrays_make(&problem, POLYAD_I32, true, POLYAD_F64, &a);
  for (int tune = 0; tune < 2; ++tune) {
    polyad_plan_options_init(&options);
    options.rank = RANK;
    options.tune = tune;
    must(&a, polyad_plan_create_from_device(a.context, &a.there, &options, &plan));
    problem_compare(a.context, plan, &problem, polyad_plan_format(plan));
    polyad_plan_destroy(plan);
  }
  problem_free(&problem);
  end(&a);
}

/* Two million nonzeros: the host's memory has no copy of any array, of which the smallest would
 * take 8 MB, at any time. */
static void test_no_copy(void **state) {
  (void)state;
  static const struct mttkrp_case from = {"long",        3,    {4000, 3000, 2000}, 2000000,
                                          SHAPE_UNIFORM, false};
  struct problem problem;
  struct arrays a;
  polyad_plan_options options;
  polyad_plan *plan;
  begin(&a);
  problem_make(&from, 1, 3, &problem);
  arrays_make(&problem, POLYAD_I64, true, POLYAD_F64, &a);
  polyad_plan_options_init(&options);
  must(&a, polyad_plan_create_from_device(a.context, &a.there, &options, &plan));
  if (polyad_memory_peak(a.context) > 4 << 20)
    fail_msg("the host had %llu bytes", (unsigned long long)polyad_memory_peak(a.context));
  polyad_plan_destroy(plan);
  problem_free(&problem);
  end(&a);
}

/* ---- refusals ---------------------------------------------------------------------------------
 */

static void refused(struct arrays *a, const polyad_plan_options *options, polyad_status wanted,
                    const char *says) {
  polyad_plan *plan;
  polyad_status found = polyad_plan_create_from_device(a->context, &a->there, options, &plan);
  if (found != wanted || strstr(polyad_last_error(a->context), says) == NULL)
    fail_msg("expected '%s', found: %s", says, polyad_last_error(a->context));
  assert_null(plan);
}

static void change(struct arrays *a, const void *place, const void *to, size_t bytes) {
  must(a, a->device->functions->copy_in(a->context, a->device, (void *)place, to, bytes));
}

static void test_refused(void **state) {
  (void)state;
  struct problem problem;
  struct arrays a;
  polyad_plan_options options;
  const int64_t bad = -3, good = 1;
  const double nan = NAN, large = 1e300, one = 1;
  begin(&a);
  problem_make(&many, RANK, 5, &problem);
  arrays_make(&problem, POLYAD_I64, false, POLYAD_F64, &a);
  polyad_plan_options_init(&options);
  const polyad_tensor_input as_made = a.there;
  change(&a, (const int64_t *)a.there.index[1] + 7, &bad, sizeof bad);
  refused(&a, &options, POLYAD_INVALID_ARGUMENT, "nonzero 7 has index -3 in mode 1");
  a.there.dims = NULL;
  refused(&a, &options, POLYAD_INVALID_ARGUMENT, "nonzero 7 has index -3 in mode 1");
  a.there = as_made;
  change(&a, (const int64_t *)a.there.index[1] + 7, &good, sizeof good);
  change(&a, (const double *)a.there.values + 11, &nan, sizeof nan);
  refused(&a, &options, POLYAD_INVALID_ARGUMENT, "nonzero 11 (counted from 0) has value nan");
  change(&a, (const double *)a.there.values + 11, &large, sizeof large);
  options.precision = POLYAD_F32;
  refused(&a, &options, POLYAD_NUMERICAL, "does not fit float32");
  options.precision = POLYAD_F64;
  change(&a, (const double *)a.there.values + 11, &one, sizeof one);
  a.there.duplicates = POLYAD_DUPLICATES_ERROR;
  refused(&a, &options, POLYAD_INVALID_ARGUMENT, "times; expected once");
  a.there = as_made;
  a.there.values = a.here.values;
  refused(&a, &options, POLYAD_INVALID_ARGUMENT, "values lies in memory of the host");
  a.there = as_made;
  a.there.index[2] = (const char *)a.there.index[2] + 4;
  --a.there.nnz;
  refused(&a, &options, POLYAD_INVALID_ARGUMENT, "not at multiples of their size");
  a.there = as_made;
  options.format = "bcsf";
  refused(&a, &options, POLYAD_UNSUPPORTED, "it is built on the host");
  options.format = "auto";
  assert_int_equal(polyad_set_device(a.context, "cpu"), POLYAD_OK);
  refused(&a, &options, POLYAD_UNSUPPORTED, "expected a CUDA GPU");
  assert_int_equal(polyad_set_device(a.context, "cuda"), POLYAD_OK);
  problem_free(&problem);
  end(&a);
}

/* With more and more memory every allocation is once the first that fails. */
static void test_memory_limits(void **state) {
  (void)state;
  struct problem problem;
  struct arrays a;
  polyad_plan_options options;
  polyad_plan *plan = NULL;
  polyad_status status = POLYAD_MEMORY_LIMIT;
  int failures = 0;
  begin(&a);
  problem_make(&many, RANK, 5, &problem);
  arrays_make(&problem, POLYAD_I64, true, POLYAD_F64, &a);
  polyad_plan_options_init(&options);
  options.rank = RANK;
  uint64_t held = polyad_memory_in_use(a.context);
  for (uint64_t limit = 1 << 14; status != POLYAD_OK; limit += limit / 8) {
    must(&a, polyad_set_memory_limit(a.context, limit));
    status = polyad_plan_create_from_device(a.context, &a.there, &options, &plan);
    failures += status != POLYAD_OK;
    if (status != POLYAD_OK) assert_int_equal(polyad_memory_in_use(a.context), held);
    assert_true(status == POLYAD_OK || status == POLYAD_MEMORY_LIMIT);
    assert_true(limit < UINT64_C(1) << 30);
  }
  assert_true(failures > 10);
  must(&a, polyad_set_memory_limit(a.context, UINT64_MAX));
  polyad_plan_destroy(plan);
  problem_free(&problem);
  end(&a);
}

GPU_TESTS(cmocka_unit_test(test_same_plan), cmocka_unit_test(test_policies),
          cmocka_unit_test(test_values), cmocka_unit_test(test_products),
          cmocka_unit_test(test_no_copy), cmocka_unit_test(test_refused),
          cmocka_unit_test(test_memory_limits))
