/* --tune: where measured numbers are kept. */
#include "session.h"
#include <string.h>

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

void cli_set_tuning(struct cli_session *session, polyad_plan_options *options) {
  options->tune = session->tune;
  options->tune_cache = cache_of(session);
}
