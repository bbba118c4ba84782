#include "core/nested_progress.h"
#include "core/context_internal.h"
#include <string.h>

static const double pause_seconds = 0.05;

static int pass_on(void *user, const polyad_progress *progress) {
  struct pd_nested_progress *nested = user;
  double now = pd_seconds();
  bool changed = strcmp(nested->stage, nested->told_stage) != 0;
  if (!changed && now - nested->told < pause_seconds) return 0;
  nested->told = now;
  if (changed) memcpy(nested->told_stage, nested->stage, sizeof nested->stage);
  polyad_progress whole = {.fit = progress->fit,
                           .change = progress->change,
                           .log_likelihood = progress->log_likelihood,
                           .kkt_violation = progress->kkt_violation,
                           .seconds = now - nested->started,
                           .stage = nested->stage};
  return nested->function(nested->user, &whole);
}

void pd_nested_progress_begin(struct pd_nested_progress *nested, polyad_context *context) {
  *nested = (struct pd_nested_progress){.context = context,
                                        .function = context->progress,
                                        .user = context->progress_user,
                                        .started = pd_seconds()};
  if (nested->function != NULL) polyad_set_progress(context, pass_on, nested);
}

void pd_nested_progress_end(struct pd_nested_progress *nested) {
  if (nested->function != NULL)
    polyad_set_progress(nested->context, nested->function, nested->user);
}
