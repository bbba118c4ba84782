/* Lines of .tns with fields of every width, and lengths around what the parser looks at together:
 * whatever path a line takes, its numbers are those that were written. */
#include "harness.h"

#include "core/isa.h"
#include "core/random.h"
#include <inttypes.h>
#include <polyad/polyad.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINES = 20000 };

static const char *const values[] = {"7",           "0.5",
                                     "-3.25",       "12345678",
                                     "123456789",   "1e3",
                                     "99999999.5",  "-1",
                                     "+4",          "1234567.8",
                                     "0.00000001",  "5.",
                                     ".5",          "1234567812345678",
                                     "3.141592653", "-2.5e-10",
                                     "00000012",    "000000012",
                                     "0.12345678",  "1.0000000"};
enum { VALUES = sizeof values / sizeof *values };

struct written {
  uint64_t index[POLYAD_MAX_ORDER]; /* from 0 */
  double value;
};

static uint64_t random_below(uint64_t line, uint64_t what, uint64_t limit) {
  return pd_random_u64(11, line, what) % limit;
}

/* A number of up to `widest` digits, every width as likely. */
static uint64_t random_number(uint64_t line, uint64_t what, int widest) {
  uint64_t limit = 10;
  for (uint64_t k = random_below(line, what, (uint64_t)widest); k > 0; --k)
    limit *= 10;
  return 1 + random_below(line, what + 100, limit - 1);
}

/* One line; most are of the common form, and all in the middle of the text hold whole numbers. Its
 * first index is its number, so that order stays. */
static void write_line(FILE *file, int order, int widest, uint64_t line, struct written *w) {
  static const char *const blanks[] = {" ", " ", " ", "\t", "  "};
  bool middle = line >= LINES / 4 && line < LINES / 2;
  bool odd = !middle && random_below(line, 1, 4) == 0;
  if (odd && random_below(line, 2, 4) == 0) fputs(" ", file);
  for (int n = 0; n < order; ++n) {
    uint64_t number = n == 0 ? line + 1 : random_number(line, 10 + (uint64_t)n, widest);
    w->index[n] = number - 1;
    bool padded = odd && random_below(line, 30 + (uint64_t)n, 8) == 0;
    fprintf(file, padded ? "000%" PRIu64 : "%" PRIu64, number);
    fputs(odd ? blanks[random_below(line, 50 + (uint64_t)n, 5)] : " ", file);
  }
  const char *value = values[middle ? 0 : random_below(line, 3, odd ? VALUES : 6)];
  w->value = strtod(value, NULL);
  fputs(value, file);
  if (odd && random_below(line, 4, 3) == 0) fputs(" ", file);
  fputs(odd && random_below(line, 5, 3) == 0 ? "\r\n" : "\n", file);
  if (odd && random_below(line, 6, 16) == 0) fputs("# a comment\n\n", file);
}

static uint64_t index_at(const polyad_tensor *tensor, int mode, uint64_t p) {
  const void *indices = polyad_tensor_indices(tensor, mode);
  return polyad_tensor_index_bytes(tensor, mode) == 4 ? ((const uint32_t *)indices)[p]
                                                      : ((const uint64_t *)indices)[p];
}

static void check(polyad_context *context, const char *path, int order, polyad_type type,
                  const struct written *want) {
  polyad_read_options options;
  polyad_tensor *tensor;
  polyad_read_options_init(&options);
  options.type = type;
  assert_int_equal(polyad_tensor_read(context, path, &options, &tensor), POLYAD_OK);
  assert_int_equal(polyad_tensor_order(tensor), order);
  assert_int_equal(polyad_tensor_nnz(tensor), LINES);
  const void *got = polyad_tensor_values(tensor);
  for (uint64_t p = 0; p < LINES; ++p) {
    for (int n = 0; n < order; ++n)
      assert_int_equal(index_at(tensor, n, p), want[p].index[n]);
    if (type == POLYAD_F32)
      assert_true(((const float *)got)[p] == (float)want[p].value);
    else
      assert_true(((const double *)got)[p] == want[p].value);
  }
  polyad_tensor_destroy(tensor);
}

/* Order 16 with wide indices makes lines longer than any window. */
static void fields_of_every_width(void **state) {
  (void)state;
  static const struct {
    int order, widest;
  } cases[] = {{1, 9}, {2, 9}, {3, 5}, {3, 9}, {4, 9}, {5, 9}, {6, 9}, {16, 9}, {3, 18}, {5, 18}};
  struct written *want = calloc(LINES, sizeof *want);
  char path[] = "/tmp/polyad-lines-XXXXXX.tns";
  int made = mkstemps(path, 4);
  assert_true(made >= 0);
  close(made);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (uint64_t line = 0; line < LINES; ++line)
      write_line(file, cases[k].order, cases[k].widest, line, &want[line]);
    fclose(file);
    for (int run = 0; run < 2 * PD_ISA_COUNT; ++run) {
      int threads = run % 2 == 0 ? 1 : 4;
      if (!pd_isa_available((enum pd_isa)(run / 2))) continue;
      pd_isa_force((enum pd_isa)(run / 2));
      polyad_context *context;
      assert_int_equal(polyad_context_create(&context), POLYAD_OK);
      assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
      check(context, path, cases[k].order, threads == 1 ? POLYAD_F64 : POLYAD_F32, want);
      polyad_context_destroy(context);
    }
  }
  pd_isa_force(PD_ISA_COUNT);
  (void)remove(path);
  free(want);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(fields_of_every_width)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
