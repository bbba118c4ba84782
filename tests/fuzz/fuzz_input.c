#define _GNU_SOURCE /* memfd_create */
#include "fuzz_input.h"

#include "fuzz_memory.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t kept; /* bytes in use that belong to the target, not to a run */

void fuzz_require(int condition, const char *text) {
  if (condition) return;
  fprintf(stderr, "broken promise: %s\n", text);
  abort();
}

/* ---- files ------------------------------------------------------------------------------------
 */

const char *fuzz_file(const uint8_t *data, size_t size) {
  static char path[64];
  static int file = -1;
  if (file < 0) {
    file = memfd_create("fuzz", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  }
  fuzz_require(file >= 0 && ftruncate(file, (off_t)size) == 0 &&
                   pwrite(file, data, size, 0) == (ssize_t)size,
               "a file in memory");
  return path;
}

const char *fuzz_sealed_file(const uint8_t *data, size_t size,
                             void (*seal)(uint8_t *data, size_t size)) {
  uint8_t *copy = aligned_alloc(64, size / 64 * 64 + 64);
  fuzz_require(copy != NULL, "memory");
  memcpy(copy, data, size);
  if (seal != NULL) seal(copy, size);
  const char *path = fuzz_file(copy, size);
  free(copy);
  return path;
}

size_t fuzz_take_file(const char *path, uint8_t *to, size_t most) {
  FILE *file = fopen(path, "rb");
  fuzz_require(file != NULL, "a file that was written");
  size_t bytes = fread(to, 1, most, file);
  fuzz_require(bytes > 0 && bytes < most, "a small file");
  fclose(file);
  fuzz_empty_folder();
  return bytes;
}

polyad_tensor *fuzz_tensor(polyad_context *context, int order, const uint64_t *dims, uint64_t nnz,
                           const uint32_t *index, const double *values) {
  polyad_tensor_input input;
  polyad_tensor *tensor;
  polyad_tensor_input_init(&input);
  input.order = order;
  input.dims = dims;
  input.nnz = nnz;
  input.index_type = POLYAD_U32;
  for (int n = 0; n < order; ++n) {
    input.index[n] = index + n;
    input.index_stride[n] = (ptrdiff_t)((size_t)order * sizeof *index);
  }
  input.values = values;
  input.value_stride = sizeof *values;
  fuzz_require(polyad_tensor_create(context, &input, &tensor) == POLYAD_OK, "a tensor");
  return tensor;
}

static int standard_output = -1; /* what it was before */

const char *fuzz_output_begin(void) {
  static char path[64];
  static int file = -1;
  if (file < 0) {
    file = memfd_create("fuzz-output", 0);
    standard_output = dup(STDOUT_FILENO);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  }
  fuzz_require(file >= 0 && standard_output >= 0 && ftruncate(file, 0) == 0 &&
                   lseek(file, 0, SEEK_SET) == 0 && dup2(file, STDOUT_FILENO) >= 0,
               "a file in memory as standard output");
  return path;
}

void fuzz_output_end(void) {
  fuzz_require(dup2(standard_output, STDOUT_FILENO) >= 0, "standard output");
}

static char folder[64];

static void remove_folder(void) {
  fuzz_empty_folder();
  (void)rmdir(folder);
}

const char *fuzz_folder(void) {
  if (folder[0] != '\0') return folder;
  const char *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  snprintf(folder, sizeof folder, "%s/polyad-fuzz-XXXXXX", memory);
  fuzz_require(mkdtemp(folder) != NULL, "a folder");
  atexit(remove_folder);
  return folder;
}

/* Removes what is in a directory, and in the directories of it (a model is one). */
static void empty(const char *path) {
  DIR *listing = opendir(path);
  if (listing == NULL) return;
  for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
    char inside[400];
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (unlinkat(dirfd(listing), entry->d_name, 0) == 0) continue;
    snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
    empty(inside);
    (void)rmdir(inside);
  }
  closedir(listing);
}

void fuzz_empty_folder(void) {
  if (folder[0] != '\0') empty(folder);
}

/* ---- the context ------------------------------------------------------------------------------
 */

polyad_context *fuzz_begin(int threads) {
  static polyad_context *context;
  if (context == NULL) {
    fuzz_require(polyad_context_create_with_allocator(&fuzz_allocator, &context) == POLYAD_OK,
                 "a context");
    fuzz_require(polyad_set_memory_limit(context, 256 << 20) == POLYAD_OK, "a limit");
  }
  fuzz_require(polyad_set_threads(context, threads) == POLYAD_OK, "threads");
  return context;
}

void fuzz_end(polyad_context *context) {
  fuzz_require(polyad_memory_in_use(context) == kept, "all memory is given back");
}

void fuzz_keep(const polyad_context *context) { kept = polyad_memory_in_use(context); }

void fuzz_check_failure(const polyad_context *context, polyad_status status) {
  fuzz_require(status != POLYAD_OK && status != POLYAD_INTERNAL, "no internal error");
  const char *message = polyad_last_error(context);
  size_t length = strlen(message);
  fuzz_require(length > 0 && length <= 292, "a message of bounded length");
  for (size_t k = 0; k < length; ++k)
    fuzz_require((unsigned char)message[k] >= 0x20 && message[k] != 0x7f, "no control bytes");
}

/* ---- parts of an input ------------------------------------------------------------------------
 */

void fuzz_take(const uint8_t **data, size_t *size, void *to, size_t count) {
  size_t there = *size < count ? *size : count;
  memset(to, 0, count);
  if (there > 0) memcpy(to, *data, there);
  *data += there;
  *size -= there;
}

uint8_t fuzz_take_byte(const uint8_t **data, size_t *size) {
  uint8_t byte;
  fuzz_take(data, size, &byte, 1);
  return byte;
}

size_t fuzz_change(const uint8_t *good, size_t bytes, size_t more, const uint8_t *data, size_t size,
                   uint8_t *out) {
  size_t length = bytes;
  memcpy(out, good, bytes);
  memset(out + bytes, 0, more);
  while (size >= 3) {
    uint16_t place;
    fuzz_take(&data, &size, &place, sizeof place);
    uint8_t value = fuzz_take_byte(&data, &size);
    if (place < bytes)
      out[place] = value;
    else
      length = place % (bytes + more + 1);
  }
  return length;
}
