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

/* ---- in pieces --------------------------------------------------------------------------------
 */

enum { ALIGNMENT = 64 };

/* Arrays of so many nonzeros, one behind the other. */
static void lay_arrays(struct pd_list *list, char *memory) {
  for (int n = 0; n < list->order; ++n) {
    list->index[n] = memory;
    memory += pd_mul_saturated(list->room, (uint64_t)list->index_bytes[n]) / ALIGNMENT * ALIGNMENT +
              ALIGNMENT;
  }
  list->values = memory;
}

polyad_status pd_list_create_within(polyad_context *context, const struct pd_device *device,
                                    const struct pd_nonzeros *shape, uint64_t most, void *memory,
                                    uint64_t bytes, struct pd_list **out) {
  struct pd_list *list = NULL;
  struct pd_nonzeros one = *shape;
  polyad_status status = POLYAD_OK;
  uint64_t gaps = ALIGNMENT * ((uint64_t)shape->order + 1);
  one.nnz = 1;
  uint64_t room = bytes > gaps ? (bytes - gaps) / nonzero_list_bytes(&one) : 0;
  *out = NULL;
  if (room == 0)
    return pd_fail(context, POLYAD_MEMORY_LIMIT, "a list of nonzeros does not fit %llu bytes",
                   (unsigned long long)bytes);
  PD_TRY(PD_NEW_ZERO(context, 1, &list));
  *list = (struct pd_list){.device = device,
                           .order = shape->order,
                           .type = shape->type,
                           .room = room < most ? room : most};
  for (int n = 0; n < list->order; ++n) {
    list->index_bytes[n] = pd_index_bytes(shape->dims[n]);
    PD_TRY_CLEANUP(
        pd_alloc(context, list->room, (size_t)list->index_bytes[n], &list->host_index[n]));
  }
  PD_TRY_CLEANUP(pd_alloc(context, list->room, pd_type_bytes(list->type), &list->host_values));
  lay_arrays(list, memory);
  *out = list;
cleanup:
  if (status != POLYAD_OK) pd_list_destroy(context, list);
  return status;
}

polyad_status pd_list_refill(polyad_context *context, struct pd_list *list,
                             const struct pd_nonzeros *nonzeros) {
  const struct pd_device *device = list->device;
  list->nnz = nonzeros->nnz;
  PD_TRY(pd_nonzeros_decode(context, nonzeros, list->host_index, list->host_values));
  for (int n = 0; n < list->order; ++n)
    PD_TRY(device->functions->copy_in(context, device, list->index[n], list->host_index[n],
                                      list->nnz * (uint64_t)list->index_bytes[n]));
  PD_TRY(device->functions->copy_in(context, device, list->values, list->host_values,
                                    list->nnz * pd_type_bytes(list->type)));
  return device->functions->synchronize(context, device); /* the host's arrays are filled again */
}

void pd_list_destroy(polyad_context *context, struct pd_list *list) {
  if (list == NULL) return;
  for (int n = 0; n < list->order; ++n) {
    if (list->room == 0 && list->index[n] != NULL)
      list->device->functions->release(context, list->device, list->index[n]);
    pd_free(context, list->host_index[n]);
  }
  if (list->room == 0 && list->values != NULL)
    list->device->functions->release(context, list->device, list->values);
  PD_FREE(context, list->host_values, list);
}
