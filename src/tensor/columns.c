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

/* What the passes do to one row's columns, for each type of numbers. */
#define COLUMNS_OF_ROWS(type)                                                                      \
  static void peak_##type(const type *restrict x, int count, double *restrict peak) {              \
    PRAGMA_SIMD                                                                                    \
    for (int c = 0; c < count; ++c)                                                                \
      peak[c] = fabs((double)x[c]) > fabs(peak[c]) ? (double)x[c] : peak[c];                       \
  }                                                                                                \
  static void squares_##type(const type *restrict x, int count, const struct powers *by,           \
                             double *restrict sum) {                                               \
    PRAGMA_SIMD                                                                                    \
    for (int c = 0; c < count; ++c) {                                                              \
      double value = (double)x[c] * by->one[c] * by->other[c];                                     \
      sum[c] += value * value;                                                                     \
    }                                                                                              \
  }                                                                                                \
  static void magnitudes_##type(const type *restrict x, int count, const struct powers *by,        \
                                double *restrict sum) {                                            \
    PRAGMA_SIMD                                                                                    \
    for (int c = 0; c < count; ++c)                                                                \
      sum[c] += fabs((double)x[c] * by->one[c] * by->other[c]);                                    \
  }                                                                                                \
  static void divide_##type(type *restrict x, int count, const struct powers *by,                  \
                            const double *restrict divisor) {                                      \
    PRAGMA_SIMD                                                                                    \
    for (int c = 0; c < count; ++c)                                                                \
      x[c] = (type)((double)x[c] * by->one[c] * by->other[c] / divisor[c]);                        \
  }
#define PRAGMA_SIMD _Pragma("omp simd")

/* 2^-exponent in two factors. */
struct powers {
  double one[PD_COLUMN_CHUNK], other[PD_COLUMN_CHUNK];
};

static void find_powers(const int *exponent, int count, struct powers *by) {
  for (int c = 0; c < count; ++c)
    pd_two_powers(exponent[c], &by->one[c], &by->other[c]);
}

COLUMNS_OF_ROWS(float)
COLUMNS_OF_ROWS(double)

/* Calls the function of the columns' type with a row's numbers and what else it takes. */
#define ON_ROW(function, columns, row, ...)                                                        \
  do {                                                                                             \
    uint64_t place = (row) * (columns)->stride + (columns)->first;                                 \
    if ((columns)->type == POLYAD_F32)                                                             \
      function##_float((float *)(columns)->matrix + place, (columns)->count, __VA_ARGS__);         \
    else                                                                                           \
      function##_double((double *)(columns)->matrix + place, (columns)->count, __VA_ARGS__);       \
  } while (0)

/* What the parts of the rows have found in each column. */
struct found {
  double peak[PARTS][PD_COLUMN_CHUNK], sum[PARTS][PD_COLUMN_CHUNK];
};

/* One pass: the entries of largest magnitude and, where `by` is given, sums of what `by` scales. */
static void look(const struct pd_columns *columns, bool one, const struct powers *by,
                 struct found *found) {
  memset(found, 0, sizeof *found);
#pragma omp parallel for num_threads(columns_threads_of(columns)) schedule(static)
  for (int part = 0; part < PARTS; ++part) {
    uint64_t end = pd_part_begin(columns->rows, part + 1, PARTS);
    double *peak = found->peak[part], *sum = found->sum[part];
    for (uint64_t row = pd_part_begin(columns->rows, part, PARTS); row < end; ++row) {
      ON_ROW(peak, columns, row, peak);
      if (by == NULL) continue;
      if (one)
        ON_ROW(magnitudes, columns, row, by, sum);
      else
        ON_ROW(squares, columns, row, by, sum);
    }
  }
}

static void join_peaks(const struct pd_columns *columns, const struct found *found, double *peak) {
  memcpy(peak, found->peak[0], (size_t)columns->count * sizeof *peak);
  for (int part = 1; part < PARTS; ++part)
    for (int c = 0; c < columns->count; ++c)
      if (fabs(found->peak[part][c]) > fabs(peak[c])) peak[c] = found->peak[part][c];
}

void pd_columns_peak(const struct pd_columns *columns, double *peak) {
  struct found found;
  look(columns, false, NULL, &found);
  join_peaks(columns, &found, peak);
}

bool pd_columns_exponents(const double *peak, int count, int *exponent) {
  bool any = false;
  for (int c = 0; c < count; ++c) {
    double magnitude = fabs(peak[c]);
    exponent[c] = 0;
    if (magnitude != 0 && isfinite(magnitude) && (magnitude < SAFE_MIN || magnitude > SAFE_MAX)) {
      (void)frexp(magnitude, &exponent[c]);
      any = true;
    }
  }
  return any;
}

/* Nearly always the first pass, which scales nothing, is enough. */
void pd_columns_norm(const struct pd_columns *columns, bool one, double *norm, int *exponent,
                     double *peak) {
  struct powers by;
  struct found found;
  memset(exponent, 0, (size_t)columns->count * sizeof *exponent);
  find_powers(exponent, columns->count, &by);
  look(columns, one, &by, &found);
  join_peaks(columns, &found, peak);
  if (pd_columns_exponents(peak, columns->count, exponent)) {
    find_powers(exponent, columns->count, &by);
    look(columns, one, &by, &found);
  }
  for (int c = 0; c < columns->count; ++c) {
    double sum = 0;
    for (int part = 0; part < PARTS; ++part)
      sum += found.sum[part][c];
    norm[c] = one ? sum : sqrt(sum);
  }
}

/* A column that stays is divided by one. */
void pd_columns_divide(const struct pd_columns *columns, const double *divisor,
                       const int *exponent) {
  double by_what[PD_COLUMN_CHUNK];
  int shift[PD_COLUMN_CHUNK];
  struct powers by;
  bool any = false;
  for (int c = 0; c < columns->count; ++c) {
    bool stays = divisor[c] == 0;
    by_what[c] = stays ? 1 : divisor[c];
    shift[c] = stays ? 0 : exponent[c];
    any = any || by_what[c] != 1 || shift[c] != 0;
  }
  if (!any) return;
  find_powers(shift, columns->count, &by);
#pragma omp parallel for num_threads(columns_threads_of(columns)) schedule(static)
  for (uint64_t row = 0; row < columns->rows; ++row)
    ON_ROW(divide, columns, row, &by, by_what);
}
