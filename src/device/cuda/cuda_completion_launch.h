/* Launchers of completion on a GPU: see linalg/completion.h for what they compute. All numbers are
 * double, and all sums have a fixed order. */
#ifndef PD_CUDA_COMPLETION_LAUNCH_H
#define PD_CUDA_COMPLETION_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PD_GPU_COMPLETION_COLUMNS = 1024, /* at most, for rows */
  PD_GPU_COMPLETION_BLOCKS = 512,   /* that a sum over observations or rows is divided into */
  PD_GPU_COMPLETION_SUMS = 4 + 16   /* loss and magnitudes of two lists, penalties of the modes */
};

/** struct pd_completed. */
struct pd_gpu_completed {
  double *factor[16];
  uint64_t rows[16];
  int order, rank, columns;
  double ridge, bias_ridge;
  int ridge_by_count;
  unsigned nonnegative; /* a bit per mode */
};

/** struct pd_row_piece. */
struct pd_gpu_piece {
  uint64_t row, first, count;
};

/** Observations, in the order of the rows of a mode. */
struct pd_gpu_observed_rows {
  const uint64_t *start, *place;
  const uint32_t *index[16];
  const uint64_t *long_row, *first_piece;
  const struct pd_gpu_piece *piece;
  uint64_t long_rows, pieces;
};

struct pd_gpu_observations {
  const uint32_t *cell[16];
  const double *value, *weight; /* weight NULL: all one */
  uint64_t count;
};

/** keys[q] = index[q], places[q] = q. */
cudaError_t pd_gpu_completion_keys(const uint32_t *index, uint64_t count, uint64_t *keys,
                                   uint64_t *places, cudaStream_t stream);
/** to[p] = from[place[p]]. */
cudaError_t pd_gpu_completion_gather(const uint32_t *from, const uint64_t *place, uint64_t count,
                                     uint32_t *to, cudaStream_t stream);

/** The new rows of a mode's factor. */
struct pd_gpu_completion_rows {
  struct pd_gpu_completed model;
  struct pd_gpu_observations seen;
  struct pd_gpu_observed_rows order;
  int mode;
  double *sums;                  /* of pieces: pd_gpu_completion_piece() numbers each */
  double *scratch;               /* pd_gpu_completion_scratch() numbers */
  unsigned long long *fallbacks; /* grows by the systems that had to be regularised */
  int shared_bytes;              /* that a block may have */
  int blocks;                    /* at once, where their matrices lie in `scratch` */
};
uint64_t pd_gpu_completion_piece(int columns);
/** 0: the matrices lie in shared memory. */
uint64_t pd_gpu_completion_scratch(int columns, int shared_bytes, int blocks);
cudaError_t pd_gpu_completion_solve_rows(const struct pd_gpu_completion_rows *job,
                                         cudaStream_t stream);

/** One column of every factor. */
struct pd_gpu_completion_column {
  struct pd_gpu_completed model;
  struct pd_gpu_observations seen;
  struct pd_gpu_observed_rows order;
  int mode; /* that is visited */
  int bias; /* the column of this mode stands alone */
  int r;    /* its number in the factors */
  double *column[16];
  double *residual;
  double *sums; /* two numbers for each piece */
};
/** Copies column r of all factors into `column`, or `back`. */
cudaError_t pd_gpu_completion_copy(const struct pd_gpu_completion_column *job, int back,
                                   cudaStream_t stream);
/** residual += sign times the product of the columns. */
cudaError_t pd_gpu_completion_shift(const struct pd_gpu_completion_column *job, double sign,
                                    cudaStream_t stream);
/** New entries of the mode's column. */
cudaError_t pd_gpu_completion_solve_column(const struct pd_gpu_completion_column *job,
                                           cudaStream_t stream);

/** Sums of blocks of losses (pd_completion::compare): PD_GPU_COMPLETION_BLOCKS numbers for w e^2,
 *  and behind them as many for w s^2. residual[q] = e, where it is not NULL. */
cudaError_t pd_gpu_completion_compare(const struct pd_gpu_completed *model,
                                      const struct pd_gpu_observations *o, double shift,
                                      double *residual, double *partial, cudaStream_t stream);
/** Sums of blocks of the ridges' term of a mode. */
cudaError_t pd_gpu_completion_penalty(const struct pd_gpu_completed *model, const uint64_t *start,
                                      int mode, double *partial, cudaStream_t stream);
/** sums[k] = that of the blocks' k-th list, for `count` lists. */
cudaError_t pd_gpu_completion_add(const double *partial, int count, double *sums,
                                  cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
