/* The iterations of a completion, written once for every device: least squares for the rows of one
 * mode after the other, or for one component after the other (linalg/completion.h), or an epoch of
 * SGD; then the objective. A device with a clock of its own times the steps. */
#include "algorithms/complete_state.h"
#include <math.h>

polyad_status pd_complete_measure(struct pd_complete *c) {
  struct pd_completion_sums sums;
  PD_TRY(c->steps->measure(c->context, c->work, &c->fitted, &sums));
  c->fallbacks += sums.fallbacks;
  c->now = (struct pd_complete_score){
      .loss = sums.loss,
      .objective = sums.loss + sums.penalty,
      .validation = c->held != NULL ? sqrt(sums.held / c->held->weights) : NAN};
  if (isfinite(c->now.objective)) return POLYAD_OK;
  return pd_fail(c->context, POLYAD_NUMERICAL,
                 "iteration %d gives numbers that are not finite; use a larger ridge",
                 c->run.iteration + 1);
}

static polyad_status complete_mark(const struct pd_complete *c, int number) {
  const struct pd_device *device = c->plan->device;
  if (device->functions->mark == NULL) return POLYAD_OK;
  return device->functions->mark(c->context, device, number);
}

static polyad_status iterate_rows(struct pd_complete *c, double *seconds) {
  for (int n = 0; n < c->order; ++n) {
    double began = pd_seconds();
    PD_TRY(complete_mark(c, 2 * n));
    PD_TRY(c->steps->solve_rows(c->context, c->work, &c->fitted, n));
    PD_TRY(complete_mark(c, 2 * n + 1));
    seconds[n] = pd_seconds() - began;
  }
  return POLYAD_OK;
}

/* All modes take the same share of the time. */
static polyad_status iterate_components(struct pd_complete *c, double *seconds) {
  double began = pd_seconds();
  PD_TRY(complete_mark(c, 0));
  for (size_t r = 0; r < c->fitted.columns; ++r)
    PD_TRY(c->steps->solve_component(c->context, c->work, &c->fitted, r));
  for (int n = 0; n < c->order; ++n) {
    PD_TRY(complete_mark(c, 2 * n + 1));
    seconds[n] = (pd_seconds() - began) / c->order;
  }
  return POLYAD_OK;
}

polyad_status pd_complete_iterate(struct pd_complete *c, double *seconds) {
  const struct pd_device *device = c->plan->device;
  bool rows = c->options->method == POLYAD_COMPLETE_ALS;
  if (c->options->method == POLYAD_COMPLETE_SGD) return pd_complete_iterate_sgd(c, seconds);
  PD_TRY(pd_complete_revive(c));
  PD_TRY(rows ? iterate_rows(c, seconds) : iterate_components(c, seconds));
  PD_TRY(pd_complete_measure(c)); /* waits, so that the marks are passed */
  for (int n = 0; n < c->order && device->functions->mark != NULL; ++n) {
    PD_TRY(
        device->functions->between(c->context, device, rows ? 2 * n : 0, 2 * n + 1, &seconds[n]));
    if (!rows) seconds[n] /= c->order;
  }
  return POLYAD_OK;
}
