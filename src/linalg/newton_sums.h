/* What PDNR and PQNR share of the work of a block of threads on a row (newton_block.h): its memory,
 * sums over the row's nonzeros, the gradient, the active entries and the search along a direction.
 */
#ifndef PD_NEWTON_SUMS_H
#define PD_NEWTON_SUMS_H

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

#endif
