/* MTTKRP of "flycoo" on a GPU. The plan keeps the elements in the order of mode 0; a workspace
 * holds the two copies between which they are remapped. In the default variants mode 0 reads the
 * plan's, so that the last mode need not remap; the paper's begin with a copy of it. */
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

static uint64_t flycoo_cuda_workspace_bytes(const void *storage, const uint64_t *ranks,
                                            int threads) {
  const uint64_t rank = ranks[0];
  (void)threads;
  const struct pd_flycoo *flycoo = storage;
  uint64_t copies = (uint64_t)flycoo_cuda_copies_of(flycoo) * pd_flycoo_copy_bytes(flycoo);
  if (!flycoo->sorted) return copies;
  return pd_add_saturated(copies, pd_ordered_scratch_bytes(flycoo->nnz, rank, flycoo->type));
}

/* Elements are read 16 bytes at a time, and the last read may reach behind them, where remapping
 * writes nothing: zeros there are an element of value and indices 0, that no row counts. */
static polyad_status clear_end(polyad_context *context, const struct pd_device *device,
                               uint32_t *copy, uint64_t bytes) {
  if (bytes == 0) return POLYAD_OK;
  return device->functions->fill_zero(context, device, copy + bytes / 4 - 4, 16);
}

static polyad_status allocate_scratch(polyad_context *context, const struct pd_flycoo *flycoo,
                                      uint64_t rank, struct scratch *scratch) {
  if (flycoo->sorted)
    PD_TRY(pd_ordered_scratch_fill(context, flycoo->nnz, flycoo->order - 1, rank, flycoo->type,
                                   &scratch->sum));
  uint64_t bytes = pd_flycoo_copy_bytes(flycoo);
  for (int k = 0; k < flycoo_cuda_copies_of(flycoo); ++k) {
    PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base, bytes, 1, &scratch->copy[k]));
    PD_TRY(clear_end(context, scratch->base.device, scratch->copy[k], bytes));
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

static uint32_t *flycoo_cuda_other_copy(const struct scratch *scratch) {
  return scratch->current == scratch->copy[0] ? scratch->copy[1] : scratch->copy[0];
}

/* Brings the elements into the order of `mode` when they are not. */
static polyad_status flycoo_cuda_arrange(polyad_context *context, const struct pd_flycoo *flycoo,
                                         struct scratch *scratch, int mode) {
  if (!flycoo->remap) {
    scratch->current = flycoo->elements[mode];
    return POLYAD_OK;
  }
  if (scratch->mode < 0) PD_TRY(flycoo_cuda_bring(context, flycoo, scratch));
  if (scratch->mode == mode) return POLYAD_OK;
  if (mode == 0 && flycoo->sorted) return flycoo_cuda_bring(context, flycoo, scratch);
  scratch->mode = mode;
  struct pd_cuda_state *state = pd_cuda_state_of(scratch->base.device);
  uint32_t *to = flycoo_cuda_other_copy(scratch);
  pd_cuda_services->log(context, POLYAD_LOG_DEBUG,
                        "flycoo: remapping into the order of mode %d, out of turn",
                        pd_cuda_services->shown_mode(context, mode));
  polyad_status status = PD_CUDA(context, state,
                                 pd_flycoo_remap(flycoo->nnz, flycoo->packing.words,
                                                 bits_of(&flycoo->packing.remap[mode]),
                                                 scratch->current, to, pd_cuda_stream(state)));
  scratch->current = to;
  return status;
}

/* The elements as the kernels read them; `to`: where they move, NULL: nowhere. */
static struct pd_gpu_elements elements_of(const struct pd_flycoo *flycoo,
                                          const struct scratch *scratch, int mode, uint32_t *to) {
  const struct pd_ordered *order = &flycoo->mode[mode].order;
  struct pd_gpu_elements elements = {
      .in = scratch->current,
      .to = to,
      .remap = bits_of(&flycoo->packing.remap[(mode + 1) % flycoo->order]),
      .words = flycoo->packing.words};
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
  PD_TRY(pd_ordered_zero_unused(context, order, out));
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
      elements_of(flycoo, scratch, mode, moves ? flycoo_cuda_other_copy(scratch) : NULL);
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
  struct pd_flycoo like = {.nnz = traits->nnz};
  pd_flycoo_pack(traits->order, traits->dims, traits->nnz, request->precision, &like.packing);
  bool remaps = strstr(request->variant, "no-remap") == NULL;
  uint64_t scratch = pd_ordered_scratch_bytes(traits->nnz, request->rank, request->precision);
  if (remaps) scratch = pd_add_saturated(scratch, 2 * pd_flycoo_copy_bytes(&like));
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
