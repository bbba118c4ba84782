/* The outer iterations of CP-APR: when they end, and what they leave. */
#include "algorithms/apr_checkpoint.h"
#include <math.h>

static polyad_status iterate(struct pd_apr *apr) {
  double before = apr->result.log_likelihood;
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
  bool timed =
      apr->device->functions->timer_start == NULL || apr->iteration - apr->first_iteration < 2;
  apr->timed_iterations += timed ? 1 : 0;
  apr->iteration += 1;
  apr->change = apr->iteration > 1 ? apr->result.log_likelihood - before : NAN;
  return POLYAD_OK;
}

static void record(struct pd_apr *apr) {
  const struct pd_apr_result *result = &apr->result;
  apr->trace[apr->iteration - 1] = (polyad_trace_row){.iteration = apr->iteration,
                                                      .fit = NAN,
                                                      .residual = NAN,
                                                      .seconds = pd_apr_seconds(apr),
                                                      .log_likelihood = result->log_likelihood,
                                                      .kkt_violation = result->kkt,
                                                      .inner_iterations = result->inner};
  pd_log(apr->context, POLYAD_LOG_DEBUG,
         "iteration %d: log-likelihood %.12g, KKT violation %.3g, %llu inner iterations",
         apr->iteration, result->log_likelihood, result->kkt, (unsigned long long)result->inner);
}

/* Whether the caller wants the run to end. */
static bool interrupted(struct pd_apr *apr) {
  polyad_progress progress = {.iteration = apr->iteration,
                              .max_iterations = apr->options->max_iterations,
                              .fit = NAN,
                              .change = apr->change,
                              .log_likelihood = apr->result.log_likelihood,
                              .kkt_violation = apr->result.kkt,
                              .seconds = pd_apr_seconds(apr),
                              .restart = apr->restart};
  bool end = pd_report_progress(apr->context, &progress);
  return end || pd_cancelled(apr->context);
}

/* No mode had to be changed, by the tolerance that was asked for: PDNR's rows are solved more
 * loosely at first. */
static bool converged(const struct pd_apr *apr) {
  return apr->iteration > 0 && apr->result.converged &&
         (apr->options->method != POLYAD_APR_PDNR || apr->row_tolerance <= apr->options->tolerance);
}

static bool out_of_time(const struct pd_apr *apr) {
  double limit = apr->options->max_seconds;
  return limit > 0 && pd_seconds() - apr->started >= limit;
}

static polyad_status step(struct pd_apr *apr, bool *ends, polyad_reason *reason) {
  PD_TRY(pd_apr_reserve(apr, apr->iteration + 1));
  PD_TRY(iterate(apr));
  record(apr);
  bool interrupts = interrupted(apr);
  *ends = true;
  if (converged(apr))
    *reason = POLYAD_REASON_TOLERANCE;
  else if (interrupts)
    *reason = POLYAD_REASON_CANCELLED;
  else if (out_of_time(apr))
    *reason = POLYAD_REASON_MAX_SECONDS;
  else
    *ends = apr->iteration >= apr->options->max_iterations;
  return pd_apr_checkpoint_save(apr, *ends);
}

polyad_status pd_apr_run(struct pd_apr *apr, polyad_reason *reason) {
  *reason = POLYAD_REASON_MAX_ITERATIONS;
  if (converged(apr)) { /* resumed where the run before had ended */
    *reason = POLYAD_REASON_TOLERANCE;
    return POLYAD_OK;
  }
  bool ends = apr->iteration >= apr->options->max_iterations;
  while (!ends)
    PD_TRY(step(apr, &ends, reason));
  return POLYAD_OK;
}
