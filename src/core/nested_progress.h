/* Runs that are parts of longer work: the caller's progress function hears of the work as a whole.
 */
#ifndef PD_NESTED_PROGRESS_H
#define PD_NESTED_PROGRESS_H

#include "core/core.h"

struct pd_nested_progress {
  polyad_context *context;
  polyad_progress_function function; /* the caller's */
  void *user;
  double started, told; /* clock */
  char stage[80];       /* what is being done; the owner changes it */
  char told_stage[80];  /* the one that was passed on last */
};

/** Puts itself in the place of the context's progress function: what runs report from now on is
 *  passed on with `stage`: whenever that has changed, else no more than twenty times a second. */
void pd_nested_progress_begin(struct pd_nested_progress *nested, polyad_context *context);
/** Puts the caller's function back. */
void pd_nested_progress_end(struct pd_nested_progress *nested);

#endif
