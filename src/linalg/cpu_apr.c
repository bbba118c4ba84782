/* The elementwise steps of CP-APR on the CPU. */
#include "linalg/cpu_mixed.h"
#include "linalg/cpu_work.h"
#include <math.h>
#include <string.h>

/* The rows of x that thread t of `threads` takes: the first of them, and how many. */
static uint64_t rows_of_thread(const struct pd_matrix *x, int t, int threads, uint64_t *begin) {
  *begin = pd_part_begin(x->rows, t, threads);
  return pd_part_begin(x->rows, t + 1, threads) - *begin;
}

polyad_status pd_cpu_weigh(polyad_context *context, struct pd_linalg_work *work,
                           const struct pd_matrix *phi, double kappa, double kappa_tolerance,
                           const struct pd_matrix *lambda, struct pd_matrix *x) {
  (void)context;
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(x->type);
  int threads = pd_cpu_pass_threads(work, x);
  uint64_t shifted = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : shifted)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin, rows = rows_of_thread(x, t, threads, &begin);
    shifted += kernels->weigh(rows, work->rank, phi == NULL ? NULL : pd_cpu_row(phi, begin), kappa,
                              kappa_tolerance, lambda->data, pd_cpu_row(x, begin));
  }
  work->scalars[PD_SCALAR_SHIFTED] += (double)shifted;
  return POLYAD_OK;
}

polyad_status pd_cpu_kkt(polyad_context *context, struct pd_linalg_work *work,
                         const struct pd_matrix *phi, const struct pd_matrix *b) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(b->type);
  int threads = pd_cpu_pass_threads(work, b);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin, rows = rows_of_thread(b, t, threads, &begin);
    work->thread[t].norm[0] =
        kernels->kkt(rows * work->rank, pd_cpu_row(phi, begin), pd_cpu_row(b, begin), 0.0);
  }
  double most = 0;
  for (int t = 0; t < threads; ++t)
    if (!(work->thread[t].norm[0] <= most)) most = work->thread[t].norm[0];
  for (int t = 0; t < threads; ++t)
    if (isnan(work->thread[t].norm[0])) most = NAN;
  work->scalars[PD_SCALAR_KKT] = most;
  double *kkt = &work->scalars[PD_SCALAR_KKT];
  return pd_team_is_mixed(work->team) ? pd_team_fold(context, work->team, 1, 0, kkt)
                                      : pd_team_max(context, work->team, 1, kkt);
}

polyad_status pd_cpu_multiply(polyad_context *context, struct pd_linalg_work *work,
                              const struct pd_matrix *phi, double tolerance,
                              const struct pd_loop *loop, struct pd_matrix *b) {
  (void)context;
  (void)loop;
  if (work->scalars[PD_SCALAR_KKT] < tolerance) return POLYAD_OK;
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(b->type);
  int threads = pd_cpu_pass_threads(work, b);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin, rows = rows_of_thread(b, t, threads, &begin);
    kernels->elementwise(rows * work->rank, pd_cpu_row(phi, begin), pd_cpu_row(b, begin));
  }
  work->scalars[PD_SCALAR_UPDATES] += 1;
  return POLYAD_OK;
}

/* What one thread knows of the norms of its rows' columns: sums, squares or largest magnitudes. */
static void cpu_apr_measure(const struct pd_factor_kernels *kernels, enum pd_scaling scaling,
                            uint64_t rows, size_t rank, const void *x, double *norm) {
  memset(norm, 0, rank * sizeof *norm);
  if (scaling == PD_SCALE_NORM_1)
    kernels->absolute(rows, rank, x, norm);
  else if (scaling == PD_SCALE_NORM_2)
    kernels->inner(rows, rank, x, x, norm);
  else
    kernels->largest(rows, rank, x, norm);
}

/* The sum or the largest of what the threads have found. */
static double joined_norm(const struct pd_linalg_work *work, int threads, enum pd_scaling scaling,
                          size_t r) {
  double sum = 0, largest = 0;
  for (int t = 0; t < threads; ++t) {
    double part = work->thread[t].norm[r];
    sum += part;
    largest = part > largest ? part : largest;
  }
  return scaling == PD_SCALE_MAX_AT_LEAST_1 ? largest : sum;
}

/* Makes a member's norms those of all members of a mixed team. */
static polyad_status share_norms(polyad_context *context, struct pd_linalg_work *work,
                                 enum pd_scaling scaling, double *norms) {
  struct pd_cpu_sums sums = {0};
  sums.column[scaling == PD_SCALE_NORM_1   ? PD_SUM_ABSOLUTE
              : scaling == PD_SCALE_NORM_2 ? PD_SUM_SQUARE
                                           : PD_SUM_LARGEST] = norms;
  return pd_cpu_share_mixed(context, work, &sums);
}

/* The norms of the columns of all rows. */
static polyad_status find_norms(polyad_context *context, struct pd_linalg_work *work, int threads,
                                enum pd_scaling scaling, double *norms) {
  bool by_largest = scaling == PD_SCALE_MAX_AT_LEAST_1;
  for (size_t r = 0; r < work->rank; ++r)
    norms[r] = joined_norm(work, threads, scaling, r);
  if (pd_team_is_mixed(work->team))
    PD_TRY(share_norms(context, work, scaling, norms));
  else
    PD_TRY((by_largest ? pd_team_max : pd_team_sum)(context, work->team, work->rank, norms));
  for (size_t r = 0; r < work->rank; ++r) {
    if (by_largest && norms[r] > 0 && norms[r] < 1) norms[r] = 1;
    if (scaling == PD_SCALE_NORM_2) norms[r] = sqrt(norms[r]);
  }
  return POLYAD_OK;
}

polyad_status pd_cpu_normalize(polyad_context *context, struct pd_linalg_work *work,
                               enum pd_scaling scaling, struct pd_matrix *x,
                               struct pd_matrix *lambda) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(x->type);
  int threads = pd_cpu_pass_threads(work, x);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin, rows = rows_of_thread(x, t, threads, &begin);
    cpu_apr_measure(kernels, scaling, rows, work->rank, pd_cpu_row(x, begin), work->thread[t].norm);
  }
  double *norms = lambda->data, *factor = work->numbers, mass = 0;
  PD_TRY(find_norms(context, work, threads, scaling, norms));
  for (size_t r = 0; r < work->rank; ++r) {
    factor[r] = norms[r] > 0 ? 1.0 / norms[r] : 1.0;
    mass += norms[r];
  }
  work->scalars[PD_SCALAR_MASS] = mass;
  pd_cpu_scale(work, x, factor);
  return POLYAD_OK;
}
