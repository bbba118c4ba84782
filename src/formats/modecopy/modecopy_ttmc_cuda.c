/* The tensor-times-matrix chain of "modecopy" on a GPU: on the planes that MTTKRP uses. In the
 * default variant the output row of each nonzero, which the planes leave out, is uploaded too; the
 * paper's variants have it and are summed by atomics. */
#include "formats/modecopy/modecopy_ttmc_cuda.h"
#include "formats/modecopy/modecopy_cuda.h"
#include "formats/modecopy/modecopy_layout.h"
#include "formats/ttmc/ttmc_cuda.h"

uint64_t pd_modecopy_ttmc_gpu_bytes(const void *storage, const uint64_t *ranks, int threads) {
  (void)threads;
  const struct pd_modecopy *host = pd_modecopy_device_host(storage);
  if (host->variant != PD_MODECOPY_SORTED) return 0;
  uint64_t rows = pd_mul_saturated(pd_mul_saturated(host->nnz, 4), (uint64_t)host->order);
  return pd_add_saturated(rows, pd_ttmc_gpu_carry_bytes(host->order, host->nnz, ranks));
}

/* The output row of every nonzero of a sorted copy. */
static polyad_status put_rows(polyad_context *context, const struct pd_modecopy *host, int mode,
                              struct pd_ttmc_gpu_work *work, const void **rows) {
  const struct pd_ordered *order = &host->copy[mode].order;
  uint32_t *buffer;
  PD_TRY(pd_cuda_services->alloc(context, host->nnz, sizeof *buffer, (void **)&buffer));
  for (uint64_t r = 0; r < order->rows; ++r)
    for (uint64_t p = order->row_start[r]; p < order->row_start[r + 1]; ++p)
      buffer[p] = order->row_id == NULL ? (uint32_t)r : order->row_id[r];
  polyad_status status = pd_ttmc_gpu_put(context, work, host->nnz, sizeof *buffer, buffer, rows);
  pd_cuda_services->free(context, buffer);
  return status;
}

static struct pd_gpu_ttmc_index index_of(const struct pd_modecopy_field *field,
                                         uint32_t *const *plane) {
  return (struct pd_gpu_ttmc_index){
      .plane = plane[field->plane], .shift = (uint32_t)field->shift, .mask = field->mask};
}

static polyad_status fill_list(polyad_context *context, const void *storage, int mode,
                               struct pd_ttmc_gpu_work *work) {
  const struct pd_modecopy *host = pd_modecopy_device_host(storage);
  const struct pd_modecopy_copy *copy = &host->copy[mode];
  struct pd_ttmc_list *to = &work->list[mode];
  uint32_t *const *plane;
  *to = (struct pd_ttmc_list){.nnz = host->nnz, .atomic = host->variant != PD_MODECOPY_SORTED};
  pd_modecopy_device_copy(storage, mode, &plane, &to->values);
  for (int k = 0; k < copy->inputs; ++k) {
    to->column_mode[to->columns] = copy->field[k].mode;
    to->column[to->columns++] = index_of(&copy->field[k], plane);
  }
  if (to->atomic) {
    to->row = index_of(&copy->field[copy->inputs], plane);
    return POLYAD_OK;
  }
  const void *rows;
  PD_TRY(put_rows(context, host, mode, work, &rows));
  to->row = (struct pd_gpu_ttmc_index){.plane = rows, .mask = UINT32_MAX};
  return POLYAD_OK;
}

polyad_status pd_modecopy_ttmc_gpu_create(polyad_context *context, const struct pd_device *device,
                                          const void *storage, const uint64_t *ranks,
                                          void **scratch) {
  const struct pd_modecopy *host = pd_modecopy_device_host(storage);
  struct pd_ttmc_gpu_work *work;
  *scratch = NULL;
  PD_TRY(pd_ttmc_gpu_create(context, device, host->order, host->type, &work));
  polyad_status status = POLYAD_OK;
  for (int mode = 0; mode < host->order && status == POLYAD_OK; ++mode)
    status = fill_list(context, storage, mode, work);
  if (status == POLYAD_OK) status = pd_ttmc_gpu_finish(context, work, ranks);
  if (status == POLYAD_OK)
    *scratch = work;
  else
    pd_ttmc_gpu_destroy(context, work);
  return status;
}
