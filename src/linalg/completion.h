/* The steps of completion that touch observations, behind one table per device: least squares for
 * every row of a factor, for one component after the other, and the sums that tell how well the
 * factors describe the observations. All numbers are double. Sums have a fixed order, which depends
 * on the observations and the device, never on the number of threads.
 *
 * Observations are cells with a value and perhaps a weight, and for every mode the order in which
 * those of a row stand together. Rows too long for one thread, or one block of a GPU's threads, are
 * divided into pieces, whose sums are added in order. */
#ifndef PD_COMPLETION_H
#define PD_COMPLETION_H

#include "device/device.h"

/** Part of a row that is summed at once. */
struct pd_row_piece {
  uint64_t row, first, count; /* observations [first, first + count) in the mode's order */
};

/** The observations in the order of one mode's rows. */
struct pd_observed_rows {
  uint64_t *start;                   /* dims + 1: where each row begins */
  uint64_t *place;                   /* count: the number of each observation; NULL: its own */
  uint32_t *index[POLYAD_MAX_ORDER]; /* count, of every other mode; NULL for this one */
  bool borrowed;                     /* index[] belongs to `cell` below */
  /* Rows that are divided into pieces. */
  uint64_t long_rows, pieces;
  uint64_t *long_row;         /* long_rows, ascending */
  uint64_t *first_piece;      /* long_rows + 1: the first piece of each */
  struct pd_row_piece *piece; /* pieces */
};

/** The arrays lie on `device`. */
struct pd_observations {
  polyad_context *context;
  const struct pd_device *device;
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t count;
  uint32_t *cell[POLYAD_MAX_ORDER]; /* indices, sorted by mode 0, 1, ... */
  double *value;
  double *weight; /* NULL: all one */
  double weights; /* their sum */
  struct pd_observed_rows rows[POLYAD_MAX_ORDER];
};

/** Observations of row i of a mode. */
static inline uint64_t pd_observed_count(const struct pd_observed_rows *rows, uint64_t i) {
  return rows->start[i + 1] - rows->start[i];
}
static inline uint64_t pd_observed_place(const struct pd_observed_rows *rows, uint64_t p) {
  return rows->place != NULL ? rows->place[p] : p;
}
static inline double pd_observed_weight(const struct pd_observations *o, uint64_t q) {
  return o->weight != NULL ? o->weight[q] : 1;
}

/** A model of observations: sum over r < rank of the product of factor[n](i_n, r) and, where
 *  columns > rank, plus the sum of the biases factor[n](i_n, rank). */
struct pd_completed {
  int order;
  size_t rank, columns;
  struct pd_matrix factor[POLYAD_MAX_ORDER]; /* dims x columns */
  double ridge, bias_ridge;
  bool ridge_by_count;  /* ridges are multiplied by the row's number of observations */
  uint32_t nonnegative; /* modes whose components are, bit n for mode n; biases may have any sign */
};

static inline double *pd_completed_row(const struct pd_completed *model, int mode, uint64_t i) {
  return (double *)model->factor[mode].data + i * model->columns;
}
static inline bool pd_completed_biases(const struct pd_completed *model) {
  return model->columns > model->rank;
}
/** Ridge of a row's components, and of its bias, where it has `count` observations. */
static inline double pd_completed_ridge(const struct pd_completed *model, bool bias,
                                        uint64_t count) {
  double ridge = bias ? model->bias_ridge : model->ridge;
  return model->ridge_by_count ? ridge * (double)count : ridge;
}

/** What pd_completion::measure() finds. */
struct pd_completion_sums {
  double loss;        /* sum of w e^2 over the observations of the fit */
  double penalty;     /* the ridges' terms */
  double held;        /* sum of w e^2 over the observations of validation; 0 without */
  uint64_t fallbacks; /* rows since the last call whose equations had to be regularised */
};

/** What a run will ask for. */
struct pd_completion_job {
  const struct pd_device *device;
  const struct pd_observations *seen; /* of the fit, with rows */
  const struct pd_observations *held; /* of validation; NULL: none */
  uint64_t columns;
  int threads;
  bool rows, components; /* whether solve_rows(), solve_component() will be called */
};

/** Scratch memory of one run: iterations allocate nothing. */
struct pd_completion_work;

struct pd_completion {
  /** Rows of more than `piece_least` observations and a `piece_share`-th of all are divided into
   *  pieces of that many. */
  uint64_t piece_least, piece_share;
  /** Fills in place[] and index[] of every mode but 0, from cell[] and start[]: observations of a
   *  row stay in their order. */
  polyad_status (*sort)(polyad_context *context, struct pd_observations *observations, int threads);
  /** Bytes of what sort() and work_create() allocate, at most. */
  uint64_t (*work_bytes)(const struct pd_completion_job *job, uint64_t observations);
  polyad_status (*work_create)(polyad_context *context, const struct pd_completion_job *job,
                               struct pd_completion_work **work);
  void (*work_destroy)(polyad_context *context, struct pd_completion_work *work);
  /** Every row i of the mode's factor = the x that minimises sum of w (y - h x)^2 + ridge x^2 over
   *  its observations, where h is the elementwise product of the other factors' rows (1 for the
   *  bias) and y the value less the other modes' biases: by Cholesky's method, or with x >= 0 by
   *  coordinate descent from the row as it is. A row without observations becomes 0. */
  polyad_status (*solve_rows)(polyad_context *context, struct pd_completion_work *work,
                              const struct pd_completed *model, int mode);
  /** The same for component r alone, or r == rank the biases, in one mode after the other. What the
   *  model misses is kept from call to call, and computed anew after measure() and forget(). */
  polyad_status (*solve_component)(polyad_context *context, struct pd_completion_work *work,
                                   const struct pd_completed *model, size_t r);
  /** The model has been changed by others. */
  void (*forget)(struct pd_completion_work *work);
  /** Waits for the sums. */
  polyad_status (*measure)(polyad_context *context, struct pd_completion_work *work,
                           const struct pd_completed *model, struct pd_completion_sums *sums);
  /** sums[0] = sum of w (x - m)^2 and sums[1] = sum of w s^2 over the observations, with x the
   * value plus `shift`, and s the sum of the magnitudes of all that was added up in x - m: a
   * model's value is wrong by a few roundings of it. Waits. */
  polyad_status (*compare)(polyad_context *context, struct pd_completion_work *work,
                           const struct pd_completed *model, const struct pd_observations *o,
                           double shift, double sums[2]);
  /** host[q] = value less the model at observation q. Waits. NULL: the host computes that itself.
   */
  polyad_status (*residuals)(polyad_context *context, struct pd_completion_work *work,
                             const struct pd_completed *model, const struct pd_observations *o,
                             double *host);
};

extern const struct pd_completion pd_cpu_completion;

#endif
