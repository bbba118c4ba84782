/* Models that released versions wrote are read for ever, to the same bits: a hash over weights,
 * core and factors as they are in memory. */
#include "harness.h"

#include <polyad/polyad.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

/* models.hash has a line "name hash" for each model; hash_models.py wrote it. */
static void read_models_of(const char *version, int models) {
  char name[100], path[512];
  snprintf(path, sizeof path, POLYAD_GOLDEN "/%s/models.hash", version);
  FILE *list = fopen(path, "r");
  polyad_context *context;
  assert_non_null(list);
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  unsigned long long expected;
  int count = 0;
  for (; fscanf(list, "%99s %llx", name, &expected) == 2; ++count) {
    snprintf(path, sizeof path, POLYAD_GOLDEN "/%s/%s", version, name);
    bool is_kruskal = strstr(name, "tucker") == NULL && strstr(name, ".ttensor") == NULL;
    uint64_t found = is_kruskal ? hash_ktensor(context, path) : hash_ttensor(context, path);
    if (found != expected) fail_msg("%s: hash %016llx", name, (unsigned long long)found);
  }
  assert_int_equal(count, models);
  fclose(list);
  polyad_context_destroy(context);
}

static void models_are_read_to_the_same_bits(void **unused) {
  (void)unused;
  read_models_of("v1", 7);
  read_models_of("v2", 9);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(models_are_read_to_the_same_bits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
