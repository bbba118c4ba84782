/* Layout of the Kruskal tensor. */
#ifndef PD_KTENSOR_H
#define PD_KTENSOR_H

#include "core/core.h"
#include <polyad/model.h>

struct polyad_ktensor {
  polyad_context *context;
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t rank;
  polyad_type type;
  void *weights;                  /* rank numbers */
  void *factor[POLYAD_MAX_ORDER]; /* dims[n] x rank, row major */
};

#endif
