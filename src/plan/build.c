/* Building a storage for a device, which sorts if it can: that is most of the work. A cancelled
 * context ends planning before a storage is built and after. */
#include "core/radix_sort.h"
#include "plan/plan.h"

static polyad_status sort_on_device(polyad_context *context, const void *user, uint64_t count,
                                    uint64_t *keys, int key_bits, void *payload,
                                    size_t payload_bytes, bool keep_keys) {
  const struct pd_device *device = user;
  return device->functions->sort(context, device, count, keys, key_bits, payload, payload_bytes,
                                 keep_keys);
}

static polyad_status check_cancelled(polyad_context *context) {
  if (!pd_cancelled(context)) return POLYAD_OK;
  return pd_fail(context, POLYAD_CANCELLED, "planning was cancelled");
}

polyad_status pd_storage_build(polyad_context *context, const struct polyad_format *format,
                               polyad_tensor *tensor, bool take, const struct pd_request *request,
                               void **storage) {
  PD_TRY(check_cancelled(context));
  const struct pd_sorter sorter = {sort_on_device, request->device};
  bool sorts = request->device != NULL && request->device->functions->sort != NULL;
  pd_set_sorter(context, sorts ? &sorter : NULL);
  polyad_status status = format->build(context, tensor, take, request, storage);
  pd_set_sorter(context, NULL);
  if (status != POLYAD_OK) return status;
  status = check_cancelled(context);
  if (status == POLYAD_OK) return status;
  format->destroy(context, *storage);
  *storage = NULL;
  return status;
}
