/* Dense algebra on a GPU: scratch memory and the order of the kernels. */
#include "device/cuda/cuda_linalg_launch.h"
#include "device/cuda/cuda_state.h"
#include "linalg/linalg.h"
#include <string.h>

struct pd_linalg_work {
  const struct pd_device *device;
  int rank, processors;
  double *memory; /* all of the below, on the device */
  double *scalars, *factor, *inverse, *invert, *sums, *partial, *residual;
  double *host;             /* pinned: PD_GPU_SCALARS numbers */
  cudaStream_t side;        /* where prepare() inverts */
  cudaEvent_t fork, joined; /* before and after that */
  bool prepared;
};

/* Numbers that one rank needs, by purpose. */
struct sizes {
  uint64_t square, invert, sums, partial, total;
};

static struct sizes sizes_of(uint64_t rank, int processors) {
  struct sizes size;
  int parts = pd_gpu_gram_parts(UINT64_MAX / 2, (int)rank, processors);
  int blocks = pd_gpu_row_blocks(UINT64_MAX / 2, (int)rank, processors);
  size.square = rank * rank;
  size.invert = 2 * size.square + 2 * rank + 2;
  size.sums = (uint64_t)blocks * PD_GPU_COLUMN_SUMS * rank;
  size.partial = (uint64_t)parts * size.square;
  size.total = PD_GPU_SCALARS + rank + size.square + size.invert + size.sums + size.partial +
               2 * PD_GPU_RESIDUAL_BLOCKS;
  return size;
}

static uint64_t work_bytes(uint64_t rank, int threads) {
  (void)threads;
  if (rank > PD_GPU_RANK_MAX) return UINT64_MAX;
  return sizes_of(rank, 256).total * sizeof(double);
}

static void work_destroy(polyad_context *context, struct pd_linalg_work *work) {
  if (work == NULL) return;
  pd_cuda_release(context, work->device, work->memory);
  if (work->host != NULL && cudaFreeHost(work->host) != cudaSuccess) (void)cudaGetLastError();
  if (work->side != NULL && cudaStreamDestroy(work->side) != cudaSuccess) (void)cudaGetLastError();
  if (work->fork != NULL && cudaEventDestroy(work->fork) != cudaSuccess) (void)cudaGetLastError();
  if (work->joined != NULL && cudaEventDestroy(work->joined) != cudaSuccess)
    (void)cudaGetLastError();
  pd_cuda_services->free(context, work);
}

static polyad_status create_side(polyad_context *context, struct pd_linalg_work *work) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(PD_CUDA(context, state, cudaStreamCreateWithFlags(&work->side, cudaStreamNonBlocking)));
  PD_TRY(PD_CUDA(context, state, cudaEventCreateWithFlags(&work->fork, cudaEventDisableTiming)));
  return PD_CUDA(context, state, cudaEventCreateWithFlags(&work->joined, cudaEventDisableTiming));
}

static polyad_status work_create(polyad_context *context, const struct pd_device *device,
                                 uint64_t rank, struct pd_linalg_work **out) {
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  struct pd_linalg_work *work = NULL;
  *out = NULL;
  if (rank > PD_GPU_RANK_MAX)
    return pd_cuda_services->fail(context, POLYAD_UNSUPPORTED,
                                  "rank %llu found; dense algebra on a GPU takes at most %d",
                                  (unsigned long long)rank, PD_GPU_RANK_MAX);
  PD_TRY(pd_cuda_enter(context, state));
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *work, (void **)&work));
  *work =
      (struct pd_linalg_work){.device = device, .rank = (int)rank, .processors = state->processors};
  struct sizes size = sizes_of(rank, state->processors);
  polyad_status status =
      pd_cuda_allocate(context, device, size.total, sizeof(double), (void **)&work->memory);
  if (status == POLYAD_OK)
    status = PD_CUDA(context, state,
                     cudaMallocHost((void **)&work->host, PD_GPU_SCALARS * sizeof(double)));
  if (status == POLYAD_OK) status = create_side(context, work);
  if (status == POLYAD_OK)
    status = PD_CUDA(
        context, state,
        cudaMemsetAsync(work->memory, 0, size.total * sizeof(double), pd_cuda_stream(state)));
  if (status != POLYAD_OK) {
    work_destroy(context, work);
    return status;
  }
  double *next = work->memory;
  work->scalars = next;
  work->factor = (next += PD_GPU_SCALARS);
  work->inverse = (next += rank);
  work->invert = (next += size.square);
  work->sums = (next += size.invert);
  work->partial = (next += size.sums);
  work->residual = next + size.partial;
  *out = work;
  return POLYAD_OK;
}

static struct pd_gpu_matrix gpu_matrix(const struct pd_matrix *matrix) {
  return (struct pd_gpu_matrix){.data = matrix->data,
                                .rows = matrix->rows,
                                .stride = matrix->stride,
                                .rank = (int)matrix->columns,
                                .wide = matrix->type == POLYAD_F64};
}

/* gram = x^T x, scaled by work->factor where asked. */
static polyad_status run_gram(polyad_context *context, struct pd_linalg_work *work,
                              const struct pd_matrix *x, bool scaled, struct pd_matrix *gram) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  int parts = pd_gpu_gram_parts(x->rows, work->rank, work->processors);
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_gram(gpu_matrix(x), parts, work->partial, pd_cuda_stream(state))));
  return PD_CUDA(context, state,
                 pd_gpu_finish_gram(work->partial, parts, work->rank, scaled ? work->factor : NULL,
                                    gram->data, pd_cuda_stream(state)));
}

static polyad_status gram(polyad_context *context, struct pd_linalg_work *work,
                          const struct pd_matrix *a, struct pd_matrix *out) {
  PD_TRY(pd_cuda_enter(context, pd_cuda_state_of(work->device)));
  return run_gram(context, work, a, false, out);
}

static polyad_status round_matrix(polyad_context *context, struct pd_linalg_work *work,
                                  polyad_compute compute, const struct pd_matrix *from,
                                  struct pd_matrix *to) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(pd_cuda_enter(context, state));
  return PD_CUDA(context, state,
                 pd_gpu_round((int)compute, gpu_matrix(from), gpu_matrix(to), work->processors,
                              pd_cuda_stream(state)));
}

static polyad_status add(polyad_context *context, struct pd_linalg_work *work,
                         const struct pd_matrix *y, struct pd_matrix *x) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(pd_cuda_enter(context, state));
  return PD_CUDA(context, state,
                 pd_gpu_add(gpu_matrix(y), gpu_matrix(x), work->processors, pd_cuda_stream(state)));
}

static polyad_status hadamard(polyad_context *context, struct pd_linalg_work *work, int count,
                              const struct pd_matrix *const *grams, int skip, double ridge,
                              struct pd_matrix *v) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  const double *data[POLYAD_MAX_ORDER];
  PD_TRY(pd_cuda_enter(context, state));
  for (int n = 0; n < count; ++n)
    data[n] = grams[n] == NULL ? NULL : grams[n]->data;
  return PD_CUDA(
      context, state,
      pd_gpu_hadamard(count, data, skip, ridge, work->rank, v->data, pd_cuda_stream(state)));
}

/* From column sums in work->sums: norms, scaling of x, scaled Gram matrix. */
static polyad_status finish(polyad_context *context, struct pd_linalg_work *work,
                            struct pd_matrix *x, int blocks, enum pd_scaling scaling,
                            struct pd_matrix *lambda, struct pd_matrix *out) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_finish_columns(work->sums, blocks, work->rank, (int)scaling, lambda->data,
                                       work->factor, work->scalars, pd_cuda_stream(state))));
  PD_TRY(run_gram(context, work, x, true, out));
  return PD_CUDA(context, state, pd_gpu_scale(gpu_matrix(x), work->factor, pd_cuda_stream(state)));
}

static polyad_status invert(polyad_context *context, struct pd_linalg_work *work,
                            const struct pd_matrix *v, double damping, cudaStream_t stream) {
  return PD_CUDA(context, pd_cuda_state_of(work->device),
                 pd_gpu_invert(v->data, work->rank, damping, work->inverse, work->invert,
                               work->scalars, stream));
}

/* One block inverts v while the rest of the GPU computes the MTTKRP. */
static polyad_status prepare(polyad_context *context, struct pd_linalg_work *work,
                             const struct pd_matrix *v, double damping) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(pd_cuda_enter(context, state));
  PD_TRY(PD_CUDA(context, state, cudaEventRecord(work->fork, pd_cuda_stream(state))));
  PD_TRY(PD_CUDA(context, state, cudaStreamWaitEvent(work->side, work->fork, 0)));
  PD_TRY(invert(context, work, v, damping, work->side));
  PD_TRY(PD_CUDA(context, state, cudaEventRecord(work->joined, work->side)));
  work->prepared = true;
  return POLYAD_OK;
}

/* The inverse is there when what comes next runs. */
static polyad_status await_inverse(polyad_context *context, struct pd_linalg_work *work,
                                   const struct pd_matrix *v, double damping) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  if (!work->prepared) return invert(context, work, v, damping, pd_cuda_stream(state));
  work->prepared = false;
  return PD_CUDA(context, state, cudaStreamWaitEvent(pd_cuda_stream(state), work->joined, 0));
}

static polyad_status update(polyad_context *context, struct pd_linalg_work *work,
                            const struct pd_matrix *v, double damping,
                            const struct pd_matrix *before, struct pd_matrix *x,
                            enum pd_scaling scaling, struct pd_matrix *lambda,
                            struct pd_matrix *out) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  struct pd_gpu_pull pull = {.damping = damping,
                             .lambda = lambda->data,
                             .v = v->data,
                             .pulls = work->scalars + PD_GPU_PULLS};
  if (before != NULL) pull.before = gpu_matrix(before);
  PD_TRY(pd_cuda_enter(context, state));
  int blocks = pd_gpu_row_blocks(x->rows, work->rank, work->processors);
  PD_TRY(await_inverse(context, work, v, damping));
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_multiply(gpu_matrix(x), work->inverse, &pull, blocks, work->sums,
                                 pd_cuda_stream(state))));
  return finish(context, work, x, blocks, scaling, lambda, out);
}

static polyad_status update_nonnegative(polyad_context *context, struct pd_linalg_work *work,
                                        const struct pd_matrix *v, const struct pd_matrix *m,
                                        struct pd_matrix *x, enum pd_scaling scaling,
                                        struct pd_matrix *lambda, struct pd_matrix *out) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(pd_cuda_enter(context, state));
  int blocks = pd_gpu_row_blocks(x->rows, work->rank, work->processors);
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_hals(gpu_matrix(m), gpu_matrix(x), v->data, lambda->data, blocks,
                             pd_cuda_stream(state))));
  PD_TRY(PD_CUDA(
      context, state,
      pd_gpu_column_sums(gpu_matrix(m), gpu_matrix(x), blocks, work->sums, pd_cuda_stream(state))));
  return finish(context, work, x, blocks, scaling, lambda, out);
}

static polyad_status weighted_inner(polyad_context *context, struct pd_linalg_work *work,
                                    const struct pd_matrix *m, const struct pd_matrix *x,
                                    const struct pd_matrix *lambda) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(pd_cuda_enter(context, state));
  int blocks = pd_gpu_row_blocks(x->rows, work->rank, work->processors);
  PD_TRY(PD_CUDA(
      context, state,
      pd_gpu_column_sums(gpu_matrix(m), gpu_matrix(x), blocks, work->sums, pd_cuda_stream(state))));
  return PD_CUDA(context, state,
                 pd_gpu_finish_inner(work->sums, blocks, work->rank, lambda->data, work->scalars,
                                     pd_cuda_stream(state)));
}

static polyad_status quadratic_form(polyad_context *context, struct pd_linalg_work *work,
                                    const struct pd_matrix *g, const struct pd_matrix *last,
                                    const struct pd_matrix *lambda) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(pd_cuda_enter(context, state));
  return PD_CUDA(context, state,
                 pd_gpu_quadratic_form(g->data, last->data, lambda->data, work->rank, work->scalars,
                                       pd_cuda_stream(state)));
}

static polyad_status spread(polyad_context *context, struct pd_linalg_work *work,
                            const struct pd_matrix *slices, const struct pd_matrix *x,
                            const struct pd_matrix *g, const struct pd_matrix *last,
                            const struct pd_matrix *lambda) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(pd_cuda_enter(context, state));
  int blocks = pd_gpu_row_blocks(x->rows, work->rank, work->processors);
  return PD_CUDA(context, state,
                 pd_gpu_spread(slices->data, gpu_matrix(x), g->data, last->data, lambda->data,
                               blocks, work->sums, work->scalars, pd_cuda_stream(state)));
}

static polyad_status residual(polyad_context *context, struct pd_linalg_work *work,
                              const struct pd_nonzeros *nonzeros, const struct pd_list *list,
                              const struct pd_matrix *const *factors,
                              const struct pd_matrix *lambda) {
  (void)nonzeros;
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  struct pd_gpu_residual job = {
      .values = list->values, .weight = lambda->data, .nnz = list->nnz, .order = list->order};
  for (int n = 0; n < list->order; ++n) {
    job.index[n] = list->index[n];
    job.index_bytes[n] = list->index_bytes[n];
    job.factor[n] = gpu_matrix(factors[n]);
  }
  PD_TRY(pd_cuda_enter(context, state));
  return PD_CUDA(context, state,
                 pd_gpu_residual(&job, work->residual, work->scalars, pd_cuda_stream(state)));
}

static polyad_status weigh(polyad_context *context, struct pd_linalg_work *work,
                           const struct pd_matrix *phi, double kappa, double kappa_tolerance,
                           const struct pd_matrix *lambda, struct pd_matrix *x) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  struct pd_gpu_matrix measure = {.data = NULL};
  if (phi != NULL) measure = gpu_matrix(phi);
  PD_TRY(pd_cuda_enter(context, state));
  return PD_CUDA(context, state,
                 pd_gpu_weigh(measure, kappa, kappa_tolerance, lambda->data, gpu_matrix(x),
                              work->processors, work->scalars, pd_cuda_stream(state)));
}

static polyad_status kkt(polyad_context *context, struct pd_linalg_work *work,
                         const struct pd_matrix *phi, const struct pd_matrix *b) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(pd_cuda_enter(context, state));
  return PD_CUDA(context, state,
                 pd_gpu_kkt(gpu_matrix(phi), gpu_matrix(b), work->processors, work->scalars,
                            pd_cuda_stream(state)));
}

static polyad_status multiply(polyad_context *context, struct pd_linalg_work *work,
                              const struct pd_matrix *phi, double tolerance, struct pd_matrix *b) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(pd_cuda_enter(context, state));
  return PD_CUDA(context, state,
                 pd_gpu_multiply_unless(gpu_matrix(phi), tolerance, gpu_matrix(b), work->processors,
                                        work->scalars, pd_cuda_stream(state)));
}

static polyad_status normalize(polyad_context *context, struct pd_linalg_work *work,
                               enum pd_scaling scaling, struct pd_matrix *x,
                               struct pd_matrix *lambda) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  struct pd_gpu_matrix matrix = gpu_matrix(x);
  PD_TRY(pd_cuda_enter(context, state));
  int blocks = pd_gpu_row_blocks(x->rows, work->rank, work->processors);
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_column_sums(matrix, matrix, blocks, work->sums, pd_cuda_stream(state))));
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_finish_columns(work->sums, blocks, work->rank, (int)scaling, lambda->data,
                                       work->factor, work->scalars, pd_cuda_stream(state))));
  return PD_CUDA(context, state, pd_gpu_scale(matrix, work->factor, pd_cuda_stream(state)));
}

/* Scalars that fetch() clears. */
static const int counters[] = {PD_SCALAR_FALLBACKS, PD_SCALAR_DAMPED, PD_SCALAR_UPDATES,
                               PD_SCALAR_SHIFTED};

static polyad_status fetch(polyad_context *context, struct pd_linalg_work *work,
                           double scalars[PD_SCALARS]) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(pd_cuda_enter(context, state));
  PD_TRY(PD_CUDA(context, state,
                 cudaMemcpyAsync(work->host, work->scalars, PD_GPU_SCALARS * sizeof(double),
                                 cudaMemcpyDeviceToHost, pd_cuda_stream(state))));
  for (size_t k = 0; k < sizeof counters / sizeof *counters; ++k)
    PD_TRY(PD_CUDA(
        context, state,
        cudaMemsetAsync(work->scalars + counters[k], 0, sizeof(double), pd_cuda_stream(state))));
  PD_TRY(PD_CUDA(context, state, cudaStreamSynchronize(pd_cuda_stream(state))));
  if (work->host[PD_GPU_NOT_FINITE] != 0)
    return pd_cuda_services->fail(
        context, POLYAD_NUMERICAL,
        "the normal equations hold numbers that are not finite; scale the values");
  memcpy(scalars, work->host, PD_SCALARS * sizeof *scalars);
  return POLYAD_OK;
}

const struct pd_linalg pd_cuda_linalg = {
    .svd = &pd_cuda_svd,
    .work_create = work_create,
    .work_destroy = work_destroy,
    .work_bytes = work_bytes,
    .gram = gram,
    .add = add,
    .round = round_matrix,
    .hadamard = hadamard,
    .prepare = prepare,
    .update = update,
    .update_nonnegative = update_nonnegative,
    .weighted_inner = weighted_inner,
    .quadratic_form = quadratic_form,
    .spread = spread,
    .residual = residual,
    .residual_reads_list = true,
    .weigh = weigh,
    .kkt = kkt,
    .multiply = multiply,
    .normalize = normalize,
    .fetch_waits = true,
    .fetch = fetch,
};

_Static_assert(
    (int)PD_SCALARS == (int)PD_GPU_NOT_FINITE &&
        (int)PD_SCALAR_FALLBACKS == (int)PD_GPU_FALLBACKS &&
        (int)PD_SCALAR_KEPT == (int)PD_GPU_KEPT && (int)PD_SCALAR_DAMPED == (int)PD_GPU_DAMPED &&
        (int)PD_SCALAR_NORMS == (int)PD_GPU_NORMS && (int)PD_SCALAR_PEAKS == (int)PD_GPU_PEAKS &&
        (int)PD_SCALAR_SPREAD == (int)PD_GPU_SPREAD &&
        (int)PD_SCALAR_RESIDUAL == (int)PD_GPU_RESIDUAL &&
        (int)PD_SCALAR_COVERED == (int)PD_GPU_COVERED &&
        (int)PD_SCALAR_INNER == (int)PD_GPU_INNER && (int)PD_SCALAR_MODEL == (int)PD_GPU_MODEL &&
        (int)PD_SCALAR_KKT == (int)PD_GPU_KKT && (int)PD_SCALAR_UPDATES == (int)PD_GPU_UPDATES &&
        (int)PD_SCALAR_SHIFTED == (int)PD_GPU_SHIFTED && (int)PD_SCALAR_MASS == (int)PD_GPU_MASS,
    "device scalars follow pd_scalar");
