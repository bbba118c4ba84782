/* Layout of format "hbcsf": for each mode, its slices in three kinds of lists; see README.md. */
#ifndef PD_HBCSF_LAYOUT_H
#define PD_HBCSF_LAYOUT_H

#include "formats/fibers/fibers.h"

enum { PD_HBCSF_FIBER_MOST = 128, PD_HBCSF_UNIT = 64 };

/** All nonzeros, for one output mode. */
struct pd_hbcsf_mode {
  int level[POLYAD_MAX_ORDER]; /* the output mode first */
  /* Slices of one nonzero: coordinates. */
  uint32_t singles;
  uint32_t *single_id[POLYAD_MAX_ORDER]; /* of each level */
  void *single_values;
  /* Slices whose fibers all have one nonzero: compressed slices. */
  uint32_t listed, slices;
  uint32_t *slice_id, *slice_start;
  uint32_t *listed_id[POLYAD_MAX_ORDER]; /* of each level but the first */
  void *listed_values;
  uint32_t *unit_slice; /* slice of nonzero 64 c, see pd_nz_pieces */
  /* All others. */
  struct pd_fibers tree;
};

struct pd_hbcsf {
  struct pd_nz head;
  struct pd_hbcsf_mode mode[POLYAD_MAX_ORDER];
};

#endif
