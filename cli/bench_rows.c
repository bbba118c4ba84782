#include "bench_rows.h"
#include <stdlib.h>
#include <string.h>

enum { EXTREME = 256, SAMPLED = 1024, NONZEROS_OF_ALL = 20000000 };
static const uint64_t most_bytes = UINT64_C(1) << 29;
/* Of the tensor-times-matrix chain, whose rows are long. */
static const uint64_t most_products = UINT64_C(1) << 26;

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

/* How many rows may be kept, and how many products they may take. */
struct budget {
  uint64_t rows, products, columns;
};

static void keep(uint64_t row, const uint32_t *nonzeros, struct budget *budget, uint64_t *rows,
                 uint64_t *count) {
  uint64_t products;
  if (__builtin_mul_overflow(budget->columns, nonzeros[row], &products)) return;
  if (*count > 0 && (*count >= budget->rows || products > budget->products)) return;
  budget->products -= products < budget->products ? products : budget->products;
  rows[(*count)++] = row;
}

static int by_row(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static uint64_t sort_unique(uint64_t *rows, uint64_t count) {
  uint64_t kept = 0;
  qsort(rows, count, sizeof *rows, by_row);
  for (uint64_t k = 0; k < count; ++k)
    if (k == 0 || rows[k] != rows[k - 1]) rows[kept++] = rows[k];
  return kept;
}

static uint64_t random_row(uint64_t k, uint64_t dim) {
  uint64_t z = (k + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return (z ^ (z >> 29)) * UINT64_C(0xbf58476d1ce4e5b9) % dim;
}

/* The emptiest, the fullest and others in turn, so that a small budget gets some of each. */
static void sample_rows(const uint32_t *nonzeros, uint64_t dim, struct budget *budget,
                        uint64_t *rows, uint64_t *count) {
  struct extreme fullest = {.found = 0}, emptiest = {.found = 0};
  for (uint64_t i = 0; i < dim; ++i) {
    if (nonzeros[i] == 0) continue;
    offer(&fullest, i, nonzeros[i], true);
    offer(&emptiest, i, nonzeros[i], false);
  }
  for (int k = 0; k < SAMPLED / 2; ++k) {
    if (k < emptiest.found) keep(emptiest.row[k], nonzeros, budget, rows, count);
    if (k < fullest.found) keep(fullest.row[k], nonzeros, budget, rows, count);
    keep(random_row((uint64_t)k, dim), nonzeros, budget, rows, count);
  }
  *count = sort_unique(rows, *count);
}

static bool count_nonzeros(const struct bench_operands *operands, uint32_t **nonzeros) {
  const polyad_tensor *tensor = operands->tensor;
  *nonzeros = calloc(polyad_tensor_dims(tensor)[operands->mode] + 1, sizeof **nonzeros);
  for (uint64_t p = 0; *nonzeros != NULL && p < polyad_tensor_nnz(tensor); ++p)
    ++(*nonzeros)[bench_index(tensor, operands->mode, p)];
  return *nonzeros != NULL;
}

bool bench_choose_rows(const struct bench_operands *operands, uint64_t **rows, uint64_t *count) {
  uint64_t dim = polyad_tensor_dims(operands->tensor)[operands->mode], products;
  uint64_t nnz = polyad_tensor_nnz(operands->tensor), columns = bench_columns(operands);
  struct budget budget = {most_bytes / (2 * sizeof(long double)) / columns, UINT64_MAX, columns};
  uint32_t *nonzeros;
  bool chain = operands->kernel == POLYAD_KERNEL_TTMC;
  if (chain) budget.products = most_products;
  bool all = dim <= budget.rows && (dim <= SAMPLED || nnz <= NONZEROS_OF_ALL) &&
             !__builtin_mul_overflow(nnz, columns, &products) && products <= budget.products;
  uint64_t room = all ? dim : 2 * SAMPLED;
  *count = 0;
  *rows = malloc(room * sizeof **rows);
  if (*rows == NULL) return false;
  for (uint64_t i = 0; all && i < dim; ++i)
    (*rows)[(*count)++] = i;
  if (all) return true;
  if (!count_nonzeros(operands, &nonzeros)) return false;
  sample_rows(nonzeros, dim, &budget, *rows, count);
  free(nonzeros);
  return true;
}
