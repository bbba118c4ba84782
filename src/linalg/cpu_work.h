/* Scratch memory of the CPU's dense algebra, and the pass over rows that its updates share. */
#ifndef PD_CPU_WORK_H
#define PD_CPU_WORK_H

#include "linalg/factor_kernels.h"
#include "linalg/linalg.h"

/** Scratch of one thread; see pd_padded(). */
struct pd_cpu_thread {
  double *norm;  /* padded: largest magnitude or sum of magnitudes of each column */
  double *inner; /* padded */
  double *tile;  /* PD_TILE_ROWS x padded */
};

/** Sums over one part of the rows of a factor. */
struct pd_cpu_part {
  double *gram;    /* padded x padded */
  double *inner;   /* padded: sums of m(i,r) x(i,r) */
  double *largest; /* padded: largest magnitudes */
  double *squares; /* padded: sums of slices(i) x(i,r)^2 */
};

struct pd_linalg_work {
  size_t rank;
  int threads, parts;
  polyad_team *team; /* that the rows are shared by; NULL: none */
  double scalars[PD_SCALARS];
  double *lower;      /* rank x rank: Cholesky factor */
  double *vectors;    /* rank x rank: eigenvectors */
  double *inverse;    /* rank x padded: inverse or pseudo-inverse */
  double *numbers;    /* 2 x rank: reciprocals, eigenvalues */
  double *divided;    /* rank: what an update divides the columns of x by */
  double *reciprocal; /* rank: of those */
  double *weighed;    /* rank: what the parts' inner products count times */
  double *pull;       /* rank: what a damped update adds the factor before with */
  double *squares;    /* rank: sums of slices(i) x(i,r)^2 of the last update that had slices */
  double *eigen_work; /* pd_eigen()'s */
  double *sent;       /* rank x (rank + PD_COLUMN_SUMS): sums on their way; NULL without a team */
  struct pd_cpu_thread *thread;
  struct pd_cpu_part *part; /* as many as the longest matrix is divided into */
  double *memory;           /* all of the above */
};

/** How a block of rows of x comes from the rows of m, and perhaps from those of the factor before.
 *  `user` is the update's own. */
typedef void (*pd_rows_function)(const struct pd_factor_kernels *kernels, const void *user,
                                 uint64_t rows, size_t rank, const void *m, const void *before,
                                 void *x, double *inner, double *tile);

/** The way in which an update makes its rows. */
struct pd_cpu_rows {
  pd_rows_function function;
  const void *user;
  const struct pd_matrix *m;
  bool divides; /* whether `function` divides the columns by work->divided itself */
};

/** work->divided and work->reciprocal of an update. */
void pd_cpu_choose_divisors(struct pd_linalg_work *work, const struct pd_update *update);
/** The shared part of all updates: rows in cache-sized blocks, with the sums of each part in the
 *  same pass. */
void pd_cpu_update_rows(struct pd_linalg_work *work, const struct pd_update *update,
                        const struct pd_cpu_rows *rows);
/** From the parts' sums; see linalg.h. */
polyad_status pd_cpu_update_finish(polyad_context *context, int runs,
                                   const struct pd_update *updates);

/** Multiplies the columns of x by `factor`. */
void pd_cpu_scale(struct pd_linalg_work *work, struct pd_matrix *x, const double *factor);

/** work->squares[r] = sum over i of of_row[i] x(i,r)^2. */
void pd_cpu_weighted_squares(struct pd_linalg_work *work, const double *of_row,
                             const struct pd_matrix *x);
/** INNER = sum over r of weight[r] times sum over i of m(i,r) x(i,r). */
void pd_cpu_weighted_inner(struct pd_linalg_work *work, const struct pd_matrix *m,
                           const struct pd_matrix *x, const double *weight);

/** gram = a^T a with both triangles, and, where `peak` is not NULL, the largest magnitudes of the
 *  columns of a. */
void pd_cpu_gram(struct pd_linalg_work *work, const struct pd_matrix *a, double *gram,
                 double *peak);

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
                              const struct pd_matrix *phi, double tolerance,
                              const struct pd_loop *loop, struct pd_matrix *b);
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
