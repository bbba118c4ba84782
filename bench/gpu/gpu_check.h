/* Factors of the GPU benchmarks, and the check of their results. */
#ifndef GPU_CHECK_H
#define GPU_CHECK_H

#include "device/device.h"

/** Host copies of factors, only while they are filled. */
struct bench_factors {
  void *data[POLYAD_MAX_ORDER];
};

void bench_factor_fill(struct bench_factors *factors, int mode, uint64_t rows, uint64_t rank,
                       polyad_type type);
void bench_factor_drop(struct bench_factors *factors, int mode);

/** Largest error of about 1,200 rows of the result (heaviest, lightest, evenly spread), recomputed
 *  in double, relative to the sum of magnitudes; infinity when something went wrong. */
double bench_check(polyad_context *context, const polyad_tensor *tensor, uint64_t rank, int mode,
                   const struct pd_matrix *out);

#endif
