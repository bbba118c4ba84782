#include "bench_reference.h"
#include "bench.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXTREME = 256, SAMPLED = 1024, NONZEROS_OF_ALL = 20000000, NO_SLOT = -1 };
static const uint64_t bytes_of_all = UINT64_C(1) << 29;

static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  return (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
}

void bench_fill(void *matrix, uint64_t count, polyad_type type, uint64_t seed) {
  for (uint64_t k = 0; k < count; ++k) {
    uint64_t z = (seed + k + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    double value = 0.5 + 0.5 * ((double)(z >> 11) * 0x1p-53);
    if (type == POLYAD_F64)
      ((double *)matrix)[k] = value;
    else
      ((float *)matrix)[k] = (float)value;
  }
}

double bench_entry(const void *matrix, uint64_t k, polyad_type type) {
  return type == POLYAD_F64 ? ((const double *)matrix)[k] : ((const float *)matrix)[k];
}

uint64_t bench_index(const polyad_tensor *tensor, int mode, uint64_t p) {
  const void *indices = polyad_tensor_indices(tensor, mode);
  return polyad_tensor_index_bytes(tensor, mode) == 4 ? ((const uint32_t *)indices)[p]
                                                      : ((const uint64_t *)indices)[p];
}

/* ---- which rows ----------------------------------------------------------------------------- */

/* The best EXTREME rows so far, best first. */
struct extreme {
  uint64_t row[EXTREME];
  uint32_t count[EXTREME];
  int found;
};

static void offer(struct extreme *list, uint64_t row, uint32_t count, bool fullest) {
  int at = list->found;
  while (at > 0 && (fullest ? count > list->count[at - 1] : count < list->count[at - 1]))
    --at;
  if (at == EXTREME) return;
  int kept = list->found < EXTREME ? list->found : EXTREME - 1;
  memmove(list->row + at + 1, list->row + at, (size_t)(kept - at) * sizeof *list->row);
  memmove(list->count + at + 1, list->count + at, (size_t)(kept - at) * sizeof *list->count);
  list->row[at] = row;
  list->count[at] = count;
  list->found = kept + 1;
}

static int by_row(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static bool sample_rows(const polyad_tensor *tensor, int mode, struct bench_reference *reference) {
  uint64_t dim = polyad_tensor_dims(tensor)[mode], nnz = polyad_tensor_nnz(tensor);
  uint32_t *count = calloc(dim, sizeof *count);
  struct extreme fullest = {.found = 0}, emptiest = {.found = 0};
  if (count == NULL) return false;
  for (uint64_t p = 0; p < nnz; ++p)
    ++count[bench_index(tensor, mode, p)];
  for (uint64_t i = 0; i < dim; ++i) {
    if (count[i] == 0) continue;
    offer(&fullest, i, count[i], true);
    offer(&emptiest, i, count[i], false);
  }
  free(count);
  uint64_t rows = 0, *row = reference->row;
  for (int k = 0; k < fullest.found; ++k)
    row[rows++] = fullest.row[k];
  for (int k = 0; k < emptiest.found; ++k)
    row[rows++] = emptiest.row[k];
  for (uint64_t k = 0; rows < SAMPLED; ++k)
    row[rows++] = mix(k + 1) % dim;
  qsort(row, rows, sizeof *row, by_row);
  reference->count = 0;
  for (uint64_t k = 0; k < rows; ++k)
    if (k == 0 || row[k] != row[k - 1]) row[reference->count++] = row[k];
  return true;
}

static bool choose_rows(const polyad_tensor *tensor, int mode, uint64_t rank,
                        struct bench_reference *reference) {
  uint64_t dim = polyad_tensor_dims(tensor)[mode];
  bool all = dim <= SAMPLED || (polyad_tensor_nnz(tensor) <= NONZEROS_OF_ALL &&
                                dim <= bytes_of_all / (2 * sizeof(long double)) / rank);
  reference->count = all ? dim : SAMPLED;
  reference->row = malloc(reference->count * sizeof *reference->row);
  if (reference->row == NULL) return false;
  for (uint64_t i = 0; all && i < dim; ++i)
    reference->row[i] = i;
  return all || sample_rows(tensor, mode, reference);
}

/* ---- their numbers -------------------------------------------------------------------------- */

struct sums {
  const polyad_tensor *tensor;
  int mode;
  uint64_t rank;
  const void *const *factors;
  polyad_type type;
  const int32_t *slot; /* of each row, NO_SLOT where it is not wanted */
  struct bench_reference *to;
};

static void add_nonzero(const struct sums *sums, uint64_t p, uint64_t slot) {
  const polyad_tensor *tensor = sums->tensor;
  double value = bench_entry(polyad_tensor_values(tensor), p, polyad_tensor_type(tensor));
  const void *factor[POLYAD_MAX_ORDER];
  uint64_t begin[POLYAD_MAX_ORDER];
  int inputs = 0;
  for (int n = 0; n < polyad_tensor_order(tensor); ++n) {
    if (n == sums->mode) continue;
    factor[inputs] = sums->factors[n];
    begin[inputs++] = bench_index(tensor, n, p) * sums->rank;
  }
  for (uint64_t r = 0; r < sums->rank; ++r) {
    long double product = value;
    for (int k = 0; k < inputs; ++k)
      product *= bench_entry(factor[k], begin[k] + r, sums->type);
    sums->to->sum[slot * sums->rank + r] += product;
    sums->to->size[slot * sums->rank + r] += fabsl(product);
  }
}

/* A thread adds up the rows whose slot is its own, so that nothing is shared. */
static void add_all(const struct sums *sums, int threads) {
  uint64_t nnz = polyad_tensor_nnz(sums->tensor);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    for (uint64_t p = 0; p < nnz; ++p) {
      int32_t slot = sums->slot[bench_index(sums->tensor, sums->mode, p)];
      if (slot != NO_SLOT && slot % threads == t) add_nonzero(sums, p, (uint64_t)slot);
    }
}

static bool find_terms(const struct sums *sums) {
  uint32_t *terms = calloc(sums->to->count + 1, sizeof *terms);
  if (terms == NULL) return false;
  for (uint64_t p = 0; p < polyad_tensor_nnz(sums->tensor); ++p) {
    int32_t slot = sums->slot[bench_index(sums->tensor, sums->mode, p)];
    if (slot != NO_SLOT && ++terms[slot] > sums->to->terms) sums->to->terms = terms[slot];
  }
  free(terms);
  return true;
}

bool bench_reference_create(const polyad_tensor *tensor, int mode, uint64_t rank,
                            const void *const *factors, polyad_type type, int threads,
                            struct bench_reference *reference) {
  uint64_t dim = polyad_tensor_dims(tensor)[mode];
  *reference = (struct bench_reference){.count = 0};
  int32_t *slot = malloc(dim * sizeof *slot);
  bool made = slot != NULL && choose_rows(tensor, mode, rank, reference);
  if (made) {
    reference->sum = calloc(reference->count * rank, sizeof *reference->sum);
    reference->size = calloc(reference->count * rank, sizeof *reference->size);
    made = reference->sum != NULL && reference->size != NULL;
  }
  if (made) {
    struct sums sums = {tensor, mode, rank, factors, type, slot, reference};
    for (uint64_t i = 0; i < dim; ++i)
      slot[i] = NO_SLOT;
    for (uint64_t k = 0; k < reference->count; ++k)
      slot[reference->row[k]] = (int32_t)k;
    add_all(&sums, threads);
    made = find_terms(&sums);
  }
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

double bench_reference_error(const struct bench_reference *reference, uint64_t rank,
                             polyad_type type, const void *out) {
  double worst = 0;
  for (uint64_t k = 0; k < reference->count; ++k)
    for (uint64_t r = 0; r < rank; ++r) {
      long double found = bench_entry(out, reference->row[k] * rank + r, type);
      long double size = reference->size[k * rank + r];
      double error =
          size > 0 ? (double)(fabsl(found - reference->sum[k * rank + r]) / size) : found != 0;
      if (error > worst || isnan(error)) worst = error;
    }
  return worst;
}

double bench_reference_bound(const struct bench_reference *reference, int order, polyad_type type) {
  double unit = type == POLYAD_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
  double roundings = (double)reference->terms + 2.0 * order + 2;
  return roundings * unit < 1 ? roundings * unit / (1 - roundings * unit) : INFINITY;
}
