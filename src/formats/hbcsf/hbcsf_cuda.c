/* MTTKRP of "hbcsf" on a GPU: three launches for the three kinds of slices of the output mode. */
#include "formats/fibers/fibers_cuda.h"
#include "formats/hbcsf/hbcsf.h"
#include "formats/hbcsf/hbcsf_gpu.h"
#include "formats/hbcsf/hbcsf_layout.h"

enum { SINGLE, LISTED, TREE };

static polyad_status put_singles(polyad_context *context, const struct pd_device *device,
                                 const struct pd_hbcsf_mode *from, int mode,
                                 struct pd_nz_on_device *made) {
  struct pd_nz_device_list *list = pd_nz_add_list(made, mode, from->level);
  list->kind = SINGLE;
  list->list.nnz = from->singles;
  for (int l = 0; l < list->levels; ++l)
    PD_TRY(pd_nz_put(context, device, list, l, from->singles, sizeof *from->single_id[l],
                     from->single_id[l]));
  return pd_nz_put(context, device, list, -1, from->singles, pd_type_bytes(made->host->type),
                   from->single_values);
}

static polyad_status put_listed(polyad_context *context, const struct pd_device *device,
                                const struct pd_hbcsf_mode *from, int mode,
                                struct pd_nz_on_device *made) {
  struct pd_nz_device_list *list = pd_nz_add_list(made, mode, from->level);
  list->kind = LISTED;
  list->list.nnz = from->listed;
  PD_TRY(pd_nz_put(context, device, list, 0, from->slices, sizeof *from->slice_id, from->slice_id));
  for (int l = 1; l < list->levels; ++l)
    PD_TRY(pd_nz_put(context, device, list, l, from->listed, sizeof *from->listed_id[l],
                     from->listed_id[l]));
  PD_TRY(pd_nz_put(context, device, list, PD_HBCSF_START, (uint64_t)from->slices + 1,
                   sizeof *from->slice_start, from->slice_start));
  PD_TRY(pd_nz_put(context, device, list, PD_HBCSF_UNIT_SLICE,
                   pd_nz_units(from->listed, PD_HBCSF_UNIT), sizeof *from->unit_slice,
                   from->unit_slice));
  return pd_nz_put(context, device, list, -1, from->listed, pd_type_bytes(made->host->type),
                   from->listed_values);
}

static polyad_status hbcsf_cuda_describe(polyad_context *context, const struct pd_device *device,
                                         const void *storage, struct pd_nz_on_device *made) {
  const struct pd_hbcsf *hbcsf = storage;
  for (int n = 0; n < hbcsf->head.order; ++n) {
    PD_TRY(put_singles(context, device, &hbcsf->mode[n], n, made));
    PD_TRY(put_listed(context, device, &hbcsf->mode[n], n, made));
    PD_TRY(pd_fibers_put(context, device, &hbcsf->mode[n].tree, n, true, TREE, made));
  }
  return POLYAD_OK;
}

static const struct pd_nz_cuda hbcsf_on_cuda = {
    .name = "hbcsf",
    .describe = hbcsf_cuda_describe,
    .f32 = {pd_hbcsf_single_f32, pd_hbcsf_listed_f32, pd_fibers_add_f32},
    .f64 = {pd_hbcsf_single_f64, pd_hbcsf_listed_f64, pd_fibers_add_f64}};

static polyad_status hbcsf_cuda_upload(polyad_context *context, const struct pd_device *device,
                                       const void *storage, void **on_device) {
  return pd_nz_upload_as(context, device, &hbcsf_on_cuda, storage, on_device);
}

const struct polyad_kernels pd_hbcsf_kernels_cuda = PD_NZ_KERNELS_CUDA("hbcsf", hbcsf_cuda_upload);
