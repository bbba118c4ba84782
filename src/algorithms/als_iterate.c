/* The iterations of CP-ALS: written once for every format and device. */
#include "algorithms/als_checkpoint.h"
#include <math.h>

/* What the fit is made of, as scalars on the device. The last factor counts as it is, also where
 * MTTKRP reads it rounded: INNER is of that model. */
static polyad_status enqueue_fit(struct pd_als *als) {
  polyad_context *context = als->context;
  const struct pd_linalg *linalg = als->linalg;
  PD_TRY(linalg->hadamard(context, als->work, als->order, als->gram_list, -1, 0.0, &als->v));
  PD_TRY(linalg->quadratic_form(context, als->work, &als->v, &als->lambda));
  return pd_als_rounds(als) ? pd_als_take_factor(als, als->order - 1) : POLYAD_OK;
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
                   als->run.iteration + 1);
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
  return als->run.iteration == 0 ? PD_SCALE_NORM_2 : PD_SCALE_AS_BEFORE;
}

static polyad_status update_nonnegative(struct pd_als *als, int n, double *seconds) {
  struct pd_matrix m = mttkrp_buffer(als, n);
  PD_TRY(timed_mttkrp(als, n, &m, seconds));
  if (als->run.iteration == 0 && n == 0) PD_TRY(scale_guess(als, &m));
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
  for (int n = 0; n < als->order; ++n) {
    PD_TRY(update_mode(als, n, &seconds[n]));
    if (pd_als_rounds(als) && n < als->order - 1) PD_TRY(pd_als_take_factor(als, n));
  }
  return enqueue_fit(als);
}

/* Tensors whose kernels are so short that starting them one by one takes as long. */
static const uint64_t recorded_nonzeros = UINT64_C(1) << 24;

/* All iterations but the first of a start enqueue the same work: it may be recorded once. */
static bool may_record(const struct pd_als *als) {
  return als->device->functions->record_begin != NULL && !als->options->nonnegative &&
         als->run.iteration > als->run.first_iteration + 1 && als->plan->nnz <= recorded_nonzeros &&
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

/* Updates every factor once (Kolda and Bader 2009, figure 3.3) and computes the fit. */
static polyad_status update_all(struct pd_als *als, double *seconds) {
  const struct pd_device_functions *device = als->device->functions;
  if (als->options->nonnegative && als->run.iteration > 0) PD_TRY(pd_als_revive(als));
  PD_TRY(run_iteration(als, seconds));
  PD_TRY(fetch_fit(als));
  for (int n = 0; n < als->order && device->mark != NULL; ++n)
    PD_TRY(device->between(als->context, als->device, 2 * n, 2 * n + 1, &seconds[n]));
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
  int last = als->order - 1;
  PD_TRY(compute_inner(als));
  if (pd_als_rounds(als)) /* an update would have left it */
    PD_TRY(als->linalg->gram(als->context, als->work, &als->factor[last], &als->gram[last]));
  PD_TRY(enqueue_fit(als));
  return fetch_fit(als);
}

static polyad_status iterate(void *state, polyad_trace_row *row, double *kernel_seconds) {
  struct pd_als *als = state;
  PD_TRY(update_all(als, kernel_seconds));
  row->fit = als->fit.fit;
  row->residual = als->fit.residual;
  return POLYAD_OK;
}

static bool converged(const void *state) {
  const struct pd_als *als = state;
  return pd_run_change_below(&als->run, als->options->tolerance);
}

static polyad_status save(void *state, bool end) { return pd_als_checkpoint_save(state, end); }

polyad_status pd_als_run(struct pd_als *als, polyad_reason *reason) {
  static const struct pd_run_steps steps = {iterate, converged, save};
  return pd_run_loop(&als->run, &steps, als, reason);
}
