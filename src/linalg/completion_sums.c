/* How well a model describes observations. Sums go over chunks of fixed size, whose results are
 * added in order: the same bits for every number of threads. */
#include "linalg/completion_cpu.h"
#include <math.h>
#include <string.h>

enum { CHUNK = 1 << 12, COLUMNS = 64 };

static uint64_t chunks_of(uint64_t count) { return (count + CHUNK - 1) / CHUNK; }

static uint64_t chunk_end(uint64_t k, uint64_t count) {
  return (k + 1) * CHUNK < count ? (k + 1) * CHUNK : count;
}

uint64_t pd_completion_chunks(const struct pd_completion_job *job) {
  uint64_t most = job->seen->count;
  if (job->held != NULL && job->held->count > most) most = job->held->count;
  for (int n = 0; n < job->seen->order; ++n)
    if (job->seen->dims[n] > most) most = job->seen->dims[n];
  return chunks_of(most);
}

/* The model at observations [first, first + count), at most PD_TILE_ROWS; size[j], unless it is
 * NULL, grows by the magnitudes of what was added up. */
static void values_at(const struct pd_completed *model, const struct pd_observations *o,
                      uint64_t first, size_t count, double *value, double *size) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(POLYAD_F64);
  struct pd_row_lists lists = {.count = o->order, .stride = model->columns};
  double product[PD_TILE_ROWS * COLUMNS], part[PD_TILE_ROWS], ones[COLUMNS];
  for (size_t r = 0; r < COLUMNS; ++r)
    ones[r] = 1;
  for (int n = 0; n < o->order; ++n)
    lists.index[n] = o->cell[n] + first;
  memset(value, 0, count * sizeof *value);
  for (size_t r = 0; r < model->rank; r += COLUMNS) {
    size_t width = model->rank - r < COLUMNS ? model->rank - r : COLUMNS;
    for (int n = 0; n < o->order; ++n)
      lists.factor[n] = (const double *)model->factor[n].data + r;
    kernels->row_products(&lists, count, width, width, product);
    kernels->row_dots(count, width, product, ones, part);
    for (size_t j = 0; j < count; ++j)
      value[j] += part[j];
    for (size_t k = 0; k < count * width && size != NULL; ++k)
      size[k / width] += fabs(product[k]);
  }
  for (int n = 0; n < o->order && pd_completed_biases(model); ++n)
    for (size_t j = 0; j < count; ++j) {
      double bias = pd_completed_row(model, n, lists.index[n][j])[model->rank];
      value[j] += bias;
      if (size != NULL) size[j] += fabs(bias);
    }
}

/* Errors of observations [first, end): sums[0] += their weighted squares, and sums[1], where it is
 * `sized`, those of the magnitudes. */
static void compare_chunk(const struct pd_completed *model, const struct pd_observations *o,
                          uint64_t first, uint64_t end, double shift, bool sized, double *e,
                          double sums[2]) {
  double value[PD_TILE_ROWS], size[PD_TILE_ROWS];
  for (; first < end; first += PD_TILE_ROWS) {
    size_t some = end - first < PD_TILE_ROWS ? (size_t)(end - first) : PD_TILE_ROWS;
    for (size_t j = 0; j < some && sized; ++j)
      size[j] = fabs(o->value[first + j] + shift) + 2 * fabs(shift);
    values_at(model, o, first, some, value, sized ? size : NULL);
    for (size_t j = 0; j < some; ++j) {
      double error = o->value[first + j] + shift - value[j];
      double weight = pd_observed_weight(o, first + j);
      if (e != NULL) e[first + j] = error;
      sums[0] += weight * (error * error);
      if (sized) sums[1] += weight * (size[j] * size[j]);
    }
  }
}

/* See pd_completion::compare; sums[1] is 0 unless they are `sized`. e[q] gets the differences where
 * it is not NULL. */
static void compare_observations(struct pd_completion_work *work, const struct pd_completed *model,
                                 const struct pd_observations *o, double shift, bool sized,
                                 double *e, double sums[2]) {
  uint64_t chunks = chunks_of(o->count);
#pragma omp parallel for num_threads(work->job.threads) schedule(static)
  for (uint64_t k = 0; k < chunks; ++k) {
    double *found = work->partial + 2 * k;
    found[0] = found[1] = 0;
    compare_chunk(model, o, k * CHUNK, chunk_end(k, o->count), shift, sized, e, found);
  }
  sums[0] = sums[1] = 0;
  for (uint64_t k = 0; k < 2 * chunks; ++k)
    sums[k % 2] += work->partial[k];
}

void pd_completion_residuals(struct pd_completion_work *work, const struct pd_completed *model) {
  double sums[2];
  compare_observations(work, model, work->job.seen, 0, false, work->residual, sums);
  work->stands = true;
}

/* The ridges' term of one mode. */
static double penalty_of(struct pd_completion_work *work, const struct pd_completed *model,
                         int mode) {
  uint64_t dim = model->factor[mode].rows, chunks = chunks_of(dim);
#pragma omp parallel for num_threads(work->job.threads) schedule(static)
  for (uint64_t k = 0; k < chunks; ++k) {
    double sum = 0;
    for (uint64_t i = k * CHUNK; i < chunk_end(k, dim); ++i) {
      const double *row = pd_completed_row(model, mode, i);
      uint64_t count = pd_observed_count(&work->job.seen->rows[mode], i);
      double square = 0;
      for (size_t r = 0; r < model->rank; ++r)
        square += row[r] * row[r];
      sum += pd_completed_ridge(model, false, count) * square;
      if (pd_completed_biases(model))
        sum += pd_completed_ridge(model, true, count) * (row[model->rank] * row[model->rank]);
    }
    work->partial[k] = sum;
  }
  double sum = 0;
  for (uint64_t k = 0; k < chunks; ++k)
    sum += work->partial[k];
  return sum;
}

polyad_status pd_completion_measure(polyad_context *context, struct pd_completion_work *work,
                                    const struct pd_completed *model,
                                    struct pd_completion_sums *sums) {
  double found[2];
  (void)context;
  *sums = (struct pd_completion_sums){.fallbacks = work->fallbacks};
  work->fallbacks = 0;
  compare_observations(work, model, work->job.seen, 0, false, work->residual, found);
  work->stands = work->residual != NULL;
  sums->loss = found[0];
  for (int n = 0; n < model->order; ++n)
    sums->penalty += penalty_of(work, model, n);
  if (work->job.held == NULL) return POLYAD_OK;
  compare_observations(work, model, work->job.held, 0, false, NULL, found);
  sums->held = found[0];
  return POLYAD_OK;
}

polyad_status pd_completion_compare(polyad_context *context, struct pd_completion_work *work,
                                    const struct pd_completed *model,
                                    const struct pd_observations *o, double shift, double sums[2]) {
  (void)context;
  compare_observations(work, model, o, shift, true, NULL, sums);
  return POLYAD_OK;
}
