/* The system's memory for large blocks, kept from one block to the next.
 *
 * Memory that is fresh from the system is zeroed page by page when it is first written, which takes
 * as long as several passes over it, and much longer on a virtual machine whose host must find the
 * page. Reading and building take and give back many large blocks: what is given back is therefore
 * kept and handed out again, its pages put together to larger blocks where need be. Whoever uses an
 * arena returns what is kept before it makes the process larger than it has been (memory.c). The
 * system is told that it may take back what is kept when memory runs short. */
#ifndef PD_ARENA_H
#define PD_ARENA_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { PD_ARENA_BLOCK_LEAST = 2 << 20, PD_ARENA_UNIT = 64 << 10, PD_ARENA_EXTENTS_MOST = 64 };

struct pd_arena {
  pthread_mutex_t mutex;
  _Atomic uint64_t kept; /* bytes */
  int extents;
  struct pd_extent {
    char *begin;
    uint64_t bytes;                    /* whole units */
  } extent[PD_ARENA_EXTENTS_MOST + 1]; /* kept memory by ascending address, neighbours being one */
};

void pd_arena_init(struct pd_arena *arena);
/** Returns what is kept; no block may be in use. */
void pd_arena_end(struct pd_arena *arena);
/** A block of at least PD_ARENA_BLOCK_LEAST bytes, at a whole unit; NULL: out of memory. */
void *pd_arena_take(struct pd_arena *arena, uint64_t bytes);
/** Gives back a block; `bytes` as they were asked for. */
void pd_arena_give(struct pd_arena *arena, void *block, uint64_t bytes);
/** Returns at least so many bytes of what is kept to the system, UINT64_MAX: all. */
void pd_arena_return(struct pd_arena *arena, uint64_t bytes);

#endif
