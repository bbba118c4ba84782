/* Sending a plan's tensor to its device. Where it does not fit, everything goes on as if the device
 * had no builders. */
#include "formats/sent.h"
#include <string.h>

bool pd_sent_builds(const struct pd_request *request) {
  if (request->format != NULL) return request->format->build_there != NULL;
  for (int f = 0; f < pd_format_count(); ++f)
    if (pd_format_at(f)->build_there != NULL) return true;
  return false;
}

polyad_status pd_sent_begin(polyad_context *context, const polyad_tensor *tensor,
                            const struct pd_request *request) {
  const struct pd_device *device = request->device;
  const struct pd_device_build *steps = device->functions->build;
  if (request->sent == NULL || steps == NULL || !pd_sent_builds(request) ||
      !steps->takes(tensor->nnz, tensor->order, tensor->dims))
    return POLYAD_OK;
  uint64_t bytes = steps->bytes(tensor->nnz, tensor->order, tensor->dims, tensor->type);
  if (bytes > device->functions->memory_available(context, device)) return POLYAD_OK;
  polyad_status status = steps->open(context, device, tensor, request->sent);
  if (status != POLYAD_OUT_OF_MEMORY && status != POLYAD_MEMORY_LIMIT) return status;
  pd_begin(context);
  return POLYAD_OK;
}

struct pd_build *pd_sent(const struct pd_request *request) {
  return request->sent == NULL ? NULL : *request->sent;
}

uint64_t pd_sent_bytes(const struct pd_request *request, uint64_t nnz, int order,
                       const uint64_t *dims) {
  if (pd_sent(request) == NULL) return 0;
  return request->device->functions->build->bytes(nnz, order, dims, request->precision);
}

void pd_sent_end(polyad_context *context, const struct pd_request *request) {
  if (pd_sent(request) == NULL) return;
  request->device->functions->build->close(context, *request->sent);
  *request->sent = NULL;
}

polyad_status pd_sent_build(polyad_context *context, const struct polyad_format *format,
                            const polyad_tensor *tensor, const struct pd_request *request,
                            void *storage) {
  const struct pd_device *device = request->device;
  const struct pd_device_build *steps = device->functions->build;
  struct pd_build *build = pd_sent(request);
  bool opens = build == NULL;
  if (opens) PD_TRY(steps->open(context, device, tensor, &build));
  polyad_status status = format->build_there(context, build, tensor, request, storage);
  if (status == POLYAD_OK) status = device->functions->synchronize(context, device);
  if (opens) steps->close(context, build);
  return status;
}

uint64_t pd_sent_bytes_there(const struct pd_traits *traits, const struct pd_request *request,
                             uint64_t storage_bytes) {
  const struct pd_device_build *steps = request->device->functions->build;
  if (!steps->takes(traits->nnz, traits->order, traits->dims)) return 0;
  return pd_add_saturated(
      storage_bytes, steps->bytes(traits->nnz, traits->order, traits->dims, request->precision));
}

polyad_status pd_sent_allocate(polyad_context *context, const struct pd_request *request,
                               uint64_t count, size_t size, void *array) {
  const struct pd_device *device = request->device;
  void *memory = NULL;
  polyad_status status =
      device->functions->allocate(context, device, pd_mul_saturated(count, size), &memory);
  memcpy(array, &memory, sizeof memory);
  return status;
}
