/* The header of a .ptm file, polyad's binary of a model, and where its sections lie.
 * docs/ptm-format.md is the specification. */
#ifndef PD_PTM_LAYOUT_H
#define PD_PTM_LAYOUT_H

#include "io/binary_header.h"
#include "tensor/tensor.h"

enum {
  PD_PTM_VERSION = 1,
  PD_PTM_ALIGNMENT = 64,
  PD_PTM_BLOCK_BYTES = 1 << 20, /* bytes of a section under one checksum */
  PD_PTM_MAX_SECTIONS = 18
};

extern const struct pd_binary_kind pd_ptm_binary;

enum pd_ptm_kind { PD_PTM_KRUSKAL = 1, PD_PTM_TUCKER = 2 };

struct pd_ptm_section {
  uint64_t offset;   /* from the start of the file, a multiple of 64 */
  uint64_t bytes;    /* without padding */
  uint64_t checksum; /* XXH3-64 of the XXH3-64 of its blocks */
};

/* As it lies in the file, little-endian. */
struct pd_ptm_header {
  unsigned char magic[8];
  uint32_t endian_mark;
  uint32_t version;
  uint32_t header_bytes;
  uint32_t kind; /* pd_ptm_kind */
  uint32_t order;
  uint32_t value_bytes; /* 4 or 8: IEEE 754 binary floating point */
  uint64_t file_bytes;
  uint32_t section_count;
  uint32_t flags; /* none defined: 0 */
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t ranks[POLYAD_MAX_ORDER]; /* columns of each factor; of a Kruskal tensor all the same */
  /* weights or core; the factors; names and labels, where there are any */
  struct pd_ptm_section section[PD_PTM_MAX_SECTIONS];
  unsigned char reserved[280];
  uint64_t checksum; /* XXH3-64 of all bytes before */
};

_Static_assert(sizeof(struct pd_ptm_header) == PD_BINARY_HEADER_BYTES, "as binary_header.h says");
_Static_assert(offsetof(struct pd_ptm_header, dims) == 48, "as docs/ptm-format.md says");
_Static_assert(offsetof(struct pd_ptm_header, section) == 304, "as docs/ptm-format.md says");

/** The header of a model: shape, section table and size of the file. False when that passes
 *  2^63 - 1. */
bool pd_ptm_header_make(struct pd_ptm_header *header, enum pd_ptm_kind kind, int order,
                        const uint64_t *dims, const uint64_t *ranks, polyad_type type,
                        uint64_t label_bytes);

/** Checksum of a section: its blocks are hashed by several threads. */
polyad_status pd_ptm_checksum(polyad_context *context, const void *data, uint64_t bytes,
                              uint64_t *checksum);

/** Proves a header of which `got` bytes were read, from a file of `file_bytes` (0: not known).
 *  Afterwards every size and offset in it can be relied on. */
polyad_status pd_ptm_header_check(polyad_context *context, const char *path,
                                  const struct pd_ptm_header *header, size_t got,
                                  uint64_t file_bytes);

/** "weights", "core", "factor of mode 2", "labels". */
const char *pd_ptm_section_name(char out[32], const struct pd_ptm_header *header, int section);

#endif
