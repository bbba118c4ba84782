/* Layout of format "mmcsf": every nonzero once, in a tree whose leaves run along the mode in which
 * its fiber is longest; see README.md. */
#ifndef PD_MMCSF_LAYOUT_H
#define PD_MMCSF_LAYOUT_H

#include "formats/fibers/fibers.h"

struct pd_mmcsf {
  struct pd_nz head;
  int trees;
  struct pd_fibers tree[POLYAD_MAX_ORDER];
  uint32_t first[POLYAD_MAX_ORDER + 1]; /* nonzeros before each tree */
  int levels[POLYAD_MAX_ORDER];
};

#endif
