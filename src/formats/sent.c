/* Sending a plan's tensor to its device. Where it does not fit, everything goes on as if the device
 * had no builders. */
#include "formats/sent.h"

static bool builds_there(const struct pd_request *request) {
  if (request->format != NULL) return request->format->build_there != NULL;
  for (int f = 0; f < pd_format_count(); ++f)
    if (pd_format_at(f)->build_there != NULL) return true;
  return false;
}

polyad_status pd_sent_begin(polyad_context *context, const polyad_tensor *tensor,
                            const struct pd_request *request) {
  const struct pd_device *device = request->device;
  const struct pd_device_build *steps = device->functions->build;
  if (request->sent == NULL || steps == NULL || !builds_there(request) ||
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

polyad_status pd_sent_open(polyad_context *context, const polyad_tensor *tensor,
                           const struct pd_request *request, struct pd_build **build) {
  *build = pd_sent(request);
  if (*build != NULL) return POLYAD_OK;
  return request->device->functions->build->open(context, request->device, tensor, build);
}

void pd_sent_close(polyad_context *context, const struct pd_request *request,
                   struct pd_build *build) {
  if (build != pd_sent(request)) request->device->functions->build->close(context, build);
}
