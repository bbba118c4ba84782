/* Models that released versions wrote are read for ever, to the same bits: a hash over weights,
 * core and factors as they are in memory. */
#include "harness.h"

#include <polyad/polyad.h>
#include <stdio.h>

/* FNV-1a, 64 bits: small, and not the hash of any library that polyad itself uses. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size) {
  const unsigned char *bytes = data;
  for (size_t k = 0; k < size; ++k)
    hash = (hash ^ bytes[k]) * UINT64_C(0x100000001b3);
  return hash;
}

static const uint64_t start = UINT64_C(0xcbf29ce484222325);

static uint64_t hash_ktensor(polyad_context *context, const char *path) {
  polyad_ktensor *model = NULL;
  if (polyad_ktensor_read(context, path, POLYAD_F64, &model) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  uint64_t rank = polyad_ktensor_rank(model), hash = start;
  hash = hash_bytes(hash, polyad_ktensor_weights(model), rank * sizeof(double));
  for (int n = 0; n < polyad_ktensor_order(model); ++n)
    hash = hash_bytes(hash, polyad_ktensor_factor(model, n),
                      polyad_ktensor_dims(model)[n] * rank * sizeof(double));
  polyad_ktensor_destroy(model);
  return hash;
}

static uint64_t hash_ttensor(polyad_context *context, const char *path) {
  polyad_ttensor *model = NULL;
  if (polyad_ttensor_read(context, path, POLYAD_F64, &model) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  uint64_t hash = hash_bytes(start, polyad_ttensor_core(model),
                             polyad_ttensor_core_size(model) * sizeof(double));
  for (int n = 0; n < polyad_ttensor_order(model); ++n)
    hash =
        hash_bytes(hash, polyad_ttensor_factor(model, n),
                   polyad_ttensor_dims(model)[n] * polyad_ttensor_ranks(model)[n] * sizeof(double));
  polyad_ttensor_destroy(model);
  return hash;
}

static const struct {
  const char *path;
  uint64_t (*hash)(polyad_context *context, const char *path);
  uint64_t expected;
} models[] = {
    {"v1/als.ktensor", hash_ktensor, UINT64_C(0xf868cb8049f897d7)},
    {"v1/apr-mu.ktensor", hash_ktensor, UINT64_C(0x3f95ff76ad25d7ce)},
    {"v1/apr-pdnr.ktensor", hash_ktensor, UINT64_C(0xde9eed9ac48960a8)},
    {"v1/apr-pqnr.ktensor", hash_ktensor, UINT64_C(0x8007a5a1d9bf2db5)},
    {"v1/rides.ttensor", hash_ttensor, UINT64_C(0x7f770056962d990c)},
};

static void models_are_read_to_the_same_bits(void **unused) {
  (void)unused;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  for (size_t k = 0; k < sizeof models / sizeof *models; ++k) {
    char path[512];
    snprintf(path, sizeof path, POLYAD_GOLDEN "/%s", models[k].path);
    uint64_t found = models[k].hash(context, path);
    if (found != models[k].expected)
      fail_msg("%s: hash 0x%016llx", models[k].path, (unsigned long long)found);
  }
  polyad_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(models_are_read_to_the_same_bits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
