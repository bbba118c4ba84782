/* Signals: what is worth keeping is kept. */
#include "events.h"
#include "session.h"
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NOTHING, COMPUTING, WRITING };

static volatile sig_atomic_t met;
static volatile sig_atomic_t doing = NOTHING;
static polyad_context *_Atomic computing;

static void on_signal(int number) {
  polyad_context *context = atomic_load(&computing);
  if (number == SIGXCPU && met != 0) return; /* it comes again every second */
  if (met != 0 || doing == NOTHING) _exit(128 + number);
  met = number;
  if (doing == COMPUTING && context != NULL) polyad_cancel(context);
}

/* A limit of processor time (ulimit -t) that is soft and hard at once kills without a signal before
 * it: the soft one is lowered by a tenth, at least a second, so that what was computed can be
 * written. */
static void leave_time_to_write(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) return;
  rlim_t kept = limit.rlim_max / 10 > 1 ? limit.rlim_max / 10 : 1;
  if (limit.rlim_max <= kept || limit.rlim_cur <= limit.rlim_max - kept) return;
  limit.rlim_cur = limit.rlim_max - kept;
  (void)setrlimit(RLIMIT_CPU, &limit);
}

void cli_signals_install(void) {
  static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
  leave_time_to_write();
  struct sigaction action;
  memset(&action, 0, sizeof action);
  sigemptyset(&action.sa_mask);
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (size_t k = 0; k < sizeof handled / sizeof *handled; ++k) {
    struct sigaction before;
    /* A signal that the parent told us to ignore (nohup) stays ignored. */
    if (sigaction(handled[k], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(handled[k], &action, NULL);
  }
  /* A closed pipe and the limit on file sizes become errors of write(). */
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, NULL);
  sigaction(SIGXFSZ, &action, NULL);
}

void cli_computing_begin(struct cli_session *session) {
  cli_events_step("compute", NULL);
  atomic_store(&computing, session->context);
  doing = COMPUTING;
}

void cli_computing_end(void) {
  if (doing == COMPUTING) cli_events_step("write", NULL);
  doing = WRITING;
  atomic_store(&computing, NULL);
}

int cli_signal_status(void) { return met == 0 ? 0 : 128 + met; }

void cli_tell_stopped(const struct cli_session *session, const polyad_run_info *info,
                      const char *output, const char *checkpoint) {
  if (met == 0 && info->reason != POLYAD_REASON_CANCELLED) return;
  bool resumable = checkpoint != NULL && access(checkpoint, R_OK) == 0;
  cli_talk(session, "polyad: stopped after iteration %d", info->iterations);
  if (output != NULL) cli_talk(session, "; model in %s", output);
  if (resumable) cli_talk(session, "; go on with --resume %s", checkpoint);
  cli_talk(session, "%s\n",
           output == NULL && !resumable ? "; the model is kept by --output or --checkpoint only"
                                        : "");
}
