/* Plans whose tensor stays on disk: kernels and decompositions against those in memory, with chunks
 * that end within slices, for every order, both precisions and several threads; what is refused;
 * and that nothing is left behind. */
#include "unit/streaming_fixture.h"

#include "plan/stream.h"
#include "tensor/ktensor_fit.h"
#include <dirent.h>
#include <math.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { RANK = 5 };

static polyad_plan *stream_of(polyad_context *context, const char *path, polyad_type type,
                              uint64_t chunk) {
  polyad_plan *plan = NULL;
  polyad_plan_options options = options_of(type, RANK, POLYAD_KERNEL_MTTKRP);
  polyad_stream_options stream;
  polyad_stream_options_init(&stream);
  stream.spill_directory = ".";
  stream.chunk_nonzeros = chunk;
  OK(context, polyad_plan_create_from_file(context, path, &options, &stream, &plan));
  OK(context, ((const struct polyad_format *)plan->format)->check(context, plan->storage));
  return plan;
}

/* ---- kernels ----------------------------------------------------------------------------------
 */

static void check_kernels(int order, polyad_type type, uint64_t nnz, uint64_t chunk) {
  polyad_context *one = cpu_context(1), *four = cpu_context(4);
  polyad_tensor *tensor = tensor_of(one, order, nnz, 1);
  const char *path = path_of("kernels.ptn");
  struct results in_memory, streamed, threaded;
  OK(one, polyad_tensor_write(one, tensor, path, POLYAD_FILE_AUTO));
  polyad_plan *plan = memory_of(one, tensor, type, RANK);
  polyad_plan *first = stream_of(one, path, type, chunk);
  polyad_plan *second = stream_of(four, path, type, chunk);
  assert_true(plan->tensor_hash == first->tensor_hash);
  assert_true(fabs(polyad_plan_norm(plan) - polyad_plan_norm(first)) <=
              1e-14 * polyad_plan_norm(plan));
  assert_memory_equal(plan->longest_row, first->longest_row, sizeof plan->longest_row);
  OK(one, compute(one, plan, RANK, &in_memory));
  OK(one, compute(one, first, RANK, &streamed));
  OK(four, compute(four, second, RANK, &threaded));
  compare(plan, RANK, streamed.mttkrp, in_memory.mttkrp);
  compare(plan, RANK, streamed.phi, in_memory.phi);
  same_bits(plan, RANK, &streamed, &threaded);
  results_free(&in_memory);
  results_free(&streamed);
  results_free(&threaded);
  polyad_plan_destroy(plan);
  polyad_plan_destroy(first);
  polyad_plan_destroy(second);
  polyad_tensor_destroy(tensor);
  unlink(path);
  context_end(one);
  context_end(four);
}

static void kernels_agree(void **state) {
  (void)state;
  static const uint64_t chunks[] = {1, 7, 100, 1000, 1 << 20};
  for (int order = 1; order <= 5; ++order)
    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; ++c) {
      uint64_t nnz = chunks[c] == 1 ? 100 : chunks[c] == 7 ? 900 : 3000;
      check_kernels(order, POLYAD_F64, nnz, chunks[c]);
      check_kernels(order, POLYAD_F32, nnz, chunks[c]);
    }
}

/* ---- decompositions ---------------------------------------------------------------------------
 */

static void als_agrees(void **state) {
  (void)state;
  for (int nonnegative = 0; nonnegative < 3; ++nonnegative) /* 2: mode 1 alone */
    for (int exponent = -300; exponent <= 300; exponent += 300) {
      polyad_context *context = cpu_context(2);
      polyad_tensor *tensor = tensor_of(context, 3, 5000, ldexp(1, exponent));
      const char *path = path_of("als.ptn");
      polyad_ktensor *model[2];
      polyad_run_info info[2] = {0};
      OK(context, polyad_tensor_write(context, tensor, path, POLYAD_FILE_AUTO));
      polyad_plan *plan[2] = {memory_of(context, tensor, POLYAD_F64, RANK),
                              stream_of(context, path, POLYAD_F64, 700)};
      for (int k = 0; k < 2; ++k)
        OK(context, decompose(context, plan[k], RANK, nonnegative, &model[k], &info[k]));
      assert_true(fabs(info[0].fit - info[1].fit) <= info[0].fit_bound + info[1].fit_bound + 1e-12);
      check_model(context, model[0], model[1], 1e-9);
      /* What is reported is the fit of what is returned. */
      double relative, bound;
      OK(context, pd_ktensor_residual(context, model[1], tensor, &relative, &bound));
      assert_true(fabs(1 - relative - info[1].fit) <= bound + info[1].fit_bound);
      for (int k = 0; k < 2; ++k) {
        polyad_ktensor_destroy(model[k]);
        polyad_run_info_clear(&info[k]);
        polyad_plan_destroy(plan[k]);
      }
      polyad_tensor_destroy(tensor);
      unlink(path);
      context_end(context);
    }
}

static void apr_agrees(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = tensor_of(context, 4, 4000, 1);
  const char *path = path_of("apr.ptn");
  polyad_ktensor *model[2];
  polyad_run_info info[2] = {0};
  OK(context, polyad_tensor_write(context, tensor, path, POLYAD_FILE_AUTO));
  polyad_plan *plan[2] = {memory_of(context, tensor, POLYAD_F64, RANK),
                          stream_of(context, path, POLYAD_F64, 333)};
  for (int k = 0; k < 2; ++k) {
    polyad_cp_apr_options options;
    polyad_cp_apr_options_init(&options);
    options.rank = RANK;
    options.run.max_iterations = 4;
    OK(context, polyad_cp_apr(context, plan[k], &options, &model[k], &info[k]));
  }
  assert_true(fabs(info[0].log_likelihood - info[1].log_likelihood) <=
              1e-10 * fabs(info[0].log_likelihood));
  check_model(context, model[0], model[1], 1e-9);
  for (int k = 0; k < 2; ++k) {
    polyad_ktensor_destroy(model[k]);
    polyad_run_info_clear(&info[k]);
    polyad_plan_destroy(plan[k]);
  }
  polyad_tensor_destroy(tensor);
  unlink(path);
  context_end(context);
}

/* ---- memory -----------------------------------------------------------------------------------
 */

/* A number of /proc/self/status in bytes; 0 where there is none. */
static uint64_t status_of(const char *key) {
  char line[256];
  unsigned long long kilobytes = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, key, strlen(key)) == 0)
      (void)sscanf(line + strlen(key), ": %llu", &kilobytes);
  if (file != NULL) fclose(file);
  return (uint64_t)kilobytes << 10;
}

/* Lets the peak of resident memory begin anew; false where that is not to be had, or where it is
 * that of a sanitizer, which has shadows of all memory and keeps what was freed. */
static bool restart_peak(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  FILE *file = fopen("/proc/self/clear_refs", "w");
  if (file == NULL) return false;
  bool written = fputs("5", file) >= 0;
  return fclose(file) == 0 && written;
#endif
}

/* A tensor several times as large as the limit, which is kept and told beforehand. */
static void memory_limit_is_kept(void **state) {
  (void)state;
  const uint64_t limit = 24 << 20, dims[3] = {3000, 2000, 900};
  polyad_context *context = cpu_context(2);
  const char *path = path_of("limit.ptn");
  polyad_generate_options generate;
  polyad_stream_info about;
  polyad_ktensor *model;
  polyad_run_info info = {0};
  polyad_generate_options_init(&generate);
  generate.order = 3;
  memcpy(generate.dims, dims, sizeof dims);
  generate.nnz = 4000000;
  OK(context, polyad_generate_to_file(context, &generate, path));
  context_end(context);
  bool resident = restart_peak();
  uint64_t before = status_of("VmRSS");
  context = cpu_context(2);
  OK(context, polyad_set_memory_limit(context, limit));
  polyad_plan *plan = stream_of(context, path, POLYAD_F64, 0);
  polyad_plan_stream_info(plan, &about);
  assert_true(about.streamed && about.chunks > 4);
  assert_true(about.memory_bytes <= limit);
  OK(context, decompose(context, plan, RANK, 0, &model, &info));
  assert_true(polyad_memory_peak(context) <= about.memory_bytes + about.memory_bytes / 10);
  if (resident)
    assert_true(status_of("VmHWM") - before <= about.memory_bytes + about.memory_bytes / 10);
  polyad_ktensor_destroy(model);
  polyad_run_info_clear(&info);
  polyad_plan_destroy(plan);
  /* In memory it is refused, and so are chunks of no use. */
  polyad_tensor *tensor = NULL;
  assert_int_equal(polyad_tensor_read(context, path, NULL, &tensor), POLYAD_MEMORY_LIMIT);
  OK(context, polyad_set_memory_limit(context, 3 << 20));
  polyad_plan_options options = options_of(POLYAD_F64, RANK, POLYAD_KERNEL_MTTKRP);
  assert_int_equal(polyad_plan_create_from_file(context, path, &options, NULL, &plan),
                   POLYAD_MEMORY_LIMIT);
  assert_null(plan);
  unlink(path);
  context_end(context);
}

/* ---- refusals ---------------------------------------------------------------------------------
 */

static int files_here(void) {
  int count = 0;
  DIR *listing = opendir(".");
  assert_non_null(listing);
  for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing))
    count += strncmp(entry->d_name, ".spill.", 7) == 0;
  closedir(listing);
  return count;
}

static void refuse(polyad_context *context, const char *path, const polyad_plan_options *options,
                   const polyad_stream_options *stream, polyad_status status, const char *text) {
  polyad_plan *plan = NULL;
  assert_int_equal(polyad_plan_create_from_file(context, path, options, stream, &plan), status);
  assert_null(plan);
  if (strstr(polyad_last_error(context), text) == NULL)
    fail_msg("\"%s\" found; expected \"%s\" in it", polyad_last_error(context), text);
}

static void refusals(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = tensor_of(context, 3, 1000, 1);
  char path[128], text[128];
  snprintf(path, sizeof path, "%s", path_of("refused.ptn"));
  snprintf(text, sizeof text, "%s", path_of("refused.csv"));
  OK(context, polyad_tensor_write(context, tensor, path, POLYAD_FILE_AUTO));
  OK(context, polyad_tensor_write(context, tensor, text, POLYAD_FILE_AUTO));
  polyad_plan_options options = options_of(POLYAD_F64, RANK, POLYAD_KERNEL_MTTKRP);
  polyad_stream_options stream = {.spill_directory = "/nonexistent"};
  refuse(context, text, &options, NULL, POLYAD_UNSUPPORTED, "polyad convert");
  refuse(context, "missing.ptn", &options, NULL, POLYAD_IO, "cannot open");
  refuse(context, path, &options, &stream, POLYAD_IO, "/nonexistent");
  options.format = "csf";
  refuse(context, path, &options, NULL, POLYAD_UNSUPPORTED, "csf");
  options = options_of(POLYAD_F64, RANK, POLYAD_KERNEL_MTTKRP);
  options.kernel = POLYAD_KERNEL_TTMC;
  refuse(context, path, &options, NULL, POLYAD_UNSUPPORTED, "MTTKRP");
  /* A whole tensor is not to be had. */
  polyad_plan *plan = stream_of(context, path, POLYAD_F64, 100);
  polyad_cp_als_options als;
  polyad_ktensor *model = NULL;
  polyad_cp_als_options_init(&als);
  als.rank = 2;
  als.init = POLYAD_INIT_HOSVD;
  assert_int_equal(polyad_cp_als(context, plan, &als, &model, NULL), POLYAD_UNSUPPORTED);
  polyad_plan_destroy(plan);
  assert_int_equal(files_here(), 0);
  polyad_tensor_destroy(tensor);
  unlink(path);
  unlink(text);
  context_end(context);
}

static void a_changed_file_is_told(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = tensor_of(context, 3, 1000, 1);
  const char *path = path_of("changed.ptn");
  OK(context, polyad_tensor_write(context, tensor, path, POLYAD_FILE_AUTO));
  polyad_plan *plan = stream_of(context, path, POLYAD_F64, 100);
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, 5000, SEEK_SET), 0);
  assert_int_equal(fputc(255, file), 255);
  fclose(file);
  polyad_cp_als_options options;
  polyad_ktensor *model = NULL;
  polyad_cp_als_options_init(&options);
  options.rank = RANK;
  assert_int_equal(polyad_cp_als(context, plan, &options, &model, NULL), POLYAD_IO);
  assert_non_null(strstr(polyad_last_error(context), "changed"));
  polyad_plan_destroy(plan);
  polyad_plan_options again = options_of(POLYAD_F64, RANK, POLYAD_KERNEL_MTTKRP);
  refuse(context, path, &again, NULL, POLYAD_PARSE, "damaged");
  polyad_tensor_destroy(tensor);
  unlink(path);
  context_end(context);
}

static void cancelled(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = tensor_of(context, 3, 1000, 1);
  const char *path = path_of("cancelled.ptn");
  OK(context, polyad_tensor_write(context, tensor, path, POLYAD_FILE_AUTO));
  polyad_plan_options options = options_of(POLYAD_F64, RANK, POLYAD_KERNEL_MTTKRP);
  polyad_cancel(context);
  refuse(context, path, &options, NULL, POLYAD_CANCELLED, "cancelled");
  polyad_tensor_destroy(tensor);
  unlink(path);
  context_end(context);
}

/* Files may not grow: that is how a disk without room looks to a process. */
static void a_full_disk_is_told(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = tensor_of(context, 3, 3000, 1);
  const char *path = path_of("full.ptn");
  const polyad_stream_options stream = {.spill_directory = "."};
  polyad_plan_options options = options_of(POLYAD_F64, RANK, POLYAD_KERNEL_MTTKRP);
  struct rlimit before, small;
  OK(context, polyad_tensor_write(context, tensor, path, POLYAD_FILE_AUTO));
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 20000;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  refuse(context, path, &options, &stream, POLYAD_IO, "expected a spill directory");
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_int_equal(files_here(), 0);
  polyad_tensor_destroy(tensor);
  unlink(path);
  context_end(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_agree), cmocka_unit_test(als_agrees),
      cmocka_unit_test(apr_agrees),    cmocka_unit_test(memory_limit_is_kept),
      cmocka_unit_test(refusals),      cmocka_unit_test(a_changed_file_is_told),
      cmocka_unit_test(cancelled),     cmocka_unit_test(a_full_disk_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
