/* Slices that are being added to a model: see updater_add.c. */
#ifndef PD_UPDATER_ADD_H
#define PD_UPDATER_ADD_H

#include "algorithms/quadratic_row.h"
#include "algorithms/updater.h"
#include "core/stage.h"
#include "plan/plan.h"

struct pd_addition {
  struct pd_stage stage;
  polyad_context *context;
  polyad_updater *updater;
  const polyad_tensor *tensor;
  const uint64_t *rows;
  int mode;
  uint64_t rank;
  /* the touched slices: those that were there first, then the new ones */
  uint64_t *local; /* number of each slice of the tensor; UINT64_MAX: nothing to do */
  uint64_t *row;   /* row of the model of each touched slice */
  uint64_t count, old_count;
  polyad_tensor *touched;
  polyad_plan *plan;
  polyad_workspace *workspace;
  /* what is to take the place of the updater's */
  struct pd_double_model next; /* growing mode: the touched rows */
  struct pd_updated_mode sums[POLYAD_MAX_ORDER];
  double *right, *before; /* of the growing mode: touched x R */
  double *v, *w, *square; /* R x R */
  double *product;        /* longest other mode x R */
  double *weight;         /* of the slices that were there, forgetting done */
};

/** The system of a mode of the model that is being made; see pd_double_system(). */
void pd_addition_system(const struct pd_addition *addition, int mode, int skipped, double *v);

/* Of models of counts. */

/** The rows of the touched slices: those of largest likelihood. */
polyad_status pd_addition_count_slices(struct pd_addition *addition);
/** How many of the new data's counts in each row of a mode are expected to belong to each
 * component.
 *  @param[out] expected  rows x R */
polyad_status pd_addition_expect(struct pd_addition *addition, int mode, double *expected);
/** The mode's factor from its sums. */
void pd_addition_divide(struct pd_addition *addition, int mode);

#endif
