/* A context that chooses a GPU lets a thread ready it. Programs that end soon after, while that
 * thread is in the driver, end as others do, and those that go on find the device ready. Programs
 * are children of this one, which calls nothing of CUDA itself: a driver does not outlive a fork.
 */
#define _GNU_SOURCE
#include "harness.h"
#include <dlfcn.h>
#include <polyad/context.h>
#include <polyad/device.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NO_GPU = 77, FAILED = 1 };

static int choose(polyad_context **context) {
  if (polyad_context_create(context) != POLYAD_OK) return FAILED;
  return polyad_set_device(*context, "cuda") == POLYAD_OK ? 0 : NO_GPU;
}

/* Ends without a word to the library, `delay` microseconds after it chose. */
static int end_soon(int delay) {
  polyad_context *context;
  int code = choose(&context);
  const struct timespec wait = {0, 1000L * delay};
  if (code == 0) (void)nanosleep(&wait, NULL);
  return code;
}

/* Whether the driver holds a context of the first GPU; 2 where it does not say. */
static unsigned active(void) {
  unsigned flags, is_active = 2;
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) return 2;
  int (*state)(int, unsigned *, unsigned *);
  *(void **)&state = dlsym(driver, "cuDevicePrimaryCtxGetState");
  if (state == NULL || state(0, &flags, &is_active) != 0) return 2;
  return is_active;
}

static int go_on(int times) {
  polyad_context *context;
  int code = choose(&context);
  for (int k = 0; k < times && code == 0; ++k) /* later choices begin nothing */
    code = polyad_set_device(context, k % 2 == 0 ? "cuda" : "auto") == POLYAD_OK ? 0 : FAILED;
  if (code == 0 && polyad_device(context)[0] != 'c') code = FAILED;
  if (code != 0) return code;
  polyad_context_destroy(context);
  polyad_devices_close();
  return active() == 0 ? 0 : FAILED;
}

/* The exit status of a child that calls `work`. */
static int child(int (*work)(int), int number) {
  int status = 0;
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) exit(work(number));
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void test_programs_that_end_soon(void **state) {
  (void)state;
  for (int delay = 0; delay < 300000; delay += 20000)
    assert_int_equal(child(end_soon, delay), 0);
}

static void test_programs_that_go_on(void **state) {
  (void)state;
  for (int times = 0; times < 4; ++times)
    assert_int_equal(child(go_on, times), 0);
}

int main(void) {
  if (child(go_on, 0) == NO_GPU) {
    print_message("no GPU: skipped\n");
    return NO_GPU;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs_that_end_soon),
                                     cmocka_unit_test(test_programs_that_go_on)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
