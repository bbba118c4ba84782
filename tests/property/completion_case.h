/* The steps of completion on a device, checked against their definitions in long double. */
#ifndef COMPLETION_CASE_H
#define COMPLETION_CASE_H

#include "mttkrp_case.h"

struct completion_variant {
  bool weights, by_count, biases, nonnegative;
};

/** Solves for the rows of every mode, then for every component, on the context's device, and checks
 *  the normal equations of every row, every entry of the mode that is visited last, and the sums.
 *  The tensor's repeated cells are merged. */
void completion_check(polyad_context *context, const struct mttkrp_case *from, size_t rank,
                      struct completion_variant variant);

#endif
