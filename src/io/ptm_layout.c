/* The layout of a .ptm file follows from kind, dims and ranks: making a header lays the sections
 * out, and checking one lays them out again and compares. */
#include "io/ptm_layout.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

const struct pd_binary_kind pd_ptm_binary = {
    .extension = ".ptm",
    .magic = {0x89, 'P', 'T', 'M', '\r', '\n', 0x1a, '\n'},
    .newest = PD_PTM_VERSION,
};

/* Entries of section 0: the weights, or the core. UINT64_MAX: more than 64 bits hold. */
static uint64_t first_entries(const struct pd_ptm_header *header) {
  uint64_t entries = header->ranks[0];
  for (uint32_t n = 1; n < header->order && header->kind == PD_PTM_TUCKER; ++n)
    entries = pd_mul_saturated(entries, header->ranks[n]);
  return entries;
}

/* Gives each section its place; false when the file would pass 2^63 - 1 bytes. */
static bool lay_out(struct pd_ptm_header *header, uint64_t label_bytes) {
  uint64_t at = sizeof *header, end = at;
  header->section_count = header->order + 1 + (label_bytes > 0);
  for (uint32_t s = 0; s < header->section_count; ++s) {
    uint64_t entries = s == 0 ? first_entries(header) : UINT64_MAX, bytes = label_bytes;
    if (s >= 1 && s <= header->order)
      entries = pd_mul_saturated(header->dims[s - 1], header->ranks[s - 1]);
    if (s <= header->order) bytes = pd_mul_saturated(entries, header->value_bytes);
    if (bytes > INT64_MAX || !pd_add(at, bytes, &end) || end > INT64_MAX - PD_PTM_ALIGNMENT)
      return false;
    header->section[s].offset = at;
    header->section[s].bytes = bytes;
    at = (end + PD_PTM_ALIGNMENT - 1) / PD_PTM_ALIGNMENT * PD_PTM_ALIGNMENT;
  }
  header->file_bytes = end;
  return true;
}

bool pd_ptm_header_make(struct pd_ptm_header *header, enum pd_ptm_kind kind, int order,
                        const uint64_t *dims, const uint64_t *ranks, polyad_type type,
                        uint64_t label_bytes) {
  *header = (struct pd_ptm_header){.endian_mark = PD_BINARY_ENDIAN_MARK,
                                   .version = PD_PTM_VERSION,
                                   .header_bytes = sizeof *header,
                                   .kind = (uint32_t)kind,
                                   .order = (uint32_t)order,
                                   .value_bytes = (uint32_t)pd_type_bytes(type)};
  memcpy(header->magic, pd_ptm_binary.magic, sizeof header->magic);
  memcpy(header->dims, dims, (size_t)order * sizeof *dims);
  memcpy(header->ranks, ranks, (size_t)order * sizeof *ranks);
  return lay_out(header, label_bytes);
}

polyad_status pd_ptm_checksum(polyad_context *context, const void *data, uint64_t bytes,
                              uint64_t *checksum) {
  uint64_t blocks = bytes / PD_PTM_BLOCK_BYTES + (bytes % PD_PTM_BLOCK_BYTES != 0), *of_block;
  PD_TRY(PD_NEW(context, blocks, &of_block));
  int threads = pd_threads_for(context, blocks, 1);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t b = 0; b < blocks; ++b) {
    uint64_t begin = b * PD_PTM_BLOCK_BYTES, rest = bytes - begin;
    of_block[b] = XXH3_64bits((const char *)data + begin,
                              (size_t)(rest < PD_PTM_BLOCK_BYTES ? rest : PD_PTM_BLOCK_BYTES));
  }
  *checksum = XXH3_64bits(of_block, (size_t)blocks * sizeof *of_block);
  pd_free(context, of_block);
  return POLYAD_OK;
}

const char *pd_ptm_section_name(char out[32], const struct pd_ptm_header *header, int section) {
  if (section == 0)
    snprintf(out, 32, "%s", header->kind == PD_PTM_TUCKER ? "core" : "weights");
  else if (section <= (int)header->order)
    snprintf(out, 32, "factor of mode %d", section);
  else
    snprintf(out, 32, "labels");
  return out;
}

/* ---- checking ---------------------------------------------------------------------------------
 */

static polyad_status ptm_layout_check_shape(polyad_context *context, const char *path,
                                            const struct pd_ptm_header *header) {
  if (header->flags != 0)
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0, "flags %" PRIx32 "; expected 0",
                      header->flags);
  if ((header->kind != PD_PTM_KRUSKAL && header->kind != PD_PTM_TUCKER) || header->order < 1 ||
      header->order > POLYAD_MAX_ORDER || (header->value_bytes != 4 && header->value_bytes != 8))
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "model of kind %" PRIu32 " with %" PRIu32 " modes and numbers of %" PRIu32
                      " bytes; expected kind 1 or 2, 1 to %d modes, 4 or 8 bytes",
                      header->kind, header->order, header->value_bytes, POLYAD_MAX_ORDER);
  for (uint32_t n = 0; n < header->order; ++n) {
    bool same = header->kind == PD_PTM_TUCKER || header->ranks[n] == header->ranks[0];
    if (header->dims[n] < 1 || header->dims[n] > INT64_MAX || header->ranks[n] < 1 || !same)
      return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                        "mode %" PRIu32 " has length %" PRIu64 " and rank %" PRIu64
                        "; expected at least 1, and one rank for all modes of a Kruskal tensor",
                        n + 1, header->dims[n], header->ranks[n]);
  }
  return POLYAD_OK;
}

polyad_status pd_ptm_header_check(polyad_context *context, const char *path,
                                  const struct pd_ptm_header *header, size_t got,
                                  uint64_t file_bytes) {
  PD_TRY(pd_binary_header_check(context, path, header, got, &pd_ptm_binary));
  PD_TRY(ptm_layout_check_shape(context, path, header));
  struct pd_ptm_header expected;
  bool labelled = header->section_count == header->order + 2;
  uint64_t label_bytes = labelled ? header->section[header->order + 1].bytes : 0;
  bool fits = pd_ptm_header_make(&expected, (enum pd_ptm_kind)header->kind, (int)header->order,
                                 header->dims, header->ranks,
                                 header->value_bytes == 4 ? POLYAD_F32 : POLYAD_F64, label_bytes);
  for (int s = 0; s < PD_PTM_MAX_SECTIONS; ++s)
    expected.section[s].checksum =
        s < (int)expected.section_count ? header->section[s].checksum : 0;
  expected.checksum = header->checksum;
  if (!fits || memcmp(&expected, header, sizeof expected) != 0)
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "the sections do not follow from dims and ranks; the header is damaged");
  if (file_bytes != 0 && file_bytes != header->file_bytes)
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "declares %" PRIu64 " bytes, file has %" PRIu64 ": %s", header->file_bytes,
                      file_bytes,
                      file_bytes < header->file_bytes ? "it is truncated or damaged"
                                                      : "it has surplus bytes or is damaged");
  return POLYAD_OK;
}
