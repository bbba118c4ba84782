/* Timing kernels where they run. */
#include "plan/measure.h"
#include "device/device_registry.h"

enum { FLUSH_LEAST = 64 << 20 };

void polyad_measure_options_init(polyad_measure_options *options) {
  *options = (polyad_measure_options){.warmup = 2, .runs = 10};
}

/* Bytes to write so that nothing is left in the device's last-level cache. */
static uint64_t flush_bytes(const struct pd_device *device) {
  struct pd_device_entry entry;
  for (int which = 0; pd_device_entry_at(which, &entry); ++which)
    if (entry.device == device && 2 * entry.description.cache_bytes > FLUSH_LEAST)
      return 2 * entry.description.cache_bytes;
  return FLUSH_LEAST;
}

/* A buffer that is written before a run, when caches are to be cold. */
struct flush {
  void *buffer; /* NULL: they stay warm */
  uint64_t bytes;
};

static polyad_status run_once(polyad_context *context, const struct pd_host_call *call,
                              const struct flush *flush, const struct pd_matrix *const *factors,
                              struct pd_matrix *out, double *seconds) {
  const struct pd_device *device = call->plan->device;
  const struct pd_device_functions *functions = device->functions;
  if (flush->buffer != NULL)
    PD_TRY(functions->fill_zero(context, device, flush->buffer, flush->bytes));
  PD_TRY(functions->synchronize(context, device));
  double begin = pd_seconds();
  if (functions->timer_start != NULL) PD_TRY(functions->timer_start(context, device));
  PD_TRY(call->kernel(context, call->plan, call->workspace, call->mode, factors, out));
  if (functions->timer_stop != NULL) return functions->timer_stop(context, device, seconds);
  PD_TRY(functions->synchronize(context, device));
  *seconds = pd_seconds() - begin;
  return POLYAD_OK;
}

static polyad_status run_all(polyad_context *context, const struct pd_host_call *call,
                             const struct flush *flush, const struct pd_matrix *const *factors,
                             struct pd_matrix *out) {
  struct pd_timing *timing = call->timing;
  const polyad_measure_options *options = timing->options;
  for (int k = 0; k < options->warmup + options->runs; ++k) {
    double once;
    PD_TRY(run_once(context, call, flush, factors, out, &once));
    if (k >= options->warmup) timing->seconds[timing->done++] = once;
    if (timing->done > 0 && pd_cancelled(context)) return POLYAD_OK;
  }
  return POLYAD_OK;
}

polyad_status pd_timed_runs(polyad_context *context, const struct pd_host_call *call,
                            const struct pd_matrix *const *factors, struct pd_matrix *out) {
  const struct pd_device *device = call->plan->device;
  struct flush flush = {NULL, flush_bytes(device)};
  if (call->timing->options->cold)
    PD_TRY(device->functions->allocate(context, device, flush.bytes, &flush.buffer));
  polyad_status status = run_all(context, call, &flush, factors, out);
  if (flush.buffer != NULL) device->functions->release(context, device, flush.buffer);
  return status;
}

static polyad_status check_timing(polyad_context *context, const polyad_measure_options *options,
                                  const double *seconds, const int *done) {
  if (options == NULL || seconds == NULL || done == NULL || options->runs < 1 ||
      options->warmup < 0)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "expected options with at least one run, and where to put the times");
  return POLYAD_OK;
}

polyad_status polyad_mttkrp_measure(polyad_context *context, const polyad_plan *plan,
                                    polyad_workspace *workspace, int mode,
                                    const void *const *factors,
                                    const polyad_measure_options *options, double *seconds,
                                    int *done, void *out) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  PD_TRY(pd_host_call_check(context, plan, workspace, mode, factors, out));
  PD_TRY(check_timing(context, options, seconds, done));
  if (workspace->rank == 0)
    return pd_fail(context, POLYAD_MISMATCH, "the workspace was made for polyad_ttmc()");
  struct pd_timing timing = {.options = options, .seconds = seconds};
  struct pd_host_call call = {.plan = plan,
                              .workspace = workspace,
                              .mode = mode,
                              .factors = factors,
                              .kernel = pd_plan_mttkrp,
                              .timing = &timing};
  for (int n = 0; n < plan->order; ++n)
    call.columns[n] = workspace->rank;
  polyad_status status = pd_host_call(context, &call, out);
  *done = timing.done;
  return status;
}

polyad_status polyad_ttmc_measure(polyad_context *context, const polyad_plan *plan,
                                  polyad_workspace *workspace, int mode, const void *const *factors,
                                  const polyad_measure_options *options, double *seconds, int *done,
                                  void *out) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  PD_TRY(pd_host_call_check(context, plan, workspace, mode, factors, out));
  PD_TRY(check_timing(context, options, seconds, done));
  if (workspace->rank != 0)
    return pd_fail(context, POLYAD_MISMATCH, "the workspace was made for polyad_mttkrp()");
  struct pd_timing timing = {.options = options, .seconds = seconds};
  struct pd_host_call call = {.plan = plan,
                              .workspace = workspace,
                              .mode = mode,
                              .factors = factors,
                              .kernel = pd_plan_ttmc,
                              .timing = &timing};
  for (int n = 0; n < plan->order; ++n)
    call.columns[n] = workspace->ranks[n];
  PD_TRY(polyad_ttmc_columns(context, plan, workspace->ranks, mode, &call.columns[mode]));
  polyad_status status = pd_host_call(context, &call, out);
  *done = timing.done;
  return status;
}
