/* Tensor Toolbox text: models and matrices survive being written and read bit for bit; files that
 * lie or end early are refused with the place. */
#include "harness.h"

#include "core/random.h"
#include "tensor/ktensor.h"
#include <float.h>
#include <math.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];
static polyad_context *context;

static const char *at(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int set_up(void **state) {
  (void)state;
  strcpy(folder, "/tmp/polyad-toolbox-XXXXXX");
  if (mkdtemp(folder) == NULL) return 1;
  return polyad_context_create(&context) != POLYAD_OK;
}

static int tear_down(void **state) {
  (void)state;
  uint64_t left = polyad_memory_in_use(context);
  polyad_context_destroy(context);
  return rmdir(folder) != 0 || left != 0;
}

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  assert_int_equal(fclose(file), 0);
}

/* Numbers of every magnitude, and the special ones that are finite. */
static double number(uint64_t k) {
  static const double odd[] = {0, -0.0, 1, -1, DBL_MAX, -DBL_MIN, 0x1p-1074, 1.0 / 3, 0.1};
  if (k % 16 < 9) return odd[k % 16];
  return ldexp(pd_random_uniform(5, 0, k) - 0.5, (int)(k % 600) - 300);
}

static float single(uint64_t k) {
  static const float odd[] = {0, -0.0f, 1, -1, FLT_MAX, -FLT_MIN, 0x1p-149f, 1.0f / 3, 0.1f};
  if (k % 16 < 9) return odd[k % 16];
  return ldexpf((float)pd_random_uniform(5, 0, k) - 0.5f, (int)(k % 200) - 100);
}

static void fill(void *values, polyad_type type, uint64_t count, uint64_t first) {
  for (uint64_t k = 0; k < count; ++k)
    if (type == POLYAD_F64)
      ((double *)values)[k] = number(first + k);
    else
      ((float *)values)[k] = single(first + k);
}

static void ktensors_round_trip(void **state) {
  (void)state;
  static const char *const names[] = {"m.ktensor", "m.ktensor.gz", "m.ktensor.zst"};
  static const uint64_t dims[] = {7, 1, 300, 2, 5};
  for (int order = 1; order <= 5; ++order)
    for (int type = POLYAD_F32; type <= POLYAD_F64; ++type)
      for (size_t n = 0; n < 3; ++n) {
        polyad_ktensor *made, *read;
        size_t bytes = type == POLYAD_F32 ? 4 : 8, rank = 3;
        assert_int_equal(
            polyad_ktensor_create(context, order, dims, rank, (polyad_type)type, &made), POLYAD_OK);
        fill(polyad_ktensor_weights(made), (polyad_type)type, rank, 1);
        for (int m = 0; m < order; ++m)
          fill(polyad_ktensor_factor(made, m), (polyad_type)type, dims[m] * rank, 100);
        assert_int_equal(polyad_ktensor_write(context, made, at(names[n])), POLYAD_OK);
        assert_int_equal(polyad_ktensor_read(context, at(names[n]), (polyad_type)type, &read),
                         POLYAD_OK);
        assert_int_equal(polyad_ktensor_order(read), order);
        assert_memory_equal(polyad_ktensor_dims(read), dims, (size_t)order * sizeof *dims);
        assert_memory_equal(polyad_ktensor_weights(read), polyad_ktensor_weights(made),
                            rank * bytes);
        for (int m = 0; m < order; ++m)
          assert_memory_equal(polyad_ktensor_factor(read, m), polyad_ktensor_factor(made, m),
                              (size_t)dims[m] * rank * bytes);
        polyad_ktensor_destroy(made);
        polyad_ktensor_destroy(read);
        unlink(at(names[n]));
      }
}

static void ktensor_has_the_toolbox_form(void **state) {
  (void)state;
  static const uint64_t dims[] = {2, 1};
  polyad_ktensor *made;
  assert_int_equal(polyad_ktensor_create(context, 2, dims, 2, POLYAD_F64, &made), POLYAD_OK);
  memcpy(polyad_ktensor_weights(made), (double[]){3, 0.5}, 2 * sizeof(double));
  memcpy(polyad_ktensor_factor(made, 0), (double[]){1, 0.25, -2, 0}, 4 * sizeof(double));
  memcpy(polyad_ktensor_factor(made, 1), (double[]){1e20, -1e-5}, 2 * sizeof(double));
  assert_int_equal(polyad_ktensor_write(context, made, at("m.ktensor")), POLYAD_OK);
  polyad_ktensor_destroy(made);
  char text[256] = {0};
  FILE *file = fopen(at("m.ktensor"), "rb");
  assert_non_null(file);
  assert_true(fread(text, 1, sizeof text - 1, file) > 0);
  fclose(file);
  assert_string_equal(text, "ktensor\n2\n2 1\n2\n3 0.5\nmatrix\n2\n2 2\n1 0.25\n-2 0\n"
                            "matrix\n2\n1 2\n1e+20 -1e-05\n");
  unlink(at("m.ktensor"));
}

static void matrices_round_trip(void **state) {
  (void)state;
  enum { ROWS = 211, COLUMNS = 3 };
  double *values = malloc(ROWS * COLUMNS * sizeof *values), *read;
  assert_non_null(values);
  fill(values, POLYAD_F64, ROWS * COLUMNS, 7);
  uint64_t rows, columns;
  assert_int_equal(polyad_matrix_write(context, ROWS, COLUMNS, values, at("a.txt")), POLYAD_OK);
  assert_int_equal(polyad_matrix_read(context, at("a.txt"), &rows, &columns, &read), POLYAD_OK);
  assert_int_equal(rows, ROWS);
  assert_int_equal(columns, COLUMNS);
  assert_memory_equal(read, values, ROWS * COLUMNS * sizeof *values);
  polyad_free(context, read);
  free(values);
  unlink(at("a.txt"));
}

/* As MATLAB's and Python's writers print: aligned, with line ends anywhere. */
static void other_layouts_are_read(void **state) {
  (void)state;
  polyad_ktensor *model;
  write_text(at("m.txt"),
             "\xef\xbb\xbfktensor\r\n2\r\n  2   1\r\n1\r\n 2.5000000e+00 \r\nmatrix\r\n"
             "2\r\n2 1\r\n 1.0\r\n 2.0\r\nmatrix\n2\n1 1\n\t-.5");
  assert_int_equal(polyad_ktensor_read(context, at("m.txt"), POLYAD_F64, &model), POLYAD_OK);
  assert_true(((double *)polyad_ktensor_weights(model))[0] == 2.5);
  assert_true(((double *)polyad_ktensor_factor(model, 0))[1] == 2);
  assert_true(((double *)polyad_ktensor_factor(model, 1))[0] == -0.5);
  polyad_ktensor_destroy(model);
  unlink(at("m.txt"));
}

struct bad {
  const char *text, *says;
};

static void assert_refused(const struct bad *bad, bool matrix) {
  polyad_ktensor *model = NULL;
  uint64_t rows, columns;
  double *values = NULL;
  const char *path = at("bad.txt");
  write_text(path, bad->text);
  polyad_status status = matrix ? polyad_matrix_read(context, path, &rows, &columns, &values)
                                : polyad_ktensor_read(context, path, POLYAD_F32, &model);
  assert_null(model);
  assert_null(values);
  if (status == POLYAD_OK || strstr(polyad_last_error(context), bad->says) == NULL) {
    print_error("%s: %s\n", bad->text, polyad_last_error(context));
    fail();
  }
  assert_int_equal(polyad_memory_in_use(context), 0);
  assert_true(polyad_memory_peak(context) < 64 << 20);
  unlink(path);
}

static void bad_models_are_refused(void **state) {
  (void)state;
  static const struct bad bad[] = {
      {"", "the file ends here; expected ktensor"},
      {"sptensor\n3\n",
       "bad.txt:1:1: error: 'sptensor'; expected ktensor, the first word of a CP model"},
      {"ktensor,\n3\n", "bad.txt:1:1: error: 'ktensor,'; expected ktensor, the first word"},
      {"ktensor\n", "expected the number of modes"},
      {"ktensor\n0\n", "bad.txt:2:1: error: '0'; expected the number of modes"},
      {"ktensor\n17\n", "'17'; expected the number of modes: an integer from 1 to 16"},
      {"ktensor\n2\n3 -1\n", "bad.txt:3:3: error: '-1'; expected the length of a mode"},
      {"ktensor\n2\n3 2\n0\n", "bad.txt:4:1: error: '0'; expected the rank"},
      {"ktensor\n2\n3 2\n99999999999999999999\n", "'99999999999999999999'; expected the rank"},
      {"ktensor\n2\n72057594037927936 1\n2\n", "'2'; expected the rank: an integer from 1 to 1"},
      {"ktensor\n1\n2\n1\nnan\n", "bad.txt:5:1: error: 'nan'; expected a weight: a finite number"},
      {"ktensor\n1\n2\n1\n1e39\n", "'1e39'; expected a magnitude of at most 3.4e38"},
      {"ktensor\n1\n2\n1\n1\nmatrix\n3\n", "'3'; expected the number of dimensions of a matrix"},
      {"ktensor\n1\n2\n1\n1\nmatrix\n2\n3 1\n", "'3'; expected the rows of a matrix"},
      {"ktensor\n1\n2\n1\n1\nmatrix\n2\n2 2\n", "'2'; expected the columns of a matrix"},
      {"ktensor\n1\n2\n1\n1\nmatrix\n2\n2 1\n1\n", "the file ends here; expected an entry"},
      {"ktensor\n1\n2\n1\n1\nmatrix\n2\n2 1\n1\n2\n3\n",
       "bad.txt:11:1: error: '3'; expected the end"},
      {"ktensor\n1\n2\n1\n1\nmatrix\n2\n2 1\n1\nx\x1b[2J\n", "'x\\x1b[2J'"},
      /* sizes that nothing proves take no memory */
      {"ktensor\n1\n1000000000000\n1000\n1\n", "the file ends here; expected a weight"},
  };
  for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k)
    assert_refused(&bad[k], false);
}

static void bad_matrices_are_refused(void **state) {
  (void)state;
  static const struct bad bad[] = {
      {"matrix\n3\n1 1 1\n1\n", "'3'; expected the number of dimensions of a matrix"},
      {"matrix\n2\n0 1\n", "'0'; expected the rows of a matrix"},
      {"matrix\n2\n1000000 1000000\n1\n", "the file ends here; expected an entry"},
      {"matrix\n2\n99999999999 99999999999\n1\n", "'99999999999'; expected the columns"},
      {"matrix\n2\n1 1\n0x1\n", "bad.txt:4:1: error: '0x1'; expected an entry: a finite number"},
  };
  for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k)
    assert_refused(&bad[k], true);
}

static void options_of_reading(void **state) {
  (void)state;
  polyad_read_options options;
  polyad_tensor *tensor;
  write_text(at("t.tns"), "0 1\n2 3\n0 1\n");
  polyad_read_options_init(&options);
  options.index_base = 0;
  options.pattern = 1;
  assert_int_equal(polyad_tensor_read(context, at("t.tns"), &options, &tensor), POLYAD_OK);
  assert_int_equal(polyad_tensor_order(tensor), 2);
  assert_int_equal(polyad_tensor_nnz(tensor), 2);
  assert_int_equal(polyad_tensor_repeats_merged(tensor), 1);
  assert_true(((const double *)polyad_tensor_values(tensor))[0] == 2);
  assert_int_equal(polyad_tensor_dims(tensor)[1], 4);
  polyad_tensor_destroy(tensor);
  options.order = 2;
  options.dims[0] = 10;
  options.dims[1] = 3;
  assert_int_equal(polyad_tensor_read(context, at("t.tns"), &options, &tensor), POLYAD_PARSE);
  assert_non_null(strstr(polyad_last_error(context),
                         "t.tns:2:3: error: index '3' in mode 2; expected at most 2"));
  options.dims[1] = 4;
  options.type = POLYAD_F32;
  options.duplicates = POLYAD_DUPLICATES_ERROR;
  assert_int_not_equal(polyad_tensor_read(context, at("t.tns"), &options, &tensor), POLYAD_OK);
  options.duplicates = POLYAD_DUPLICATES_FIRST;
  assert_int_equal(polyad_tensor_read(context, at("t.tns"), &options, &tensor), POLYAD_OK);
  assert_int_equal(polyad_tensor_type(tensor), POLYAD_F32);
  assert_int_equal(polyad_tensor_dims(tensor)[0], 10);
  assert_true(((const float *)polyad_tensor_values(tensor))[0] == 1);
  polyad_tensor_destroy(tensor);
  options.index_base = 2;
  assert_int_equal(polyad_tensor_read(context, at("t.tns"), &options, &tensor),
                   POLYAD_INVALID_ARGUMENT);
  unlink(at("t.tns"));
}

static void floats_must_be_finite(void **state) {
  (void)state;
  polyad_read_options options;
  polyad_tensor *tensor;
  polyad_read_options_init(&options);
  options.type = POLYAD_F32;
  write_text(at("t.tns"), "1 1 1\n1 2 1e39\n");
  assert_int_equal(polyad_tensor_read(context, at("t.tns"), &options, &tensor), POLYAD_PARSE);
  assert_non_null(strstr(polyad_last_error(context), "t.tns:2:5: error: value '1e39'"));
  write_text(at("t.tns"), "1 1 1\n1 2 1000000000000000000000000000000000000000\n");
  assert_int_equal(polyad_tensor_read(context, at("t.tns"), &options, &tensor), POLYAD_PARSE);
  unlink(at("t.tns"));
}

static void write_needs_a_known_extension(void **state) {
  (void)state;
  polyad_tensor *tensor;
  write_text(at("t.tns"), "1 1 1\n");
  assert_int_equal(polyad_tensor_read(context, at("t.tns"), NULL, &tensor), POLYAD_OK);
  assert_int_equal(polyad_tensor_write(context, tensor, at("t.xyz"), POLYAD_FILE_AUTO),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_tensor_write(context, tensor, at("none/t.tns"), POLYAD_FILE_AUTO),
                   POLYAD_IO);
  assert_int_equal(polyad_tensor_write(context, tensor, at("t.xyz"), POLYAD_FILE_TNS), POLYAD_OK);
  polyad_tensor_destroy(tensor);
  unlink(at("t.tns"));
  unlink(at("t.xyz"));
}

/* A warning tells of values that vanish. */
static void take_message(void *user, polyad_log_level level, const char *message) {
  if (level == POLYAD_LOG_WARNING) snprintf(user, 256, "%s", message);
}

static void underflow_is_a_warning(void **state) {
  (void)state;
  char message[256] = "";
  polyad_tensor *tensor;
  polyad_set_log(context, POLYAD_LOG_WARNING, take_message, message);
  write_text(at("t.tns"), "1 1 1\n# c\n1 2 1e-400\n1 3 -1e-500\n");
  assert_int_equal(polyad_tensor_read(context, at("t.tns"), NULL, &tensor), POLYAD_OK);
  polyad_set_log(context, POLYAD_LOG_WARNING, NULL, NULL);
  assert_non_null(strstr(message, "t.tns:3: a value is too small"));
  assert_non_null(strstr(message, "(2 in all)"));
  assert_int_equal(polyad_tensor_zeros_dropped(tensor), 2);
  polyad_tensor_destroy(tensor);
  unlink(at("t.tns"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_models_are_refused),
      cmocka_unit_test(bad_matrices_are_refused),
      cmocka_unit_test(ktensors_round_trip),
      cmocka_unit_test(ktensor_has_the_toolbox_form),
      cmocka_unit_test(matrices_round_trip),
      cmocka_unit_test(other_layouts_are_read),
      cmocka_unit_test(options_of_reading),
      cmocka_unit_test(floats_must_be_finite),
      cmocka_unit_test(write_needs_a_known_extension),
      cmocka_unit_test(underflow_is_a_warning),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
