/* Scratch memory of the CPU's dense algebra, and the pass over rows that its updates share. */
#ifndef PD_CPU_WORK_H
#define PD_CPU_WORK_H

#include "linalg/factor_kernels.h"
#include "linalg/linalg.h"

/** Scratch of one thread; see pd_padded(). */
struct pd_cpu_thread {
  double *gram;  /* padded x padded */
  double *norm;  /* padded: largest magnitude or sum of magnitudes of each column */
  double *inner; /* padded */
  double *tile;  /* PD_TILE_ROWS x padded */
};

struct pd_linalg_work {
  size_t rank;
  int threads;
  double scalars[PD_SCALARS];
  double *lower;      /* rank x rank: Cholesky factor */
  double *vectors;    /* rank x rank: eigenvectors */
  double *inverse;    /* rank x padded: inverse or pseudo-inverse */
  double *numbers;    /* 2 x rank: reciprocals, eigenvalues */
  double *divided;    /* rank: weights of before */
  double *pull;       /* rank: what a damped update adds the factor before with */
  double *eigen_work; /* pd_eigen()'s */
  struct pd_cpu_thread *thread;
  double *memory; /* all of the above */
};

/** How a block of rows of x comes from the rows of m, and perhaps from those of the factor before.
 *  `user` is the update's own. */
typedef void (*pd_rows_function)(const struct pd_factor_kernels *kernels, const void *user,
                                 uint64_t rows, size_t rank, const void *m, const void *before,
                                 void *x, double *inner, double *tile);

/** An update of one factor. */
struct pd_cpu_update {
  pd_rows_function function;
  const void *user;
  const struct pd_matrix *m;
  const struct pd_matrix *before; /* NULL: there is none */
  struct pd_matrix *x;
  const double *divided; /* what `function` divides each column by; NULL: nothing */
  enum pd_scaling scaling;
  struct pd_matrix *lambda, *gram;
};

/** The shared part of all updates: rows by `function` in cache-sized blocks with Gram and sums
 *  in the same pass, then the scaling pass, where columns need one. Sets INNER. */
void pd_cpu_update_rows(struct pd_linalg_work *work, const struct pd_cpu_update *update);

/** Multiplies the columns of x by `factor`. */
void pd_cpu_scale(struct pd_linalg_work *work, struct pd_matrix *x, const double *factor);

/** The least power of two that is no less than a positive number. */
double pd_power_of_two_above(double number);

/** Sum over r of weight[r] times sum over i of of_row[i] x(i,r)^2. */
double pd_cpu_weighted_squares(struct pd_linalg_work *work, const double *of_row,
                               const struct pd_matrix *x, const double *weight);
/** INNER = sum over r of weight[r] times sum over i of m(i,r) x(i,r). */
void pd_cpu_weighted_inner(struct pd_linalg_work *work, const struct pd_matrix *m,
                           const struct pd_matrix *x, const double *weight);

/** gram = a^T a with both triangles, summed over threads in fixed order. */
void pd_cpu_gram(polyad_context *context, struct pd_linalg_work *work, const struct pd_matrix *a,
                 double *gram);

/** Sums over the nonzeros; see linalg.h. */
polyad_status pd_cpu_residual(polyad_context *context, struct pd_linalg_work *work,
                              const struct pd_nonzeros *nonzeros, const struct pd_list *list,
                              const struct pd_matrix *const *factors,
                              const struct pd_matrix *lambda);

/** The steps of CP-APR's multiplicative update; see linalg.h. */
polyad_status pd_cpu_weigh(polyad_context *context, struct pd_linalg_work *work,
                           const struct pd_matrix *phi, double kappa, double kappa_tolerance,
                           const struct pd_matrix *lambda, struct pd_matrix *x);
polyad_status pd_cpu_kkt(polyad_context *context, struct pd_linalg_work *work,
                         const struct pd_matrix *phi, const struct pd_matrix *b);
polyad_status pd_cpu_multiply(polyad_context *context, struct pd_linalg_work *work,
                              const struct pd_matrix *phi, double tolerance, struct pd_matrix *b);
polyad_status pd_cpu_normalize(polyad_context *context, struct pd_linalg_work *work,
                               enum pd_scaling scaling, struct pd_matrix *x,
                               struct pd_matrix *lambda);

/** Row of a matrix. */
static inline char *pd_cpu_row(const struct pd_matrix *matrix, uint64_t row) {
  return (char *)matrix->data + row * matrix->stride * pd_type_bytes(matrix->type);
}

/** Threads for one pass over a matrix. Partial sums depend on how rows are split, so the split
 *  depends on the matrix and the number of threads alone. */
int pd_cpu_pass_threads(const struct pd_linalg_work *work, const struct pd_matrix *a);

#endif
