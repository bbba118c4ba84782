/* .ptn files come back as they were: types, widths, orders, labels, pipes, pieces, old versions. */
#include "io_ptn_files.h"

#include "io/ptn_writer.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

static polyad_tensor *read_path(polyad_context *context, const char *path, polyad_type type) {
  polyad_read_options options = {.type = type, .index_base = 1};
  polyad_tensor *tensor = NULL;
  if (pd_ptn_read(context, path, NULL, &options, &tensor) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  assert_int_equal(pd_tensor_check(context, tensor), POLYAD_OK);
  return tensor;
}

static void assert_same(const polyad_tensor *a, const polyad_tensor *b) {
  assert_int_equal(a->order, b->order);
  assert_int_equal(a->nnz, b->nnz);
  assert_int_equal(a->type, b->type);
  assert_int_equal(a->repeats_merged, b->repeats_merged);
  assert_int_equal(a->zeros_dropped, b->zeros_dropped);
  for (int n = 0; n < a->order; ++n) {
    assert_int_equal(a->dims[n], b->dims[n]);
    assert_memory_equal(a->index[n], b->index[n], (size_t)a->nnz * (size_t)a->index_bytes[n]);
    const char *name = a->mode_name[n];
    assert_true((name == NULL) == (b->mode_name[n] == NULL));
    if (name != NULL) assert_string_equal(name, b->mode_name[n]);
    assert_int_equal(a->labels[n].count, b->labels[n].count);
    for (uint64_t i = 0; i < a->labels[n].count; ++i) {
      size_t length_a, length_b;
      const char *label_a = polyad_tensor_label(a, n, i, &length_a);
      const char *label_b = polyad_tensor_label(b, n, i, &length_b);
      assert_int_equal(length_a, length_b);
      assert_memory_equal(label_a, label_b, length_a + 1);
    }
  }
  assert_memory_equal(a->values, b->values, (size_t)a->nnz * pd_type_bytes(a->type));
}

static void round_trip(polyad_context *context, const polyad_tensor *tensor) {
  const char *path = scratch("round");
  assert_int_equal(pd_ptn_write(context, tensor, path), POLYAD_OK);
  for (int threads = 1; threads <= 7; threads += 6) {
    assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
    polyad_tensor *back = read_path(context, path, tensor->type);
    assert_same(tensor, back);
    polyad_tensor_destroy(back);
  }
  unlink(path);
}

static void every_shape_comes_back(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  const uint64_t wide[] = {UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1, 7, INT64_MAX};
  const uint64_t small[POLYAD_MAX_ORDER] = {5, 4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 9};
  const uint64_t counts[] = {0, 1, 1000, PD_PTN_BLOCK_ENTRIES, 3 * PD_PTN_BLOCK_ENTRIES + 17};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
    for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
      polyad_tensor *tensor = random_tensor(context, 4, wide, counts[c], (polyad_type)type);
      round_trip(context, tensor);
      polyad_tensor_destroy(tensor);
    }
  for (int order = 1; order <= POLYAD_MAX_ORDER; ++order) {
    polyad_tensor *tensor = random_tensor(context, order, small, 500, POLYAD_F64);
    round_trip(context, tensor);
    polyad_tensor_destroy(tensor);
  }
  polyad_context_destroy(context);
}

static void names_and_labels_come_back(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  const uint64_t dims[] = {3, 200000, 2};
  polyad_tensor *tensor = random_tensor(context, 3, dims, 50, POLYAD_F32);
  const char *words[] = {"", "Z\xc3\xbcrich", "line\nbreak\t\xff"};
  assert_int_equal(polyad_tensor_set_labels(context, tensor, 0,
                                            "Stra\xc3\x9f"
                                            "e",
                                            words),
                   POLYAD_OK);
  assert_int_equal(polyad_tensor_set_labels(context, tensor, 2, "", NULL), POLYAD_OK);
  /* More text than one block of checksums, and a label with a NUL in it. */
  struct pd_labels labels = {.count = dims[1]};
  assert_int_equal(PD_NEW(context, dims[1] + 1, &labels.start), POLYAD_OK);
  for (uint64_t i = 0; i <= dims[1]; ++i)
    labels.start[i] = 9 * i;
  assert_int_equal(PD_NEW_ZERO(context, 9 * dims[1], &labels.text), POLYAD_OK);
  for (uint64_t i = 0; i < dims[1]; ++i)
    snprintf(labels.text + 9 * i, 9, "%08u", (unsigned)(i % 100000000));
  labels.text[3] = '\0';
  pd_tensor_take_labels(tensor, 1, &labels);
  round_trip(context, tensor);
  polyad_tensor_destroy(tensor);
  polyad_context_destroy(context);
}

static void values_are_converted(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  const uint64_t dims[] = {1000, 1000};
  polyad_tensor *narrow = random_tensor(context, 2, dims, 5000, POLYAD_F32), *wide, *back;
  assert_int_equal(polyad_tensor_convert(context, narrow, POLYAD_F64, &wide), POLYAD_OK);
  const char *path = scratch("convert");
  assert_int_equal(pd_ptn_write(context, narrow, path), POLYAD_OK);
  back = read_path(context, path, POLYAD_F64);
  assert_same(wide, back);
  polyad_tensor_destroy(back);
  /* One value becomes zero in float32 and is dropped; one does not fit. */
  ((double *)wide->values)[7] = 1e-300;
  assert_int_equal(pd_ptn_write(context, wide, path), POLYAD_OK);
  back = read_path(context, path, POLYAD_F32);
  assert_int_equal(back->nnz, wide->nnz - 1);
  assert_int_equal(back->zeros_dropped, wide->zeros_dropped + 1);
  polyad_tensor_destroy(back);
  ((double *)wide->values)[7] = 1e300;
  assert_int_equal(pd_ptn_write(context, wide, path), POLYAD_OK);
  polyad_read_options options = {.type = POLYAD_F32};
  assert_int_equal(pd_ptn_read(context, path, NULL, &options, &back), POLYAD_NUMERICAL);
  assert_non_null(strstr(polyad_last_error(context), "nonzero 8: value"));
  unlink(path);
  polyad_tensor_destroy(narrow);
  polyad_tensor_destroy(wide);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

static void pieces_make_the_same_file(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  const uint64_t dims[] = {100000, UINT64_C(1) << 40, 300};
  polyad_tensor *tensor = random_tensor(context, 3, dims, 2 * PD_PTN_BLOCK_ENTRIES + 5, POLYAD_F32);
  struct bytes whole = tensor_bytes(context, tensor);
  const uint64_t sizes[] = {999, PD_PTN_BLOCK_ENTRIES, 3 * PD_PTN_BLOCK_ENTRIES};
  for (size_t i = 0; i < 3; ++i) {
    const char *path = scratch("pieces");
    struct pd_ptn_writer *writer;
    assert_int_equal(pd_ptn_writer_open(context, path, 3, dims, tensor->nnz, POLYAD_F32, &writer),
                     POLYAD_OK);
    for (uint64_t p = 0; p < tensor->nnz; p += sizes[i]) {
      const void *index[3];
      for (int n = 0; n < 3; ++n)
        index[n] = (char *)tensor->index[n] + p * (uint64_t)tensor->index_bytes[n];
      uint64_t count = tensor->nnz - p < sizes[i] ? tensor->nnz - p : sizes[i];
      assert_int_equal(pd_ptn_writer_put(writer, count, index, (float *)tensor->values + p),
                       POLYAD_OK);
    }
    assert_int_equal(pd_ptn_writer_close(writer), POLYAD_OK);
    struct bytes pieces = load_file(path);
    assert_int_equal(pieces.size, whole.size);
    assert_memory_equal(pieces.data, whole.data, whole.size);
    free(pieces.data);
    unlink(path);
  }
  free(whole.data);
  polyad_tensor_destroy(tensor);
  polyad_context_destroy(context);
}

static void a_wrong_number_of_pieces_leaves_no_file(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  const char *path = scratch("wrong");
  struct pd_ptn_writer *writer;
  const uint32_t index[2] = {0, 1};
  const double values[2] = {1, 2};
  const void *arrays[1] = {index};
  const uint64_t dims[] = {4};
  assert_int_equal(pd_ptn_writer_open(context, path, 1, dims, 1, POLYAD_F64, &writer), POLYAD_OK);
  assert_int_equal(pd_ptn_writer_put(writer, 2, arrays, values), POLYAD_INTERNAL);
  pd_ptn_writer_abort(writer);
  pd_begin(context);
  assert_int_equal(pd_ptn_writer_open(context, path, 1, dims, 3, POLYAD_F64, &writer), POLYAD_OK);
  assert_int_equal(pd_ptn_writer_put(writer, 2, arrays, values), POLYAD_OK);
  assert_int_equal(pd_ptn_writer_close(writer), POLYAD_INTERNAL);
  assert_int_equal(access(path, F_OK), -1);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

struct feed {
  int file;
  struct bytes bytes;
};

static void *feed_pipe(void *user) {
  struct feed *feed = user;
  for (size_t at = 0; at < feed->bytes.size;) {
    ssize_t put = write(feed->file, feed->bytes.data + at,
                        feed->bytes.size - at < 70001 ? feed->bytes.size - at : 70001);
    if (put <= 0) break;
    at += (size_t)put;
  }
  close(feed->file);
  return NULL;
}

/* Reads bytes through a pipe; NULL when that fails. */
static polyad_tensor *read_pipe(polyad_context *context, struct bytes bytes) {
  int ends[2];
  char path[64];
  assert_int_equal(pipe(ends), 0);
  struct feed feed = {ends[1], bytes};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &feed), 0);
  snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
  polyad_read_options options = {.type = POLYAD_F64};
  polyad_tensor *tensor = NULL;
  polyad_status status = pd_ptn_read(context, path, NULL, &options, &tensor);
  char rest[4096];
  while (read(ends[0], rest, sizeof rest) > 0) {
  }
  close(ends[0]);
  pthread_join(thread, NULL);
  assert_int_equal(status == POLYAD_OK, tensor != NULL);
  return tensor;
}

static void pipes_are_read(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  const uint64_t dims[] = {3, UINT64_C(1) << 33, 700};
  polyad_tensor *tensor = random_tensor(context, 3, dims, 6 * PD_PTN_BLOCK_ENTRIES + 5, POLYAD_F64);
  const char *words[] = {"a", "b", "c"};
  assert_int_equal(polyad_tensor_set_labels(context, tensor, 0, "letter", words), POLYAD_OK);
  struct bytes bytes = tensor_bytes(context, tensor);
  polyad_tensor *back = read_pipe(context, bytes);
  assert_non_null(back);
  assert_same(tensor, back);
  polyad_tensor_destroy(back);
  /* A short pipe, and one with more after the end. */
  struct bytes cut = {bytes.data, bytes.size / 2};
  assert_null(read_pipe(context, cut));
  assert_non_null(strstr(polyad_last_error(context), "it is truncated"));
  pd_begin(context);
  struct bytes more = {bytes.data, bytes.size + 1};
  bytes.data[bytes.size] = 0;
  assert_null(read_pipe(context, more));
  assert_non_null(strstr(polyad_last_error(context), "more follow"));
  /* A huge lie costs no memory: what was read counts, not what was promised. */
  pd_begin(context);
  struct pd_ptn_header *header = header_of(bytes);
  pd_ptn_header_init(header, 3, dims, UINT64_C(1) << 28, POLYAD_F64);
  assert_true(pd_ptn_lay_out(header, 0));
  seal_header(bytes);
  struct bytes lie = {bytes.data, 2000};
  assert_null(read_pipe(context, lie));
  assert_true(polyad_memory_peak(context) < UINT64_C(1) << 29);
  free(bytes.data);
  polyad_tensor_destroy(tensor);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

/* Without an extension the first bytes tell, also of standard input, which is never compressed. */
static void files_are_recognised(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  const uint64_t dims[] = {30, 40};
  polyad_tensor *tensor = random_tensor(context, 2, dims, 100, POLYAD_F64), *back;
  const char *path = scratch("unnamed");
  assert_int_equal(pd_ptn_write(context, tensor, path), POLYAD_OK);
  assert_int_equal(polyad_tensor_read(context, path, NULL, &back), POLYAD_OK);
  assert_same(tensor, back);
  polyad_tensor_destroy(back);
  int kept = dup(STDIN_FILENO), file = open(path, O_RDONLY);
  assert_true(kept >= 0 && file >= 0 && dup2(file, STDIN_FILENO) == STDIN_FILENO);
  polyad_status status = polyad_tensor_read(context, "-", NULL, &back);
  assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
  close(kept);
  close(file);
  assert_int_equal(status, POLYAD_OK);
  assert_same(tensor, back);
  polyad_tensor_destroy(back);
  unlink(path);
  assert_int_equal(polyad_tensor_write(context, tensor, "x.ptn.gz", POLYAD_FILE_AUTO),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(access("x.ptn.gz", F_OK), -1);
  polyad_tensor_destroy(tensor);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

/* The file of version 1, written once and kept: read for ever. */
static void golden_file_is_read(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  const uint64_t dims[] = {4, (UINT64_C(1) << 32) + 5, 3};
  polyad_tensor *tensor = read_path(context, POLYAD_TEST_DATA "/golden-v1.ptn", POLYAD_F32);
  assert_memory_equal(tensor->dims, dims, sizeof dims);
  assert_int_equal(tensor->nnz, 20);
  assert_string_equal(tensor->mode_name[0], "season");
  assert_string_equal(polyad_tensor_label(tensor, 0, 3, NULL), "winter");
  assert_true(polyad_tensor_hash(tensor) == UINT64_C(0x9b57751e436ca41b));
  struct bytes kept = load_file(POLYAD_TEST_DATA "/golden-v1.ptn");
  struct bytes now = tensor_bytes(context, tensor);
  assert_int_equal(now.size, kept.size);
  assert_memory_equal(now.data, kept.data, kept.size);
  free(kept.data);
  free(now.data);
  polyad_tensor_destroy(tensor);
  polyad_context_destroy(context);
}

int main(int count, char **arguments) {
  if (count == 2 && strcmp(arguments[1], "--make-golden") == 0) {
    polyad_context *context;
    if (polyad_context_create(&context) != POLYAD_OK) return 1;
    const uint64_t dims[] = {4, (UINT64_C(1) << 32) + 5, 3};
    const char *seasons[] = {"spring", "summer", "autumn", "winter"};
    polyad_tensor *tensor = random_tensor(context, 3, dims, 20, POLYAD_F32);
    polyad_status status = polyad_tensor_set_labels(context, tensor, 0, "season", seasons);
    if (status == POLYAD_OK) status = pd_ptn_write(context, tensor, "golden-v1.ptn");
    return status == POLYAD_OK ? 0 : 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_shape_comes_back),
      cmocka_unit_test(names_and_labels_come_back),
      cmocka_unit_test(values_are_converted),
      cmocka_unit_test(pieces_make_the_same_file),
      cmocka_unit_test(a_wrong_number_of_pieces_leaves_no_file),
      cmocka_unit_test(pipes_are_read),
      cmocka_unit_test(files_are_recognised),
      cmocka_unit_test(golden_file_is_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
