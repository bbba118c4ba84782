#define _GNU_SOURCE /* memfd_create */
#include "fuzz_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void fuzz_require(int condition, const char *text) {
  if (condition) return;
  fprintf(stderr, "broken promise: %s\n", text);
  abort();
}

int fuzz_open(const uint8_t *data, size_t size, char path[64]) {
  int file = memfd_create("fuzz", 0);
  fuzz_require(file >= 0 && write(file, data, size) == (ssize_t)size, "a file in memory");
  snprintf(path, 64, "/proc/self/fd/%d", file);
  return file;
}

polyad_context *fuzz_context(int threads) {
  polyad_context *context = NULL;
  fuzz_require(polyad_context_create(&context) == POLYAD_OK, "a context");
  fuzz_require(polyad_set_threads(context, threads) == POLYAD_OK, "threads");
  fuzz_require(polyad_set_memory_limit(context, 256 << 20) == POLYAD_OK, "a limit");
  return context;
}

void fuzz_context_end(polyad_context *context) {
  fuzz_require(polyad_memory_in_use(context) == 0, "all memory is given back");
  polyad_context_destroy(context);
}

void fuzz_check_failure(const polyad_context *context, polyad_status status) {
  fuzz_require(status != POLYAD_INTERNAL, "no internal error");
  const char *message = polyad_last_error(context);
  size_t length = strlen(message);
  fuzz_require(length > 0 && length <= 292, "a message of bounded length");
  for (size_t k = 0; k < length; ++k)
    fuzz_require((unsigned char)message[k] >= 0x20 && message[k] != 0x7f, "no control bytes");
}
