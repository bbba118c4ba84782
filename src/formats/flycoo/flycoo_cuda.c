/* MTTKRP of "flycoo" on a GPU. The plan keeps the elements in the order of mode 0; a workspace
 * holds the two copies between which they are remapped. In the default variants mode 0 reads the
 * plan's, so that the last mode need not remap, and copy 0 has the orders of modes 1, 3 and so on,
 * copy 1 those of the others, in elements that become shorter; the paper's variants begin with a
 * copy of the plan's. */
#include "formats/flycoo/flycoo_launch.h"
#include "formats/flycoo/flycoo_layout.h"
#include "formats/ordered/ordered_cuda.h"
#include "formats/tables.h"

struct scratch {
  struct pd_scratch base;
  struct pd_ordered_scratch sum;
  uint32_t *copy[2];       /* NULL without remapping */
  const uint32_t *current; /* one of them, or a copy of the plan */
  int mode;                /* in whose order `current` is; -1: nobody knows */
};

/* Copies that a workspace needs: with the plan's, one for every mode at most. */
static int flycoo_cuda_copies_of(const struct pd_flycoo *flycoo) {
  if (!flycoo->remap) return 0;
  return flycoo->sorted && flycoo->order < 3 ? flycoo->order - 1 : 2;
}

static uint64_t elements_bytes(const struct pd_flycoo *flycoo, int words) {
  return (flycoo->nnz * (uint64_t)words + 3) / 4 * 16;
}

/* Elements never grow from mode to mode: copy k has most bytes for the first of its modes. */
static uint64_t copy_bytes(const struct pd_flycoo *flycoo, int k) {
  if (!flycoo->sorted) return pd_flycoo_copy_bytes(flycoo);
  return elements_bytes(flycoo, pd_flycoo_words(flycoo, k + 1));
}

static uint64_t all_copies_bytes(const struct pd_flycoo *flycoo) {
  uint64_t bytes = 0;
  for (int k = 0; k < flycoo_cuda_copies_of(flycoo); ++k)
    bytes = pd_add_saturated(bytes, copy_bytes(flycoo, k));
  return bytes;
}

static uint64_t flycoo_cuda_workspace_bytes(const void *storage, const uint64_t *ranks,
                                            int threads) {
  const uint64_t rank = ranks[0];
  (void)threads;
  const struct pd_flycoo *flycoo = storage;
  uint64_t copies = all_copies_bytes(flycoo);
  if (!flycoo->sorted) return copies;
  return pd_add_saturated(copies, pd_ordered_scratch_bytes(flycoo->nnz, rank, flycoo->type));
}

/* Elements are fetched 16 bytes at a time; what the last ones lack of that is never written. */
static polyad_status clear_end(polyad_context *context, struct scratch *scratch, uint32_t *copy,
                               uint64_t bytes) {
  struct pd_cuda_state *state = pd_cuda_state_of(scratch->base.device);
  if (bytes < 16) return POLYAD_OK;
  return PD_CUDA(context, state,
                 cudaMemsetAsync((char *)copy + bytes - 16, 0, 16, pd_cuda_stream(state)));
}

static polyad_status allocate_scratch(polyad_context *context, const struct pd_flycoo *flycoo,
                                      uint64_t rank, struct scratch *scratch) {
  scratch->sum.least = PD_SEGMENT_LEAST;
  if (flycoo->sorted)
    PD_TRY(pd_ordered_scratch_fill(context, flycoo->nnz, flycoo->order - 1, rank, flycoo->type,
                                   &scratch->sum));
  for (int k = 0; k < flycoo_cuda_copies_of(flycoo); ++k) {
    uint64_t bytes = copy_bytes(flycoo, k);
    PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base, bytes, 1, &scratch->copy[k]));
    PD_TRY(clear_end(context, scratch, scratch->copy[k], bytes));
  }
  return POLYAD_OK;
}

/* Begins with the plan's elements, in the order of mode 0. */
static polyad_status flycoo_cuda_bring(polyad_context *context, const struct pd_flycoo *flycoo,
                                       struct scratch *scratch) {
  scratch->mode = 0;
  scratch->current = flycoo->elements[0];
  if (flycoo->sorted) return POLYAD_OK;
  scratch->current = scratch->copy[0];
  return scratch->base.device->functions->copy(context, scratch->base.device, scratch->copy[0],
                                               flycoo->elements[0], pd_flycoo_copy_bytes(flycoo));
}

static polyad_status flycoo_cuda_fill(polyad_context *context, const void *storage,
                                      const uint64_t *ranks, void *pointer) {
  const struct pd_flycoo *flycoo = storage;
  struct scratch *scratch = pointer;
  PD_TRY(pd_ordered_rank_check(context, ranks[0]));
  scratch->sum.base = pd_scratch_part(&scratch->base);
  scratch->mode = -1;
  PD_TRY(allocate_scratch(context, flycoo, ranks[0], scratch));
  return flycoo->remap ? flycoo_cuda_bring(context, flycoo, scratch) : POLYAD_OK;
}

static struct pd_gpu_bits bits_of(const struct pd_flycoo_field *field) {
  return (struct pd_gpu_bits){.word = (uint32_t)field->word,
                              .shift = (uint32_t)field->shift,
                              .mask = (uint32_t)((UINT64_C(1) << field->bits) - 1),
                              .two_words = field->shift + field->bits > 32};
}

/* Where elements go that are remapped into the order of `mode`. */
static uint32_t *copy_for(const struct pd_flycoo *flycoo, const struct scratch *scratch, int mode) {
  if (flycoo->sorted) return scratch->copy[(mode + 1) % 2];
  return scratch->current == scratch->copy[0] ? scratch->copy[1] : scratch->copy[0];
}

/* Brings the elements into the order of `mode` when they are not. Copies of the default variants
 * may lack the remap id, and lie where those of `mode` go: the plan's elements are remapped
 * instead. */
static polyad_status flycoo_cuda_arrange(polyad_context *context, const struct pd_flycoo *flycoo,
                                         struct scratch *scratch, int mode) {
  if (!flycoo->remap) {
    scratch->current = flycoo->elements[mode];
    return POLYAD_OK;
  }
  if (scratch->mode < 0) PD_TRY(flycoo_cuda_bring(context, flycoo, scratch));
  if (scratch->mode == mode) return POLYAD_OK;
  if (mode == 0 && flycoo->sorted) return flycoo_cuda_bring(context, flycoo, scratch);
  struct pd_cuda_state *state = pd_cuda_state_of(scratch->base.device);
  const uint32_t *from = flycoo->sorted ? flycoo->elements[0] : scratch->current;
  uint32_t *to = copy_for(flycoo, scratch, mode);
  scratch->mode = mode;
  pd_cuda_services->log(context, POLYAD_LOG_DEBUG,
                        "flycoo: remapping into the order of mode %d, out of turn",
                        pd_cuda_services->shown_mode(context, mode));
  polyad_status status = PD_CUDA(
      context, state,
      pd_flycoo_remap(flycoo->nnz, flycoo->packing.words, pd_flycoo_words(flycoo, mode),
                      bits_of(&flycoo->packing.remap[mode]), from, to, pd_cuda_stream(state)));
  scratch->current = to;
  return status;
}

/* The elements as the kernels read them; `to`: where they move, NULL: nowhere. */
static struct pd_gpu_elements elements_of(const struct pd_flycoo *flycoo,
                                          const struct scratch *scratch, int mode, uint32_t *to) {
  const struct pd_ordered *order = &flycoo->mode[mode].order;
  const int next = (mode + 1) % flycoo->order;
  struct pd_gpu_elements elements = {.in = scratch->current,
                                     .to = to,
                                     .remap = bits_of(&flycoo->packing.remap[next]),
                                     .words = pd_flycoo_words(flycoo, mode),
                                     .to_words = pd_flycoo_words(flycoo, next),
                                     .inputs = order->inputs};
  for (int k = 0; k < order->inputs; ++k)
    elements.input[k] = bits_of(&flycoo->packing.index[order->input[k]]);
  return elements;
}

static polyad_status flycoo_cuda_run_sorted(polyad_context *context, const struct pd_flycoo *flycoo,
                                            const struct scratch *scratch,
                                            const struct pd_gpu_elements *elements,
                                            const struct pd_call *call) {
  const int mode = call->mode;
  struct pd_matrix *out = call->out;
  struct pd_cuda_state *state = pd_cuda_state_of(scratch->base.device);
  const struct pd_ordered *order = &flycoo->mode[mode].order;
  struct pd_gpu_sum sum = pd_ordered_sum(flycoo->nnz, order, &scratch->sum, call);
  /* The fewer elements are at work at a time, the more of the places where they go stay in the
   * cache until their neighbours have come. Without remapping sums have the same bits. */
  if (mode + 1 < flycoo->order) sum.segment = PD_SEGMENT_LEAST;
  PD_TRY(pd_ordered_zero_unused(context, order, call));
  return PD_CUDA(context, state,
                 out->type == POLYAD_F64
                     ? pd_gpu_sum_elements_f64(&sum, elements, pd_cuda_stream(state))
                     : pd_gpu_sum_elements_f32(&sum, elements, pd_cuda_stream(state)));
}

static polyad_status flycoo_cuda_run_paper(polyad_context *context, const struct pd_flycoo *flycoo,
                                           const struct pd_gpu_elements *elements,
                                           const struct pd_call *call) {
  const int mode = call->mode;
  const struct pd_matrix *const *factors = call->factors;
  struct pd_matrix *out = call->out;
  struct pd_cuda_state *state = pd_cuda_state_of(out->device);
  const struct pd_ordered *order = &flycoo->mode[mode].order;
  struct pd_gpu_fly fly = {.elements = *elements,
                           .output = bits_of(&flycoo->packing.index[mode]),
                           .out = out->data,
                           .out_stride = out->stride,
                           .inputs = order->inputs,
                           .rank = (int)out->columns,
                           .part_start = flycoo->mode[mode].part_start,
                           .partitions = flycoo->partitions,
                           .columns = flycoo->columns};
  for (int k = 0; k < fly.inputs; ++k) {
    fly.factor[k] = factors[order->input[k]]->data;
    fly.stride[k] = factors[order->input[k]]->stride;
  }
  PD_TRY(PD_CUDA(context, state,
                 cudaMemsetAsync(out->data, 0, out->rows * out->stride * pd_type_bytes(out->type),
                                 pd_cuda_stream(state))));
  return PD_CUDA(context, state,
                 out->type == POLYAD_F64 ? pd_flycoo_paper_f64(&fly, pd_cuda_stream(state))
                                         : pd_flycoo_paper_f32(&fly, pd_cuda_stream(state)));
}

/* After a failure nobody knows what the copies hold. */
static polyad_status forget(struct scratch *scratch, polyad_status status) {
  scratch->mode = -1;
  return status;
}

static polyad_status flycoo_cuda_run(polyad_context *context, const void *storage, void *workspace,
                                     const struct pd_call *call) {
  const int mode = call->mode;
  const struct pd_flycoo *flycoo = storage;
  struct scratch *scratch = workspace;
  int next = (mode + 1) % flycoo->order;
  PD_TRY(pd_cuda_enter(context, pd_cuda_state_of(scratch->base.device)));
  polyad_status status = flycoo_cuda_arrange(context, flycoo, scratch, mode);
  if (status != POLYAD_OK) return forget(scratch, status);
  /* The plan's copy is in mode 0's order already. With a single mode there is nothing to remap
   * into.
   */
  bool moves = flycoo->remap && next != mode && (next != 0 || !flycoo->sorted);
  struct pd_gpu_elements elements =
      elements_of(flycoo, scratch, mode, moves ? copy_for(flycoo, scratch, next) : NULL);
  status = flycoo->sorted ? flycoo_cuda_run_sorted(context, flycoo, scratch, &elements, call)
                          : flycoo_cuda_run_paper(context, flycoo, &elements, call);
  if (status != POLYAD_OK) return forget(scratch, status);
  if (moves) {
    scratch->current = elements.to;
    scratch->mode = next;
    return POLYAD_OK;
  }
  return flycoo->remap && next != mode ? flycoo_cuda_bring(context, flycoo, scratch) : POLYAD_OK;
}

static uint64_t flycoo_cuda_sum_depth(const void *storage, const void *pointer, int mode,
                                      uint64_t longest_row) {
  (void)mode;
  if (!((const struct pd_flycoo *)storage)->sorted) return longest_row;
  return pd_ordered_sum_depth(&((const struct scratch *)pointer)->sum, longest_row);
}

/* Which copy is at work, and in which order. */
static uint64_t flycoo_cuda_position(const void *pointer) {
  const struct scratch *scratch = pointer;
  uint64_t copy = scratch->current == scratch->copy[0]   ? 0
                  : scratch->current == scratch->copy[1] ? 1
                                                         : 2;
  return 3 * (uint64_t)(scratch->mode + 1) + copy;
}

/* The storage and two copies. */
static uint64_t flycoo_cuda_device_bytes(const struct pd_traits *traits,
                                         const struct pd_request *request, uint64_t storage_bytes) {
  struct pd_flycoo like;
  pd_flycoo_like(traits, request, &like);
  uint64_t scratch = pd_ordered_scratch_bytes(traits->nnz, request->rank, request->precision);
  scratch = pd_add_saturated(scratch, all_copies_bytes(&like));
  return pd_add_saturated(storage_bytes, scratch);
}

static const struct pd_walk flycoo_cuda_elements = {
    .ops = PD_OPS_MTTKRP,
    .workspace_bytes = flycoo_cuda_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = flycoo_cuda_fill,
    .run = flycoo_cuda_run,
};

const struct polyad_kernels pd_flycoo_kernels_cuda = {
    .format = "flycoo",
    .device = "cuda",
    .walks = {&flycoo_cuda_elements},
    .sum_depth = flycoo_cuda_sum_depth,
    .position = flycoo_cuda_position,
    .device_bytes = flycoo_cuda_device_bytes,
};
