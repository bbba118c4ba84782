/* The dims, mode names and labels of a .ptn file without its nonzeros. */
#include "io/ptn_blocks.h"
#include "io/ptn_labels.h"
#include <inttypes.h>
#include <polyad/io.h>
#include <xxhash.h>

static polyad_status load_labels(struct pd_ptn_blocks *file, int section, char **labels) {
  const struct pd_ptn_section *s = &file->header.section[section];
  const uint64_t *expected = file->checksums + pd_ptn_first_checksum(&file->header, section);
  PD_TRY(pd_ptn_source_load(file->context, &file->source, s->offset, s->bytes,
                            file->header.file_bytes, (void **)labels));
  for (uint64_t at = 0, block = 0; at < s->bytes; at += PD_PTN_BLOCK_BYTES, ++block) {
    uint64_t bytes = s->bytes - at < PD_PTN_BLOCK_BYTES ? s->bytes - at : PD_PTN_BLOCK_BYTES;
    if (XXH3_64bits(*labels + at, (size_t)bytes) == expected[block]) continue;
    return pd_fail_at(file->context, POLYAD_PARSE, file->source.path, 0, 0,
                      "labels: the block at byte %" PRIu64
                      " is damaged: its checksum does not match",
                      s->offset + at);
  }
  return POLYAD_OK;
}

static polyad_status read_outline(struct pd_ptn_blocks *file, polyad_tensor **outline) {
  polyad_context *context = file->context;
  const struct pd_ptn_header *header = &file->header;
  polyad_tensor_input input;
  polyad_tensor *made = NULL;
  char *labels = NULL;
  polyad_status status = POLYAD_OK;
  int section = pd_ptn_label_section(header);
  polyad_tensor_input_init(&input);
  input.order = (int)header->order;
  input.dims = header->dims;
  PD_TRY_CLEANUP(polyad_tensor_create(context, &input, &made));
  if (section >= 0) {
    PD_TRY_CLEANUP(load_labels(file, section, &labels));
    PD_TRY_CLEANUP(pd_ptn_labels_decode(context, file->source.path, header->section[section].offset,
                                        labels, header->section[section].bytes, made));
  }
  *outline = made;
  made = NULL;
cleanup:
  pd_free(context, labels);
  polyad_tensor_destroy(made);
  return status;
}

polyad_status polyad_tensor_read_outline(polyad_context *context, const char *path,
                                         polyad_tensor **outline) {
  PD_ENTER(context);
  PD_EXPECT(context, path != NULL && outline != NULL, "path or outline is NULL");
  *outline = NULL;
  struct pd_ptn_blocks file;
  PD_TRY(pd_ptn_blocks_open(context, path, &file));
  polyad_status status = read_outline(&file, outline);
  pd_ptn_blocks_close(&file);
  return status;
}
