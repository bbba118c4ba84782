/* Layout of format "coo": for each mode one list of all nonzeros, sorted by that mode. The CPU's
 * lists are cut into tiles and have narrow indices; those of devices are plain arrays. */
#ifndef PD_COO_LAYOUT_H
#define PD_COO_LAYOUT_H

#include "formats/nonzeros/nonzeros.h"
#include "formats/rowsum/rowsum_build.h"

/** A list on a device. */
struct pd_coo_flat {
  int level[POLYAD_MAX_ORDER];       /* modes that it is sorted by, in turn */
  uint32_t *index[POLYAD_MAX_ORDER]; /* of each level */
  void *values;
};

struct pd_coo {
  struct pd_nz head; /* for the mechanism of GPUs: the same facts, without decoding */
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
  bool atomic; /* variant paper: one list and permutations, rows that threads share summed by atomic
                  operations */
  struct pd_rowsum_shared shared;          /* variant paper on the CPU */
  struct pd_rowsum list[POLYAD_MAX_ORDER]; /* list[n] gives the MTTKRP of mode n: the CPU's */
  int flats;                               /* lists of devices: one per mode, or one for all */
  struct pd_coo_flat flat[POLYAD_MAX_ORDER];
};

#endif
