/* Contexts for threads that work for another context's call. */
#ifndef PD_HELPER_CONTEXT_H
#define PD_HELPER_CONTEXT_H

#include "core/core.h"

/** A context like `parent` for a thread that works for it on another device: the same allocator,
 *  limit, seed and numbering of messages, but no log and no progress. It has so many threads.
 *  Destroyed with polyad_context_destroy(). */
polyad_status pd_context_for_helper(const polyad_context *parent, const char *device, int threads,
                                    polyad_context **context);

/** Gives the helper what may have changed since: limit, seed and numbering. */
void pd_context_follow(const polyad_context *parent, polyad_context *helper);

#endif
