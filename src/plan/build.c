/* Making a storage where its kernels run: on the device itself where the format has a builder there
 * and the memory for it, else on the host, which then copies it. What lies on a device of its own
 * memory is not kept on the host as well, where it can be brought back. A cancelled context ends
 * planning before a storage is built and after. */
#include "formats/sent.h"
#include "formats/storage.h"
#include "plan/plan.h"

static polyad_status check_cancelled(polyad_context *context) {
  if (!pd_cancelled(context)) return POLYAD_OK;
  return pd_fail(context, POLYAD_CANCELLED, "planning was cancelled");
}

static polyad_status build_on_host(polyad_context *context, const struct polyad_format *format,
                                   polyad_tensor *tensor, bool take,
                                   const struct pd_request *request, void **storage) {
  PD_TRY(check_cancelled(context));
  PD_TRY(pd_storage_build(context, format, tensor, take, request, storage));
  polyad_status status = check_cancelled(context);
  if (status == POLYAD_OK) return status;
  pd_storage_free(context, format, *storage);
  *storage = NULL;
  return status;
}

uint64_t pd_storage_device_bytes(const struct polyad_format *format, const struct pd_traits *traits,
                                 const struct pd_request *request, uint64_t storage_bytes) {
  if (format->build_there == NULL || request->device->functions->build == NULL) return 0;
  return format->bytes_there(traits, request, storage_bytes);
}

/* ---- on the device ----------------------------------------------------------------------------
 */

static bool has_room(polyad_context *context, const struct pd_making *making) {
  const struct pd_request *request = making->request;
  uint64_t storage, building;
  making->format->estimate_bytes(making->request->traits, request, &storage, &building);
  uint64_t bytes =
      pd_storage_device_bytes(making->format, making->request->traits, request, storage);
  uint64_t held =
      pd_sent_bytes(request, request->traits->nnz, request->traits->order, request->traits->dims);
  return bytes > 0 && bytes <= pd_add_saturated(held, request->device->functions->memory_available(
                                                          context, request->device));
}

static polyad_status build_there(polyad_context *context, const struct pd_making *making,
                                 const polyad_tensor *tensor, struct pd_stored *stored) {
  const struct polyad_format *format = making->format;
  const struct pd_device *device = making->request->device;
  void *made;
  PD_TRY(check_cancelled(context));
  PD_TRY(pd_storage_begin(context, format, tensor, making->request, &made));
  polyad_status status = pd_sent_build(context, format, tensor, making->request, made);
  if (status == POLYAD_OK) status = check_cancelled(context);
  if (status == POLYAD_OK) status = pd_storage_header(context, format, made, &stored->storage);
  stored->on_device = made;
  stored->shed = true;
  if (status != POLYAD_OK) pd_stored_clear(context, format, device, stored);
  return status;
}

/* ---- wherever ---------------------------------------------------------------------------------
 */

static polyad_status build_here(polyad_context *context, const struct pd_making *making,
                                polyad_tensor *tensor, bool take, struct pd_stored *stored) {
  const struct polyad_format *format = making->format;
  const struct pd_device *device = making->request->device;
  PD_TRY(build_on_host(context, format, tensor, take, making->request, &stored->storage));
  if (device->functions->host_memory) {
    stored->on_device = stored->storage;
    return POLYAD_OK;
  }
  polyad_status status =
      pd_storage_put(context, format, device, stored->storage, &stored->on_device);
  if (status == POLYAD_OK)
    pd_storage_shed(context, format, stored->storage);
  else
    pd_stored_clear(context, format, device, stored);
  stored->shed = status == POLYAD_OK;
  return status;
}

polyad_status pd_storage_make(polyad_context *context, const struct pd_making *asked,
                              polyad_tensor *tensor, bool take, struct pd_stored *stored) {
  struct pd_making making = *asked;
  struct pd_request request = *asked->request;
  struct pd_traits traits;
  *stored = (struct pd_stored){0};
  bool builds = making.format->build_there != NULL && request.device->functions->build != NULL;
  if (builds && request.traits == NULL) {
    PD_TRY(pd_traits_compute_for(context, tensor, making.format, &traits));
    request.traits = &traits;
    making.request = &request;
  }
  if (builds && has_room(context, &making)) {
    polyad_status status = build_there(context, &making, tensor, stored);
    if (status != POLYAD_OUT_OF_MEMORY && status != POLYAD_MEMORY_LIMIT) return status;
    if (pd_tensor_is_elsewhere(tensor)) return status;
    pd_log(context, POLYAD_LOG_INFO, "the host builds the storage: %s", polyad_last_error(context));
    pd_begin(context);
  }
  if (pd_tensor_is_elsewhere(tensor))
    return pd_fail(context, POLYAD_MEMORY_LIMIT,
                   "%s has not the memory to build format %s from arrays that lie there",
                   request.device->name, making.format->name);
  pd_sent_end(context, &request);
  return build_here(context, &making, tensor, take, stored);
}

void pd_stored_clear(polyad_context *context, const struct polyad_format *format,
                     const struct pd_device *device, struct pd_stored *stored) {
  if (stored->on_device != stored->storage)
    pd_storage_release(context, format, device, stored->on_device);
  pd_storage_free(context, format, stored->storage);
  *stored = (struct pd_stored){0};
}
