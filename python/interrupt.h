/* Ctrl-C while the library computes on Python's main thread.
 *
 * Python looks at signals only between its own instructions: a call into C would have to end first.
 * While a call is watched, SIGINT cancels the context at once and is counted; who unwatches learns
 * how often it came. Python's own handler is called only while the library has called back into
 * Python, so that Ctrl-C also ends a callback that waits. */
#include <signal.h>
#include <stdatomic.h>

static _Atomic(polyad_context *) watched;
static atomic_int interrupts, in_python;
static struct sigaction python_action;

static void interrupt(int number, siginfo_t *info, void *machine) {
  polyad_context *context = atomic_load(&watched);
  atomic_fetch_add(&interrupts, 1);
  if (context != NULL) polyad_cancel(context);
  if (atomic_load(&in_python) == 0) return;
  if ((python_action.sa_flags & SA_SIGINFO) != 0)
    python_action.sa_sigaction(number, info, machine);
  else
    python_action.sa_handler(number);
}

/* Non-zero when SIGINT is watched from now on; zero when it is already, or is no handler's. */
static int polyad_python_watch(polyad_context *context) {
  struct sigaction action;
  if (atomic_load(&watched) != NULL || sigaction(SIGINT, NULL, &python_action) != 0) return 0;
  if (python_action.sa_handler == SIG_DFL || python_action.sa_handler == SIG_IGN) return 0;
  action = python_action;
  action.sa_flags |= SA_SIGINFO;
  action.sa_sigaction = interrupt;
  atomic_store(&interrupts, 0);
  atomic_store(&in_python, 0);
  atomic_store(&watched, context);
  if (sigaction(SIGINT, &action, NULL) == 0) return 1;
  atomic_store(&watched, NULL);
  return 0;
}

/* Ends watching; how often SIGINT came. */
static int polyad_python_unwatch(void) {
  (void)sigaction(SIGINT, &python_action, NULL);
  atomic_store(&watched, NULL);
  return atomic_load(&interrupts);
}

/* Whether Python runs now, called from the library. */
static void polyad_python_running(int yes) { atomic_store(&in_python, yes); }
