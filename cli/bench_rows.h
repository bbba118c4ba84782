/* Which rows of a result are computed again. */
#ifndef CLI_BENCH_ROWS_H
#define CLI_BENCH_ROWS_H

#include "bench_reference.h"

/** Chooses them, ascending, each once; `*rows` is freed by the caller. See
 *  bench_reference_create(). */
bool bench_choose_rows(const struct bench_operands *operands, uint64_t **rows, uint64_t *count);

#endif
