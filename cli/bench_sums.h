/* Sums of nonzeros' terms that results are compared with. */
#ifndef CLI_BENCH_SUMS_H
#define CLI_BENCH_SUMS_H

#include "bench_reference.h"

enum { BENCH_NO_SLOT = -1 };

/** Fills in the sums, those of magnitudes, and the terms of the fullest row, for the rows that are
 *  chosen: `slot` says which place each row of the mode has among them, or BENCH_NO_SLOT.
 *  @return false when there is no memory */
bool bench_sum_rows(const struct bench_operands *operands, const int32_t *slot, int threads,
                    struct bench_reference *reference);

#endif
