#include "bench_reference.h"
#include "bench_rows.h"
#include "bench_sums.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  return z ^ (z >> 27);
}

void bench_fill(void *matrix, uint64_t count, polyad_type type, uint64_t seed) {
  for (uint64_t k = 0; k < count; ++k) {
    uint64_t z = mix((seed + k + 1) * UINT64_C(0x9e3779b97f4a7c15));
    double value = 0.5 + 0.5 * ((double)(z >> 11) * 0x1p-53);
    if (type == POLYAD_F64)
      ((double *)matrix)[k] = value;
    else
      ((float *)matrix)[k] = (float)value;
  }
}

size_t bench_width(polyad_type type) { return type == POLYAD_F64 ? 8 : 4; }

double bench_entry(const void *matrix, uint64_t k, polyad_type type) {
  return type == POLYAD_F64 ? ((const double *)matrix)[k] : ((const float *)matrix)[k];
}

uint64_t bench_index(const polyad_tensor *tensor, int mode, uint64_t p) {
  const void *indices = polyad_tensor_indices(tensor, mode);
  return polyad_tensor_index_bytes(tensor, mode) == 4 ? ((const uint32_t *)indices)[p]
                                                      : ((const uint64_t *)indices)[p];
}

uint64_t bench_columns(const struct bench_operands *operands) {
  uint64_t columns = 1;
  if (operands->kernel != POLYAD_KERNEL_TTMC) return operands->rank;
  for (int n = 1; n < polyad_tensor_order(operands->tensor); ++n)
    if (__builtin_mul_overflow(columns, operands->rank, &columns)) return UINT64_MAX;
  return columns;
}

/* ---- sums ----------------------------------------------------------------------------------- */

static bool add_up(const struct bench_operands *operands, int threads, int32_t *slot,
                   struct bench_reference *reference) {
  reference->sum = calloc(reference->count * reference->columns, sizeof *reference->sum);
  reference->size = calloc(reference->count * reference->columns, sizeof *reference->size);
  if (reference->sum == NULL || reference->size == NULL) return false;
  for (uint64_t i = 0; i < polyad_tensor_dims(operands->tensor)[operands->mode]; ++i)
    slot[i] = BENCH_NO_SLOT;
  for (uint64_t k = 0; k < reference->count; ++k)
    slot[reference->row[k]] = (int32_t)k;
  return bench_sum_rows(operands, slot, threads, reference);
}

bool bench_reference_create(const struct bench_operands *operands, int threads,
                            struct bench_reference *reference) {
  uint64_t dim = polyad_tensor_dims(operands->tensor)[operands->mode];
  *reference = (struct bench_reference){.columns = bench_columns(operands)};
  int32_t *slot = malloc(dim * sizeof *slot);
  bool made = slot != NULL && bench_choose_rows(operands, &reference->row, &reference->count) &&
              add_up(operands, threads, slot, reference);
  free(slot);
  if (!made) bench_reference_clear(reference);
  return made;
}

void bench_reference_clear(struct bench_reference *reference) {
  free(reference->row);
  free(reference->sum);
  free(reference->size);
  *reference = (struct bench_reference){.count = 0};
}

/* ---- comparing ------------------------------------------------------------------------------ */

double bench_reference_error(const struct bench_reference *reference, polyad_type type,
                             const void *out) {
  double worst = 0;
  uint64_t columns = reference->columns;
  for (uint64_t k = 0; k < reference->count; ++k)
    for (uint64_t r = 0; r < columns; ++r) {
      long double found = bench_entry(out, reference->row[k] * columns + r, type);
      long double size = reference->size[k * columns + r];
      double error =
          size > 0 ? (double)(fabsl(found - reference->sum[k * columns + r]) / size) : found != 0;
      if (error > worst || isnan(error)) worst = error;
    }
  return worst;
}

void bench_reference_means(const struct bench_reference *reference, polyad_type type,
                           const void *out, double *smape_percent, double *relative) {
  long double sum = 0, difference = 0, square = 0;
  uint64_t columns = reference->columns, count = reference->count * columns;
  for (uint64_t k = 0; k < count; ++k) {
    long double exact = reference->sum[k], size;
    long double found = bench_entry(out, reference->row[k / columns] * columns + k % columns, type);
    size = fabsl(exact) + fabsl(found);
    if (size > 0 || isnan(size)) sum += fabsl(exact - found) / size;
    difference += (exact - found) * (exact - found);
    square += exact * exact;
  }
  *smape_percent = count > 0 ? (double)(100 * sum / count) : 0;
  *relative = square > 0 ? (double)sqrtl(difference / square) : (double)sqrtl(difference);
}

/* The largest magnitude over the smallest that is not 0. */
static double range_of(const polyad_tensor *tensor) {
  double least = INFINITY, most = 0;
  const void *values = polyad_tensor_values(tensor);
  polyad_type type = polyad_tensor_type(tensor);
  for (uint64_t p = 0; p < polyad_tensor_nnz(tensor); ++p) {
    double size = fabs(bench_entry(values, p, type));
    most = fmax(most, size);
    if (size > 0) least = fmin(least, size);
  }
  return most / least;
}

/* Relative to the magnitudes, a sum of `terms` products of `order` numbers, and where factors and
 * values are rounded first, two more roundings of intermediate results in that type. */
double bench_reference_bound(const struct bench_reference *reference,
                             const struct bench_operands *operands, polyad_compute compute) {
  static const double units[] = {0, 0x1p-11, 0x1p-8, 0x1p-11};
  static const double ranges[] = {INFINITY, 0x1p24, 0x1p100, 0x1p100};
  int order = polyad_tensor_order(operands->tensor);
  bool reduced = compute != POLYAD_COMPUTE_NATIVE;
  double unit = operands->type == POLYAD_F32 || reduced ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
  double roundings = (double)reference->terms + 2.0 * order + 2;
  if (operands->kernel == POLYAD_KERNEL_PHI) roundings += order + (double)operands->rank + 2;
  double sum = roundings * unit + (order + 2) * units[compute];
  if (sum >= 1 || (reduced && range_of(operands->tensor) > ranges[compute])) return INFINITY;
  return sum / (1 - sum);
}
