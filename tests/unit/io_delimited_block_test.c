/* Delimited text read by several threads: the same tensor, labels and errors as row by row. */
#include "harness.h"

#include "core/random.h"
#include "failing_allocator.h"
#include "tensor/tensor.h"
#include <polyad/polyad.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 60000, FAULTS = 5 };
static char path[] = "/tmp/polyad-rows-XXXXXX.csv";

static uint64_t below(uint64_t row, uint64_t what, uint64_t limit) {
  return pd_random_u64(5, row, what) % limit;
}

/* Rows as files have them: labels that return, labels that are always new, numbers to round, and
 * now and then stretches with quotes, blank lines and CR LF. `fault` stands in row `wrong`. */
static void write_rows(uint64_t rows, uint64_t wrong, int fault) {
  static const char *const faults[FAULTS] = {"a,b\n", "1,2,3,4,5,6\n", "d,u,40.5,x,ten\n",
                                             "d,u,north,x,1\n", "d,\"u\"v,40.5,x,1\n"};
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  fputs("day,user,lat,place,value\n", file);
  for (uint64_t row = 0; row < rows; ++row) {
    bool special = row / 3000 % 7 == 3;
    if (row == wrong) fputs(faults[fault], file);
    if (special && row % 100 == 0) fputs("\n", file);
    fprintf(file, "2024-%02u-%02u,", 1 + (unsigned)below(row, 1, 12),
            1 + (unsigned)below(row, 2, 28));
    fprintf(file, special && row % 11 == 0 ? "\"u \"\"%u\"\"\"," : "u%u,",
            (unsigned)(row % 3 == 0 ? row : below(row, 3, 500)));
    fprintf(file, "%.4f,%s,", 40 + (double)below(row, 4, 9000) / 10000,
            below(row, 5, 3) == 0 ? "" : "inner city");
    fprintf(file, "%u%s%s", 1 + (unsigned)below(row, 6, 50), below(row, 7, 2) == 0 ? ".25" : "",
            row / 1000 % 5 == 2 ? "\r\n" : "\n");
  }
  assert_int_equal(fclose(file), 0);
}

static polyad_status read_rows(polyad_context *context, int threads, polyad_type type,
                               polyad_tensor **tensor) {
  polyad_read_options options;
  polyad_read_options_init(&options);
  options.columns = "day,user,lat:round=2,place";
  options.type = type;
  assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
  return polyad_tensor_read(context, path, &options, tensor);
}

static void assert_same(const polyad_tensor *a, const polyad_tensor *b) {
  assert_int_equal(a->nnz, b->nnz);
  assert_int_equal(polyad_tensor_hash(a), polyad_tensor_hash(b));
  for (int n = 0; n < a->order; ++n) {
    assert_int_equal(a->dims[n], b->dims[n]);
    for (uint64_t i = 0; i < a->dims[n]; ++i)
      assert_string_equal(polyad_tensor_label(a, n, i, NULL), polyad_tensor_label(b, n, i, NULL));
  }
}

static void threads_read_the_same(void **state) {
  (void)state;
  for (int type = 0; type < 2; ++type) {
    polyad_context *context;
    polyad_tensor *one, *more;
    write_rows(ROWS, UINT64_MAX, 0);
    assert_int_equal(polyad_context_create(&context), POLYAD_OK);
    polyad_type kind = type == 0 ? POLYAD_F64 : POLYAD_F32;
    assert_int_equal(read_rows(context, 1, kind, &one), POLYAD_OK);
    assert_int_equal(one->dims[0], 12 * 28);
    assert_int_equal(one->dims[2], 91); /* 40.00 to 40.90 */
    for (int threads = 2; threads <= 20; threads += 3) {
      assert_int_equal(read_rows(context, threads, kind, &more), POLYAD_OK);
      assert_int_equal(pd_tensor_check(context, more), POLYAD_OK);
      assert_same(one, more);
      polyad_tensor_destroy(more);
    }
    polyad_tensor_destroy(one);
    assert_int_equal(polyad_memory_in_use(context), 0);
    polyad_context_destroy(context);
  }
}

static void errors_are_the_same(void **state) {
  (void)state;
  polyad_context *context;
  polyad_tensor *tensor;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  for (int fault = 0; fault < FAULTS; ++fault)
    for (uint64_t wrong = 7; wrong < ROWS; wrong += 19997) {
      char text[512], line[32];
      write_rows(ROWS, wrong, fault);
      assert_int_equal(read_rows(context, 1, POLYAD_F64, &tensor), POLYAD_PARSE);
      snprintf(text, sizeof text, "%s", polyad_last_error(context));
      snprintf(line, sizeof line, ":%llu:", (unsigned long long)wrong + 2);
      if (wrong < 3000) assert_non_null(strstr(text, line)); /* before the first blank line */
      assert_int_equal(read_rows(context, 4, POLYAD_F64, &tensor), POLYAD_PARSE);
      assert_string_equal(polyad_last_error(context), text);
    }
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

static polyad_status read_in_threads(polyad_context *context, void *data) {
  (void)data;
  polyad_tensor *tensor;
  polyad_status status = read_rows(context, 3, POLYAD_F64, &tensor);
  if (status == POLYAD_OK) polyad_tensor_destroy(tensor);
  return status;
}

static void no_memory_is_an_error(void **state) {
  (void)state;
  write_rows(20000, UINT64_MAX, 0); /* a block and more */
  assert_true(sweep_failures(read_in_threads, NULL, 3) > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_read_the_same),
                                     cmocka_unit_test(errors_are_the_same),
                                     cmocka_unit_test(no_memory_is_an_error)};
  int made = mkstemps(path, 4);
  if (made < 0) return 1;
  close(made);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  (void)remove(path);
  return failed;
}
