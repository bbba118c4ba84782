/* Text that is sorted into a packed copy run by run: the nonzeros are, bit for bit, those of
 * reading all of it into memory, for every order, every policy for repeats, indices of 32 and 64
 * bits and any number of runs; errors are those of reading; nothing is left behind. */
#include "core/random.h"
#include "io/packed_file.h"

#include "harness.h"
#include <dirent.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *path_of(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "packed.%ld.%s", (long)getpid(), name);
  return path;
}

static polyad_context *context_of(int threads, uint64_t limit) {
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
  if (limit > 0) assert_int_equal(polyad_set_memory_limit(context, limit), POLYAD_OK);
  return context;
}

/* Lines in no order, with many repeats, some zeros and some that sum up to zero. Indices pass 32
 * bits from line `wide` on. */
static void write_lines(const char *path, int order, uint64_t lines, uint64_t wide) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("# made by a test\n", file);
  for (uint64_t k = 0; k < lines; ++k) {
    for (int n = 0; n < order; ++n) {
      uint64_t index = 1 + pd_random_u64(5, (uint64_t)n, k) % (order < 3 ? 5000 : 40);
      if (k >= wide && n == order / 2) index += UINT64_C(5000000000) * (k % 2);
      fprintf(file, "%llu ", (unsigned long long)index);
    }
    fprintf(file, "%.3f\n", 0.125 * (double)(pd_random_u64(5, 90, k) % 9) - 0.5);
  }
  assert_int_equal(fclose(file), 0);
}

/* All blocks against the tensor that reading makes. */
static void check_same(struct pd_ptn_blocks *blocks, const polyad_tensor *tensor) {
  const struct pd_ptn_header *header = &blocks->header;
  uint64_t first = 0;
  assert_int_equal(header->nnz, tensor->nnz);
  assert_int_equal(header->order, tensor->order);
  assert_memory_equal(header->dims, tensor->dims, (size_t)tensor->order * sizeof(uint64_t));
  assert_int_equal(pd_ptn_blocks_rewind(blocks), POLYAD_OK);
  for (;; first += blocks->count) {
    if (pd_ptn_blocks_next(blocks) != POLYAD_OK) fail_msg("%s", polyad_last_error(blocks->context));
    if (blocks->count == 0) break;
    for (uint64_t p = 0; p < blocks->count; ++p) {
      for (int n = 0; n < tensor->order; ++n)
        assert_int_equal(pd_ptn_blocks_index(blocks, n, p), pd_tensor_index(tensor, n, first + p));
      assert_true(pd_ptn_blocks_value(blocks, p) == pd_tensor_value(tensor, first + p));
    }
  }
  assert_int_equal(first, tensor->nnz);
}

/* `limit`: of the memory of packing, which makes runs small. */
static void check_file(const char *path, const polyad_read_options *options, int threads,
                       uint64_t limit) {
  polyad_context *whole = context_of(2, 0), *context = context_of(threads, limit);
  polyad_tensor *tensor = NULL;
  struct pd_ptn_blocks blocks;
  polyad_status status = polyad_tensor_read(whole, path, options, &tensor);
  polyad_status packed = pd_packed_file_open(context, path, options, ".", &blocks);
  assert_int_equal(packed, status);
  if (status == POLYAD_OK) {
    check_same(&blocks, tensor);
    pd_ptn_blocks_close(&blocks);
  } else {
    assert_string_equal(polyad_last_error(context), polyad_last_error(whole));
  }
  if (limit > 0) assert_true(polyad_memory_peak(context) <= limit);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_tensor_destroy(tensor);
  polyad_context_destroy(whole);
  polyad_context_destroy(context);
}

static polyad_read_options options_of(polyad_type type, polyad_duplicates duplicates) {
  polyad_read_options options;
  polyad_read_options_init(&options);
  options.type = type;
  options.duplicates = duplicates;
  return options;
}

static void every_order_and_policy(void **state) {
  (void)state;
  const char *path = path_of("x.tns");
  for (int order = 1; order <= 8; ++order)
    for (int policy = POLYAD_DUPLICATES_SUM; policy <= POLYAD_DUPLICATES_COUNT; ++policy) {
      polyad_type type = (order + policy) % 2 == 0 ? POLYAD_F32 : POLYAD_F64;
      polyad_read_options options = options_of(type, (polyad_duplicates)policy);
      if (policy == 0) write_lines(path, order, 3000, UINT64_MAX);
      check_file(path, &options, 1 + policy % 3, 0);
    }
  unlink(path);
}

static void many_runs(void **state) {
  (void)state;
  const char *path = path_of("x.tns");
  write_lines(path, 3, 400000, UINT64_MAX);
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type)
    for (int policy = POLYAD_DUPLICATES_SUM; policy <= POLYAD_DUPLICATES_COUNT; ++policy) {
      polyad_read_options options = options_of((polyad_type)type, (polyad_duplicates)policy);
      check_file(path, &options, 1, UINT64_C(9) << 20);
    }
  unlink(path);
}

/* The first runs have indices of 32 bits, later ones of 64. */
static void wide_indices_in_later_runs(void **state) {
  (void)state;
  const char *path = path_of("x.tns");
  write_lines(path, 3, 400000, 250000);
  polyad_read_options options = options_of(POLYAD_F64, POLYAD_DUPLICATES_SUM);
  check_file(path, &options, 1, UINT64_C(16) << 20);
  check_file(path, &options, 2, 0);
  unlink(path);
}

static void written(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static void errors_are_those_of_reading(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      "# nothing\n",
                                      "1 2 3\n1 2 x\n",
                                      "1 2 3\n1 2\n",
                                      "0 2 3\n",
                                      "1 1 1e308\n1 1 1e308\n2 2 1\n",
                                      "# dims: 3 4\n1 2 3\n3 5 1\n"};
  const char *path = path_of("bad.tns");
  polyad_read_options options = options_of(POLYAD_F64, POLYAD_DUPLICATES_SUM);
  for (size_t k = 0; k < sizeof texts / sizeof *texts; ++k) {
    written(path, texts[k]);
    check_file(path, &options, 1, 0);
  }
  unlink(path);
}

static void dims_and_bases_are_kept(void **state) {
  (void)state;
  const char *path = path_of("x.tns");
  polyad_read_options options = options_of(POLYAD_F64, POLYAD_DUPLICATES_SUM);
  written(path, "# dims: 9 8 7\n3 2 1 4.5\n1 1 1 -1\n");
  check_file(path, &options, 1, 0);
  options.order = 3;
  options.dims[0] = 20, options.dims[1] = 30, options.dims[2] = 40;
  check_file(path, &options, 1, 0);
  written(path, "0 0 0 1\n5 4 0 2\n");
  options.index_base = 0;
  check_file(path, &options, 1, 0);
  unlink(path);
}

/* A file may have the lengths alone, as the writer leaves it of a tensor without nonzeros. */
static void no_nonzero_at_all(void **state) {
  (void)state;
  const char *path = path_of("x.tns");
  polyad_read_options options = options_of(POLYAD_F32, POLYAD_DUPLICATES_SUM);
  polyad_context *context = context_of(1, 0);
  struct pd_ptn_blocks blocks;
  written(path, "# dims: 9 8 7 5000000000\n");
  check_file(path, &options, 1, 0);
  assert_int_equal(pd_packed_file_open(context, path, &options, ".", &blocks), POLYAD_OK);
  assert_int_equal(blocks.header.order, 4);
  pd_ptn_blocks_close(&blocks);
  written(path, "# dims: 9 8\n");
  options.order = 2;
  options.dims[0] = 20, options.dims[1] = 30;
  check_file(path, &options, 1, 0);
  polyad_context_destroy(context);
  unlink(path);
}

static void zeros_that_stay_are_refused(void **state) {
  (void)state;
  polyad_context *context = context_of(1, 0);
  const char *path = path_of("x.tns");
  struct pd_ptn_blocks blocks;
  polyad_read_options options = options_of(POLYAD_F64, POLYAD_DUPLICATES_SUM);
  options.zeros = POLYAD_ZEROS_KEEP;
  written(path, "1 1 0\n2 2 1\n");
  assert_int_equal(pd_packed_file_open(context, path, &options, ".", &blocks), POLYAD_UNSUPPORTED);
  assert_non_null(strstr(polyad_last_error(context), "zeros"));
  polyad_context_destroy(context);
  unlink(path);
}

static void nothing_is_left(void **state) {
  (void)state;
  char prefix[64];
  int left = 0;
  DIR *directory = opendir(".");
  assert_non_null(directory);
  snprintf(prefix, sizeof prefix, "packed.%ld.", (long)getpid());
  for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
    left += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
  closedir(directory);
  assert_int_equal(left, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_order_and_policy),      cmocka_unit_test(many_runs),
      cmocka_unit_test(wide_indices_in_later_runs),  cmocka_unit_test(errors_are_those_of_reading),
      cmocka_unit_test(dims_and_bases_are_kept),     cmocka_unit_test(no_nonzero_at_all),
      cmocka_unit_test(zeros_that_stay_are_refused), cmocka_unit_test(nothing_is_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
