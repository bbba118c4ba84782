/* MTTKRP of "coo" on a GPU: the lists as plain arrays of 32-bit indices. */
#include "formats/coo/coo_cuda.h"
#include "formats/coo/coo.h"
#include "formats/coo/coo_layout.h"
#include "formats/coo/coo_ttmc_cuda.h"
#include "formats/nonzeros/nonzeros_cuda.h"
#include "formats/ttmc/ttmc_cuda.h"

enum { SORTED, ATOMIC };

static uint32_t number(const void *array, int bytes, uint64_t p) {
  return bytes == 2   ? ((const uint16_t *)array)[p]
         : bytes == 4 ? ((const uint32_t *)array)[p]
                      : (uint32_t)((const uint64_t *)array)[p];
}

/* The output row of every nonzero. */
static void spread_rows(const struct pd_rowsum *list, uint32_t *to) {
  for (uint64_t r = 0; r < list->runs; ++r) {
    uint64_t end = number(list->row_start, list->start_bytes, r + 1);
    for (uint64_t p = number(list->row_start, list->start_bytes, r); p < end; ++p)
      to[p] = number(list->row_id, list->row_bytes, r);
  }
}

static polyad_status coo_cuda_put_list(polyad_context *context, const struct pd_device *device,
                                       const struct pd_coo *coo, int mode, uint32_t *buffer,
                                       struct pd_nz_on_device *made) {
  const struct pd_rowsum *from = &coo->list[mode];
  int levels[POLYAD_MAX_ORDER] = {mode};
  for (int c = 0; c < from->columns; ++c)
    levels[c + 1] = from->mode[c];
  struct pd_nz_device_list *list = pd_nz_add_list(made, coo->atomic ? -1 : mode, levels);
  list->kind = coo->atomic ? ATOMIC : SORTED;
  list->list.nnz = from->nnz;
  spread_rows(from, buffer);
  PD_TRY(pd_nz_put(context, device, list, 0, from->nnz, sizeof *buffer, buffer));
  for (int c = 0; c < from->columns; ++c) {
    for (uint64_t p = 0; p < from->nnz; ++p)
      buffer[p] = number(from->id[c], from->id_bytes[c], p);
    PD_TRY(pd_nz_put(context, device, list, c + 1, from->nnz, sizeof *buffer, buffer));
  }
  return pd_nz_put(context, device, list, -1, from->nnz, pd_type_bytes(coo->type), from->values);
}

static polyad_status coo_cuda_describe(polyad_context *context, const struct pd_device *device,
                                       const void *storage, struct pd_nz_on_device *made) {
  const struct pd_coo *coo = storage;
  polyad_status status = POLYAD_OK;
  uint32_t *buffer;
  PD_TRY(pd_cuda_services->alloc(context, coo->nnz, sizeof *buffer, (void **)&buffer));
  for (int mode = 0; mode < (coo->atomic ? 1 : coo->order) && status == POLYAD_OK; ++mode)
    status = coo_cuda_put_list(context, device, coo, mode, buffer, made);
  pd_cuda_services->free(context, buffer);
  return status;
}

static const struct pd_nz_cuda coo_on_cuda = {
    .name = "coo",
    .describe = coo_cuda_describe,
    .f32 = {[SORTED] = pd_coo_sorted_f32, [ATOMIC] = pd_coo_atomic_f32},
    .f64 = {[SORTED] = pd_coo_sorted_f64, [ATOMIC] = pd_coo_atomic_f64},
    .sorted = {[SORTED] = true},
};

static polyad_status coo_cuda_upload(polyad_context *context, const struct pd_device *device,
                                     const void *storage, void **on_device) {
  return pd_nz_upload_as(context, device, &coo_on_cuda, storage, on_device);
}

const struct polyad_kernels pd_coo_kernels_cuda = {
    .format = "coo",
    .device = "cuda",
    .upload = coo_cuda_upload,
    .unload = pd_nz_unload,
    .workspace_bytes = pd_nz_cuda_workspace_bytes,
    .workspace_create = pd_nz_cuda_workspace_create,
    .workspace_destroy = pd_nz_cuda_workspace_destroy,
    .mttkrp = pd_nz_cuda_mttkrp,
    .ttmc_workspace_bytes = pd_coo_ttmc_gpu_bytes,
    .ttmc_workspace_create = pd_coo_ttmc_gpu_create,
    .ttmc_workspace_destroy = pd_ttmc_gpu_destroy,
    .ttmc = pd_ttmc_gpu_run,
};
