/* A Kruskal or a Tucker tensor as the arrays that it consists of: for what treats both alike, such
 * as files and hashes. */
#ifndef PD_MODEL_ARRAYS_H
#define PD_MODEL_ARRAYS_H

#include "core/core.h"
#include <polyad/model.h>
#include <polyad/ttensor.h>

struct pd_model {
  bool tucker;
  int order;
  polyad_type type;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t ranks[POLYAD_MAX_ORDER]; /* columns of each factor; of a Kruskal tensor all the same */
  uint64_t entries;                 /* of `first` */
  void *first;                      /* the weights, or the core */
  void *factor[POLYAD_MAX_ORDER];
  const polyad_tensor *outline; /* names and labels of the modes; NULL: none */
  int top;                      /* strongest rows that a list of them shows */
};

/** The arrays stay the tensor's; of NULL the order is 0. */
struct pd_model pd_model_of_ktensor(const polyad_ktensor *ktensor);
struct pd_model pd_model_of_ttensor(const polyad_ttensor *ttensor);

#endif
