/* Threads where address space is limited (ulimit -v): the OpenMP run-time ends the process when it
 * cannot start one, so they are counted and started before memory is spent on anything else. */
#ifndef PD_START_THREADS_H
#define PD_START_THREADS_H

#include <stdint.h>

/** How many of `wanted` threads (the caller's own included) can run; they are started. Without a
 *  limit: all, and nothing is started. */
int pd_start_threads(int wanted);
/** Address space that the stacks of `threads` threads take; 0 without a limit. */
uint64_t pd_thread_bytes(int threads);

#endif
