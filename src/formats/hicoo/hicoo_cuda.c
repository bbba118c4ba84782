/* MTTKRP of "hicoo" on a GPU. */
#include "formats/hicoo/hicoo.h"
#include "formats/hicoo/hicoo_gpu.h"
#include "formats/hicoo/hicoo_layout.h"
#include "formats/nonzeros/nonzeros_cuda.h"

_Static_assert((int)PD_HICOO_SHIFT == (int)PD_HICOO_BITS && PD_HICOO_UNIT == 64,
               "host and kernels agree");

static polyad_status hicoo_cuda_describe(polyad_context *context, const struct pd_device *device,
                                         const void *storage, struct pd_nz_on_device *made) {
  const struct pd_hicoo *hicoo = storage;
  uint64_t nnz = hicoo->head.nnz;
  struct pd_nz_device_list *list = pd_nz_add_list(made, -1, hicoo->levels);
  list->list.nnz = nnz;
  for (int n = 0; n < hicoo->head.order; ++n) {
    PD_TRY(pd_nz_put(context, device, list, n, nnz, 1, hicoo->element[n]));
    PD_TRY(pd_nz_put(context, device, list, PD_HICOO_BLOCK + n, hicoo->blocks,
                     sizeof *hicoo->block[n], hicoo->block[n]));
  }
  PD_TRY(pd_nz_put(context, device, list, PD_HICOO_START, (uint64_t)hicoo->blocks + 1,
                   sizeof *hicoo->start, hicoo->start));
  PD_TRY(pd_nz_put(context, device, list, PD_HICOO_UNIT_BLOCK, pd_nz_units(nnz, PD_HICOO_UNIT),
                   sizeof *hicoo->unit_block, hicoo->unit_block));
  return pd_nz_put(context, device, list, -1, nnz, pd_type_bytes(hicoo->head.type), hicoo->values);
}

static const struct pd_nz_cuda hicoo_on_cuda = {.name = "hicoo",
                                                .describe = hicoo_cuda_describe,
                                                .f32 = {pd_hicoo_add_f32},
                                                .f64 = {pd_hicoo_add_f64},
                                                .chain_f32 = pd_hicoo_chain_f32,
                                                .chain_f64 = pd_hicoo_chain_f64};

static polyad_status hicoo_cuda_upload(polyad_context *context, const struct pd_device *device,
                                       const void *storage, void **on_device) {
  return pd_nz_upload_as(context, device, &hicoo_on_cuda, storage, on_device);
}

const struct polyad_kernels pd_hicoo_kernels_cuda =
    PD_NZ_KERNELS_CUDA_CHAIN("hicoo", hicoo_cuda_upload);
