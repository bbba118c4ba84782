#include "io/ptn_layout.h"
#include "io/atomic_file.h"
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

const struct pd_binary_kind pd_ptn_binary = {
    .extension = ".ptn",
    .magic = {0x89, 'P', 'T', 'N', '\r', '\n', 0x1a, '\n'},
    .newest = PD_PTN_VERSION,
};

void pd_ptn_header_init(struct pd_ptn_header *header, int order, const uint64_t *dims, uint64_t nnz,
                        polyad_type type) {
  *header = (struct pd_ptn_header){.endian_mark = PD_BINARY_ENDIAN_MARK,
                                   .version = 1,
                                   .header_bytes = sizeof *header,
                                   .order = (uint32_t)order,
                                   .value_kind = 1,
                                   .value_bytes = (uint32_t)pd_type_bytes(type),
                                   .nnz = nnz,
                                   .block_entries = PD_PTN_BLOCK_ENTRIES};
  memcpy(header->magic, pd_ptn_binary.magic, sizeof header->magic);
  for (int n = 0; n < order; ++n) {
    header->dims[n] = dims[n];
    header->index_bytes[n] = (uint8_t)pd_index_bytes(dims[n]);
  }
}

static bool add_section(struct pd_ptn_header *header, uint32_t kind, uint32_t mode, uint64_t count,
                        uint64_t size) {
  uint64_t offset, bytes, end;
  if (!pd_mul(count, size, &bytes)) return false;
  if (!pd_add(header->file_bytes, PD_PTN_ALIGNMENT - 1, &offset)) return false;
  offset &= ~(uint64_t)(PD_PTN_ALIGNMENT - 1);
  if (!pd_add(offset, bytes, &end) || end > INT64_MAX) return false;
  header->section[header->section_count++] =
      (struct pd_ptn_section){.offset = offset, .bytes = bytes, .kind = kind, .mode = mode};
  header->file_bytes = end;
  return true;
}

/* Number of block checksums of a section. */
static uint64_t section_blocks(const struct pd_ptn_header *header, int section) {
  const struct pd_ptn_section *s = &header->section[section];
  if (s->kind == PD_PTN_CHECKSUMS) return 0;
  if (s->kind == PD_PTN_LABELS)
    return s->bytes / PD_PTN_BLOCK_BYTES + (s->bytes % PD_PTN_BLOCK_BYTES != 0);
  return pd_ptn_array_blocks(header);
}

bool pd_ptn_lay_out(struct pd_ptn_header *header, uint64_t label_bytes) {
  header->section_count = 0;
  header->file_bytes = sizeof *header;
  for (uint32_t n = 0; n < header->order; ++n)
    if (!add_section(header, PD_PTN_INDICES, n, header->nnz, header->index_bytes[n])) return false;
  if (!add_section(header, PD_PTN_VALUES, 0, header->nnz, header->value_bytes)) return false;
  if (label_bytes > 0 && !add_section(header, PD_PTN_LABELS, 0, label_bytes, 1)) return false;
  uint64_t blocks = 0;
  for (int s = 0; s < (int)header->section_count; ++s)
    blocks += section_blocks(header, s);
  return add_section(header, PD_PTN_CHECKSUMS, 0, blocks, sizeof(uint64_t));
}

uint64_t pd_ptn_first_checksum(const struct pd_ptn_header *header, int section) {
  uint64_t first = 0;
  for (int s = 0; s < section; ++s)
    first += section_blocks(header, s);
  return first;
}

int pd_ptn_label_section(const struct pd_ptn_header *header) {
  int section = (int)header->order + 1;
  return header->section[section].kind == PD_PTN_LABELS ? section : -1;
}

void pd_ptn_labels_checksums(const struct pd_ptn_header *header, const char *labels,
                             uint64_t *checksums) {
  int section = pd_ptn_label_section(header);
  if (section < 0) return;
  uint64_t *out = checksums + pd_ptn_first_checksum(header, section);
  uint64_t bytes = header->section[section].bytes;
  for (uint64_t at = 0; at < bytes; at += PD_PTN_BLOCK_BYTES)
    *out++ = XXH3_64bits(labels + at, bytes - at < PD_PTN_BLOCK_BYTES ? (size_t)(bytes - at)
                                                                      : PD_PTN_BLOCK_BYTES);
}

void pd_ptn_seal(struct pd_ptn_header *header, const uint64_t *checksums) {
  int last = pd_ptn_checksum_section(header);
  for (int s = 0; s < last; ++s)
    header->section[s].checksum =
        XXH3_64bits(checksums + pd_ptn_first_checksum(header, s),
                    (size_t)section_blocks(header, s) * sizeof *checksums);
  header->section[last].checksum = XXH3_64bits(checksums, (size_t)header->section[last].bytes);
  pd_binary_seal(header);
}

const char *pd_ptn_section_name(char out[32], const struct pd_ptn_header *header, int section) {
  const struct pd_ptn_section *s = &header->section[section];
  if (s->kind == PD_PTN_INDICES)
    snprintf(out, 32, "indices of mode %u", s->mode + 1);
  else
    snprintf(out, 32, "%s",
             s->kind == PD_PTN_VALUES   ? "values"
             : s->kind == PD_PTN_LABELS ? "labels"
                                        : "checksums");
  return out;
}

polyad_status pd_ptn_name_check(polyad_context *context, const char *path) {
  if (pd_compression_of(path) == PD_PLAIN) return POLYAD_OK;
  return pd_fail_at(context, POLYAD_INVALID_ARGUMENT, path, 0, 0,
                    ".ptn files are not compressed; expected a name without .gz or .zst");
}
