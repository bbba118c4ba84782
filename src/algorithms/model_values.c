/* A model's values at the entries of a tensor, computed on a device. They are the residuals of a
 * completion, with the other sign, whose observations are zeros at these entries, so that the
 * kernel of completion serves. */
#include "algorithms/model_values.h"
#include "algorithms/observations.h"
#include "linalg/linalg.h"
#include <stdio.h>
#include <string.h>

polyad_status pd_values_device(polyad_context *context, const polyad_tensor *tensor,
                               const struct pd_device **device, char name[PD_DEVICE_NAME]) {
  const struct pd_device *chosen;
  *device = NULL;
  snprintf(name, PD_DEVICE_NAME, "cpu");
  PD_TRY(pd_device_of(context, &chosen));
  const struct pd_completion *steps = chosen->linalg->completion;
  if (steps == NULL || steps->residuals == NULL || tensor->nnz == 0) return POLYAD_OK;
  for (int n = 0; n < tensor->order; ++n)
    if (tensor->dims[n] > UINT64_C(1) << 32) return POLYAD_OK; /* longer than observations may be */
  *device = chosen;
  snprintf(name, PD_DEVICE_NAME, "%s", chosen->name);
  return POLYAD_OK;
}

/* The factors on the device, with the weights in the first. */
static polyad_status model_values_send(polyad_context *context, const struct pd_device *device,
                                       const struct pd_double_model *model,
                                       struct pd_completed *sent) {
  double *first = NULL;
  uint64_t rank = model->rank, count = pd_mul_saturated(model->rows[0], rank);
  polyad_status status = POLYAD_OK;
  *sent = (struct pd_completed){.order = model->order, .rank = rank, .columns = rank};
  PD_TRY_CLEANUP(PD_NEW(context, count, &first));
  for (uint64_t k = 0; k < count; ++k)
    first[k] = model->factor[0][k] * model->weight[k % rank];
  for (int n = 0; n < model->order; ++n) {
    struct pd_matrix *factor = &sent->factor[n];
    PD_TRY_CLEANUP(pd_matrix_create(context, device, POLYAD_F64, model->rows[n], rank, factor));
    PD_TRY_CLEANUP(pd_matrix_from_host(context, factor, n == 0 ? first : model->factor[n]));
  }
  status = device->functions->synchronize(context, device); /* the array is freed below */
cleanup:
  pd_free(context, first);
  return status;
}

polyad_status pd_values_on_device(polyad_context *context, const struct pd_device *device,
                                  const struct pd_double_model *model, const polyad_tensor *tensor,
                                  double *values) {
  const struct pd_completion *steps = device->linalg->completion;
  struct pd_observations *cells = NULL;
  struct pd_completion_work *work = NULL;
  struct pd_completed sent = {.order = 0};
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_observations_create(context, tensor, NULL, 0, &cells));
  memset(cells->value, 0, cells->count * sizeof *cells->value);
  PD_TRY_CLEANUP(pd_observations_send(device, &cells));
  PD_TRY_CLEANUP(model_values_send(context, device, model, &sent));
  const struct pd_completion_job job = {
      .device = device, .seen = cells, .columns = model->rank, .threads = 1};
  PD_TRY_CLEANUP(steps->work_create(context, &job, &work));
  PD_TRY_CLEANUP(steps->residuals(context, work, &sent, cells, values));
  for (uint64_t q = 0; q < tensor->nnz; ++q)
    values[q] = -values[q];
cleanup:
  if (work != NULL) steps->work_destroy(context, work);
  for (int n = 0; n < sent.order; ++n)
    pd_matrix_destroy(context, &sent.factor[n]);
  pd_observations_destroy(cells);
  return status;
}
