#include "gpu_check.h"
#include "core/random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Entry (i, r) of the factor of a mode, in [-1, 1), a float: any entry is known without storing
 * the factor. */
static double entry(int mode, uint64_t i, uint64_t r) {
  uint64_t bits = pd_random_u64(7, (uint64_t)mode, i * 8192 + r);
  return (double)((float)(bits >> 40) * 0x1p-23F - 1.0F);
}

void bench_factor_fill(struct bench_factors *factors, int mode, uint64_t rows, uint64_t rank,
                       polyad_type type) {
  void *data = malloc(rows * rank * pd_type_bytes(type));
  if (data == NULL) exit(1);
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < rows; ++i)
    for (uint64_t r = 0; r < rank; ++r)
      if (type == POLYAD_F32)
        ((float *)data)[i * rank + r] = (float)entry(mode, i, r);
      else
        ((double *)data)[i * rank + r] = entry(mode, i, r);
  factors->data[mode] = data;
}

void bench_factor_drop(struct bench_factors *factors, int mode) {
  free(factors->data[mode]);
  factors->data[mode] = NULL;
}

/* Marks the rows to check: slot[i] is their number plus one. Returns how many. */
static uint32_t choose_rows(const polyad_tensor *tensor, int mode, uint32_t *slot) {
  uint64_t dim = tensor->dims[mode], heaviest = 0;
  uint32_t *size = calloc(dim, sizeof *size), chosen = 0;
  if (size == NULL) exit(1);
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    ++size[pd_tensor_index(tensor, mode, p)];
  for (uint64_t i = 1; i < dim; ++i)
    if (size[i] > size[heaviest]) heaviest = i;
  slot[heaviest] = ++chosen;
  uint64_t step = dim / 1000 + 1;
  for (uint64_t i = 0; i < dim; i += step)
    if (slot[i] == 0) slot[i] = ++chosen;
  uint32_t light = 0;
  for (uint64_t i = 0; i < dim && light < 200; ++i)
    if (size[i] <= 1 && slot[i] == 0) {
      slot[i] = ++chosen;
      ++light;
    }
  free(size);
  return chosen;
}

/* Sums and sums of magnitudes of the chosen rows: sums[slot][0 or 1][rank]. Every thread has its
 * own, since short modes have few rows. */
static void recompute(const polyad_tensor *tensor, uint64_t rank, int mode, const uint32_t *slot,
                      uint32_t chosen, double *sums) {
#pragma omp parallel
  {
    size_t count = (size_t)chosen * 2 * rank;
    double *mine = calloc(count, sizeof *mine);
    if (mine == NULL) exit(1);
#pragma omp for schedule(static)
    for (uint64_t p = 0; p < tensor->nnz; ++p) {
      uint32_t s = slot[pd_tensor_index(tensor, mode, p)];
      if (s == 0) continue;
      double *to = mine + (size_t)(s - 1) * 2 * rank;
      for (uint64_t r = 0; r < rank; ++r) {
        double product = pd_tensor_value(tensor, p);
        for (int n = 0; n < tensor->order; ++n)
          if (n != mode) product *= entry(n, pd_tensor_index(tensor, n, p), r);
        to[r] += product;
        to[rank + r] += fabs(product);
      }
    }
#pragma omp critical
    for (size_t k = 0; k < count; ++k)
      sums[k] += mine[k];
    free(mine);
  }
}

/* What is known of a mode: the same for every format and precision. */
static struct {
  uint32_t *slot;
  double *sums;
} known[POLYAD_MAX_ORDER];

static void know(const polyad_tensor *tensor, uint64_t rank, int mode) {
  if (known[mode].slot != NULL) return;
  known[mode].slot = calloc(tensor->dims[mode], sizeof *known[mode].slot);
  if (known[mode].slot == NULL) exit(1);
  uint32_t chosen = choose_rows(tensor, mode, known[mode].slot);
  known[mode].sums = calloc((size_t)chosen * 2 * rank, sizeof *known[mode].sums);
  if (known[mode].sums == NULL) exit(1);
  recompute(tensor, rank, mode, known[mode].slot, chosen, known[mode].sums);
}

double bench_check(polyad_context *context, const polyad_tensor *tensor, uint64_t rank, int mode,
                   const struct pd_matrix *out) {
  uint64_t dim = tensor->dims[mode];
  size_t size = pd_type_bytes(out->type);
  char *result = malloc(dim * rank * size);
  double worst = 0;
  if (result == NULL) exit(1);
  know(tensor, rank, mode);
  const uint32_t *slot = known[mode].slot;
  if (pd_matrix_to_host(context, out, result) != POLYAD_OK) worst = INFINITY;
  for (uint64_t i = 0; i < dim && worst < INFINITY; ++i) {
    if (slot[i] == 0) continue;
    const double *exact = known[mode].sums + (size_t)(slot[i] - 1) * 2 * rank;
    for (uint64_t r = 0; r < rank; ++r) {
      uint64_t k = i * rank + r;
      double found =
          size == 4 ? (double)((float *)(void *)result)[k] : ((double *)(void *)result)[k];
      double scale = exact[rank + r], error = fabs(found - exact[r]);
      double relative = scale > 0 ? error / scale : error > 0 ? INFINITY : 0;
      if (!(relative <= worst)) worst = isnan(relative) ? INFINITY : relative;
    }
  }
  free(result);
  return worst;
}
