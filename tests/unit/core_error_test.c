/* Error records, quoting of bytes from outside, size texts. */
#include "harness.h"

#include "core/core.h"
#include "core/threads.h"
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void first_error_stays(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(
      pd_fail_at(context, POLYAD_PARSE, "x.tns", 4, 7, "%s is no number; expected one", "'nan'"),
      POLYAD_PARSE);
  assert_int_equal(pd_fail(context, POLYAD_IO, "later"), POLYAD_IO);
  assert_string_equal(polyad_last_error(context),
                      "x.tns:4:7: error: 'nan' is no number; expected one");
  polyad_error record = polyad_last_error_record(context);
  assert_int_equal(record.status, POLYAD_PARSE);
  assert_int_equal(record.line, 4);
  assert_int_equal(record.column, 7);
  assert_string_equal(record.file, "x.tns");
  pd_begin(context);
  assert_string_equal(polyad_last_error(context), "");
  polyad_context_destroy(context);
}

static void standard_input_has_a_name(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  (void)pd_fail_at(context, POLYAD_PARSE, "-", 0, 0, "file is empty");
  assert_string_equal(polyad_last_error(context), "<stdin>: error: file is empty");
  polyad_context_destroy(context);
}

static void quoting_escapes(void **state) {
  (void)state;
  char out[PD_QUOTE_BYTES];
  assert_string_equal(pd_quote(out, "1e", 2), "'1e'");
  assert_string_equal(pd_quote(out, "\x1b[2J", 4), "'\\x1b[2J'");
  assert_string_equal(pd_quote(out, "a\0b", 3), "'a\\x00b'");
  assert_string_equal(pd_quote(out, "\xff\xc3\xa9", 3), "'\\xff\xc3\xa9'");
  /* The first and last characters of four bytes, and what would be one in more than it needs. */
  assert_string_equal(pd_quote(out, "\xf0\x90\x80\x80", 4), "'\xf0\x90\x80\x80'");
  assert_string_equal(pd_quote(out, "\xf4\x8f\xbf\xbf", 4), "'\xf4\x8f\xbf\xbf'");
  assert_string_equal(pd_quote(out, "\xf0\x8f\xbf\xbf", 4), "'\\xf0\\x8f\\xbf\\xbf'");
  assert_string_equal(pd_quote(out, "\xf4\x90\x80\x80", 4), "'\\xf4\\x90\\x80\\x80'");
  char many[100];
  memset(many, '1', sizeof many);
  pd_quote(out, many, sizeof many);
  assert_int_equal(strlen(out), 1 + 40 + 3 + 1);
}

static void memory_is_counted_and_limited(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  double *array;
  assert_int_equal(PD_NEW(context, 1000, &array), POLYAD_OK);
  assert_true(polyad_memory_in_use(context) >= 8000);
  pd_free(context, array);
  assert_int_equal(polyad_memory_in_use(context), 0);
  assert_true(polyad_memory_peak(context) >= 8000);
  assert_int_equal(polyad_set_memory_limit(context, 1 << 20), POLYAD_OK);
  assert_int_equal(PD_NEW(context, 1 << 20, &array), POLYAD_MEMORY_LIMIT);
  assert_null(array);
  pd_begin(context);
  assert_int_equal(PD_NEW(context, UINT64_MAX / 4, &array), POLYAD_OVERFLOW);
  polyad_context_destroy(context);
}

/* What is asked for, what is in use, their sum and the limit: so that the refusal adds up. */
static void a_refusal_of_memory_adds_up(void **state) {
  (void)state;
  polyad_context *context;
  char *held;
  char expected[300];
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_memory_limit(context, 2 << 20), POLYAD_OK);
  assert_int_equal(PD_NEW(context, (1 << 20) - 64, &held), POLYAD_OK);
  assert_int_equal(polyad_memory_in_use(context), 1 << 20);
  assert_int_equal(pd_memory_check(context, 2 << 20, "a workspace"), POLYAD_MEMORY_LIMIT);
  snprintf(expected, sizeof expected,
           "a workspace: 2.0 MiB (%d bytes) more are needed and 1.0 MiB are in use, 3.0 MiB in "
           "all; the memory limit is 2.0 MiB: raise it or ask for less",
           2 << 20);
  assert_string_equal(polyad_last_error(context), expected);
  pd_free(context, held);
  polyad_context_destroy(context);
}

static void long_messages_end_in_dots(void **state) {
  (void)state;
  polyad_context *context;
  char many[600];
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  memset(many, 'x', sizeof many - 1);
  many[sizeof many - 1] = '\0';
  for (size_t shift = 0; shift < 2; ++shift) { /* two bytes a character: none is cut in half */
    for (size_t at = shift; at + 2 < sizeof many; at += 2)
      memcpy(many + at, "\xc3\xa9", 2);
    pd_begin(context);
    (void)pd_fail(context, POLYAD_IO, "%s", many);
    const char *text = polyad_last_error(context);
    size_t length = strlen(text);
    assert_true(length > 250 && length < 320);
    assert_string_equal(text + length - 3, "...");
    assert_true((unsigned char)text[length - 4] == 0xa9); /* a whole character in front */
  }
  polyad_context_destroy(context);
}

static void every_status_has_a_name(void **state) {
  (void)state;
#define CHECK(name, number, sentence)                                                              \
  assert_string_equal(polyad_status_name(POLYAD_##name), #name);                                   \
  assert_string_equal(polyad_status_string(POLYAD_##name), sentence);                              \
  assert_int_equal(POLYAD_##name, number);
  POLYAD_STATUS_MAP(CHECK)
#undef CHECK
  assert_string_equal(polyad_status_name((polyad_status)999), "UNKNOWN");
  assert_string_equal(polyad_status_string((polyad_status)999), "unknown status");
  char version[64];
  snprintf(version, sizeof version, "%d.%d.%d", POLYAD_VERSION_MAJOR, POLYAD_VERSION_MINOR,
           POLYAD_VERSION_PATCH);
  assert_string_equal(polyad_version(), version);
}

static void bad_thread_counts_are_refused(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, -1), POLYAD_INVALID_ARGUMENT);
  assert_non_null(strstr(polyad_last_error(context), "expected 0 to 4096"));
  assert_int_equal(polyad_set_threads(context, 4097), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_set_threads(context, 0), POLYAD_OK);
  assert_true(polyad_threads(context) >= 1);
  polyad_context_destroy(context);
}

static void count_warnings(void *user, polyad_log_level level, const char *message) {
  if (level == POLYAD_LOG_WARNING && strstr(message, "ulimit -v") != NULL) ++*(int *)user;
}

/* How many threads a context gets when `free_bytes` of address space are left; 0: an error. */
static int threads_in_space(uint64_t free_bytes, int wanted, int *warnings) {
  struct rlimit limit;
  unsigned long long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%llu", &pages) != 1) return 0;
  fclose(file);
  if (getrlimit(RLIMIT_AS, &limit) != 0) return 0;
  limit.rlim_cur = pages * (uint64_t)sysconf(_SC_PAGESIZE) + free_bytes;
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 0;
  polyad_context *context;
  if (polyad_context_create(&context) != POLYAD_OK) return 0;
  polyad_set_log(context, POLYAD_LOG_WARNING, count_warnings, warnings);
  int threads = polyad_set_threads(context, wanted) == POLYAD_OK ? polyad_threads(context) : 0;
  /* The space that threads do not take is the memory limit. */
  if (polyad_memory_limit(context) > free_bytes) threads = 0;
  polyad_context_destroy(context);
  return threads;
}

/* In a process of its own: limits and threads stay. */
static void address_space_limits_threads(void **state) {
  (void)state;
  if (getenv("POLYAD_EMULATED") != NULL) skip(); /* the limit would be the emulator's */
  static const struct {
    uint64_t bytes;
    int wanted, least, most, warnings;
  } cases[] = {{UINT64_C(4) << 30, 3, 3, 3, 0}, {UINT64_C(256) << 20, 64, 1, 12, 1}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      int warnings = 0, threads = threads_in_space(cases[k].bytes, cases[k].wanted, &warnings);
      exit(threads >= cases[k].least && threads <= cases[k].most && warnings == cases[k].warnings
               ? 0
               : 100 + threads);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
}

/* The number of threads follows from the work and what was asked for. */
static void threads_follow_the_work(void **state) {
  (void)state;
  pd_worth_threads_force(0);
  assert_int_equal(pd_worth_threads(8, 0), 1);
  assert_int_equal(pd_worth_threads(8, 2 * PD_THREAD_WORK - 1), 1);
  assert_int_equal(pd_worth_threads(8, 2 * PD_THREAD_WORK), 2);
  assert_int_equal(pd_worth_threads(8, 9 * PD_THREAD_WORK), 8);
  assert_int_equal(pd_worth_threads(4096, UINT64_MAX), 4096);
  assert_int_equal(pd_worth_threads_dense(8, 8 * PD_THREAD_WORK), 2);
  pd_worth_threads_force(1 << 9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(threads_follow_the_work),
    cmocka_unit_test(first_error_stays),
    cmocka_unit_test(standard_input_has_a_name),
    cmocka_unit_test(quoting_escapes),
    cmocka_unit_test(memory_is_counted_and_limited),
    cmocka_unit_test(a_refusal_of_memory_adds_up),
    cmocka_unit_test(long_messages_end_in_dots),
    cmocka_unit_test(every_status_has_a_name),
    cmocka_unit_test(bad_thread_counts_are_refused),
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    cmocka_unit_test(address_space_limits_threads),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
