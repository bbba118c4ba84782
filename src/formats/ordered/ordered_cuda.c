/* The host's side of the kernels over nonzeros in the order of output rows. */
#include "formats/ordered/ordered_cuda.h"
#include "device/cuda/cuda_sum.h"
#include <math.h>

/* Nonzeros of one group: long ones spare starting and joining, short ones fill the GPU more evenly
 * where there are few. Measured on an H200: 128 up to 11 million nonzeros, 256 from 26 million. */
static int usual_segment(uint64_t nnz) { return nnz < UINT64_C(1) << 24 ? 128 : 256; }

/* Blocks that run at once are a wave. A last wave that is not full takes as long as a full one
 * where kernels wait for rows, and its share of that where they keep the memory busy: here the mean
 * of both. A few waves of what is usual are cut so that this, times the length of a segment and
 * what starting it costs, is least; of many waves the last counts for little. */
static int ordered_cuda_segment_of(const struct pd_device *device, uint64_t nnz, int lanes,
                                   int blocks_each) {
  const int MOST = 256, START = 32, MANY_WAVES = 8;
  double at_once = (double)pd_cuda_state_of(device)->processors * blocks_each;
  int usual = usual_segment(nnz), best = usual;
  double least = INFINITY;
  if ((double)pd_gpu_sum_blocks(nnz, lanes, usual) > MANY_WAVES * at_once) return usual;
  for (int segment = PD_SEGMENT_LEAST; segment <= MOST; segment += PD_MARKS_UNIT) {
    double waves = (double)pd_gpu_sum_blocks(nnz, lanes, segment) / at_once;
    double cost = (waves + ceil(waves)) * (segment + START);
    if (cost >= least) continue;
    least = cost;
    best = segment;
  }
  return best;
}

/* Lanes and segments depend on whether rows are aligned; scratch is made for the worse case. */
static uint64_t ordered_cuda_carry_rows(uint64_t nnz, int segment) {
  return pd_gpu_sum_blocks(nnz, 32, segment);
}

static uint64_t ordered_cuda_row_bytes(uint64_t rank, polyad_type type) {
  return pd_mul_saturated(pd_cuda_wide_columns(type, rank), pd_type_bytes(type));
}

uint64_t pd_ordered_scratch_bytes(uint64_t nnz, uint64_t rank, polyad_type type) {
  return pd_mul_saturated(2 * ordered_cuda_carry_rows(nnz, PD_SEGMENT_LEAST),
                          ordered_cuda_row_bytes(rank, type));
}

polyad_status pd_ordered_rank_check(polyad_context *context, uint64_t rank) {
  if (rank <= INT32_MAX / 16) return POLYAD_OK;
  return pd_cuda_services->fail(context, POLYAD_OVERFLOW, "rank %llu is too large",
                                (unsigned long long)rank);
}

polyad_status pd_ordered_scratch_fill(polyad_context *context, uint64_t nnz, int inputs,
                                      uint64_t rank, polyad_type type,
                                      struct pd_ordered_scratch *scratch) {
  int bytes = (int)pd_type_bytes(type);
  int lanes =
      pd_gpu_lanes((int)rank, bytes, pd_wide_stride(type, rank) * (uint64_t)bytes % 16 == 0);
  for (int weighed = 0; weighed < 2; ++weighed)
    scratch->segment[weighed] =
        ordered_cuda_segment_of(scratch->base.device, nnz, lanes, PD_SUM_BLOCKS(inputs, weighed));
  int shorter = scratch->segment[scratch->segment[1] < scratch->segment[0]];
  uint64_t rows = ordered_cuda_carry_rows(nnz, scratch->least > 0 ? scratch->least : shorter);
  size_t row = ordered_cuda_row_bytes(rank, type);
  PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base, rows, row, &scratch->head));
  return PD_CUDA_SCRATCH(context, &scratch->base, rows, row, &scratch->tail);
}

struct pd_gpu_sum pd_ordered_sum(uint64_t nnz, const struct pd_ordered *order,
                                 const struct pd_ordered_scratch *scratch,
                                 const struct pd_call *call) {
  struct pd_matrix *out = call->out;
  bool scalar = call->op.into == PD_INTO_SCALAR, aligned = scalar || pd_cuda_aligned(out);
  polyad_type type = scalar ? call->factors[call->mode]->type : out->type;
  struct pd_gpu_sum sum = {.nnz = nnz,
                           .rows = order->rows,
                           .row_start = order->row_start,
                           .row_id = order->row_id,
                           .chunk_row = order->chunk_row,
                           .marks = (const uint2 *)(const void *)order->marks,
                           .out = out->data,
                           .out_stride = out->stride,
                           .head = scratch->head,
                           .tail = scratch->tail,
                           .inputs = order->inputs,
                           .rank = (int)pd_call_rank(call),
                           .segment = scratch->segment[pd_op_needs_model(&call->op)],
                           .what = PD_GPU_MTTKRP};
  for (int k = 0; k < order->inputs; ++k) {
    const struct pd_matrix *factor = call->factors[order->input[k]];
    sum.factor[k] = factor->data;
    sum.stride[k] = factor->stride;
    aligned = aligned && pd_cuda_aligned(factor);
  }
  if (pd_op_needs_model(&call->op)) {
    const struct pd_matrix *model = call->factors[call->mode];
    sum.what = scalar ? PD_GPU_GAIN : PD_GPU_GRADIENT;
    sum.least = call->op.loss.least;
    sum.loss = call->op.loss.kind;
    sum.model = model->data;
    sum.model_stride = model->stride;
    aligned = aligned && pd_cuda_aligned(model);
  }
  sum.aligned = aligned;
  if (aligned) sum.rank = (int)pd_cuda_wide_columns(type, (uint64_t)sum.rank);
  return sum;
}

void pd_ordered_take_halves(const struct pd_ordered *order, const struct pd_call *call,
                            struct pd_gpu_sum *sum) {
  /* A tensor of one mode has no rows to gather: its kernel is the plain one. */
  if (sum->what != PD_GPU_MTTKRP || !sum->aligned || order->inputs == 0) return;
  for (int k = 0; k < order->inputs; ++k)
    if (call->factors[order->input[k]]->halves == NULL) return;
  for (int k = 0; k < order->inputs; ++k)
    sum->factor[k] = call->factors[order->input[k]]->halves;
  sum->what = PD_GPU_HALVES;
}

polyad_status pd_ordered_zero_unused(polyad_context *context, const struct pd_ordered *order,
                                     const struct pd_call *call) {
  struct pd_matrix *out = call->out;
  out->used = call->leaves_unused ? order->used : NULL;
  if (order->used == NULL || call->leaves_unused) return POLYAD_OK;
  struct pd_cuda_state *state = pd_cuda_state_of(out->device);
  return PD_CUDA(context, state,
                 pd_gpu_zero_unused(order->used, out->rows, out->data,
                                    out->stride * pd_type_bytes(out->type), pd_cuda_stream(state)));
}
