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
  PD_GPU_RANK_MAX = 1 << 20, /* counts stay in range; one R x R matrix would take 8 TB */
  PD_GPU_RANK_WIDE = 1024,   /* above, rows lie in device memory and columns are taken in blocks */
  PD_GPU_RANK_SMALL = 128,   /* normal equations are inverted by one block, in registers */
  PD_GPU_COLUMN_SUMS = 4,    /* inner, square, absolute, largest */
  PD_GPU_RANK_PASS = 32,     /* an update is one pass over memory */
  PD_GPU_REFINEMENTS = 3,    /* of a solution: see pd_gpu_rows */
  PD_GPU_PASS_BLOCKS = 264,
  PD_GPU_NORM_COLUMNS = 64, /* columns that pd_gpu_column_norms() takes at most */
  PD_GPU_FORM = 4,          /* numbers that pd_gpu_form_columns() takes for each column */
  PD_GPU_JOBS = 64,         /* that a launcher takes */
  PD_GPU_BATCH = 16,        /* of them, as many as fit into a kernel's parameters */
  PD_GPU_RESIDUAL_BLOCKS = 2048
};

/** The first version of CUDA whose graphs have loops that kernels end. */
#define PD_CUDA_LOOPS 12040

/** Device scalars: those of pd_scalar, by their numbers, then these. */
enum {
  PD_GPU_FALLBACKS = 0,
  PD_GPU_KEPT = 1,
  PD_GPU_DAMPED = 2,
  PD_GPU_INNER = 3,
  PD_GPU_MODEL = 4,
  PD_GPU_NORMS = 5,
  PD_GPU_PEAKS = 6,
  PD_GPU_CLIPPED = 7,
  PD_GPU_SPREAD = 8,
  PD_GPU_RESIDUAL = 9,
  PD_GPU_COVERED = 10,
  PD_GPU_KKT = 11,
  PD_GPU_UPDATES = 12,
  PD_GPU_SHIFTED = 13,
  PD_GPU_MASS = 14,
  PD_GPU_NOT_FINITE = 15,
  PD_GPU_FAILED = 16,
  PD_GPU_PULLS = 17,   /* whether the inverse is a damped one */
  PD_GPU_REFINES = 18, /* whether the inverse alone would lose digits of a solution in double */
  PD_GPU_SCALARS = 19
};

/** A factor matrix. */
struct pd_gpu_matrix {
  void *data;
  uint64_t rows, stride;
  int rank, wide;
};

/** The Gram matrices whose elementwise product the normal equations are. */
struct pd_gpu_grams {
  const double *gram[16];
  int count;
  double ridge; /* added to the diagonal */
};

/** v = their product. */
cudaError_t pd_gpu_hadamard(const struct pd_gpu_grams *grams, int rank, double *v,
                            cudaStream_t stream);

/* Functions that take several jobs, at most PD_GPU_JOBS, launch kernels for all jobs of a kind at
 * once. */

/** inverse = v^-1; or, when v is not numerically positive definite, v^+; or, where a pivot is no
 * more than `damping` (if not 0) of its diagonal entry, (v + damping diag(v))^-1. Counts and flags
 * go into `scalars`. `scratch` holds 2 rank^2 + 2 rank + 2 numbers. Up to PD_GPU_RANK_SMALL v is
 * made first, as the product of `grams`, if there are any; above it has to be there. */
struct pd_gpu_inversion {
  struct pd_gpu_grams grams;
  double *v, *inverse, *scratch, *scalars;
  double damping;
  int rank, processors;
};
cudaError_t pd_gpu_invert(const struct pd_gpu_inversion *jobs, int count, cudaStream_t stream);

/** One pass over the rows of a factor; see pd_linalg::update_rows. */
struct pd_gpu_rows {
  int sweeps; /* x becomes what pd_gpu_hals() makes; only where pd_gpu_sweeps_in_pass() */
  const double *inverse; /* x becomes m inverse; NULL: x is there */
  struct pd_gpu_matrix x;
  struct pd_gpu_matrix m; /* data NULL: x holds it, or, where x is there, no inner products */
  const uint32_t *used;   /* bits of the rows that m has, 32 to a word; the others count as zeros.
                             NULL: it has all. Up to PD_GPU_RANK_PASS columns */
  struct pd_gpu_matrix before; /* data NULL: there is none */
  double damping;
  const double *v, *weights, *peak;
  const double *slices; /* NULL: squares count once each */
  const double *pulls;  /* not 0: the inverse is a damped one */
  /* Not 0, and x double: x = m inverse is followed by PD_GPU_REFINEMENTS steps x += (m - x v)
   * inverse. Each takes the error times R eps over v's least pivot, so that solutions are as exact
   * as those by substitution down to pivots of about 1e-11 / R of their diagonal entries. */
  const double *refines;
  int scaling;      /* enum pd_scaling */
  int blocks;       /* of rows */
  double *sums;     /* blocks x 4 x rank */
  double *partial;  /* blocks x rank x rank: upper triangles */
  double *room;     /* 2 rank^2 numbers, used above PD_GPU_RANK_WIDE */
  uint16_t *halves; /* NULL, or x = x inverse is rounded to bfloat16, and written here too */
};
/** The pass up to PD_GPU_RANK_PASS columns, and its blocks. All jobs have as many rows. */
cudaError_t pd_gpu_pass(const struct pd_gpu_rows *jobs, int count, cudaStream_t stream);
int pd_gpu_pass_blocks(uint64_t rows);

/** Blocks whose sums the functions below leave in `sums` (blocks x 4 x rank): as many as the number
 *  of rows asks for. */
int pd_gpu_row_blocks(uint64_t rows, int rank);
/** x = m inverse and sums over its columns, for any rank; no Gram matrix. */
cudaError_t pd_gpu_multiply(const struct pd_gpu_rows *rows, cudaStream_t stream);
/** Sums over the columns of x, of products with m, and of squares times `slices` (NULL: one). */
cudaError_t pd_gpu_column_sums(struct pd_gpu_matrix m, struct pd_gpu_matrix x, const double *slices,
                               int blocks, double *sums, cudaStream_t stream);
/** Whether pd_gpu_pass() is to make a sweep, instead of the function below. */
int pd_gpu_sweeps_in_pass(uint64_t rows, int rank);
/** One sweep of HALS over every row of rows->before times rows->weights, into x. */
cudaError_t pd_gpu_hals(const struct pd_gpu_rows *rows, cudaStream_t stream);

/** Parts in which pd_gpu_gram adds up the rows; at most what a matrix without end gets. */
int pd_gpu_gram_parts(uint64_t rows, int rank);
cudaError_t pd_gpu_gram(struct pd_gpu_matrix x, int parts, double *partial, cudaStream_t stream);

/** What sums of blocks become; see pd_linalg::update_finish. */
struct pd_gpu_finish {
  const double *partial;            /* parts x rank x rank */
  const double *sums;               /* blocks x 4 x rank */
  uint64_t partial_step, sums_step; /* from one part, and one block, to the next */
  int parts, blocks, rank, scaling, wide;
  const double *weights; /* may be lambda */
  double *lambda;        /* NULL: only gram and peak */
  double *gram, *peak;
  double *factor;  /* 1 / lambda after PD_SCALE_NORM_2 */
  double *squares; /* sums over columns of weighted squares */
  double *scalars;
};
cudaError_t pd_gpu_finish_update(const struct pd_gpu_finish *jobs, int count, cudaStream_t stream);

/** MODEL, NORMS, PEAKS and, where `squares` is not NULL, SPREAD; see pd_linalg::model_norm. */
struct pd_gpu_norm {
  struct pd_gpu_grams grams;
  const double *peak, *lambda, *squares;
  double *scalars;
  int rank;
};
cudaError_t pd_gpu_model_norm(const struct pd_gpu_norm *jobs, int count, cudaStream_t stream);
/** to[k] = the PD_GPU_SCALARS scalars of run k, one run's after the other's. */
cudaError_t pd_gpu_gather_scalars(const double *const *from, int count, double *to,
                                  cudaStream_t stream);
/** Columns that become columns of another matrix: `rank` of them, from each matrix's `data` on. */
struct pd_gpu_columns {
  struct pd_gpu_matrix from, to;
};
cudaError_t pd_gpu_copy_columns(const struct pd_gpu_columns *jobs, int count, cudaStream_t stream);
/** squares and SPREAD from sums of blocks; see pd_linalg::spread. */
cudaError_t pd_gpu_spread(const struct pd_gpu_grams *grams, const double *sums, int blocks,
                          const double *lambda, double *squares, int rank, double *scalars,
                          cudaStream_t stream);

/** Norms and peaks of columns, `count` of each into `out`; see pd_linalg::column_norms. */
struct pd_gpu_norms {
  struct pd_gpu_matrix x;
  uint64_t first;
  int count;
  double one[PD_GPU_NORM_COLUMNS], other[PD_GPU_NORM_COLUMNS]; /* what entries are taken times */
  double *parts; /* room for what 264 blocks find: 3 numbers each */
};
cudaError_t pd_gpu_column_norms(const struct pd_gpu_norms *job, double *out, cudaStream_t stream);
/** Column k of `to` from the column of x, times two numbers and divided by a third, that `form`
 *  names, one after another. */
cudaError_t pd_gpu_form_columns(struct pd_gpu_matrix x, struct pd_gpu_matrix to, const double *form,
                                cudaStream_t stream);

/** lambda, factor (1 / norm), INNER and MASS (sum of lambda) from the column sums of unweighted
 * squares; scaling is enum pd_scaling. */
cudaError_t pd_gpu_finish_columns(const double *sums, int blocks, int rank, int scaling,
                                  double *lambda, double *factor, double *scalars,
                                  cudaStream_t stream);
/** INNER = sum of weight times inner products. */
cudaError_t pd_gpu_finish_inner(const double *sums, int blocks, int rank, const double *weight,
                                double *scalars, cudaStream_t stream);
/** x's columns times factor, where any factor is not one. */
cudaError_t pd_gpu_scale(struct pd_gpu_matrix x, const double *factor, cudaStream_t stream);
/** `to` = what `compute` (polyad_compute, not 0) keeps of `from`. */
cudaError_t pd_gpu_round(int compute, struct pd_gpu_matrix from, struct pd_gpu_matrix to,
                         int processors, cudaStream_t stream);
/** Rounds a matrix of floats to bfloat16, into `halves` of the same stride too. */
cudaError_t pd_gpu_halve(struct pd_gpu_matrix a, uint16_t *halves, int processors,
                         cudaStream_t stream);
/** a = uniform random numbers; see pd_linalg::random. */
cudaError_t pd_gpu_random(uint64_t seed, uint64_t stream_of_numbers, struct pd_gpu_matrix a,
                          int processors, cudaStream_t stream);
/** x += y. */
cudaError_t pd_gpu_add(struct pd_gpu_matrix y, struct pd_gpu_matrix x, int processors,
                       cudaStream_t stream);
/** RESIDUAL and COVERED of nonzeros: see struct pd_linalg. */
struct pd_gpu_residual {
  const void *index[16]; /* of 4 or 8 bytes each */
  int index_bytes[16];
  struct pd_gpu_matrix factor[16];
  const void *values; /* of the factors' type */
  const double *weight;
  uint64_t nnz;
  int order;
  int goes_on; /* the sums are added to what RESIDUAL and COVERED are */
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
/** struct pd_loop as kernels get it; outcome NULL: there is none. */
struct pd_gpu_loop {
  uint64_t handle;
  double *outcome;
  int most;
};
cudaError_t pd_gpu_multiply_unless(struct pd_gpu_matrix phi, double tolerance,
                                   struct pd_gpu_loop loop, struct pd_gpu_matrix b, int processors,
                                   double *scalars, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
