/* Every algorithm on every storage format that can carry it: each allocation of the library and
 * each call on a file fails in turn, once and for ever after. A failure is a status with its text,
 * the old output stays as it was, and no block, descriptor or file is left; what succeeds all the
 * same writes the same bytes as ever. Reading the tensor and writing the model are part of each
 * run.
 * usage: test_fault_sweep [all]    (without: every eighth allocation, others for each pair) */
#include "harness.h"

#include "fault/faulty_calls.h"
#include "figures.h"
#include "unit/failing_allocator.h"
#include <dirent.h>
#include <errno.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 14, THREADS = 2 };

static char folder[64];
static const char old_output[] = "what was there before\n";
static long stride = 8; /* from one allocation that fails to the next */
static long memory_points, call_points, jobs, absorbed;

enum method {
  ALS,
  ALS_NONNEGATIVE,
  ALS_HOSVD,
  APR_MU,
  APR_PDNR,
  APR_PQNR,
  TUCKER,
  TUCKER_RANDOM,
  COMPLETE_ALS,
  COMPLETE_CCD,
  COMPLETE_SGD,
  ONE_CALL
};
static const char *const method_name[] = {
    "als",    "als nonnegative", "als hosvd",    "apr-mu",       "apr-pdnr",     "apr-pqnr",
    "tucker", "tucker random",   "complete als", "complete ccd", "complete sgd", "one call"};
enum { METHODS = sizeof method_name / sizeof *method_name };

/* One algorithm on one format. */
struct job {
  enum method method;
  const char *format;
};

static const char *at(const char *name) {
  static char path[4][512];
  static int next;
  next = (next + 1) % 4;
  snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
  return path[next];
}

static polyad_status run_als(polyad_context *context, const polyad_plan *plan, enum method method) {
  polyad_ktensor *model = NULL;
  polyad_cp_als_options options;
  polyad_cp_als_options_init(&options);
  options.rank = 2;
  options.run.max_iterations = 2;
  options.nonnegative = method == ALS_NONNEGATIVE;
  if (method == ALS_HOSVD) options.init = POLYAD_INIT_HOSVD;
  polyad_status status = polyad_cp_als(context, plan, &options, &model, NULL);
  if (status == POLYAD_OK) status = polyad_ktensor_write(context, model, at("model"));
  polyad_ktensor_destroy(model);
  return status;
}

static polyad_status run_apr(polyad_context *context, const polyad_plan *plan, enum method method) {
  polyad_ktensor *model = NULL;
  polyad_cp_apr_options options;
  polyad_cp_apr_options_init(&options);
  options.rank = 2;
  options.run.max_iterations = 2;
  options.method = method == APR_MU     ? POLYAD_APR_MU
                   : method == APR_PDNR ? POLYAD_APR_PDNR
                                        : POLYAD_APR_PQNR;
  polyad_status status = polyad_cp_apr(context, plan, &options, &model, NULL);
  if (status == POLYAD_OK) status = polyad_ktensor_write(context, model, at("model"));
  polyad_ktensor_destroy(model);
  return status;
}

static polyad_status run_tucker(polyad_context *context, const polyad_plan *plan,
                                enum method method) {
  static const uint64_t ranks[3] = {2, 2, 2};
  polyad_ttensor *model = NULL;
  polyad_tucker_options options;
  polyad_tucker_options_init(&options);
  memcpy(options.ranks, ranks, sizeof ranks);
  options.run.max_iterations = 2;
  if (method == TUCKER_RANDOM) options.svd = POLYAD_SVD_RANDOMIZED;
  polyad_status status = polyad_tucker(context, plan, &options, &model, NULL);
  if (status == POLYAD_OK) status = polyad_ttensor_write(context, model, at("model"));
  polyad_ttensor_destroy(model);
  return status;
}

static polyad_status run_complete(polyad_context *context, const polyad_plan *plan,
                                  enum method method) {
  polyad_ktensor *model = NULL;
  polyad_cp_complete_options options;
  polyad_cp_complete_options_init(&options);
  options.rank = 2;
  options.run.max_iterations = 2;
  options.biases = 1;
  options.validation_share = 0.2;
  options.method = method == COMPLETE_ALS   ? POLYAD_COMPLETE_ALS
                   : method == COMPLETE_CCD ? POLYAD_COMPLETE_CCD
                                            : POLYAD_COMPLETE_SGD;
  polyad_status status = polyad_cp_complete(context, plan, &options, &model, NULL);
  if (status == POLYAD_OK) status = polyad_ktensor_write(context, model, at("model"));
  polyad_ktensor_destroy(model);
  return status;
}

/* The same by one function, which keeps the words of its failure. */
static polyad_status run_one_call(polyad_context *context, const struct job *job) {
  polyad_decomposition result = {0};
  polyad_decompose_options options;
  polyad_decompose_options_init(&options, POLYAD_ALGORITHM_ALS);
  options.rank = 2;
  options.run.max_iterations = 2;
  options.format = job->format;
  options.output = at("model");
  polyad_status status = polyad_decompose_file(context, at("in.tns"), &options, &result);
  assert_int_equal(result.model != NULL, status == POLYAD_OK);
  assert_string_equal(result.message, status == POLYAD_OK ? "" : polyad_last_error(context));
  polyad_decomposition_clear(&result);
  return status;
}

/* Reads, plans, decomposes, writes. */
static polyad_status decompose(polyad_context *context, const struct job *job) {
  if (job->method == ONE_CALL) return run_one_call(context, job);
  polyad_tensor *tensor = NULL;
  polyad_plan *plan = NULL;
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.rank = 2;
  options.format = job->format;
  bool tucker = job->method == TUCKER || job->method == TUCKER_RANDOM;
  bool apr = job->method >= APR_MU && job->method <= APR_PQNR;
  if (apr) options.kernel = POLYAD_KERNEL_PHI;
  if (tucker) options.kernel = POLYAD_KERNEL_TTMC;
  polyad_status status = polyad_tensor_read(context, at("in.tns"), NULL, &tensor);
  if (status == POLYAD_OK) status = polyad_plan_create(context, tensor, &options, &plan);
  if (status == POLYAD_OK && job->method < APR_MU) status = run_als(context, plan, job->method);
  if (status == POLYAD_OK && apr) status = run_apr(context, plan, job->method);
  if (status == POLYAD_OK && tucker) status = run_tucker(context, plan, job->method);
  if (status == POLYAD_OK && job->method >= COMPLETE_ALS)
    status = run_complete(context, plan, job->method);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  return status;
}

/* ---- what is there, before and after --------------------------------------------------- */

struct state {
  char model[MOST_BYTES];
  size_t size;
  int files, descriptors;
};

static int entries(const char *path) {
  DIR *directory = opendir(path);
  assert_non_null(directory);
  int count = 0;
  while (readdir(directory) != NULL)
    ++count;
  closedir(directory);
  return count;
}

static void look(struct state *state) {
  FILE *file = fopen(at("model"), "rb");
  assert_non_null(file);
  state->size = fread(state->model, 1, sizeof state->model, file);
  fclose(file);
  state->files = entries(folder);
  state->descriptors = entries("/proc/self/fd");
}

static void put_old_output(void) {
  FILE *file = fopen(at("model"), "wb");
  assert_non_null(file);
  assert_true(fputs(old_output, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* After a run that ended with `status`: the new model or the old file, and nothing else. */
static void check(const struct job *job, polyad_status status, const struct state *expected) {
  static struct state found;
  look(&found);
  bool is_new =
      found.size == expected->size && memcmp(found.model, expected->model, found.size) == 0;
  bool is_old =
      found.size == strlen(old_output) && memcmp(found.model, old_output, found.size) == 0;
  if (status == POLYAD_OK ? !is_new : !is_old)
    fail_msg("%s on %s: status %s, but the output is %s", method_name[job->method], job->format,
             polyad_status_name(status),
             is_new   ? "new"
             : is_old ? "old"
                      : "neither");
  assert_int_equal(found.files, expected->files);
  assert_int_equal(found.descriptors, expected->descriptors);
}

/* ---- the sweeps ------------------------------------------------------------------------ */

/* Returns whether the n-th allocation was reached. */
static bool fail_allocation(const struct job *job, long n, bool once,
                            const struct state *expected) {
  struct failing_allocator state = {1, 0, once};
  polyad_allocator allocator = {failing_allocate, failing_release, &state};
  polyad_context *context;
  assert_int_equal(polyad_context_create_with_allocator(&allocator, &context), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, THREADS), POLYAD_OK);
  put_old_output();
  atomic_store(&state.until_failure, n);
  polyad_status status = decompose(context, job);
  bool reached = atomic_load(&state.until_failure) < 0;
  assert_int_equal(polyad_memory_in_use(context), 0);
  if (status != POLYAD_OK) {
    assert_int_equal(status, POLYAD_OUT_OF_MEMORY);
    assert_true(polyad_last_error(context)[0] != '\0');
  }
  check(job, status, expected);
  polyad_context_destroy(context);
  assert_int_equal(atomic_load(&state.live), 0);
  absorbed += reached && status == POLYAD_OK;
  return reached;
}

/* Returns whether the n-th call was reached. */
static bool fail_call(const struct job *job, polyad_context *context, struct fault_plan plan,
                      const struct state *expected) {
  put_old_output();
  faulty_calls_start(plan);
  polyad_status status = decompose(context, job);
  struct fault_report report = faulty_calls_stop();
  if (status != POLYAD_OK) {
    assert_int_equal(status, POLYAD_IO);
    assert_non_null(strstr(polyad_last_error(context), strerror(plan.error)));
  }
  assert_true(status == POLYAD_OK ? !report.failed || report.harmless : report.failed);
  assert_int_equal(polyad_memory_in_use(context), 0);
  check(job, status, expected);
  return report.failed;
}

static void sweep(const struct job *job, polyad_context *context) {
  static const int error[FAULTY_CALLS] = {EACCES, EIO, ENOSPC, EIO, EIO, EPERM};
  static struct state expected;
  look(&expected);
  for (int once = 0; once <= 1; ++once) {
    for (long n = (jobs + once) % stride; fail_allocation(job, n, once, &expected); n += stride)
      ++memory_points;
    for (int call = 0; call < FAULTY_CALLS; ++call) {
      struct fault_plan plan = {(enum faulty_call)call, 0, error[call], !once, false};
      for (; fail_call(job, context, plan, &expected); ++plan.which)
        ++call_points;
    }
  }
  ++jobs;
}

static void every_algorithm_on_every_format(void **unused) {
  (void)unused;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, THREADS), POLYAD_OK);
  for (int method = 0; method < METHODS; ++method)
    for (int which = 0; which < polyad_format_count(); ++which) {
      polyad_format_description format;
      assert_int_equal(polyad_format_describe(which, &format), POLYAD_OK);
      struct job job = {(enum method)method, format.name};
      if (method >= COMPLETE_ALS && which > 0) break; /* what they add depends on no format */
      polyad_status status = decompose(context, &job);
      if (status == POLYAD_OK)
        sweep(&job, context);
      else
        assert_int_equal(status, POLYAD_UNSUPPORTED);
    }
  polyad_context_destroy(context);
  printf("%ld pairs of algorithm and format, %ld allocations, %ld calls, %ld absorbed\n", jobs,
         memory_points, call_points, absorbed);
  assert_true(jobs >= 40 && memory_points >= 2000 && call_points >= 1000);
  const struct figure figures[] = {{"pairs", jobs},
                                   {"allocations", memory_points},
                                   {"calls", call_points},
                                   {"absorbed", absorbed}};
  record_figures(stride == 1 ? "fault_sweep_long" : "fault_sweep", sizeof figures / sizeof *figures,
                 figures);
}

static int make_input(void **unused) {
  (void)unused;
  snprintf(folder, sizeof folder, "/tmp/polyad-sweep-XXXXXX");
  if (mkdtemp(folder) == NULL) return -1;
  FILE *file = fopen(at("in.tns"), "w");
  for (int p = 0; p < 60; ++p)
    fprintf(file, "%d %d %d %d\n", p % 4 + 1, p % 5 + 1, p * 7 % 6 + 1, 1 + p % 3);
  return fclose(file);
}

static int remove_all(void **unused) {
  (void)unused;
  (void)remove(at("in.tns"));
  (void)remove(at("model"));
  return rmdir(folder);
}

int main(int count, char **arguments) {
  if (count == 2 && strcmp(arguments[1], "all") == 0) stride = 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_algorithm_on_every_format)};
  return cmocka_run_group_tests(tests, make_input, remove_all);
}
