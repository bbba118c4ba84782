/* One row's problem of PDNR or PQNR, solved by a block of threads that share its memory: what runs
 * in CUDA's kernel, and in tests on the host, where threads of the system make a block.
 *
 * The products of the other factors' rows at a batch of the row's nonzeros, rows of Pi, are put
 * into the block's memory. Each thread then finds the model of some nonzeros, and after that a part
 * of a sum over them: of the gradient's entries, of the Hessian's, of the log-likelihood. Where a
 * sum has fewer numbers than there are threads, the nonzeros are dealt to several slices, whose
 * sums are added in order. A row that fits into one batch keeps its products in all iterations;
 * those of longer ones are made anew for every sum.
 *
 * What only takes R additions every thread computes for itself, all with the same result, so that
 * all take the same branch; entries of vectors are dealt to the threads, always in the same way.
 * Where one thread is to read what another has written there is a PD_BLOCK_SYNC() between.
 *
 * Whoever includes this defines PD_BLOCK_FUNCTION, what functions begin with, and PD_BLOCK_SYNC(),
 * which waits for all threads of the block. It is C and C++. */
#ifndef PD_NEWTON_BLOCK_H
#define PD_NEWTON_BLOCK_H

#include "engine/loss.h"
#include "linalg/newton_job.h"
#include "linalg/newton_rules.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>

/** The block's memory, cut up. */
struct pd_newton_room {
  double *vector; /* batch x stride: rows of Pi */
  double *x;      /* batch: values */
  double *weight; /* batch: what products are multiplied by */
  double *gain;   /* batch: x log m */
  double *sum;    /* outputs: a sum's numbers of every slice, and then their own */
  double *m, *gradient, *direction, *next, *line; /* rank */
  double *phi;                         /* rank + 1: the last one is the row's gain at m */
  double *active;                      /* rank: 1 where the bound holds a variable */
  double *flag;                        /* 1 */
  double *lower, *inverse;             /* PDNR: the Cholesky factor, reciprocals of its
                                          diagonal, 0 for variables that rest */
  double *step, *change, *rho, *alpha; /* PQNR: the last pairs, memory of each */
  double *old_m, *old_gradient;        /* PQNR: before the last step */
};

/** What a thread knows. */
struct pd_newton_block {
  const struct pd_newton_job *job;
  const struct pd_newton_shape *shape;
  struct pd_newton_room room;
  int thread, threads;   /* its number, from 0, and how many there are */
  uint64_t first, count; /* nonzeros of the row */
  bool staged;           /* all of them are in the block's memory */
  bool gain_known;       /* phi[rank] is of the m that is */
  void *gate;            /* what PD_BLOCK_SYNC() may need */
};

/** What solving one row tells; the same to every thread. */
struct pd_newton_row {
  double kkt;
  uint64_t inner;
  bool changed;
};

PD_BLOCK_FUNCTION struct pd_newton_room
newton_cut_up(const struct pd_newton_job *job, const struct pd_newton_shape *shape, double *next) {
  struct pd_newton_room room;
  size_t rank = (size_t)job->rank, batch = (size_t)shape->batch, pairs = (size_t)job->memory;
  room.vector = next;
  room.x = (next += batch * (size_t)shape->stride);
  room.weight = (next += batch);
  room.gain = (next += batch);
  room.sum = (next += batch);
  room.m = (next += shape->outputs);
  room.gradient = (next += rank);
  room.direction = (next += rank);
  room.next = (next += rank);
  room.line = (next += rank);
  room.phi = (next += rank);
  room.active = (next += rank + 1);
  room.flag = (next += rank);
  next += 1;
  room.lower = room.step = next;
  room.inverse = next + rank * (size_t)shape->stride;
  room.change = next + pairs * rank;
  room.rho = room.change + pairs * rank;
  room.alpha = room.rho + pairs;
  room.old_m = room.alpha + pairs;
  room.old_gradient = room.old_m + rank;
  return room;
}

/* ---- sums over the row's nonzeros --------------------------------------------------------- */

PD_BLOCK_FUNCTION double newton_number(const void *array, int wide, uint64_t k) {
  return wide ? ((const double *)array)[k] : (double)((const float *)array)[k];
}

/* Entry e % R of the row of Pi of nonzero e / R of the batch. */
PD_BLOCK_FUNCTION double newton_product(const struct pd_newton_block *b, uint64_t done, int e) {
  const struct pd_newton_job *job = b->job;
  uint64_t q = b->first + done + (uint64_t)(e / job->rank), r = (uint64_t)(e % job->rank);
  uint64_t p = job->order != NULL ? job->order[q] : q;
  double product = 1;
  for (int k = 0; k < job->columns; ++k) {
    const struct pd_newton_column *column = &job->column[k];
    uint64_t index = (column->plane[p] >> column->shift) & column->mask;
    product *= newton_number(column->factor, job->wide, index * column->stride + r);
  }
  return product;
}

/* Rows of Pi and values of nonzeros [done, done + some) of the row. A thread asks for several
 * entries before it stores the first. */
PD_BLOCK_FUNCTION void newton_stage(const struct pd_newton_block *b, uint64_t done, int some) {
  enum { AHEAD = 4 };
  const struct pd_newton_job *job = b->job;
  int rank = job->rank, count = some * rank;
  for (int first = b->thread; first < count; first += AHEAD * b->threads) {
    double product[AHEAD];
    for (int k = 0; k < AHEAD; ++k)
      product[k] =
          first + k * b->threads < count ? newton_product(b, done, first + k * b->threads) : 0;
    for (int k = 0; k < AHEAD; ++k) {
      int e = first + k * b->threads;
      if (e < count) b->room.vector[e / rank * b->shape->stride + e % rank] = product[k];
    }
  }
  for (int j = b->thread; j < some; j += b->threads) {
    uint64_t q = b->first + done + (uint64_t)j, p = job->order != NULL ? job->order[q] : q;
    if (job->value_at != NULL) p = job->value_at[p];
    b->room.x[j] = newton_number(job->values, job->wide_values, p);
  }
}

/* What is summed: the gradient's entries and behind them the gain; the gain; the Hessian's pairs.
 */
enum newton_what { NEWTON_GRADIENT, NEWTON_GAIN, NEWTON_CURVATURE };

/* The models m . pi_j of a batch, and what follows from them. */
PD_BLOCK_FUNCTION void newton_weigh(const struct pd_newton_block *b, enum newton_what what,
                                    const double *m, int some) {
  const double epsilon = b->job->epsilon;
  for (int j = b->thread; j < some; j += b->threads) {
    const double *pi = b->room.vector + j * b->shape->stride;
    double x = b->room.x[j], model = 0;
    for (int r = 0; r < b->job->rank; ++r)
      model += m[r] * pi[r];
    if (what == NEWTON_CURVATURE)
      b->room.weight[j] = PD_LOSS_CURVATURE(PD_LOSS_POISSON, x, model, epsilon);
    else
      b->room.gain[j] = PD_LOSS_GAIN(PD_LOSS_POISSON, x, model);
    if (what == NEWTON_GRADIENT)
      b->room.weight[j] = PD_LOSS_SLOPE(PD_LOSS_POISSON, x, model, epsilon);
  }
}

/* Number k of a sum, over nonzeros first, first + step, ... of the batch. */
PD_BLOCK_FUNCTION double newton_part(const struct pd_newton_block *b, enum newton_what what, int k,
                                     int first, int step, int some) {
  const double *weight = b->room.weight, *vector = b->room.vector;
  int rank = b->job->rank, stride = b->shape->stride;
  double sum = 0;
  if (what == NEWTON_CURVATURE) {
    const double *left = vector + k % rank, *right = vector + (k % rank + k / rank) % rank;
    for (int j = first; j < some; j += step)
      sum += weight[j] * left[j * stride] * right[j * stride];
  } else if (what == NEWTON_GRADIENT && k < rank) {
    for (int j = first; j < some; j += step)
      sum += weight[j] * vector[j * stride + k];
  } else {
    for (int j = first; j < some; j += step)
      sum += b->room.gain[j];
  }
  return sum;
}

/* room.sum[0 .. outputs) = the sums at m over all nonzeros of the row. */
PD_BLOCK_FUNCTION void newton_sum(struct pd_newton_block *b, enum newton_what what, const double *m,
                                  int outputs) {
  enum { MOST_SLICES = 256 }; /* one thread adds up those of a number */
  int batch = b->shape->batch, slices = b->threads / outputs;
  double *sum = b->room.sum;
  bool fits = b->count <= (uint64_t)batch;
  if (fits && slices > (int)b->count) slices = (int)b->count;
  if (slices > MOST_SLICES) slices = MOST_SLICES;
  if (slices < 1) slices = 1;
  PD_BLOCK_SYNC(b);
  for (int e = b->thread; e < slices * outputs; e += b->threads)
    sum[e] = 0;
  for (uint64_t done = 0; done < b->count; done += (uint64_t)batch) {
    int some = b->count - done < (uint64_t)batch ? (int)(b->count - done) : batch;
    if (!b->staged) {
      newton_stage(b, done, some);
      PD_BLOCK_SYNC(b);
    }
    newton_weigh(b, what, m, some);
    PD_BLOCK_SYNC(b);
    for (int e = b->thread; e < slices * outputs; e += b->threads)
      sum[e] += newton_part(b, what, e % outputs, e / outputs, slices, some);
    PD_BLOCK_SYNC(b);
  }
  b->staged = fits;
  for (int k = b->thread; k < outputs; k += b->threads) {
    double all = sum[k];
    for (int s = 1; s < slices; ++s)
      all += sum[s * outputs + k];
    sum[k] = all;
  }
  PD_BLOCK_SYNC(b);
}

/* ---- steps that both methods take --------------------------------------------------------- */

PD_BLOCK_FUNCTION double newton_total(const double *numbers, int count) {
  double sum = 0;
  for (int r = 0; r < count; ++r)
    sum += numbers[r];
  return sum;
}

PD_BLOCK_FUNCTION double newton_dot(const double *a, const double *b, int count) {
  double sum = 0;
  for (int r = 0; r < count; ++r)
    sum += a[r] * b[r];
  return sum;
}

/* gradient = 1 - phi at m; returns the violation, the largest |min(m, gradient)|. */
PD_BLOCK_FUNCTION double newton_gradient(struct pd_newton_block *b) {
  const struct pd_newton_room *room = &b->room;
  int rank = b->job->rank;
  double kkt = 0;
  newton_sum(b, NEWTON_GRADIENT, room->m, rank + 1);
  for (int r = b->thread; r < rank + 1; r += b->threads) {
    room->phi[r] = room->sum[r];
    if (r < rank) room->gradient[r] = 1 - room->sum[r];
  }
  b->gain_known = true;
  PD_BLOCK_SYNC(b);
  for (int r = 0; r < rank; ++r) {
    double size = fabs(fmin(room->m[r], room->gradient[r]));
    if (!(size <= kkt)) kkt = size;
    if (isnan(room->m[r]) || isnan(room->gradient[r])) return NAN;
  }
  return kkt;
}

/* Which variables the bound holds: see pd_apr_row_active(). Returns how many are free. */
PD_BLOCK_FUNCTION int newton_active(struct pd_newton_block *b) {
  const struct pd_newton_room *room = &b->room;
  int rank = b->job->rank, free = 0;
  double square = 0;
  for (int r = 0; r < rank; ++r) {
    double moved = fmax(room->m[r] - room->gradient[r], 0.0);
    square += (room->m[r] - moved) * (room->m[r] - moved);
  }
  double near = fmin(b->job->active_tolerance, sqrt(square));
  for (int r = 0; r < rank; ++r)
    free += !(room->gradient[r] > 0 && room->m[r] <= near);
  for (int r = b->thread; r < rank; r += b->threads)
    room->active[r] = room->gradient[r] > 0 && room->m[r] <= near ? 1 : 0;
  PD_BLOCK_SYNC(b);
  return free;
}

/* next = max(m + step * direction, 0); returns the decrease that the gradient promises. */
PD_BLOCK_FUNCTION double newton_take_step(struct pd_newton_block *b, double step) {
  const struct pd_newton_room *room = &b->room;
  double slope = 0;
  PD_BLOCK_SYNC(b);
  for (int r = b->thread; r < b->job->rank; r += b->threads) {
    double value = room->m[r] + step * room->direction[r];
    room->next[r] = value > 0 ? value : 0;
  }
  PD_BLOCK_SYNC(b);
  for (int r = 0; r < b->job->rank; ++r)
    slope += room->gradient[r] * (room->next[r] - room->m[r]);
  return slope;
}

/* The objective at next. */
PD_BLOCK_FUNCTION double newton_objective(struct pd_newton_block *b) {
  newton_sum(b, NEWTON_GAIN, b->room.next, 1);
  return newton_total(b->room.next, b->job->rank) - b->room.sum[0];
}

/* Moves m along the direction: see pd_apr_row_search(). *before is the objective at m; returns that
 * at the projected unit step, or *before when that was no descent. */
PD_BLOCK_FUNCTION double newton_search(struct pd_newton_block *b, double *before) {
  const struct pd_newton_room *room = &b->room;
  int rank = b->job->rank;
  double step = 1, unit = INFINITY, value = INFINITY;
  bool enough = false;
  *before = newton_total(room->m, rank) - room->phi[rank];
  for (int tried = 0; tried < PD_NEWTON_STEPS && !enough; ++tried, step /= 2) {
    double slope = newton_take_step(b, step);
    bool descends = !(slope > 0) && !pd_newton_vanishes(newton_total(room->next, rank));
    value = descends ? newton_objective(b) : INFINITY;
    if (tried == 0) unit = value;
    enough = descends && pd_newton_enough(*before, value, slope);
  }
  if (isinf(unit)) unit = *before;
  bool worse = (!enough && value > *before) || pd_newton_vanishes(newton_total(room->next, rank));
  if (worse) unit = *before;
  PD_BLOCK_SYNC(b);
  for (int r = b->thread; r < rank; r += b->threads)
    room->m[r] = worse ? room->m[r] * room->phi[r] : room->next[r];
  b->gain_known = false;
  PD_BLOCK_SYNC(b);
  return unit;
}

PD_BLOCK_FUNCTION void newton_use_gradient(struct pd_newton_block *b) {
  for (int r = b->thread; r < b->job->rank; r += b->threads)
    b->room.direction[r] = -b->room.gradient[r];
}

/* ---- PDNR --------------------------------------------------------------------------------- */

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

/* ---- PQNR --------------------------------------------------------------------------------- */

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

/* ---- rows --------------------------------------------------------------------------------- */

/* The last sum over the row, unless it is known: the log-likelihood's part of the data. */
PD_BLOCK_FUNCTION void newton_put_gain(struct pd_newton_block *b, uint64_t i) {
  const struct pd_newton_room *room = &b->room;
  if (!b->gain_known) newton_sum(b, NEWTON_GAIN, room->m, 1);
  if (b->thread == 0)
    b->job->logarithms[i] = b->gain_known ? room->phi[b->job->rank] : room->sum[0];
}

/** Solves row i; empty ones become zero. */
PD_BLOCK_FUNCTION struct pd_newton_row newton_solve_row(struct pd_newton_block *b, uint64_t i) {
  const struct pd_newton_job *job = b->job;
  struct pd_newton_row result = {0, 0, false};
  b->first = job->first[i];
  b->count = job->end[i] - b->first;
  b->staged = b->gain_known = false;
  PD_BLOCK_SYNC(b); /* the row before has been stored */
  for (int r = b->thread; r < job->rank; r += b->threads)
    b->room.m[r] =
        b->count > 0 ? newton_number(job->factor, job->wide, i * job->stride + (uint64_t)r) : 0;
  PD_BLOCK_SYNC(b);
  if (b->count > 0) result = job->newton ? newton_solve_pdnr(b) : newton_solve_pqnr(b);
  for (int r = b->thread; r < job->rank; r += b->threads) {
    uint64_t at = i * job->stride + (uint64_t)r;
    if (job->wide)
      ((double *)job->factor)[at] = b->room.m[r];
    else
      ((float *)job->factor)[at] = (float)b->room.m[r];
  }
  if (job->logarithms != NULL) newton_put_gain(b, i);
  return result;
}

#endif
