/* Rows of a plan's nonzeros, from the storage of every format of the CPU: those of the tensor. */
#include "als_fixture.h"
#include "core/random.h"
#include "formats/format.h"
#include "plan/rows.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER = 4, NNZ = 150000 };
static const uint64_t dims[ORDER] = {40, 9, 300,
                                     25}; /* so many nonzeros that three threads share them */

/* One number for a nonzero; sums of them tell sets of nonzeros apart, in any order. */
static uint64_t mark(const uint64_t *index, double value) {
  uint64_t sum = (uint64_t)value;
  for (int n = 0; n < ORDER; ++n)
    sum = pd_random_u64(sum, (uint64_t)n, index[n]);
  return sum;
}

struct row {
  uint64_t count, sum;
};

static struct row *rows_of_tensor(const polyad_tensor *tensor, int mode) {
  struct row *rows = calloc(dims[mode], sizeof *rows);
  assert_non_null(rows);
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    uint64_t index[ORDER];
    for (int n = 0; n < ORDER; ++n)
      index[n] = pd_tensor_index(tensor, n, p);
    rows[index[mode]].count += 1;
    rows[index[mode]].sum += mark(index, pd_tensor_value(tensor, p));
  }
  return rows;
}

static struct row read_row(const struct pd_plan_rows *rows, struct pd_row_reader *reader, int mode,
                           uint64_t i) {
  struct row found = {.count = pd_plan_row_length(rows, mode, i)};
  for (uint64_t first = 0; first < found.count;) {
    struct pd_row_part part = pd_row_read(rows, reader, mode, i, first);
    assert_in_range(part.count, 1, found.count - first);
    assert_null(part.index[mode]);
    for (int k = 0; k < part.count; ++k) {
      uint64_t index[ORDER];
      for (int n = 0; n < ORDER; ++n)
        index[n] = n == mode ? i : part.index[n][k];
      found.sum += mark(index, part.value[k]);
    }
    first += (uint64_t)part.count;
  }
  return found;
}

static void check(polyad_context *context, const polyad_tensor *tensor, const polyad_plan *plan) {
  struct pd_plan_rows *rows;
  struct pd_row_reader *reader;
  ALS_OK(context, pd_plan_rows_create(context, plan, &rows));
  ALS_OK(context, pd_row_reader_create(context, &reader));
  for (int mode = ORDER - 1; mode >= 0; --mode) {
    struct row *expected = rows_of_tensor(tensor, mode);
    for (uint64_t i = dims[mode]; i-- > 0;) { /* backwards: any row may be asked for */
      struct row found = read_row(rows, reader, mode, i);
      if (found.count != expected[i].count || found.sum != expected[i].sum)
        fail_msg("%s %s: row %d of mode %d", plan->format->name, plan->variant, (int)i, mode);
    }
    free(expected);
  }
  pd_row_reader_destroy(context, reader);
  pd_plan_rows_destroy(context, rows);
}

/* Every format and variant that takes the tensor; returns how many took it. */
static int check_format(polyad_context *context, const polyad_tensor *tensor,
                        const struct polyad_format *format) {
  char words[256];
  int taken = 0;
  snprintf(words, sizeof words, "%s", format->variants);
  for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
    polyad_plan_options options;
    polyad_plan *plan;
    polyad_plan_options_init(&options);
    options.format = format->name;
    options.variant = word;
    options.rank = 4;
    if (polyad_plan_create(context, tensor, &options, &plan) != POLYAD_OK) continue;
    check(context, tensor, plan);
    polyad_plan_destroy(plan);
    ++taken;
  }
  return taken;
}

static void rows_are_those_of_the_tensor(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads += 2) {
    polyad_context *context = cpu_context(threads);
    polyad_tensor *tensor = als_random_tensor(context, ORDER, dims, NNZ, 5, 1);
    int given = 0, decoded = 0;
    for (int k = 0; k < pd_format_count(); ++k) {
      const struct polyad_format *format = pd_format_at(k);
      *(format->rows != NULL ? &given : &decoded) += check_format(context, tensor, format);
    }
    assert_true(given >= 6 && decoded >= 6);
    polyad_tensor_destroy(tensor);
    context_end(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_those_of_the_tensor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
