/* Models as directories of text; the strongest rows of a component. */
#include "harness.h"

#include "failing_allocator.h"
#include "io/file_format.h"
#include "tensor/ktensor.h"
#include <math.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int set_up(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "io_directory.%ld", (long)getpid());
  return mkdir(folder, 0777) == 0 && chdir(folder) == 0 ? 0 : 1;
}

static int tear_down(void **state) {
  (void)state;
  char command[128];
  if (chdir("..") != 0) return 1;
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

static void assert_file(const char *path, const char *expected) {
  char text[1024];
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t got = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[got] = '\0';
  assert_string_equal(text, expected);
}

/* Mode 0 has rows (1, -3), (0.1, 2), (-1, 1/3); mode 1 has (5, 5), (5, 4). */
static polyad_ktensor *model(polyad_context *context) {
  const uint64_t dims[] = {3, 2};
  const double first[] = {1, -3, 0.1, 2, -1, 1.0 / 3}, second[] = {5, 5, 5, 4};
  polyad_ktensor *ktensor;
  assert_int_equal(polyad_ktensor_create(context, 2, dims, 2, POLYAD_F64, &ktensor), POLYAD_OK);
  memcpy(polyad_ktensor_factor(ktensor, 0), first, sizeof first);
  memcpy(polyad_ktensor_factor(ktensor, 1), second, sizeof second);
  ((double *)polyad_ktensor_weights(ktensor))[1] = 2.5;
  return ktensor;
}

static polyad_tensor *labelled(polyad_context *context) {
  const uint32_t index[] = {2, 1};
  const uint64_t dims[] = {3, 2};
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = 2;
  input.dims = dims;
  input.nnz = 1;
  input.index_type = POLYAD_U32;
  input.index[0] = index;
  input.index[1] = index + 1;
  polyad_tensor *tensor;
  assert_int_equal(polyad_tensor_create(context, &input, &tensor), POLYAD_OK);
  const char *labels[] = {"tab\there", "back\\slash", "Z\xc3\xbcrich"};
  assert_int_equal(polyad_tensor_set_labels(context, tensor, 0, "../evil", labels), POLYAD_OK);
  return tensor;
}

static void a_directory_holds_the_model(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  polyad_ktensor *ktensor = model(context);
  polyad_tensor *tensor = labelled(context);
  assert_int_equal(polyad_ktensor_write_directory(context, ktensor, tensor, 2, "out/"), POLYAD_OK);
  assert_file("out/lambda.txt", "1\n2.5\n");
  assert_file("out/mode1.txt", "1 -3\n0.1 2\n-1 0.3333333333333333\n");
  assert_file("out/mode2.txt", "5 5\n5 4\n");
  assert_file("out/mode1.top.tsv", "component\tplace\tindex\tlabel\tvalue\n"
                                   "1\t1\t1\ttab\\x09here\t1\n"
                                   "1\t2\t3\tZ\xc3\xbcrich\t-1\n"
                                   "2\t1\t1\ttab\\x09here\t-3\n"
                                   "2\t2\t2\tback\\\\slash\t2\n");
  assert_int_equal(access("out/mode2.top.tsv", F_OK), -1); /* no labels */
  /* What exists stays as it is. */
  assert_int_equal(polyad_ktensor_write_directory(context, ktensor, NULL, 0, "out"), POLYAD_IO);
  assert_non_null(strstr(polyad_last_error(context), "exists already"));
  assert_file("out/lambda.txt", "1\n2.5\n");
  assert_int_equal(polyad_ktensor_write_directory(context, ktensor, NULL, 0, "no/such/out"),
                   POLYAD_IO);
  polyad_tensor_destroy(tensor);
  polyad_ktensor_destroy(ktensor);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

/* Whatever fails on the way, nothing is left in the directory above. */
static void a_failure_leaves_nothing(void **state) {
  (void)state;
  struct failing_allocator one = {-1, 0, true};
  const polyad_allocator allocator = {failing_allocate, failing_release, &one};
  polyad_context *context;
  assert_int_equal(polyad_context_create_with_allocator(&allocator, &context), POLYAD_OK);
  polyad_ktensor *ktensor = model(context);
  polyad_tensor *tensor = labelled(context);
  uint64_t before = polyad_memory_in_use(context);
  polyad_status status = POLYAD_OUT_OF_MEMORY;
  for (long n = 0; status != POLYAD_OK; ++n) {
    atomic_store(&one.until_failure, n);
    status = polyad_ktensor_write_directory(context, ktensor, tensor, 2, "out");
    atomic_store(&one.until_failure, -1);
    assert_int_equal(polyad_memory_in_use(context), before);
    assert_true(status == POLYAD_OK || status == POLYAD_OUT_OF_MEMORY);
    /* rmdir succeeds only where nothing is left. */
    if (status != POLYAD_OK) {
      assert_int_equal(chdir(".."), 0);
      assert_int_equal(rmdir(folder), 0);
      assert_int_equal(mkdir(folder, 0777), 0);
      assert_int_equal(chdir(folder), 0);
    }
    assert_true(n < 50);
  }
  polyad_tensor_destroy(tensor);
  polyad_ktensor_destroy(ktensor);
  polyad_context_destroy(context);
}

static void the_strongest_rows(void **state) {
  (void)state;
  enum { ROWS = 1000 };
  const uint64_t dims[] = {ROWS};
  polyad_context *context;
  polyad_ktensor *ktensor;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_ktensor_create(context, 1, dims, 3, POLYAD_F32, &ktensor), POLYAD_OK);
  float *factor = polyad_ktensor_factor(ktensor, 0);
  for (int i = 0; i < ROWS; ++i)
    factor[3 * i + 1] = (float)((i * 37) % 101) * (i % 2 ? -1.0F : 1.0F);
  factor[3 * 500 + 1] = NAN;
  uint64_t rows[ROWS];
  for (uint64_t count = 0; count <= ROWS; count += count < 5 ? 1 : 199) {
    assert_int_equal(polyad_ktensor_top(context, ktensor, 0, 1, count, rows), POLYAD_OK);
    for (uint64_t k = 1; k < count; ++k) {
      float a = fabsf(factor[3 * rows[k - 1] + 1]), b = fabsf(factor[3 * rows[k] + 1]);
      if (isnan(b)) continue; /* the weakest of all */
      assert_true(a > b || (a == b && rows[k - 1] < rows[k]));
    }
    if (count == 0) continue;
    /* The last one kept is at least as strong as all that are not. */
    float least = fabsf(factor[3 * rows[count - 1] + 1]);
    uint64_t stronger = 0;
    for (int i = 0; i < ROWS; ++i)
      stronger += fabsf(factor[3 * i + 1]) > least;
    assert_true(stronger < count);
  }
  assert_int_equal(polyad_ktensor_top(context, ktensor, 0, 1, ROWS + 1, rows),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_ktensor_top(context, ktensor, 0, 3, 1, rows), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_ktensor_top(context, ktensor, 1, 0, 1, rows), POLYAD_INVALID_ARGUMENT);
  polyad_ktensor_destroy(ktensor);
  polyad_context_destroy(context);
}

static void json_has_the_names(void **state) {
  (void)state;
  polyad_context *context;
  char text[2048];
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  polyad_ktensor *ktensor = model(context);
  polyad_tensor *tensor = labelled(context);
  for (int with = 0; with < 2; ++with) {
    assert_int_equal(
        polyad_ktensor_write_labelled(context, ktensor, with ? tensor : NULL, "model.json"),
        POLYAD_OK);
    FILE *file = fopen("model.json", "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_true((strstr(text, "{\"name\": \"../evil\"") != NULL) == (with != 0));
    assert_non_null(strstr(text, "{\"name\": null"));
    assert_true((strstr(text, "\"back\\\\slash\"") != NULL) == (with != 0));
  }
  polyad_tensor_destroy(tensor);
  polyad_ktensor_destroy(ktensor);
  polyad_context_destroy(context);
}

static void a_folder_is_told_by_its_last_byte(void **state) {
  (void)state;
  assert_true(pd_has_extension("/", "/"));
  assert_true(pd_has_extension("a/", "/"));
  assert_false(pd_has_extension("", "/"));
  assert_false(pd_has_extension("a/b", "/"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_directory_holds_the_model),
      TEST(a_failure_leaves_nothing),
      TEST(the_strongest_rows),
      TEST(json_has_the_names),
      TEST(a_folder_is_told_by_its_last_byte),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
