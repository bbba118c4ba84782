/* MTTKRP of "mmcsf" on a GPU: every tree adds its share, whatever level the output mode is on. */
#include "formats/fibers/fibers_cuda.h"
#include "formats/mmcsf/mmcsf.h"
#include "formats/mmcsf/mmcsf_layout.h"

static polyad_status mmcsf_cuda_describe(polyad_context *context, const struct pd_device *device,
                                         const void *storage, struct pd_nz_on_device *made) {
  const struct pd_mmcsf *mmcsf = storage;
  for (int t = 0; t < mmcsf->trees; ++t)
    PD_TRY(pd_fibers_put(context, device, &mmcsf->tree[t], -1, mmcsf->trees == 1, 0, made));
  return POLYAD_OK;
}

static const struct pd_nz_cuda mmcsf_on_cuda = {.name = "mmcsf",
                                                .describe = mmcsf_cuda_describe,
                                                .f32 = {pd_fibers_add_f32},
                                                .f64 = {pd_fibers_add_f64},
                                                .chain_f32 = pd_fibers_chain_f32,
                                                .chain_f64 = pd_fibers_chain_f64};

static polyad_status mmcsf_cuda_upload(polyad_context *context, const struct pd_device *device,
                                       const void *storage, void **on_device) {
  return pd_nz_upload_as(context, device, &mmcsf_on_cuda, storage, on_device);
}

const struct polyad_kernels pd_mmcsf_kernels_cuda =
    PD_NZ_KERNELS_CUDA_CHAIN("mmcsf", mmcsf_cuda_upload);
