/* Timing kernels on a plan. */
#include "plan/plan.h"
#include <math.h>
#include <polyad/measurement.h>

struct polyad_measurement {
  polyad_context *context;
  const polyad_plan *plan;
  polyad_workspace *workspace;
  struct pd_matrix factor[POLYAD_MAX_ORDER], out;
  int mode; /* whose result `out` holds; -1: none */
};

static polyad_status copy_factors(polyad_measurement *m, uint64_t rank,
                                  const void *const *factors) {
  const polyad_plan *plan = m->plan;
  for (int n = 0; n < plan->order; ++n) {
    PD_TRY(
        pd_matrix_create(m->context, plan->device, plan->type, plan->dims[n], rank, &m->factor[n]));
    PD_TRY(pd_matrix_from_host(m->context, &m->factor[n], factors[n]));
  }
  return POLYAD_OK;
}

polyad_status polyad_measurement_create(polyad_context *context, const polyad_plan *plan,
                                        uint64_t rank, const void *const *factors,
                                        polyad_measurement **measurement) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  polyad_status status = POLYAD_OK;
  polyad_measurement *m = NULL;
  pd_begin(context);
  if (plan == NULL || factors == NULL || measurement == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "plan, factors or measurement is NULL");
  *measurement = NULL;
  for (int n = 0; n < plan->order; ++n)
    if (factors[n] == NULL)
      return pd_fail(context, POLYAD_INVALID_ARGUMENT, "the factor of mode %d is NULL", n);
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 1, &m));
  m->context = context;
  m->plan = plan;
  m->mode = -1;
  PD_TRY_CLEANUP(polyad_workspace_create(context, plan, rank, &m->workspace));
  PD_TRY_CLEANUP(copy_factors(m, rank, factors));
  *measurement = m;
  m = NULL;
cleanup:
  polyad_measurement_destroy(m);
  return status;
}

void polyad_measurement_destroy(polyad_measurement *measurement) {
  if (measurement == NULL) return;
  polyad_context *context = measurement->context;
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    if (measurement->factor[n].data != NULL) pd_matrix_destroy(context, &measurement->factor[n]);
  if (measurement->out.data != NULL) pd_matrix_destroy(context, &measurement->out);
  polyad_workspace_destroy(measurement->workspace);
  pd_free(context, measurement);
}

/* `out` for the mode; made anew only when the mode changes, before the clock starts. */
static polyad_status prepare_out(polyad_measurement *m, int mode) {
  const polyad_plan *plan = m->plan;
  if (m->out.data != NULL && m->out.rows == plan->dims[mode]) return POLYAD_OK;
  if (m->out.data != NULL) pd_matrix_destroy(m->context, &m->out);
  return pd_matrix_create(m->context, plan->device, plan->type, plan->dims[mode],
                          m->workspace->rank, &m->out);
}

static polyad_status launch(polyad_measurement *m, polyad_kernel kernel, int mode, double epsilon) {
  const polyad_plan *plan = m->plan;
  const struct polyad_kernels *kernels = plan->kernels;
  const struct pd_matrix *factors[POLYAD_MAX_ORDER];
  for (int n = 0; n < plan->order; ++n)
    factors[n] = &m->factor[n];
  void *scratch = m->workspace->scratch;
  if (kernel == POLYAD_KERNEL_MTTKRP && kernels->mttkrp != NULL)
    return kernels->mttkrp(m->context, plan->on_device, scratch, mode, factors, &m->out);
  if (kernel == POLYAD_KERNEL_PHI && kernels->phi != NULL)
    return kernels->phi(m->context, plan->on_device, scratch, mode, factors, epsilon, &m->out);
  if (kernel == POLYAD_KERNEL_PI && kernels->pi != NULL)
    return kernels->pi(m->context, plan->on_device, scratch, mode, factors);
  static const char *const names[] = {"MTTKRP", "timed chain", "Phi", "stored Pi"};
  return pd_fail(m->context, POLYAD_UNSUPPORTED, "format %s has no %s on device %s",
                 plan->format->name, names[kernel], plan->device->kind);
}

polyad_status polyad_measurement_run(polyad_measurement *measurement, polyad_kernel kernel,
                                     int mode, double epsilon, double *seconds) {
  if (measurement == NULL) return POLYAD_INVALID_ARGUMENT;
  polyad_context *context = measurement->context;
  const struct pd_device *device = measurement->plan->device;
  const struct pd_device_functions *functions = device->functions;
  pd_begin(context);
  if ((int)kernel < POLYAD_KERNEL_MTTKRP || kernel > POLYAD_KERNEL_PI || mode < 0 ||
      mode >= measurement->plan->order || seconds == NULL || !(epsilon >= 0))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "kernel %d, mode %d and epsilon %g found; expected one of polyad_kernel, a mode "
                   "from 0 to %d, an epsilon that is not negative, and a place for the seconds",
                   (int)kernel, mode, epsilon, measurement->plan->order - 1);
  PD_TRY(prepare_out(measurement, mode));
  measurement->mode = -1;
  PD_TRY(functions->synchronize(context, device));
  double begin = pd_seconds();
  if (functions->timer_start != NULL) PD_TRY(functions->timer_start(context, device));
  PD_TRY(launch(measurement, kernel, mode, epsilon));
  if (functions->timer_stop != NULL)
    PD_TRY(functions->timer_stop(context, device, seconds));
  else
    *seconds = pd_seconds() - begin;
  if (kernel != POLYAD_KERNEL_PI) measurement->mode = mode;
  return POLYAD_OK;
}

polyad_status polyad_measurement_result(const polyad_measurement *measurement, int mode,
                                        void *out) {
  if (measurement == NULL) return POLYAD_INVALID_ARGUMENT;
  polyad_context *context = measurement->context;
  const polyad_plan *plan = measurement->plan;
  pd_begin(context);
  if (out == NULL) return pd_fail(context, POLYAD_INVALID_ARGUMENT, "out is NULL");
  if (measurement->mode < 0 || measurement->mode != mode)
    return pd_fail(context, POLYAD_MISMATCH, "there is no result of mode %d", mode);
  PD_TRY(pd_matrix_to_host(context, &measurement->out, out));
  for (uint64_t k = 0;
       plan->value_exponent != 0 && k < measurement->out.rows * measurement->out.columns; ++k) {
    if (plan->type == POLYAD_F64)
      ((double *)out)[k] = ldexp(((double *)out)[k], plan->value_exponent);
    else
      ((float *)out)[k] = ldexpf(((float *)out)[k], plan->value_exponent);
  }
  return POLYAD_OK;
}
