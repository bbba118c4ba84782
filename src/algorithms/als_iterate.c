/* The iterations of CP-ALS: written once for every format and device. */
#include "algorithms/als_checkpoint.h"
#include <math.h>

/* What the fit is made of, as scalars on the device. */
static polyad_status enqueue_fit(struct pd_als *als) {
  PD_TRY(
      als->linalg->hadamard(als->context, als->work, als->order, als->gram_list, -1, 0.0, &als->v));
  return als->linalg->quadratic_form(als->context, als->work, &als->v, &als->lambda);
}

/* The fit from ||X - M||^2 = ||X||^2 + ||M||^2 - 2 <X, M>, with <X, M> from the last mode's
 * MTTKRP. Rounding may leave a small negative number for an exact model: it counts as zero. */
static polyad_status fetch_fit(struct pd_als *als) {
  double scalar[PD_SCALARS];
  PD_TRY(als->linalg->fetch(als->context, als->work, scalar));
  als->fallbacks += (uint64_t)scalar[PD_SCALAR_FALLBACKS];
  als->kept = scalar[PD_SCALAR_KEPT];
  double residual = (als->norm_squared + scalar[PD_SCALAR_MODEL] - 2.0 * scalar[PD_SCALAR_INNER]) /
                    als->norm_squared;
  if (!isfinite(residual))
    return pd_fail(als->context, POLYAD_NUMERICAL,
                   "iteration %d overflows; scale the values or ask for a lower rank",
                   als->iteration + 1);
  als->fit.residual = residual > 0 ? residual : 0;
  als->fit.fit = 1.0 - sqrt(als->fit.residual);
  return POLYAD_OK;
}

/* The buffer of the MTTKRP, as long as mode n. */
static struct pd_matrix mttkrp_buffer(const struct pd_als *als, int n) {
  struct pd_matrix m = als->m;
  m.rows = als->plan->dims[n];
  return m;
}

/* Scales the first guess to the tensor: weights alpha = <X, M> / <M, M>, with m the first MTTKRP.
 * A guess that overshoots would have all columns but the last clipped to zero for good. */
static polyad_status scale_guess(struct pd_als *als, const struct pd_matrix *m) {
  double scalar[PD_SCALARS];
  PD_TRY(
      als->linalg->hadamard(als->context, als->work, als->order, als->gram_list, -1, 0.0, &als->v));
  PD_TRY(als->linalg->weighted_inner(als->context, als->work, m, &als->factor[0], &als->lambda));
  PD_TRY(als->linalg->quadratic_form(als->context, als->work, &als->v, &als->lambda));
  PD_TRY(als->linalg->fetch(als->context, als->work, scalar));
  double alpha = scalar[PD_SCALAR_INNER] / scalar[PD_SCALAR_MODEL];
  if (!(alpha > 0 && isfinite(alpha))) return POLYAD_OK;
  for (uint64_t r = 0; r < als->options->rank; ++r)
    als->host_lambda[r] = alpha;
  return pd_matrix_from_host(als->context, &als->lambda, als->host_lambda);
}

/* The MTTKRP between two marks of the device, or two readings of the host's clock. */
static polyad_status timed_mttkrp(struct pd_als *als, int n, struct pd_matrix *m, double *seconds) {
  polyad_context *context = als->context;
  const struct pd_device_functions *device = als->device->functions;
  double begin = pd_seconds();
  if (device->mark != NULL) PD_TRY(device->mark(context, als->device, 2 * n));
  PD_TRY(pd_plan_mttkrp(context, als->plan, als->workspace, n, als->factor_list, m));
  if (device->mark != NULL) return device->mark(context, als->device, 2 * n + 1);
  *seconds = pd_seconds() - begin;
  return POLYAD_OK;
}

static enum pd_scaling scaling_of(const struct pd_als *als) {
  return als->iteration == 0 ? PD_SCALE_NORM_2 : PD_SCALE_AS_BEFORE;
}

static polyad_status update_nonnegative(struct pd_als *als, int n, double *seconds) {
  struct pd_matrix m = mttkrp_buffer(als, n);
  PD_TRY(timed_mttkrp(als, n, &m, seconds));
  if (als->iteration == 0 && n == 0) PD_TRY(scale_guess(als, &m));
  PD_TRY(als->linalg->hadamard(als->context, als->work, als->order, als->gram_list, n,
                               als->options->ridge, &als->v));
  return als->linalg->update_nonnegative(als->context, als->work, &als->v, &m, &als->factor[n],
                                         scaling_of(als), &als->lambda, &als->gram[n]);
}

static polyad_status update_mode(struct pd_als *als, int n, double *seconds) {
  const struct pd_linalg *linalg = als->linalg;
  struct pd_matrix *x = &als->factor[n];
  if (als->options->nonnegative) return update_nonnegative(als, n, seconds);
  PD_TRY(linalg->hadamard(als->context, als->work, als->order, als->gram_list, n,
                          als->options->ridge, &als->v));
  if (linalg->prepare != NULL) PD_TRY(linalg->prepare(als->context, als->work, &als->v));
  PD_TRY(timed_mttkrp(als, n, x, seconds));
  return linalg->update(als->context, als->work, &als->v, x, scaling_of(als), &als->lambda,
                        &als->gram[n]);
}

static polyad_status enqueue(struct pd_als *als, double *seconds) {
  for (int n = 0; n < als->order; ++n)
    PD_TRY(update_mode(als, n, &seconds[n]));
  return enqueue_fit(als);
}

/* Tensors whose kernels are so short that starting them one by one takes as long. */
static const uint64_t recorded_nonzeros = UINT64_C(1) << 24;

/* All iterations but the first of a start enqueue the same work: it may be recorded once. */
static bool may_record(const struct pd_als *als) {
  return als->device->functions->record_begin != NULL && !als->options->nonnegative &&
         als->iteration > als->first_iteration + 1 && als->plan->nnz <= recorded_nonzeros &&
         als->plan->kernels->repeatable != NULL &&
         als->plan->kernels->repeatable(als->plan->on_device, als->workspace->scratch);
}

static polyad_status record_iteration(struct pd_als *als, double *seconds) {
  const struct pd_device_functions *device = als->device->functions;
  PD_TRY(device->record_begin(als->context, als->device));
  polyad_status status = enqueue(als, seconds);
  polyad_status ended =
      device->record_end(als->context, als->device, status == POLYAD_OK, &als->record);
  return status == POLYAD_OK ? ended : status;
}

static polyad_status run_iteration(struct pd_als *als, double *seconds) {
  if (!may_record(als)) return enqueue(als, seconds);
  if (als->record == NULL) PD_TRY(record_iteration(als, seconds));
  return als->device->functions->replay(als->context, als->device, als->record);
}

polyad_status pd_als_iterate(struct pd_als *als) {
  const struct pd_device_functions *device = als->device->functions;
  double *seconds = als->mttkrp_seconds + als->iteration * als->order;
  if (als->options->nonnegative && als->iteration > 0) PD_TRY(pd_als_revive(als));
  PD_TRY(run_iteration(als, seconds));
  PD_TRY(fetch_fit(als));
  for (int n = 0; n < als->order && device->mark != NULL; ++n)
    PD_TRY(device->between(als->context, als->device, 2 * n, 2 * n + 1, &seconds[n]));
  als->iteration += 1;
  return POLYAD_OK;
}

/* INNER = <X, M> of the current factors. */
static polyad_status compute_inner(struct pd_als *als) {
  polyad_context *context = als->context;
  int last = als->order - 1;
  struct pd_matrix m;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_matrix_create(context, als->device, als->plan->type, als->plan->dims[last],
                                  als->options->rank, &m));
  PD_TRY_CLEANUP(pd_plan_mttkrp(context, als->plan, als->workspace, last, als->factor_list, &m));
  status = als->linalg->weighted_inner(context, als->work, &m, &als->factor[last], &als->lambda);
cleanup:
  pd_matrix_destroy(context, &m);
  return status;
}

polyad_status pd_als_evaluate(struct pd_als *als) {
  PD_TRY(compute_inner(als));
  PD_TRY(enqueue_fit(als));
  return fetch_fit(als);
}

static void record(struct pd_als *als) {
  als->trace[als->iteration - 1] = (polyad_trace_row){.iteration = als->iteration,
                                                      .fit = als->fit.fit,
                                                      .residual = als->fit.residual,
                                                      .seconds = pd_als_seconds(als),
                                                      .log_likelihood = NAN,
                                                      .kkt_violation = NAN};
  pd_log(als->context, POLYAD_LOG_DEBUG, "iteration %d: fit %.12g, change %.3g", als->iteration,
         als->fit.fit, als->change);
}

/* Whether the caller wants the run to end. */
static bool interrupted(struct pd_als *als) {
  polyad_progress progress = {.iteration = als->iteration,
                              .max_iterations = als->options->max_iterations,
                              .fit = als->fit.fit,
                              .change = als->change,
                              .log_likelihood = NAN,
                              .kkt_violation = NAN,
                              .seconds = pd_als_seconds(als),
                              .restart = als->restart};
  bool end = pd_report_progress(als->context, &progress);
  return end || pd_cancelled(als->context);
}

static bool converged(const struct pd_als *als) {
  return als->iteration > 1 && als->options->tolerance > 0 &&
         fabs(als->change) < als->options->tolerance;
}

static bool out_of_time(const struct pd_als *als) {
  double limit = als->options->max_seconds;
  return limit > 0 && pd_seconds() - als->started >= limit;
}

/* One iteration, recorded and, when it is due, saved. */
static polyad_status step(struct pd_als *als, bool *ends, polyad_reason *reason) {
  double before = als->fit.fit;
  PD_TRY(pd_als_reserve(als, als->iteration + 1));
  PD_TRY(pd_als_iterate(als));
  als->change = als->iteration > 1 ? als->fit.fit - before : NAN;
  record(als);
  bool interrupts = interrupted(als);
  *ends = true;
  if (converged(als))
    *reason = POLYAD_REASON_TOLERANCE;
  else if (interrupts)
    *reason = POLYAD_REASON_CANCELLED;
  else if (out_of_time(als))
    *reason = POLYAD_REASON_MAX_SECONDS;
  else
    *ends = als->iteration >= als->options->max_iterations;
  return pd_als_checkpoint_save(als, *ends);
}

polyad_status pd_als_run(struct pd_als *als, polyad_reason *reason) {
  *reason = POLYAD_REASON_MAX_ITERATIONS;
  if (converged(als)) { /* resumed where the run before had ended */
    *reason = POLYAD_REASON_TOLERANCE;
    return POLYAD_OK;
  }
  bool ends = als->iteration >= als->options->max_iterations;
  while (!ends)
    PD_TRY(step(als, &ends, reason));
  return POLYAD_OK;
}
