/* Models as .ptm and .npz: what is written is read to the same bits, from files, pipes and
 * compressed files; whatever byte of a file is changed or missing, reading fails in words and
 * leaves nothing. */
#include "harness.h"

#include "core/random.h"
#include "failing_allocator.h"
#include "io/ptm_layout.h"
#include "tensor/ktensor.h"
#include "tensor/ttensor.h"
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
  static char path[4][256];
  static int next;
  next = (next + 1) % 4;
  snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
  return path[next];
}

static int set_up(void **state) {
  (void)state;
  strcpy(folder, "/tmp/polyad-ptm-XXXXXX");
  if (mkdtemp(folder) == NULL) return 1;
  return polyad_context_create(&context) != POLYAD_OK;
}

static int tear_down(void **state) {
  (void)state;
  uint64_t left = polyad_memory_in_use(context);
  polyad_context_destroy(context);
  return rmdir(folder) != 0 || left != 0;
}

static void fill(void *values, polyad_type type, uint64_t count, uint64_t seed) {
  static const double odd[] = {0, -0.0, 1, -1, 1.0 / 3, 0x1p-120};
  for (uint64_t k = 0; k < count; ++k) {
    double value = k % 8 < 6 ? odd[k % 8] : pd_random_uniform(seed, 0, k) - 0.5;
    if (type == POLYAD_F32)
      ((float *)values)[k] = (float)value;
    else
      ((double *)values)[k] = value;
  }
}

static polyad_ktensor *kruskal(int order, const uint64_t *dims, uint64_t rank, polyad_type type) {
  polyad_ktensor *made;
  assert_int_equal(polyad_ktensor_create(context, order, dims, rank, type, &made), POLYAD_OK);
  fill(made->weights, type, rank, 1);
  for (int n = 0; n < order; ++n)
    fill(made->factor[n], type, dims[n] * rank, 2 + (uint64_t)n);
  return made;
}

static polyad_ttensor *tucker(int order, const uint64_t *dims, const uint64_t *ranks,
                              polyad_type type) {
  polyad_ttensor *made;
  assert_int_equal(polyad_ttensor_create(context, order, dims, ranks, type, &made), POLYAD_OK);
  fill(made->core, type, made->core_size, 1);
  for (int n = 0; n < order; ++n)
    fill(made->factor[n], type, dims[n] * ranks[n], 2 + (uint64_t)n);
  return made;
}

/* Names and labels of a tensor without nonzeros; the last mode has none. */
static polyad_tensor *outline(int order, const uint64_t *dims) {
  polyad_tensor_input input;
  polyad_tensor *made;
  polyad_tensor_input_init(&input);
  input.order = order;
  input.dims = dims;
  assert_int_equal(polyad_tensor_create(context, &input, &made), POLYAD_OK);
  for (int n = 0; n + 1 < order; ++n) {
    char **labels = calloc(dims[n], sizeof *labels), name[32];
    for (uint64_t i = 0; i < dims[n]; ++i) {
      labels[i] = malloc(48);
      snprintf(labels[i], 48, "label %d \xc3\xa9,%llu", n, (unsigned long long)i);
    }
    snprintf(name, sizeof name, "name %d", n);
    assert_int_equal(polyad_tensor_set_labels(context, made, n, name, (const char *const *)labels),
                     POLYAD_OK);
    for (uint64_t i = 0; i < dims[n]; ++i)
      free(labels[i]);
    free(labels);
  }
  return made;
}

static void assert_same_labels(const polyad_tensor *a, const polyad_tensor *b, int order,
                               const uint64_t *dims) {
  for (int n = 0; n < order; ++n) {
    const char *mine = polyad_tensor_mode_name(a, n), *other = polyad_tensor_mode_name(b, n);
    assert_true((mine == NULL) == (other == NULL));
    if (mine != NULL) assert_string_equal(mine, other);
    for (uint64_t i = 0; i < dims[n]; ++i) {
      mine = polyad_tensor_label(a, n, i, NULL);
      other = polyad_tensor_label(b, n, i, NULL);
      assert_true((mine == NULL) == (other == NULL));
      if (mine != NULL) assert_string_equal(mine, other);
    }
  }
}

static void assert_same_kruskal(const polyad_ktensor *a, const polyad_ktensor *b) {
  size_t bytes = pd_type_bytes(a->type);
  assert_int_equal(a->order, b->order);
  assert_int_equal(a->rank, b->rank);
  assert_memory_equal(a->weights, b->weights, a->rank * bytes);
  for (int n = 0; n < a->order; ++n) {
    assert_int_equal(a->dims[n], b->dims[n]);
    assert_memory_equal(a->factor[n], b->factor[n], a->dims[n] * a->rank * bytes);
  }
}

static void assert_same_tucker(const polyad_ttensor *a, const polyad_ttensor *b) {
  size_t bytes = pd_type_bytes(a->type);
  assert_int_equal(a->order, b->order);
  assert_int_equal(a->core_size, b->core_size);
  assert_memory_equal(a->core, b->core, a->core_size * bytes);
  for (int n = 0; n < a->order; ++n) {
    assert_int_equal(a->dims[n], b->dims[n]);
    assert_int_equal(a->ranks[n], b->ranks[n]);
    assert_memory_equal(a->factor[n], b->factor[n], a->dims[n] * a->ranks[n] * bytes);
  }
}

static const uint64_t dims_used[POLYAD_MAX_ORDER] = {7, 1, 120000, 2, 2, 2, 2, 2,
                                                     2, 2, 2,      2, 2, 2, 2, 2};

static void kruskal_tensors_come_back(void **state) {
  (void)state;
  static const char *const names[] = {"m.ptm", "m.ptm.gz", "m.ptm.zst", "m.npz"};
  for (int order = 1; order <= POLYAD_MAX_ORDER; order = order < 3 ? order + 1 : order + 13)
    for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
      polyad_ktensor *made = kruskal(order, dims_used, 3, (polyad_type)type), *read;
      for (int k = 0; k < 4; ++k) {
        assert_int_equal(polyad_ktensor_write(context, made, at(names[k])), POLYAD_OK);
        if (polyad_ktensor_read(context, at(names[k]), (polyad_type)type, &read) != POLYAD_OK)
          fail_msg("%s", polyad_last_error(context));
        assert_same_kruskal(made, read);
        polyad_ktensor_destroy(read);
        unlink(at(names[k]));
      }
      polyad_ktensor_destroy(made);
    }
}

static void assert_tucker_comes_back(const char *path, polyad_type type) {
  static const uint64_t ranks[] = {3, 1, 2}, dims[] = {5, 4, 9};
  polyad_ttensor *made = tucker(3, dims, ranks, type), *read;
  polyad_tensor *names = outline(3, dims), *found;
  assert_int_equal(polyad_ttensor_write_labelled(context, made, names, path), POLYAD_OK);
  assert_int_equal(polyad_ttensor_read_labelled(context, path, type, &read, &found), POLYAD_OK);
  assert_same_tucker(made, read);
  assert_non_null(found);
  assert_same_labels(names, found, 3, dims);
  polyad_tensor_destroy(found);
  polyad_ttensor_destroy(read);
  /* Labels are read and forgotten where nobody asks for them. */
  assert_int_equal(polyad_ttensor_read(context, path, type, &read), POLYAD_OK);
  polyad_ttensor_destroy(read);
  polyad_ttensor_destroy(made);
  polyad_tensor_destroy(names);
  unlink(path);
}

static void tucker_tensors_and_labels_come_back(void **state) {
  (void)state;
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
    assert_tucker_comes_back(at("t.ptm"), (polyad_type)type);
    assert_tucker_comes_back(at("t.npz"), (polyad_type)type);
  }
}

static void assert_no_outline(const char *path) {
  static const uint64_t dims[] = {5, 4};
  polyad_ktensor *made = kruskal(2, dims, 2, POLYAD_F64), *read;
  polyad_tensor *found = (polyad_tensor *)(uintptr_t)1;
  assert_int_equal(polyad_ktensor_write(context, made, path), POLYAD_OK);
  assert_int_equal(polyad_ktensor_read_labelled(context, path, POLYAD_F64, &read, &found),
                   POLYAD_OK);
  assert_null(found);
  polyad_ktensor_destroy(read);
  polyad_ktensor_destroy(made);
  unlink(path);
}

static void a_file_without_labels_has_no_outline(void **state) {
  (void)state;
  assert_no_outline(at("m.ptm"));
  assert_no_outline(at("m.npz"));
}

static void types_are_converted(void **state) {
  (void)state;
  static const uint64_t dims[] = {3, 2};
  polyad_ktensor *made = kruskal(2, dims, 2, POLYAD_F64), *read;
  double *factor = made->factor[1];
  assert_int_equal(polyad_ktensor_write(context, made, at("m.ptm")), POLYAD_OK);
  assert_int_equal(polyad_ktensor_read(context, at("m.ptm"), POLYAD_F32, &read), POLYAD_OK);
  for (int k = 0; k < 4; ++k)
    assert_true(((float *)read->factor[1])[k] == (float)factor[k]);
  polyad_ktensor_destroy(read);
  /* The largest double that rounds to a float, and the next one. */
  factor[3] = nextafter(0x1.ffffffp127, 0);
  assert_int_equal(polyad_ktensor_write(context, made, at("m.ptm")), POLYAD_OK);
  assert_int_equal(polyad_ktensor_read(context, at("m.ptm"), POLYAD_F32, &read), POLYAD_OK);
  assert_true(((float *)read->factor[1])[3] == FLT_MAX);
  polyad_ktensor_destroy(read);
  factor[3] = 0x1.ffffffp127;
  assert_int_equal(polyad_ktensor_write(context, made, at("m.ptm")), POLYAD_OK);
  assert_int_equal(polyad_ktensor_read(context, at("m.ptm"), POLYAD_F32, &read), POLYAD_PARSE);
  assert_non_null(strstr(polyad_last_error(context), "factor of mode 2: entry 4"));
  factor[3] = NAN;
  assert_int_equal(polyad_ktensor_write(context, made, at("m.ptm")), POLYAD_OK);
  assert_int_equal(polyad_ktensor_read(context, at("m.ptm"), POLYAD_F64, &read), POLYAD_PARSE);
  assert_non_null(strstr(polyad_last_error(context), "expected a finite number"));
  polyad_ktensor_destroy(made);
  unlink(at("m.ptm"));
}

/* ---- damage -----------------------------------------------------------------------------------
 */

struct bytes {
  unsigned char *data;
  size_t size;
};

static struct bytes load(const char *path) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  struct bytes bytes = {.size = (size_t)ftell(file)};
  rewind(file);
  bytes.data = malloc(bytes.size + 1);
  assert_int_equal(fread(bytes.data, 1, bytes.size, file), bytes.size);
  fclose(file);
  return bytes;
}

static void store(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static struct bytes sample(const char *path) {
  static const uint64_t dims[] = {5, 3};
  polyad_ktensor *made = kruskal(2, dims, 3, POLYAD_F64);
  polyad_tensor *names = outline(2, dims);
  assert_int_equal(polyad_ktensor_write_labelled(context, made, names, path), POLYAD_OK);
  polyad_ktensor_destroy(made);
  polyad_tensor_destroy(names);
  return load(path);
}

/* Reading fails, says where, and leaves nothing. */
static void assert_refused(const char *path, const char *says) {
  polyad_ktensor *read = (polyad_ktensor *)(uintptr_t)1;
  polyad_status status = polyad_ktensor_read(context, path, POLYAD_F64, &read);
  assert_true(status == POLYAD_PARSE || status == POLYAD_UNSUPPORTED);
  assert_null(read);
  assert_true(strlen(polyad_last_error(context)) > 0);
  if (strstr(polyad_last_error(context), says) == NULL)
    fail_msg("found: %s; expected: %s", polyad_last_error(context), says);
  assert_int_equal(polyad_memory_in_use(context), 0);
}

static void every_changed_byte_is_noticed(void **state) {
  (void)state;
  const char *path = at("m.ptm");
  struct bytes good = sample(path);
  for (size_t k = 0; k < good.size; ++k) {
    good.data[k] ^= 0x10;
    store(path, good.data, good.size);
    assert_refused(path, "");
    good.data[k] ^= 0x10;
  }
  free(good.data);
  unlink(path);
}

static void every_missing_or_surplus_byte_is_noticed(void **state) {
  (void)state;
  const char *path = at("m.ptm");
  struct bytes good = sample(path);
  for (size_t size = 0; size < good.size; ++size) {
    store(path, good.data, size);
    assert_refused(path, size >= sizeof(struct pd_ptm_header) ? "truncated" : "");
  }
  good.data[good.size] = 0;
  store(path, good.data, good.size + 1);
  assert_refused(path, "surplus");
  free(good.data);
  unlink(path);
}

/* In a compressed file the size is not known before: the end must be noticed on the way. */
static void a_stream_that_ends_early_or_late_is_noticed(void **state) {
  (void)state;
  const char *path = at("m.ptm"), *packed = at("m.ptm.gz");
  struct bytes good = sample(path);
  good.data[good.size] = 0;
  for (size_t size = sizeof(struct pd_ptm_header); size <= good.size + 1; size += 13) {
    char command[600];
    store(path, good.data, size);
    snprintf(command, sizeof command, "gzip -c '%s' > '%s'", path, packed);
    assert_int_equal(system(command), 0);
    if (size != good.size) assert_refused(packed, size < good.size ? "truncated" : "surplus");
  }
  free(good.data);
  unlink(path);
  unlink(packed);
}

/* A zip archive repeats sizes in its directory, and dates every member: changes there are harmless.
 * Any other change is noticed. */
static void changes_of_an_archive_are_noticed_or_harmless(void **state) {
  (void)state;
  const char *path = at("m.npz");
  static const uint64_t dims[] = {5, 3};
  struct bytes good = sample(path);
  polyad_ktensor *made = kruskal(2, dims, 3, POLYAD_F64), *read;
  size_t directory = good.size;
  while (memcmp(good.data + directory - 4, "PK\x01\x02", 4) != 0)
    --directory;
  while (memcmp(good.data + directory - 4, "PK\x03\x04", 4) != 0) /* the last member is text */
    --directory;
  int noticed = 0;
  for (size_t k = 0; k < directory; ++k) {
    good.data[k] ^= 0x10;
    store(path, good.data, good.size);
    if (polyad_ktensor_read(context, path, POLYAD_F64, &read) == POLYAD_OK)
      assert_same_kruskal(made, read);
    else
      ++noticed;
    polyad_ktensor_destroy(read);
    assert_true(polyad_memory_in_use(context) > 0); /* the model to compare with */
    good.data[k] ^= 0x10;
  }
  assert_true(noticed > 800);
  polyad_ktensor_destroy(made);
  for (size_t size = 0; size < directory; ++size) {
    store(path, good.data, size);
    assert_refused(path, size < 4 ? "" : "truncated");
  }
  free(good.data);
  unlink(path);
}

/* Headers that lie with right checksums. */
static void assert_header_refused(const struct bytes *good, struct pd_ptm_header header,
                                  const char *says) {
  const char *path = at("lie.ptm");
  struct bytes lie = {malloc(good->size), good->size};
  memcpy(lie.data, good->data, good->size);
  pd_binary_seal(&header);
  memcpy(lie.data, &header, sizeof header);
  store(path, lie.data, lie.size);
  assert_refused(path, says);
  free(lie.data);
  unlink(path);
}

static void headers_that_lie_are_refused(void **state) {
  (void)state;
  const char *path = at("m.ptm");
  struct bytes good = sample(path);
  struct pd_ptm_header header, lie;
  memcpy(&header, good.data, sizeof header);
#define LIE(member, value, says)                                                                   \
  lie = header;                                                                                    \
  lie.member = (value);                                                                            \
  assert_header_refused(&good, lie, says)
  LIE(version, 2, "newer");
  LIE(version, 0, "version 0");
  LIE(endian_mark, 0x04030201, "big-endian");
  LIE(header_bytes, 512, "512 bytes");
  LIE(flags, 1, "flags 1");
  LIE(kind, 3, "kind 3");
  LIE(kind, PD_PTM_TUCKER, "do not follow");
  LIE(order, 0, "0 modes");
  LIE(order, 17, "17 modes");
  LIE(order, UINT32_MAX, "modes");
  LIE(value_bytes, 2, "2 bytes");
  LIE(value_bytes, 4, "do not follow");
  LIE(dims[0], 0, "length 0");
  LIE(dims[0], UINT64_C(1) << 60, "do not follow");
  LIE(dims[1], 4, "do not follow");
  LIE(dims[2], 1, "do not follow");
  LIE(ranks[0], 0, "rank 0");
  LIE(ranks[1], 2, "one rank");
  LIE(file_bytes, 1, "do not follow");
  LIE(section_count, 9, "do not follow");
  LIE(section[1].offset, 64, "do not follow");
  LIE(section[3].bytes, UINT64_MAX, "do not follow");
  LIE(section[3].bytes, UINT64_C(1) << 62, "do not follow");
  LIE(section[0].checksum, 0, "weights: damaged");
  LIE(section[2].checksum, 0, "factor of mode 2: damaged");
  LIE(section[3].checksum, 0, "labels: damaged");
  LIE(reserved[279], 1, "do not follow");
#undef LIE
  free(good.data);
  unlink(path);
}

static void other_files_are_named(void **state) {
  (void)state;
  static const uint64_t dims[] = {3, 2}, ranks[] = {2, 2};
  polyad_ttensor *made = tucker(2, dims, ranks, POLYAD_F64);
  polyad_tensor *tensor;
  const char *path = at("m.ptm");
  assert_int_equal(polyad_ttensor_write(context, made, path), POLYAD_OK);
  polyad_ttensor_destroy(made);
  assert_refused(path, "a Tucker model (ttensor); expected a CP model (ktensor)");
  assert_int_equal(polyad_tensor_read(context, path, NULL, &tensor), POLYAD_PARSE);
  assert_non_null(strstr(polyad_last_error(context), "format ptm; expected a tensor"));
  unlink(path);
}

static polyad_status read_and_write(polyad_context *own, void *user) {
  const char *const *paths = user;
  polyad_ktensor *read = NULL;
  polyad_tensor *names = NULL;
  polyad_status status = polyad_ktensor_read_labelled(own, paths[0], POLYAD_F64, &read, &names);
  if (status == POLYAD_OK) status = polyad_ktensor_write_labelled(own, read, names, paths[1]);
  assert_int_equal(access(paths[1], F_OK) == 0, status == POLYAD_OK);
  polyad_ktensor_destroy(read);
  polyad_tensor_destroy(names);
  return status;
}

/* No allocation that fails crashes, leaks or leaves a file. */
static void allocations_may_fail(void **state) {
  const char *paths[2][2] = {{at("m.ptm"), at("n.ptm")}, {at("m.npz"), at("n.npz")}};
  (void)state;
  for (int k = 0; k < 2; ++k) {
    struct bytes good = sample(paths[k][0]);
    assert_true(sweep_failures(read_and_write, paths[k], 1) > 10);
    struct bytes again = load(paths[k][1]);
    assert_int_equal(good.size, again.size);
    assert_memory_equal(good.data, again.data, good.size);
    free(good.data);
    free(again.data);
    unlink(paths[k][0]);
    unlink(paths[k][1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kruskal_tensors_come_back),
      cmocka_unit_test(tucker_tensors_and_labels_come_back),
      cmocka_unit_test(a_file_without_labels_has_no_outline),
      cmocka_unit_test(types_are_converted),
      cmocka_unit_test(every_changed_byte_is_noticed),
      cmocka_unit_test(every_missing_or_surplus_byte_is_noticed),
      cmocka_unit_test(a_stream_that_ends_early_or_late_is_noticed),
      cmocka_unit_test(changes_of_an_archive_are_noticed_or_harmless),
      cmocka_unit_test(headers_that_lie_are_refused),
      cmocka_unit_test(other_files_are_named),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
