/* Which modes of a model stay nonnegative: a set, bit n for mode n. */
#ifndef PD_NONNEGATIVE_H
#define PD_NONNEGATIVE_H

#include "algorithms/archive.h"
#include <polyad/run.h>

/** The set that options name: all modes where `all` is not zero, else those of `some`. */
static inline uint32_t pd_nonnegative_modes(int all, uint32_t some, int order) {
  return all != 0 ? (UINT32_C(1) << order) - 1 : some;
}
static inline bool pd_nonnegative_in(uint32_t modes, int n) { return modes >> n & 1; }
static inline bool pd_nonnegative_everywhere(uint32_t modes, int order) {
  return modes == pd_nonnegative_modes(1, 0, order);
}

/** Refuses modes that a tensor of this order does not have. */
polyad_status pd_nonnegative_check(polyad_context *context, uint32_t some, int order);

/** Refuses a set of modes beside an algorithm that has its own. */
polyad_status pd_nonnegative_check_algorithm(polyad_context *context, uint32_t some,
                                             polyad_algorithm algorithm);

/** The set as an option of a checkpoint, which has said 0 for none and 1 for all since it could be
 *  one of these; with `half` it is 2, half rows instead. */
polyad_status pd_nonnegative_archive(struct pd_archive *archive, uint32_t modes, int order,
                                     bool half);

#endif
