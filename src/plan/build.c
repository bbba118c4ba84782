/* Making a storage where its kernels run: on the device itself where the format has a builder there
 * and the memory for it, else on the host, which then copies it. What lies on a device of its own
 * memory is not kept on the host as well, where it can be brought back. A cancelled context ends
 * planning before a storage is built and after. */
#include "core/radix_sort.h"
#include "formats/storage.h"
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

uint64_t pd_storage_device_bytes(const struct polyad_kernels *kernels,
                                 const struct pd_traits *traits, const struct pd_request *request,
                                 uint64_t storage_bytes) {
  if (kernels->build == NULL) return 0;
  return kernels->build_bytes(traits, request, storage_bytes);
}

/* ---- on the device ----------------------------------------------------------------------------
 */

static bool has_room(polyad_context *context, const struct pd_making *making) {
  const struct pd_request *request = making->request;
  uint64_t storage, building;
  making->format->estimate_bytes(making->request->traits, request, &storage, &building);
  uint64_t bytes =
      pd_storage_device_bytes(making->kernels, making->request->traits, request, storage);
  return bytes > 0 &&
         bytes <= request->device->functions->memory_available(context, request->device);
}

static polyad_status build_there(polyad_context *context, const struct pd_making *making,
                                 const polyad_tensor *tensor, struct pd_stored *stored) {
  const struct pd_device *device = making->request->device;
  PD_TRY(check_cancelled(context));
  PD_TRY(making->format->begin(context, tensor, making->request, &stored->storage));
  polyad_status status =
      making->kernels->build(context, device, tensor, making->request->traits, making->request,
                             stored->storage, &stored->on_device);
  if (status == POLYAD_OK) status = check_cancelled(context);
  stored->shed = true;
  if (status != POLYAD_OK)
    pd_stored_clear(context, making->format, making->kernels, device, stored);
  return status;
}

/* ---- wherever ---------------------------------------------------------------------------------
 */

static bool moves(const struct pd_making *making) {
  bool far = !making->request->device->functions->host_memory;
  return making->kernels->upload != NULL || (far && making->format->arrays != NULL);
}

static bool sheds(const struct polyad_format *format, const struct polyad_kernels *kernels) {
  return kernels->upload == NULL || (kernels->download != NULL && format->shed != NULL);
}

static polyad_status build_here(polyad_context *context, const struct pd_making *making,
                                polyad_tensor *tensor, bool take, struct pd_stored *stored) {
  const struct polyad_kernels *kernels = making->kernels;
  const struct pd_device *device = making->request->device;
  PD_TRY(
      pd_storage_build(context, making->format, tensor, take, making->request, &stored->storage));
  if (!moves(making)) {
    stored->on_device = stored->storage;
    return POLYAD_OK;
  }
  polyad_status status =
      kernels->upload != NULL
          ? kernels->upload(context, device, stored->storage, &stored->on_device)
          : pd_storage_put(context, making->format, device, stored->storage, &stored->on_device);
  if (status != POLYAD_OK) {
    pd_stored_clear(context, making->format, kernels, device, stored);
    return status;
  }
  stored->shed = sheds(making->format, kernels);
  if (stored->shed && kernels->upload == NULL)
    pd_storage_shed(context, making->format, stored->storage);
  else if (stored->shed)
    making->format->shed(context, stored->storage);
  return POLYAD_OK;
}

polyad_status pd_storage_make(polyad_context *context, const struct pd_making *asked,
                              polyad_tensor *tensor, bool take, struct pd_stored *stored) {
  struct pd_making making = *asked;
  struct pd_request request = *asked->request;
  struct pd_traits traits;
  *stored = (struct pd_stored){0};
  if (making.kernels->build != NULL && request.traits == NULL) {
    PD_TRY(pd_traits_compute(context, tensor, &traits));
    request.traits = &traits;
    making.request = &request;
  }
  if (making.kernels->build != NULL && has_room(context, &making)) {
    polyad_status status = build_there(context, &making, tensor, stored);
    if (status != POLYAD_OUT_OF_MEMORY && status != POLYAD_MEMORY_LIMIT) return status;
    pd_log(context, POLYAD_LOG_INFO, "the host builds the storage: %s", polyad_last_error(context));
    pd_begin(context);
  }
  return build_here(context, &making, tensor, take, stored);
}

polyad_status pd_stored_bring(polyad_context *context, const struct polyad_format *format,
                              const struct polyad_kernels *kernels, const struct pd_device *device,
                              const void *on_device, bool whole, void **storage) {
  if (kernels->download != NULL)
    return kernels->download(context, device, on_device, whole, storage);
  return pd_storage_bring(context, format, device, on_device, whole, storage);
}

void pd_stored_clear(polyad_context *context, const struct polyad_format *format,
                     const struct polyad_kernels *kernels, const struct pd_device *device,
                     struct pd_stored *stored) {
  bool apart = stored->on_device != NULL && stored->on_device != stored->storage;
  if (apart && kernels->unload != NULL)
    kernels->unload(context, device, stored->on_device);
  else if (apart)
    pd_storage_release(context, format, device, stored->on_device);
  if (stored->storage != NULL) format->destroy(context, stored->storage);
  *stored = (struct pd_stored){0};
}
