/* Rows of a factor by PDNR and PQNR on a device with memory of its own: every row's small problem,
 * to maximise the sum of x_j log(m . pi_j) minus the sum of m over m >= 0, is solved there, from
 * nonzeros that lie there row by row. The CPU's rows are src/algorithms/apr_rows.c. All sums are
 * double and have a fixed order. */
#ifndef PD_NEWTON_ROWS_H
#define PD_NEWTON_ROWS_H

#include "device/device.h"
#include "device/row_list.h"
#include "linalg/newton_job.h"

enum { PD_NEWTON_RANK_MOST = 1 << 14 };

/** How rows are solved. */
struct pd_newton_options {
  int rank;
  int newton;       /* damped Newton steps (PDNR); else L-BFGS (PQNR) */
  int most;         /* iterations of a row */
  int memory;       /* pairs of L-BFGS */
  double tolerance; /* rows with a smaller violation are left alone */
  double epsilon;   /* the least model that is divided by */
  double active_tolerance;
  double damping;   /* of the first Newton step */
  uint64_t longest; /* nonzeros of the fullest row of any mode */
};

/** What the rows of a mode have come to. */
struct pd_newton_found {
  double kkt;     /* the largest violation at a row's start (PQNR: after its first gradient step);
                     NaN when a number is lost */
  uint64_t inner; /* iterations of all rows */
  bool changed;   /* any row */
};

/** The rows of one mode. */
struct pd_newton_mode {
  const struct pd_row_list *list;
  const struct pd_matrix *const *factors; /* of all modes; that of `mode` is improved */
  struct pd_matrix *rows;                 /* it; empty rows become zero */
  double *logarithms; /* on the device, of each row: the sum of x log m; NULL: not wanted */
};

/** Scratch memory of one run: iterations allocate nothing. */
struct pd_newton_work;

struct pd_newton {
  /** Bytes on the device of what work_create() allocates, at most. */
  uint64_t (*work_bytes)(const struct pd_device *device, const struct pd_newton_options *options);
  /** For options of this rank, method and memory. */
  polyad_status (*work_create)(polyad_context *context, const struct pd_device *device,
                               const struct pd_newton_options *options,
                               struct pd_newton_work **work);
  void (*work_destroy)(polyad_context *context, struct pd_newton_work *work);
  /** first[i], end[i] of `rows` rows from list->row: the nonzeros of a row stand together. */
  polyad_status (*find_rows)(polyad_context *context, const struct pd_device *device,
                             const struct pd_row_list *list, uint64_t rows, uint64_t *first,
                             uint64_t *end);
  /** Solves every row once. Waits for what was found. */
  polyad_status (*solve)(polyad_context *context, struct pd_newton_work *work,
                         const struct pd_newton_options *options, const struct pd_newton_mode *mode,
                         struct pd_newton_found *found);
};

/** What blocks of threads get to know of the options; the rest is pd_newton_take_mode()'s. */
static inline struct pd_newton_job pd_newton_job_of(const struct pd_newton_options *options) {
  return (struct pd_newton_job){.rank = options->rank,
                                .newton = options->newton,
                                .most = options->most,
                                .memory = options->memory,
                                .tolerance = options->tolerance,
                                .epsilon = options->epsilon,
                                .active_tolerance = options->active_tolerance,
                                .damping = options->damping};
}

/** What they get to know of the rows of one mode. */
static inline void pd_newton_take_mode(const struct pd_newton_mode *mode,
                                       struct pd_newton_job *job) {
  const struct pd_row_list *list = mode->list;
  job->columns = list->columns;
  for (int k = 0; k < list->columns; ++k) {
    const struct pd_matrix *factor = mode->factors[list->column_mode[k]];
    job->column[k] = (struct pd_newton_column){.plane = list->column[k].plane,
                                               .shift = list->column[k].shift,
                                               .mask = list->column[k].mask,
                                               .factor = factor->data,
                                               .stride = factor->stride};
  }
  job->first = list->first;
  job->end = list->end;
  job->order = list->order;
  job->value_at = list->value_at;
  job->values = list->values;
  job->wide_values = list->type == POLYAD_F64;
  job->wide = mode->rows->type == POLYAD_F64;
  job->factor = mode->rows->data;
  job->stride = mode->rows->stride;
  job->rows = mode->rows->rows;
  job->logarithms = mode->logarithms;
}

#endif
