/* The updates of factors on a GPU, of one run or of several at once: what can be made beside the
 * MTTKRP, the pass over the rows, and what follows from its sums. */
#include "device/cuda/cuda_linalg_work.h"

polyad_status pd_cuda_linalg_enter(polyad_context *context, struct pd_linalg_work *work) {
  PD_CUDA_ENTER(context, work->device);
  work->norm_apart = false;
  if (!work->apart) return POLYAD_OK;
  work->apart = false;
  return PD_CUDA(context, state, cudaStreamWaitEvent(stream, work->joined, 0));
}

/* What has run beside the side's work since the last such place is of no concern to it. */
polyad_status pd_cuda_linalg_branch(polyad_context *context, struct pd_linalg_work *work) {
  PD_CUDA_ENTER(context, work->device);
  if (work->apart) return POLYAD_OK;
  PD_TRY(PD_CUDA(context, state, cudaEventRecord(work->fork, stream)));
  return PD_CUDA(context, state, cudaStreamWaitEvent(work->side, work->fork, 0));
}

polyad_status pd_cuda_linalg_leave(polyad_context *context, struct pd_linalg_work *work) {
  work->apart = true;
  return PD_CUDA(context, pd_cuda_state_of(work->device),
                 cudaEventRecord(work->joined, work->side));
}

static struct pd_gpu_matrix gpu_matrix_or_none(const struct pd_matrix *matrix) {
  struct pd_gpu_matrix none = {.data = NULL};
  return matrix == NULL ? none : pd_gpu_matrix_of(matrix);
}

/* Blocks of the column sums, and parts of the Gram matrix, that a pass over rows leaves. */
static void count_blocks(const struct pd_linalg_work *work, uint64_t rows, int *blocks,
                         int *parts) {
  bool one_pass = work->rank <= PD_GPU_RANK_PASS;
  *blocks = one_pass ? pd_gpu_pass_blocks(rows) : pd_gpu_row_blocks(rows, work->rank);
  *parts = one_pass ? *blocks : pd_gpu_gram_parts(rows, work->rank);
}

/* x = m: the kernel for many columns finds m in x. */
static polyad_status take_m(polyad_context *context, struct pd_cuda_state *state,
                            const struct pd_gpu_rows *rows) {
  const struct pd_gpu_matrix *m = &rows->m, *x = &rows->x;
  size_t bytes = x->wide ? sizeof(double) : sizeof(float);
  if (m->data == NULL) return POLYAD_OK;
  return PD_CUDA(context, state,
                 cudaMemcpy2DAsync(x->data, x->stride * bytes, m->data, m->stride * bytes,
                                   (size_t)x->rank * bytes, x->rows, cudaMemcpyDeviceToDevice,
                                   pd_cuda_stream(state)));
}

/* The pass over rows of more than PD_GPU_RANK_PASS columns: a kernel that makes x or sums its
 * columns, and one for the Gram matrix. */
static polyad_status run_wide_pass(polyad_context *context, struct pd_cuda_state *state,
                                   const struct pd_gpu_rows *rows, int parts) {
  cudaStream_t stream = pd_cuda_stream(state);
  if (rows->inverse != NULL) {
    PD_TRY(take_m(context, state, rows));
    PD_TRY(PD_CUDA(context, state, pd_gpu_multiply(rows, stream)));
  } else {
    PD_TRY(PD_CUDA(context, state,
                   pd_gpu_column_sums(rows->m.data != NULL ? rows->m : rows->x, rows->x,
                                      rows->slices, rows->blocks, rows->sums, stream)));
  }
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

polyad_status pd_cuda_pass(polyad_context *context, struct pd_linalg_work *work,
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

polyad_status pd_cuda_gram(polyad_context *context, struct pd_linalg_work *work,
                           const struct pd_matrix *a, struct pd_matrix *out,
                           struct pd_matrix *peak) {
  struct pd_gpu_rows rows = {.x = pd_gpu_matrix_of(a)};
  struct pd_gpu_finish finish = finish_of(work, a, out, peak);
  PD_LINALG_ENTER(context, work);
  PD_TRY(pd_cuda_pass(context, work, &rows));
  PD_TRY(pd_cuda_share_finish(context, work, &finish));
  return PD_CUDA(context, state, pd_gpu_finish_update(&finish, 1, stream));
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
    if (k == 0 || updates[k].work->apart) PD_TRY(pd_cuda_linalg_enter(context, updates[k].work));
  return POLYAD_OK;
}

static polyad_status prepare_all(polyad_context *context, int runs, const struct pd_update *updates,
                                 cudaStream_t stream) {
  struct pd_cuda_state *state = pd_cuda_state_of(updates->work->device);
  struct pd_gpu_inversion jobs[PD_RUNS_AT_ONCE];
  bool inverts = !updates->sweeps;
  for (int k = 0; k < runs; ++k) {
    const struct pd_update *update = &updates[k];
    struct pd_gpu_grams chosen =
        pd_gpu_grams_of(update->count, update->grams, update->skip, update->ridge);
    jobs[k] = inversion_of(update, &chosen);
    if (update->work->rank > PD_GPU_RANK_SMALL || !inverts)
      PD_TRY(PD_CUDA(context, state,
                     pd_gpu_hadamard(&chosen, update->work->rank, update->v->data, stream)));
  }
  if (!inverts) return POLYAD_OK;
  return PD_CUDA(context, state, pd_gpu_invert(jobs, runs, stream));
}

/* For one run, one block makes and inverts v while the rest of the GPU computes the MTTKRP. Several
 * runs would need as many places to wait for each other as they save. */
polyad_status pd_cuda_prepare(polyad_context *context, int runs, const struct pd_update *updates) {
  struct pd_linalg_work *work = updates->work;
  if (runs > 1) {
    PD_TRY(enter_all(context, runs, updates));
    return prepare_all(context, runs, updates, pd_cuda_stream(pd_cuda_state_of(work->device)));
  }
  PD_TRY(pd_cuda_linalg_branch(context, work));
  PD_TRY(prepare_all(context, 1, updates, work->side));
  return pd_cuda_linalg_leave(context, work);
}

/* Sees to the inverses that prepare() has not made. */
static polyad_status find_inverses(polyad_context *context, int runs,
                                   const struct pd_update *updates) {
  struct pd_cuda_state *state = pd_cuda_state_of(updates->work->device);
  const struct pd_gpu_grams none = {.count = 0};
  for (int k = 0; k < runs; ++k) {
    struct pd_gpu_inversion job = inversion_of(&updates[k], &none);
    if (!updates[k].prepared)
      PD_TRY(PD_CUDA(context, state, pd_gpu_invert(&job, 1, pd_cuda_stream(state))));
  }
  return POLYAD_OK;
}

static struct pd_gpu_rows update_rows_of(const struct pd_update *update) {
  return (struct pd_gpu_rows){.x = pd_gpu_matrix_of(update->x),
                              .m = gpu_matrix_or_none(update->m),
                              .used = update->m != NULL ? update->m->used : update->x->used,
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

polyad_status pd_cuda_update_rows(polyad_context *context, int runs,
                                  const struct pd_update *updates) {
  struct pd_gpu_rows rows[PD_RUNS_AT_ONCE];
  struct pd_linalg_work *works[PD_RUNS_AT_ONCE];
  PD_TRY(enter_all(context, runs, updates));
  PD_TRY(find_inverses(context, runs, updates));
  for (int k = 0; k < runs; ++k) {
    works[k] = updates[k].work;
    rows[k] = update_rows_of(&updates[k]);
    rows[k].inverse = works[k]->inverse;
  }
  return run_passes(context, pd_cuda_state_of(works[0]->device), runs, works, rows);
}

polyad_status pd_cuda_update_rows_nonnegative(polyad_context *context, int runs,
                                              const struct pd_update *updates) {
  struct pd_cuda_state *state = pd_cuda_state_of(updates->work->device);
  struct pd_gpu_rows rows[PD_RUNS_AT_ONCE];
  struct pd_linalg_work *works[PD_RUNS_AT_ONCE];
  PD_TRY(enter_all(context, runs, updates));
  for (int k = 0; k < runs; ++k) {
    works[k] = updates[k].work;
    rows[k] = update_rows_of(&updates[k]);
    rows[k].sweeps = pd_gpu_sweeps_in_pass(rows[k].x.rows, rows[k].x.rank);
    if (!rows[k].sweeps)
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
polyad_status pd_cuda_update_finish(polyad_context *context, int runs,
                                    const struct pd_update *updates) {
  struct pd_linalg_work *work = updates->work;
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  cudaStream_t stream = pd_cuda_stream(state);
  struct pd_gpu_finish finish[PD_RUNS_AT_ONCE];
  for (int k = 0; k < runs; ++k)
    finish[k] = finish_of_update(&updates[k]);
  if (runs == 1 && updates->scaling != PD_SCALE_NORM_2 && work->team == NULL) {
    PD_TRY(pd_cuda_linalg_branch(context, work));
    PD_TRY(PD_CUDA(context, state, pd_gpu_finish_update(finish, 1, work->side)));
    return pd_cuda_linalg_leave(context, work);
  }
  PD_TRY(enter_all(context, runs, updates));
  for (int k = 0; k < runs; ++k)
    PD_TRY(pd_cuda_share_finish(context, updates[k].work, &finish[k]));
  PD_TRY(PD_CUDA(context, state, pd_gpu_finish_update(finish, runs, stream)));
  for (int k = 0; k < runs; ++k)
    if (updates[k].scaling == PD_SCALE_NORM_2)
      PD_TRY(
          PD_CUDA(context, state,
                  pd_gpu_scale(pd_gpu_matrix_of(updates[k].x), updates[k].work->factor, stream)));
  return POLYAD_OK;
}
