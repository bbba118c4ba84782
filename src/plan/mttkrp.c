/* MTTKRP on arrays of the host. */
#include "plan/plan.h"
#include <math.h>
#include <string.h>

static polyad_status check_arguments(polyad_context *context, const polyad_plan *plan,
                                     const polyad_workspace *workspace, int mode,
                                     const void *const *factors, const void *out) {
  if (plan == NULL || workspace == NULL || factors == NULL || out == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "plan, workspace, factors or out is NULL");
  if (workspace->plan != plan)
    return pd_fail(context, POLYAD_MISMATCH, "the workspace was made for another plan");
  if (mode < 0 || mode >= plan->order)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "mode %d found; expected 0 to %d", mode,
                   plan->order - 1);
  for (int n = 0; n < plan->order; ++n)
    if (n != mode && factors[n] == NULL)
      return pd_fail(context, POLYAD_INVALID_ARGUMENT, "the factor of mode %d is NULL", n);
  return POLYAD_OK;
}

/* A matrix that is host memory; the CPU's kernels write only into their `out`. */
static struct pd_matrix wrap(const polyad_plan *plan, uint64_t rank, int mode, const void *data) {
  return (struct pd_matrix){.device = plan->device,
                            .type = plan->type,
                            .rows = plan->dims[mode],
                            .columns = rank,
                            .stride = rank,
                            .data = (void *)data};
}

static polyad_status on_cpu(polyad_context *context, const polyad_plan *plan,
                            polyad_workspace *workspace, int mode, const void *const *factors,
                            void *out) {
  struct pd_matrix matrix[POLYAD_MAX_ORDER], result = wrap(plan, workspace->rank, mode, out);
  const struct pd_matrix *pointer[POLYAD_MAX_ORDER];
  for (int n = 0; n < plan->order; ++n) {
    matrix[n] = wrap(plan, workspace->rank, n, factors[n]);
    pointer[n] = &matrix[n];
  }
  return pd_plan_mttkrp(context, plan, workspace, mode, pointer, &result);
}

/* Copies the factors onto the device and the result back. */
static polyad_status on_device(polyad_context *context, const polyad_plan *plan,
                               polyad_workspace *workspace, int mode, const void *const *factors,
                               void *out) {
  polyad_status status = POLYAD_OK;
  struct pd_matrix matrix[POLYAD_MAX_ORDER];
  const struct pd_matrix *pointer[POLYAD_MAX_ORDER];
  memset(matrix, 0, sizeof matrix);
  for (int n = 0; n < plan->order; ++n) {
    PD_TRY_CLEANUP(pd_matrix_create(context, plan->device, plan->type, plan->dims[n],
                                    workspace->rank, &matrix[n]));
    pointer[n] = &matrix[n];
    if (n != mode) PD_TRY_CLEANUP(pd_matrix_from_host(context, &matrix[n], factors[n]));
  }
  PD_TRY_CLEANUP(pd_plan_mttkrp(context, plan, workspace, mode, pointer, &matrix[mode]));
  status = pd_matrix_to_host(context, &matrix[mode], out);
cleanup:
  for (int n = 0; n < plan->order; ++n)
    if (matrix[n].data != NULL) pd_matrix_destroy(context, &matrix[n]);
  return status;
}

/* Kernels see values times a power of two; the caller must not. */
static void undo_scaling(const polyad_plan *plan, uint64_t rank, int mode, void *out) {
  if (plan->value_exponent == 0) return;
  for (uint64_t k = 0; k < plan->dims[mode] * rank; ++k) {
    if (plan->type == POLYAD_F64)
      ((double *)out)[k] = ldexp(((double *)out)[k], plan->value_exponent);
    else
      ((float *)out)[k] = ldexpf(((float *)out)[k], plan->value_exponent);
  }
}

polyad_status polyad_mttkrp(polyad_context *context, const polyad_plan *plan,
                            polyad_workspace *workspace, int mode, const void *const *factors,
                            void *out) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  PD_TRY(check_arguments(context, plan, workspace, mode, factors, out));
  if (strcmp(plan->device->kind, "cpu") == 0)
    PD_TRY(on_cpu(context, plan, workspace, mode, factors, out));
  else
    PD_TRY(on_device(context, plan, workspace, mode, factors, out));
  undo_scaling(plan, workspace->rank, mode, out);
  return POLYAD_OK;
}
