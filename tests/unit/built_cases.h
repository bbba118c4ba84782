/* Tensors to build storages of: 1 to 8 modes, odd sizes, modes of length 1, heavy slices, repeated
 * coordinates, keys of more than 64 bits, rows without nonzeros, numbers of nonzeros that are no
 * multiple of any padding. */
#ifndef BUILT_CASES_H
#define BUILT_CASES_H

#include "property/mttkrp_case.h"

extern const struct mttkrp_case built_cases[];
extern const size_t built_case_count;

#endif
