/* One call from a file or arrays to a model: the same bits as the calls that it stands for, nothing
 * left behind, and a message for whoever has no context. */
#include "inputs.h"
#include "unit/als_fixture.h"
#include "unit/failing_allocator.h"
#include <stdio.h>
#include <unistd.h>

static char folder[64];

static const char *at(const char *name) {
  static char path[4][512];
  static int next;
  next = (next + 1) % 4;
  snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
  return path[next];
}

enum { NNZ = 60, ORDER = 3 };
static const uint64_t dims[ORDER] = {4, 5, 6};

static void entry(int p, int32_t index[ORDER], double *value) {
  index[0] = p % 4;
  index[1] = p % 5;
  index[2] = p * 7 % 6;
  *value = 1 + p % 3;
}

/* The tensor of this file as arrays: rows of (nnz, 3). */
static polyad_tensor_input arrays(void) {
  static int32_t index[NNZ][ORDER];
  static double value[NNZ];
  for (int p = 0; p < NNZ; ++p)
    entry(p, index[p], &value[p]);
  return input_of_rows(ORDER, dims, NNZ, POLYAD_I32, index, value);
}

static polyad_decompose_options small(polyad_algorithm algorithm) {
  polyad_decompose_options options;
  polyad_decompose_options_init(&options, algorithm);
  options.rank = 2;
  options.run.max_iterations = 5;
  options.run.tolerance = 0;
  return options;
}

/* ---- what is computed ---------------------------------------------------------------------- */

/* The calls that one call stands for. */
static polyad_status step_by_step(polyad_context *context, const polyad_decompose_options *options,
                                  uint64_t *hash) {
  polyad_tensor *tensor = NULL;
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  polyad_plan_options choice;
  polyad_plan_options_init(&choice);
  choice.rank = options->rank;
  if (options->algorithm == POLYAD_ALGORITHM_APR_MU) choice.kernel = POLYAD_KERNEL_PHI;
  polyad_cp_als_options als;
  polyad_cp_apr_options apr;
  polyad_cp_als_options_init(&als);
  polyad_cp_apr_options_init(&apr);
  als.run = apr.run = options->run;
  als.rank = apr.rank = options->rank;
  als.nonnegative = options->algorithm == POLYAD_ALGORITHM_NONNEGATIVE;
  als.nonnegative_modes = options->nonnegative_modes;
  apr.method = options->algorithm == POLYAD_ALGORITHM_APR_PDNR   ? POLYAD_APR_PDNR
               : options->algorithm == POLYAD_ALGORITHM_APR_PQNR ? POLYAD_APR_PQNR
                                                                 : POLYAD_APR_MU;
  polyad_status status = polyad_tensor_read(context, at("in.tns"), NULL, &tensor);
  if (status == POLYAD_OK) status = polyad_plan_create(context, tensor, &choice, &plan);
  if (status == POLYAD_OK)
    status = options->algorithm >= POLYAD_ALGORITHM_APR_MU
                 ? polyad_cp_apr(context, plan, &apr, &model, NULL)
                 : polyad_cp_als(context, plan, &als, &model, NULL);
  if (status == POLYAD_OK) *hash = polyad_ktensor_hash(model);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  return status;
}

/* Models of the modes' set, which are those of polyad_cp_als() and obey it. */
static void some_modes_stay_nonnegative(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_decomposition result = {0};
  polyad_decompose_options options = small(POLYAD_ALGORITHM_ALS);
  uint64_t free_hash = 0, expected = 0;
  ALS_OK(context, step_by_step(context, &options, &free_hash));
  options.nonnegative_modes = 5;
  ALS_OK(context, step_by_step(context, &options, &expected));
  ALS_OK(context, polyad_decompose_file(context, at("in.tns"), &options, &result));
  assert_true(polyad_ktensor_hash(result.model) == expected && expected != free_hash);
  for (int n = 0; n < 3; n += 2)
    for (uint64_t k = 0; k < dims[n] * options.rank; ++k)
      assert_true(((const double *)polyad_ktensor_factor(result.model, n))[k] >= 0);
  options.nonnegative_modes = 8;
  assert_int_equal(polyad_decompose_file(context, at("in.tns"), &options, &result),
                   POLYAD_INVALID_ARGUMENT);
  options.algorithm = POLYAD_ALGORITHM_APR_MU;
  options.nonnegative_modes = 1;
  assert_int_equal(polyad_decompose_file(context, at("in.tns"), &options, &result),
                   POLYAD_INVALID_ARGUMENT);
  assert_non_null(strstr(result.message, "nonnegative modes found with algorithm"));
  polyad_decomposition_clear(&result);
  context_end(context);
}

static void the_same_models(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_set_seed(context, 7);
  polyad_tensor_input input = arrays();
  polyad_decomposition result = {0};
  for (int a = POLYAD_ALGORITHM_ALS; a <= POLYAD_ALGORITHM_APR_PQNR; ++a) {
    polyad_decompose_options options = small((polyad_algorithm)a);
    uint64_t expected = 0;
    ALS_OK(context, step_by_step(context, &options, &expected));
    ALS_OK(context, polyad_decompose_file(context, at("in.tns"), &options, &result));
    assert_true(polyad_ktensor_hash(result.model) == expected);
    assert_true(result.context == context && result.message[0] == '\0');
    assert_int_equal(result.info.iterations, 5);
    /* What is in the result is freed by the next call. */
    ALS_OK(context, polyad_decompose_arrays(context, &input, &options, &result));
    assert_true(polyad_ktensor_hash(result.model) == expected);
    assert_int_equal(polyad_tensor_nnz(result.outline), 0);
    assert_memory_equal(polyad_tensor_dims(result.outline), dims, sizeof dims);
    polyad_decomposition_clear(&result);
    /* Without a context one is made, with these settings. */
    options.threads = 2;
    options.seed = 7;
    options.device = "cpu";
    assert_int_equal(polyad_decompose_arrays(NULL, &input, &options, &result), POLYAD_OK);
    assert_true(polyad_ktensor_hash(result.model) == expected);
    assert_int_equal(polyad_threads(result.context), 2);
    polyad_decomposition_clear(&result);
    assert_null(result.context);
  }
  context_end(context);
}

static void defaults(void **state) {
  (void)state;
  polyad_decompose_options options;
  polyad_decompose_options_init(&options, POLYAD_ALGORITHM_ALS);
  assert_int_equal(options.run.max_iterations, 50);
  assert_int_equal(options.rank, 16);
  polyad_decompose_options_init(&options, POLYAD_ALGORITHM_APR_PDNR);
  assert_int_equal(options.run.max_iterations, 1000);
  polyad_decomposition result = {0};
  assert_int_equal(polyad_decompose_file(NULL, at("in.tns"), NULL, &result), POLYAD_OK);
  assert_int_equal(polyad_ktensor_rank(result.model), 16);
  assert_int_equal(polyad_ktensor_type(result.model), POLYAD_F64);
  options = small(POLYAD_ALGORITHM_ALS);
  options.precision = POLYAD_F32;
  options.format = "csf:two";
  assert_int_equal(polyad_decompose_file(NULL, at("in.tns"), &options, &result), POLYAD_OK);
  assert_int_equal(polyad_ktensor_type(result.model), POLYAD_F32);
  polyad_decomposition_clear(&result);
  polyad_decomposition_clear(NULL);
}

static void options_of_reading(void **state) {
  (void)state;
  polyad_read_options read;
  polyad_read_options_init(&read);
  read.value = "count";
  polyad_decompose_options options = small(POLYAD_ALGORITHM_NONNEGATIVE);
  options.read = &read;
  options.output = at("model.ptm");
  polyad_decomposition result = {0};
  assert_int_equal(polyad_decompose_file(NULL, at("in.csv"), &options, &result), POLYAD_OK);
  assert_int_equal(polyad_tensor_order(result.outline), 2);
  assert_string_equal(polyad_tensor_mode_name(result.outline, 1), "fruit");
  size_t length;
  const char *label = polyad_tensor_label(result.outline, 1, 0, &length);
  assert_true(length == 5 && memcmp(label, "apple", length) == 0);

  polyad_context *context = cpu_context(1);
  polyad_ktensor *model = NULL;
  polyad_tensor *outline = NULL;
  ALS_OK(context,
         polyad_ktensor_read_labelled(context, options.output, POLYAD_F64, &model, &outline));
  assert_true(polyad_ktensor_hash(model) == polyad_ktensor_hash(result.model));
  assert_string_equal(polyad_tensor_mode_name(outline, 1), "fruit");
  polyad_ktensor_destroy(model);
  polyad_tensor_destroy(outline);
  context_end(context);
  polyad_decomposition_clear(&result);
}

static int stop_at_once(void *user, const polyad_progress *progress) {
  (void)user;
  return progress->iteration >= 1;
}

static void a_context_can_cancel(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_set_progress(context, stop_at_once, NULL);
  polyad_decompose_options options = small(POLYAD_ALGORITHM_ALS);
  polyad_decomposition result = {0};
  ALS_OK(context, polyad_decompose_file(context, at("in.tns"), &options, &result));
  assert_int_equal(result.info.reason, POLYAD_REASON_CANCELLED);
  assert_int_equal(result.info.iterations, 1);
  assert_non_null(result.model);
  polyad_decomposition_clear(&result);
  context_end(context);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

/* The call fails with `status`, and its message has `words`. */
static void expect(polyad_context *context, const char *path,
                   const polyad_decompose_options *options, polyad_status status,
                   const char *words) {
  polyad_decomposition result = {0};
  assert_int_equal(polyad_decompose_file(context, path, options, &result), status);
  if (strstr(result.message, words) == NULL)
    fail_msg("'%s' found; expected '%s' in it", result.message, words);
  assert_true(result.model == NULL && result.outline == NULL && result.info.trace == NULL);
  polyad_decomposition_clear(&result);
}

static void failures_have_words(void **state) {
  (void)state;
  polyad_decompose_options good = small(POLYAD_ALGORITHM_ALS), bad = good;
  expect(NULL, at("missing.tns"), &good, POLYAD_IO, "missing.tns");
  expect(NULL, at("bad.tns"), &good, POLYAD_PARSE, "bad.tns:2:7:");
  expect(NULL, NULL, &good, POLYAD_INVALID_ARGUMENT, "expected the path of a file");
  bad.rank = 0;
  expect(NULL, at("in.tns"), &bad, POLYAD_INVALID_ARGUMENT, "rank 0");
  bad = small((polyad_algorithm)9);
  expect(NULL, at("in.tns"), &bad, POLYAD_INVALID_ARGUMENT, "algorithm 9");
  bad = good;
  bad.run.starts = 0;
  expect(NULL, at("in.tns"), &bad, POLYAD_INVALID_ARGUMENT, "0 starts");
  bad = good;
  bad.format = "abacus";
  expect(NULL, at("in.tns"), &bad, POLYAD_INVALID_ARGUMENT, "abacus");
  bad = good;
  bad.threads = -1;
  expect(NULL, at("in.tns"), &bad, POLYAD_INVALID_ARGUMENT, "-1 threads");
  bad = good;
  bad.device = "abacus";
  expect(NULL, at("in.tns"), &bad, POLYAD_INVALID_ARGUMENT, "abacus");
  bad = good;
  bad.memory_limit = 2000;
  expect(NULL, at("in.tns"), &bad, POLYAD_MEMORY_LIMIT, "memory limit");
  assert_int_equal(polyad_decompose_file(NULL, at("in.tns"), &good, NULL), POLYAD_INVALID_ARGUMENT);
  polyad_decomposition result = {0};
  assert_int_equal(polyad_decompose_arrays(NULL, NULL, &good, &result), POLYAD_INVALID_ARGUMENT);
  polyad_decomposition_clear(&result);
}

/* Before the file, which is not there, is looked for. */
static void outputs_are_checked_first(void **state) {
  (void)state;
  polyad_decompose_options options = small(POLYAD_ALGORITHM_ALS);
  options.output = at("model.docx");
  expect(NULL, at("missing.tns"), &options, POLYAD_INVALID_ARGUMENT, ".ktensor");
  options.output = at("missing/model.ktensor");
  expect(NULL, at("missing.tns"), &options, POLYAD_IO, "missing/model.ktensor");
}

static void a_context_has_its_own_settings(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_decompose_options options = small(POLYAD_ALGORITHM_ALS);
  polyad_decompose_options set[] = {options, options, options, options};
  set[0].threads = 1;
  set[1].seed = 1;
  set[2].device = "cpu";
  set[3].memory_limit = 1 << 20;
  for (int k = 0; k < 4; ++k)
    expect(context, at("in.tns"), &set[k], POLYAD_INVALID_ARGUMENT, "set in the context");
  assert_int_equal(polyad_last_error_record(context).status, POLYAD_INVALID_ARGUMENT);
  context_end(context);
}

static polyad_status decompose_arrays(polyad_context *context, void *unused) {
  (void)unused;
  polyad_tensor_input input = arrays();
  polyad_decompose_options options = small(POLYAD_ALGORITHM_APR_MU);
  polyad_decomposition result = {0};
  polyad_status status = polyad_decompose_arrays(context, &input, &options, &result);
  polyad_decomposition_clear(&result);
  return status;
}

static void out_of_memory(void **state) {
  (void)state;
  assert_true(sweep_failures(decompose_arrays, NULL, 2) > 20);
}

/* ---- files ------------------------------------------------------------------------------- */

static const char *const made[] = {"in.tns", "bad.tns", "in.csv", "model.ptm"};

static int make_files(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/polyad-decompose-XXXXXX");
  if (mkdtemp(folder) == NULL) return -1;
  FILE *file = fopen(at("in.tns"), "w");
  for (int p = 0; p < NNZ; ++p) {
    int32_t index[ORDER];
    double value;
    entry(p, index, &value);
    fprintf(file, "%d %d %d %g\n", index[0] + 1, index[1] + 1, index[2] + 1, value);
  }
  fclose(file);
  file = fopen(at("bad.tns"), "w");
  fputs("1 1 1 2\n1 2 1 nan\n", file);
  fclose(file);
  file = fopen(at("in.csv"), "w");
  fputs("day,fruit,count\nmonday,apple,3\nmonday,pear,1\ntuesday,apple,2\n", file);
  return fclose(file);
}

static int remove_files(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof made / sizeof *made; ++k)
    (void)remove(at(made[k]));
  return rmdir(folder); /* fails where anything else is left */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(some_modes_stay_nonnegative),
      cmocka_unit_test(the_same_models),
      cmocka_unit_test(defaults),
      cmocka_unit_test(options_of_reading),
      cmocka_unit_test(a_context_can_cancel),
      cmocka_unit_test(failures_have_words),
      cmocka_unit_test(outputs_are_checked_first),
      cmocka_unit_test(a_context_has_its_own_settings),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, make_files, remove_files);
}
