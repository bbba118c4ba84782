/* How many threads a kernel is worth that is called again and again.
 *
 * The number follows from the work and from what was asked for alone, never from the load: results
 * depend on it. The unit of work is a nonzero (or a row) times a column. A thread that has less
 * than PD_THREAD_WORK of it, tens of microseconds, gains less than waiting for it costs where
 * processors are busy. */
#ifndef PD_THREADS_H
#define PD_THREADS_H

#include <polyad/context.h>
#include <stdint.h>

enum { PD_THREAD_WORK = 1 << 16 };

/** Threads for `work` units, from 1 to `most`. */
int pd_worth_threads(int most, uint64_t work);
/** The same for `count` multiply-adds of dense matrices, which take a quarter of the time. */
int pd_worth_threads_dense(int most, uint64_t count);
/** The same for a kernel over nonzeros, with the context's threads. */
int pd_kernel_threads(const polyad_context *context, uint64_t nonzeros, uint64_t columns);

/** For tests, whose tensors are small: PD_THREAD_WORK is `least` from now on; 0: as it was. */
void pd_worth_threads_force(uint64_t least);

#endif
