/* What every part of the library uses: errors, memory, messages, cancellation, threads, and with
 * them the C library's headers and the small ones of this folder, which files that include this one
 * need not name. Knows nothing of tensors. */
#ifndef PD_CORE_H
#define PD_CORE_H

#include "core/bits.h"
#include "core/numbers.h"
#include "core/random.h"
#include "core/threads.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <polyad/context.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define PD_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define PD_PRINTF(text, first)
#endif

/* ---- errors ----------------------------------------------------------------------------
 * The deepest message stays: pd_fail() on a context that already holds an error of the
 * running call keeps the first. Public entry points begin with PD_ENTER(), which starts afresh. */

/** Forwards a failure: `PD_TRY(call)` returns from the function when the call fails. */
#define PD_TRY(call)                                                                               \
  do {                                                                                             \
    polyad_status pd_try_status_ = (call);                                                         \
    if (pd_try_status_ != POLYAD_OK) return pd_try_status_;                                        \
  } while (0)

/** Refuses an argument: `PD_EXPECT(context, condition, message…)` returns POLYAD_INVALID_ARGUMENT
 * from the function where the condition does not hold. */
#define PD_EXPECT(context, condition, ...)                                                         \
  do {                                                                                             \
    if (!(condition)) return pd_fail((context), POLYAD_INVALID_ARGUMENT, __VA_ARGS__);             \
  } while (0)

/** Forwards a failure to the function's `cleanup:` label; needs a variable `status`. */
#define PD_TRY_CLEANUP(call)                                                                       \
  do {                                                                                             \
    status = (call);                                                                               \
    if (status != POLYAD_OK) goto cleanup;                                                         \
  } while (0)

/** Starts a call: forgets the error of the call before. */
void pd_begin(polyad_context *context);

/** What a public call begins with: nothing can be said without a context. */
#define PD_ENTER(context)                                                                          \
  do {                                                                                             \
    if ((context) == NULL) return POLYAD_INVALID_ARGUMENT;                                         \
    pd_begin(context);                                                                             \
  } while (0)

/** Records an error without a place and returns `status`. "polyad_last_error" then gives the
 *  text alone. Text that came from outside goes through pd_quote() first. */
polyad_status pd_fail(polyad_context *context, polyad_status status, const char *format, ...)
    PD_PRINTF(3, 4);

/** Records "FILE: error: TEXT" (line 0) or "FILE:LINE:COL: error: TEXT" and returns `status`.
 *  `file` is escaped here; "-" becomes "<stdin>". Column 0 is left out. */
polyad_status pd_fail_at(polyad_context *context, polyad_status status, const char *file,
                         uint64_t line, uint64_t column, const char *format, ...) PD_PRINTF(6, 7);

/** Records the standard "no memory for N bytes" error. */
polyad_status pd_fail_memory(polyad_context *context, uint64_t bytes);

#define PD_QUOTE_BYTES 168 /* enough for 40 input bytes, each escaped as \xNN, and quotes */
/** Writes bytes from outside so that a terminal and JSON can take them: at most 40 bytes, then
 *  "..."; control bytes, non-ASCII that is not valid UTF-8, quotes and backslashes escaped.
 *  Returns `out`. */
const char *pd_quote(char out[PD_QUOTE_BYTES], const void *bytes, size_t length);

/** Bytes of the UTF-8 character at the front of a text of `length` bytes, at least one; 0 where
 *  there is none. */
size_t pd_utf8_length(const unsigned char *s, size_t length);

/** Number of a mode in messages: `mode` plus the base that polyad_set_message_base() set. Every
 *  message that names a mode of a tensor or model in memory writes this number. Messages about a
 *  place in a file count as the file does, and do without. */
int pd_shown_mode(const polyad_context *context, int mode);
/** The same for a row, an index, a component or a nonzero. */
uint64_t pd_shown(const polyad_context *context, uint64_t number);
/** Fails where `mode` is none of a tensor of this order. */
polyad_status pd_check_mode(polyad_context *context, int mode, int order);

/** Says which file the arrays come from that the next calls make tensors of, so that warnings name
 * it; NULL: from the caller again. The path is not copied. */
void pd_set_source(polyad_context *context, const char *path);
const char *pd_source(const polyad_context *context);

/* ---- memory ----------------------------------------------------------------------------
 * All memory comes from the context's allocator, 64-byte aligned (2 MiB and huge pages for
 * large blocks), is counted, and is checked against the memory limit. */

/** Allocates count * size bytes (overflow-checked; zero bytes give a valid pointer).
 *  Contents are undefined. On failure *out is NULL and the error is recorded. */
polyad_status pd_alloc(polyad_context *context, uint64_t count, size_t size, void **out);
/** Fills memory with zeros, a long array by all threads: the system hands out a page when it is
 *  touched first, which takes longer than writing it. */
void pd_fill_zero(polyad_context *context, void *to, uint64_t bytes);
/** Copies memory, a long array by all threads, to where nothing of it lies. */
void pd_copy(polyad_context *context, void *to, const void *from, uint64_t bytes);
/** pd_alloc() and pd_fill_zero(). */
polyad_status pd_alloc_zero(polyad_context *context, uint64_t count, size_t size, void **out);
/** Changes the size of a block (contents kept up to the smaller size). */
polyad_status pd_realloc(polyad_context *context, uint64_t count, size_t size, void **pointer);
/** Frees a block; NULL is fine. May be called from any thread. The context may be NULL: each
 *  block remembers where it came from. */
void pd_free(polyad_context *context, void *pointer);
/** The same for several: PD_FREE(ctx, a, b, c). All addresses are read before the first is freed.
 */
#define PD_FREE(context, ...)                                                                      \
  pd_free_all(context, (void *const[]){__VA_ARGS__},                                               \
              sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
void pd_free_all(polyad_context *context, void *const *pointers, size_t count);
/** Returns to the system what large blocks that were freed have left for the next ones: the end of
 *  work that took and freed many (core/arena.h). */
void pd_memory_shed(polyad_context *context);
/** Typed short forms: PD_NEW(ctx, n, &array). */
#define PD_NEW(context, count, out) pd_alloc(context, count, sizeof **(out), (void **)(out))
#define PD_NEW_ZERO(context, count, out)                                                           \
  pd_alloc_zero(context, count, sizeof **(out), (void **)(out))

/** Fails with POLYAD_MEMORY_LIMIT when `bytes` more would pass the limit: "WHAT: N bytes
 *  more are needed and U are in use, N + U in all; the memory limit is L". Called with estimates
 *  before anything large is allocated. */
polyad_status pd_memory_check(polyad_context *context, uint64_t bytes, const char *what);

/** Whether the memory limit is the caller's, and not what the machine or control group has. */
bool pd_memory_limit_is_set(const polyad_context *context);
/** How many processes the memory that there is belongs to, where the caller has set no limit. */
void pd_memory_divide(polyad_context *context, int parts);
/** The limit for memory of devices, of which processes divide nothing. */
uint64_t pd_memory_limit_of_devices(const polyad_context *context);
/** Whether the caller has set a number of threads. */
bool pd_threads_are_set(const polyad_context *context);
/** Threads for a context whose caller has set none. */
void pd_threads_suggest(polyad_context *context, int threads);

/** a * b and a + b; false when they overflow. */
static inline bool pd_mul(uint64_t a, uint64_t b, uint64_t *product) {
  return !__builtin_mul_overflow(a, b, product);
}
static inline bool pd_add(uint64_t a, uint64_t b, uint64_t *sum) {
  return !__builtin_add_overflow(a, b, sum);
}
/** The same, sticking at UINT64_MAX: for estimates. */
static inline uint64_t pd_mul_saturated(uint64_t a, uint64_t b) {
  uint64_t product;
  return pd_mul(a, b, &product) ? product : UINT64_MAX;
}
static inline uint64_t pd_add_saturated(uint64_t a, uint64_t b) {
  uint64_t sum;
  return pd_add(a, b, &sum) ? sum : UINT64_MAX;
}

/** Writes a size as "1.5 GiB" into `out` and returns it. */
const char *pd_bytes_text(char out[32], uint64_t bytes);

/* ---- messages --------------------------------------------------------------------------- */

void pd_log(polyad_context *context, polyad_log_level level, const char *format, ...)
    PD_PRINTF(3, 4);

/** Tells the progress function; true when the run should end. */
bool pd_report_progress(polyad_context *context, const polyad_progress *progress);
/** Whether polyad_cancel() was called. */
bool pd_cancelled(const polyad_context *context);

/* ---- time, threads ------------------------------------------------------------------------ */

/** Seconds on a clock that never goes back. */
double pd_seconds(void);

/** The part of [0, count) that falls to `thread` of `threads`: parts differ by at most one. */
static inline uint64_t pd_part_begin(uint64_t count, int thread, int threads) {
  uint64_t quotient = count / (uint64_t)threads, rest = count % (uint64_t)threads;
  uint64_t t = (uint64_t)thread;
  return quotient * t + (t < rest ? t : rest);
}

/** Where every thread has `count` numbers of 8 bytes to write to, one thread's behind the other's:
 * how far apart these begin. Writing to a cache line that another thread writes to takes many times
 * as long, and processors fetch lines in pairs. */
static inline uint64_t pd_apart(uint64_t count) { return (count + 15) / 16 * 16; }

/** Threads worth starting for `work` units when one thread should have at least `grain`. */
int pd_threads_for(const polyad_context *context, uint64_t work, uint64_t grain);

#endif
