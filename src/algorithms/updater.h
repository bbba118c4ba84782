/* Layout of the updater: a model in double, and the sums over all slices so far. */
#ifndef PD_UPDATER_H
#define PD_UPDATER_H

#include "algorithms/double_model.h"
#include <polyad/update.h>

/* One of the modes that do not grow. */
struct pd_updated_mode {
  double *p;    /* rows x R: the sum over slices of MTTKRP_n, weights in it; of counts, of the
                   counts that each component is expected to have */
  double *q;    /* R x R: A_n = P_n Q_n^-1; of counts a diagonal */
  double *gram; /* R x R: A_n^T A_n; of counts column sums on the diagonal */
};

struct polyad_updater {
  polyad_context *context;
  polyad_update_options options;
  polyad_model_kind kind;
  polyad_type type; /* of the models it makes */
  struct pd_double_model model;
  uint64_t room; /* rows that the growing factor and `clock` have memory for */
  struct pd_updated_mode sums[POLYAD_MAX_ORDER]; /* none of the growing mode */
  double now;                                    /* logarithm of all forgetting factors so far */
  double *clock; /* `now` when each slice was added or changed: it weighs exp(now - clock) */
};

/** An updater whose sums are those of the model alone. */
polyad_status pd_updater_start(polyad_context *context, const polyad_ktensor *model,
                               const polyad_update_options *options, polyad_updater **updater);

/** Whether the factor of a mode stays nonnegative; of models of counts all do so by themselves. */
bool pd_updater_keeps_signs(const polyad_updater *updater, int mode);

#endif
