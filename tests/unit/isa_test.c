/* Which instruction set is used: the best, the one that is forced, and the one that the environment
 * names. The program is run once with nothing named, once for each set, and starts itself with
 * names that cannot be followed. */
#include "harness.h"

#include "device/device.h"
#include "formats/alto/alto_code.h"
#include <polyad/polyad.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static enum pd_isa best(void) {
  int isa = PD_ISA_COUNT - 1;
  while (!pd_isa_available((enum pd_isa)isa))
    --isa;
  return (enum pd_isa)isa;
}

static void the_named_set_else_the_best_is_used(void **state) {
  (void)state;
  const char *named = getenv("POLYAD_ISA");
  const char *expected = named != NULL ? named : pd_isa_name(best());
  assert_string_equal(pd_isa_name(pd_isa_current()), expected);
  polyad_context *context;
  polyad_device_description about;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_device_describe_named(context, "cpu", &about), POLYAD_OK);
  assert_string_equal(about.capability, expected);
  polyad_context_destroy(context);
}

/* Every set implies those before it; without any, keys are coded by shifts. */
static void sets_are_ascending(void **state) {
  (void)state;
  assert_true(pd_isa_available(PD_ISA_PLAIN));
  for (int isa = 0; isa < PD_ISA_COUNT; ++isa) {
    if (!pd_isa_available((enum pd_isa)isa)) continue;
    if (isa > 0) assert_true(pd_isa_available((enum pd_isa)(isa - 1)));
    pd_isa_force((enum pd_isa)isa);
    assert_int_equal(pd_isa_current(), isa);
    if (isa == PD_ISA_PLAIN) assert_ptr_equal(pd_alto_coder_current(), &pd_alto_coder_shifts);
  }
  pd_isa_force(PD_ISA_COUNT);
}

/* What a new process reports where POLYAD_ISA is `name`: its status, and its message. */
static polyad_status status_with(const char *name, char message[256]) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    setenv("POLYAD_ISA", name, 1);
    setenv("TEST_ANY_ISA", "1", 1); /* not skipped */
    execl("/proc/self/exe", "isa_test", "report", (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t got; (got = read(ends[0], message + length, 255 - length)) > 0;)
    length += (size_t)got;
  close(ends[0]);
  message[length] = '\0';
  int result;
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_true(WIFEXITED(result));
  return (polyad_status)WEXITSTATUS(result);
}

static int report(void) {
  polyad_context *context;
  const struct pd_device *device;
  if (polyad_context_create(&context) != POLYAD_OK) return 126;
  polyad_status status = pd_device_of(context, &device);
  if (polyad_set_device(context, "cpu") != status) return 125;
  fputs(polyad_last_error(context), stdout);
  fflush(stdout);
  polyad_context_destroy(context);
  return (int)status;
}

static void names_that_cannot_be_followed_are_errors(void **state) {
  (void)state;
  char message[256];
  assert_int_equal(status_with("", message), POLYAD_OK);
  assert_int_equal(status_with("auto", message), POLYAD_OK);
  assert_int_equal(status_with("plain", message), POLYAD_OK);
  assert_int_equal(status_with("AVX9", message), POLYAD_INVALID_ARGUMENT);
  assert_non_null(strstr(message, "POLYAD_ISA is 'AVX9'"));
  assert_non_null(strstr(message, "auto, plain"));
  for (int isa = 0; isa < PD_ISA_COUNT; ++isa) {
    bool there = pd_isa_available((enum pd_isa)isa);
    assert_int_equal(status_with(pd_isa_name((enum pd_isa)isa), message),
                     there ? POLYAD_OK : POLYAD_UNSUPPORTED);
    assert_true(there == (message[0] == '\0'));
  }
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "report") == 0) return report();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_named_set_else_the_best_is_used),
      cmocka_unit_test(sets_are_ascending),
      cmocka_unit_test(names_that_cannot_be_followed_are_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
