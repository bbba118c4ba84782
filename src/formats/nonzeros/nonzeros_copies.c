/* Copies of a short output: how many, zeroing and merging. */
#include "formats/nonzeros/nonzeros_copies.h"
#include "device/cuda/cuda_sum.h"

enum { COPIES_MOST = 32, COPIES_ROWS = 4096 /* rows of all copies together */ };

static uint64_t copies_of(uint64_t rows) {
  uint64_t copies = COPIES_ROWS / rows;
  return copies < 1 ? 1 : copies > COPIES_MOST ? COPIES_MOST : copies;
}

uint64_t pd_nz_copies_numbers(const struct pd_nz *host, uint64_t rank) {
  uint64_t most = 0;
  for (int n = 0; n < host->order; ++n) {
    uint64_t copies = copies_of(host->dims[n]);
    uint64_t numbers = pd_mul_saturated(copies * host->dims[n], rank);
    if (copies > 1 && numbers > most) most = numbers;
  }
  return most;
}

polyad_status pd_nz_copies_begin(polyad_context *context, struct pd_cuda_state *state, void *memory,
                                 const struct pd_matrix *out, struct pd_nz_output *to) {
  uint64_t numbers = out->rows * out->stride, copies = copies_of(out->rows);
  *to = (struct pd_nz_output){.data = out->data, .stride = out->stride, .copies = 1};
  if (memory != NULL && copies > 1) {
    uint64_t stride =
        pd_cuda_aligned(out) ? pd_cuda_wide_columns(out->type, out->columns) : out->columns;
    *to = (struct pd_nz_output){
        .data = memory, .stride = stride, .copies = (int)copies, .copy_stride = out->rows * stride};
    numbers = copies * to->copy_stride;
  }
  return PD_CUDA(
      context, state,
      cudaMemsetAsync(to->data, 0, numbers * pd_type_bytes(out->type), pd_cuda_stream(state)));
}

polyad_status pd_nz_copies_end(polyad_context *context, struct pd_cuda_state *state,
                               const struct pd_nz_output *from, struct pd_matrix *out) {
  if (from->copies == 1) return POLYAD_OK;
  if (out->type == POLYAD_F32)
    return PD_CUDA(context, state,
                   pd_nz_merge_f32(from, out->data, out->stride, pd_cuda_stream(state)));
  return PD_CUDA(context, state,
                 pd_nz_merge_f64(from, out->data, out->stride, pd_cuda_stream(state)));
}
