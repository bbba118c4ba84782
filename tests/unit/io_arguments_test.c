/* What callers of the file functions may get wrong, and models in files of every kind. */
#include "harness.h"

#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static polyad_context *context;
static char folder[] = "/tmp/polyad-arguments-XXXXXX";

static const char *at(const char *name) {
  static char path[4][512];
  static int next;
  next = (next + 1) % 4;
  snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
  return path[next];
}

static int set_up(void **state) {
  (void)state;
  return mkdtemp(folder) == NULL || polyad_context_create(&context) != POLYAD_OK;
}

static int tear_down(void **state) {
  (void)state;
  char command[600];
  uint64_t left = polyad_memory_in_use(context);
  polyad_context_destroy(context);
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command) != 0 || left != 0;
}

static void refused(polyad_status status, const char *words) {
  assert_int_equal(status, POLYAD_INVALID_ARGUMENT);
  assert_non_null(strstr(polyad_last_error(context), words));
}

static void nothing_given_is_an_error(void **state) {
  (void)state;
  polyad_tensor *tensor;
  polyad_ktensor *ktensor;
  polyad_ttensor *ttensor;
  double number = 1;
  refused(polyad_tensor_read(context, NULL, NULL, &tensor), "NULL");
  refused(polyad_tensor_read(context, at("x.tns"), NULL, NULL), "NULL");
  refused(polyad_tensor_write(context, NULL, at("x.tns"), POLYAD_FILE_AUTO), "");
  refused(polyad_ktensor_read(context, NULL, POLYAD_F64, &ktensor), "");
  refused(polyad_ktensor_write(context, NULL, at("m.ktensor")), "missing");
  refused(polyad_ttensor_read(context, NULL, POLYAD_F64, &ttensor), "");
  refused(polyad_ttensor_write(context, NULL, at("m.ttensor")), "");
  refused(polyad_ktensor_write_directory(context, NULL, NULL, 3, at("m")), "missing");
  refused(polyad_ttensor_write_directory(context, NULL, NULL, 3, at("m")), "missing");
  refused(polyad_matrix_write(context, 1, 1, NULL, at("m.txt")), "NULL");
  refused(polyad_matrix_write(context, 0, 1, &number, at("m.txt")), "no row");
  assert_int_equal(polyad_tensor_read(NULL, at("x"), NULL, &tensor), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_ktensor_write(NULL, NULL, NULL), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_matrix_write(NULL, 1, 1, &number, ""), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_ktensor_write_directory(NULL, NULL, NULL, 3, ""),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_ttensor_write_directory(NULL, NULL, NULL, 3, ""),
                   POLYAD_INVALID_ARGUMENT);
}

static void bad_options_are_errors(void **state) {
  (void)state;
  polyad_tensor *tensor;
  polyad_read_options options;
  polyad_read_options_init(&options);
  options.index_base = 2;
  refused(polyad_tensor_read(context, at("x.tns"), &options, &tensor), "index base 2");
  polyad_read_options_init(&options);
  options.order = POLYAD_MAX_ORDER + 1;
  refused(polyad_tensor_read(context, at("x.tns"), &options, &tensor), "17 dims");
  options.order = 2;
  options.dims[0] = 3;
  options.dims[1] = 0;
  refused(polyad_tensor_read(context, at("x.tns"), &options, &tensor), "length 0 of mode 1");
  polyad_read_options_init(&options);
  options.type = (polyad_type)77;
  refused(polyad_tensor_read(context, at("x.tns"), &options, &tensor), "value type 77");
}

/* A disk without room: a device that takes nothing. */
static void full_disk_is_an_error(void **state) {
  (void)state;
  polyad_ktensor *ktensor;
  polyad_ttensor *ttensor;
  const uint64_t dims[2] = {3, 4}, ranks[2] = {2, 2};
  const double values[4] = {1, 2, 3, 4};
  if (access("/dev/full", W_OK) != 0) skip();
  assert_int_equal(polyad_ktensor_create(context, 2, dims, 2, POLYAD_F64, &ktensor), POLYAD_OK);
  assert_int_equal(polyad_ttensor_create(context, 2, dims, ranks, POLYAD_F64, &ttensor), POLYAD_OK);
  assert_int_equal(polyad_ktensor_write(context, ktensor, "/dev/full"), POLYAD_IO);
  assert_int_equal(polyad_ttensor_write(context, ttensor, "/dev/full"), POLYAD_IO);
  assert_int_equal(polyad_matrix_write(context, 2, 2, values, "/dev/full"), POLYAD_IO);
  polyad_ktensor_destroy(ktensor);
  polyad_ttensor_destroy(ttensor);
}

static void assert_holds(const char *path, const char *text) {
  char read[256] = {0};
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_true(fread(read, 1, sizeof read - 1, file) > 0);
  fclose(file);
  assert_string_equal(read, text);
}

static void tucker_models_as_directories(void **state) {
  (void)state;
  const uint64_t dims[2] = {3, 2}, ranks[2] = {2, 1};
  polyad_ttensor *ttensor;
  assert_int_equal(polyad_ttensor_create(context, 2, dims, ranks, POLYAD_F32, &ttensor), POLYAD_OK);
  ((float *)polyad_ttensor_core(ttensor))[1] = 2.5F;
  for (int k = 0; k < 6; ++k)
    ((float *)polyad_ttensor_factor(ttensor, 0))[k] = (float)k;
  ((float *)polyad_ttensor_factor(ttensor, 1))[1] = -1;
  assert_int_equal(polyad_ttensor_write_directory(context, ttensor, NULL, 3, at("model")),
                   POLYAD_OK);
  assert_holds(at("model/core.txt"), "0\n2.5\n");
  assert_holds(at("model/mode1.txt"), "0 1\n2 3\n4 5\n");
  assert_holds(at("model/mode2.txt"), "0\n-1\n");
  assert_int_equal(polyad_ttensor_write_directory(context, ttensor, NULL, 3, at("model")),
                   POLYAD_IO); /* is there already */
  polyad_ttensor_destroy(ttensor);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_given_is_an_error), cmocka_unit_test(bad_options_are_errors),
      cmocka_unit_test(full_disk_is_an_error), cmocka_unit_test(tucker_models_as_directories)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
