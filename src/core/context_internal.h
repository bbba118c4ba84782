/* Layout of the context. Only src/core looks inside; others use core.h. */
#ifndef PD_CONTEXT_INTERNAL_H
#define PD_CONTEXT_INTERNAL_H

#include "core/arena.h"
#include "core/core.h"
#include <stdatomic.h>

#define PD_MESSAGE_BYTES 1024

struct polyad_context {
  polyad_allocator allocator;
  struct pd_arena arena; /* of the system's memory, where that is the allocator */
  int threads;
  bool threads_set; /* by the caller */
  uint64_t memory_limit;
  bool memory_limit_set; /* by the caller */
  int memory_parts; /* processes that divide the memory that there is; 0: this one has it all */
  _Atomic uint64_t memory_in_use;
  _Atomic uint64_t memory_peak;
  uint64_t seed;
  int message_base;   /* number of the first mode, row or component in messages: 0 or 1 */
  const char *source; /* file that arrays come from; NULL: the caller */
  char device[256];   /* a name, or several with commas between */
  polyad_log_level log_level;
  polyad_log_function log;
  void *log_user;
  polyad_progress_function progress;
  void *progress_user;
  atomic_int cancelled;
  polyad_status error_status;
  char error_message[PD_MESSAGE_BYTES];
  char error_file[256];
  uint64_t error_line;
  uint64_t error_column;
};

/** The system's memory, large blocks by way of the arena. */
polyad_allocator pd_system_allocator(struct pd_arena *arena);

#endif
