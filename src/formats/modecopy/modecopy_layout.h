/* Layout of format "modecopy": one list of nonzeros per mode, each in the order that suits the
 * MTTKRP of its mode. See README. */
#ifndef PD_MODECOPY_LAYOUT_H
#define PD_MODECOPY_LAYOUT_H

#include "formats/format.h"

enum {
  PD_MODECOPY_CHUNK = 64,               /* nonzeros from one entry of chunk_row to the next */
  PD_MODECOPY_ROW_END = (int)(1u << 31) /* bit of plane 0 */
};

enum pd_modecopy_variant {
  PD_MODECOPY_SORTED,   /* the deterministic default */
  PD_MODECOPY_ADAPTIVE, /* the paper's choice between its schemes */
  PD_MODECOPY_SCHEME1,
  PD_MODECOPY_SCHEME2
};

/** Where the index of one mode lies: (plane[p] >> shift) & mask. */
struct pd_modecopy_field {
  int mode, plane, shift;
  uint32_t mask;
};

/** The nonzeros in the order of one mode. Arrays over nonzeros are padded to a multiple of four
 *  with zeros. */
struct pd_modecopy_copy {
  int inputs; /* fields of input modes; in the paper's variants field[inputs] is the output */
  struct pd_modecopy_field field[POLYAD_MAX_ORDER];
  int planes; /* at least 1 */
  uint32_t *plane[POLYAD_MAX_ORDER];
  void *values;
  /* Default variant: sorted by output row, then by the fields in turn. Bit 31 of plane 0 marks
   * the last nonzero of a row. */
  uint64_t rows;       /* that have nonzeros */
  uint64_t *row_start; /* rows + 1 */
  uint32_t *row_id;    /* output row; NULL when every row has nonzeros */
  uint32_t *chunk_row; /* row (as a place in row_id) of nonzero 64 c; one more at the end: rows */
  /* Paper's variants: sorted by partition. */
  int scheme;           /* 1 or 2 */
  uint64_t *part_start; /* partitions + 1 */
};

struct pd_modecopy {
  enum pd_modecopy_variant variant;
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
  int partitions; /* kappa */
  int columns;    /* P: nonzeros that a thread block takes at once (GPU) */
  double seconds_build;
  struct pd_modecopy_copy copy[POLYAD_MAX_ORDER];
};

static inline uint64_t pd_modecopy_padded(uint64_t nnz) { return (nnz + 3) / 4 * 4; }

static inline uint64_t pd_modecopy_chunks(uint64_t nnz) {
  return (nnz + PD_MODECOPY_CHUNK - 1) / PD_MODECOPY_CHUNK;
}

static inline uint32_t pd_modecopy_index(const struct pd_modecopy_copy *copy, int field,
                                         uint64_t p) {
  const struct pd_modecopy_field *f = &copy->field[field];
  return (copy->plane[f->plane][p] >> f->shift) & f->mask;
}

/** Places the fields (their modes are set) into planes; `flags` keeps bit 31 of plane 0 free. */
void pd_modecopy_pack(struct pd_modecopy_copy *copy, int fields, const uint64_t *dims, bool flags);

/** Fills field[].mode with the input modes of `mode`, outermost first, in the order that makes
 *  the fewest bytes of factor rows be loaded; `row_size` has the number of nonzeros of each
 *  output row. */
void pd_modecopy_order_inputs(const struct pd_traits *traits, uint64_t rank, polyad_type type,
                              int mode, const uint32_t *row_size, struct pd_modecopy_copy *copy);

/** The paper's scheme 1: output indices in descending order of `degree` are dealt to partitions
 *  in turn. part[i] gets the partition of index i. */
polyad_status pd_modecopy_deal(polyad_context *context, uint64_t dim, const uint32_t *degree,
                               int partitions, uint32_t *part);

#endif
