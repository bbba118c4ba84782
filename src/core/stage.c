#include "core/stage.h"
#include <math.h>

static const double pause_seconds = 0.5;

struct pd_stage pd_stage_begin(polyad_context *context, const char *name) {
  double now = pd_seconds();
  return (struct pd_stage){
      .context = context, .name = name, .started = now, .told = now, .share = NAN};
}

struct pd_stage pd_stage_begin_silent(polyad_context *context, const char *name) {
  struct pd_stage stage = pd_stage_begin(context, name);
  stage.told = INFINITY;
  return stage;
}

static bool told_to_end(struct pd_stage *stage) {
  double now = pd_seconds();
  if (now - stage->told < pause_seconds) return false;
  stage->told = now;
  polyad_progress progress = {.fit = isnan(stage->share) ? NAN : 1 - sqrt(1 - stage->share),
                              .change = NAN,
                              .log_likelihood = NAN,
                              .kkt_violation = NAN,
                              .seconds = now - stage->started,
                              .stage = stage->name};
  return pd_report_progress(stage->context, &progress);
}

polyad_status pd_stage_tick(struct pd_stage *stage) {
  if (pd_cancelled(stage->context) || told_to_end(stage))
    return pd_fail(stage->context, POLYAD_CANCELLED, "%s was cancelled", stage->name);
  return POLYAD_OK;
}
