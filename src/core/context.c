/* The context of all calls: threads, memory limit, seed, base of numbers in messages, log, progress
 * and cancelling. A helper context, of another thread, follows its parent's settings. */
#include "core/context_internal.h"
#include "core/helper_context.h"
#include "core/machine.h"
#include "core/start_threads.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The memory that the machine has, or a part of it. Under a limit of address space (ulimit -v),
 * which is each process's own, the stacks of threads that have yet to start are subtracted, but for
 * those that the C library keeps mapped after their threads have ended: 40 MB of them, of which 32
 * are counted on. */
static uint64_t usual_memory_limit(int threads, int parts) {
  enum { KEPT = 32 << 20 };
  uint64_t memory = pd_machine_memory(), space = pd_machine_address_space();
  if (parts > 1) memory /= (uint64_t)parts;
  if (space == UINT64_MAX) return memory;
  uint64_t stacks = pd_thread_bytes(threads);
  stacks = stacks > KEPT ? stacks - KEPT : 0;
  space = space > stacks ? space - stacks : 0;
  return space < memory ? space : memory;
}

polyad_status polyad_context_create(polyad_context **context) {
  return polyad_context_create_with_allocator(NULL, context);
}

polyad_status polyad_context_create_with_allocator(const polyad_allocator *allocator,
                                                   polyad_context **context) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  *context = NULL;
  struct pd_arena none; /* the context itself is no large block */
  polyad_allocator from = allocator != NULL ? *allocator : pd_system_allocator(&none);
  if (from.allocate == NULL || from.release == NULL) return POLYAD_INVALID_ARGUMENT;
  polyad_context *made = from.allocate(from.user, 64, sizeof *made);
  if (made == NULL) return POLYAD_OUT_OF_MEMORY;
  memset(made, 0, sizeof *made);
  pd_arena_init(&made->arena);
  made->allocator = allocator != NULL ? from : pd_system_allocator(&made->arena);
  made->threads = pd_start_threads(pd_machine_processors());
  made->memory_limit = usual_memory_limit(made->threads, 0);
  snprintf(made->device, sizeof made->device, "auto");
  *context = made;
  return POLYAD_OK;
}

polyad_status pd_context_for_helper(const polyad_context *parent, const char *device, int threads,
                                    polyad_context **context) {
  PD_TRY(polyad_context_create_with_allocator(&parent->allocator, context));
  (*context)->threads = threads;
  snprintf((*context)->device, sizeof(*context)->device, "%s", device);
  pd_context_follow(parent, *context);
  return POLYAD_OK;
}

void pd_context_follow(const polyad_context *parent, polyad_context *helper) {
  helper->memory_limit = parent->memory_limit;
  helper->memory_limit_set = parent->memory_limit_set;
  helper->memory_parts = parent->memory_parts;
  helper->seed = parent->seed;
  helper->message_base = parent->message_base;
}

void polyad_context_destroy(polyad_context *context) {
  if (context == NULL) return;
  polyad_allocator from = context->allocator;
  pd_arena_end(&context->arena);
  from.release(from.user, context, sizeof *context);
}

static void find_memory_limit(polyad_context *context) {
  if (!context->memory_limit_set)
    context->memory_limit = usual_memory_limit(context->threads, context->memory_parts);
}

static void use_threads(polyad_context *context, int wanted) {
  if (wanted == context->threads) return; /* small computations set it every time */
  context->threads = pd_start_threads(wanted);
  if (context->threads < wanted)
    pd_log(context, POLYAD_LOG_WARNING,
           "%d threads instead of %d: the limit of address space (ulimit -v) leaves no room for "
           "more",
           context->threads, wanted);
  find_memory_limit(context);
}

polyad_status polyad_set_threads(polyad_context *context, int threads) {
  PD_ENTER(context);
  PD_EXPECT(context, threads >= 0 && threads <= 4096, "%d threads asked for; expected 0 to 4096",
            threads);
  context->threads_set = threads != 0;
  use_threads(context, threads == 0 ? pd_machine_processors() : threads);
  return POLYAD_OK;
}

bool pd_threads_are_set(const polyad_context *context) { return context->threads_set; }

void pd_threads_suggest(polyad_context *context, int threads) {
  if (!context->threads_set) use_threads(context, threads);
}

int polyad_threads(const polyad_context *context) { return context->threads; }

polyad_status polyad_set_memory_limit(polyad_context *context, uint64_t bytes) {
  PD_ENTER(context);
  context->memory_limit_set = bytes != 0;
  context->memory_limit = bytes;
  find_memory_limit(context);
  return POLYAD_OK;
}

void pd_memory_divide(polyad_context *context, int parts) {
  if (parts == context->memory_parts) return;
  context->memory_parts = parts;
  find_memory_limit(context);
}

bool pd_memory_limit_is_set(const polyad_context *context) { return context->memory_limit_set; }

uint64_t polyad_memory_limit(const polyad_context *context) { return context->memory_limit; }

uint64_t pd_memory_limit_of_devices(const polyad_context *context) {
  return context->memory_limit_set || context->memory_parts < 2
             ? context->memory_limit
             : usual_memory_limit(context->threads, 0);
}

uint64_t polyad_memory_in_use(const polyad_context *context) {
  return atomic_load(&((polyad_context *)(uintptr_t)context)->memory_in_use);
}

uint64_t polyad_memory_peak(const polyad_context *context) {
  return atomic_load(&((polyad_context *)(uintptr_t)context)->memory_peak);
}

void polyad_set_seed(polyad_context *context, uint64_t seed) { context->seed = seed; }

uint64_t polyad_seed(const polyad_context *context) { return context->seed; }

polyad_status polyad_set_message_base(polyad_context *context, int base) {
  PD_ENTER(context);
  if (base != 0 && base != 1)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "message base %d found; expected 0 or 1",
                   base);
  context->message_base = base;
  return POLYAD_OK;
}

int polyad_message_base(const polyad_context *context) { return context->message_base; }

int pd_shown_mode(const polyad_context *context, int mode) { return mode + context->message_base; }

polyad_status pd_check_mode(polyad_context *context, int mode, int order) {
  PD_EXPECT(context, mode >= 0 && mode < order, "mode %d found; expected %d to %d",
            pd_shown_mode(context, mode), pd_shown_mode(context, 0),
            pd_shown_mode(context, order - 1));
  return POLYAD_OK;
}

uint64_t pd_shown(const polyad_context *context, uint64_t number) {
  return pd_add_saturated(number, (uint64_t)context->message_base);
}

void pd_set_source(polyad_context *context, const char *path) { context->source = path; }

const char *pd_source(const polyad_context *context) { return context->source; }

void polyad_set_log(polyad_context *context, polyad_log_level level, polyad_log_function function,
                    void *user) {
  context->log_level = level;
  context->log = function;
  context->log_user = user;
}

void polyad_set_progress(polyad_context *context, polyad_progress_function function, void *user) {
  context->progress = function;
  context->progress_user = user;
}

void polyad_cancel(polyad_context *context) { atomic_store(&context->cancelled, 1); }

void polyad_clear_cancel(polyad_context *context) { atomic_store(&context->cancelled, 0); }

bool pd_cancelled(const polyad_context *context) {
  return atomic_load(&((polyad_context *)(uintptr_t)context)->cancelled) != 0;
}

/* Whether a message of this level would be seen (to skip preparing it). */
static bool log_wanted(const polyad_context *context, polyad_log_level level) {
  return context->log != NULL && level <= context->log_level;
}

void pd_log(polyad_context *context, polyad_log_level level, const char *format, ...) {
  if (!log_wanted(context, level)) return;
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  context->log(context->log_user, level, text);
}

bool pd_report_progress(polyad_context *context, const polyad_progress *progress) {
  if (context->progress == NULL) return false;
  return context->progress(context->progress_user, progress) != 0;
}

double pd_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int pd_threads_for(const polyad_context *context, uint64_t work, uint64_t grain) {
  uint64_t useful = work / (grain == 0 ? 1 : grain);
  if (useful < 1) return 1;
  return useful < (uint64_t)context->threads ? (int)useful : context->threads;
}
