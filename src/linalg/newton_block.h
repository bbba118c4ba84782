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

#include "linalg/newton_pdnr.h"
#include "linalg/newton_pqnr.h"

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
