/* Generating into files: the same tensor as in memory, in little memory. */
#include "context_fixture.h"

#include "failing_allocator.h"
#include "tensor/tensor.h"
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/polyad-generate-XXXXXX";

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
  (void)state;
  return rmdir(folder); /* fails when a test left something behind */
}

static const char *path_of(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static char *contents(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

/* The bytes behind a line "# dims: ...", which text may begin with. */
static const char *after_dims(const char *bytes, size_t *size) {
  static const char comment[] = "# dims: ";
  if (*size < sizeof comment || memcmp(bytes, comment, sizeof comment - 1) != 0) return bytes;
  const char *body = (const char *)memchr(bytes, '\n', *size) + 1;
  *size -= (size_t)(body - bytes);
  return body;
}

/* The file is, byte by byte, what writing the tensor from memory gives. */
static void files_hold_the_tensor(void **state) {
  (void)state;
  static const char *const names[] = {"x.tns", "x.ptn", "x.tns.gz", "x.txt"};
  polyad_generate_options options[3];
  for (int c = 0; c < 3; ++c)
    polyad_generate_options_init(&options[c]);
  options[0].order = 3;
  options[0].nnz = 300000;
  options[0].dims[0] = 400;
  options[0].dims[1] = 500;
  options[0].dims[2] = 600;
  options[0].skew[2] = 0.7;
  options[0].cluster = 0.4;
  options[0].type = POLYAD_F32;
  options[1].like = "book";
  options[2] = options[0];
  options[2].nnz = 3000;
  options[2].rank = 2;
  options[2].skew[2] = options[2].cluster = 0;
  for (int c = 0; c < 3; ++c)
    for (int k = 0; k < 4; ++k) {
      polyad_tensor *x;
      assert_int_equal(polyad_generate(context, &options[c], &x, NULL), POLYAD_OK);
      const char *path = path_of(names[k]);
      if (polyad_generate_to_file(context, &options[c], path) != POLYAD_OK)
        fail_msg("%s", polyad_last_error(context));
      size_t size, expected_size;
      char *written = contents(path, &size);
      assert_int_equal(polyad_tensor_write(context, x, path, POLYAD_FILE_AUTO), POLYAD_OK);
      char *expected = contents(path, &expected_size);
      /* Text that is written piece by piece cannot know whether the nonzeros tell the dims, and
       * states them always. */
      const char *body = after_dims(written, &size), *wanted = after_dims(expected, &expected_size);
      if (k != 2) { /* compressed streams may be cut elsewhere */
        assert_int_equal(size, expected_size);
        assert_memory_equal(body, wanted, size);
      }
      free(written);
      free(expected);
      polyad_tensor *again;
      assert_int_equal(polyad_generate_to_file(context, &options[c], path), POLYAD_OK);
      polyad_read_options reading;
      polyad_read_options_init(&reading);
      reading.type = options[c].type;
      reading.order = 3;
      memcpy(reading.dims, polyad_tensor_dims(x), 3 * sizeof reading.dims[0]);
      if (polyad_tensor_read(context, path, &reading, &again) != POLYAD_OK)
        fail_msg("%s", polyad_last_error(context));
      assert_true(polyad_tensor_hash(again) == polyad_tensor_hash(x));
      polyad_tensor_destroy(again);
      polyad_tensor_destroy(x);
      unlink(path);
    }
}

/* 200 MB of nonzeros in a quarter of the memory. */
static void memory_may_be_smaller_than_the_tensor(void **state) {
  (void)state;
  polyad_generate_options options;
  polyad_generate_options_init(&options);
  options.order = 3;
  options.nnz = 10000000;
  for (int n = 0; n < 3; ++n)
    options.dims[n] = 4000;
  assert_int_equal(polyad_set_memory_limit(context, 100 << 20), POLYAD_OK);
  polyad_tensor *x;
  assert_int_equal(polyad_generate(context, &options, &x, NULL), POLYAD_MEMORY_LIMIT);
  const char *path = path_of("large.ptn");
  if (polyad_generate_to_file(context, &options, path) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  assert_true(polyad_memory_peak(context) <= 100 << 20);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  assert_true(ftell(file) >= 10000000L * (3 * 4 + 8));
  fclose(file);
  unlink(path);
}

static void failures_leave_nothing(void **state) {
  (void)state;
  polyad_generate_options options;
  polyad_generate_options_init(&options);
  options.like = "art";
  assert_int_equal(polyad_generate_to_file(context, &options, path_of("x.jpg")),
                   POLYAD_INVALID_ARGUMENT);
  assert_non_null(strstr(polyad_last_error(context), "expected .tns, "));
  assert_int_equal(polyad_generate_to_file(context, &options, path_of("none/x.tns")), POLYAD_IO);
  assert_int_equal(polyad_generate_to_file(context, NULL, path_of("x.tns")),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_generate_to_file(context, &options, NULL), POLYAD_INVALID_ARGUMENT);
  polyad_cancel(context);
  assert_int_equal(polyad_generate_to_file(context, &options, path_of("x.tns")), POLYAD_CANCELLED);
  assert_int_equal(polyad_generate_to_file(context, &options, path_of("x.ptn")), POLYAD_CANCELLED);
  options.like = "arts";
  assert_int_equal(polyad_generate_to_file(context, &options, path_of("x.tns")),
                   POLYAD_INVALID_ARGUMENT);
  /* remove_folder() finds the folder empty */
}

static polyad_status generate_file(polyad_context *failing, void *data) {
  polyad_generate_options options;
  polyad_generate_options_init(&options);
  options.order = 2;
  options.nnz = 100;
  options.dims[0] = options.dims[1] = 30;
  return polyad_generate_to_file(failing, &options, data);
}

static void allocations_may_fail(void **state) {
  (void)state;
  static const char *const names[] = {"x.tns", "x.ptn", "x.txt"};
  for (int k = 0; k < 3; ++k) {
    char path[128];
    snprintf(path, sizeof path, "%s", path_of(names[k]));
    assert_true(sweep_failures(generate_file, path, 2) > 5);
    assert_int_equal(unlink(path), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(files_hold_the_tensor),
      TEST(memory_may_be_smaller_than_the_tensor),
      TEST(failures_leave_nothing),
      TEST(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
