/* MTTKRP that streams from disk, in which every system call and every allocation fails in
 * turn: a status and a message say so, and neither memory, nor descriptors, nor files are left. The
 * thread that reads ahead makes calls too, so which call comes n-th varies; that each is met does
 * not. */
#include "harness.h"

#include "fault/faulty_calls.h"
#include "unit/failing_allocator.h"
#include <dirent.h>
#include <errno.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIDE = 20, RANK = 2 };

static char folder[64], paths[2][96]; /* .ptn and text, which is packed first */

static int entries(const char *directory) {
  DIR *listing = opendir(directory);
  int count = 0;
  assert_non_null(listing);
  while (readdir(listing) != NULL)
    ++count;
  closedir(listing);
  return count;
}

/* Makes a plan and takes MTTKRP of every mode. */
static polyad_status compute(polyad_context *context, void *data) {
  const char *path = data;
  static double factor[3][SIDE * RANK], out[SIDE * RANK];
  const void *const factors[3] = {factor[0], factor[1], factor[2]};
  polyad_plan_options options;
  polyad_plan *plan = NULL;
  polyad_workspace *workspace = NULL;
  const polyad_stream_options stream = {.spill_directory = folder, .chunk_nonzeros = 50};
  polyad_plan_options_init(&options);
  options.rank = RANK;
  polyad_status status = polyad_set_device(context, "cpu");
  if (status == POLYAD_OK)
    status = polyad_plan_create_from_file(context, path, &options, &stream, &plan);
  if (status == POLYAD_OK) status = polyad_workspace_create(context, plan, RANK, &workspace);
  for (int n = 0; n < 3 && status == POLYAD_OK; ++n)
    status = polyad_mttkrp(context, plan, workspace, n, factors, out);
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  return status;
}

static void fail_every_system_call(char *path) {
  int files = entries(folder), descriptors = entries("/proc/self/fd");
  for (int call = FAULTY_OPEN; call <= FAULTY_CLOSE; ++call)
    for (long which = 0;; ++which) {
      polyad_context *context;
      assert_int_equal(polyad_context_create(&context), POLYAD_OK);
      assert_int_equal(polyad_set_threads(context, 2), POLYAD_OK);
      faulty_calls_start((struct fault_plan){.call = (enum faulty_call)call,
                                             .which = which,
                                             .error = call == FAULTY_WRITE ? ENOSPC : EIO});
      polyad_status status = compute(context, path);
      struct fault_report report = faulty_calls_stop();
      if (report.failed && (call == FAULTY_READ || call == FAULTY_WRITE)) {
        if (status != POLYAD_IO)
          fail_msg("%s %ld: status %d found; expected an I/O error", faulty_call_name[call], which,
                   (int)status);
        assert_true(polyad_last_error(context)[0] != '\0');
      }
      assert_int_equal(polyad_memory_in_use(context), 0);
      polyad_context_destroy(context);
      assert_int_equal(entries(folder), files);
      if (call != FAULTY_CLOSE) assert_int_equal(entries("/proc/self/fd"), descriptors);
      if (!report.failed) break;
    }
}

static void every_system_call_fails(void **state) {
  (void)state;
  for (int k = 0; k < 2; ++k)
    fail_every_system_call(paths[k]);
}

static void every_allocation_fails(void **state) {
  (void)state;
  for (int k = 0; k < 2; ++k)
    assert_true(sweep_failures(compute, paths[k], 2) > 20);
  assert_int_equal(entries(folder), 4);
}

static int make_tensor(void **state) {
  (void)state;
  polyad_context *context;
  polyad_generate_options options;
  snprintf(folder, sizeof folder, "streaming_fault.%ld", (long)getpid());
  snprintf(paths[0], sizeof paths[0], "%s/in.ptn", folder);
  snprintf(paths[1], sizeof paths[1], "%s/in.tns", folder);
  if (mkdir(folder, 0777) != 0 || polyad_context_create(&context) != POLYAD_OK) return -1;
  polyad_generate_options_init(&options);
  options.order = 3;
  for (int n = 0; n < 3; ++n)
    options.dims[n] = SIDE;
  options.nnz = 180;
  polyad_status status = polyad_generate_to_file(context, &options, paths[0]);
  if (status == POLYAD_OK) status = polyad_generate_to_file(context, &options, paths[1]);
  polyad_context_destroy(context);
  return status == POLYAD_OK ? 0 : -1;
}

static int remove_tensor(void **state) {
  (void)state;
  return unlink(paths[0]) == 0 && unlink(paths[1]) == 0 && rmdir(folder) == 0 ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_system_call_fails),
      cmocka_unit_test(every_allocation_fails),
  };
  return cmocka_run_group_tests(tests, make_tensor, remove_tensor);
}
