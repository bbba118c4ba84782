/* The .ptn reader. Checksums would stop a fuzzer at once, so they are made right first. */
#include "fuzz_input.h"

#include "io/formats.h"
#include "io/ptn_layout.h"
#include <string.h>
#include <xxhash.h>

/* Whether the layout is what the shape asks for, so that blocks can be found. */
static int is_laid_out(const struct pd_ptn_header *header, size_t size) {
  if (header->order < 1 || header->order > POLYAD_MAX_ORDER || header->nnz > size ||
      (header->section_count != header->order + 2 && header->section_count != header->order + 3))
    return 0;
  struct pd_ptn_header expected = *header;
  const struct pd_ptn_section *labels = &header->section[header->order + 1];
  if (!pd_ptn_lay_out(&expected, labels->kind == PD_PTN_LABELS ? labels->bytes : 0) ||
      expected.section_count != header->section_count || expected.file_bytes != size)
    return 0;
  for (uint32_t s = 0; s < header->section_count; ++s)
    if (header->section[s].offset != expected.section[s].offset ||
        header->section[s].bytes != expected.section[s].bytes ||
        header->section[s].kind != expected.section[s].kind)
      return 0;
  return 1;
}

static void seal(uint8_t *data, size_t size) {
  struct pd_ptn_header *header = (struct pd_ptn_header *)(void *)data;
  if (size < sizeof *header) return;
  if (is_laid_out(header, size)) {
    int last = pd_ptn_checksum_section(header);
    uint64_t *table = (uint64_t *)(void *)(data + header->section[last].offset), *out = table;
    for (int s = 0; s < last; ++s) {
      const struct pd_ptn_section *section = &header->section[s];
      uint64_t block = section->kind == PD_PTN_LABELS
                           ? PD_PTN_BLOCK_BYTES
                           : PD_PTN_BLOCK_ENTRIES * pd_ptn_entry_bytes(header, s);
      for (uint64_t at = 0; at < section->bytes; at += block)
        *out++ = XXH3_64bits(data + section->offset + at,
                             section->bytes - at < block ? section->bytes - at : block);
    }
    pd_ptn_seal(header, table);
  }
  header->checksum = XXH3_64bits(header, offsetof(struct pd_ptn_header, checksum));
}

/* As from a pipe. */
static polyad_status read_in_order(polyad_context *context, const char *path,
                                   const polyad_read_options *options, polyad_tensor **tensor) {
  struct pd_input *input = NULL;
  *tensor = NULL;
  polyad_status status = pd_input_open(context, path, &input);
  if (status == POLYAD_OK) status = pd_ptn_read(context, path, input, options, tensor);
  pd_input_close(input);
  return status;
}

/* Dims and labels alone, without the nonzeros: those of the whole where it can be read. */
static void read_outline(polyad_context *context, const char *path, const polyad_tensor *tensor) {
  polyad_tensor *outline = NULL;
  polyad_status status = polyad_tensor_read_outline(context, path, &outline);
  if (status != POLYAD_OK) {
    fuzz_check_failure(context, status);
    fuzz_require(tensor == NULL, "the outline of a tensor");
  } else if (tensor != NULL) {
    fuzz_require(polyad_tensor_order(outline) == polyad_tensor_order(tensor), "the same order");
    for (int n = 0; n < polyad_tensor_order(tensor); ++n) {
      const char *name = polyad_tensor_mode_name(tensor, n);
      const char *same = polyad_tensor_mode_name(outline, n);
      fuzz_require(polyad_tensor_dims(outline)[n] == polyad_tensor_dims(tensor)[n],
                   "the same dims");
      fuzz_require((name == NULL) == (same == NULL) && (name == NULL || strcmp(name, same) == 0),
                   "the same names");
    }
  }
  polyad_tensor_destroy(outline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = fuzz_sealed_file(data, size, size % 8 == 7 ? NULL : seal);
  polyad_context *context = fuzz_begin(1);
  polyad_read_options options = {.type = size % 2 ? POLYAD_F32 : POLYAD_F64};
  polyad_tensor *tensor;
  polyad_status status = size % 3 == 0 ? read_in_order(context, path, &options, &tensor)
                                       : pd_ptn_read(context, path, NULL, &options, &tensor);
  if (status == POLYAD_OK)
    fuzz_require(pd_tensor_check(context, tensor) == POLYAD_OK, "a valid tensor");
  else
    fuzz_check_failure(context, status);
  read_outline(context, path, tensor);
  polyad_tensor_destroy(tensor);
  fuzz_end(context);
  return 0;
}
