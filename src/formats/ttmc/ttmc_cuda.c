/* Scratch and launches of the tensor-times-matrix chain on a GPU. */
#include "formats/ttmc/ttmc_cuda.h"
#include "device/row_list.h"

/* The chain of a list without its matrices; false when a product overflows. */
static bool shape(const struct pd_ttmc_list *list, const uint64_t *ranks, int processors,
                  struct pd_gpu_ttmc *a) {
  *a = (struct pd_gpu_ttmc){.nnz = list->nnz,
                            .columns = list->columns,
                            .row = list->row,
                            .order = list->order,
                            .values = list->values,
                            .row_numbers = 1,
                            .inner = 1};
  for (int k = list->columns - 1; k >= 0; --k) {
    uint64_t rank = ranks[list->column_mode[k]];
    if (rank > INT32_MAX || !pd_mul(a->row_numbers, rank, &a->row_numbers)) return false;
    if (k > 0) a->inner = a->row_numbers;
    a->column[k].index = list->column[k];
    a->column[k].rank = (uint32_t)rank;
    a->column[k].out_stride = 1;
    for (int j = 0; j < list->columns; ++j)
      if (list->column_mode[j] > list->column_mode[k])
        a->column[k].out_stride *= ranks[list->column_mode[j]];
  }
  if (list->nnz == 0) return true;
  uint64_t slots = pd_gpu_ttmc_slots(a->inner, list->columns > 0 ? a->column[0].rank : 1), product;
  if (!pd_mul(list->nnz, a->row_numbers, &product)) return false;
  a->segment = pd_gpu_ttmc_segment(list->nnz, a->row_numbers, slots, processors);
  a->segments = (list->nnz + a->segment - 1) / a->segment;
  return true;
}

uint64_t pd_ttmc_gpu_carry_bytes(int order, uint64_t nnz, const uint64_t *ranks) {
  uint64_t most = 0;
  for (int mode = 0; mode < order; ++mode) {
    uint64_t numbers = 1;
    for (int n = 0; n < order; ++n)
      if (n != mode) numbers = pd_mul_saturated(numbers, ranks[n]);
    uint64_t limit = pd_add_saturated(UINT64_C(1) << 25, numbers);
    uint64_t all = pd_mul_saturated(nnz / 32 + 1, numbers);
    if (all > limit) all = limit;
    if (all > most) most = all;
  }
  return pd_mul_saturated(2 * sizeof(double), most);
}

/* Heads and tails; all lists are filled in. */
static polyad_status ttmc_cuda_finish(polyad_context *context, struct pd_ttmc_gpu_work *work,
                                      const uint64_t *ranks) {
  uint64_t most = 0;
  int processors = pd_cuda_state_of(work->base.device)->processors;
  for (int mode = 0; mode < work->order; ++mode) {
    struct pd_gpu_ttmc a;
    if (!shape(&work->list[mode], ranks, processors, &a))
      return pd_cuda_services->fail(context, POLYAD_OVERFLOW,
                                    "the product of the ranks is too large");
    uint64_t numbers = pd_mul_saturated(a.segments, a.row_numbers);
    if (!work->list[mode].atomic && numbers > most) most = numbers;
  }
  return PD_CUDA_SCRATCH(context, &work->base, pd_mul_saturated(2, most), sizeof(double),
                         &work->carries);
}

polyad_status pd_ttmc_gpu_fill(polyad_context *context, int order, pd_ttmc_fill_function *fill,
                               const void *storage, const uint64_t *ranks, void *pointer) {
  struct pd_ttmc_gpu_work *work = pointer;
  PD_TRY(pd_cuda_enter(context, pd_cuda_state_of(work->base.device)));
  work->order = order;
  PD_TRY(fill(context, storage, work));
  return ttmc_cuda_finish(context, work, ranks);
}

polyad_status pd_ttmc_gpu_run(polyad_context *context, const void *storage, void *pointer,
                              const struct pd_call *call) {
  (void)storage;
  const struct pd_matrix *const *factors = call->factors;
  struct pd_matrix *out = call->out;
  const struct pd_ttmc_gpu_work *work = pointer;
  const struct pd_ttmc_list *list = &work->list[call->mode];
  uint64_t ranks[POLYAD_MAX_ORDER] = {0};
  struct pd_gpu_ttmc a;
  for (int k = 0; k < list->columns; ++k)
    ranks[list->column_mode[k]] = factors[list->column_mode[k]]->columns;
  PD_CUDA_ENTER(context, work->base.device);
  if (!shape(list, ranks, state->processors, &a))
    return pd_cuda_services->fail(context, POLYAD_OVERFLOW,
                                  "the product of the ranks is too large");
  for (int k = 0; k < list->columns; ++k) {
    a.column[k].factor = factors[list->column_mode[k]]->data;
    a.column[k].stride = factors[list->column_mode[k]]->stride;
  }
  a.out = out->data;
  a.out_stride = out->stride;
  a.head = work->carries;
  a.tail = work->carries == NULL ? NULL : work->carries + a.segments * a.row_numbers;
  PD_TRY(PD_CUDA(context, state,
                 cudaMemsetAsync(out->data, 0, out->rows * out->stride * pd_type_bytes(out->type),
                                 pd_cuda_stream(state))));
  if (list->nnz == 0) return POLYAD_OK;
  bool wide = out->type == POLYAD_F64;
  if (list->atomic)
    return PD_CUDA(context, state, pd_gpu_ttmc_atomic(&a, wide, pd_cuda_stream(state)));
  return PD_CUDA(context, state, pd_gpu_ttmc_sorted(&a, wide, pd_cuda_stream(state)));
}

static struct pd_row_plane row_plane(const struct pd_gpu_ttmc_index *index) {
  return (struct pd_row_plane){index->plane, index->shift, index->mask};
}

bool pd_ttmc_gpu_rows(const void *pointer, int mode, struct pd_row_list *list) {
  const struct pd_ttmc_gpu_work *work = pointer;
  const struct pd_ttmc_list *from = &work->list[mode];
  if (from->atomic) return false;
  *list = (struct pd_row_list){.nnz = from->nnz,
                               .columns = from->columns,
                               .row = row_plane(&from->row),
                               .order = from->order,
                               .values = from->values};
  for (int k = 0; k < from->columns; ++k) {
    list->column_mode[k] = from->column_mode[k];
    list->column[k] = row_plane(&from->column[k]);
  }
  return true;
}
