/* Kernels on arrays of the host: in place on the CPU, by copies on other devices. */
#include "plan/host_call.h"
#include <math.h>
#include <string.h>

polyad_status pd_host_call_check(polyad_context *context, const polyad_plan *plan,
                                 const polyad_workspace *workspace, int mode,
                                 const void *const *factors, const void *out) {
  if (plan == NULL || workspace == NULL || factors == NULL || out == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "plan, workspace, factors or out is NULL");
  if (workspace->plan != plan)
    return pd_fail(context, POLYAD_MISMATCH, "the workspace was made for another plan");
  if (mode < 0 || mode >= plan->order)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "mode %d found; expected %d to %d",
                   pd_shown_mode(context, mode), pd_shown_mode(context, 0),
                   pd_shown_mode(context, plan->order - 1));
  for (int n = 0; n < plan->order; ++n)
    if (n != mode && factors[n] == NULL)
      return pd_fail(context, POLYAD_INVALID_ARGUMENT, "the factor of mode %d is NULL",
                     pd_shown_mode(context, n));
  return POLYAD_OK;
}

/* A matrix that is host memory; the CPU's kernels write only into their `out`. */
static struct pd_matrix wrap(const struct pd_host_call *call, int mode, const void *data) {
  return (struct pd_matrix){.device = call->plan->device,
                            .type = call->plan->type,
                            .rows = call->plan->dims[mode],
                            .columns = call->columns[mode],
                            .stride = call->columns[mode],
                            .data = (void *)data,
                            .version = call->workspace->versions[mode]};
}

static polyad_status host_call_run(polyad_context *context, const struct pd_host_call *call,
                                   const struct pd_matrix *const *factors, struct pd_matrix *out) {
  if (call->phi != NULL)
    return call->phi(context, call->plan, call->workspace, call->mode, factors, call->epsilon, out);
  return call->kernel(context, call->plan, call->workspace, call->mode, factors, out);
}

static polyad_status on_cpu(polyad_context *context, const struct pd_host_call *call, void *out) {
  struct pd_matrix matrix[POLYAD_MAX_ORDER], result = wrap(call, call->mode, out);
  const struct pd_matrix *pointer[POLYAD_MAX_ORDER];
  for (int n = 0; n < call->plan->order; ++n) {
    matrix[n] = wrap(call, n, call->factors[n]);
    pointer[n] = &matrix[n];
  }
  return host_call_run(context, call, pointer, &result);
}

/* Copies the factors onto the device and the result back. */
static polyad_status on_device(polyad_context *context, const struct pd_host_call *call,
                               void *out) {
  const polyad_plan *plan = call->plan;
  polyad_status status = POLYAD_OK;
  struct pd_matrix matrix[POLYAD_MAX_ORDER], apart = {0}, *result = &matrix[call->mode];
  const struct pd_matrix *pointer[POLYAD_MAX_ORDER];
  memset(matrix, 0, sizeof matrix);
  for (int n = 0; n < plan->order; ++n) {
    PD_TRY_CLEANUP(pd_matrix_create(context, plan->device, plan->type, plan->dims[n],
                                    call->columns[n], &matrix[n]));
    pointer[n] = &matrix[n];
    if (n != call->mode || call->phi != NULL)
      PD_TRY_CLEANUP(pd_matrix_from_host(context, &matrix[n], call->factors[n]));
    matrix[n].version = call->workspace->versions[n];
  }
  if (call->phi != NULL) {
    result = &apart;
    PD_TRY_CLEANUP(pd_matrix_create(context, plan->device, plan->type, plan->dims[call->mode],
                                    call->columns[call->mode], result));
  }
  PD_TRY_CLEANUP(host_call_run(context, call, pointer, result));
  if (out != NULL) status = pd_matrix_to_host(context, result, out);
cleanup:
  if (apart.data != NULL) pd_matrix_destroy(context, &apart);
  for (int n = 0; n < plan->order; ++n)
    if (matrix[n].data != NULL) pd_matrix_destroy(context, &matrix[n]);
  return status;
}

void pd_plan_unscale(const polyad_plan *plan, void *out, uint64_t count) {
  for (uint64_t k = 0; plan->value_exponent != 0 && k < count; ++k)
    if (plan->type == POLYAD_F64)
      ((double *)out)[k] = ldexp(((double *)out)[k], plan->value_exponent);
    else
      ((float *)out)[k] = ldexpf(((float *)out)[k], plan->value_exponent);
}

polyad_status pd_host_call(polyad_context *context, const struct pd_host_call *call, void *out) {
  if (strcmp(call->plan->device->kind, "cpu") == 0)
    PD_TRY(on_cpu(context, call, out));
  else
    PD_TRY(on_device(context, call, out));
  if (out != NULL)
    pd_plan_unscale(call->plan, out, call->plan->dims[call->mode] * call->columns[call->mode]);
  return POLYAD_OK;
}
