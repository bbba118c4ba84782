/* What a block of threads gets that solves rows by PDNR or PQNR (newton_block.h), and how much
 * memory it takes. It is C and C++. */
#ifndef PD_NEWTON_JOB_H
#define PD_NEWTON_JOB_H

#include <stddef.h>
#include <stdint.h>

enum { PD_NEWTON_COLUMNS = 15 }; /* other modes, at most */

/** One of the other modes. */
struct pd_newton_column {
  const uint32_t *plane; /* see struct pd_row_plane */
  uint32_t shift, mask;
  const void *factor;
  uint64_t stride; /* of the factor, in numbers */
};

/** struct pd_newton_options, and the rows of one mode. */
struct pd_newton_job {
  int rank, newton, most, memory;
  double tolerance, epsilon, active_tolerance, damping;
  int columns;
  struct pd_newton_column column[PD_NEWTON_COLUMNS];
  const uint64_t *first, *end; /* see struct pd_row_list */
  const uint32_t *order;
  const uint64_t *value_at;
  const void *values;
  int wide_values, wide; /* double; else float: values, factors */
  void *factor;          /* of the mode */
  uint64_t stride, rows;
  double *logarithms;
};

/** How a block works. */
struct pd_newton_shape {
  int threads;
  int batch;      /* nonzeros whose products are kept at once */
  int stride;     /* of products, and of rows of the Cholesky factor: odd, for the banks */
  int outputs;    /* numbers of the longest sum, or threads if they are more */
  size_t numbers; /* of the block's memory */
};

/** Numbers of the Hessian that are kept: pairs (r, r + d modulo R) for d up to R / 2, which are all
 *  but for the order of the two. */
#define PD_NEWTON_PAIRS(rank) ((rank) * ((rank) / 2 + 1))

static inline struct pd_newton_shape pd_newton_shape(const struct pd_newton_job *job, int threads,
                                                     int batch) {
  struct pd_newton_shape shape;
  size_t rank = (size_t)job->rank;
  int sums = job->newton ? PD_NEWTON_PAIRS(job->rank) : 0;
  shape.threads = threads;
  shape.batch = batch;
  shape.stride = job->rank | 1;
  shape.outputs = sums > job->rank + 1 ? sums : job->rank + 1;
  if (shape.outputs < threads) shape.outputs = threads;
  shape.numbers = (size_t)batch * (size_t)(shape.stride + 3) + (size_t)shape.outputs + 7 * rank + 2;
  if (job->newton)
    shape.numbers += rank * (size_t)shape.stride + rank;
  else
    shape.numbers += 2 * (size_t)job->memory * (rank + 1) + 2 * rank;
  return shape;
}

#endif
