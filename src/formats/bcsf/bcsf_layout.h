/* Layout of format "bcsf": a tree of compressed fibers for each mode, long fibers cut; see
 * README.md. */
#ifndef PD_BCSF_LAYOUT_H
#define PD_BCSF_LAYOUT_H

#include "formats/fibers/fibers.h"

enum { PD_BCSF_FIBER_MOST = 128 /* nonzeros of a fiber segment */ };

struct pd_bcsf {
  struct pd_nz head;
  struct pd_fibers tree[POLYAD_MAX_ORDER]; /* tree[n] gives the MTTKRP of mode n */
};

#endif
