/* The unfolding of a tensor along a mode, and the leading eigenvectors of its Gram matrix. Sorts
 * the nonzeros into fibers, which are the unfolding's columns; forms the Gram matrix as the sum of
 * the fibers' outer products, or multiplies by it fiber by fiber without forming it. */
#include "algorithms/unfolding.h"
#include "core/numbers.h"
#include "core/radix_sort.h"
#include "linalg/symmetric.h"
#include <string.h>

enum { GRAIN = 1 << 16, CHUNK = 1 << 24, BLOCK = PD_SYMMETRIC_BLOCK };

/* ---- fibers --------------------------------------------------------------------------------- */

static bool unfolding_same_fiber(const polyad_tensor *tensor, int mode, uint64_t a, uint64_t b) {
  for (int n = 0; n < tensor->order; ++n)
    if (n != mode && pd_tensor_index(tensor, n, a) != pd_tensor_index(tensor, n, b)) return false;
  return true;
}

/* Sorts the nonzeros by all other modes. */
static polyad_status sort_into_fibers(const struct pd_unfolding *x, int bytes, void *permutation) {
  const polyad_tensor *tensor = x->tensor;
  struct pd_key keys[POLYAD_MAX_ORDER];
  int count = 0;
  for (int n = 0; n < tensor->order; ++n)
    if (n != x->mode)
      keys[count++] = (struct pd_key){tensor->index[n], tensor->index_bytes[n], tensor->dims[n]};
  if (count > 0)
    return pd_sort_permutation(x->context, tensor->nnz, count, keys, bytes, permutation);
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    pd_id_put(permutation, bytes, p, p);
  return POLYAD_OK;
}

static void take_entry(struct pd_unfolding *x, uint64_t to, uint64_t from) {
  uint64_t row = pd_tensor_index(x->tensor, x->mode, from);
  x->value[to] = pd_tensor_value(x->tensor, from);
  pd_id_put(x->row, x->row_bytes, to, row);
}

polyad_status pd_unfold(polyad_context *context, const polyad_tensor *tensor, int mode,
                        struct pd_unfolding *x) {
  polyad_status status = POLYAD_OK;
  int bytes = tensor->nnz <= UINT32_MAX ? 4 : 8;
  void *permutation = NULL;
  *x = (struct pd_unfolding){
      .context = context, .tensor = tensor, .mode = mode, .row_bytes = tensor->index_bytes[mode]};
  PD_TRY_CLEANUP(pd_alloc(context, tensor->nnz, (size_t)bytes, &permutation));
  PD_TRY_CLEANUP(sort_into_fibers(x, bytes, permutation));
  PD_TRY_CLEANUP(pd_alloc(context, tensor->nnz, (size_t)x->row_bytes, &x->row));
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &x->value));
  PD_TRY_CLEANUP(PD_NEW(context, pd_add_saturated(tensor->nnz, 1), &x->fiber));
  for (uint64_t p = 0, before = 0; p < tensor->nnz; ++p) {
    uint64_t at = pd_id_at(permutation, bytes, p);
    if (p == 0 || !unfolding_same_fiber(tensor, mode, before, at)) x->fiber[x->fibers++] = p;
    take_entry(x, p, at);
    before = at;
  }
  x->fiber[x->fibers] = tensor->nnz;
cleanup:
  pd_free(context, permutation);
  if (status != POLYAD_OK) pd_unfolding_clear(x);
  return status;
}

void pd_unfolding_clear(struct pd_unfolding *x) {
  if (x->context == NULL) return;
  PD_FREE(x->context, x->fiber, x->row, x->value);
  *x = (struct pd_unfolding){0};
}

/* The fiber at which part `part` of `parts` of the nonzeros begins. */
static uint64_t fiber_of_part(const struct pd_unfolding *x, int part, int parts) {
  uint64_t nonzero = pd_part_begin(x->tensor->nnz, part, parts), low = 0, high = x->fibers;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (x->fiber[middle] < nonzero)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* ---- the Gram matrix, formed ---------------------------------------------------------------- */

/* Adds the fiber's outer product to the lower triangle. */
static void add_fiber(const struct pd_unfolding *x, uint64_t f, uint64_t rows, double *gram) {
  for (uint64_t p = x->fiber[f]; p < x->fiber[f + 1]; ++p) {
    double *line = gram + pd_id_at(x->row, x->row_bytes, p) * rows, value = x->value[p];
    for (uint64_t q = x->fiber[f]; q <= p; ++q)
      line[pd_id_at(x->row, x->row_bytes, q)] += value * x->value[q];
  }
}

/* Fibers [begin, end) until about CHUNK products are done; returns where it stopped. */
static uint64_t add_some(const struct pd_unfolding *x, uint64_t begin, uint64_t end, uint64_t rows,
                         double *gram) {
  uint64_t f = begin;
  for (uint64_t done = 0; f < end && done < CHUNK; ++f) {
    uint64_t length = x->fiber[f + 1] - x->fiber[f];
    add_fiber(x, f, rows, gram);
    done += length * length / 2 + 1;
  }
  return f;
}

/* Each thread has a matrix of its own where memory allows; they are added in their order. */
static polyad_status unfolding_form_gram(struct pd_stage *stage, const struct pd_unfolding *x,
                                         double **out) {
  polyad_context *context = stage->context;
  polyad_status status = POLYAD_OK;
  uint64_t rows = x->tensor->dims[x->mode], square = pd_mul_saturated(rows, rows), going = 1;
  uint64_t used = polyad_memory_in_use(context), limit = polyad_memory_limit(context), *at = NULL;
  int threads = pd_threads_for(context, x->tensor->nnz, GRAIN);
  double *gram = NULL;
  while (threads > 1 && pd_mul_saturated(square, 8 * (uint64_t)threads) > (limit - used) / 4)
    --threads;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, pd_mul_saturated(square, (uint64_t)threads), &gram));
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)threads, &at));
  for (int t = 0; t < threads; ++t)
    at[t] = fiber_of_part(x, t, threads);
  while (going > 0) {
    PD_TRY_CLEANUP(pd_stage_tick(stage));
    going = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : going)
    for (int t = 0; t < threads; ++t) {
      uint64_t end = fiber_of_part(x, t + 1, threads);
      at[t] = add_some(x, at[t], end, rows, gram + (uint64_t)t * square);
      going += at[t] < end;
    }
  }
  for (int t = 1; t < threads; ++t)
    for (uint64_t k = 0; k < square; ++k)
      gram[k] += gram[(uint64_t)t * square + k];
  *out = gram;
  gram = NULL;
cleanup:
  PD_FREE(context, gram, at);
  return status;
}

static polyad_status solve_whole(struct pd_stage *stage, const struct pd_unfolding *x,
                                 uint64_t count, double *values, double *vectors) {
  double *gram;
  PD_TRY(unfolding_form_gram(stage, x, &gram));
  polyad_status status =
      pd_symmetric_leading(stage, x->tensor->dims[x->mode], gram, count, values, vectors);
  pd_free(stage->context, gram);
  return status;
}

/* ---- the Gram matrix, applied --------------------------------------------------------------- */

struct product {
  const struct pd_unfolding *x;
  int threads;
  double *parts; /* of all threads but the first: rows x BLOCK each */
};

/* y += X_f (X_f^T q) for fibers [begin, end). */
static void apply_fibers(const struct pd_unfolding *x, uint64_t begin, uint64_t end,
                         const double *restrict q, double *restrict y) {
  for (uint64_t f = begin; f < end; ++f) {
    double z[BLOCK] = {0};
    for (uint64_t p = x->fiber[f]; p < x->fiber[f + 1]; ++p) {
      const double *row = q + pd_id_at(x->row, x->row_bytes, p) * BLOCK;
      for (int r = 0; r < BLOCK; ++r)
        z[r] += x->value[p] * row[r];
    }
    for (uint64_t p = x->fiber[f]; p < x->fiber[f + 1]; ++p) {
      double *row = y + pd_id_at(x->row, x->row_bytes, p) * BLOCK;
      for (int r = 0; r < BLOCK; ++r)
        row[r] += x->value[p] * z[r];
    }
  }
}

/* y = X X^T q; the threads' parts are added in their order. */
static polyad_status apply(void *user, const double *q, double *y) {
  const struct product *product = user;
  const struct pd_unfolding *x = product->x;
  uint64_t numbers = x->tensor->dims[x->mode] * BLOCK;
  int threads = product->threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    double *part = t == 0 ? y : product->parts + (uint64_t)(t - 1) * numbers;
    memset(part, 0, numbers * sizeof *part);
    apply_fibers(x, fiber_of_part(x, t, threads), fiber_of_part(x, t + 1, threads), q, part);
  }
  for (int t = 1; t < threads; ++t) {
    const double *part = product->parts + (uint64_t)(t - 1) * numbers;
    for (uint64_t k = 0; k < numbers; ++k)
      y[k] += part[k];
  }
  return POLYAD_OK;
}

/* Threads whose parts take no more memory than the nonzeros. */
static int threads_to_apply(const struct pd_unfolding *x) {
  uint64_t nnz = x->tensor->nnz, rows = x->tensor->dims[x->mode];
  int threads = pd_threads_for(x->context, pd_mul_saturated(nnz, BLOCK), GRAIN);
  while (threads > 1 && pd_mul_saturated(rows, (uint64_t)threads - 1) > nnz)
    --threads;
  return threads;
}

static polyad_status solve_by_products(struct pd_stage *stage, const struct pd_unfolding *x,
                                       struct pd_symmetric_search *search, double *values,
                                       double *vectors) {
  uint64_t rows = x->tensor->dims[x->mode];
  struct product product = {.x = x, .threads = threads_to_apply(x)};
  const struct pd_symmetric_operator a = {.user = &product, .rows = rows, .apply = apply};
  PD_TRY(PD_NEW(stage->context, pd_mul_saturated(rows, BLOCK * ((uint64_t)product.threads - 1)),
                &product.parts));
  polyad_status status = pd_symmetric_krylov(stage, &a, search, values, vectors);
  pd_free(stage->context, product.parts);
  return status;
}

polyad_status pd_unfolding_leading(struct pd_stage *stage, const struct pd_unfolding *x,
                                   uint64_t count, double tolerance, int most_products,
                                   double *values, double *vectors, double *residual) {
  uint64_t rows = x->tensor->dims[x->mode];
  struct pd_symmetric_search search = {.wanted = count,
                                       .tolerance = tolerance,
                                       .most_products = most_products,
                                       .stream = (UINT64_C(1) << 32) + (uint64_t)x->mode};
  if (rows <= PD_UNFOLDING_WHOLE || count > rows / 4) {
    PD_TRY(solve_whole(stage, x, count, values, vectors));
  } else {
    PD_TRY(solve_by_products(stage, x, &search, values, vectors));
    pd_log(stage->context, POLYAD_LOG_DEBUG,
           "mode %d: %llu singular vectors of its unfolding by %d block products, residual %.1e",
           x->mode + 1, (unsigned long long)count, search.products, search.residual);
  }
  *residual = search.residual;
  for (uint64_t r = 0; r < count; ++r) /* rounding */
    if (!(values[r] > 0)) values[r] = 0;
  return POLYAD_OK;
}
