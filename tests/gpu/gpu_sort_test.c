/* Sorting on a GPU gives what the CPU gives: the same keys and, stable, the same payload. */
#include "core/radix_sort.h"
#include "core/random.h"
#include "formats/format.h"
#include "gpu/gpu_context.h"
#include "harness.h"
#include "plan/plan.h"
#include <stdlib.h>
#include <string.h>

struct arrays {
  uint64_t *keys;
  void *payload;
};

/* Payload counts up, so that it shows the order of equal keys. */
static struct arrays make(uint64_t count, int bits, size_t payload_bytes) {
  struct arrays a = {malloc(count * 8 + 8), malloc(count * 8 + 8)};
  for (uint64_t p = 0; p < count; ++p) {
    a.keys[p] = pd_random_u64(5, (uint64_t)bits, p) >> (64 - bits);
    if (payload_bytes == 4)
      ((uint32_t *)a.payload)[p] = (uint32_t)p;
    else
      ((uint64_t *)a.payload)[p] = p;
  }
  return a;
}

static void drop(struct arrays *a) {
  free(a->keys);
  free(a->payload);
}

static void compare(polyad_context *context, const struct pd_device *device, uint64_t count,
                    int bits, size_t payload_bytes, bool keep_keys) {
  struct arrays found = make(count, bits, payload_bytes);
  struct arrays wanted = make(count, bits, payload_bytes);
  if (device->functions->sort(context, device, count, found.keys, bits, found.payload,
                              payload_bytes, keep_keys) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  assert_int_equal(pd_sort_u64(context, count, wanted.keys, bits, wanted.payload, payload_bytes),
                   POLYAD_OK);
  if (keep_keys) assert_memory_equal(found.keys, wanted.keys, count * 8);
  if (payload_bytes > 0) assert_memory_equal(found.payload, wanted.payload, count * payload_bytes);
  drop(&found);
  drop(&wanted);
}

static void test_sort(void **state) {
  (void)state;
  static const uint64_t counts[] = {1, 2, 3, 1000, 70001, 1 << 20};
  static const int bits[] = {1, 7, 31, 33, 64};
  static const size_t payloads[] = {0, 4, 8};
  const struct pd_device *device = NULL;
  polyad_context *context = gpu_context();
  assert_int_equal(pd_device_of(context, &device), POLYAD_OK);
  for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
    for (size_t b = 0; b < sizeof bits / sizeof *bits; ++b)
      for (size_t p = 0; p < 3; ++p) {
        compare(context, device, counts[c], bits[b], payloads[p], true);
        if (payloads[p] > 0) compare(context, device, counts[c], bits[b], payloads[p], false);
      }
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

/* A storage whose nonzeros the GPU sorted is the one that the CPU makes. */
static void compare_storage(const char *name) {
  static const struct mttkrp_case from = {"sorted",      3,    {300, 4000, 500}, 600000,
                                          SHAPE_UNIFORM, false};
  const struct polyad_format *format = pd_format_find(name);
  const struct pd_device *device = NULL;
  struct problem problem;
  void *storage[2] = {NULL};
  polyad_context *context = gpu_context();
  assert_int_equal(pd_device_of(context, &device), POLYAD_OK);
  problem_make(&from, 4, 1, &problem);
  polyad_tensor *tensor = problem_polyad(context, &problem, POLYAD_F32), *back[2] = {NULL};
  struct pd_request request = {
      .variant = "auto", .rank = 4, .precision = POLYAD_F32, .threads = 4, .device = device};
  for (int k = 0; k < 2; ++k) {
    polyad_status status =
        k == 0 ? format->build(context, tensor, false, &request, &storage[k])
               : pd_storage_build(context, format, tensor, false, &request, &storage[k]);
    if (status != POLYAD_OK) fail_msg("%s", polyad_last_error(context));
    assert_int_equal(format->check(context, storage[k]), POLYAD_OK);
    assert_int_equal(pd_storage_bytes(format, storage[0]), pd_storage_bytes(format, storage[k]));
    assert_int_equal(pd_storage_expand(context, format, storage[k], tensor, &back[k]), POLYAD_OK);
  }
  assert_true(polyad_tensor_hash(back[0]) == polyad_tensor_hash(back[1]));
  for (int k = 0; k < 2; ++k) {
    polyad_tensor_destroy(back[k]);
    pd_storage_free(context, format, storage[k]);
  }
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

static void test_same_storage(void **state) {
  (void)state;
  static const char *const formats[] = {"modecopy", "flycoo", "alto", "blco", "hls"};
  for (size_t f = 0; f < sizeof formats / sizeof *formats; ++f)
    compare_storage(formats[f]);
}

/* An argument names the one test to run. */
int main(int argc, char **argv) {
  int missing = gpu_missing();
  if (missing != 0) return missing;
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sort),
                                     cmocka_unit_test(test_same_storage)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
