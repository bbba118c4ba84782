#include "algorithms/apr_checkpoint.h"
#include "algorithms/run_checkpoint.h"
#include <inttypes.h>
#include <math.h>

/* What stands before trace, weights, factors and (MU) the matrices Phi. Fields have no padding. */
struct saved {
  struct pd_run_head head;
  uint64_t max_inner_iterations, inexact, memory;
  double tolerance, epsilon, kappa, kappa_tolerance, active_tolerance, damping;
  /* Where the run stands. */
  uint64_t iteration, inner, converged;
  double log_likelihood, kkt, change, row_tolerance, seconds;
};

struct saved_row {
  double log_likelihood, kkt, seconds;
  uint64_t inner;
};

static const char *name_of(polyad_apr_method method) {
  return method == POLYAD_APR_MU ? "apr_mu" : method == POLYAD_APR_PDNR ? "apr_pdn" : "apr_pqn";
}

static struct saved describe(const struct pd_apr *apr) {
  const polyad_cp_apr_options *options = apr->options;
  return (struct saved){
      .head = pd_run_head_make(apr->context, apr->plan, name_of(options->method), options->rank),
      .max_inner_iterations = (uint64_t)options->max_inner_iterations,
      .inexact = options->inexact != 0,
      .memory = (uint64_t)options->memory,
      .tolerance = options->run.tolerance,
      .epsilon = options->epsilon,
      .kappa = options->kappa,
      .kappa_tolerance = options->kappa_tolerance,
      .active_tolerance = options->active_tolerance,
      .damping = options->damping,
      .iteration = (uint64_t)apr->run.iteration,
      .inner = apr->result.inner,
      .converged = apr->result.converged,
      .log_likelihood = apr->result.log_likelihood,
      .kkt = apr->result.kkt,
      .change = apr->run.change,
      .row_tolerance = apr->row_tolerance,
      .seconds = pd_run_seconds(&apr->run)};
}

static uint64_t factor_bytes(const struct pd_apr *apr, int n) {
  return apr->plan->dims[n] * apr->options->rank * pd_type_bytes(apr->plan->type);
}

/* ---- saving ----------------------------------------------------------------------------- */

/* Phi of one mode on its way to the file or back. */
static polyad_status new_buffer(struct pd_apr *apr, void **buffer) {
  uint64_t most = 1;
  for (int n = 0; n < apr->order; ++n)
    if (factor_bytes(apr, n) > most) most = factor_bytes(apr, n);
  return pd_alloc(apr->context, most, 1, buffer);
}

static polyad_status put_trace(const struct pd_apr *apr) {
  for (int i = 0; i < apr->run.iteration; ++i) {
    const polyad_trace_row *row = &apr->run.trace[i];
    struct saved_row saved = {row->log_likelihood, row->kkt_violation, row->seconds,
                              row->inner_iterations};
    PD_TRY(pd_checkpoint_put(apr->checkpoint, &saved, sizeof saved));
  }
  return POLYAD_OK;
}

static polyad_status put_phi(struct pd_apr *apr) {
  if (apr->options->method != POLYAD_APR_MU) return POLYAD_OK;
  void *buffer = NULL;
  polyad_status status = new_buffer(apr, &buffer);
  for (int n = 0; n < apr->order && status == POLYAD_OK; ++n) {
    status = pd_matrix_to_host(apr->context, &apr->phi[n], buffer);
    if (status == POLYAD_OK)
      status = pd_checkpoint_put(apr->checkpoint, buffer, (size_t)factor_bytes(apr, n));
  }
  pd_free(apr->context, buffer);
  return status;
}

static polyad_status put_state(struct pd_apr *apr) {
  struct saved saved = describe(apr);
  PD_TRY(pd_checkpoint_begin(apr->checkpoint));
  PD_TRY(pd_checkpoint_put(apr->checkpoint, &saved, sizeof saved));
  PD_TRY(put_trace(apr));
  PD_TRY(pd_checkpoint_put(apr->checkpoint, apr->host_lambda,
                           (size_t)apr->options->rank * sizeof(double)));
  for (int n = 0; n < apr->order; ++n)
    PD_TRY(pd_checkpoint_put(apr->checkpoint, apr->model->factor[n], (size_t)factor_bytes(apr, n)));
  return put_phi(apr);
}

polyad_status pd_apr_checkpoint_open(struct pd_apr *apr) {
  if (apr->options->run.checkpoint == NULL) return POLYAD_OK;
  PD_TRY(pd_checkpoint_open(apr->context, apr->options->run.checkpoint, &apr->checkpoint));
  PD_TRY(put_state(apr));
  return pd_checkpoint_rehearse(apr->checkpoint);
}

polyad_status pd_apr_checkpoint_save(struct pd_apr *apr, bool end) {
  if (apr->checkpoint == NULL) return POLYAD_OK;
  if (!end && apr->run.iteration % apr->options->run.checkpoint_every != 0) return POLYAD_OK;
  PD_TRY(pd_apr_download(apr));
  pd_run_save_end(apr->context, apr->checkpoint, put_state(apr), apr->run.iteration, &apr->unsaved);
  return POLYAD_OK;
}

void pd_apr_checkpoint_close(struct pd_apr *apr) {
  pd_checkpoint_close(apr->checkpoint);
  apr->checkpoint = NULL;
}

/* ---- resuming --------------------------------------------------------------------------- */

static polyad_status compare_options(struct pd_apr *apr, const char *path,
                                     const struct saved *there, const struct saved *here) {
  polyad_context *context = apr->context;
  PD_TRY(pd_run_compare(context, path, "inner iterations", there->max_inner_iterations,
                        here->max_inner_iterations));
  PD_TRY(pd_run_compare(context, path, "inexact", there->inexact, here->inexact));
  PD_TRY(pd_run_compare(context, path, "memory", there->memory, here->memory));
  PD_TRY(pd_run_compare_real(context, path, "tolerance", there->tolerance, here->tolerance));
  PD_TRY(pd_run_compare_real(context, path, "epsilon", there->epsilon, here->epsilon));
  PD_TRY(pd_run_compare_real(context, path, "kappa", there->kappa, here->kappa));
  PD_TRY(pd_run_compare_real(context, path, "kappa_tolerance", there->kappa_tolerance,
                             here->kappa_tolerance));
  PD_TRY(pd_run_compare_real(context, path, "active_tolerance", there->active_tolerance,
                             here->active_tolerance));
  return pd_run_compare_real(context, path, "damping", there->damping, here->damping);
}

static polyad_status check_size(struct pd_apr *apr, struct pd_checkpoint_input *input,
                                const struct saved *saved) {
  uint64_t bytes = pd_mul_saturated(saved->iteration, sizeof(struct saved_row));
  uint64_t copies = apr->options->method == POLYAD_APR_MU ? 2 : 1;
  bytes = pd_add_saturated(bytes, apr->options->rank * sizeof(double));
  for (int n = 0; n < apr->order; ++n)
    bytes = pd_add_saturated(bytes, copies * factor_bytes(apr, n));
  if (saved->iteration < INT32_MAX / 2 && bytes == pd_checkpoint_left(input)) return POLYAD_OK;
  return pd_fail_at(apr->context, POLYAD_PARSE, pd_checkpoint_input_path(input), 0, 0,
                    "the checkpoint holds %" PRIu64 " bytes of factors and trace; expected "
                    "%" PRIu64,
                    pd_checkpoint_left(input), bytes);
}

static polyad_status get_trace(struct pd_apr *apr, struct pd_checkpoint_input *input,
                               int iterations) {
  PD_TRY(pd_run_reserve(&apr->run, iterations));
  for (int i = 0; i < iterations; ++i) {
    struct saved_row row;
    PD_TRY(pd_checkpoint_get(input, &row, sizeof row));
    apr->run.trace[i] = (polyad_trace_row){.iteration = i + 1,
                                           .fit = NAN,
                                           .residual = NAN,
                                           .seconds = row.seconds,
                                           .log_likelihood = row.log_likelihood,
                                           .kkt_violation = row.kkt,
                                           .inner_iterations = row.inner};
  }
  return POLYAD_OK;
}

static polyad_status get_matrices(struct pd_apr *apr, struct pd_checkpoint_input *input) {
  polyad_context *context = apr->context;
  uint64_t rank = apr->options->rank;
  polyad_type type = apr->plan->type;
  PD_TRY(pd_run_get_finite(context, input, POLYAD_F64, rank, apr->host_lambda, "weights"));
  for (int n = 0; n < apr->order; ++n) {
    PD_TRY(pd_run_get_finite(context, input, type, apr->plan->dims[n] * rank, apr->model->factor[n],
                             "factors"));
    PD_TRY(pd_matrix_from_host(context, &apr->factor[n], apr->model->factor[n]));
  }
  PD_TRY(pd_matrix_from_host(context, &apr->lambda, apr->host_lambda));
  if (apr->options->method != POLYAD_APR_MU) return POLYAD_OK;
  void *buffer = NULL;
  polyad_status status = new_buffer(apr, &buffer);
  for (int n = 0; n < apr->order && status == POLYAD_OK; ++n) {
    status =
        pd_run_get_finite(context, input, type, apr->plan->dims[n] * rank, buffer, "matrices Phi");
    if (status == POLYAD_OK) status = pd_matrix_from_host(context, &apr->phi[n], buffer);
  }
  pd_free(context, buffer);
  return status;
}

static polyad_status get_state(struct pd_apr *apr, struct pd_checkpoint_input *input) {
  const char *path = pd_checkpoint_input_path(input);
  struct saved there, here = describe(apr);
  PD_TRY(pd_checkpoint_get(input, &there, sizeof there));
  PD_TRY(pd_run_head_compare(apr->context, path, &there.head, &here.head));
  PD_TRY(compare_options(apr, path, &there, &here));
  PD_TRY(check_size(apr, input, &there));
  PD_TRY(get_trace(apr, input, (int)there.iteration));
  apr->run.restart = 0;
  apr->run.iteration = (int)there.iteration;
  apr->result = (struct pd_apr_result){.log_likelihood = there.log_likelihood,
                                       .kkt = there.kkt,
                                       .inner = there.inner,
                                       .converged = there.converged != 0};
  apr->run.change = there.change;
  apr->row_tolerance = there.row_tolerance;
  apr->run.seconds_before = there.seconds;
  return get_matrices(apr, input);
}

polyad_status pd_apr_resume(struct pd_apr *apr) {
  struct pd_checkpoint_input *input;
  PD_TRY(pd_checkpoint_input_open(apr->context, apr->options->run.resume, &input));
  polyad_status status = get_state(apr, input);
  if (status == POLYAD_OK)
    pd_log(apr->context, POLYAD_LOG_INFO, "going on from %s after iteration %d",
           pd_checkpoint_input_path(input), apr->run.iteration);
  pd_checkpoint_input_close(input);
  return status;
}
