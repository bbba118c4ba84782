/* The file that keeps what was measured. Two bits of the first byte choose whether the bytes after
 * it are the whole file, the entries of one whose head is made right, or the text of the entry
 * asked for; another one, whether single numbers are read and kept too, which is slower. */
#include "fuzz_input.h"

#include "plan/tune_cache.h"
#include <inttypes.h>
#include <math.h>
#include <polyad/plan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const char key[] = "fuzz";

static void write_file(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  fuzz_require(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0, "a file");
}

/* Entries behind a head that fits them. Digits "0" x 32 stand for the key's. */
static void write_sealed(const char *path, const uint8_t *data, size_t size) {
  static const char head[] = "polyad tune cache 1 ";
  char *text = malloc(size + 100), zeros[33];
  fuzz_require(text != NULL, "memory");
  if (size > 0) memcpy(text + 37, data, size);
  text[37 + size] = '\0';
  memset(zeros, '0', 32);
  zeros[32] = '\0';
  char *place = strstr(text + 37, zeros);
  XXH128_hash_t hash = XXH3_128bits(key, strlen(key));
  if (place != NULL) {
    char digits[33];
    snprintf(digits, sizeof digits, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
             (uint64_t)hash.low64);
    memcpy(place, digits, 32);
  }
  uint64_t sum = XXH3_64bits(text + 37, strlen(text + 37));
  char line[38];
  snprintf(line, sizeof line, "%s%016" PRIx64 "\n", head, sum);
  memcpy(text, line, 37);
  write_file(path, text, 37 + size);
  free(text);
}

static void try_number(polyad_context *context, const char *path, int keeps) {
  static const char name[] = "tile-threshold";
  polyad_plan_options options;
  int value = 0;
  polyad_plan_options_init(&options);
  options.format = "hls";
  options.tune_cache = path;
  fuzz_require(polyad_tune_cache_value(context, &options, name, &value) == POLYAD_OK &&
                   value >= 0 && value <= 4097,
               "a damaged cache is no error");
  if (!keeps) return;
  fuzz_require(polyad_tune_cache_keep(context, &options, name, 77) == POLYAD_OK &&
                   polyad_tune_cache_value(context, &options, name, &value) == POLYAD_OK &&
                   value == 77,
               "a value that was kept is found");
}

/* A text without line ends, as the cache stores. */
static void store_text(polyad_context *context, const char *path, const uint8_t *data,
                       size_t size) {
  char text[PD_TUNE_TEXT_BYTES], found[PD_TUNE_TEXT_BYTES];
  size_t length = 0;
  while (length < size && length < sizeof text - 1 && data[length] != '\0' &&
         data[length] != '\n') {
    text[length] = (char)data[length];
    ++length;
  }
  text[length] = '\0';
  pd_tune_cache_store(context, path, key, text);
  fuzz_require(pd_tune_cache_find(context, path, key, found) && strcmp(text, found) == 0,
               "what was stored is found");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0 || size > PD_TUNE_CACHE_BYTES / 2) return 0;
  uint8_t how = fuzz_take_byte(&data, &size);
  char path[96], found[PD_TUNE_TEXT_BYTES];
  snprintf(path, sizeof path, "%s/tune", fuzz_folder());
  polyad_context *context = fuzz_begin(1);
  if (how % 4 == 0)
    write_file(path, data, size);
  else if (how % 4 < 3)
    write_sealed(path, data, size);
  if (pd_tune_cache_find(context, path, key, found))
    fuzz_require(strlen(found) < sizeof found && strchr(found, '\n') == NULL, "a text of one line");
  if (how % 4 >= 2) store_text(context, path, data, size);
  if (how & 4) try_number(context, path, how % 4 >= 2);
  (void)remove(path);
  fuzz_end(context);
  return 0;
}
