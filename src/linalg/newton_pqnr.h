/* A row by PQNR in a block of threads (newton_block.h): the direction comes from the last pairs of
 * steps and changes of the gradient, by the two loops of L-BFGS. */
#ifndef PD_NEWTON_PQNR_H
#define PD_NEWTON_PQNR_H

#include "linalg/newton_sums.h"

/* How many pairs are kept, and which is the newest. */
struct newton_pairs {
  int count, newest;
};

/* Keeps the last step, unless the curvature along it is not positive. */
PD_BLOCK_FUNCTION void newton_remember(struct pd_newton_block *b, struct newton_pairs *pairs) {
  const struct pd_newton_room *room = &b->room;
  int rank = b->job->rank, size = b->job->memory;
  int place = pairs->count == 0 ? 0 : (pairs->newest + 1) % size;
  double product = 0;
  for (int r = 0; r < rank; ++r)
    product += (room->m[r] - room->old_m[r]) * (room->gradient[r] - room->old_gradient[r]);
  double rho = 1 / product;
  if (!(rho > 0) || isinf(rho)) return;
  for (int r = b->thread; r < rank; r += b->threads) {
    room->step[place * rank + r] = room->m[r] - room->old_m[r];
    room->change[place * rank + r] = room->gradient[r] - room->old_gradient[r];
  }
  if (b->thread == 0) room->rho[place] = rho;
  pairs->newest = place;
  if (pairs->count < size) pairs->count += 1;
}

/* direction += factor * from, when all threads have read it. */
PD_BLOCK_FUNCTION void newton_add(struct pd_newton_block *b, double factor, const double *from) {
  PD_BLOCK_SYNC(b);
  for (int r = b->thread; r < b->job->rank; r += b->threads)
    b->room.direction[r] += factor * from[r];
  PD_BLOCK_SYNC(b);
}

/* The two loops of L-BFGS over the free variables, as apr_pqnr.c has them. */
PD_BLOCK_FUNCTION void newton_two_loops(struct pd_newton_block *b,
                                        const struct newton_pairs *pairs) {
  const struct pd_newton_room *room = &b->room;
  int rank = b->job->rank, size = b->job->memory, k = pairs->newest;
  double *d = room->direction;
  for (int i = 0; i < pairs->count; ++i, k = (k + size - 1) % size) {
    double alpha = room->rho[k] * newton_dot(room->step + k * rank, d, rank);
    newton_add(b, -alpha, room->change + k * rank);
    if (b->thread == 0) room->alpha[k] = alpha;
  }
  const double *change = room->change + pairs->newest * rank;
  double scale = 1 / room->rho[pairs->newest] / newton_dot(change, change, rank);
  for (int r = b->thread; r < rank; r += b->threads)
    d[r] *= scale;
  PD_BLOCK_SYNC(b);
  for (int i = 0; i < pairs->count; ++i) {
    k = (k + 1) % size;
    double beta = room->rho[k] * newton_dot(room->change + k * rank, d, rank);
    newton_add(b, room->alpha[k] - beta, room->step + k * rank);
  }
}

PD_BLOCK_FUNCTION void newton_find_quasi(struct pd_newton_block *b,
                                         const struct newton_pairs *pairs) {
  const struct pd_newton_room *room = &b->room;
  int rank = b->job->rank;
  (void)newton_active(b);
  for (int r = b->thread; r < rank; r += b->threads)
    room->direction[r] = room->active[r] != 0 ? 0 : -room->gradient[r];
  PD_BLOCK_SYNC(b);
  if (pairs->count == 0) return;
  newton_two_loops(b, pairs);
  for (int r = b->thread; r < rank; r += b->threads)
    if (room->active[r] != 0) room->direction[r] = 0;
}

PD_BLOCK_FUNCTION void newton_keep(struct pd_newton_block *b) {
  PD_BLOCK_SYNC(b); /* the last step has been remembered */
  for (int r = b->thread; r < b->job->rank; r += b->threads) {
    b->room.old_m[r] = b->room.m[r];
    b->room.old_gradient[r] = b->room.gradient[r];
  }
}

/* A step along the gradient first gives L-BFGS something to begin with. */
PD_BLOCK_FUNCTION struct pd_newton_row newton_solve_pqnr(struct pd_newton_block *b) {
  struct pd_newton_row result = {0, 0, false};
  struct newton_pairs pairs = {0, 0};
  double before;
  (void)newton_gradient(b);
  newton_keep(b);
  newton_use_gradient(b);
  (void)newton_search(b, &before);
  while (result.inner < (uint64_t)b->job->most) {
    double kkt = newton_gradient(b);
    if (result.inner++ == 0) result.kkt = kkt;
    if (isnan(kkt)) result.kkt = NAN;
    if (!(kkt >= b->job->tolerance)) break;
    result.changed = true;
    newton_remember(b, &pairs);
    newton_find_quasi(b, &pairs);
    newton_keep(b);
    (void)newton_search(b, &before);
  }
  return result;
}

#endif
