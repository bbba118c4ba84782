/* Layout of format "fcoo": for each mode, indices of the other modes and a bit per nonzero that
 * says whether an output row begins; see README.md. */
#ifndef PD_FCOO_LAYOUT_H
#define PD_FCOO_LAYOUT_H

#include "formats/nonzeros/nonzeros.h"

enum { PD_FCOO_UNIT = 64 };

/** All nonzeros, sorted by one mode. */
struct pd_fcoo_mode {
  int level[POLYAD_MAX_ORDER];    /* the output mode first */
  uint32_t *id[POLYAD_MAX_ORDER]; /* of each level but the first */
  uint64_t *flags;                /* bit p % 64 of word p / 64: nonzero p begins a row */
  uint32_t rows;                  /* that have nonzeros */
  uint32_t *row_id;
  uint32_t *unit_row; /* which of them nonzero 64 c belongs to */
  void *values;
};

struct pd_fcoo {
  struct pd_nz head;
  struct pd_fcoo_mode mode[POLYAD_MAX_ORDER];
};

/** Which row nonzero p belongs to. */
static inline uint32_t pd_fcoo_row(const struct pd_fcoo_mode *mode, uint64_t p) {
  /* The flags after the unit's first nonzero, up to p. */
  uint64_t flags = mode->flags[p / 64] & ~UINT64_C(1) & (~UINT64_C(0) >> (63 - p % 64));
  return mode->unit_row[p / 64] + (uint32_t)__builtin_popcountll(flags);
}

#endif
