/* Layout of format "fwc": for each mode, compressed fibers that know all their indices; see
 * README.md. */
#ifndef PD_FWC_LAYOUT_H
#define PD_FWC_LAYOUT_H

#include "formats/nonzeros/nonzeros.h"

enum { PD_FWC_UNIT = 64 };

/** All nonzeros as fibers, sorted by the output mode. */
struct pd_fwc_mode {
  int level[POLYAD_MAX_ORDER]; /* the output mode first, the fibers' mode last */
  uint32_t fibers;
  uint32_t *start;                /* fibers + 1: first nonzero of each */
  uint32_t *id[POLYAD_MAX_ORDER]; /* of each fiber in all levels but the last; of each nonzero */
  uint32_t *unit_fiber;           /* fiber of nonzero 64 c, see pd_nz_pieces */
  void *values;
};

struct pd_fwc {
  struct pd_nz head;
  struct pd_fwc_mode mode[POLYAD_MAX_ORDER];
};

#endif
