/* The core consistency of a CP model, for callers that have the tensor's tree already. */
#ifndef PD_CORE_CONSISTENCY_H
#define PD_CORE_CONSISTENCY_H

#include "algorithms/core_project.h"
#include <polyad/model.h>

/** As polyad_core_consistency(), of a model of tree->tensor.
 *  @return POLYAD_NUMERICAL, POLYAD_OVERFLOW, POLYAD_MEMORY_LIMIT, POLYAD_OUT_OF_MEMORY,
 *  POLYAD_CANCELLED */
polyad_status pd_core_consistency(struct pd_stage *stage, const struct pd_tree *tree,
                                  const polyad_ktensor *model, double *consistency);

#endif
