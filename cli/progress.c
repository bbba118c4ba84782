/* Progress: a line that changes on a terminal, a line a minute elsewhere, and the log. A
 * computation tells of its iterations and stages; a thread that mostly sleeps tells of what goes
 * before and after. */
#define _GNU_SOURCE /* clocks of conditions */
#include "progress.h"
#include "events.h"
#include "phases.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 20 };

/* Off a terminal, in a file or a pipe, a line stays: one a minute tells that the run goes on. */
static const double line_seconds = 60;

/* What takes no longer is not told. */
static const double least_seconds = 1;

static struct {
  pthread_mutex_t mutex; /* of all of it, and of writing to standard error */
  pthread_cond_t changed;
  pthread_t thread;
  bool watched, ended;
  bool shown;      /* a line on the terminal that changes */
  double told;     /* cli_now() of the last line */
  double computed; /* of the last news of a computation, which tells of itself */
} line = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* What goes before the first iteration. */
static void show_stage(const polyad_progress *p) {
  fprintf(stderr, "\r\033[K%s", p->stage);
  if (isfinite(p->fit)) fprintf(stderr, "  fit %.6f so far", p->fit);
  fprintf(stderr, "  %.1f s", p->seconds);
}

static double seconds_left(const polyad_progress *p) {
  return p->seconds / p->iteration * (p->max_iterations - p->iteration);
}

static void show_objective(const polyad_progress *p) {
  if (p->restart > 0) fprintf(stderr, "  start %d", p->restart + 1);
  if (isfinite(p->fit)) fprintf(stderr, "  fit %.6f", p->fit);
  if (isfinite(p->change)) fprintf(stderr, " (%+.1e)", p->change);
  if (isfinite(p->log_likelihood)) fprintf(stderr, "  log-likelihood %.8g", p->log_likelihood);
  fprintf(stderr, "  %.1f s, at most %.0f s left", p->seconds, seconds_left(p));
}

static void show_iteration(const polyad_progress *p) {
  double now = cli_now();
  if (p->iteration < p->max_iterations && now - line.told < 0.05 && p->iteration > 1)
    return; /* often enough for an eye */
  line.told = now;
  char bar[BAR_WIDTH + 1];
  int filled = p->max_iterations > 0 ? (int)((int64_t)BAR_WIDTH * p->iteration / p->max_iterations)
                                     : BAR_WIDTH;
  for (int k = 0; k < BAR_WIDTH; ++k)
    bar[k] = k < filled ? '#' : '.';
  bar[BAR_WIDTH] = '\0';
  fprintf(stderr, "\r\033[K[%s] %d/%d", bar, p->iteration, p->max_iterations);
  show_objective(p);
}

/* Whether it is time for the next line off a terminal. */
static bool line_is_due(void) {
  double now = cli_now();
  if (now - line.told < line_seconds) return false;
  line.told = now;
  return true;
}

static void show_line(const polyad_progress *p) {
  if (!line_is_due()) return;
  if (p->stage != NULL) {
    fprintf(stderr, "polyad: %s", p->stage);
    if (isfinite(p->fit)) fprintf(stderr, "  fit %.6f so far", p->fit);
    fprintf(stderr, "  %.1f s\n", p->seconds);
    return;
  }
  fprintf(stderr, "polyad: %d of %d iterations", p->iteration, p->max_iterations);
  show_objective(p);
  fputs("\n", stderr);
}

static void show(const struct cli_session *session, const polyad_progress *p) {
  if (!isatty(STDERR_FILENO)) {
    show_line(p);
    return;
  }
  if (session->verbose) return; /* its messages would tear the line */
  if (p->stage != NULL)
    show_stage(p);
  else
    show_iteration(p);
  fflush(stderr);
  line.shown = true;
}

static int on_progress(void *user, const polyad_progress *p) {
  const struct cli_session *session = user;
  cli_events_progress(p);
  if (session->quiet) return 0;
  pthread_mutex_lock(&line.mutex);
  line.computed = cli_now();
  show(session, p);
  pthread_mutex_unlock(&line.mutex);
  return 0;
}

void cli_progress_start(struct cli_session *session) {
  if (!session->quiet || session->log != NULL)
    polyad_set_progress(session->context, on_progress, session);
}

static void clear(void) {
  if (!line.shown) return;
  fputs("\r\033[K", stderr);
  fflush(stderr);
  line.shown = false;
}

void cli_progress_clear(void) {
  pthread_mutex_lock(&line.mutex);
  clear();
  pthread_mutex_unlock(&line.mutex);
}

/* ---- what has no iterations -------------------------------------------------------------------
 */

/* Nothing where a computation has told of itself since the phase began. */
static void show_phase(bool terminal) {
  double seconds;
  const char *word = cli_phase_now(&seconds);
  if (seconds < least_seconds || line.computed > cli_now() - seconds) return;
  if (terminal) {
    fprintf(stderr, "\r\033[K%s  %.1f s", word, seconds);
    fflush(stderr);
    line.shown = true;
  } else if (line_is_due()) {
    fprintf(stderr, "polyad: %s  %.1f s\n", word, seconds);
  }
}

static void *watch(void *user) {
  const bool *terminal = user;
  struct timespec wake;
  pthread_mutex_lock(&line.mutex);
  while (!line.ended) {
    clock_gettime(CLOCK_MONOTONIC, &wake);
    wake.tv_nsec += 500 * 1000 * 1000;
    wake.tv_sec += wake.tv_nsec / 1000000000;
    wake.tv_nsec %= 1000000000;
    if (pthread_cond_timedwait(&line.changed, &line.mutex, &wake) == ETIMEDOUT)
      show_phase(*terminal);
  }
  pthread_mutex_unlock(&line.mutex);
  return NULL;
}

/* Signals are the main thread's, and its stack needs little where address space is limited. */
static bool start_watching(void) {
  static bool terminal;
  sigset_t all, before;
  pthread_attr_t attributes;
  terminal = isatty(STDERR_FILENO);
  if (pthread_attr_init(&attributes) != 0) return false;
  (void)pthread_attr_setstacksize(&attributes, 256 << 10);
  sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = pthread_create(&line.thread, &attributes, watch, &terminal) == 0;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return started;
}

void cli_progress_watch(const struct cli_session *session) {
  pthread_condattr_t clock;
  line.told = isatty(STDERR_FILENO) ? 0 : cli_now();
  if (session->quiet || line.watched || (session->verbose && isatty(STDERR_FILENO))) return;
  if (pthread_condattr_init(&clock) != 0) return;
  (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  line.ended = false;
  if (pthread_cond_init(&line.changed, &clock) == 0) {
    line.watched = start_watching();
    if (!line.watched) pthread_cond_destroy(&line.changed);
  }
  pthread_condattr_destroy(&clock);
}

void cli_progress_unwatch(void) {
  if (line.watched) {
    pthread_mutex_lock(&line.mutex);
    line.ended = true;
    pthread_cond_signal(&line.changed);
    pthread_mutex_unlock(&line.mutex);
    pthread_join(line.thread, NULL);
    pthread_cond_destroy(&line.changed);
    line.watched = false;
  }
  cli_progress_clear();
}
