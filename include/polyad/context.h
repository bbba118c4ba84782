/** @file
 *  @brief The context: threads, memory limit, seed, device, messages, cancellation, errors.
 *
 *  A context serves one thread at a time. Only polyad_cancel() may be called from any
 *  thread or signal handler. After fork() create a new context in the child. */
#ifndef POLYAD_CONTEXT_H
#define POLYAD_CONTEXT_H

#include <polyad/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a computation needs to know of its surroundings. NULL for it: POLYAD_INVALID_ARGUMENT, but
 *  for the functions of decompose.h. */
typedef struct polyad_context polyad_context;

/** Importance of a message. */
typedef enum polyad_log_level {
  POLYAD_LOG_WARNING = 0, /**< something the user should know */
  POLYAD_LOG_INFO = 1,    /**< what was done */
  POLYAD_LOG_DEBUG = 2    /**< why it was done so */
} polyad_log_level;

/** Receives one message without a trailing newline. Called on the thread that uses the context. */
typedef void (*polyad_log_function)(void *user, polyad_log_level level, const char *message);

/** State of a running decomposition, given to the progress function after each iteration, and
 *  about twice a second during long work before the first one. */
typedef struct polyad_progress {
  int iteration;         /**< iterations done, from 1 */
  int max_iterations;    /**< limit on iterations */
  double fit;            /**< current fit; NaN where the algorithm has none */
  double change;         /**< change of the fit since the iteration before; NaN at first */
  double log_likelihood; /**< Poisson log-likelihood; NaN where the algorithm has none */
  double kkt_violation;  /**< largest violation of the optimality conditions; NaN where unused */
  double seconds;        /**< wall-clock seconds since the start */
  int restart;           /**< which of several starts is running, from 0 */
  const char *stage;     /**< NULL after an iteration; else what is done before the first one, such
                              as "choosing ranks": `iteration` is 0 then, `fit` NaN where unknown */
} polyad_progress;

/** Called after each iteration, and during long work before the first one; a non-zero result ends
 *  the run as polyad_cancel() does. */
typedef int (*polyad_progress_function)(void *user, const polyad_progress *progress);

/** Where the library takes its memory from. Both functions may be called from several
 *  threads at once. `allocate` returns NULL when there is no memory; `alignment` is a
 *  power of two. `release` is given the size that was asked for. */
typedef struct polyad_allocator {
  void *(*allocate)(void *user, size_t alignment, size_t bytes); /**< like aligned_alloc */
  void (*release)(void *user, void *pointer, size_t bytes);      /**< like free; never NULL */
  void *user;                                                    /**< passed to both */
} polyad_allocator;

/** What is known about the last error of a context. Strings are owned by the context and
 *  valid until its next call. */
typedef struct polyad_error {
  polyad_status status; /**< POLYAD_OK when there was no error */
  const char *message;  /**< the whole text, as polyad_last_error() gives it */
  const char *file;     /**< the input concerned, or NULL */
  uint64_t line;        /**< its line, from 1; 0 when it has none */
  uint64_t column;      /**< byte in that line, from 1; 0 when unknown */
} polyad_error;

/** Creates a context: all processors this process may use, the machine's (or cgroup's)
 *  memory as limit, seed 0, device "auto" (which opens no device yet), no messages.
 *  @param[out] context  destroyed with polyad_context_destroy()
 *  @return POLYAD_OK, POLYAD_INVALID_ARGUMENT or POLYAD_OUT_OF_MEMORY */
POLYAD_API POLYAD_CHECKED polyad_status polyad_context_create(polyad_context **context);

/** As polyad_context_create(), with all memory taken from `allocator` (copied; NULL means
 *  the system's). */
POLYAD_API POLYAD_CHECKED polyad_status
polyad_context_create_with_allocator(const polyad_allocator *allocator, polyad_context **context);

/** Destroys a context; NULL is fine. Objects made with it must be destroyed before. */
POLYAD_API void polyad_context_destroy(polyad_context *context);

/** Sets the number of threads (1 to 4096); 0 means all processors this process may use. Under a
 *  limit of address space (ulimit -v) that has no room for so many there are fewer, with a warning.
 */
POLYAD_API POLYAD_CHECKED polyad_status polyad_set_threads(polyad_context *context, int threads);
/** Number of threads that computations use. */
POLYAD_API int polyad_threads(const polyad_context *context);

/** Sets the memory limit in bytes; 0 means what the machine, the cgroup or a limit of address space
 *  leaves now, of which a process of a team gets its part (polyad_team_create_mpi()). */
POLYAD_API POLYAD_CHECKED polyad_status polyad_set_memory_limit(polyad_context *context,
                                                                uint64_t bytes);
/** Memory limit in bytes. */
POLYAD_API uint64_t polyad_memory_limit(const polyad_context *context);
/** Bytes the library holds now through this context. */
POLYAD_API uint64_t polyad_memory_in_use(const polyad_context *context);
/** Most bytes the library has held at once through this context. */
POLYAD_API uint64_t polyad_memory_peak(const polyad_context *context);

/** Sets the seed of everything random (default 0). */
POLYAD_API void polyad_set_seed(polyad_context *context, uint64_t seed);
/** Seed of everything random. */
POLYAD_API uint64_t polyad_seed(const polyad_context *context);

/** Chooses the device: "auto", "cpu", "cuda", "cuda:N" or "opencl". For polyad_cp_als() and
 *  polyad_cp_apr() it may be several devices, each of which gets a part of the tensor: equal parts
 *  where the devices are of one kind ("cuda:all", "cuda:0-3"), else parts by their measured speed
 *  ("cuda,cpu"); docs/scale.md says more.
 *  A device that is named is opened at once. "auto" opens nothing: when something first needs a
 *  device (a plan, polyad_device()) it becomes the first GPU of CUDA, else the CPU, and says so at
 *  level info. OpenCL is opened only by name; some of its drivers end the process where they do not
 *  find what they expect of a machine.
 *
 *  Kernels on the CPU use the best instruction set of the processor, or the one that the
 * environment variable POLYAD_ISA names: "plain", "avx2" or "avx512"; "auto" and "" mean the best.
 * It is read once in a process, when a device is first chosen or needed.
 *  @return POLYAD_INVALID_ARGUMENT for another word (also in POLYAD_ISA), POLYAD_DEVICE when that
 *          device is not there, POLYAD_UNSUPPORTED when the processor has not what POLYAD_ISA names
 */
POLYAD_API POLYAD_CHECKED polyad_status polyad_set_device(polyad_context *context,
                                                          const char *device);
/** Name of the chosen device, such as "cpu" or "cuda:0", or of some: "cuda:0,cpu"; settles "auto".
 */
POLYAD_API const char *polyad_device(polyad_context *context);

/** Sets the number that messages give to the first mode, row, component and nonzero: 0 (default),
 * as this interface counts them, or 1, as files and people do. Messages about a place in a file
 * count as the file does. A plan's explanation keeps the base that was set when the plan was made.
 *  @return POLYAD_INVALID_ARGUMENT for another number */
POLYAD_API POLYAD_CHECKED polyad_status polyad_set_message_base(polyad_context *context, int base);
/** The number that messages give to the first mode. */
POLYAD_API int polyad_message_base(const polyad_context *context);

/** Sets who receives messages of `level` and more important ones; NULL: nobody. */
POLYAD_API void polyad_set_log(polyad_context *context, polyad_log_level level,
                               polyad_log_function function, void *user);
/** Sets who is told about each iteration; NULL: nobody. */
POLYAD_API void polyad_set_progress(polyad_context *context, polyad_progress_function function,
                                    void *user);

/** Asks a running computation to end after its current iteration; before the first one, when there
 *  is no model yet, it ends with POLYAD_CANCELLED. May be called from any thread and from signal
 *  handlers. The request stays in force until polyad_clear_cancel(). */
POLYAD_API void polyad_cancel(polyad_context *context);
/** Forgets an earlier polyad_cancel(). */
POLYAD_API void polyad_clear_cancel(polyad_context *context);

/** Text of the last error of this context, such as "x.tns:4:7: error: 'nan' is not a finite
 *  number; expected a value"; "" when there was none. Valid until the context's next call. */
POLYAD_API const char *polyad_last_error(const polyad_context *context);
/** The last error of this context in its parts: status, text, and where in which file. */
POLYAD_API polyad_error polyad_last_error_record(const polyad_context *context);

#ifdef __cplusplus
}
#endif
#endif
