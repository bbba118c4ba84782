/* Progress of a computation: a line that changes on a terminal, a line a minute elsewhere, and the
 * log. */
#include "progress.h"
#include "events.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { BAR_WIDTH = 20 };

/* Off a terminal, in a file or a pipe, a line stays: one a minute tells that the run goes on. */
static const double line_seconds = 60;

static bool shown;
static double last_shown;

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
  if (p->iteration < p->max_iterations && p->seconds - last_shown < 0.05 && p->iteration > 1)
    return; /* often enough for an eye */
  last_shown = p->seconds;
  char bar[BAR_WIDTH + 1];
  int filled = p->max_iterations > 0 ? (int)((int64_t)BAR_WIDTH * p->iteration / p->max_iterations)
                                     : BAR_WIDTH;
  for (int k = 0; k < BAR_WIDTH; ++k)
    bar[k] = k < filled ? '#' : '.';
  bar[BAR_WIDTH] = '\0';
  fprintf(stderr, "\r\033[K[%s] %d/%d", bar, p->iteration, p->max_iterations);
  show_objective(p);
}

static void show_line(const polyad_progress *p) {
  if (p->seconds - last_shown < line_seconds) return;
  last_shown = p->seconds;
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

static int on_progress(void *user, const polyad_progress *p) {
  const struct cli_session *session = user;
  cli_events_progress(p);
  if (session->quiet) return 0;
  if (!isatty(STDERR_FILENO)) {
    show_line(p);
    return 0;
  }
  if (session->verbose) return 0; /* its messages would tear the line */
  if (p->stage != NULL)
    show_stage(p);
  else
    show_iteration(p);
  fflush(stderr);
  shown = true;
  return 0;
}

void cli_progress_start(struct cli_session *session) {
  last_shown = isatty(STDERR_FILENO) ? -1 : 0;
  if (!session->quiet || session->log != NULL)
    polyad_set_progress(session->context, on_progress, session);
}

void cli_progress_clear(void) {
  if (!shown) return;
  fputs("\r\033[K", stderr);
  fflush(stderr);
  shown = false;
}
