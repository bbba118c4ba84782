/* --tune: where measured numbers are kept, and what is used of them. */
#include "session.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 80 };

/* NULL: nothing is kept. */
static const char *cache_of(struct cli_session *session) {
  if (!session->tune) return NULL;
  if (session->tune_cache != NULL)
    return strcmp(session->tune_cache, "none") != 0 ? session->tune_cache : NULL;
  if (polyad_tune_cache_path(session->tune_path, sizeof session->tune_path))
    return session->tune_path;
  if (session->verbose)
    cli_talk(session, "what --tune measures is not kept: there is no place for it ($HOME)\n");
  return NULL;
}

/* What a threshold depends on besides the device: the kernel and what it computes in. */
static void name_of(const polyad_plan_options *options, char name[NAME_BYTES]) {
  snprintf(name, NAME_BYTES, "tile threshold of hls, kernel %d, compute %d, precision %d",
           (int)options->kernel, (int)options->compute, (int)options->precision);
}

void cli_set_tuning(struct cli_session *session, polyad_plan_options *options) {
  const char *cache = cache_of(session);
  char name[NAME_BYTES];
  double kept = NAN;
  options->tune = session->tune;
  options->tune_cache = cache;
  if (cache == NULL || options->tile_threshold != 0) return;
  name_of(options, name);
  /* A cache that cannot be used is none. */
  if (polyad_tune_cache_number(session->context, cache, name, &kept) != POLYAD_OK) return;
  if (!(kept >= 1 && kept <= POLYAD_MAX_TILE_THRESHOLD)) return;
  options->tile_threshold = (int)kept;
  if (session->verbose)
    cli_talk(session,
             "tiles of hls are dense from %d nonzeros on: measured on this device before\n",
             (int)kept);
}

int cli_keep_threshold(struct cli_session *session, const polyad_plan_options *options,
                       uint64_t threshold) {
  const char *cache = cache_of(session);
  char name[NAME_BYTES];
  if (cache == NULL) return 0;
  name_of(options, name);
  if (polyad_tune_cache_keep(session->context, cache, name, (double)threshold) != POLYAD_OK)
    return cli_library_failure(session->context);
  return 0;
}
