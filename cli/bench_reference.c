#include "bench_reference.h"
#include "bench_rows.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NO_SLOT = -1 };

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

static double value_of(const polyad_tensor *tensor, uint64_t p) {
  return bench_entry(polyad_tensor_values(tensor), p, polyad_tensor_type(tensor));
}

uint64_t bench_columns(const struct bench_operands *operands) {
  uint64_t columns = 1;
  if (operands->kernel != POLYAD_KERNEL_TTMC) return operands->rank;
  for (int n = 1; n < polyad_tensor_order(operands->tensor); ++n)
    if (__builtin_mul_overflow(columns, operands->rank, &columns)) return UINT64_MAX;
  return columns;
}

/* ---- a nonzero's terms ---------------------------------------------------------------------- */

static long double factor_entry(const struct bench_operands *o, int n, uint64_t p, uint64_t r) {
  return bench_entry(o->factors[n], bench_index(o->tensor, n, p) * o->rank + r, o->type);
}

/* The value times the others' rows, number by number; for Phi over the model's value. */
static void product_terms(const struct bench_operands *o, uint64_t p, long double *term) {
  long double weight = value_of(o->tensor, p), model = 0;
  for (uint64_t r = 0; r < o->rank; ++r)
    term[r] = 1;
  for (int n = 0; n < polyad_tensor_order(o->tensor); ++n)
    for (uint64_t r = 0; r < o->rank && n != o->mode; ++r)
      term[r] *= factor_entry(o, n, p, r);
  if (o->kernel == POLYAD_KERNEL_PHI) {
    for (uint64_t r = 0; r < o->rank; ++r)
      model += term[r] * factor_entry(o, o->mode, p, r);
    weight /= model > o->epsilon ? model : (long double)o->epsilon;
  }
  for (uint64_t r = 0; r < o->rank; ++r)
    term[r] *= weight;
}

/* The value times the Kronecker product of the others' rows, made longer in place from its end. */
static void chain_terms(const struct bench_operands *o, uint64_t p, long double *term) {
  uint64_t size = 1;
  term[0] = value_of(o->tensor, p);
  for (int n = 0; n < polyad_tensor_order(o->tensor); ++n) {
    if (n == o->mode) continue;
    for (uint64_t k = size; k-- > 0;) {
      long double from = term[k];
      for (uint64_t r = o->rank; r-- > 0;)
        term[k * o->rank + r] = from * factor_entry(o, n, p, r);
    }
    size *= o->rank;
  }
}

/* ---- their sums ----------------------------------------------------------------------------- */

struct sums {
  const struct bench_operands *operands;
  const int32_t *slot; /* of each row, NO_SLOT where it is not wanted */
  struct bench_reference *to;
};

static void add_nonzero(const struct sums *sums, uint64_t p, uint64_t slot, long double *term) {
  uint64_t columns = sums->to->columns;
  long double *sum = sums->to->sum + slot * columns, *size = sums->to->size + slot * columns;
  (sums->operands->kernel == POLYAD_KERNEL_TTMC ? chain_terms : product_terms)(sums->operands, p,
                                                                               term);
  for (uint64_t k = 0; k < columns; ++k) {
    sum[k] += term[k];
    size[k] += fabsl(term[k]);
  }
}

/* A thread adds up the rows whose slot is its own, so that nothing is shared. */
static bool add_all(const struct sums *sums, int threads) {
  const struct bench_operands *o = sums->operands;
  uint64_t nnz = polyad_tensor_nnz(o->tensor), columns = sums->to->columns;
  long double *terms = calloc((size_t)threads * columns, sizeof *terms);
  if (terms == NULL) return false;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    for (uint64_t p = 0; p < nnz; ++p) {
      int32_t slot = sums->slot[bench_index(o->tensor, o->mode, p)];
      if (slot != NO_SLOT && slot % threads == t)
        add_nonzero(sums, p, (uint64_t)slot, terms + (uint64_t)t * columns);
    }
  free(terms);
  return true;
}

static bool find_terms(const struct sums *sums) {
  const struct bench_operands *o = sums->operands;
  uint32_t *terms = calloc(sums->to->count + 1, sizeof *terms);
  if (terms == NULL) return false;
  for (uint64_t p = 0; p < polyad_tensor_nnz(o->tensor); ++p) {
    int32_t slot = sums->slot[bench_index(o->tensor, o->mode, p)];
    if (slot != NO_SLOT && ++terms[slot] > sums->to->terms) sums->to->terms = terms[slot];
  }
  free(terms);
  return true;
}

static bool add_up(const struct bench_operands *operands, int threads, int32_t *slot,
                   struct bench_reference *reference) {
  struct sums sums = {operands, slot, reference};
  reference->sum = calloc(reference->count * reference->columns, sizeof *reference->sum);
  reference->size = calloc(reference->count * reference->columns, sizeof *reference->size);
  if (reference->sum == NULL || reference->size == NULL) return false;
  for (uint64_t i = 0; i < polyad_tensor_dims(operands->tensor)[operands->mode]; ++i)
    slot[i] = NO_SLOT;
  for (uint64_t k = 0; k < reference->count; ++k)
    slot[reference->row[k]] = (int32_t)k;
  return add_all(&sums, threads) && find_terms(&sums);
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
  for (uint64_t p = 0; p < polyad_tensor_nnz(tensor); ++p) {
    double size = fabs(value_of(tensor, p));
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
