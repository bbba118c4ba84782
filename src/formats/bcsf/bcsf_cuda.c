/* MTTKRP of "bcsf" on a GPU: the tree that is rooted at the output mode. */
#include "formats/bcsf/bcsf.h"
#include "formats/bcsf/bcsf_layout.h"
#include "formats/fibers/fibers_cuda.h"

static polyad_status bcsf_cuda_describe(polyad_context *context, const struct pd_device *device,
                                        const void *storage, struct pd_nz_on_device *made) {
  const struct pd_bcsf *bcsf = storage;
  for (int n = 0; n < bcsf->head.order; ++n)
    PD_TRY(pd_fibers_put(context, device, &bcsf->tree[n], n, true, 0, made));
  return POLYAD_OK;
}

static const struct pd_nz_cuda bcsf_on_cuda = {.name = "bcsf",
                                               .describe = bcsf_cuda_describe,
                                               .f32 = {pd_fibers_add_f32},
                                               .f64 = {pd_fibers_add_f64},
                                               .chain_f32 = pd_fibers_chain_f32,
                                               .chain_f64 = pd_fibers_chain_f64};

static polyad_status bcsf_cuda_upload(polyad_context *context, const struct pd_device *device,
                                      const void *storage, void **on_device) {
  return pd_nz_upload_as(context, device, &bcsf_on_cuda, storage, on_device);
}

const struct polyad_kernels pd_bcsf_kernels_cuda =
    PD_NZ_KERNELS_CUDA_CHAIN("bcsf", bcsf_cuda_upload);
