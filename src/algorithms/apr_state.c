/* The memory of a CP-APR run, its clocks, and the list of what iterations go on from. */
#include "algorithms/apr_state.h"
#include "algorithms/apr_rows.h"
#include "algorithms/apr_there.h"
#include <math.h>

static bool by_rows(const struct pd_apr *apr) { return apr->options->method != POLYAD_APR_MU; }

/* Rows of factors that are not in the host's memory are solved where they are. */
static bool apr_solves_there(const struct pd_apr *apr) {
  return by_rows(apr) && !apr->device->functions->host_memory;
}

static polyad_status apr_state_check_memory(const struct pd_apr *apr) {
  uint64_t stride = pd_factor_stride(apr->device, apr->plan->type, apr->options->rank);
  uint64_t row = pd_mul_saturated(stride, pd_type_bytes(apr->plan->type)), total = 0;
  for (int n = 0; n < apr->order; ++n)
    total = pd_add_saturated(total, pd_mul_saturated(apr->plan->dims[n], row));
  if (!by_rows(apr)) total = pd_mul_saturated(total, 2); /* Phi */
  if (apr->options->run.starts > 1) total = pd_mul_saturated(total, 2);
  if (apr_solves_there(apr)) total = pd_add_saturated(total, pd_apr_there_bytes(apr));
  total = pd_add_saturated(
      total, apr->linalg->work_bytes(apr->options->rank, polyad_threads(apr->context)));
  return pd_memory_check(apr->context, total,
                         apr_solves_there(apr) ? "the factors and what solving their rows takes"
                                               : "the factors");
}

static polyad_status check_device(const struct pd_apr *apr) {
  const struct pd_linalg *linalg = apr->linalg;
  bool has = linalg->weigh != NULL && linalg->kkt != NULL && linalg->multiply != NULL &&
             linalg->normalize != NULL;
  if (apr_solves_there(apr) && linalg->newton == NULL)
    return pd_fail(
        apr->context, POLYAD_UNSUPPORTED,
        "PDNR and PQNR run on the CPU and on CUDA devices; choose one of these, or MU for "
        "device %s",
        apr->device->name);
  if (apr_solves_there(apr) && apr->options->rank > PD_NEWTON_RANK_MOST)
    return pd_fail(
        apr->context, POLYAD_UNSUPPORTED,
        "rank %llu found; PDNR and PQNR on device %s take at most %d; choose the CPU, or MU",
        (unsigned long long)apr->options->rank, apr->device->name, PD_NEWTON_RANK_MOST);
  if (!has)
    return pd_fail(apr->context, POLYAD_UNSUPPORTED,
                   "device %s has no dense algebra for CP-APR; choose the CPU", apr->device->name);
  return POLYAD_OK;
}

static polyad_status apr_state_create_matrices(struct pd_apr *apr) {
  polyad_context *context = apr->context;
  const polyad_plan *plan = apr->plan;
  uint64_t rank = apr->options->rank;
  for (int n = 0; n < apr->order; ++n) {
    PD_TRY(pd_matrix_over_host(context, apr->device, plan->type, plan->dims[n], rank,
                               apr->model->factor[n], &apr->factor[n]));
    apr->factor_list[n] = &apr->factor[n];
    if (by_rows(apr)) continue;
    PD_TRY(pd_factor_create(context, apr->device, plan->type, plan->dims[n], rank, &apr->phi[n]));
  }
  PD_TRY(pd_matrix_create(context, apr->device, POLYAD_F64, 1, rank, &apr->lambda));
  uint64_t outcomes = 1 + 2 * (uint64_t)apr->order;
  PD_TRY(pd_matrix_create(context, apr->device, POLYAD_F64, 1, outcomes, &apr->outcomes));
  apr->logarithms = apr->outcomes;
  apr->logarithms.columns = apr->logarithms.stride = 1;
  return POLYAD_OK;
}

static polyad_status apr_state_fill(struct pd_apr *apr) {
  polyad_context *context = apr->context;
  const polyad_cp_apr_options *options = apr->options;
  PD_TRY(check_device(apr));
  PD_TRY(apr_state_check_memory(apr));
  PD_TRY(polyad_ktensor_create(context, apr->order, apr->plan->dims, options->rank, apr->plan->type,
                               &apr->model));
  PD_TRY(pd_run_check_team(&apr->run));
  if (apr_solves_there(apr)) PD_TRY(pd_apr_there_create(apr, &apr->there));
  if (by_rows(apr))
    PD_TRY(pd_apr_rows_create(apr, &apr->rows));
  else
    PD_TRY(polyad_workspace_create(context, apr->plan, options->rank, &apr->workspace));
  PD_TRY(apr->linalg->work_create(context, apr->device, options->rank, &apr->work));
  if (pd_plan_team(apr->plan) != NULL)
    PD_TRY(apr->linalg->join(context, apr->work, pd_plan_team(apr->plan)));
  PD_TRY(PD_NEW_ZERO(context, options->rank, &apr->host_lambda));
  PD_TRY(apr_state_create_matrices(apr));
  return pd_run_open(&apr->run);
}

polyad_status pd_apr_create(polyad_context *context, const polyad_plan *plan,
                            const polyad_cp_apr_options *options, struct pd_apr **out) {
  struct pd_apr *apr = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &apr));
  apr->context = context;
  apr->plan = plan;
  apr->options = options;
  apr->device = plan->device;
  apr->linalg = plan->device->linalg;
  apr->order = plan->order;
  apr->run = (struct pd_run){.context = context,
                             .plan = plan,
                             .method = &pd_apr_methods[options->method],
                             .state = apr,
                             .options = &options->run,
                             .columns = options->rank,
                             .started = pd_seconds()};
  polyad_status status = apr_state_fill(apr);
  if (status != POLYAD_OK) {
    pd_apr_destroy(apr);
    return status;
  }
  *out = apr;
  return POLYAD_OK;
}

void pd_apr_destroy(struct pd_apr *apr) {
  if (apr == NULL) return;
  polyad_context *context = apr->context;
  if (apr->record != NULL)
    apr->device->functions->record_release(context, apr->device, apr->record);
  for (int n = 0; n < apr->order; ++n) {
    pd_matrix_destroy(context, &apr->factor[n]);
    pd_matrix_destroy(context, &apr->phi[n]);
  }
  pd_matrix_destroy(context, &apr->lambda);
  pd_matrix_destroy(context, &apr->outcomes);
  if (apr->work != NULL) apr->linalg->work_destroy(context, apr->work);
  polyad_workspace_destroy(apr->workspace);
  pd_apr_rows_destroy(context, apr->rows);
  pd_apr_there_destroy(apr, apr->there);
  polyad_ktensor_destroy(apr->model);
  polyad_ktensor_destroy(apr->whole);
  pd_free(context, apr->host_lambda);
  pd_run_clear(&apr->run);
  pd_free(context, apr);
}

polyad_status pd_apr_tick(struct pd_apr *apr, double *clock) {
  const struct pd_device_functions *functions = apr->device->functions;
  *clock = functions->timer_start == NULL                      ? pd_seconds()
           : apr->run.iteration - apr->run.first_iteration < 2 ? 0.0
                                                               : NAN;
  return *clock == 0.0 ? functions->timer_start(apr->context, apr->device) : POLYAD_OK;
}

polyad_status pd_apr_tock(struct pd_apr *apr, double clock, enum pd_apr_step step, int mode) {
  double seconds = 0;
  if (isnan(clock)) return POLYAD_OK;
  if (clock == 0.0)
    PD_TRY(apr->device->functions->timer_stop(apr->context, apr->device, &seconds));
  else
    seconds = pd_seconds() - clock;
  apr->seconds[step][mode] += seconds;
  return POLYAD_OK;
}

/* ---- the list for checkpoints ------------------------------------------------------------- */

static polyad_status apr_state_save_options(struct pd_apr *apr, struct pd_archive *archive) {
  const polyad_cp_apr_options *options = apr->options;
  const struct {
    const char *name;
    double value;
  } list[] = {{"rank", (double)options->rank},
              {"inner iterations", options->max_inner_iterations},
              {"inexact", options->inexact != 0},
              {"memory", options->memory},
              {"tolerance", options->run.tolerance},
              {"epsilon", options->epsilon},
              {"kappa", options->kappa},
              {"kappa_tolerance", options->kappa_tolerance},
              {"active_tolerance", options->active_tolerance},
              {"damping", options->damping}};
  for (size_t k = 0; k < sizeof list / sizeof *list; ++k)
    PD_TRY(pd_archive_option(archive, list[k].name, list[k].value));
  return POLYAD_OK;
}

polyad_status pd_apr_save(void *state, struct pd_archive *archive) {
  struct pd_apr *apr = state;
  struct pd_apr_result *result = &apr->result;
  uint64_t converged = result->converged;
  PD_TRY(apr_state_save_options(apr, archive));
  PD_TRY(pd_archive_count(archive, &result->inner));
  PD_TRY(pd_archive_count(archive, &converged));
  result->converged = converged != 0;
  PD_TRY(pd_archive_real(archive, &result->log_likelihood));
  PD_TRY(pd_archive_real(archive, &result->kkt));
  PD_TRY(pd_archive_real(archive, &apr->row_tolerance));
  PD_TRY(pd_archive_matrix(archive, "weights", &apr->lambda, apr->host_lambda));
  for (int n = 0; n < apr->order && !by_rows(apr); ++n)
    PD_TRY(pd_archive_factor(archive, "matrices Phi", n, &apr->phi[n], NULL));
  for (int n = 0; n < apr->order; ++n) {
    PD_TRY(pd_archive_factor(archive, "factors", n, &apr->factor[n], apr->model->factor[n]));
    pd_matrix_touch(&apr->factor[n]);
  }
  return POLYAD_OK;
}
