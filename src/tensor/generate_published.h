/* Published counts of real tensors' fibers. */
#ifndef PD_GENERATE_PUBLISHED_H
#define PD_GENERATE_PUBLISHED_H

#include "tensor/generate_fibers.h"

/** Counts of the tensor that `--like` calls so; NULL: none are published. */
const struct pd_fiber_profile *pd_published_fibers(const char *name);

#endif
