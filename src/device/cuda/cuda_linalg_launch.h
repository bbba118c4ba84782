/* Launchers of the dense algebra on a GPU. Factors are float (wide 0) or double (wide 1); all else
 * is double. Every sum has a fixed order. */
#ifndef PD_CUDA_LINALG_LAUNCH_H
#define PD_CUDA_LINALG_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PD_GPU_RANK_MAX = 1024,  /* of the dense algebra */
  PD_GPU_RANK_SMALL = 128, /* normal equations are inverted by one block, in registers */
  PD_GPU_COLUMN_SUMS = 4,  /* inner, square, absolute, largest */
  PD_GPU_RESIDUAL_BLOCKS = 2048
};

/** Device scalars: those of pd_scalar, by their numbers, then these. */
enum {
  PD_GPU_FALLBACKS = 0,
  PD_GPU_KEPT = 1,
  PD_GPU_DAMPED = 2,
  PD_GPU_INNER = 3,
  PD_GPU_MODEL = 4,
  PD_GPU_NORMS = 5,
  PD_GPU_PEAKS = 6,
  PD_GPU_SPREAD = 7,
  PD_GPU_RESIDUAL = 8,
  PD_GPU_COVERED = 9,
  PD_GPU_KKT = 10,
  PD_GPU_UPDATES = 11,
  PD_GPU_SHIFTED = 12,
  PD_GPU_MASS = 13,
  PD_GPU_NOT_FINITE = 14,
  PD_GPU_FAILED = 15,
  PD_GPU_PULLS = 16, /* whether the inverse is a damped one */
  PD_GPU_SCALARS = 17
};

/** A factor matrix. */
struct pd_gpu_matrix {
  void *data;
  uint64_t rows, stride;
  int rank, wide;
};

cudaError_t pd_gpu_hadamard(int count, const double *const *grams, int skip, double ridge, int rank,
                            double *v, cudaStream_t stream);

/** inverse = v^-1; or, when v is not numerically positive definite, v^+; or, where a pivot is no
 * more than `damping` (if not 0) of its diagonal entry, (v + damping diag(v))^-1. Counts and flags
 * go into `scalars`. `scratch` holds 2 rank^2 + 2 rank + 2 numbers. */
cudaError_t pd_gpu_invert(const double *v, int rank, double damping, double *inverse,
                          double *scratch, double *scalars, cudaStream_t stream);

/** Blocks whose sums the functions below leave in `sums` (blocks x 4 x rank). */
int pd_gpu_row_blocks(uint64_t rows, int rank, int processors);
/** What a damped update adds to the right-hand side: `before` diag(damping lambda diag(v)), where
 *  *pulls is not 0. before.data NULL: nothing. */
struct pd_gpu_pull {
  struct pd_gpu_matrix before;
  double damping;
  const double *lambda, *v, *pulls;
};
/** x = (x + what pulls) w in place, and sums over columns with the x before as m. */
cudaError_t pd_gpu_multiply(struct pd_gpu_matrix x, const double *w, const struct pd_gpu_pull *pull,
                            int blocks, double *sums, cudaStream_t stream);
/** Sums over the columns of x, and of products with m. */
cudaError_t pd_gpu_column_sums(struct pd_gpu_matrix m, struct pd_gpu_matrix x, int blocks,
                               double *sums, cudaStream_t stream);
/** SPREAD, as pd_linalg::spread has it; `sums` as above. */
cudaError_t pd_gpu_spread(const double *slices, struct pd_gpu_matrix x, const double *g,
                          const double *last, const double *lambda, int blocks, double *sums,
                          double *scalars, cudaStream_t stream);
/** One sweep of HALS over every row, from x with its columns multiplied by lambda. */
cudaError_t pd_gpu_hals(struct pd_gpu_matrix m, struct pd_gpu_matrix x, const double *v,
                        const double *lambda, int blocks, cudaStream_t stream);

/** Parts in which pd_gpu_gram adds up the rows; at most what a matrix without end gets. */
int pd_gpu_gram_parts(uint64_t rows, int rank, int processors);
cudaError_t pd_gpu_gram(struct pd_gpu_matrix x, int parts, double *partial, cudaStream_t stream);

/** lambda, factor (1 / norm), INNER and MASS (sum of lambda) from the column sums; scaling is enum
 * pd_scaling. */
cudaError_t pd_gpu_finish_columns(const double *sums, int blocks, int rank, int scaling,
                                  double *lambda, double *factor, double *scalars,
                                  cudaStream_t stream);
/** INNER = sum of weight times inner products. */
cudaError_t pd_gpu_finish_inner(const double *sums, int blocks, int rank, const double *weight,
                                double *scalars, cudaStream_t stream);
/** gram = sum of the parts, scaled by factor (NULL: not). */
cudaError_t pd_gpu_finish_gram(const double *partial, int parts, int rank, const double *factor,
                               double *gram, cudaStream_t stream);
/** x's columns times factor, where any factor is not one. */
cudaError_t pd_gpu_scale(struct pd_gpu_matrix x, const double *factor, cudaStream_t stream);
/** `to` = what `compute` (polyad_compute, not 0) keeps of `from`. */
cudaError_t pd_gpu_round(int compute, struct pd_gpu_matrix from, struct pd_gpu_matrix to,
                         int processors, cudaStream_t stream);
/** x += y. */
cudaError_t pd_gpu_add(struct pd_gpu_matrix y, struct pd_gpu_matrix x, int processors,
                       cudaStream_t stream);
cudaError_t pd_gpu_quadratic_form(const double *g, const double *last, const double *lambda,
                                  int rank, double *scalars, cudaStream_t stream);

/** RESIDUAL and COVERED of nonzeros: see struct pd_linalg. */
struct pd_gpu_residual {
  const void *index[16]; /* of 4 or 8 bytes each */
  int index_bytes[16];
  struct pd_gpu_matrix factor[16];
  const void *values; /* of the factors' type */
  const double *weight;
  uint64_t nnz;
  int order;
};
/** `parts` has room for 2 PD_GPU_RESIDUAL_BLOCKS numbers. */
cudaError_t pd_gpu_residual(const struct pd_gpu_residual *job, double *parts, double *scalars,
                            cudaStream_t stream);

/** The elementwise steps of CP-APR: see struct pd_linalg. `phi.data` may be NULL for the first. */
cudaError_t pd_gpu_weigh(struct pd_gpu_matrix phi, double kappa, double kappa_tolerance,
                         const double *lambda, struct pd_gpu_matrix x, int processors,
                         double *scalars, cudaStream_t stream);
cudaError_t pd_gpu_kkt(struct pd_gpu_matrix phi, struct pd_gpu_matrix b, int processors,
                       double *scalars, cudaStream_t stream);
cudaError_t pd_gpu_multiply_unless(struct pd_gpu_matrix phi, double tolerance,
                                   struct pd_gpu_matrix b, int processors, double *scalars,
                                   cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
