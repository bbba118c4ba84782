/* MTTKRP of "modecopy" on a GPU: scratch memory and launching. */
#include "formats/modecopy/modecopy_cuda.h"
#include "formats/modecopy/modecopy_launch.h"
#include "formats/modecopy/modecopy_pairs.h"
#include "formats/ordered/ordered_cuda.h"
#include "formats/tables.h"

static uint64_t modecopy_cuda_workspace_bytes(const void *storage, const uint64_t *ranks,
                                              int threads) {
  const uint64_t rank = ranks[0];
  (void)threads;
  const struct pd_modecopy *modecopy = storage;
  if (modecopy->variant != PD_MODECOPY_SORTED) return 0;
  return pd_add_saturated(pd_ordered_scratch_bytes(modecopy->nnz, rank, modecopy->type),
                          pd_modecopy_table_bytes(modecopy, rank));
}

polyad_status pd_modecopy_table_make(polyad_context *context, const struct pd_modecopy *modecopy,
                                     uint64_t rank, struct pd_scratch *owner,
                                     struct pd_ordered_table *table) {
  uint64_t bytes = pd_modecopy_table_bytes(modecopy, rank);
  *table = (struct pd_ordered_table){.rank = rank};
  return bytes == 0 ? POLYAD_OK : PD_CUDA_SCRATCH(context, owner, bytes, 1, &table->rows);
}

static polyad_status modecopy_cuda_fill(polyad_context *context, const void *storage,
                                        const uint64_t *ranks, void *pointer) {
  const struct pd_modecopy *modecopy = storage;
  struct pd_ordered_scratch *scratch = pointer;
  PD_TRY(pd_ordered_rank_check(context, ranks[0]));
  if (modecopy->variant != PD_MODECOPY_SORTED) return POLYAD_OK;
  PD_TRY(pd_modecopy_table_make(context, modecopy, ranks[0], &scratch->base, &scratch->table));
  return pd_ordered_scratch_fill(context, modecopy->nnz, modecopy->order - 1, ranks[0],
                                 modecopy->type, scratch);
}

/* The nonzeros of a copy as the kernels read them. */
static struct pd_gpu_planes planes_of(const struct pd_modecopy_copy *copy, int inputs,
                                      const struct pd_modecopy_input *input) {
  struct pd_gpu_planes planes = {.values = copy->values, .planes = copy->planes};
  for (int k = 0; k < copy->planes; ++k)
    planes.plane[k] = copy->plane[k];
  for (int k = 0; k < inputs; ++k)
    planes.input[k] = (struct pd_gpu_bits){
        .word = (uint32_t)input[k].plane, .shift = (uint32_t)input[k].shift, .mask = input[k].mask};
  return planes;
}

/* Fills the table of a pair unless it holds what it should. */
static polyad_status modecopy_cuda_fill_table(polyad_context *context,
                                              const struct pd_modecopy_copy *copy,
                                              const struct pd_modecopy_pair *pair,
                                              struct pd_ordered_table *table,
                                              const struct pd_call *call, int columns) {
  int modes[2] = {copy->field[pair->high].mode, copy->field[pair->low].mode};
  const struct pd_matrix *high = call->factors[modes[0]], *low = call->factors[modes[1]];
  struct pd_cuda_state *state = pd_cuda_state_of(call->out->device);
  const struct pd_gpu_pair job = {.high = high->data,
                                  .low = low->data,
                                  .to = table->rows,
                                  .high_stride = high->stride,
                                  .low_stride = low->stride,
                                  .stride = pd_wide_stride(high->type, table->rank),
                                  .high_rows = high->rows,
                                  .low_rows = low->rows,
                                  .bits = pair->bits,
                                  .columns = columns,
                                  .wide = high->type == POLYAD_F64};
  bool holds = true;
  for (int k = 0; k < 2; ++k) {
    uint64_t version = call->factors[modes[k]]->version;
    holds = holds && version != 0 && version == table->version[k] && table->mode[k] == modes[k];
    table->mode[k] = modes[k];
    table->version[k] = version;
  }
  if (holds) return POLYAD_OK;
  return PD_CUDA(context, state, pd_gpu_pair_table(&job, pd_cuda_stream(state)));
}

/* The sum gathers a table in place of a pair of inputs, where one is worth it. Sets the inputs. */
static polyad_status modecopy_cuda_take_table(polyad_context *context,
                                              const struct pd_modecopy *modecopy,
                                              struct pd_ordered_table *table,
                                              const struct pd_call *call, struct pd_gpu_sum *sum,
                                              struct pd_modecopy_input *input) {
  const struct pd_modecopy_copy *copy = &modecopy->copy[call->mode];
  struct pd_modecopy_pair pair = {.rows = 0};
  if (sum->what == PD_GPU_MTTKRP && sum->aligned && table->rows != NULL &&
      call->out->columns <= table->rank)
    pair = pd_modecopy_pair_of(modecopy, call->mode, table->rank);
  sum->inputs = pd_modecopy_inputs(copy, &pair, input);
  if (pair.rows == 0) return POLYAD_OK;
  PD_TRY(modecopy_cuda_fill_table(context, copy, &pair, table, call, sum->rank));
  for (int k = 0; k < sum->inputs; ++k) {
    const struct pd_matrix *factor = input[k].mode < 0 ? NULL : call->factors[input[k].mode];
    sum->factor[k] = factor == NULL ? table->rows : factor->data;
    sum->stride[k] = factor == NULL ? pd_wide_stride(modecopy->type, table->rank) : factor->stride;
  }
  return POLYAD_OK;
}

static polyad_status modecopy_cuda_run_sorted(polyad_context *context,
                                              const struct pd_modecopy *modecopy,
                                              struct pd_ordered_scratch *scratch,
                                              const struct pd_call *call) {
  struct pd_cuda_state *state = pd_cuda_state_of(scratch->base.device);
  const struct pd_modecopy_copy *copy = &modecopy->copy[call->mode];
  bool wide = modecopy->type == POLYAD_F64;
  struct pd_modecopy_input input[POLYAD_MAX_ORDER];
  struct pd_gpu_sum sum = pd_ordered_sum(modecopy->nnz, &copy->order, scratch, call);
  if (call->op.into == PD_INTO_ROWS) PD_TRY(pd_ordered_zero_unused(context, &copy->order, call));
  pd_ordered_take_halves(&copy->order, call, &sum);
  PD_TRY(modecopy_cuda_take_table(context, modecopy, &scratch->table, call, &sum, input));
  struct pd_gpu_planes planes = planes_of(copy, sum.inputs, input);
  if (sum.what == PD_GPU_HALVES)
    return PD_CUDA(context, state, pd_gpu_sum_planes_halves(&sum, &planes, pd_cuda_stream(state)));
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
  struct pd_ordered_scratch *scratch = workspace;
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
  return pd_add_saturated(
      pd_add_saturated(storage_bytes,
                       pd_ordered_scratch_bytes(traits->nnz, request->rank, request->precision)),
      pd_modecopy_table_bytes_at_most(traits, request->rank, request->precision));
}

static const struct pd_walk modecopy_cuda_rows = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .reads_halves = true,
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
