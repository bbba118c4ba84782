/* Threads that the tested code begins and waits for, counted: for programs that are linked with
 * -Wl,--wrap=pthread_create,--wrap=pthread_join. */
#ifndef COUNTED_THREADS_H
#define COUNTED_THREADS_H

#include <stdatomic.h>

extern atomic_int threads_begun, threads_ended;
/** While it is set, none can be begun. */
extern atomic_bool threads_refused;

#endif
