/* Layout of format "modecopy": one list of nonzeros per mode, each in the order that suits the
 * MTTKRP of its mode. See README. */
#ifndef PD_MODECOPY_LAYOUT_H
#define PD_MODECOPY_LAYOUT_H

#include "formats/ordered/ordered.h"

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
  struct pd_ordered order; /* default variant; field[k] is the field of order.input[k] */
  /* Paper's variants: sorted by partition. */
  int scheme;           /* 1 or 2 */
  uint64_t *part_start; /* partitions + 1 */
};

struct pd_modecopy {
  enum pd_modecopy_variant variant;
  bool ends; /* the lists of "portable": without marks of runs */
  int order;
  uint64_t copies; /* bit n: mode n has a copy. All have, but in formats that are made of some */
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
  int partitions; /* kappa */
  uint64_t rank;  /* that tables of pairs are for (modecopy_pairs.h); 0: the device has none */
  int columns;    /* P: nonzeros that a thread block takes at once (GPU) */
  struct pd_modecopy_copy copy[POLYAD_MAX_ORDER];
};

static inline uint64_t pd_modecopy_padded(uint64_t nnz) { return (nnz + 3) / 4 * 4; }

static inline bool pd_modecopy_has(const struct pd_modecopy *storage, int mode) {
  return (storage->copies >> mode & 1) != 0;
}

static inline uint32_t pd_modecopy_index(const struct pd_modecopy_copy *copy, int field,
                                         uint64_t p) {
  const struct pd_modecopy_field *f = &copy->field[field];
  return (copy->plane[f->plane][p] >> f->shift) & f->mask;
}

/** Places the fields (their modes are set) into planes. */
void pd_modecopy_pack(struct pd_modecopy_copy *copy, int fields, const uint64_t *dims);

#endif
