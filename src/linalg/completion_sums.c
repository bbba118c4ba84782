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

/* The model at a cell; *size grows by the magnitudes of what was added up. */
static double value_at(const struct pd_completed *model, const struct pd_observations *o,
                       uint64_t q, double *size) {
  const double *row[POLYAD_MAX_ORDER] = {NULL};
  double sum = 0;
  for (int n = 0; n < o->order; ++n)
    row[n] = pd_completed_row(model, n, o->cell[n][q]);
  for (size_t first = 0; first < model->rank; first += COLUMNS) {
    size_t count = model->rank - first < COLUMNS ? model->rank - first : COLUMNS;
    double product[COLUMNS], part = 0, magnitudes = 0;
    memcpy(product, row[0] + first, count * sizeof *product);
    for (int n = 1; n < o->order; ++n)
      for (size_t r = 0; r < count; ++r)
        product[r] *= row[n][first + r];
#pragma omp simd reduction(+ : part, magnitudes)
    for (size_t r = 0; r < count; ++r) {
      part += product[r];
      magnitudes += fabs(product[r]);
    }
    sum += part;
    *size += magnitudes;
  }
  for (int n = 0; n < o->order && pd_completed_biases(model); ++n) {
    sum += row[n][model->rank];
    *size += fabs(row[n][model->rank]);
  }
  return sum;
}

/* See pd_completion::compare; e[q] gets the differences where it is not NULL. */
static void compare_observations(struct pd_completion_work *work, const struct pd_completed *model,
                                 const struct pd_observations *o, double shift, double *e,
                                 double sums[2]) {
  uint64_t chunks = chunks_of(o->count);
#pragma omp parallel for num_threads(work->job.threads) schedule(static)
  for (uint64_t k = 0; k < chunks; ++k) {
    double loss = 0, magnitudes = 0;
    for (uint64_t q = k * CHUNK; q < chunk_end(k, o->count); ++q) {
      double x = o->value[q] + shift, size = fabs(x) + 2 * fabs(shift);
      double error = x - value_at(model, o, q, &size), weight = pd_observed_weight(o, q);
      if (e != NULL) e[q] = error;
      loss += weight * (error * error);
      magnitudes += weight * (size * size);
    }
    work->partial[2 * k] = loss;
    work->partial[2 * k + 1] = magnitudes;
  }
  sums[0] = sums[1] = 0;
  for (uint64_t k = 0; k < 2 * chunks; ++k)
    sums[k % 2] += work->partial[k];
}

void pd_completion_residuals(struct pd_completion_work *work, const struct pd_completed *model) {
  double sums[2];
  compare_observations(work, model, work->job.seen, 0, work->residual, sums);
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
  compare_observations(work, model, work->job.seen, 0, work->residual, found);
  work->stands = work->residual != NULL;
  sums->loss = found[0];
  for (int n = 0; n < model->order; ++n)
    sums->penalty += penalty_of(work, model, n);
  if (work->job.held == NULL) return POLYAD_OK;
  compare_observations(work, model, work->job.held, 0, NULL, found);
  sums->held = found[0];
  return POLYAD_OK;
}

polyad_status pd_completion_compare(polyad_context *context, struct pd_completion_work *work,
                                    const struct pd_completed *model,
                                    const struct pd_observations *o, double shift, double sums[2]) {
  (void)context;
  compare_observations(work, model, o, shift, NULL, sums);
  return POLYAD_OK;
}
