/* A row by PDNR in a block of threads (newton_block.h): the Hessian of the free variables, with a
 * damping on its diagonal, is factored by Cholesky's method and gives the direction, along which a
 * search goes; how well the quadratic model foretold the change sets the next damping. */
#ifndef PD_NEWTON_PDNR_H
#define PD_NEWTON_PDNR_H

#include "linalg/newton_sums.h"

/* Entry (r, s) of the Hessian with mu on its diagonal; it lies in room.sum. */
PD_BLOCK_FUNCTION double newton_damped(const struct pd_newton_block *b, double mu, int r, int s) {
  int rank = b->job->rank, apart = s >= r ? s - r : s - r + rank;
  double entry =
      apart <= rank / 2 ? b->room.sum[apart * rank + r] : b->room.sum[(rank - apart) * rank + s];
  return r == s ? entry + mu : entry;
}

/* Cholesky's method for the free variables, a column after the other, each row by one thread;
 * columns of others are zero. False: too ill-conditioned, as pd_cholesky() tells. */
PD_BLOCK_FUNCTION bool newton_factor(struct pd_newton_block *b, double mu, int free) {
  const struct pd_newton_room *room = &b->room;
  int rank = b->job->rank, stride = b->shape->stride;
  double limit = (double)free * DBL_EPSILON;
  for (int s = 0; s < rank; ++s) {
    bool rests = room->active[s] != 0;
    const double *line = room->lower + s * stride;
    for (int r = b->thread; r < rank; r += b->threads) {
      double *row = room->lower + r * stride;
      if (r < s) continue;
      double sum = rests || room->active[r] != 0 ? 0 : newton_damped(b, mu, r, s);
      for (int k = 0; k < s && !rests; ++k)
        sum -= row[k] * line[k];
      if (r > s) {
        row[s] = sum;
        continue;
      }
      bool good = sum > 0 && sum / newton_damped(b, mu, s, s) > limit;
      room->flag[0] = !rests && !good;
      room->inverse[s] = good ? 1 / sqrt(sum) : 0;
    }
    PD_BLOCK_SYNC(b);
    if (room->flag[0] != 0) return false;
    for (int r = b->thread; r < rank; r += b->threads)
      if (r > s) room->lower[r * stride + s] *= room->inverse[s];
    PD_BLOCK_SYNC(b);
  }
  return true;
}

/* next = the free variables' step -(damped Hessian)^-1 gradient; 0 for others. */
PD_BLOCK_FUNCTION void newton_substitute(struct pd_newton_block *b) {
  const struct pd_newton_room *room = &b->room;
  int rank = b->job->rank, stride = b->shape->stride;
  double *right = room->line;
  for (int r = b->thread; r < rank; r += b->threads)
    right[r] = room->active[r] != 0 ? 0 : -room->gradient[r];
  PD_BLOCK_SYNC(b);
  for (int s = 0; s < rank; ++s) {
    double x = right[s] * room->inverse[s];
    for (int r = b->thread; r < rank; r += b->threads)
      if (r > s) right[r] -= room->lower[r * stride + s] * x;
    PD_BLOCK_SYNC(b);
  }
  for (int r = b->thread; r < rank; r += b->threads)
    right[r] *= room->inverse[r];
  PD_BLOCK_SYNC(b);
  for (int s = rank - 1; s >= 0; --s) {
    double x = right[s] * room->inverse[s];
    for (int r = b->thread; r < rank; r += b->threads) {
      if (r < s) right[r] -= room->lower[s * stride + r] * x;
      if (r == s) room->next[s] = x;
    }
    PD_BLOCK_SYNC(b);
  }
}

/* Change of the quadratic model along the step in next. */
PD_BLOCK_FUNCTION double newton_model_change(struct pd_newton_block *b, double mu) {
  const struct pd_newton_room *room = &b->room;
  int rank = b->job->rank;
  for (int r = b->thread; r < rank; r += b->threads) {
    double line = 0;
    for (int s = 0; s < rank; ++s)
      line += newton_damped(b, mu, r, s) * room->next[s];
    room->line[r] = room->next[r] * (0.5 * line + room->gradient[r]);
  }
  PD_BLOCK_SYNC(b);
  return newton_total(room->line, rank);
}

/* The direction of a damped Newton step, as apr_pdnr.c finds it. Returns the reduction that the
 * model predicts (negative). */
PD_BLOCK_FUNCTION double newton_direction(struct pd_newton_block *b, double mu) {
  const struct pd_newton_room *room = &b->room;
  int rank = b->job->rank, free = newton_active(b);
  double change = 0;
  newton_sum(b, NEWTON_CURVATURE, room->m, PD_NEWTON_PAIRS(rank));
  for (int r = b->thread; r < rank; r += b->threads)
    room->direction[r] = room->active[r] != 0 && room->m[r] != 0 ? -room->gradient[r] : 0;
  if (free == 0) return 0;
  if (!newton_factor(b, mu, free)) {
    newton_use_gradient(b);
    return 0;
  }
  newton_substitute(b);
  change = newton_model_change(b, mu);
  if (change > 0) {
    newton_use_gradient(b);
    return change;
  }
  for (int r = b->thread; r < rank; r += b->threads)
    if (room->active[r] == 0) room->direction[r] = room->next[r];
  return change;
}

PD_BLOCK_FUNCTION struct pd_newton_row newton_solve_pdnr(struct pd_newton_block *b) {
  struct pd_newton_row result = {0, 0, false};
  double mu = b->job->damping;
  while (result.inner < (uint64_t)b->job->most) {
    double kkt = newton_gradient(b);
    if (result.inner++ == 0) result.kkt = kkt;
    if (isnan(kkt)) result.kkt = NAN;
    if (!(kkt >= b->job->tolerance)) break;
    result.changed = true;
    double predicted = newton_direction(b, mu), before;
    double unit = newton_search(b, &before);
    mu = pd_newton_damping(mu, before, unit, predicted);
  }
  return result;
}

#endif
