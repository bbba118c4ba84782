/* Inputs that are long or unpack to much: time linear in what is read, memory bounded. */
#include "harness.h"

#include "io_text_cases.h"
#include <polyad/polyad.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static char path[] = "/tmp/polyad-heavy-XXXXXX";
static polyad_context *context;

static int set_up(void **state) {
  (void)state;
  int file = mkstemp(path);
  if (file < 0) return 1;
  close(file);
  return polyad_context_create(&context) != POLYAD_OK;
}

static int tear_down(void **state) {
  (void)state;
  uint64_t left = polyad_memory_in_use(context);
  polyad_context_destroy(context);
  return unlink(path) != 0 || left != 0;
}

static void write_file(const struct text_buffer *bytes, size_t times) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  for (size_t k = 0; k < times; ++k)
    assert_int_equal(fwrite(bytes->bytes, 1, bytes->size, file), bytes->size);
  assert_int_equal(fclose(file), 0);
}

/* Reads with a context of its own, so that its peak is this reading's. */
static polyad_status read_alone(const char *from, uint64_t limit, uint64_t peak, const char *says) {
  polyad_context *fresh;
  polyad_tensor *tensor;
  assert_int_equal(polyad_context_create(&fresh), POLYAD_OK);
  if (limit > 0) assert_int_equal(polyad_set_memory_limit(fresh, limit), POLYAD_OK);
  polyad_status status = polyad_tensor_read(fresh, from, NULL, &tensor);
  if (status != POLYAD_OK) {
    if (strstr(polyad_last_error(fresh), says) == NULL)
      print_error("%s\n", polyad_last_error(fresh));
    assert_non_null(strstr(polyad_last_error(fresh), says));
  }
  polyad_tensor_destroy(tensor);
  assert_int_equal(polyad_memory_in_use(fresh), 0);
  assert_true(polyad_memory_peak(fresh) <= peak);
  polyad_context_destroy(fresh);
  return status;
}

static void a_line_of_64_mib(void **state) {
  (void)state;
  struct text_buffer bytes = {0};
  text_repeat(&bytes, "1 ", 32 * MIB);
  write_file(&bytes, 1);
  text_free(&bytes);
  assert_int_equal(read_alone(path, 0, 64 * MIB, ":1:1: error: at least 32767"), POLYAD_PARSE);
}

static void a_comment_of_64_mib(void **state) {
  (void)state;
  struct text_buffer bytes = {0};
  text_repeat(&bytes, "#", 1);
  text_repeat(&bytes, "xxxxxxxxxxxxxxxx", 4 * MIB);
  text_repeat(&bytes, "\n1 1 1 1\n", 1);
  write_file(&bytes, 1);
  text_free(&bytes);
  assert_int_equal(read_alone(path, 0, 64 * MIB, ""), POLYAD_OK);
}

/* 10 GiB of NUL bytes in members of 16 MiB: the first block is enough. */
static void ten_gib_of_nuls_in_gzip(void **state) {
  (void)state;
  struct text_buffer packed = {0};
  char *zeros = calloc(1, 16 * MIB);
  assert_non_null(zeros);
  text_gzip(&packed, zeros, 16 * MIB);
  free(zeros);
  write_file(&packed, 640);
  text_free(&packed);
  assert_int_equal(read_alone(path, 0, 64 * MIB, ":1:1: error: NUL byte"), POLYAD_PARSE);
}

/* 2^23 equal lines in 64 KiB: merged, or a limit that is named. */
static void many_repeats_in_gzip(void **state) {
  (void)state;
  struct text_buffer bytes = {0}, packed = {0};
  text_repeat(&bytes, "1 1 1 1\n", 8 * MIB);
  text_gzip(&packed, bytes.bytes, bytes.size);
  text_free(&bytes);
  write_file(&packed, 1);
  text_free(&packed);
  polyad_tensor *tensor;
  assert_int_equal(polyad_tensor_read(context, path, NULL, &tensor), POLYAD_OK);
  assert_int_equal(polyad_tensor_nnz(tensor), 1);
  assert_int_equal(polyad_tensor_repeats_merged(tensor), 8 * MIB - 1);
  assert_true(((const double *)polyad_tensor_values(tensor))[0] == 8 * MIB);
  polyad_tensor_destroy(tensor);
  assert_int_equal(read_alone(path, 64 * MIB, 64 * MIB, "memory limit"), POLYAD_MEMORY_LIMIT);
}

static void *feed_forever(void *user) {
  int file = *(int *)user;
  static char text[64 << 10];
  memset(text, '7', sizeof text);
  while (write(file, text, sizeof text) > 0) {
  }
  close(file);
  return NULL;
}

/* A pipe that never ends a line, and never ends. */
static void an_endless_line_in_a_pipe(void **state) {
  (void)state;
  int ends[2];
  char name[64];
  pthread_t thread;
  assert_int_equal(pipe(ends), 0);
  snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
  assert_int_equal(pthread_create(&thread, NULL, feed_forever, &ends[1]), 0);
  polyad_tensor *tensor;
  assert_int_equal(polyad_tensor_read(context, name, NULL, &tensor), POLYAD_PARSE);
  assert_non_null(strstr(polyad_last_error(context), ":1:1: error: "));
  close(ends[0]);
  pthread_join(thread, NULL);
}

static void devices_end_at_once(void **state) {
  (void)state;
  polyad_tensor *tensor;
  assert_int_equal(polyad_tensor_read(context, "/dev/null", NULL, &tensor), POLYAD_PARSE);
  assert_non_null(strstr(polyad_last_error(context), "file is empty"));
  assert_int_equal(polyad_tensor_read(context, "/dev/zero", NULL, &tensor), POLYAD_PARSE);
  assert_string_equal(polyad_last_error(context),
                      "/dev/zero:1:1: error: NUL byte '\\x00'; expected text");
  assert_int_equal(polyad_tensor_read(context, "/dev/urandom", NULL, &tensor), POLYAD_PARSE);
  assert_int_equal(polyad_tensor_read(context, "/proc/cpuinfo", NULL, &tensor), POLYAD_PARSE);
  assert_int_equal(polyad_tensor_read(context, "/proc/self/mem", NULL, &tensor), POLYAD_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_of_64_mib),          cmocka_unit_test(a_comment_of_64_mib),
      cmocka_unit_test(many_repeats_in_gzip),      cmocka_unit_test(ten_gib_of_nuls_in_gzip),
      cmocka_unit_test(an_endless_line_in_a_pipe), cmocka_unit_test(devices_end_at_once),
  };
  (void)signal(SIGPIPE, SIG_IGN);
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
