/* bench phi and bench pi: the kernels of CP-APR. */
#include "bench.h"
#include <math.h>
#include <stdlib.h>

static const double epsilon = 1e-10;

static polyad_status call_pi(polyad_context *context, const polyad_plan *plan,
                             polyad_workspace *workspace, int mode, const void *const *factors,
                             void *out) {
  (void)out;
  return polyad_pi(context, plan, workspace, mode, factors);
}

static polyad_status call_phi(polyad_context *context, const polyad_plan *plan,
                              polyad_workspace *workspace, int mode, const void *const *factors,
                              void *out) {
  return polyad_phi(context, plan, workspace, mode, factors, epsilon, out);
}

/* Product of the other modes' entries in column r, for nonzero p. */
static long double pi_of(const polyad_tensor *tensor, uint64_t p, int mode, uint64_t rank,
                         const void *const *factors, polyad_type type, uint64_t r) {
  long double product = 1;
  for (int n = 0; n < polyad_tensor_order(tensor); ++n)
    if (n != mode) product *= bench_entry(factors[n], bench_index(tensor, n, p) * rank + r, type);
  return product;
}

enum { SAMPLED = 256 };

/* Sums over the sampled rows, and of magnitudes. */
static void add_nonzero(const polyad_tensor *tensor, uint64_t p, int mode, uint64_t rank,
                        const void *const *factors, polyad_type type, long double *sum,
                        long double *size) {
  uint64_t row = bench_index(tensor, mode, p);
  long double dot = 0,
              weight = bench_entry(polyad_tensor_values(tensor), p, polyad_tensor_type(tensor));
  for (uint64_t r = 0; r < rank; ++r)
    dot += bench_entry(factors[mode], row * rank + r, type) *
           pi_of(tensor, p, mode, rank, factors, type, r);
  weight /= dot > epsilon ? dot : (long double)epsilon;
  for (uint64_t r = 0; r < rank; ++r) {
    long double term = weight * pi_of(tensor, p, mode, rank, factors, type, r);
    sum[r] += term;
    size[r] += fabsl(term);
  }
}

/* The largest |computed - exact| over the sum of magnitudes of the terms, in sampled rows. */
static double check_phi(const polyad_tensor *tensor, int mode, uint64_t rank,
                        const void *const *factors, polyad_type type, const void *out) {
  uint64_t rows = polyad_tensor_dims(tensor)[mode], nnz = polyad_tensor_nnz(tensor);
  uint64_t step = rows <= SAMPLED ? 1 : rows / SAMPLED, slots = (rows + step - 1) / step;
  /* Short modes have long rows: every row, but not every nonzero's error, is seen then. */
  long double *sum = calloc(slots * rank, sizeof *sum), *size = calloc(slots * rank, sizeof *size);
  double worst = sum == NULL || size == NULL ? NAN : 0;
  for (uint64_t p = 0; worst == 0 && p < nnz; ++p) {
    uint64_t row = bench_index(tensor, mode, p);
    if (row % step == 0)
      add_nonzero(tensor, p, mode, rank, factors, type, sum + row / step * rank,
                  size + row / step * rank);
  }
  for (uint64_t k = 0; isfinite(worst) && k < slots * rank; ++k) {
    long double found = bench_entry(out, k / rank * step * rank + k % rank, type);
    double error = size[k] > 0 ? (double)(fabsl(found - sum[k]) / size[k]) : found != 0;
    if (error > worst || isnan(error)) worst = error;
  }
  free(sum);
  free(size);
  return worst;
}

/* Pi's products, the product with B, and the sums. */
static double phi_flops(int order) { return order + 2; }
static double stored_flops(int order) {
  (void)order;
  return 4;
}
static double pi_flops(int order) { return order > 2 ? order - 2 : 0; }

int bench_phi(struct bench *bench) {
  static const struct bench_kernel on_the_fly = {
      .run = call_phi, .check = check_phi, .flops = phi_flops};
  static const struct bench_kernel stored = {
      .run = call_phi, .before = call_pi, .check = check_phi, .flops = stored_flops};
  return bench_modes(bench, bench->store_pi ? &stored : &on_the_fly);
}

/* Checked by the Phi that follows from it. */
int bench_pi(struct bench *bench) {
  static const struct bench_kernel kernel = {
      .run = call_pi, .after = call_phi, .check = check_phi, .flops = pi_flops};
  return bench_modes(bench, &kernel);
}
