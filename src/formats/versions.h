/* What a product that kernels keep was made from: stored rows of Pi, tables of pairs of modes,
 * packed factors, partial sums. It may be used again while the factors have the same versions. */
#ifndef PD_VERSIONS_H
#define PD_VERSIONS_H

#include "device/device.h"
#include <polyad/tensor.h>

struct pd_versions {
  uint64_t of[POLYAD_MAX_ORDER]; /* of the modes that were used; 0: not made, or not to be kept */
};

/** Bit n stands for mode n: all modes of a tensor but one. */
static inline uint64_t pd_modes_but(int order, int mode) {
  return ((UINT64_C(1) << order) - 1) & ~(UINT64_C(1) << mode);
}

/** Whether the factors of these modes all have a version. */
static inline bool pd_versions_known(const struct pd_matrix *const *factors, uint64_t modes) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    if ((modes >> n & 1) != 0 && factors[n]->version == 0) return false;
  return true;
}

/** Whether what was made from `versions` is what these factors would give. */
static inline bool pd_versions_hold(const struct pd_versions *versions,
                                    const struct pd_matrix *const *factors, uint64_t modes) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    if ((modes >> n & 1) != 0 &&
        (factors[n]->version == 0 || factors[n]->version != versions->of[n]))
      return false;
  return true;
}

static inline void pd_versions_set(struct pd_versions *versions,
                                   const struct pd_matrix *const *factors, uint64_t modes) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    if ((modes >> n & 1) != 0) versions->of[n] = factors[n]->version;
}

#endif
