/* Layout of format "twotree": the modes, in their cyclic order, are cut into sides.
 *
 * A side of two modes or more, say modes 0 and 1 of four:
 *
 *   tuple_id[0]  [ 0 0 2 | ... ]       the distinct (i, j) of the nonzeros, in order
 *   tuple_id[1]  [ 1 7 0 | ... ]
 *   pass         one row per tuple: its nonzeros with their indices in modes 2 and 3; a pass over
 *                it gives the partial rows Y, one row of R numbers per tuple
 *   list[0]      one row per i: its tuples, each with its number (a row of Y) and its j
 *   list[1]      one row per j: its tuples, each with its number and its i
 *
 * A side of one mode has only `pass`, whose rows are those of the mode itself.
 *
 * On a GPU the same small tensors, the nonzeros with the number of their tuple and the tuples with
 * theirs, are stored as format "modecopy" stores tensors, with the copies that are needed: its
 * kernel sums the rows, Y being one more factor. */
#ifndef PD_TWOTREE_LAYOUT_H
#define PD_TWOTREE_LAYOUT_H

#include "formats/modecopy/modecopy_layout.h"
#include "formats/rowsum/rowsum_build.h"

enum { PD_TWOTREE_MAX_ORDER = 8 };

/** How the modes are cut: side s has count[s] modes from first[s] on, in the cyclic order. The
 * first side has two or more. */
struct pd_twotree_cut {
  int sides, first[PD_TWOTREE_MAX_ORDER], count[PD_TWOTREE_MAX_ORDER];
  double nanoseconds; /* estimated, of one thread for one MTTKRP in every mode */
  double plain;       /* the same of lists that are sorted by one mode each */
};

/** The modes of one side, in the cyclic order, and the others, ascending. */
struct pd_twotree_modes {
  int count, mode[PD_TWOTREE_MAX_ORDER];
  int others, other[PD_TWOTREE_MAX_ORDER];
};

struct pd_twotree_side {
  struct pd_twotree_modes modes;
  uint64_t tuples; /* distinct, of its modes; 0: the side has one mode */
  int id_bytes[PD_TWOTREE_MAX_ORDER];
  void *tuple_id[PD_TWOTREE_MAX_ORDER];
  /* On the CPU. */
  struct pd_rowsum pass;
  struct pd_rowsum list[PD_TWOTREE_MAX_ORDER]; /* of each of its modes; values are ones */
  /* On a GPU. Mode 0 of both is the number of a tuple, which `nonzeros` has a copy of, then come
   * the other modes; `by_tuple` has a copy of each of the side's modes. A side of one mode:
   * `nonzeros` has the tensor's modes, and a copy of that one. Without nonzeros all is zero. */
  struct pd_modecopy nonzeros, by_tuple;
};

/** The CPU's lists name modes of the tensor; the number `order` stands for tuples of the side. */
struct pd_twotree {
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
  bool on_gpu;
  double gain; /* predicted, over lists that are sorted by one mode each */
  int sides;
  struct pd_twotree_side side[PD_TWOTREE_MAX_ORDER];
};

/** `count` modes from `first` on, in the cyclic order. */
static inline struct pd_twotree_modes pd_twotree_modes_from(int order, int first, int count) {
  struct pd_twotree_modes modes = {0};
  for (int k = 0; k < count; ++k)
    modes.mode[modes.count++] = (first + k) % order;
  for (int n = 0; n < order; ++n)
    if ((n - first + order) % order >= count) modes.other[modes.others++] = n;
  return modes;
}

static inline struct pd_twotree_modes
pd_twotree_modes_of(int order, const struct pd_twotree_cut *cut, int side) {
  return pd_twotree_modes_from(order, cut->first[side], cut->count[side]);
}

/** The other modes of a side, a bit each: its partial rows rest on their factors. */
static inline uint64_t pd_twotree_others(const struct pd_twotree_side *side) {
  uint64_t modes = 0;
  for (int k = 0; k < side->modes.others; ++k)
    modes |= UINT64_C(1) << side->modes.other[k];
  return modes;
}

#endif
