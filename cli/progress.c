#include "progress.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { BAR_WIDTH = 20 };

static bool shown;
static double last_shown;

/* What goes before the first iteration. */
static int show_stage(const polyad_progress *p) {
  fprintf(stderr, "\r\033[K%s", p->stage);
  if (isfinite(p->fit)) fprintf(stderr, "  fit %.6f so far", p->fit);
  fprintf(stderr, "  %.1f s", p->seconds);
  fflush(stderr);
  shown = true;
  return 0;
}

static int show(void *user, const polyad_progress *p) {
  (void)user;
  if (p->stage != NULL) return show_stage(p);
  if (p->iteration < p->max_iterations && p->seconds - last_shown < 0.05 && p->iteration > 1)
    return 0; /* often enough for an eye */
  last_shown = p->seconds;
  char bar[BAR_WIDTH + 1];
  int filled = p->max_iterations > 0 ? (int)((int64_t)BAR_WIDTH * p->iteration / p->max_iterations)
                                     : BAR_WIDTH;
  for (int k = 0; k < BAR_WIDTH; ++k)
    bar[k] = k < filled ? '#' : '.';
  bar[BAR_WIDTH] = '\0';
  double left = p->seconds / p->iteration * (p->max_iterations - p->iteration);
  fprintf(stderr, "\r\033[K[%s] %d/%d", bar, p->iteration, p->max_iterations);
  if (p->restart > 0) fprintf(stderr, "  start %d", p->restart + 1);
  if (isfinite(p->fit)) fprintf(stderr, "  fit %.6f", p->fit);
  if (isfinite(p->change)) fprintf(stderr, " (%+.1e)", p->change);
  if (isfinite(p->log_likelihood)) fprintf(stderr, "  log-likelihood %.8g", p->log_likelihood);
  fprintf(stderr, "  %.1f s, at most %.0f s left", p->seconds, left);
  fflush(stderr);
  shown = true;
  return 0;
}

void cli_progress_start(struct cli_session *session) {
  if (session->quiet || session->verbose || !isatty(STDERR_FILENO)) return;
  last_shown = -1;
  polyad_set_progress(session->context, show, NULL);
}

void cli_progress_clear(void) {
  if (!shown) return;
  fputs("\r\033[K", stderr);
  fflush(stderr);
  shown = false;
}
