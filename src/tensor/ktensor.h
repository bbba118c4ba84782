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

/** A component's weight, and its number before components are sorted. */
struct pd_component {
  double weight;
  uint64_t place;
};

/** The order in which polyad_ktensor_arrange() sorts the components: order[k].place is the number
 * of what comes to place k. */
void pd_ktensor_order(const polyad_ktensor *ktensor, struct pd_component *order);

#endif
