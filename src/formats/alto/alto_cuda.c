/* MTTKRP and Phi of "alto" on a GPU: scratch memory and launching. */
#include "formats/alto/alto_cuda.h"
#include "device/cuda/cuda_sum.h"
#include "formats/alto/alto_launch.h"
#include "formats/alto/alto_layout.h"
#include "formats/ordered/ordered_launch.h"
#include "formats/scratch_cuda.h"
#include "formats/tables.h"

struct scratch {
  struct pd_scratch base;
  int segment;
  void *head, *tail, *weights;
  double *partial; /* of the sum of gains */
};

/* ---- scratch -----------------------------------------------------------------------------------
 */

/* Lanes depend on whether rows are aligned; scratch is made for the worse case. */
static uint64_t alto_cuda_carry_rows(const struct pd_alto *alto, int segment) {
  return alto->atomic ? 0 : pd_gpu_sum_blocks(alto->nnz, 32, segment);
}

/* Whether Phi needs the weights by themselves. */
static bool weighs_first(const struct pd_alto *host, uint64_t rank) {
  return rank > (uint64_t)pd_alto_gpu_columns((int)pd_type_bytes(host->type));
}

static uint64_t alto_cuda_workspace_bytes(const void *storage, const uint64_t *ranks, int threads) {
  const uint64_t rank = ranks[0];
  (void)threads;
  const struct pd_alto *alto = storage;
  uint64_t item = pd_type_bytes(alto->type), wide = pd_cuda_wide_columns(alto->type, rank);
  uint64_t carries =
      pd_mul_saturated(2 * alto_cuda_carry_rows(alto, 64), pd_mul_saturated(wide, item));
  carries = pd_add_saturated(carries, 8 * (pd_alto_gpu_partials(alto->nnz) + 1));
  return weighs_first(alto, rank) ? pd_add_saturated(carries, alto->nnz * item) : carries;
}

static polyad_status alto_cuda_fill(polyad_context *context, const void *storage,
                                    const uint64_t *ranks, void *pointer) {
  const struct pd_alto *alto = storage;
  struct scratch *scratch = pointer;
  struct pd_scratch *base = &scratch->base;
  uint64_t rank = ranks[0], partials = pd_alto_gpu_partials(alto->nnz) + 1;
  size_t item = pd_type_bytes(alto->type);
  if (rank > INT32_MAX / 16)
    return pd_cuda_services->fail(context, POLYAD_OVERFLOW, "rank %llu is too large",
                                  (unsigned long long)rank);
  int lanes = pd_gpu_lanes((int)rank, (int)item, 1);
  scratch->segment = pd_cuda_segment(pd_cuda_state_of(base->device), alto->nnz, lanes);
  uint64_t numbers =
      alto_cuda_carry_rows(alto, scratch->segment) * pd_cuda_wide_columns(alto->type, rank);
  PD_TRY(PD_CUDA_SCRATCH(context, base, numbers, item, &scratch->head));
  PD_TRY(PD_CUDA_SCRATCH(context, base, numbers, item, &scratch->tail));
  PD_TRY(PD_CUDA_SCRATCH(context, base, partials, sizeof *scratch->partial, &scratch->partial));
  if (!weighs_first(alto, rank)) return POLYAD_OK;
  return PD_CUDA_SCRATCH(context, base, alto->nnz, item, &scratch->weights);
}

/* ---- running -----------------------------------------------------------------------------------
 */

/* The runs of bits that words hold of each mode: those of mode n are from first[n] to first[n + 1]
 * - 1.
 */
static void set_runs(const struct pd_alto *alto, uint32_t *run, int *first) {
  int count = 0;
  for (int n = 0; n < alto->order; ++n) {
    first[n] = count;
    for (int r = 0; r < alto->field[n].runs && !alto->decoded; ++r) {
      const struct pd_alto_run *from = &alto->field[n].run[r];
      run[count++] = PD_ALTO_GPU_RUN(from->word, from->from, from->to, from->bits);
    }
  }
  first[alto->order] = count;
}

void pd_alto_set_nonzeros(const struct pd_alto *alto, int mode,
                          const struct pd_matrix *const *factors, struct pd_gpu_alto *a) {
  int first[POLYAD_MAX_ORDER + 1];
  *a = (struct pd_gpu_alto){.nnz = alto->nnz,
                            .low = alto->low,
                            .high = alto->high,
                            .low_bytes = alto->low_bytes,
                            .high_bytes = alto->high_bytes,
                            .values = alto->values};
  set_runs(alto, a->run, first);
  for (int n = 0; n < alto->order; ++n) {
    struct pd_gpu_alto_mode *to = n == mode ? &a->output : &a->input[a->inputs++];
    *to =
        (struct pd_gpu_alto_mode){.first = first[n], .last = first[n + 1], .index = alto->index[n]};
    if (factors == NULL || factors[n] == NULL) continue;
    to->factor = factors[n]->data;
    to->stride = factors[n]->stride;
  }
}

/* The arguments but for the output. */
static void set_arguments(const struct pd_alto *alto, const struct scratch *scratch,
                          const struct pd_call *call, struct pd_gpu_alto *a) {
  const struct pd_alto_rows *list = &alto->list[call->mode];
  pd_alto_set_nonzeros(alto, call->mode, call->factors, a);
  a->rank = (int)pd_call_rank(call);
  a->segment = scratch->segment;
  a->order = list->order;
  a->row_start = list->row_start;
  a->row_id = list->row_id;
  a->chunk_row = list->chunk_row;
  a->rows = list->rows;
  a->head = scratch->head;
  a->tail = scratch->tail;
  a->out = call->out->data;
  a->out_stride = call->out->stride;
  a->least = call->op.loss.least;
  a->loss = call->op.loss.kind;
  a->weights = scratch->weights;
}

static polyad_status sum(polyad_context *context, struct pd_cuda_state *state,
                         const struct pd_gpu_alto *a, bool aligned, bool phi,
                         struct pd_matrix *out) {
  uint64_t bytes = out->rows * out->stride * pd_type_bytes(out->type);
  PD_TRY(PD_CUDA(context, state, cudaMemsetAsync(out->data, 0, bytes, pd_cuda_stream(state))));
  if (out->type == POLYAD_F32)
    return PD_CUDA(context, state, pd_alto_sum_f32(a, aligned, phi, pd_cuda_stream(state)));
  return PD_CUDA(context, state, pd_alto_sum_f64(a, aligned, phi, pd_cuda_stream(state)));
}

static bool all_aligned(const struct pd_alto *host, const struct pd_call *call) {
  bool aligned = pd_cuda_aligned(call->out);
  for (int n = 0; n < host->order; ++n)
    if (n != call->mode || pd_op_needs_model(&call->op))
      aligned = aligned && pd_cuda_aligned(call->factors[n]);
  return aligned;
}

/* Rows. Phi of a high rank is an MTTKRP of weights that are computed first. */
static polyad_status alto_cuda_run_rows(polyad_context *context, const struct pd_alto *alto,
                                        struct pd_gpu_alto *a, const struct pd_call *call) {
  struct pd_matrix *out = call->out;
  struct pd_cuda_state *state = pd_cuda_state_of(out->device);
  bool aligned = all_aligned(alto, call), phi = pd_op_needs_model(&call->op);
  if (aligned) a->rank = (int)pd_cuda_wide_columns(out->type, out->columns);
  if (!phi || !weighs_first(alto, out->columns)) return sum(context, state, a, aligned, phi, out);
  if (out->type == POLYAD_F32)
    PD_TRY(PD_CUDA(context, state, pd_alto_weigh_f32(a, pd_cuda_stream(state))));
  else
    PD_TRY(PD_CUDA(context, state, pd_alto_weigh_f64(a, pd_cuda_stream(state))));
  a->weighed = a->weights;
  return sum(context, state, a, aligned, false, out);
}

static polyad_status alto_cuda_run(polyad_context *context, const void *storage, void *workspace,
                                   const struct pd_call *call) {
  const struct pd_alto *alto = storage;
  const struct scratch *scratch = workspace;
  struct pd_gpu_alto a;
  PD_CUDA_ENTER(context, scratch->base.device);
  set_arguments(alto, scratch, call, &a);
  if (call->op.into == PD_INTO_ROWS) return alto_cuda_run_rows(context, alto, &a, call);
  if (alto->type == POLYAD_F32)
    return PD_CUDA(context, state,
                   pd_alto_logarithms_f32(&a, scratch->partial, call->out->data, stream));
  return PD_CUDA(context, state,
                 pd_alto_logarithms_f64(&a, scratch->partial, call->out->data, stream));
}

static const struct pd_walk alto_cuda_lists = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = alto_cuda_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = alto_cuda_fill,
    .run = alto_cuda_run,
};

const struct polyad_kernels pd_alto_kernels_cuda = {
    .format = "alto",
    .device = "cuda",
    .walks = {&alto_cuda_lists, &pd_alto_ttmc_walk_cuda},
};
