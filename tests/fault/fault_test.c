/* Whatever fails in a small decomposition, a status says so, the old output stays as it was, and
 * nothing is left behind: neither memory, nor descriptors, nor temporary files. */
#include "harness.h"

#include "fault/faulty_calls.h"
#include "unit/failing_allocator.h"
#include <dirent.h>
#include <errno.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

/* One way through the library: which file is read, how the result is written. */
struct route {
  const char *input;
  const char *output;
  polyad_status (*write)(polyad_context *context, const polyad_ktensor *model,
                         const polyad_tensor *tensor, const char *path);
};

static polyad_status write_model(polyad_context *context, const polyad_ktensor *model,
                                 const polyad_tensor *tensor, const char *path) {
  (void)tensor;
  return polyad_ktensor_write(context, model, path);
}

static polyad_status write_tensor(polyad_context *context, const polyad_ktensor *model,
                                  const polyad_tensor *tensor, const char *path) {
  (void)model;
  return polyad_tensor_write(context, tensor, path, POLYAD_FILE_AUTO);
}

static const struct route routes[] = {
    {"in.tns", "model.ktensor", write_model}, {"in.tns.gz", "out.ptn", write_tensor},
    {"in.ptn", "out.tns.gz", write_tensor},   {"in.tns.zst", "out.tns.zst", write_tensor},
    {"in.txt", "out.tns", write_tensor},      {"in.csv.gz", "out.csv", write_tensor},
};
enum { ROUTES = sizeof routes / sizeof *routes };

static const char *at(const char *name) {
  static char path[4][512];
  static int next;
  next = (next + 1) % 4;
  snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
  return path[next];
}

/* All of a small file; its size is returned. */
static size_t contents(const char *name, char *bytes, size_t most) {
  FILE *file = fopen(at(name), "rb");
  if (file == NULL) return 0;
  size_t size = fread(bytes, 1, most, file);
  fclose(file);
  return size;
}

static void put(const char *name, const char *text) {
  FILE *file = fopen(at(name), "wb");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static int entries(const char *path) {
  DIR *directory = opendir(path);
  assert_non_null(directory);
  int count = 0;
  while (readdir(directory) != NULL)
    ++count;
  closedir(directory);
  return count;
}

/* Reads, plans, decomposes, writes. */
static polyad_status decompose(polyad_context *context, void *data) {
  const struct route *route = data;
  polyad_tensor *tensor = NULL;
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  polyad_run_info info = {0};
  polyad_plan_options plan_options;
  polyad_cp_als_options als_options;
  polyad_plan_options_init(&plan_options);
  polyad_cp_als_options_init(&als_options);
  plan_options.rank = als_options.rank = 2;
  als_options.run.max_iterations = 3;
  polyad_status status = polyad_tensor_read(context, at(route->input), NULL, &tensor);
  if (status == POLYAD_OK) status = polyad_plan_create(context, tensor, &plan_options, &plan);
  if (status == POLYAD_OK) status = polyad_cp_als(context, plan, &als_options, &model, &info);
  if (status == POLYAD_OK) status = route->write(context, model, tensor, at(route->output));
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  return status;
}

static const char *const old_output = "what was there before\n";

/* Fails the n-th call of a kind for n = 0, 1, … until the run gets through without reaching it. */
static long sweep_calls(const struct route *route, enum faulty_call call, int error) {
  static char expected[1 << 16], found[1 << 16];
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, 2), POLYAD_OK);
  assert_int_equal(decompose(context, (void *)(uintptr_t)route), POLYAD_OK);
  size_t expected_size = contents(route->output, expected, sizeof expected);
  put(route->output, old_output);
  int files = entries(folder), descriptors = entries("/proc/self/fd");

  for (long n = 0;; ++n) {
    faulty_calls_start((struct fault_plan){.call = call, .which = n, .error = error});
    polyad_status status = decompose(context, (void *)(uintptr_t)route);
    struct fault_report report = faulty_calls_stop();
    size_t found_size = contents(route->output, found, sizeof found);
    if (status == POLYAD_OK) {
      assert_true(!report.failed || report.harmless);
      assert_int_equal(found_size, expected_size);
      assert_memory_equal(found, expected, expected_size);
      put(route->output, old_output);
    } else {
      assert_true(report.failed);
      assert_int_equal(status, POLYAD_IO);
      assert_non_null(strstr(polyad_last_error(context), strerror(error)));
      assert_int_equal(found_size, strlen(old_output));
      assert_memory_equal(found, old_output, found_size);
    }
    assert_int_equal(entries(folder), files);
    assert_int_equal(entries("/proc/self/fd"), descriptors);
    assert_int_equal(polyad_memory_in_use(context), 0);
    if (!report.failed) {
      polyad_context_destroy(context);
      return n;
    }
  }
}

static void every_system_call_fails(void **state) {
  (void)state;
  static const int error[FAULTY_CALLS] = {EACCES, EIO, ENOSPC, EIO, EIO, EPERM};
  for (int r = 0; r < ROUTES; ++r)
    for (int call = 0; call < FAULTY_CALLS; ++call)
      assert_true(sweep_calls(&routes[r], (enum faulty_call)call, error[call]) >= 1);
}

static void every_allocation_fails(void **state) {
  (void)state;
  for (int r = 0; r < ROUTES; ++r)
    for (int threads = 1; threads <= 2; ++threads) {
      put(routes[r].output, old_output);
      int files = entries(folder), descriptors = entries("/proc/self/fd");
      assert_true(sweep_failures(decompose, (void *)(uintptr_t)&routes[r], threads) > 10);
      assert_int_equal(entries(folder), files);
      assert_int_equal(entries("/proc/self/fd"), descriptors);
    }
}

static polyad_status write_directory(polyad_context *context, const polyad_ktensor *model,
                                     const polyad_tensor *tensor, const char *path) {
  return polyad_ktensor_write_directory(context, model, tensor, 3, path);
}

static void remove_folder(const char *path) {
  DIR *directory = opendir(path);
  assert_non_null(directory);
  char name[512];
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
    if (entry->d_name[0] != '.') {
      snprintf(name, sizeof name, "%.200s/%.200s", path, entry->d_name);
      assert_int_equal(remove(name), 0);
    }
  closedir(directory);
  assert_int_equal(rmdir(path), 0);
}

/* A model that is written as a directory is there with all its files, or not at all. */
static void directories_are_whole_or_absent(void **state) {
  (void)state;
  static struct route route = {"in.tns", "model", write_directory};
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  int files = entries(folder), descriptors = entries("/proc/self/fd");
  assert_int_equal(decompose(context, &route), POLYAD_OK);
  int whole = entries(at("model"));
  remove_folder(at("model"));
  for (int call = 0; call < FAULTY_CALLS; ++call) {
    struct fault_report report = {true, false};
    for (long n = 0; report.failed; ++n) {
      faulty_calls_start(
          (struct fault_plan){.call = (enum faulty_call)call, .which = n, .error = EIO});
      polyad_status status = decompose(context, &route);
      report = faulty_calls_stop();
      assert_true(status == POLYAD_OK ? !report.failed || report.harmless : status == POLYAD_IO);
      if (status == POLYAD_OK) {
        assert_int_equal(entries(at("model")), whole);
        remove_folder(at("model"));
      }
      assert_int_equal(entries(folder), files);
      assert_int_equal(entries("/proc/self/fd"), descriptors);
    }
  }
  polyad_context_destroy(context);
}

static polyad_status decompose_with_state(polyad_context *context, bool resume) {
  polyad_tensor *tensor = NULL;
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  polyad_plan_options plan_options;
  polyad_cp_als_options als_options;
  polyad_plan_options_init(&plan_options);
  polyad_cp_als_options_init(&als_options);
  plan_options.rank = als_options.rank = 2;
  als_options.run.max_iterations = resume ? 6 : 4;
  als_options.run.tolerance = 0;
  als_options.run.checkpoint = resume ? NULL : at("state");
  als_options.run.checkpoint_every = 1;
  als_options.run.resume = resume ? at("state") : NULL;
  polyad_status status = polyad_tensor_read(context, at("in.tns"), NULL, &tensor);
  if (status == POLYAD_OK) status = polyad_plan_create(context, tensor, &plan_options, &plan);
  if (status == POLYAD_OK) status = polyad_cp_als(context, plan, &als_options, &model, NULL);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  return status;
}

/* Whatever fails while checkpoints are written, one that is there can be resumed from. */
static void checkpoints_are_whole(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  int resumed = 0, descriptors = entries("/proc/self/fd");
  for (int call = 0; call < FAULTY_CALLS; ++call) {
    struct fault_report report = {true, false};
    for (long n = 0; report.failed; ++n) {
      (void)remove(at("state"));
      (void)remove(at("state.prev"));
      faulty_calls_start(
          (struct fault_plan){.call = (enum faulty_call)call, .which = n, .error = ENOSPC});
      polyad_status status = decompose_with_state(context, false);
      report = faulty_calls_stop();
      assert_true(status == POLYAD_OK || (report.failed && status == POLYAD_IO));
      if (access(at("state"), F_OK) == 0) {
        assert_int_equal(decompose_with_state(context, true), POLYAD_OK);
        ++resumed;
      }
      assert_int_equal(entries("/proc/self/fd"), descriptors);
    }
  }
  assert_true(resumed > FAULTY_CALLS);
  (void)remove(at("state"));
  (void)remove(at("state.prev"));
  polyad_context_destroy(context);
}

/* Short transfers and interruptions change nothing. */
static void storms_are_weathered(void **state) {
  (void)state;
  static char expected[1 << 16], found[1 << 16];
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  for (int r = 0; r < ROUTES; ++r) {
    void *route = (void *)(uintptr_t)&routes[r];
    assert_int_equal(decompose(context, route), POLYAD_OK);
    size_t size = contents(routes[r].output, expected, sizeof expected);
    faulty_calls_start((struct fault_plan){.which = -1, .storm = true});
    polyad_status status = decompose(context, route);
    (void)faulty_calls_stop();
    assert_int_equal(status, POLYAD_OK);
    assert_int_equal(contents(routes[r].output, found, sizeof found), size);
    assert_memory_equal(found, expected, size);
  }
  polyad_context_destroy(context);
}

static int make_inputs(void **state) {
  (void)state;
  static const char *const names[] = {"in.tns.gz", "in.tns.zst", "in.ptn", "in.txt", "in.csv.gz"};
  snprintf(folder, sizeof folder, "/tmp/polyad-fault-XXXXXX");
  if (mkdtemp(folder) == NULL) return -1;
  FILE *file = fopen(at("in.tns"), "w");
  for (int p = 0; p < 60; ++p)
    fprintf(file, "%d %d %d %g\n", p % 4 + 1, p % 5 + 1, p * 7 % 6 + 1, 0.5 + p % 3);
  if (fclose(file) != 0) return -1;
  polyad_context *context;
  polyad_tensor *tensor;
  if (polyad_context_create(&context) != POLYAD_OK) return -1;
  if (polyad_tensor_read(context, at("in.tns"), NULL, &tensor) != POLYAD_OK) return -1;
  for (size_t k = 0; k < sizeof names / sizeof *names; ++k)
    if (polyad_tensor_write(context, tensor, at(names[k]), POLYAD_FILE_AUTO) != POLYAD_OK)
      return -1;
  polyad_tensor_destroy(tensor);
  polyad_context_destroy(context);
  return 0;
}

static int remove_all(void **state) {
  (void)state;
  DIR *directory = opendir(folder);
  if (directory == NULL) return -1;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
    if (entry->d_name[0] != '.') (void)remove(at(entry->d_name));
  closedir(directory);
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_system_call_fails),
      cmocka_unit_test(every_allocation_fails),
      cmocka_unit_test(directories_are_whole_or_absent),
      cmocka_unit_test(checkpoints_are_whole),
      cmocka_unit_test(storms_are_weathered),
  };
  return cmocka_run_group_tests(tests, make_inputs, remove_all);
}
