/* The tensor-times-matrix chain of "modecopy" on a GPU: on the planes that MTTKRP uses. In the
 * default variant the output row of each nonzero, which the planes leave out, is written too; the
 * paper's variants have it and are summed by atomics. */
#include "device/cuda/cuda_build.h"
#include "formats/modecopy/modecopy_layout.h"
#include "formats/tables.h"
#include "formats/ttmc/ttmc_cuda.h"

static uint64_t modecopy_ttmc_cuda_bytes(const void *storage, const uint64_t *ranks, int threads) {
  (void)threads;
  const struct pd_modecopy *modecopy = storage;
  if (modecopy->variant != PD_MODECOPY_SORTED) return 0;
  uint64_t rows = pd_mul_saturated(pd_mul_saturated(modecopy->nnz, 4), (uint64_t)modecopy->order);
  return pd_add_saturated(rows, pd_ttmc_gpu_carry_bytes(modecopy->order, modecopy->nnz, ranks));
}

/* The output row of every nonzero of a sorted copy. */
static polyad_status modecopy_ttmc_cuda_write_rows(polyad_context *context,
                                                   const struct pd_modecopy *modecopy, int mode,
                                                   struct pd_ttmc_gpu_work *work,
                                                   const uint32_t **rows) {
  const struct pd_ordered *order = &modecopy->copy[mode].order;
  uint32_t *row;
  PD_TRY(PD_CUDA_SCRATCH(context, &work->base, modecopy->nnz, sizeof *row, &row));
  *rows = row;
  return pd_cuda_build.rows_of(context, work->base.device, modecopy->nnz, order->rows,
                               order->row_start, order->row_id, row);
}

static struct pd_gpu_ttmc_index modecopy_ttmc_cuda_index_of(const struct pd_modecopy_field *field,
                                                            uint32_t *const *plane) {
  return (struct pd_gpu_ttmc_index){
      .plane = plane[field->plane], .shift = (uint32_t)field->shift, .mask = field->mask};
}

static polyad_status modecopy_ttmc_cuda_fill_list(polyad_context *context, const void *storage,
                                                  int mode, struct pd_ttmc_gpu_work *work) {
  const struct pd_modecopy *modecopy = storage;
  const struct pd_modecopy_copy *copy = &modecopy->copy[mode];
  struct pd_ttmc_list *to = &work->list[mode];
  uint32_t *const *plane = copy->plane;
  *to = (struct pd_ttmc_list){.nnz = modecopy->nnz,
                              .values = copy->values,
                              .atomic = modecopy->variant != PD_MODECOPY_SORTED};
  for (int k = 0; k < copy->inputs; ++k) {
    to->column_mode[to->columns] = copy->field[k].mode;
    to->column[to->columns++] = modecopy_ttmc_cuda_index_of(&copy->field[k], plane);
  }
  if (to->atomic) {
    to->row = modecopy_ttmc_cuda_index_of(&copy->field[copy->inputs], plane);
    return POLYAD_OK;
  }
  const uint32_t *rows;
  PD_TRY(modecopy_ttmc_cuda_write_rows(context, modecopy, mode, work, &rows));
  to->row = (struct pd_gpu_ttmc_index){.plane = rows, .mask = UINT32_MAX};
  return POLYAD_OK;
}

static polyad_status modecopy_ttmc_cuda_lists(polyad_context *context, const void *storage,
                                              struct pd_ttmc_gpu_work *work) {
  const struct pd_modecopy *modecopy = storage;
  for (int mode = 0; mode < modecopy->order; ++mode)
    PD_TRY(modecopy_ttmc_cuda_fill_list(context, modecopy, mode, work));
  return POLYAD_OK;
}

PD_TTMC_WALK_CUDA(modecopy)
