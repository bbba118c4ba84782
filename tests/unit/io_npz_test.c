/* NumPy's files that are not what they seem: every fault is told with the name of its array. Whole
 * files are compared with NumPy and SciPy in python/tests. */
#include "als_fixture.h"
#include "io/npz_archive.h"
#include <polyad/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/polyad-npz-XXXXXX";

static void remove_folder(void) { rmdir(folder); }

static const char *path_of(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void put(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static void expect_refused(const char *path, const char *says) {
  polyad_context *context = cpu_context(1);
  polyad_read_options options;
  polyad_tensor *tensor;
  polyad_read_options_init(&options);
  assert_int_equal(polyad_tensor_read(context, path, &options, &tensor), POLYAD_PARSE);
  assert_null(tensor);
  if (strstr(polyad_last_error(context), says) == NULL)
    fail_msg("'%s' is not in '%s'", says, polyad_last_error(context));
  context_end(context);
  unlink(path);
}

/* ---- one array --------------------------------------------------------------------------------
 */

/* A 2 x 2 array of the numbers 1, 0, 2 and 3, whose type is described by `type`. */
static void write_array(const char *path, const char *type) {
  static const double cells[] = {1, 0, 2, 3};
  char bytes[128 + sizeof cells];
  int length =
      snprintf(bytes + 10, 118, "{'descr': %s, 'fortran_order': False, 'shape': (2, 2), }", type);
  memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
  memset(bytes + 10 + length, ' ', (size_t)(118 - length));
  bytes[127] = '\n';
  memcpy(bytes + 128, cells, sizeof cells);
  put(path, bytes, sizeof bytes);
}

static void arrays_of_reals_are_tensors(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_read_options options;
  polyad_tensor *tensor;
  const char *path = path_of("x.npy");
  write_array(path, "'<f8'");
  polyad_read_options_init(&options);
  ALS_OK(context, polyad_tensor_read(context, path, &options, &tensor));
  assert_int_equal(polyad_tensor_nnz(tensor), 3);
  polyad_tensor_destroy(tensor);
  context_end(context);
  unlink(path);
}

static void types_are_described_to_their_end(void **state) {
  (void)state;
  static const char *const types[] = {"'<f8",  "'<f8x'", "'<f8, '", "'<f'",  "'<f2'",       "'<b2'",
                                      "'>f8'", "'<c8'",  "<f8'",    "'<f3'", "'<U99999999'"};
  for (size_t k = 0; k < sizeof types / sizeof *types; ++k) {
    const char *path = path_of("x.npy");
    write_array(path, types[k]);
    expect_refused(path, "x.npy");
  }
}

/* ---- archives ---------------------------------------------------------------------------------
 */

/* A tensor's archive in which array `name` is called otherwise: names have no checksum. */
static void write_archive(const char *path, const char *name) {
  static const uint64_t dims[] = {4, 5, 6};
  static char bytes[1 << 16];
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = als_random_tensor(context, 3, dims, 20, 1, 1);
  ALS_OK(context, polyad_tensor_write(context, tensor, path, POLYAD_FILE_AUTO));
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t size = fread(bytes, 1, sizeof bytes, file), length = strlen(name);
  assert_int_equal(fclose(file), 0);
  int found = 0;
  for (size_t k = 0; k + length <= size; ++k)
    if (memcmp(bytes + k, name, length) == 0) {
      bytes[k + length - strlen(".npy") - 1] = 'Z';
      ++found;
    }
  assert_int_equal(found, 2); /* before the array and in the directory */
  put(path, bytes, size);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* An archive of several arrays is no full array, whatever its first one holds. */
static void archives_need_their_arrays(void **state) {
  (void)state;
  static const char *const names[] = {"coords.npy", "data.npy", "shape.npy"};
  for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
    char says[16];
    const char *path = path_of("x.npz");
    snprintf(says, sizeof says, "%.*s", (int)(strlen(names[k]) - 4), names[k]);
    write_archive(path, names[k]);
    expect_refused(path, says);
  }
}

static polyad_status fill_one(struct pd_npz_sink *sink, const void *user) {
  return pd_npz_bytes(sink, user, sizeof(double));
}

/* Names of the longest length come back as they were. */
static void long_names_are_kept(void **state) {
  (void)state;
  static const double number = 7;
  polyad_context *context = cpu_context(1);
  const char *path = path_of("x.npz");
  struct pd_npy array = {.kind = 'f', .item_bytes = sizeof number, .order = 1, .shape = {1}};
  struct pd_npz_writer *writer;
  struct pd_input *input;
  struct pd_npz npz;
  memset(array.name, 'n', PD_NPZ_NAME_BYTES - 1);
  ALS_OK(context, pd_npz_open(context, path, &writer));
  ALS_OK(context, pd_npz_close(writer, pd_npz_put(writer, &array, fill_one, &number)));
  ALS_OK(context, pd_input_open(context, path, &input));
  ALS_OK(context, pd_npz_read(context, input, &npz));
  const struct pd_npy *back = pd_npz_find(&npz, array.name);
  assert_non_null(back);
  assert_int_equal(back->count, 1);
  assert_memory_equal(back->data, &number, sizeof number);
  pd_npz_free(&npz);
  pd_input_close(input);
  context_end(context);
  unlink(path);
}

int main(void) {
  assert_non_null(mkdtemp(folder));
  atexit(remove_folder);
  const struct CMUnitTest tests[] = {cmocka_unit_test(arrays_of_reals_are_tensors),
                                     cmocka_unit_test(types_are_described_to_their_end),
                                     cmocka_unit_test(archives_need_their_arrays),
                                     cmocka_unit_test(long_names_are_kept)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
