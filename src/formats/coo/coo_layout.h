/* Layout of format "coo": the tensor's own arrays. */
#ifndef PD_COO_LAYOUT_H
#define PD_COO_LAYOUT_H

#include "formats/format.h"

struct pd_coo {
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
  int index_bytes[POLYAD_MAX_ORDER];
  void *index[POLYAD_MAX_ORDER];
  void *values;
};

#endif
