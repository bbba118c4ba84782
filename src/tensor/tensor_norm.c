/* The Frobenius norm, without overflow or underflow of squares. */
#include "core/numbers.h"
#include "tensor/tensor.h"
#include <math.h>

/* Sums are formed in this many parts whatever the number of threads, and in each part in
 * blocks of several lanes: the order of additions never changes. */
enum { PARTS = 256, BLOCK = 4096, LANES = 8, THREAD_GRAIN = 1 << 15 };

/* Squares of magnitudes between these neither overflow when summed nor vanish beside the
 * largest. */
static const double SAFE_MIN = 0x1p-400, SAFE_MAX = 0x1p440;

static double largest_magnitude(const polyad_context *context, uint64_t count,
                                const double *values) {
  int threads = pd_threads_for(context, count, THREAD_GRAIN);
  double largest = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : largest)
  for (uint64_t p = 0; p < count; ++p) {
    double magnitude = fabs(values[p]);
    if (magnitude > largest) largest = magnitude;
  }
  return largest;
}

static double fold(const double lanes[LANES]) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

static double block_sum_f64(const double *values, uint64_t count, double one, double other) {
  double lanes[LANES] = {0};
  uint64_t p = 0;
  for (; p + LANES <= count; p += LANES)
    for (int lane = 0; lane < LANES; ++lane) {
      double value = values[p + (uint64_t)lane] * one * other;
      lanes[lane] += value * value;
    }
  for (; p < count; ++p) {
    double value = values[p] * one * other;
    lanes[p % LANES] += value * value;
  }
  return fold(lanes);
}

static double block_sum_f32(const float *values, uint64_t count) {
  double lanes[LANES] = {0};
  uint64_t p = 0;
  for (; p + LANES <= count; p += LANES)
    for (int lane = 0; lane < LANES; ++lane) {
      double value = (double)values[p + (uint64_t)lane];
      lanes[lane] += value * value;
    }
  for (; p < count; ++p)
    lanes[p % LANES] += (double)values[p] * (double)values[p];
  return fold(lanes);
}

double pd_sum_of_squares(const polyad_context *context, uint64_t count, polyad_type type,
                         const void *values, int *exponent) {
  *exponent = 0;
  if (type == POLYAD_F64) {
    double largest = largest_magnitude(context, count, values);
    if (largest == 0 || !isfinite(largest)) return largest;
    if (largest < SAFE_MIN || largest > SAFE_MAX) (void)frexp(largest, exponent);
  }
  double one, other, sums[PARTS];
  pd_two_powers(*exponent, &one, &other);
  int threads = pd_threads_for(context, count, THREAD_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int part = 0; part < PARTS; ++part) {
    uint64_t end = pd_part_begin(count, part + 1, PARTS);
    sums[part] = 0;
    for (uint64_t p = pd_part_begin(count, part, PARTS); p < end; p += BLOCK) {
      uint64_t length = end - p < BLOCK ? end - p : BLOCK;
      sums[part] += type == POLYAD_F32
                        ? block_sum_f32((const float *)values + p, length)
                        : block_sum_f64((const double *)values + p, length, one, other);
    }
  }
  double total = 0;
  for (int part = 0; part < PARTS; ++part)
    total += sums[part];
  return total;
}

double polyad_tensor_norm(const polyad_tensor *tensor) {
  int exponent;
  double sum =
      pd_sum_of_squares(tensor->context, tensor->nnz, tensor->type, tensor->values, &exponent);
  return ldexp(sqrt(sum), exponent);
}
