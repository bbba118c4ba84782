/* Rows of an MTTKRP in long double, which the results of all formats are compared with. */
#ifndef CLI_BENCH_REFERENCE_H
#define CLI_BENCH_REFERENCE_H

#include <polyad/polyad.h>
#include <stdbool.h>

/** Some rows of the result of one mode. */
struct bench_reference {
  uint64_t count;
  uint64_t *row;     /* ascending */
  long double *sum;  /* count x rank */
  long double *size; /* the same sums of magnitudes */
  uint64_t terms;    /* nonzeros of the fullest of these rows */
};

/** Computes all rows, or, above 20 million nonzeros or where all take too much memory, the 256
 *  fullest, the 256 emptiest that are not empty, and others at random, 1024 in all.
 *  @return false when there is no memory */
bool bench_reference_create(const polyad_tensor *tensor, int mode, uint64_t rank,
                            const void *const *factors, polyad_type type, int threads,
                            struct bench_reference *reference);
void bench_reference_clear(struct bench_reference *reference);

/** The largest |out - exact| over the sum of magnitudes of the terms, over all numbers. */
double bench_reference_error(const struct bench_reference *reference, uint64_t rank,
                             polyad_type type, const void *out);
/** What rounding allows for a sum in any order. */
double bench_reference_bound(const struct bench_reference *reference, int order, polyad_type type);

#endif
