/* Long work before the first iteration: tells the caller's progress function what is being done
 * and ends it when the caller wants that. */
#ifndef PD_STAGE_H
#define PD_STAGE_H

#include "core/core.h"

struct pd_stage {
  polyad_context *context;
  const char *name;     /* what is being done, such as "choosing ranks"; static */
  double started, told; /* clock */
  double share;         /* of the squared norm that is kept so far; NaN: not known */
};

struct pd_stage pd_stage_begin(polyad_context *context, const char *name);
/** The same inside an iteration: asks whether the caller has cancelled, and tells nothing. */
struct pd_stage pd_stage_begin_silent(polyad_context *context, const char *name);
/** Called at least every second of work; cheap. Tells the progress function every half second.
 *  @return POLYAD_CANCELLED when the caller wants the work to end */
polyad_status pd_stage_tick(struct pd_stage *stage);

#endif
