/* Timing kernels on a plan. */
#include "device/device_registry.h"
#include "plan/host_call.h"
#include <polyad/bench.h>

enum { FLUSH_LEAST = 64 << 20 };

struct polyad_measurement {
  polyad_context *context;
  const polyad_plan *plan;
  polyad_workspace *workspace;
  struct pd_matrix factor[POLYAD_MAX_ORDER], out;
  void *flush; /* written before every run when caches are to be cold; NULL: they stay warm */
  int mode;    /* whose result `out` holds; -1: none */
};

static polyad_status check_create(polyad_context *context, const polyad_plan *plan,
                                  const void *const *factors, polyad_measurement **measurement) {
  PD_EXPECT(context, plan != NULL && factors != NULL && measurement != NULL,
            "plan, factors or measurement is NULL");
  *measurement = NULL;
  for (int n = 0; n < plan->order; ++n)
    PD_EXPECT(context, factors[n] != NULL, "the factor of mode %d is NULL",
              pd_shown_mode(context, n));
  if (plan->part != NULL)
    return pd_fail(
        context, POLYAD_UNSUPPORTED,
        "several devices or processes share the plan; expected one device, whose kernels "
        "can be timed");
  return POLYAD_OK;
}

/* Takes the workspace over, also when it fails. */
static polyad_status measurement_create(polyad_workspace *workspace, const void *const *factors,
                                        polyad_measurement **measurement) {
  polyad_context *context = workspace->context;
  const polyad_plan *plan = workspace->plan;
  polyad_measurement *m = NULL;
  polyad_status status = PD_NEW_ZERO(context, 1, &m);
  if (status != POLYAD_OK) {
    polyad_workspace_destroy(workspace);
    return status;
  }
  *m = (polyad_measurement){.context = context, .plan = plan, .workspace = workspace, .mode = -1};
  for (int n = 0; n < plan->order; ++n) {
    PD_TRY_CLEANUP(pd_factor_create(context, plan->device, plan->type, plan->dims[n],
                                    workspace->ranks[n], &m->factor[n]));
    PD_TRY_CLEANUP(pd_matrix_from_host(context, &m->factor[n], factors[n]));
    pd_matrix_touch(&m->factor[n]);
  }
  *measurement = m;
  m = NULL;
cleanup:
  polyad_measurement_destroy(m);
  return status;
}

polyad_status polyad_measurement_create(polyad_context *context, const polyad_plan *plan,
                                        uint64_t rank, const void *const *factors,
                                        polyad_measurement **measurement) {
  polyad_workspace *workspace;
  PD_ENTER(context);
  PD_TRY(check_create(context, plan, factors, measurement));
  PD_TRY(polyad_workspace_create(context, plan, rank, &workspace));
  return measurement_create(workspace, factors, measurement);
}

polyad_status polyad_ttmc_measurement_create(polyad_context *context, const polyad_plan *plan,
                                             const uint64_t *ranks, const void *const *factors,
                                             polyad_measurement **measurement) {
  polyad_workspace *workspace;
  PD_ENTER(context);
  PD_TRY(check_create(context, plan, factors, measurement));
  PD_TRY(polyad_ttmc_workspace_create(context, plan, ranks, &workspace));
  return measurement_create(workspace, factors, measurement);
}

void polyad_measurement_destroy(polyad_measurement *measurement) {
  if (measurement == NULL) return;
  polyad_context *context = measurement->context;
  const struct pd_device *device = measurement->plan->device;
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    if (measurement->factor[n].data != NULL) pd_matrix_destroy(context, &measurement->factor[n]);
  if (measurement->out.data != NULL) pd_matrix_destroy(context, &measurement->out);
  if (measurement->flush != NULL) device->functions->release(context, device, measurement->flush);
  polyad_workspace_destroy(measurement->workspace);
  pd_free(context, measurement);
}

/* Bytes to write so that nothing is left in the device's last-level cache. */
static uint64_t flush_bytes(const struct pd_device *device) {
  polyad_device_description about;
  pd_device_describe(device, &about);
  return 2 * about.cache_bytes > FLUSH_LEAST ? 2 * about.cache_bytes : FLUSH_LEAST;
}

polyad_status polyad_measurement_set_cold(polyad_measurement *measurement, int cold) {
  if (measurement == NULL) return POLYAD_INVALID_ARGUMENT;
  polyad_context *context = measurement->context;
  const struct pd_device *device = measurement->plan->device;
  pd_begin(context);
  if ((cold != 0) == (measurement->flush != NULL)) return POLYAD_OK;
  if (cold)
    return device->functions->allocate(context, device, flush_bytes(device), &measurement->flush);
  device->functions->release(context, device, measurement->flush);
  measurement->flush = NULL;
  return POLYAD_OK;
}

/* `out` for the mode; made anew only when its size changes, before the clock starts. */
static polyad_status prepare_out(polyad_measurement *m, int mode) {
  const polyad_plan *plan = m->plan;
  uint64_t columns = m->workspace->ranks[mode], bytes;
  bool chain = m->workspace->combine == PD_KRONECKER;
  if (chain) {
    PD_TRY(pd_plan_ttmc_bytes(m->context, plan, m->workspace->ranks, mode, &bytes));
    PD_TRY(polyad_ttmc_columns(m->context, plan, m->workspace->ranks, mode, &columns));
  }
  if (m->out.data != NULL && m->out.rows == plan->dims[mode] && m->out.columns == columns)
    return POLYAD_OK;
  if (m->out.data != NULL) pd_matrix_destroy(m->context, &m->out);
  return (chain ? pd_matrix_create : pd_factor_create)(m->context, plan->device, plan->type,
                                                       plan->dims[mode], columns, &m->out);
}

static polyad_status measurement_launch(polyad_measurement *m, polyad_kernel kernel, int mode,
                                        double epsilon) {
  const struct pd_matrix *factors[POLYAD_MAX_ORDER];
  for (int n = 0; n < m->plan->order; ++n)
    factors[n] = &m->factor[n];
  const struct pd_call call = {
      .op = pd_op_of_kernel(kernel, epsilon), .mode = mode, .factors = factors, .out = &m->out};
  return pd_plan_run(m->context, m->plan, m->workspace, &call);
}

static polyad_status check_run(const polyad_measurement *m, polyad_kernel kernel, int mode,
                               double epsilon, const double *seconds) {
  if ((int)kernel < POLYAD_KERNEL_MTTKRP || kernel > POLYAD_KERNEL_PI || mode < 0 ||
      mode >= m->plan->order || seconds == NULL || !(epsilon >= 0))
    return pd_fail(m->context, POLYAD_INVALID_ARGUMENT,
                   "kernel %d, mode %d and epsilon %g found; expected one of polyad_kernel, a mode "
                   "from %d to %d, an epsilon that is not negative, and a place for the seconds",
                   (int)kernel, pd_shown_mode(m->context, mode), epsilon,
                   pd_shown_mode(m->context, 0), pd_shown_mode(m->context, m->plan->order - 1));
  bool chain = m->workspace->combine == PD_KRONECKER;
  if ((kernel == POLYAD_KERNEL_TTMC) != chain)
    return pd_fail(m->context, POLYAD_MISMATCH,
                   "the measurement was made by polyad_%smeasurement_create(): for other kernels",
                   chain ? "ttmc_" : "");
  return POLYAD_OK;
}

polyad_status polyad_measurement_run(polyad_measurement *measurement, polyad_kernel kernel,
                                     int mode, double epsilon, double *seconds) {
  if (measurement == NULL) return POLYAD_INVALID_ARGUMENT;
  polyad_context *context = measurement->context;
  const struct pd_device *device = measurement->plan->device;
  const struct pd_device_functions *functions = device->functions;
  pd_begin(context);
  PD_TRY(check_run(measurement, kernel, mode, epsilon, seconds));
  PD_TRY(prepare_out(measurement, mode));
  measurement->mode = -1;
  if (measurement->flush != NULL)
    PD_TRY(functions->fill_zero(context, device, measurement->flush, flush_bytes(device)));
  PD_TRY(functions->synchronize(context, device));
  double begin = pd_seconds();
  if (functions->timer_start != NULL) PD_TRY(functions->timer_start(context, device));
  PD_TRY(measurement_launch(measurement, kernel, mode, epsilon));
  if (functions->timer_stop != NULL) {
    PD_TRY(functions->timer_stop(context, device, seconds));
  } else {
    PD_TRY(functions->synchronize(context, device));
    *seconds = pd_seconds() - begin;
  }
  if (kernel == POLYAD_KERNEL_PI) return POLYAD_OK;
  /* As in an algorithm, where the mode's factor changes after its kernel. */
  pd_matrix_touch(&measurement->factor[mode]);
  measurement->mode = mode;
  return POLYAD_OK;
}

polyad_status polyad_measurement_result(const polyad_measurement *measurement, int mode,
                                        void *out) {
  if (measurement == NULL) return POLYAD_INVALID_ARGUMENT;
  polyad_context *context = measurement->context;
  const polyad_plan *plan = measurement->plan;
  pd_begin(context);
  PD_EXPECT(context, out != NULL, "out is NULL");
  if (measurement->mode < 0 || measurement->mode != mode)
    return pd_fail(context, POLYAD_MISMATCH, "there is no result of mode %d",
                   pd_shown_mode(context, mode));
  PD_TRY(pd_matrix_to_host(context, &measurement->out, out));
  pd_plan_unscale(plan, out, measurement->out.rows * measurement->out.columns);
  return POLYAD_OK;
}
