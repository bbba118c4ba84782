/* Whether two storages of "modecopy" are the same bit for bit, and tensors to ask that of. */
#ifndef SAME_MODECOPY_H
#define SAME_MODECOPY_H

#include "formats/modecopy/modecopy_layout.h"
#include "property/mttkrp_case.h"

/* Tensors of 1 to 8 modes: odd sizes, modes of length 1, heavy slices, repeated coordinates, keys
 * of more than 64 bits, rows without nonzeros, numbers of nonzeros that are no multiple of the
 * padding. */
extern const struct mttkrp_case built_cases[];
extern const size_t built_case_count;

/* Fails the test where facts, orders or arrays differ. */
void assert_same_modecopy(const char *name, const struct pd_modecopy *found,
                          const struct pd_modecopy *wanted);

#endif
