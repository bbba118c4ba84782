/* MTTKRP of "modecopy" on a GPU: scratch memory and launching. */
#include "formats/modecopy/modecopy_launch.h"
#include "formats/modecopy/modecopy_layout.h"
#include "formats/ordered/ordered_cuda.h"
#include "formats/tables.h"

static uint64_t modecopy_cuda_workspace_bytes(const void *storage, const uint64_t *ranks,
                                              int threads) {
  const uint64_t rank = ranks[0];
  (void)threads;
  const struct pd_modecopy *modecopy = storage;
  if (modecopy->variant != PD_MODECOPY_SORTED) return 0;
  return pd_ordered_scratch_bytes(modecopy->nnz, rank, modecopy->type);
}

static polyad_status modecopy_cuda_fill(polyad_context *context, const void *storage,
                                        const uint64_t *ranks, void *scratch) {
  const struct pd_modecopy *modecopy = storage;
  PD_TRY(pd_ordered_rank_check(context, ranks[0]));
  if (modecopy->variant != PD_MODECOPY_SORTED) return POLYAD_OK;
  return pd_ordered_scratch_fill(context, modecopy->nnz, modecopy->order - 1, ranks[0],
                                 modecopy->type, scratch);
}

/* The nonzeros of a copy as the kernels read them. */
static struct pd_gpu_planes planes_of(const struct pd_modecopy_copy *copy) {
  struct pd_gpu_planes planes = {.values = copy->values, .planes = copy->planes};
  for (int k = 0; k < copy->planes; ++k)
    planes.plane[k] = copy->plane[k];
  for (int k = 0; k < copy->inputs; ++k)
    planes.input[k] = (struct pd_gpu_bits){.word = (uint32_t)copy->field[k].plane,
                                           .shift = (uint32_t)copy->field[k].shift,
                                           .mask = copy->field[k].mask};
  return planes;
}

static polyad_status modecopy_cuda_run_sorted(polyad_context *context,
                                              const struct pd_modecopy *modecopy,
                                              const struct pd_ordered_scratch *scratch,
                                              const struct pd_call *call) {
  struct pd_cuda_state *state = pd_cuda_state_of(scratch->base.device);
  const struct pd_modecopy_copy *copy = &modecopy->copy[call->mode];
  bool wide = modecopy->type == POLYAD_F64;
  struct pd_gpu_planes planes = planes_of(copy);
  struct pd_gpu_sum sum = pd_ordered_sum(modecopy->nnz, &copy->order, scratch, call);
  if (call->op.into == PD_INTO_ROWS)
    PD_TRY(pd_ordered_zero_unused(context, &copy->order, call->out));
  if (!pd_op_needs_model(&call->op))
    return PD_CUDA(context, state,
                   wide ? pd_gpu_sum_planes_f64(&sum, &planes, pd_cuda_stream(state))
                        : pd_gpu_sum_planes_f32(&sum, &planes, pd_cuda_stream(state)));
  return PD_CUDA(context, state,
                 wide ? pd_gpu_phi_planes_f64(&sum, &planes, pd_cuda_stream(state))
                      : pd_gpu_phi_planes_f32(&sum, &planes, pd_cuda_stream(state)));
}

static struct pd_gpu_field modecopy_cuda_field_of(const struct pd_modecopy_copy *copy,
                                                  const struct pd_modecopy_field *field,
                                                  const struct pd_matrix *factor) {
  return (struct pd_gpu_field){.plane = copy->plane[field->plane],
                               .shift = (uint32_t)field->shift,
                               .mask = field->mask,
                               .factor = factor->data,
                               .stride = factor->stride};
}

static polyad_status modecopy_cuda_run_paper(polyad_context *context,
                                             const struct pd_modecopy *modecopy, int mode,
                                             const struct pd_matrix *const *factors,
                                             struct pd_matrix *out) {
  struct pd_cuda_state *state = pd_cuda_state_of(out->device);
  const struct pd_modecopy_copy *copy = &modecopy->copy[mode];
  struct pd_gpu_paper paper = {.output =
                                   modecopy_cuda_field_of(copy, &copy->field[copy->inputs], out),
                               .values = copy->values,
                               .part_start = copy->part_start,
                               .inputs = copy->inputs,
                               .rank = (int)out->columns,
                               .partitions = modecopy->partitions,
                               .columns = modecopy->columns,
                               .scheme = copy->scheme};
  for (int k = 0; k < copy->inputs; ++k)
    paper.field[k] = modecopy_cuda_field_of(copy, &copy->field[k], factors[copy->field[k].mode]);
  PD_TRY(PD_CUDA(context, state,
                 cudaMemsetAsync(out->data, 0, out->rows * out->stride * pd_type_bytes(out->type),
                                 pd_cuda_stream(state))));
  if (out->type == POLYAD_F32)
    return PD_CUDA(context, state, pd_modecopy_paper_f32(&paper, pd_cuda_stream(state)));
  return PD_CUDA(context, state, pd_modecopy_paper_f64(&paper, pd_cuda_stream(state)));
}

static polyad_status modecopy_cuda_run(polyad_context *context, const void *storage,
                                       void *workspace, const struct pd_call *call) {
  const struct pd_modecopy *modecopy = storage;
  const struct pd_ordered_scratch *scratch = workspace;
  bool sorted = modecopy->variant == PD_MODECOPY_SORTED;
  if (pd_op_needs_model(&call->op) && !sorted)
    return pd_cuda_services->fail(context, POLYAD_UNSUPPORTED,
                                  "variant paper of format modecopy has no Phi on a GPU; expected "
                                  "variant auto");
  PD_CUDA_ENTER(context, scratch->base.device);
  if (call->op.into == PD_INTO_SCALAR && modecopy->nnz == 0)
    return PD_CUDA(context, state, cudaMemsetAsync(call->out->data, 0, sizeof(double), stream));
  if (sorted) return modecopy_cuda_run_sorted(context, modecopy, scratch, call);
  return modecopy_cuda_run_paper(context, modecopy, call->mode, call->factors, call->out);
}

static uint64_t modecopy_cuda_sum_depth(const void *storage, const void *workspace, int mode,
                                        uint64_t longest_row) {
  (void)mode;
  if (((const struct pd_modecopy *)storage)->variant != PD_MODECOPY_SORTED) return longest_row;
  return pd_ordered_sum_depth(workspace, longest_row);
}

static uint64_t modecopy_cuda_device_bytes(const struct pd_traits *traits,
                                           const struct pd_request *request,
                                           uint64_t storage_bytes) {
  return pd_add_saturated(storage_bytes,
                          pd_ordered_scratch_bytes(traits->nnz, request->rank, request->precision));
}

static const struct pd_walk modecopy_cuda_rows = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = modecopy_cuda_workspace_bytes,
    .scratch_bytes = sizeof(struct pd_ordered_scratch),
    .fill = modecopy_cuda_fill,
    .run = modecopy_cuda_run,
};

const struct polyad_kernels pd_modecopy_kernels_cuda = {
    .format = "modecopy",
    .device = "cuda",
    .walks = {&modecopy_cuda_rows, &pd_modecopy_ttmc_walk_cuda},
    .sum_depth = modecopy_cuda_sum_depth,
    .device_bytes = modecopy_cuda_device_bytes,
};
