/* Rows of a kernel's result in higher precision, which the results of all formats are compared
 * with. */
#ifndef CLI_BENCH_REFERENCE_H
#define CLI_BENCH_REFERENCE_H

#include <polyad/polyad.h>
#include <stdbool.h>

/** What a kernel computes from. */
struct bench_operands {
  const polyad_tensor *tensor;
  polyad_kernel kernel; /* MTTKRP, TTMC (`rank` columns in every mode) or PHI */
  int mode;
  uint64_t rank;
  const void *const *factors; /* of every mode, `type` */
  polyad_type type;
  double epsilon; /* least divisor of Phi */
};

/** Some rows of the result of one mode. */
struct bench_reference {
  uint64_t count, columns;
  uint64_t *row;     /* ascending */
  long double *sum;  /* count x columns */
  long double *size; /* the same sums of magnitudes */
  uint64_t terms;    /* nonzeros of the fullest of these rows */
};

/** Columns of the kernel's result; UINT64_MAX when there are more. */
uint64_t bench_columns(const struct bench_operands *operands);
/** Computes all rows, or, above 20 million nonzeros or where all take too long or too much memory,
 *  some of the fullest, of the emptiest that are not empty, and of others at random: 1024 in all,
 *  fewer where a row has very many columns.
 *  @return false when there is no memory */
bool bench_reference_create(const struct bench_operands *operands, int threads,
                            struct bench_reference *reference);
void bench_reference_clear(struct bench_reference *reference);

/** The largest |out - exact| over the sum of magnitudes of the terms, over all numbers. */
double bench_reference_error(const struct bench_reference *reference, polyad_type type,
                             const void *out);
/** Means over all numbers of these rows: the symmetric mean absolute percentage error,
 *  100/n sum |x - y| / (|x| + |y|) (equation 17 of the paper that "hls" comes from; 0 where both
 *  are 0), and the Frobenius norm of the difference over that of the exact rows. */
void bench_reference_means(const struct bench_reference *reference, polyad_type type,
                           const void *out, double *smape_percent, double *relative);
/** What rounding allows for a sum in any order, of products of stored values and factors that are
 *  first rounded to `compute`. Infinite where that type cannot hold the tensor's range of values.
 */
double bench_reference_bound(const struct bench_reference *reference,
                             const struct bench_operands *operands, polyad_compute compute);

/** Numbers in [0.5, 1) that look random: no zeros, so that every error shows. */
void bench_fill(void *matrix, uint64_t count, polyad_type type, uint64_t seed);
double bench_entry(const void *matrix, uint64_t k, polyad_type type);
size_t bench_width(polyad_type type);
uint64_t bench_index(const polyad_tensor *tensor, int mode, uint64_t p);

#endif
