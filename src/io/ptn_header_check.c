/* Proves the header of a .ptn file before anything in it is believed. */
#include "io/ptn_layout.h"
#include <inttypes.h>
#include <xxhash.h>

static polyad_status check_widths(polyad_context *context, const char *path,
                                  const struct pd_ptn_header *header) {
  if (header->value_kind != 1 || (header->value_bytes != 4 && header->value_bytes != 8))
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "values of kind %" PRIu32 " and %" PRIu32
                      " bytes; expected kind 1 and 4 or 8 bytes",
                      header->value_kind, header->value_bytes);
  uint32_t flags = header->version == 1 ? 0 : PD_PTN_ZEROS;
  if (header->flags != flags || header->block_entries != PD_PTN_BLOCK_ENTRIES ||
      header->reserved != 0)
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "flags %" PRIu32 " and blocks of %" PRIu32 " entries; expected %" PRIu32
                      " and %d",
                      header->flags, header->block_entries, flags, PD_PTN_BLOCK_ENTRIES);
  for (uint32_t n = 0; n < header->order; ++n) {
    uint64_t dim = header->dims[n];
    if (dim == 0 || dim > INT64_MAX)
      return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                        "mode %" PRIu32 " has length %" PRIu64 "; expected 1 to 2^63-1", n + 1,
                        dim);
    if (header->index_bytes[n] != pd_index_bytes(dim))
      return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                        "indices of mode %" PRIu32
                        " have %d bytes; expected %d for length %" PRIu64,
                        n + 1, header->index_bytes[n], pd_index_bytes(dim), dim);
  }
  return POLYAD_OK;
}

/* Bytes of the labels as the section table says; 0 when there are none. */
static uint64_t declared_label_bytes(const struct pd_ptn_header *header) {
  const struct pd_ptn_section *section = &header->section[header->order + 1];
  return header->section_count == header->order + 3 && section->kind == PD_PTN_LABELS
             ? section->bytes
             : 0;
}

static polyad_status check_size(polyad_context *context, const char *path,
                                const struct pd_ptn_header *header,
                                const struct pd_ptn_header *expected, bool fits,
                                uint64_t file_bytes) {
  char have[32];
  if (!fits)
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "declares %" PRIu64 " nonzeros, more than 2^63 bytes; file has %" PRIu64
                      " bytes",
                      header->nnz, file_bytes == UINT64_MAX ? 0 : file_bytes);
  if (file_bytes != UINT64_MAX && file_bytes != expected->file_bytes)
    return pd_fail_at(
        context, POLYAD_PARSE, path, 0, 0,
        "declares %" PRIu64 " bytes (%" PRIu64 " nonzeros), file has %" PRIu64 " (%s): %s",
        expected->file_bytes, header->nnz, file_bytes, pd_bytes_text(have, file_bytes),
        file_bytes < expected->file_bytes ? "it is truncated or damaged"
                                          : "it has surplus bytes or is damaged");
  return POLYAD_OK;
}

static polyad_status check_sections(polyad_context *context, const char *path,
                                    const struct pd_ptn_header *header,
                                    const struct pd_ptn_header *expected) {
  if (header->section_count != expected->section_count)
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "%" PRIu32 " sections; expected %" PRIu32 " for order %" PRIu32,
                      header->section_count, expected->section_count, header->order);
  for (uint32_t s = 0; s < header->section_count; ++s) {
    const struct pd_ptn_section *has = &header->section[s], *want = &expected->section[s];
    char name[32];
    if (has->offset != want->offset || has->bytes != want->bytes || has->kind != want->kind ||
        has->mode != want->mode)
      return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                        "section %" PRIu32 " (kind %" PRIu32 ") has %" PRIu64
                        " bytes at offset %" PRIu64 "; expected %s: %" PRIu64
                        " bytes at offset %" PRIu64,
                        s + 1, has->kind, has->bytes, has->offset,
                        pd_ptn_section_name(name, expected, (int)s), want->bytes, want->offset);
  }
  if (header->file_bytes != expected->file_bytes)
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "header says the file has %" PRIu64 " bytes; expected %" PRIu64,
                      header->file_bytes, expected->file_bytes);
  return POLYAD_OK;
}

/* Bytes without a meaning are 0, so that one tensor has one header and a later version of the
 * format can give them a meaning that this one refuses. */
static polyad_status check_unused(polyad_context *context, const char *path,
                                  const struct pd_ptn_header *header) {
  const unsigned char *bytes = (const unsigned char *)header;
  const struct {
    size_t from, to;
  } unused[] = {
      {offsetof(struct pd_ptn_header, index_bytes) + header->order,
       offsetof(struct pd_ptn_header, dims)},
      {offsetof(struct pd_ptn_header, dims) + header->order * sizeof *header->dims,
       offsetof(struct pd_ptn_header, section)},
      {offsetof(struct pd_ptn_header, section) + header->section_count * sizeof *header->section,
       offsetof(struct pd_ptn_header, checksum)},
  };
  for (size_t k = 0; k < sizeof unused / sizeof *unused; ++k)
    for (size_t at = unused[k].from; at < unused[k].to; ++at)
      if (bytes[at] != 0)
        return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                          "byte %zu of the header is %d; expected 0, since a tensor of %" PRIu32
                          " modes does not use it",
                          at, bytes[at], header->order);
  return POLYAD_OK;
}

polyad_status pd_ptn_header_check(polyad_context *context, const char *path,
                                  const struct pd_ptn_header *header, size_t got,
                                  uint64_t file_bytes) {
  PD_TRY(pd_binary_header_check(context, path, header, got, &pd_ptn_binary));
  if (header->order == 0 || header->order > POLYAD_MAX_ORDER)
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0, "order %" PRIu32 "; expected 1 to %d",
                      header->order, POLYAD_MAX_ORDER);
  PD_TRY(check_widths(context, path, header));
  struct pd_ptn_header expected = *header;
  bool fits = pd_ptn_lay_out(&expected, declared_label_bytes(header));
  PD_TRY(check_size(context, path, header, &expected, fits, file_bytes));
  PD_TRY(check_sections(context, path, header, &expected));
  return check_unused(context, path, header);
}
