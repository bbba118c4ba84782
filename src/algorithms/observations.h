/* The observations that a completion is fitted to: cells with a value and perhaps a weight, and for
 * every mode the order in which those of a row stand together. Their order is that of a tensor's
 * entries, whatever the plan's format, so that sums have the same bits for every format; and rows
 * too long for one thread are divided into pieces whose sums are added in order, so that they have
 * the same bits for every number of threads. */
#ifndef PD_OBSERVATIONS_H
#define PD_OBSERVATIONS_H

#include "core/core.h"
#include "tensor/tensor.h"

/** Part of a row that one thread sums. */
struct pd_piece {
  uint64_t row, first, count; /* observations [first, first + count) in the mode's order */
};

/** The observations in the order of one mode's rows. */
struct pd_observed_rows {
  uint64_t *start;                   /* dims + 1: where each row begins */
  uint64_t *place;                   /* count: the number of each observation; NULL: its own */
  uint32_t *index[POLYAD_MAX_ORDER]; /* count, of every other mode; NULL for this one */
  bool borrowed;                     /* index[] belongs to `cell` below */
  /* Rows of more than PD_PIECE_LEAST observations and a 256th of all. */
  uint64_t long_rows, pieces;
  uint64_t *long_row;     /* long_rows, ascending */
  uint64_t *first_piece;  /* long_rows + 1: the first piece of each */
  struct pd_piece *piece; /* pieces */
};

enum { PD_PIECE_LEAST = 1 << 12, PD_PIECE_SHARE = 256 };

struct pd_observations {
  polyad_context *context;
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t count;
  uint32_t *cell[POLYAD_MAX_ORDER]; /* indices, sorted by mode 0, 1, ... */
  double *value;
  double *weight; /* NULL: all one */
  double weights; /* their sum */
  bool has_rows;
  struct pd_observed_rows rows[POLYAD_MAX_ORDER];
};

/** @return POLYAD_MISMATCH, naming the first cell, where the weights are of other cells than the
 *  tensor, or negative */
polyad_status pd_observations_check_weights(polyad_context *context, const polyad_tensor *tensor,
                                            const polyad_tensor *weights);
/** Takes the entries of `tensor`, its values times 2^-exponent, and the weights of the same cells
 * in `weights` (checked; NULL: none).
 *  @return POLYAD_UNSUPPORTED for a mode longer than 2^32 */
polyad_status pd_observations_create(polyad_context *context, const polyad_tensor *tensor,
                                     const polyad_tensor *weights, int exponent,
                                     struct pd_observations **observations);
void pd_observations_destroy(struct pd_observations *observations);
/** Makes the rows of all modes. */
polyad_status pd_observations_sort(struct pd_observations *observations);
/** Bytes of observations with rows. */
uint64_t pd_observations_bytes(int order, uint64_t count, bool weights);

/** Observations of row i of a mode. */
static inline uint64_t pd_observed_count(const struct pd_observed_rows *rows, uint64_t i) {
  return rows->start[i + 1] - rows->start[i];
}
static inline uint64_t pd_observed_place(const struct pd_observed_rows *rows, uint64_t p) {
  return rows->place != NULL ? rows->place[p] : p;
}
/** Which of the long rows row i is, or UINT64_MAX. */
uint64_t pd_observed_long_row(const struct pd_observed_rows *rows, uint64_t i);

#endif
