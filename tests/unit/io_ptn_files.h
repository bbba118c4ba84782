/* Bytes of .ptn files for the tests: tensors to write, files to load, change and seal again. */
#ifndef PD_IO_PTN_FILES_H
#define PD_IO_PTN_FILES_H

#include "harness.h"

#include "core/random.h"
#include "inputs.h"
#include "io/formats.h"
#include "io/ptn_layout.h"
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

struct bytes {
  unsigned char *data;
  size_t size;
};

/* A scratch file in the current directory, of this process alone. */
static inline const char *scratch(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "io_ptn.%ld.%s", (long)getpid(), name);
  return path;
}

static inline struct bytes load_file(const char *path) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  struct bytes bytes = {.size = (size_t)ftell(file)};
  rewind(file);
  bytes.data = malloc(bytes.size + 1);
  assert_non_null(bytes.data);
  assert_int_equal(fread(bytes.data, 1, bytes.size, file), bytes.size);
  fclose(file);
  return bytes;
}

static inline void store_file(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* A tensor with `nnz` entries at random places (a few may fall together). */
static inline polyad_tensor *random_tensor(polyad_context *context, int order, const uint64_t *dims,
                                           uint64_t nnz, polyad_type type) {
  uint64_t *index = malloc(((size_t)nnz * (size_t)order + 1) * sizeof *index);
  double *values = malloc(((size_t)nnz + 1) * sizeof *values);
  assert_non_null(index);
  assert_non_null(values);
  for (uint64_t p = 0; p < nnz; ++p) {
    for (int n = 0; n < order; ++n)
      index[p * (uint64_t)order + (uint64_t)n] = pd_random_u64(1, (uint64_t)n, p) % dims[n];
    values[p] = pd_random_uniform(2, 0, p) + 0.25;
  }
  polyad_tensor_input input = input_of_rows(order, dims, nnz, POLYAD_U64, index, values);
  input.type = type;
  polyad_tensor *tensor;
  assert_int_equal(polyad_tensor_create(context, &input, &tensor), POLYAD_OK);
  free(index);
  free(values);
  return tensor;
}

static inline struct bytes tensor_bytes(polyad_context *context, const polyad_tensor *tensor) {
  const char *path = scratch("tensor");
  assert_int_equal(pd_ptn_write(context, tensor, path), POLYAD_OK);
  struct bytes bytes = load_file(path);
  unlink(path);
  return bytes;
}

static inline struct pd_ptn_header *header_of(struct bytes bytes) {
  return (struct pd_ptn_header *)(void *)bytes.data;
}

/* Makes the header's checksum right again. */
static inline void seal_header(struct bytes bytes) {
  struct pd_ptn_header *header = header_of(bytes);
  header->checksum = XXH3_64bits(header, offsetof(struct pd_ptn_header, checksum));
}

/* Makes all checksums right again, for a file whose layout is whole. */
static inline void seal_all(struct bytes bytes) {
  struct pd_ptn_header *header = header_of(bytes);
  uint64_t *table =
      (uint64_t *)(void *)(bytes.data + header->section[pd_ptn_checksum_section(header)].offset);
  uint64_t *out = table;
  for (int s = 0; s < pd_ptn_checksum_section(header); ++s) {
    const struct pd_ptn_section *section = &header->section[s];
    uint64_t block = section->kind == PD_PTN_LABELS
                         ? PD_PTN_BLOCK_BYTES
                         : PD_PTN_BLOCK_ENTRIES * pd_ptn_entry_bytes(header, s);
    for (uint64_t at = 0; at < section->bytes; at += block)
      *out++ = XXH3_64bits(bytes.data + section->offset + at,
                           section->bytes - at < block ? section->bytes - at : block);
  }
  pd_ptn_seal(header, table);
}

#endif
