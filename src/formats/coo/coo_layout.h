/* Layout of format "coo": for each mode one list of all nonzeros, sorted by that mode. */
#ifndef PD_COO_LAYOUT_H
#define PD_COO_LAYOUT_H

#include "formats/nonzeros/nonzeros.h"
#include "formats/rowsum/rowsum_build.h"

struct pd_coo {
  struct pd_nz head; /* for the mechanism of GPUs: the same facts, without decoding */
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
  bool atomic; /* variant paper: one list and permutations, rows that threads share summed by atomic
                  operations */
  struct pd_rowsum_shared shared;          /* variant paper on the CPU */
  struct pd_rowsum list[POLYAD_MAX_ORDER]; /* list[n] gives the MTTKRP of mode n */
};

#endif
