/* The outer iterations of CP-APR: when they end, and what they leave. */
#include "algorithms/apr_checkpoint.h"

static polyad_status iterate(void *state, polyad_trace_row *row, double *kernel_seconds) {
  struct pd_apr *apr = state;
  (void)kernel_seconds; /* steps are summed over inner iterations instead */
  switch (apr->options->method) {
  case POLYAD_APR_MU:
    PD_TRY(pd_apr_iterate_mu(apr));
    break;
  case POLYAD_APR_PDNR:
    PD_TRY(pd_apr_iterate_pdnr(apr));
    break;
  case POLYAD_APR_PQNR:
    PD_TRY(pd_apr_iterate_pqnr(apr));
    break;
  }
  const struct pd_apr_result *result = &apr->result;
  bool timed = apr->device->functions->timer_start == NULL ||
               apr->run.iteration - apr->run.first_iteration < 2;
  apr->timed_iterations += timed ? 1 : 0;
  row->log_likelihood = result->log_likelihood;
  row->kkt_violation = result->kkt;
  row->inner_iterations = result->inner;
  return POLYAD_OK;
}

/* No mode had to be changed, by the tolerance that was asked for: PDNR's rows are solved more
 * loosely at first. */
static bool converged(const void *state) {
  const struct pd_apr *apr = state;
  return apr->result.converged && (apr->options->method != POLYAD_APR_PDNR ||
                                   apr->row_tolerance <= apr->options->run.tolerance);
}

static polyad_status save(void *state, bool end) { return pd_apr_checkpoint_save(state, end); }

polyad_status pd_apr_run(struct pd_apr *apr, polyad_reason *reason) {
  static const struct pd_run_steps steps = {iterate, NULL, converged, save};
  return pd_run_loop(&apr->run, &steps, apr, reason);
}
