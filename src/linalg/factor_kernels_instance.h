/* All factor kernels of one instruction set. The includer defines ISA (a string) and TABLE (the
 * table's name) and is compiled with that instruction set's flags. */
#include "core/fold.h"
#include "linalg/factor_kernels.h"
#include <stdbool.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* A vector register of doubles, and the shape of the register tiles: TILE_ROWS x TILE_VECTORS
 * accumulators. PD_COLUMN_TILE is a multiple of both TILE_ROWS and TILE_VECTORS * LANES. */
#if defined(__AVX512F__)
#define LANES 8
enum { TILE_ROWS = 8, TILE_VECTORS = 2 };
#elif defined(__AVX2__)
#define LANES 4
enum { TILE_ROWS = 4, TILE_VECTORS = 2 };
#else
#define LANES 2
enum { TILE_ROWS = 4, TILE_VECTORS = 2 };
#endif
typedef double vector __attribute__((vector_size(LANES * 8), aligned(8), may_alias));

static inline vector load(const double *from) { return *(const vector *)from; }
static inline void store(double *to, vector value) { *(vector *)to = value; }
/* Floats as a vector of doubles: compilers convert vectors in halves where they have to see it
 * themselves. */
static inline vector widened_f32(const float *from) {
#if defined(__AVX512F__)
  return (vector)_mm512_cvtps_pd(_mm256_loadu_ps(from));
#elif defined(__AVX2__)
  return (vector)_mm256_cvtps_pd(_mm_loadu_ps(from));
#else
  return (vector){from[0], from[1]};
#endif
}
static inline vector widened_f64(const double *from) { return load(from); }

#define KERNEL_INLINE static inline __attribute__((always_inline))

/* acc[TILE_ROWS][vectors] of sum(r0 + k, s0 + ...) += sum over rows of a tile of a(i, r0 + k)
 * a(i, s0 + ...). `vectors` is known when this is compiled: the accumulators are registers. */
KERNEL_INLINE void gram_tile(size_t rows, size_t padded, const double *a, size_t r0, size_t s0,
                             int vectors, double *gram) {
  vector sum[TILE_ROWS][TILE_VECTORS];
  for (int k = 0; k < TILE_ROWS; ++k)
    for (int v = 0; v < vectors; ++v)
      sum[k][v] = load(gram + (r0 + (size_t)k) * padded + s0 + (size_t)(v * LANES));
  for (size_t i = 0; i < rows; ++i, a += padded) {
    vector right[TILE_VECTORS];
    for (int v = 0; v < vectors; ++v)
      right[v] = load(a + s0 + v * LANES);
    for (int k = 0; k < TILE_ROWS; ++k)
      for (int v = 0; v < vectors; ++v)
        sum[k][v] += a[r0 + (size_t)k] * right[v];
  }
  for (int k = 0; k < TILE_ROWS; ++k)
    for (int v = 0; v < vectors; ++v)
      store(gram + (r0 + (size_t)k) * padded + s0 + (size_t)(v * LANES), sum[k][v]);
}

/* The tiles that hold the upper triangle's part of TILE_ROWS lines. */
static void gram_lines(size_t rows, size_t rank, size_t padded, const double *a, size_t r,
                       double *gram) {
  size_t s = r / LANES * LANES, step = TILE_VECTORS * LANES;
  if (s % step != 0) {
    gram_tile(rows, padded, a, r, s, 1, gram);
    s += LANES;
  }
  for (; s < rank; s += step)
    gram_tile(rows, padded, a, r, s, TILE_VECTORS, gram);
}

static void gram_padded(size_t rows, size_t rank, const double *a, double *gram) {
  for (size_t r = 0; r < rank; r += TILE_ROWS)
    gram_lines(rows, rank, pd_padded(rank), a, r, gram);
}

/* out(k, s0 + ...) = sum over s of a(k, s) w(s, s0 + ...) for TILE_ROWS rows. Meanwhile memory is
 * asked for what begins at `ahead`, `step` bytes for each s. */
KERNEL_INLINE void product_tile(size_t rank, size_t padded, const double *a, const double *w,
                                size_t s0, double *out, const char *ahead, size_t step) {
  vector sum[TILE_ROWS][TILE_VECTORS] = {{{0}}};
  for (size_t s = 0; s < rank; ++s) {
    vector right[TILE_VECTORS];
    if (step > 0) __builtin_prefetch(ahead + s * step);
    for (int v = 0; v < TILE_VECTORS; ++v)
      right[v] = load(w + s * padded + s0 + (size_t)(v * LANES));
    for (int k = 0; k < TILE_ROWS; ++k)
      for (int v = 0; v < TILE_VECTORS; ++v)
        sum[k][v] += a[(size_t)k * padded + s] * right[v];
  }
  for (int k = 0; k < TILE_ROWS; ++k)
    for (int v = 0; v < TILE_VECTORS; ++v)
      store(out + (size_t)k * padded + s0 + (size_t)(v * LANES), sum[k][v]);
}

/* Rows that a sweep of HALS works on at once, a row in each lane of two vectors, and products that
 * it adds to sums of their own, which need not wait for each other. */
enum { SWEEP_ROWS = 2 * LANES, SWEEP_SUMS = 4 };
typedef long long lane_bits __attribute__((vector_size(LANES * 8), aligned(8), may_alias));

static inline vector at_least_zero(vector value) {
  return (vector)((lane_bits)value & (lane_bits)(value > (vector){0}));
}

/* Entry r of SWEEP_ROWS rows that lie column after column, as are `in` and what becomes of `row`.
 */
static void sweep_entry(size_t rank, const double *line, size_t r, const double *in, double *row) {
  vector sum[SWEEP_SUMS][2] = {{{0}}};
  size_t s = 0;
  for (; s + SWEEP_SUMS <= rank; s += SWEEP_SUMS)
    for (int k = 0; k < SWEEP_SUMS; ++k)
      for (int half = 0; half < 2; ++half)
        sum[k][half] +=
            load(row + (s + (size_t)k) * SWEEP_ROWS + half * LANES) * line[s + (size_t)k];
  for (; s < rank; ++s)
    for (int half = 0; half < 2; ++half)
      sum[0][half] += load(row + s * SWEEP_ROWS + half * LANES) * line[s];
  for (int half = 0; half < 2; ++half) {
    double *entry = row + r * SWEEP_ROWS + half * LANES;
    vector product = (sum[0][half] + sum[1][half]) + (sum[2][half] + sum[3][half]);
    vector left = load(in + r * SWEEP_ROWS + half * LANES) - product;
    store(entry, at_least_zero(load(entry) + left / line[r]));
  }
}

static void sweep_group(size_t rank, const double *v, const double *in, double *row) {
  for (size_t r = 0; r < rank; ++r)
    if (v[r * rank + r] > 0) sweep_entry(rank, v + r * rank, r, in, row);
}

/* sums[0] += sum of (x - m)^2, sums[1] += sum of m^2. */
static void sum_residual_squares(int count, const double *x, const double *m, double sums[2]) {
  double missed[LANES] = {0}, covered[LANES] = {0};
  int whole = count / LANES * LANES;
  for (int p = 0; p < whole; p += LANES)
#pragma omp simd
    for (int k = 0; k < LANES; ++k) {
      missed[k] += (x[p + k] - m[p + k]) * (x[p + k] - m[p + k]);
      covered[k] += m[p + k] * m[p + k];
    }
  for (int p = whole; p < count; ++p) {
    missed[0] += (x[p] - m[p]) * (x[p] - m[p]);
    covered[0] += m[p] * m[p];
  }
  for (int k = 1; k < LANES; ++k) {
    missed[0] += missed[k];
    covered[0] += covered[k];
  }
  sums[0] += missed[0];
  sums[1] += covered[0];
}

/* How far ahead of their use rows are asked for: about as long as one block's Gram matrix takes. */
enum { PREFETCH_BYTES = 8 << 10 };

#define VAL float
#define VAL_IS_DOUBLE 0
#define NAME(x) x##_f32
#include "linalg/factor_kernels_body.h"
#include "linalg/factor_residual_body.h"
#undef VAL
#undef VAL_IS_DOUBLE
#undef NAME
#define VAL double
#define VAL_IS_DOUBLE 1
#define NAME(x) x##_f64
#include "linalg/factor_kernels_body.h"
#include "linalg/factor_residual_body.h"

const struct pd_factor_kernels TABLE[2] = {
    [POLYAD_F32] = {.name = ISA,
                    .gram = gram_f32,
                    .gram_padded = gram_padded,
                    .row_products = row_products_f32,
                    .solve = solve_f32,
                    .multiply = multiply_f32,
                    .multiply_damped = multiply_damped_f32,
                    .residual = residual_f32,
                    .largest = largest_f32,
                    .squares = squares_f32,
                    .absolute = absolute_f32,
                    .inner = inner_f32,
                    .scale = scale_f32,
                    .hals = hals_f32,
                    .weigh = weigh_f32,
                    .kkt = kkt_f32,
                    .elementwise = elementwise_f32,
                    .row_dots = row_dots_f32,
                    .row_sums = row_sums_f32},
    [POLYAD_F64] = {.name = ISA,
                    .gram = gram_f64,
                    .gram_padded = gram_padded,
                    .row_products = row_products_f64,
                    .solve = solve_f64,
                    .multiply = multiply_f64,
                    .multiply_damped = multiply_damped_f64,
                    .residual = residual_f64,
                    .largest = largest_f64,
                    .squares = squares_f64,
                    .absolute = absolute_f64,
                    .inner = inner_f64,
                    .scale = scale_f64,
                    .hals = hals_f64,
                    .weigh = weigh_f64,
                    .kkt = kkt_f64,
                    .elementwise = elementwise_f64,
                    .row_dots = row_dots_f64,
                    .row_sums = row_sums_f64},
};
