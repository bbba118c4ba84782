/* The header of a .ptn file and where its sections lie. docs/ptn-format.md is the specification. */
#ifndef PD_PTN_LAYOUT_H
#define PD_PTN_LAYOUT_H

#include "io/binary_header.h"
#include "tensor/tensor.h"

enum {
  PD_PTN_VERSION = 2, /* the newest; only files with zeros need it, others stay 1 */
  PD_PTN_ZEROS = 1,   /* flag of version 2: values may be zero */
  PD_PTN_ALIGNMENT = 64,
  PD_PTN_BLOCK_ENTRIES = 1 << 17, /* entries of an array under one checksum */
  PD_PTN_BLOCK_BYTES = 1 << 20,   /* bytes of the labels under one checksum */
  PD_PTN_MAX_SECTIONS = 20
};

extern const struct pd_binary_kind pd_ptn_binary;

enum pd_ptn_kind { PD_PTN_INDICES = 1, PD_PTN_VALUES = 2, PD_PTN_LABELS = 3, PD_PTN_CHECKSUMS = 4 };

struct pd_ptn_section {
  uint64_t offset;   /* from the start of the file, a multiple of 64 */
  uint64_t bytes;    /* without padding */
  uint64_t checksum; /* XXH3-64 of the section's block checksums; of the section itself for the
                        last one, which holds them */
  uint32_t kind;
  uint32_t mode; /* of indices, from 0; 0 for the others */
};

/* As it lies in the file, little-endian. */
struct pd_ptn_header {
  unsigned char magic[8];
  uint32_t endian_mark;
  uint32_t version;
  uint32_t header_bytes;
  uint32_t order;
  uint32_t value_kind; /* 1: IEEE 754 binary floating point */
  uint32_t value_bytes;
  uint64_t nnz;
  uint64_t file_bytes;
  uint64_t repeats_merged;
  uint64_t zeros_dropped;
  uint32_t flags; /* PD_PTN_ZEROS; none in version 1 */
  uint32_t block_entries;
  uint32_t section_count;
  uint32_t reserved;
  uint8_t index_bytes[POLYAD_MAX_ORDER];
  uint64_t dims[POLYAD_MAX_ORDER];
  struct pd_ptn_section section[PD_PTN_MAX_SECTIONS];
  unsigned char reserved_end[152];
  uint64_t checksum; /* XXH3-64 of all bytes before */
};

_Static_assert(sizeof(struct pd_ptn_header) == PD_BINARY_HEADER_BYTES, "as binary_header.h says");
_Static_assert(offsetof(struct pd_ptn_header, dims) == 96, "as docs/ptn-format.md says");
_Static_assert(offsetof(struct pd_ptn_header, section) == 224, "as docs/ptn-format.md says");

/** The header's fields of a tensor of this shape. */
void pd_ptn_header_init(struct pd_ptn_header *header, int order, const uint64_t *dims, uint64_t nnz,
                        polyad_type type);

/** Fills the section table and the size of the file; false when that passes 2^63 - 1. */
bool pd_ptn_lay_out(struct pd_ptn_header *header, uint64_t label_bytes);

/** Sets the checksums of the sections and of the header from the block checksums. */
void pd_ptn_seal(struct pd_ptn_header *header, const uint64_t *checksums);

/** Fills in the checksums of the labels' blocks, where there are labels. */
void pd_ptn_labels_checksums(const struct pd_ptn_header *header, const char *labels,
                             uint64_t *checksums);

/** Place of the first of them in the table of checksums. */
uint64_t pd_ptn_first_checksum(const struct pd_ptn_header *header, int section);

/** Section with the labels, or -1. */
int pd_ptn_label_section(const struct pd_ptn_header *header);

static inline int pd_ptn_checksum_section(const struct pd_ptn_header *header) {
  return (int)header->section_count - 1;
}

/** Bytes of one entry of an array section (indices of a mode, or values). */
static inline size_t pd_ptn_entry_bytes(const struct pd_ptn_header *header, int section) {
  return section < (int)header->order ? header->index_bytes[section] : header->value_bytes;
}

/** Blocks of each array. */
static inline uint64_t pd_ptn_array_blocks(const struct pd_ptn_header *header) {
  return header->nnz / PD_PTN_BLOCK_ENTRIES + (header->nnz % PD_PTN_BLOCK_ENTRIES != 0);
}

/** "indices of mode 2", "values", "labels", "checksums". */
const char *pd_ptn_section_name(char out[32], const struct pd_ptn_header *header, int section);

/** Proves a header: `got` bytes of it were read; the file has `file_bytes` (UINT64_MAX: not
 *  known, as in a pipe). Afterwards every size, offset and width in it can be relied on. */
polyad_status pd_ptn_header_check(polyad_context *context, const char *path,
                                  const struct pd_ptn_header *header, size_t got,
                                  uint64_t file_bytes);

/** Fails for names that promise compression: a .ptn file is read at offsets. */
polyad_status pd_ptn_name_check(polyad_context *context, const char *path);

#endif
