/* Running a format's kernels on its lists of nonzeros. */
#include "formats/nonzeros/nonzeros_cuda.h"
#include "device/cuda/cuda_sum.h"
#include "formats/nonzeros/nonzeros_copies.h"

struct pd_nz_device_list *pd_nz_add_list(struct pd_nz_lists *to, int mode, const int *levels) {
  struct pd_nz_device_list *list = &to->list[to->count++];
  *list = (struct pd_nz_device_list){.levels = to->head->order, .mode = mode};
  for (int l = 0; l < list->levels; ++l)
    list->level[l] = levels[l];
  return list;
}

static void describe_lists(const struct pd_nz_cuda *format, const void *storage,
                           struct pd_nz_lists *to) {
  *to = (struct pd_nz_lists){.head = storage, .format = format};
  format->describe(storage, to);
}

/* Lists that are not cut into items by the format are cut into equal segments. */
static uint64_t nonzeros_cuda_segment_of(const struct pd_cuda_state *state,
                                         const struct pd_nz *host, uint64_t nnz) {
  int lanes = PD_NZ_COLUMNS * (int)pd_type_bytes(host->type) / 16;
  return (uint64_t)pd_cuda_segment(state, nnz, lanes);
}

/* Heads of the list with most segments; `segment` 64 gives the most there can be. */
static uint64_t carries(const struct pd_nz_lists *lists, const struct pd_cuda_state *state) {
  uint64_t most = 0;
  for (int k = 0; k < lists->count; ++k) {
    const struct pd_nz_device_list *list = &lists->list[k];
    uint64_t nnz = list->list.nnz, segment = 64;
    if (!lists->format->sorted[list->kind]) continue;
    if (state != NULL) segment = nonzeros_cuda_segment_of(state, lists->head, nnz);
    if ((nnz + segment - 1) / segment > most) most = (nnz + segment - 1) / segment;
  }
  return most;
}

/* Where no list is sorted, sums of rows meet in atomic operations. */
static bool adds_atomically(const struct pd_nz_lists *lists) {
  for (int k = 0; k < lists->count; ++k)
    if (lists->format->sorted[lists->list[k].kind]) return false;
  return true;
}

static uint64_t nonzeros_cuda_copy_numbers(const struct pd_nz_lists *lists, uint64_t rank) {
  return adds_atomically(lists) ? pd_nz_copies_numbers(lists->head, rank) : 0;
}

uint64_t pd_nz_cuda_workspace_bytes(const struct pd_nz_cuda *format, const void *storage,
                                    uint64_t rank) {
  struct pd_nz_lists described, *lists = &described;
  describe_lists(format, storage, lists);
  rank = pd_cuda_wide_columns(lists->head->type, rank);
  uint64_t numbers = pd_add_saturated(pd_mul_saturated(2 * carries(lists, NULL), rank),
                                      nonzeros_cuda_copy_numbers(lists, rank));
  return pd_mul_saturated(numbers, pd_type_bytes(lists->head->type));
}

static bool nonzeros_cuda_serves(const struct pd_nz_device_list *list, int mode) {
  return list->list.nnz > 0 && (list->mode < 0 || list->mode == mode);
}

static bool has_sides(const struct pd_nz_lists *lists) {
  for (int mode = 0, serving = 0; mode < lists->head->order; ++mode, serving = 0)
    for (int k = 0; k < lists->count; ++k)
      if (nonzeros_cuda_serves(&lists->list[k], mode) && ++serving > 1) return true;
  return false;
}

static polyad_status open_sides(polyad_context *context, struct pd_nz_scratch *scratch) {
  PD_CUDA_ENTER(context, scratch->base.device);
  PD_TRY(
      PD_CUDA(context, state, cudaEventCreateWithFlags(&scratch->begin, cudaEventDisableTiming)));
  for (int s = 0; s < PD_NZ_SIDES; ++s) {
    PD_TRY(PD_CUDA(context, state,
                   cudaStreamCreateWithFlags(&scratch->side[s], cudaStreamNonBlocking)));
    PD_TRY(PD_CUDA(context, state,
                   cudaEventCreateWithFlags(&scratch->done[s], cudaEventDisableTiming)));
  }
  return POLYAD_OK;
}

void pd_nz_cuda_clear(polyad_context *context, void *pointer) {
  struct pd_nz_scratch *scratch = pointer;
  (void)context;
  for (int s = 0; s < PD_NZ_SIDES; ++s) {
    if (scratch->side[s] != NULL) (void)cudaStreamDestroy(scratch->side[s]);
    if (scratch->done[s] != NULL) (void)cudaEventDestroy(scratch->done[s]);
  }
  if (scratch->begin != NULL) (void)cudaEventDestroy(scratch->begin);
}

polyad_status pd_nz_cuda_fill(polyad_context *context, const struct pd_nz_cuda *format,
                              const void *storage, uint64_t rank, void *pointer) {
  struct pd_nz_scratch *scratch = pointer;
  const struct pd_nz_lists *lists = &scratch->lists;
  if (rank > INT32_MAX / 16)
    return pd_cuda_services->fail(context, POLYAD_OVERFLOW, "rank %llu is too large",
                                  (unsigned long long)rank);
  describe_lists(format, storage, &scratch->lists);
  rank = pd_cuda_wide_columns(lists->head->type, rank);
  uint64_t numbers = carries(lists, pd_cuda_state_of(scratch->base.device)) * rank;
  uint64_t copies = nonzeros_cuda_copy_numbers(lists, rank);
  size_t size = pd_type_bytes(lists->head->type);
  PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base, numbers, size, &scratch->head));
  PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base, numbers, size, &scratch->tail));
  if (copies > 0) PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base, copies, size, &scratch->copies));
  return has_sides(lists) ? open_sides(context, scratch) : POLYAD_OK;
}

int pd_nz_prepare(const struct pd_nz_device_list *list, int mode,
                  const struct pd_matrix *const *factors, const struct pd_matrix *out,
                  struct pd_nz_launch *launch) {
  bool aligned = pd_cuda_aligned(out);
  *launch = (struct pd_nz_launch){
      .list = list->list,
      .rank = (int)out->columns,
      .out = {.data = out->data, .stride = out->stride, .copies = 1},
  };
  for (int l = 0; l < list->levels; ++l) {
    const struct pd_matrix *factor = factors[list->level[l]];
    if (list->level[l] == mode) {
      launch->output_slot = l;
      continue;
    }
    launch->slot[launch->inputs] = l;
    launch->factor[launch->inputs] = factor->data;
    launch->stride[launch->inputs++] = factor->stride;
    aligned = aligned && pd_cuda_aligned(factor);
  }
  if (aligned) launch->rank = (int)pd_cuda_wide_columns(out->type, out->columns);
  return aligned;
}

/* Equal segments, where the format has no items of its own. */
static void nonzeros_cuda_divide(const struct pd_cuda_state *state, const struct pd_nz *host,
                                 struct pd_nz_launch *launch) {
  if (launch->list.items > 0) return;
  launch->segment = nonzeros_cuda_segment_of(state, host, launch->list.nnz);
  launch->list.items = (launch->list.nnz + launch->segment - 1) / launch->segment;
}

/* One MTTKRP. */
struct job {
  const struct pd_nz_lists *lists;
  const struct pd_nz_scratch *scratch;
  int mode;
  const struct pd_matrix *const *factors;
  const struct pd_matrix *out;
  struct pd_nz_output to;
};

/* Adds the list's share to the output. */
static polyad_status run_list(polyad_context *context, const struct job *job,
                              const struct pd_nz_device_list *list, cudaStream_t stream) {
  struct pd_cuda_state *state = pd_cuda_state_of(job->scratch->base.device);
  const struct pd_nz_cuda *format = job->lists->format;
  const pd_nz_launcher *start = job->out->type == POLYAD_F32 ? format->f32 : format->f64;
  struct pd_nz_launch launch;
  int aligned = pd_nz_prepare(list, job->mode, job->factors, job->out, &launch);
  nonzeros_cuda_divide(state, job->lists->head, &launch);
  launch.out = job->to;
  launch.head = job->scratch->head;
  launch.tail = job->scratch->tail;
  return PD_CUDA(context, state, start[list->kind](&launch, aligned, stream));
}

/* The mode's lists: the first in the device's stream, the others beside it, so that short ones do
 * not leave the GPU idle. */
static polyad_status run_lists(polyad_context *context, const struct job *job) {
  const struct pd_nz_scratch *scratch = job->scratch;
  struct pd_cuda_state *state = pd_cuda_state_of(scratch->base.device);
  bool used[PD_NZ_SIDES] = {false};
  if (scratch->begin != NULL)
    PD_TRY(PD_CUDA(context, state, cudaEventRecord(scratch->begin, pd_cuda_stream(state))));
  for (int k = 0, started = 0; k < job->lists->count; ++k) {
    const struct pd_nz_device_list *list = &job->lists->list[k];
    if (!nonzeros_cuda_serves(list, job->mode)) continue;
    int s = started++ % (PD_NZ_SIDES + 1) - 1;
    if (s >= 0 && !used[s])
      PD_TRY(PD_CUDA(context, state, cudaStreamWaitEvent(scratch->side[s], scratch->begin, 0)));
    if (s >= 0) used[s] = true;
    PD_TRY(run_list(context, job, list, s >= 0 ? scratch->side[s] : pd_cuda_stream(state)));
  }
  for (int s = 0; s < PD_NZ_SIDES; ++s) {
    if (!used[s]) continue;
    PD_TRY(PD_CUDA(context, state, cudaEventRecord(scratch->done[s], scratch->side[s])));
    PD_TRY(
        PD_CUDA(context, state, cudaStreamWaitEvent(pd_cuda_stream(state), scratch->done[s], 0)));
  }
  return POLYAD_OK;
}

polyad_status pd_nz_cuda_run(polyad_context *context, const void *storage, void *workspace,
                             const struct pd_call *call) {
  struct pd_matrix *out = call->out;
  const struct pd_nz_scratch *scratch = workspace;
  struct job job = {.lists = &scratch->lists,
                    .scratch = scratch,
                    .mode = call->mode,
                    .factors = call->factors,
                    .out = out};
  (void)storage;
  PD_CUDA_ENTER(context, scratch->base.device);
  PD_TRY(pd_nz_copies_begin(context, state, scratch->copies, out, &job.to));
  PD_TRY(run_lists(context, &job));
  return pd_nz_copies_end(context, state, &job.to, out);
}

/* ---- tensor-times-matrix chain -------------------------------------------------------------- */

uint64_t pd_nz_chain_workspace_bytes(const void *storage, const uint64_t *ranks, int threads) {
  (void)storage, (void)ranks, (void)threads;
  return sizeof(struct pd_nz_scratch);
}

polyad_status pd_nz_chain_fill(polyad_context *context, const struct pd_nz_cuda *format,
                               const void *storage, const uint64_t *ranks, void *scratch) {
  const struct pd_nz *head = storage;
  for (int mode = 0; mode < head->order; ++mode) {
    uint64_t columns = 1;
    for (int n = 0; n < head->order; ++n)
      columns = pd_mul_saturated(columns, n == mode ? 1 : ranks[n]);
    if (columns > INT32_MAX / 2)
      return pd_cuda_services->fail(context, POLYAD_UNSUPPORTED,
                                    "the chain of mode %d has %llu columns; expected at most 2^30",
                                    pd_cuda_services->shown_mode(context, mode),
                                    (unsigned long long)columns);
  }
  describe_lists(format, storage, &((struct pd_nz_scratch *)scratch)->lists);
  return POLYAD_OK;
}

/* Along an output row the last other mode's column varies fastest. */
static void weigh_columns(const struct pd_nz_device_list *list, int mode,
                          const struct pd_matrix *const *factors, struct pd_nz_chain *chain) {
  for (int k = 0, weight; k < chain->nz.inputs; ++k) {
    int input = list->level[chain->nz.slot[k]];
    weight = 1;
    for (int n = input + 1; n < list->levels; ++n)
      if (n != mode) weight *= (int)factors[n]->columns;
    chain->weight[k] = weight;
    chain->rank[k] = (int)factors[input]->columns;
  }
}

polyad_status pd_nz_chain_run(polyad_context *context, const void *storage, void *workspace,
                              const struct pd_call *call) {
  const int mode = call->mode;
  struct pd_matrix *out = call->out;
  const struct pd_nz_scratch *scratch = workspace;
  const struct pd_nz_lists *lists = &scratch->lists;
  (void)storage;
  PD_CUDA_ENTER(context, scratch->base.device);
  PD_TRY(PD_CUDA(context, state,
                 cudaMemsetAsync(out->data, 0, out->rows * out->stride * pd_type_bytes(out->type),
                                 pd_cuda_stream(state))));
  for (int k = 0; k < lists->count; ++k) {
    const struct pd_nz_device_list *list = &lists->list[k];
    if (list->list.nnz == 0 || (list->mode >= 0 && list->mode != mode)) continue;
    struct pd_nz_chain chain = {.weight = {0}};
    (void)pd_nz_prepare(list, mode, call->factors, out, &chain.nz);
    weigh_columns(list, mode, call->factors, &chain);
    nonzeros_cuda_divide(state, lists->head, &chain.nz);
    PD_TRY(PD_CUDA(context, state,
                   (out->type == POLYAD_F32 ? lists->format->chain_f32 : lists->format->chain_f64)(
                       &chain, pd_cuda_stream(state))));
  }
  return POLYAD_OK;
}
