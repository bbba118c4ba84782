#include "tensor/columns.h"
#include "core/numbers.h"
#include <math.h>
#include <string.h>

/* Rows are taken in this many parts whatever the number of threads, and joined in order. */
enum { PARTS = 32, ENTRY_GRAIN = 1 << 14 };

/* Magnitudes between these can be squared and summed as they are. */
static const double SAFE_MIN = 0x1p-400, SAFE_MAX = 0x1p440;

static int columns_threads_of(const struct pd_columns *columns) {
  return pd_threads_for(columns->context, pd_mul_saturated(columns->rows, columns->stride),
                        ENTRY_GRAIN);
}

static inline double columns_entry(const struct pd_columns *columns, uint64_t row, int c) {
  uint64_t place = row * columns->stride + columns->first + (uint64_t)c;
  return pd_load(columns->type, columns->matrix, place);
}

void pd_columns_peak(const struct pd_columns *columns, double *peak) {
  double part_peak[PARTS][PD_COLUMN_CHUNK];
#pragma omp parallel for num_threads(columns_threads_of(columns)) schedule(static)
  for (int part = 0; part < PARTS; ++part) {
    memset(part_peak[part], 0, sizeof part_peak[part]);
    uint64_t end = pd_part_begin(columns->rows, part + 1, PARTS);
    for (uint64_t row = pd_part_begin(columns->rows, part, PARTS); row < end; ++row)
      for (int c = 0; c < columns->count; ++c) {
        double value = columns_entry(columns, row, c);
        if (fabs(value) > fabs(part_peak[part][c])) part_peak[part][c] = value;
      }
  }
  memcpy(peak, part_peak[0], (size_t)columns->count * sizeof *peak);
  for (int part = 1; part < PARTS; ++part)
    for (int c = 0; c < columns->count; ++c)
      if (fabs(part_peak[part][c]) > fabs(peak[c])) peak[c] = part_peak[part][c];
}

/* 2^-exponent in two factors, since 2^1074 alone is no double. */
static void powers(const int *exponent, int count, double *one, double *other) {
  for (int c = 0; c < count; ++c) {
    one[c] = ldexp(1, -(exponent[c] / 2));
    other[c] = ldexp(1, -(exponent[c] - exponent[c] / 2));
  }
}

void pd_columns_norm(const struct pd_columns *columns, bool one, double *norm, int *exponent) {
  double peak[PD_COLUMN_CHUNK], scale[PD_COLUMN_CHUNK], scale_more[PD_COLUMN_CHUNK];
  double sums[PARTS][PD_COLUMN_CHUNK];
  pd_columns_peak(columns, peak);
  for (int c = 0; c < columns->count; ++c) {
    double magnitude = fabs(peak[c]);
    exponent[c] = 0;
    if (magnitude != 0 && isfinite(magnitude) && (magnitude < SAFE_MIN || magnitude > SAFE_MAX))
      (void)frexp(magnitude, &exponent[c]);
  }
  powers(exponent, columns->count, scale, scale_more);
#pragma omp parallel for num_threads(columns_threads_of(columns)) schedule(static)
  for (int part = 0; part < PARTS; ++part) {
    memset(sums[part], 0, sizeof sums[part]);
    uint64_t end = pd_part_begin(columns->rows, part + 1, PARTS);
    for (uint64_t row = pd_part_begin(columns->rows, part, PARTS); row < end; ++row)
      for (int c = 0; c < columns->count; ++c) {
        double value = columns_entry(columns, row, c) * scale[c] * scale_more[c];
        sums[part][c] += one ? fabs(value) : value * value;
      }
  }
  for (int c = 0; c < columns->count; ++c) {
    double sum = 0;
    for (int part = 0; part < PARTS; ++part)
      sum += sums[part][c];
    norm[c] = one ? sum : sqrt(sum);
  }
}

void pd_columns_divide(const struct pd_columns *columns, const double *divisor,
                       const int *exponent) {
  double scale[PD_COLUMN_CHUNK], scale_more[PD_COLUMN_CHUNK];
  powers(exponent, columns->count, scale, scale_more);
#pragma omp parallel for num_threads(columns_threads_of(columns)) schedule(static)
  for (uint64_t row = 0; row < columns->rows; ++row)
    for (int c = 0; c < columns->count; ++c) {
      if (divisor[c] == 0) continue;
      double value = columns_entry(columns, row, c) * scale[c] * scale_more[c] / divisor[c];
      uint64_t place = row * columns->stride + columns->first + (uint64_t)c;
      pd_store(columns->type, columns->matrix, place, value);
    }
}
