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
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
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
  size_t length;   /* of the text that is being made */
  char text[256];
} line = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Adds to the text of the next line. */
static void add(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int more = vsnprintf(line.text + line.length, sizeof line.text - line.length, format, arguments);
  va_end(arguments);
  line.length += more < 0 ? 0 : (size_t)more;
  if (line.length > sizeof line.text - 1) line.length = sizeof line.text - 1;
}

/* Columns of the terminal, but for the last one, behind which some terminals begin a new line. */
static int room(void) {
  struct winsize size;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return sizeof line.text;
  return size.ws_col - 1;
}

/* Shows the text in place of what the terminal's line says: one that is longer than the line would
 * go on in the next one, where no later text takes its place. */
static void put_on_terminal(void) {
  fprintf(stderr, "\r\033[K%.*s", room(), line.text);
  fflush(stderr);
  line.length = 0;
  line.shown = true;
}

static void put_line(void) {
  fprintf(stderr, "polyad: %s\n", line.text);
  line.length = 0;
}

/* What goes before the first iteration. */
static void add_stage(const polyad_progress *p) {
  add("%s", p->stage);
  if (isfinite(p->fit)) add("  fit %.6f so far", p->fit);
  add("  %.1f s", p->seconds);
}

static double seconds_left(const polyad_progress *p) {
  return p->seconds / p->iteration * (p->max_iterations - p->iteration);
}

static void add_objective(const polyad_progress *p) {
  if (p->restart > 0) add("  start %d", p->restart + 1);
  if (isfinite(p->fit)) add("  fit %.6f", p->fit);
  if (isfinite(p->change)) add(" (%+.1e)", p->change);
  if (isfinite(p->log_likelihood)) add("  log-likelihood %.8g", p->log_likelihood);
  add("  %.1f s, at most %.0f s left", p->seconds, seconds_left(p));
}

static void add_bar(const polyad_progress *p) {
  char bar[BAR_WIDTH + 1];
  int filled = p->max_iterations > 0 ? (int)((int64_t)BAR_WIDTH * p->iteration / p->max_iterations)
                                     : BAR_WIDTH;
  for (int k = 0; k < BAR_WIDTH; ++k)
    bar[k] = k < filled ? '#' : '.';
  bar[BAR_WIDTH] = '\0';
  add("[%s] %d/%d", bar, p->iteration, p->max_iterations);
}

static void show_on_terminal(const polyad_progress *p) {
  double now = cli_now();
  if (p->stage != NULL) {
    add_stage(p);
  } else {
    if (p->iteration < p->max_iterations && now - line.told < 0.05 && p->iteration > 1)
      return; /* often enough for an eye */
    line.told = now;
    add_bar(p);
    add_objective(p);
  }
  put_on_terminal();
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
    add_stage(p);
  } else {
    add("%d of %d iterations", p->iteration, p->max_iterations);
    add_objective(p);
  }
  put_line();
}

static void show(const struct cli_session *session, const polyad_progress *p) {
  if (!isatty(STDERR_FILENO))
    show_line(p);
  else if (!session->verbose) /* its messages would tear the line */
    show_on_terminal(p);
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
  if (!terminal && !line_is_due()) return;
  add("%s  %.1f s", word, seconds);
  if (terminal)
    put_on_terminal();
  else
    put_line();
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
