/* Dense algebra on a GPU: the order of the kernels. */
#include "device/cuda/cuda_linalg_work.h"
#include "device/cuda/cuda_team.h"
#include "linalg/linalg.h"
#include <string.h>

static polyad_status round_matrix(polyad_context *context, struct pd_linalg_work *work,
                                  polyad_compute compute, const struct pd_matrix *from,
                                  struct pd_matrix *to) {
  PD_LINALG_ENTER(context, work);
  return PD_CUDA(context, state,
                 pd_gpu_round((int)compute, pd_gpu_matrix_of(from), pd_gpu_matrix_of(to),
                              work->processors, stream));
}

static polyad_status cuda_linalg_halve(polyad_context *context, struct pd_linalg_work *work,
                                       struct pd_matrix *a) {
  PD_LINALG_ENTER(context, work);
  return PD_CUDA(context, state,
                 pd_gpu_halve(pd_gpu_matrix_of(a), a->halves, work->processors, stream));
}

static polyad_status cuda_linalg_random(polyad_context *context, struct pd_linalg_work *work,
                                        uint64_t seed, uint64_t stream, struct pd_matrix *a) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(pd_cuda_linalg_enter(context, work));
  return PD_CUDA(
      context, state,
      pd_gpu_random(seed, stream, pd_gpu_matrix_of(a), work->processors, pd_cuda_stream(state)));
}

static polyad_status cuda_linalg_add(polyad_context *context, struct pd_linalg_work *work,
                                     const struct pd_matrix *y, struct pd_matrix *x) {
  PD_LINALG_ENTER(context, work);
  return PD_CUDA(context, state,
                 pd_gpu_add(pd_gpu_matrix_of(y), pd_gpu_matrix_of(x), work->processors, stream));
}

static polyad_status cuda_linalg_hadamard(polyad_context *context, struct pd_linalg_work *work,
                                          int count, const struct pd_matrix *const *grams, int skip,
                                          double ridge, struct pd_matrix *v) {
  struct pd_gpu_grams chosen = pd_gpu_grams_of(count, grams, skip, ridge);
  PD_LINALG_ENTER(context, work);
  return PD_CUDA(context, state, pd_gpu_hadamard(&chosen, work->rank, v->data, stream));
}

static polyad_status cuda_linalg_copy_columns(polyad_context *context,
                                              const struct pd_device *device, int count,
                                              const struct pd_column_copy *copies) {
  struct pd_gpu_columns jobs[PD_RUNS_AT_ONCE];
  PD_CUDA_ENTER(context, device);
  for (int k = 0; k < count; ++k) {
    const struct pd_column_copy *copy = &copies[k];
    size_t bytes = copy->to->type == POLYAD_F64 ? sizeof(double) : sizeof(float);
    jobs[k] = (struct pd_gpu_columns){pd_gpu_matrix_of(copy->from), pd_gpu_matrix_of(copy->to)};
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
  PD_LINALG_ENTER(context, work);
  int blocks = pd_gpu_row_blocks(x->rows, work->rank);
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_column_sums(pd_gpu_matrix_of(m), pd_gpu_matrix_of(x), NULL, blocks,
                                    work->sums, stream)));
  const double *sums;
  PD_TRY(pd_cuda_share_columns(context, work, &sums, &blocks));
  return PD_CUDA(
      context, state,
      pd_gpu_finish_inner(sums, blocks, work->rank, lambda->data, work->scalars, stream));
}

/* Enqueues the norm of one run on the side, on which the last update was finished, so that the sums
 * of a residual run beside it. They wait for what it waits for, and not for it. */
static polyad_status norm_apart(polyad_context *context, struct pd_linalg_work *work,
                                const struct pd_gpu_norm *job) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(PD_CUDA(context, state, pd_gpu_model_norm(job, 1, work->side)));
  work->norm_apart = true;
  return pd_cuda_linalg_leave(context, work);
}

static polyad_status cuda_linalg_model_norm(polyad_context *context, int runs,
                                            const struct pd_norm *norms) {
  struct pd_cuda_state *state = pd_cuda_state_of(norms->work->device);
  struct pd_gpu_norm jobs[PD_RUNS_AT_ONCE];
  bool apart = runs == 1 && norms->sums_follow && norms->work->apart;
  for (int k = 0; k < runs; ++k) {
    const struct pd_norm *norm = &norms[k];
    struct pd_linalg_work *work = norm->work;
    if (k == 0 || work->apart) PD_TRY(pd_cuda_linalg_enter(context, work));
    jobs[k] = (struct pd_gpu_norm){.grams = pd_gpu_grams_of(norm->count, norm->grams, -1, 0),
                                   .peak = norm->peak->data,
                                   .lambda = norm->lambda->data,
                                   .squares = norm->spreads ? work->squares : NULL,
                                   .scalars = work->scalars,
                                   .rank = work->rank};
  }
  if (apart) return norm_apart(context, norms->work, jobs);
  return PD_CUDA(context, state, pd_gpu_model_norm(jobs, runs, pd_cuda_stream(state)));
}

static polyad_status cuda_linalg_spread(polyad_context *context, struct pd_linalg_work *work,
                                        const struct pd_matrix *slices, const struct pd_matrix *x,
                                        int count, const struct pd_matrix *const *grams,
                                        const struct pd_matrix *lambda) {
  struct pd_gpu_rows rows = {.x = pd_gpu_matrix_of(x), .slices = slices->data};
  struct pd_gpu_grams all = pd_gpu_grams_of(count, grams, -1, 0);
  PD_LINALG_ENTER(context, work);
  PD_TRY(pd_cuda_pass(context, work, &rows));
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
    job.factor[n] = pd_gpu_matrix_of(factors[n]);
  }
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  if (!work->norm_apart) PD_TRY(pd_cuda_linalg_enter(context, work));
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_residual(&job, work->residual, work->scalars, pd_cuda_stream(state))));
  PD_TRY(pd_cuda_linalg_enter(context, work));
  return pd_cuda_share_scalars(context, work, PD_SCALAR_RESIDUAL, 2, false);
}

static polyad_status cuda_linalg_weigh(polyad_context *context, struct pd_linalg_work *work,
                                       const struct pd_matrix *phi, double kappa,
                                       double kappa_tolerance, const struct pd_matrix *lambda,
                                       struct pd_matrix *x) {
  struct pd_gpu_matrix measure = {.data = NULL};
  if (phi != NULL) measure = pd_gpu_matrix_of(phi);
  PD_LINALG_ENTER(context, work);
  return PD_CUDA(context, state,
                 pd_gpu_weigh(measure, kappa, kappa_tolerance, lambda->data, pd_gpu_matrix_of(x),
                              work->processors, work->scalars, stream));
}

static polyad_status cuda_linalg_kkt(polyad_context *context, struct pd_linalg_work *work,
                                     const struct pd_matrix *phi, const struct pd_matrix *b) {
  PD_LINALG_ENTER(context, work);
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_kkt(pd_gpu_matrix_of(phi), pd_gpu_matrix_of(b), work->processors,
                            work->scalars, stream)));
  return pd_cuda_share_scalars(context, work, PD_SCALAR_KKT, 1, true);
}

static polyad_status cuda_linalg_multiply(polyad_context *context, struct pd_linalg_work *work,
                                          const struct pd_matrix *phi, double tolerance,
                                          const struct pd_loop *loop, struct pd_matrix *b) {
  struct pd_gpu_loop goes_on = {.outcome = NULL};
  if (loop != NULL) goes_on = (struct pd_gpu_loop){loop->handle, loop->outcome, loop->most};
  PD_LINALG_ENTER(context, work);
  return PD_CUDA(context, state,
                 pd_gpu_multiply_unless(pd_gpu_matrix_of(phi), tolerance, goes_on,
                                        pd_gpu_matrix_of(b), work->processors, work->scalars,
                                        stream));
}

static polyad_status cuda_linalg_normalize(polyad_context *context, struct pd_linalg_work *work,
                                           enum pd_scaling scaling, struct pd_matrix *x,
                                           struct pd_matrix *lambda) {
  struct pd_gpu_matrix matrix = pd_gpu_matrix_of(x);
  PD_LINALG_ENTER(context, work);
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

/* On the side, so that the MTTKRP that comes next does not wait for the copy. */
static polyad_status cuda_linalg_send(polyad_context *context, struct pd_linalg_work *work) {
  PD_LINALG_ENTER(context, work);
  PD_TRY(pd_cuda_work_host(context, 1, work));
  PD_TRY(pd_cuda_linalg_branch(context, work));
  PD_TRY(PD_CUDA(context, state,
                 cudaMemcpyAsync(work->host, work->scalars, PD_GPU_SCALARS * sizeof(double),
                                 cudaMemcpyDeviceToHost, work->side)));
  PD_TRY(PD_CUDA(context, state, cudaEventRecord(work->arrived, work->side)));
  work->sent = true;
  return pd_cuda_linalg_leave(context, work);
}

/* Waits for scalars of one run that are on their way. */
static polyad_status receive(polyad_context *context, struct pd_linalg_work *work,
                             double scalars[PD_SCALARS]) {
  PD_CUDA_ENTER(context, work->device);
  (void)stream;
  work->sent = false;
  PD_TRY(PD_CUDA(context, state, cudaEventSynchronize(work->arrived)));
  return take_scalars(context, work->host, work, scalars);
}

static polyad_status cuda_linalg_fetch(polyad_context *context, int runs,
                                       struct pd_linalg_work *const *works,
                                       double (*scalars)[PD_SCALARS]) {
  struct pd_linalg_work *first = works[0];
  const double *from[PD_RUNS_AT_ONCE];
  if (runs == 1 && first->sent) return receive(context, first, scalars[0]);
  PD_LINALG_ENTER(context, first);
  PD_TRY(pd_cuda_work_host(context, runs, first));
  for (int k = 0; k < runs; ++k) {
    if (works[k]->apart) PD_TRY(pd_cuda_linalg_enter(context, works[k]));
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
    .newton = &pd_cuda_newton,
    .work_create = pd_cuda_work_create,
    .work_destroy = pd_cuda_work_destroy,
    .work_bytes = pd_cuda_work_bytes,
    .join = pd_cuda_join,
    .take_rows = pd_cuda_take_rows,
    .add_rows = pd_cuda_add_rows,
    .link = &pd_cuda_nccl,
    .gram = pd_cuda_gram,
    .add = cuda_linalg_add,
    .round = round_matrix,
    .halve = cuda_linalg_halve,
    .random = cuda_linalg_random,
    .hadamard = cuda_linalg_hadamard,
    .copy_columns = cuda_linalg_copy_columns,
    .prepare = pd_cuda_prepare,
    .rejoin = pd_cuda_linalg_enter,
    .update_rows = pd_cuda_update_rows,
    .unused_rank = PD_GPU_RANK_PASS,
    .update_rows_nonnegative = pd_cuda_update_rows_nonnegative,
    .update_finish = pd_cuda_update_finish,
    .weighted_inner = cuda_linalg_weighted_inner,
    .model_norm = cuda_linalg_model_norm,
    .spread = cuda_linalg_spread,
    .residual = cuda_linalg_residual,
    .residual_reads_list = true,
    .weigh = cuda_linalg_weigh,
    .kkt = cuda_linalg_kkt,
    .multiply = cuda_linalg_multiply,
    .normalize = cuda_linalg_normalize,
    .column_norms = pd_cuda_column_norms,
    .form_columns = pd_cuda_form_columns,
    .fetch_waits = true,
    .send = cuda_linalg_send,
    .fetch = cuda_linalg_fetch,
};

_Static_assert((int)PD_RUNS_AT_ONCE == (int)PD_GPU_JOBS, "launchers take as many jobs");
_Static_assert(
    (int)PD_SCALARS == (int)PD_GPU_NOT_FINITE &&
        (int)PD_SCALAR_FALLBACKS == (int)PD_GPU_FALLBACKS &&
        (int)PD_SCALAR_KEPT == (int)PD_GPU_KEPT && (int)PD_SCALAR_DAMPED == (int)PD_GPU_DAMPED &&
        (int)PD_SCALAR_NORMS == (int)PD_GPU_NORMS && (int)PD_SCALAR_PEAKS == (int)PD_GPU_PEAKS &&
        (int)PD_SCALAR_CLIPPED == (int)PD_GPU_CLIPPED &&
        (int)PD_SCALAR_SPREAD == (int)PD_GPU_SPREAD &&
        (int)PD_SCALAR_RESIDUAL == (int)PD_GPU_RESIDUAL &&
        (int)PD_SCALAR_COVERED == (int)PD_GPU_COVERED &&
        (int)PD_SCALAR_INNER == (int)PD_GPU_INNER && (int)PD_SCALAR_MODEL == (int)PD_GPU_MODEL &&
        (int)PD_SCALAR_KKT == (int)PD_GPU_KKT && (int)PD_SCALAR_UPDATES == (int)PD_GPU_UPDATES &&
        (int)PD_SCALAR_SHIFTED == (int)PD_GPU_SHIFTED && (int)PD_SCALAR_MASS == (int)PD_GPU_MASS,
    "device scalars follow pd_scalar");
