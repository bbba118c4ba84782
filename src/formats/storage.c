/* Counting, freeing and moving storages: the header is copied, and each array that the format shows
 * is allocated where the copy lies and filled there. After a failure the arrays that are left
 * become NULL, so that what was made can be freed as ever. */
#include "formats/storage.h"
#include <string.h>

/* ---- counting and freeing ---------------------------------------------------------------------
 */

static void storage_add_bytes(struct pd_arrays *arrays, void **data, uint64_t bytes,
                              enum pd_array_use use) {
  (void)data, (void)use;
  arrays->bytes = pd_add_saturated(arrays->bytes, bytes);
}

uint64_t pd_storage_bytes(const struct polyad_format *format, const void *storage) {
  struct pd_arrays arrays = {.visit = storage_add_bytes, .bytes = format->header_bytes};
  if (format->bytes != NULL) return format->bytes(storage);
  format->arrays((void *)storage, &arrays); /* only looked at */
  return arrays.bytes;
}

static void storage_free_any(struct pd_arrays *arrays, void **data, uint64_t bytes,
                             enum pd_array_use use) {
  (void)bytes, (void)use;
  pd_free(arrays->context, *data);
  *data = NULL;
}

static void storage_free_moved(struct pd_arrays *arrays, void **data, uint64_t bytes,
                               enum pd_array_use use) {
  if (use != PD_ARRAY_HOST && use != PD_ARRAY_STREAMED) storage_free_any(arrays, data, bytes, use);
}

struct pd_arrays pd_arrays_freeing(polyad_context *context) {
  return (struct pd_arrays){.visit = storage_free_any, .context = context};
}

void pd_storage_free(polyad_context *context, const struct polyad_format *format, void *storage) {
  struct pd_arrays arrays = pd_arrays_freeing(context);
  if (storage == NULL) return;
  if (format->destroy != NULL) {
    format->destroy(context, storage);
    return;
  }
  format->arrays(storage, &arrays);
  pd_free(context, storage);
}

void pd_storage_shed(polyad_context *context, const struct polyad_format *format, void *storage) {
  struct pd_arrays arrays = {.visit = storage_free_moved, .context = context};
  format->arrays(storage, &arrays);
}

/* ---- moving ----------------------------------------------------------------------------------
 */

/* The header copied, with what the visitor makes of its arrays. */
static polyad_status storage_copy(const struct polyad_format *format, const void *from,
                                  struct pd_arrays *arrays, void **to) {
  *to = NULL;
  PD_TRY(pd_alloc(arrays->context, 1, format->header_bytes, to));
  memcpy(*to, from, format->header_bytes);
  format->arrays(*to, arrays);
  return arrays->status;
}

static void storage_drop_array(struct pd_arrays *arrays, void **data, uint64_t bytes,
                               enum pd_array_use use) {
  (void)arrays, (void)bytes, (void)use;
  *data = NULL;
}

polyad_status pd_storage_header(polyad_context *context, const struct polyad_format *format,
                                const void *on_device, void **storage) {
  struct pd_arrays arrays = {.visit = storage_drop_array, .context = context};
  return storage_copy(format, on_device, &arrays, storage);
}

static void storage_put_array(struct pd_arrays *arrays, void **data, uint64_t bytes,
                              enum pd_array_use use) {
  const struct pd_device_functions *device = arrays->device->functions;
  void *host = *data;
  if (use == PD_ARRAY_STREAMED) {
    if (device->pin != NULL && host != NULL) device->pin(arrays->device, host, bytes, true);
    return;
  }
  *data = NULL;
  if (use == PD_ARRAY_HOST || arrays->status != POLYAD_OK || host == NULL || bytes == 0) return;
  arrays->status = device->allocate(arrays->context, arrays->device, bytes, data);
  if (arrays->status == POLYAD_OK)
    arrays->status = device->copy_in(arrays->context, arrays->device, *data, host, bytes);
}

polyad_status pd_storage_put(polyad_context *context, const struct polyad_format *format,
                             const struct pd_device *device, const void *storage,
                             void **on_device) {
  struct pd_arrays arrays = {.visit = storage_put_array, .context = context, .device = device};
  polyad_status status = storage_copy(format, storage, &arrays, on_device);
  /* The host's arrays may be freed from now on. */
  if (status == POLYAD_OK) status = device->functions->synchronize(context, device);
  if (status == POLYAD_OK) return POLYAD_OK;
  pd_storage_release(context, format, device, *on_device);
  *on_device = NULL;
  return status;
}

/* An array without items is there all the same. */
static void storage_bring_array(struct pd_arrays *arrays, void **data, uint64_t bytes,
                                enum pd_array_use use) {
  const struct pd_device_functions *device = arrays->device->functions;
  const void *from = *data;
  *data = NULL;
  if (use == PD_ARRAY_HOST || arrays->status != POLYAD_OK) return;
  if (use == PD_ARRAY_MOVES && !arrays->whole) return;
  arrays->status = pd_alloc(arrays->context, bytes, 1, data);
  if (arrays->status != POLYAD_OK || from == NULL) return;
  if (use == PD_ARRAY_STREAMED)
    memcpy(*data, from, bytes);
  else
    arrays->status = device->copy_out(arrays->context, arrays->device, *data, from, bytes);
}

polyad_status pd_storage_bring(polyad_context *context, const struct polyad_format *format,
                               const struct pd_device *device, const void *on_device, bool whole,
                               void **storage) {
  struct pd_arrays arrays = {
      .visit = storage_bring_array, .context = context, .device = device, .whole = whole};
  polyad_status status = storage_copy(format, on_device, &arrays, storage);
  if (status == POLYAD_OK) return POLYAD_OK;
  pd_storage_free(context, format, *storage);
  *storage = NULL;
  return status;
}

static void storage_release_array(struct pd_arrays *arrays, void **data, uint64_t bytes,
                                  enum pd_array_use use) {
  const struct pd_device_functions *device = arrays->device->functions;
  if (use == PD_ARRAY_HOST || *data == NULL) return;
  if (use != PD_ARRAY_STREAMED)
    device->release(arrays->context, arrays->device, *data);
  else if (device->pin != NULL)
    device->pin(arrays->device, *data, bytes, false);
}

void pd_storage_release(polyad_context *context, const struct polyad_format *format,
                        const struct pd_device *device, void *on_device) {
  struct pd_arrays arrays = {.visit = storage_release_array, .context = context, .device = device};
  if (on_device == NULL) return;
  format->arrays(on_device, &arrays);
  pd_free(context, on_device);
}

/* ---- building ---------------------------------------------------------------------------------
 */

polyad_status pd_storage_begin(polyad_context *context, const struct polyad_format *format,
                               const polyad_tensor *tensor, const struct pd_request *request,
                               void **storage) {
  PD_TRY(pd_alloc_zero(context, 1, format->header_bytes, storage));
  polyad_status status =
      format->begin == NULL ? POLYAD_OK : format->begin(context, tensor, request, *storage);
  if (status == POLYAD_OK) return status;
  pd_free(context, *storage);
  *storage = NULL;
  return status;
}

polyad_status pd_storage_build(polyad_context *context, const struct polyad_format *format,
                               polyad_tensor *tensor, bool take, const struct pd_request *request,
                               void **storage) {
  PD_TRY(pd_storage_begin(context, format, tensor, request, storage));
  polyad_status status = format->build(context, tensor, take, request, *storage);
  if (status == POLYAD_OK) return status;
  pd_storage_free(context, format, *storage);
  *storage = NULL;
  return status;
}
