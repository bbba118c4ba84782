/* MTTKRP of "fcoo" on a GPU. */
#include "formats/fcoo/fcoo.h"
#include "formats/fcoo/fcoo_gpu.h"
#include "formats/fcoo/fcoo_layout.h"
#include "formats/nonzeros/nonzeros_cuda.h"

static polyad_status fcoo_cuda_put_mode(polyad_context *context, const struct pd_device *device,
                                        const struct pd_fcoo *fcoo, int output,
                                        struct pd_nz_on_device *made) {
  const struct pd_fcoo_mode *mode = &fcoo->mode[output];
  uint64_t nnz = fcoo->head.nnz, units = (nnz + PD_FCOO_UNIT - 1) / PD_FCOO_UNIT;
  struct pd_nz_device_list *list = pd_nz_add_list(made, output, mode->level);
  list->list.nnz = nnz;
  for (int l = 1; l < list->levels; ++l)
    PD_TRY(pd_nz_put(context, device, list, l, nnz, sizeof *mode->id[l], mode->id[l]));
  PD_TRY(pd_nz_put(context, device, list, PD_FCOO_FLAGS, units, sizeof *mode->flags, mode->flags));
  PD_TRY(pd_nz_put(context, device, list, PD_FCOO_ROW_ID, mode->rows, sizeof *mode->row_id,
                   mode->row_id));
  PD_TRY(pd_nz_put(context, device, list, PD_FCOO_UNIT_ROW, units, sizeof *mode->unit_row,
                   mode->unit_row));
  return pd_nz_put(context, device, list, -1, nnz, pd_type_bytes(fcoo->head.type), mode->values);
}

static polyad_status fcoo_cuda_describe(polyad_context *context, const struct pd_device *device,
                                        const void *storage, struct pd_nz_on_device *made) {
  const struct pd_fcoo *fcoo = storage;
  for (int n = 0; n < fcoo->head.order; ++n)
    PD_TRY(fcoo_cuda_put_mode(context, device, fcoo, n, made));
  return POLYAD_OK;
}

static const struct pd_nz_cuda fcoo_on_cuda = {.name = "fcoo",
                                               .describe = fcoo_cuda_describe,
                                               .f32 = {pd_fcoo_add_f32},
                                               .f64 = {pd_fcoo_add_f64},
                                               .chain_f32 = pd_fcoo_chain_f32,
                                               .chain_f64 = pd_fcoo_chain_f64,
                                               .sorted = {true}};

static polyad_status fcoo_cuda_upload(polyad_context *context, const struct pd_device *device,
                                      const void *storage, void **on_device) {
  return pd_nz_upload_as(context, device, &fcoo_on_cuda, storage, on_device);
}

const struct polyad_kernels pd_fcoo_kernels_cuda =
    PD_NZ_KERNELS_CUDA_CHAIN("fcoo", fcoo_cuda_upload);
