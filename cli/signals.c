/* Signals: what is worth keeping is kept. */
#include "session.h"
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { NOTHING, COMPUTING, WRITING };

static volatile sig_atomic_t met;
static volatile sig_atomic_t doing = NOTHING;
static polyad_context *_Atomic computing;

static void on_signal(int number) {
  polyad_context *context = atomic_load(&computing);
  if (met != 0 || doing == NOTHING) _exit(128 + number);
  met = number;
  if (doing == COMPUTING && context != NULL) polyad_cancel(context);
}

void cli_signals_install(void) {
  static const int handled[] = {SIGINT, SIGTERM, SIGHUP};
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
  atomic_store(&computing, session->context);
  doing = COMPUTING;
}

void cli_computing_end(void) {
  doing = WRITING;
  atomic_store(&computing, NULL);
}

int cli_signal_status(void) { return met == 0 ? 0 : 128 + met; }
