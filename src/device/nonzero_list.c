#include "device/nonzero_list.h"

/* Bytes on the device. */
static uint64_t nonzero_list_bytes(const struct pd_nonzeros *nonzeros) {
  uint64_t each = pd_type_bytes(nonzeros->type);
  for (int n = 0; n < nonzeros->order; ++n)
    each += (uint64_t)pd_index_bytes(nonzeros->dims[n]);
  return pd_mul_saturated(nonzeros->nnz, each);
}

static polyad_status nonzero_list_put(polyad_context *context, const struct pd_device *device,
                                      const void *host, uint64_t bytes, void **out) {
  PD_TRY(device->functions->allocate(context, device, bytes, out));
  return device->functions->copy_in(context, device, *out, host, bytes);
}

polyad_status pd_list_create(polyad_context *context, const struct pd_device *device,
                             const struct pd_nonzeros *nonzeros, struct pd_list **out) {
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  polyad_status status = POLYAD_OK;
  struct pd_list *list = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &list));
  list->device = device;
  list->order = nonzeros->order;
  list->nnz = nonzeros->nnz;
  list->type = nonzeros->type;
  PD_TRY_CLEANUP(
      pd_memory_check(context, nonzero_list_bytes(nonzeros), "the nonzeros for residuals"));
  PD_TRY_CLEANUP(pd_nonzeros_to_arrays(context, nonzeros, index, &values));
  for (int n = 0; n < list->order; ++n) {
    list->index_bytes[n] = pd_index_bytes(nonzeros->dims[n]);
    PD_TRY_CLEANUP(nonzero_list_put(context, device, index[n],
                                    list->nnz * (uint64_t)list->index_bytes[n], &list->index[n]));
  }
  PD_TRY_CLEANUP(nonzero_list_put(context, device, values, list->nnz * pd_type_bytes(list->type),
                                  &list->values));
  status = device->functions->synchronize(context, device); /* the arrays are freed below */
  *out = list;
cleanup:
  for (int n = 0; n < nonzeros->order; ++n)
    pd_free(context, index[n]);
  pd_free(context, values);
  if (status != POLYAD_OK) {
    pd_list_destroy(context, list);
    *out = NULL;
  }
  return status;
}

void pd_list_destroy(polyad_context *context, struct pd_list *list) {
  if (list == NULL) return;
  for (int n = 0; n < list->order; ++n)
    if (list->index[n] != NULL)
      list->device->functions->release(context, list->device, list->index[n]);
  if (list->values != NULL) list->device->functions->release(context, list->device, list->values);
  pd_free(context, list);
}
