/* MTTKRP of "fwc" on a GPU. */
#include "formats/fwc/fwc.h"
#include "formats/fwc/fwc_gpu.h"
#include "formats/fwc/fwc_layout.h"
#include "formats/nonzeros/nonzeros_cuda.h"

static polyad_status fwc_cuda_put_mode(polyad_context *context, const struct pd_device *device,
                                       const struct pd_fwc *fwc, int output,
                                       struct pd_nz_on_device *made) {
  const struct pd_fwc_mode *mode = &fwc->mode[output];
  uint64_t nnz = fwc->head.nnz;
  struct pd_nz_device_list *list = pd_nz_add_list(made, output, mode->level);
  list->list.nnz = nnz;
  for (int l = 0; l < list->levels; ++l)
    PD_TRY(pd_nz_put(context, device, list, l, l < list->levels - 1 ? mode->fibers : nnz,
                     sizeof *mode->id[l], mode->id[l]));
  PD_TRY(pd_nz_put(context, device, list, PD_FWC_START, (uint64_t)mode->fibers + 1,
                   sizeof *mode->start, mode->start));
  PD_TRY(pd_nz_put(context, device, list, PD_FWC_UNIT_FIBER, pd_nz_units(nnz, PD_FWC_UNIT),
                   sizeof *mode->unit_fiber, mode->unit_fiber));
  return pd_nz_put(context, device, list, -1, nnz, pd_type_bytes(fwc->head.type), mode->values);
}

static polyad_status fwc_cuda_describe(polyad_context *context, const struct pd_device *device,
                                       const void *storage, struct pd_nz_on_device *made) {
  const struct pd_fwc *fwc = storage;
  for (int n = 0; n < fwc->head.order; ++n)
    PD_TRY(fwc_cuda_put_mode(context, device, fwc, n, made));
  return POLYAD_OK;
}

static const struct pd_nz_cuda fwc_on_cuda = {
    .name = "fwc", .describe = fwc_cuda_describe, .f32 = {pd_fwc_add_f32}, .f64 = {pd_fwc_add_f64}};

static polyad_status fwc_cuda_upload(polyad_context *context, const struct pd_device *device,
                                     const void *storage, void **on_device) {
  return pd_nz_upload_as(context, device, &fwc_on_cuda, storage, on_device);
}

const struct polyad_kernels pd_fwc_kernels_cuda = PD_NZ_KERNELS_CUDA("fwc", fwc_cuda_upload);
