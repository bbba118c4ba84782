/* Operations on one row: engine/row.h. Products are taken a tile at a time: weights of a tile lie
 * on the stack, and for R x R sums its products times the roots of their weights lie in `room`, so
 * that the kernel for Gram matrices adds them up. */
#include "engine/row.h"
#include "linalg/factor_kernels.h"
#include <assert.h>
#include <math.h>
#include <string.h>

void pd_row_models(const struct pd_row_terms *terms, const double *b, double *model) {
  pd_factor_kernels_for(POLYAD_F64)
      ->row_dots(terms->count, terms->stride, terms->product, b, model);
}

/* What products [first, first + count) are multiplied by; in `room` unless it is their values. */
static const double *row_weights(const struct pd_op *op, const struct pd_row_terms *terms,
                                 uint64_t first, uint64_t count, double *room) {
  const struct pd_loss *loss = &op->loss;
  const double *x = terms->value + first;
  if (op->weight == PD_VALUE) return x;
  const double *m = terms->model + first;
  for (uint64_t j = 0; j < count; ++j)
    if (op->weight == PD_GAIN_GRADIENT)
      room[j] = PD_LOSS_SLOPE(loss->kind, x[j], m[j], loss->least);
    else
      // Two gains are linear, both curve by 0: NOLINTNEXTLINE(bugprone-branch-clone)
      room[j] = PD_LOSS_CURVATURE(loss->kind, x[j], m[j], loss->least);
  return room;
}

/* Products of a tile times the roots of their weights, padded; themselves where they are so. */
static const double *row_scaled(const struct pd_op *op, const struct pd_row_terms *terms,
                                uint64_t first, uint64_t count, double *room) {
  const size_t rank = terms->rank, padded = pd_padded(rank);
  const double *from = terms->product + first * terms->stride, *weight = NULL;
  double weights[PD_TILE_ROWS];
  if (op->weight != PD_ONE)
    weight = row_weights(op, terms, first, count, weights);
  else if (terms->stride == padded)
    return from;
  for (uint64_t j = 0; j < count; ++j, from += terms->stride, room += padded) {
    const double root = weight != NULL ? sqrt(weight[j]) : 1;
    for (size_t r = 0; r < rank; ++r)
      room[r] = root * from[r];
    memset(room + rank, 0, (padded - rank) * sizeof *room);
  }
  return room - count * padded;
}

static double row_gains(const struct pd_op *op, const struct pd_row_terms *terms) {
  double sum = 0;
  for (uint64_t j = 0; j < terms->count; ++j)
    sum += PD_LOSS_GAIN(op->loss.kind, terms->value[j], terms->model[j]);
  return sum;
}

void pd_row_run(const struct pd_op *op, const struct pd_row_terms *terms, double *room,
                double *out) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(POLYAD_F64);
  double weights[PD_TILE_ROWS];
  assert(op->combine == PD_HADAMARD && op->into != PD_INTO_NONZEROS);
  if (op->into == PD_INTO_SCALAR) {
    *out += row_gains(op, terms);
    return;
  }
  for (uint64_t first = 0; first < terms->count; first += PD_TILE_ROWS) {
    uint64_t left = terms->count - first, count = left < PD_TILE_ROWS ? left : PD_TILE_ROWS;
    if (op->into == PD_INTO_SQUARES) {
      const double *rows = row_scaled(op, terms, first, count, room);
      kernels->gram_padded((size_t)count, terms->rank, rows, out);
    } else {
      const double *weight = row_weights(op, terms, first, count, weights);
      kernels->row_sums(count, terms->stride, terms->product + first * terms->stride, weight, out);
    }
  }
}
