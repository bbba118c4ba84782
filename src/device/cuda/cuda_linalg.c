/* Dense algebra on a GPU: the order of the kernels. */
#include "device/cuda/cuda_linalg_work.h"
#include "device/cuda/cuda_team.h"
#include "linalg/linalg.h"
#include <string.h>

/* Makes the device current, and lets what comes next in the stream wait for the side's work. */
static polyad_status linalg_enter(polyad_context *context, struct pd_linalg_work *work) {
  PD_CUDA_ENTER(context, work->device);
  if (!work->apart) return POLYAD_OK;
  work->apart = false;
  return PD_CUDA(context, state, cudaStreamWaitEvent(stream, work->joined, 0));
}

/* What functions begin with that enqueue work: names the device's `state` and `stream`. */
#define LINALG_ENTER(context, work)                                                                \
  struct pd_cuda_state *state = pd_cuda_state_of((work)->device);                                  \
  PD_TRY(linalg_enter((context), (work)));                                                         \
  cudaStream_t stream __attribute__((unused)) = pd_cuda_stream(state)

/* Lets what comes next on the side wait for all before it in the stream. What has run beside the
 * side's work since the last such place is of no concern to it. */
static polyad_status linalg_branch(polyad_context *context, struct pd_linalg_work *work) {
  PD_CUDA_ENTER(context, work->device);
  if (work->apart) return POLYAD_OK;
  PD_TRY(PD_CUDA(context, state, cudaEventRecord(work->fork, stream)));
  return PD_CUDA(context, state, cudaStreamWaitEvent(work->side, work->fork, 0));
}

/* After what was enqueued on the side. */
static polyad_status linalg_leave(polyad_context *context, struct pd_linalg_work *work) {
  work->apart = true;
  return PD_CUDA(context, pd_cuda_state_of(work->device),
                 cudaEventRecord(work->joined, work->side));
}

static struct pd_gpu_matrix gpu_matrix(const struct pd_matrix *matrix) {
  return (struct pd_gpu_matrix){.data = matrix->data,
                                .rows = matrix->rows,
                                .stride = matrix->stride,
                                .rank = (int)matrix->columns,
                                .wide = matrix->type == POLYAD_F64};
}

static struct pd_gpu_matrix gpu_matrix_or_none(const struct pd_matrix *matrix) {
  struct pd_gpu_matrix none = {.data = NULL};
  return matrix == NULL ? none : gpu_matrix(matrix);
}

static struct pd_gpu_grams gpu_grams(int count, const struct pd_matrix *const *grams, int skip,
                                     double ridge) {
  struct pd_gpu_grams chosen = {.ridge = ridge};
  for (int n = 0; n < count; ++n)
    if (n != skip) chosen.gram[chosen.count++] = grams[n]->data;
  return chosen;
}

/* Blocks of the column sums, and parts of the Gram matrix, that a pass over rows leaves. */
static void count_blocks(const struct pd_linalg_work *work, uint64_t rows, int *blocks,
                         int *parts) {
  bool one_pass = work->rank <= PD_GPU_RANK_PASS;
  *blocks = one_pass ? pd_gpu_pass_blocks(rows) : pd_gpu_row_blocks(rows, work->rank);
  *parts = one_pass ? *blocks : pd_gpu_gram_parts(rows, work->rank);
}

/* The pass over rows of more than PD_GPU_RANK_PASS columns: a kernel that makes x or sums its
 * columns, and one for the Gram matrix. */
static polyad_status run_wide_pass(polyad_context *context, struct pd_cuda_state *state,
                                   const struct pd_gpu_rows *rows, int parts) {
  cudaStream_t stream = pd_cuda_stream(state);
  if (rows->inverse != NULL)
    PD_TRY(PD_CUDA(context, state, pd_gpu_multiply(rows, stream)));
  else
    PD_TRY(PD_CUDA(context, state,
                   pd_gpu_column_sums(rows->m.data != NULL ? rows->m : rows->x, rows->x,
                                      rows->slices, rows->blocks, rows->sums, stream)));
  return PD_CUDA(context, state, pd_gpu_gram(rows->x, parts, rows->partial, stream));
}

/* The passes over the rows of several runs; those of up to PD_GPU_RANK_PASS columns are one kernel
 * each, and are launched together. `rows` changes its order. */
static polyad_status run_passes(polyad_context *context, struct pd_cuda_state *state, int runs,
                                struct pd_linalg_work *const *works, struct pd_gpu_rows *rows) {
  int narrow = 0;
  for (int k = 0; k < runs; ++k) {
    int parts;
    count_blocks(works[k], rows[k].x.rows, &rows[k].blocks, &parts);
    rows[k].sums = works[k]->sums;
    rows[k].partial = works[k]->partial;
    if (works[k]->rank <= PD_GPU_RANK_PASS)
      rows[narrow++] = rows[k];
    else
      PD_TRY(run_wide_pass(context, state, &rows[k], parts));
  }
  if (narrow == 0) return POLYAD_OK;
  return PD_CUDA(context, state, pd_gpu_pass(rows, narrow, pd_cuda_stream(state)));
}

static polyad_status run_pass(polyad_context *context, struct pd_linalg_work *work,
                              struct pd_gpu_rows *rows) {
  return run_passes(context, pd_cuda_state_of(work->device), 1, &work, rows);
}

static struct pd_gpu_finish finish_of(struct pd_linalg_work *work, const struct pd_matrix *x,
                                      struct pd_matrix *out, struct pd_matrix *peak) {
  struct pd_gpu_finish finish = {.partial = work->partial,
                                 .sums = work->sums,
                                 .partial_step = (uint64_t)work->rank * (uint64_t)work->rank,
                                 .sums_step = PD_GPU_COLUMN_SUMS * (uint64_t)work->rank,
                                 .rank = work->rank,
                                 .wide = x->type == POLYAD_F64,
                                 .gram = out->data,
                                 .peak = peak->data,
                                 .factor = work->factor,
                                 .squares = work->squares,
                                 .scalars = work->scalars};
  count_blocks(work, x->rows, &finish.blocks, &finish.parts);
  return finish;
}

static polyad_status cuda_linalg_gram(polyad_context *context, struct pd_linalg_work *work,
                                      const struct pd_matrix *a, struct pd_matrix *out,
                                      struct pd_matrix *peak) {
  struct pd_gpu_rows rows = {.x = gpu_matrix(a)};
  struct pd_gpu_finish finish = finish_of(work, a, out, peak);
  LINALG_ENTER(context, work);
  PD_TRY(run_pass(context, work, &rows));
  PD_TRY(pd_cuda_share_finish(context, work, &finish));
  return PD_CUDA(context, state, pd_gpu_finish_update(&finish, 1, stream));
}

static polyad_status round_matrix(polyad_context *context, struct pd_linalg_work *work,
                                  polyad_compute compute, const struct pd_matrix *from,
                                  struct pd_matrix *to) {
  LINALG_ENTER(context, work);
  return PD_CUDA(
      context, state,
      pd_gpu_round((int)compute, gpu_matrix(from), gpu_matrix(to), work->processors, stream));
}

static polyad_status cuda_linalg_halve(polyad_context *context, struct pd_linalg_work *work,
                                       struct pd_matrix *a) {
  LINALG_ENTER(context, work);
  return PD_CUDA(context, state, pd_gpu_halve(gpu_matrix(a), a->halves, work->processors, stream));
}

static polyad_status cuda_linalg_random(polyad_context *context, struct pd_linalg_work *work,
                                        uint64_t seed, uint64_t stream, struct pd_matrix *a) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(linalg_enter(context, work));
  return PD_CUDA(
      context, state,
      pd_gpu_random(seed, stream, gpu_matrix(a), work->processors, pd_cuda_stream(state)));
}

static polyad_status cuda_linalg_add(polyad_context *context, struct pd_linalg_work *work,
                                     const struct pd_matrix *y, struct pd_matrix *x) {
  LINALG_ENTER(context, work);
  return PD_CUDA(context, state,
                 pd_gpu_add(gpu_matrix(y), gpu_matrix(x), work->processors, stream));
}

static polyad_status cuda_linalg_hadamard(polyad_context *context, struct pd_linalg_work *work,
                                          int count, const struct pd_matrix *const *grams, int skip,
                                          double ridge, struct pd_matrix *v) {
  struct pd_gpu_grams chosen = gpu_grams(count, grams, skip, ridge);
  LINALG_ENTER(context, work);
  return PD_CUDA(context, state, pd_gpu_hadamard(&chosen, work->rank, v->data, stream));
}

static struct pd_gpu_inversion inversion_of(const struct pd_update *update,
                                            const struct pd_gpu_grams *grams) {
  struct pd_linalg_work *work = update->work;
  return (struct pd_gpu_inversion){.grams = *grams,
                                   .v = update->v->data,
                                   .inverse = work->inverse,
                                   .scratch = work->invert,
                                   .scalars = work->scalars,
                                   .damping = update->damping,
                                   .rank = work->rank,
                                   .processors = work->processors};
}

/* What follows waits for what was enqueued on the side for any of the runs. */
static polyad_status enter_all(polyad_context *context, int runs, const struct pd_update *updates) {
  for (int k = 0; k < runs; ++k)
    if (k == 0 || updates[k].work->apart) PD_TRY(linalg_enter(context, updates[k].work));
  return POLYAD_OK;
}

static polyad_status prepare_all(polyad_context *context, int runs, const struct pd_update *updates,
                                 cudaStream_t stream) {
  struct pd_cuda_state *state = pd_cuda_state_of(updates->work->device);
  struct pd_gpu_inversion jobs[PD_RUNS_AT_ONCE];
  for (int k = 0; k < runs; ++k) {
    const struct pd_update *update = &updates[k];
    struct pd_gpu_grams chosen =
        gpu_grams(update->count, update->grams, update->skip, update->ridge);
    jobs[k] = inversion_of(update, &chosen);
    update->work->prepared = true;
    if (update->work->rank > PD_GPU_RANK_SMALL)
      PD_TRY(PD_CUDA(context, state,
                     pd_gpu_hadamard(&chosen, update->work->rank, update->v->data, stream)));
  }
  return PD_CUDA(context, state, pd_gpu_invert(jobs, runs, stream));
}

/* For one run, one block makes and inverts v while the rest of the GPU computes the MTTKRP. Several
 * runs would need as many places to wait for each other as they save. */
static polyad_status cuda_linalg_prepare(polyad_context *context, int runs,
                                         const struct pd_update *updates) {
  struct pd_linalg_work *work = updates->work;
  if (runs > 1) {
    PD_TRY(enter_all(context, runs, updates));
    return prepare_all(context, runs, updates, pd_cuda_stream(pd_cuda_state_of(work->device)));
  }
  PD_TRY(linalg_branch(context, work));
  PD_TRY(prepare_all(context, 1, updates, work->side));
  return linalg_leave(context, work);
}

/* Sees to the inverses that prepare() has not made. */
static polyad_status find_inverses(polyad_context *context, int runs,
                                   const struct pd_update *updates) {
  struct pd_cuda_state *state = pd_cuda_state_of(updates->work->device);
  const struct pd_gpu_grams none = {.count = 0};
  for (int k = 0; k < runs; ++k) {
    struct pd_gpu_inversion job = inversion_of(&updates[k], &none);
    if (!updates[k].work->prepared)
      PD_TRY(PD_CUDA(context, state, pd_gpu_invert(&job, 1, pd_cuda_stream(state))));
    updates[k].work->prepared = false;
  }
  return POLYAD_OK;
}

static struct pd_gpu_rows cuda_linalg_rows_of(const struct pd_update *update) {
  return (struct pd_gpu_rows){.x = gpu_matrix(update->x),
                              .m = gpu_matrix_or_none(update->m),
                              .before = gpu_matrix_or_none(update->before),
                              .damping = update->damping,
                              .v = update->v->data,
                              .weights = update->weights->data,
                              .peak = update->peak->data,
                              .slices = update->slices != NULL ? update->slices->data : NULL,
                              .pulls = update->work->scalars + PD_GPU_PULLS,
                              .refines = update->work->scalars + PD_GPU_REFINES,
                              .room = update->work->invert, /* the inverse is made by now */
                              .scaling = (int)update->scaling,
                              .halves = update->x->halves};
}

static polyad_status cuda_linalg_update_rows(polyad_context *context, int runs,
                                             const struct pd_update *updates) {
  struct pd_gpu_rows rows[PD_RUNS_AT_ONCE];
  struct pd_linalg_work *works[PD_RUNS_AT_ONCE];
  PD_TRY(enter_all(context, runs, updates));
  PD_TRY(find_inverses(context, runs, updates));
  for (int k = 0; k < runs; ++k) {
    works[k] = updates[k].work;
    rows[k] = cuda_linalg_rows_of(&updates[k]);
    rows[k].inverse = works[k]->inverse;
  }
  return run_passes(context, pd_cuda_state_of(works[0]->device), runs, works, rows);
}

static polyad_status cuda_linalg_update_rows_nonnegative(polyad_context *context, int runs,
                                                         const struct pd_update *updates) {
  struct pd_cuda_state *state = pd_cuda_state_of(updates->work->device);
  struct pd_gpu_rows rows[PD_RUNS_AT_ONCE];
  struct pd_linalg_work *works[PD_RUNS_AT_ONCE];
  PD_TRY(enter_all(context, runs, updates));
  for (int k = 0; k < runs; ++k) {
    works[k] = updates[k].work;
    rows[k] = cuda_linalg_rows_of(&updates[k]);
    PD_TRY(PD_CUDA(context, state, pd_gpu_hals(&rows[k], pd_cuda_stream(state))));
  }
  return run_passes(context, state, runs, works, rows);
}

static struct pd_gpu_finish finish_of_update(const struct pd_update *update) {
  struct pd_gpu_finish finish = finish_of(update->work, update->x, update->gram, update->peak);
  finish.scaling = (int)update->scaling;
  finish.weights = update->weights->data;
  finish.lambda = update->lambda->data;
  return finish;
}

/* Where the rows of one run are final, their sums are of use no sooner than the next update. A
 * team's members, of which each has one run, meet in the stream. */
static polyad_status cuda_linalg_update_finish(polyad_context *context, int runs,
                                               const struct pd_update *updates) {
  struct pd_linalg_work *work = updates->work;
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  cudaStream_t stream = pd_cuda_stream(state);
  struct pd_gpu_finish finish[PD_RUNS_AT_ONCE];
  for (int k = 0; k < runs; ++k)
    finish[k] = finish_of_update(&updates[k]);
  if (runs == 1 && updates->scaling != PD_SCALE_NORM_2 && work->team == NULL) {
    PD_TRY(linalg_branch(context, work));
    PD_TRY(PD_CUDA(context, state, pd_gpu_finish_update(finish, 1, work->side)));
    return linalg_leave(context, work);
  }
  PD_TRY(enter_all(context, runs, updates));
  for (int k = 0; k < runs; ++k)
    PD_TRY(pd_cuda_share_finish(context, updates[k].work, &finish[k]));
  PD_TRY(PD_CUDA(context, state, pd_gpu_finish_update(finish, runs, stream)));
  for (int k = 0; k < runs; ++k)
    if (updates[k].scaling == PD_SCALE_NORM_2)
      PD_TRY(PD_CUDA(context, state,
                     pd_gpu_scale(gpu_matrix(updates[k].x), updates[k].work->factor, stream)));
  return POLYAD_OK;
}

static polyad_status cuda_linalg_copy_columns(polyad_context *context,
                                              const struct pd_device *device, int count,
                                              const struct pd_column_copy *copies) {
  struct pd_gpu_columns jobs[PD_RUNS_AT_ONCE];
  PD_CUDA_ENTER(context, device);
  for (int k = 0; k < count; ++k) {
    const struct pd_column_copy *copy = &copies[k];
    size_t bytes = copy->to->type == POLYAD_F64 ? sizeof(double) : sizeof(float);
    jobs[k] = (struct pd_gpu_columns){gpu_matrix(copy->from), gpu_matrix(copy->to)};
    jobs[k].from.data = (char *)jobs[k].from.data + copy->first_from * bytes;
    jobs[k].to.data = (char *)jobs[k].to.data + copy->first_to * bytes;
    jobs[k].from.rank = jobs[k].to.rank = (int)copy->columns;
  }
  return PD_CUDA(context, state, pd_gpu_copy_columns(jobs, count, stream));
}

static polyad_status cuda_linalg_weighted_inner(polyad_context *context,
                                                struct pd_linalg_work *work,
                                                const struct pd_matrix *m,
                                                const struct pd_matrix *x,
                                                const struct pd_matrix *lambda) {
  LINALG_ENTER(context, work);
  int blocks = pd_gpu_row_blocks(x->rows, work->rank);
  PD_TRY(
      PD_CUDA(context, state,
              pd_gpu_column_sums(gpu_matrix(m), gpu_matrix(x), NULL, blocks, work->sums, stream)));
  const double *sums;
  PD_TRY(pd_cuda_share_columns(context, work, &sums, &blocks));
  return PD_CUDA(
      context, state,
      pd_gpu_finish_inner(sums, blocks, work->rank, lambda->data, work->scalars, stream));
}

static polyad_status cuda_linalg_model_norm(polyad_context *context, int runs,
                                            const struct pd_norm *norms) {
  struct pd_cuda_state *state = pd_cuda_state_of(norms->work->device);
  struct pd_gpu_norm jobs[PD_RUNS_AT_ONCE];
  for (int k = 0; k < runs; ++k) {
    const struct pd_norm *norm = &norms[k];
    struct pd_linalg_work *work = norm->work;
    if (k == 0 || work->apart) PD_TRY(linalg_enter(context, work));
    jobs[k] = (struct pd_gpu_norm){.grams = gpu_grams(norm->count, norm->grams, -1, 0),
                                   .peak = norm->peak->data,
                                   .lambda = norm->lambda->data,
                                   .squares = norm->spreads ? work->squares : NULL,
                                   .scalars = work->scalars,
                                   .rank = work->rank};
  }
  return PD_CUDA(context, state, pd_gpu_model_norm(jobs, runs, pd_cuda_stream(state)));
}

static polyad_status cuda_linalg_spread(polyad_context *context, struct pd_linalg_work *work,
                                        const struct pd_matrix *slices, const struct pd_matrix *x,
                                        int count, const struct pd_matrix *const *grams,
                                        const struct pd_matrix *lambda) {
  struct pd_gpu_rows rows = {.x = gpu_matrix(x), .slices = slices->data};
  struct pd_gpu_grams all = gpu_grams(count, grams, -1, 0);
  LINALG_ENTER(context, work);
  PD_TRY(run_pass(context, work, &rows));
  const double *sums;
  PD_TRY(pd_cuda_share_columns(context, work, &sums, &rows.blocks));
  return PD_CUDA(context, state,
                 pd_gpu_spread(&all, sums, rows.blocks, lambda->data, work->squares, work->rank,
                               work->scalars, stream));
}

static polyad_status cuda_linalg_residual(polyad_context *context, struct pd_linalg_work *work,
                                          const struct pd_nonzeros *nonzeros,
                                          const struct pd_list *list,
                                          const struct pd_matrix *const *factors,
                                          const struct pd_matrix *lambda) {
  (void)nonzeros;
  struct pd_gpu_residual job = {.values = list->values,
                                .weight = lambda->data,
                                .nnz = list->nnz,
                                .order = list->order,
                                .goes_on = list->goes_on};
  for (int n = 0; n < list->order; ++n) {
    job.index[n] = list->index[n];
    job.index_bytes[n] = list->index_bytes[n];
    job.factor[n] = gpu_matrix(factors[n]);
  }
  LINALG_ENTER(context, work);
  PD_TRY(PD_CUDA(context, state, pd_gpu_residual(&job, work->residual, work->scalars, stream)));
  return pd_cuda_share_scalars(context, work, PD_SCALAR_RESIDUAL, 2, false);
}

static polyad_status cuda_linalg_weigh(polyad_context *context, struct pd_linalg_work *work,
                                       const struct pd_matrix *phi, double kappa,
                                       double kappa_tolerance, const struct pd_matrix *lambda,
                                       struct pd_matrix *x) {
  struct pd_gpu_matrix measure = {.data = NULL};
  if (phi != NULL) measure = gpu_matrix(phi);
  LINALG_ENTER(context, work);
  return PD_CUDA(context, state,
                 pd_gpu_weigh(measure, kappa, kappa_tolerance, lambda->data, gpu_matrix(x),
                              work->processors, work->scalars, stream));
}

static polyad_status cuda_linalg_kkt(polyad_context *context, struct pd_linalg_work *work,
                                     const struct pd_matrix *phi, const struct pd_matrix *b) {
  LINALG_ENTER(context, work);
  PD_TRY(
      PD_CUDA(context, state,
              pd_gpu_kkt(gpu_matrix(phi), gpu_matrix(b), work->processors, work->scalars, stream)));
  return pd_cuda_share_scalars(context, work, PD_SCALAR_KKT, 1, true);
}

static polyad_status cuda_linalg_multiply(polyad_context *context, struct pd_linalg_work *work,
                                          const struct pd_matrix *phi, double tolerance,
                                          struct pd_matrix *b) {
  LINALG_ENTER(context, work);
  return PD_CUDA(context, state,
                 pd_gpu_multiply_unless(gpu_matrix(phi), tolerance, gpu_matrix(b), work->processors,
                                        work->scalars, stream));
}

static polyad_status cuda_linalg_normalize(polyad_context *context, struct pd_linalg_work *work,
                                           enum pd_scaling scaling, struct pd_matrix *x,
                                           struct pd_matrix *lambda) {
  struct pd_gpu_matrix matrix = gpu_matrix(x);
  LINALG_ENTER(context, work);
  int blocks = pd_gpu_row_blocks(x->rows, work->rank);
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_column_sums(matrix, matrix, NULL, blocks, work->sums, stream)));
  const double *sums;
  PD_TRY(pd_cuda_share_columns(context, work, &sums, &blocks));
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_finish_columns(sums, blocks, work->rank, (int)scaling, lambda->data,
                                       work->factor, work->scalars, stream)));
  return PD_CUDA(context, state, pd_gpu_scale(matrix, work->factor, stream));
}

/* Scalars of which fetch() tells what has come since the last. */
static const int counters[] = {PD_SCALAR_FALLBACKS, PD_SCALAR_DAMPED, PD_SCALAR_UPDATES,
                               PD_SCALAR_SHIFTED};

/* Scalars of one run, which have come to the host, as fetch() tells them. */
static polyad_status take_scalars(polyad_context *context, const double *host,
                                  struct pd_linalg_work *work, double scalars[PD_SCALARS]) {
  if (host[PD_GPU_NOT_FINITE] != 0)
    return pd_cuda_services->fail(
        context, POLYAD_NUMERICAL,
        "the normal equations hold numbers that are not finite; scale the values");
  memcpy(scalars, host, PD_SCALARS * sizeof *scalars);
  for (size_t k = 0; k < sizeof counters / sizeof *counters; ++k)
    scalars[counters[k]] -= work->seen[counters[k]];
  memcpy(work->seen, host, PD_SCALARS * sizeof *scalars);
  return POLYAD_OK;
}

static polyad_status cuda_linalg_fetch(polyad_context *context, int runs,
                                       struct pd_linalg_work *const *works,
                                       double (*scalars)[PD_SCALARS]) {
  struct pd_linalg_work *first = works[0];
  const double *from[PD_RUNS_AT_ONCE];
  LINALG_ENTER(context, first);
  PD_TRY(pd_cuda_work_host(context, runs, first));
  for (int k = 0; k < runs; ++k) {
    if (works[k]->apart) PD_TRY(linalg_enter(context, works[k]));
    from[k] = works[k]->scalars;
  }
  if (runs > 1)
    PD_TRY(PD_CUDA(context, state, pd_gpu_gather_scalars(from, runs, first->gathered, stream)));
  PD_TRY(PD_CUDA(context, state,
                 cudaMemcpyAsync(first->host, runs > 1 ? first->gathered : first->scalars,
                                 (size_t)runs * PD_GPU_SCALARS * sizeof(double),
                                 cudaMemcpyDeviceToHost, stream)));
  PD_TRY(PD_CUDA(context, state, cudaStreamSynchronize(stream)));
  for (int k = 0; k < runs; ++k)
    PD_TRY(take_scalars(context, first->host + k * PD_GPU_SCALARS, works[k], scalars[k]));
  return POLYAD_OK;
}

const struct pd_linalg pd_cuda_linalg = {
    .svd = &pd_cuda_svd,
    .completion = &pd_cuda_completion,
    .work_create = pd_cuda_work_create,
    .work_destroy = pd_cuda_work_destroy,
    .work_bytes = pd_cuda_work_bytes,
    .join = pd_cuda_join,
    .take_rows = pd_cuda_take_rows,
    .add_rows = pd_cuda_add_rows,
    .link = &pd_cuda_nccl,
    .gram = cuda_linalg_gram,
    .add = cuda_linalg_add,
    .round = round_matrix,
    .halve = cuda_linalg_halve,
    .random = cuda_linalg_random,
    .hadamard = cuda_linalg_hadamard,
    .copy_columns = cuda_linalg_copy_columns,
    .prepare = cuda_linalg_prepare,
    .update_rows = cuda_linalg_update_rows,
    .update_rows_nonnegative = cuda_linalg_update_rows_nonnegative,
    .update_finish = cuda_linalg_update_finish,
    .weighted_inner = cuda_linalg_weighted_inner,
    .model_norm = cuda_linalg_model_norm,
    .spread = cuda_linalg_spread,
    .residual = cuda_linalg_residual,
    .residual_reads_list = true,
    .weigh = cuda_linalg_weigh,
    .kkt = cuda_linalg_kkt,
    .multiply = cuda_linalg_multiply,
    .normalize = cuda_linalg_normalize,
    .fetch_waits = true,
    .fetch = cuda_linalg_fetch,
};

_Static_assert((int)PD_RUNS_AT_ONCE == (int)PD_GPU_JOBS, "launchers take as many jobs");
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
