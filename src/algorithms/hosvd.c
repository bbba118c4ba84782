#include "algorithms/hosvd.h"
#include "core/radix_sort.h"
#include "core/random.h"
#include "core/threads.h"
#include "linalg/subspace.h"
#include <math.h>
#include <string.h>

/* First factors need no last digits: vectors that are slow to settle are close to others that would
 * do as well. */
enum { OVERSAMPLING = 8, MOST_ITERATIONS = 12 };
static const double settled = 1e-6; /* relative change of singular values */
static const double weak = 1e-3;    /* values below this part of the largest count as so large */

/* Ranks by energy: modes of up to WHOLE rows are decomposed whole; longer ones from FIRST_TRY
 * vectors on, twice as many each time. */
enum { WHOLE = 256, FIRST_TRY = 32 };
static const double rounding = 1e-12;

/* The unfolding X_(n) as a list of its columns (the fibers of mode n): fiber f has the entries
 * fiber[f] up to fiber[f + 1] - 1. */
struct unfolding {
  polyad_context *context;
  const polyad_tensor *tensor;
  int mode;
  uint64_t *fiber;
  uint64_t fibers;
  void *row; /* of the tensor's index type for this mode */
  int row_bytes;
  double *value;
};

static uint64_t number_at(const void *numbers, int bytes, uint64_t p) {
  return bytes == 4 ? ((const uint32_t *)numbers)[p] : ((const uint64_t *)numbers)[p];
}

static bool same_fiber(const polyad_tensor *tensor, int mode, uint64_t a, uint64_t b) {
  for (int n = 0; n < tensor->order; ++n)
    if (n != mode && pd_tensor_index(tensor, n, a) != pd_tensor_index(tensor, n, b)) return false;
  return true;
}

/* Sorts the nonzeros by all other modes. */
static polyad_status sort_into_fibers(struct unfolding *x, int bytes, void *permutation) {
  const polyad_tensor *tensor = x->tensor;
  struct pd_key keys[POLYAD_MAX_ORDER];
  int count = 0;
  for (int n = 0; n < tensor->order; ++n)
    if (n != x->mode)
      keys[count++] = (struct pd_key){tensor->index[n], tensor->index_bytes[n], tensor->dims[n]};
  if (count > 0)
    return pd_sort_permutation(x->context, tensor->nnz, count, keys, bytes, permutation);
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    if (bytes == 4)
      ((uint32_t *)permutation)[p] = (uint32_t)p;
    else
      ((uint64_t *)permutation)[p] = p;
  }
  return POLYAD_OK;
}

static void take_entry(struct unfolding *x, uint64_t to, uint64_t from) {
  uint64_t row = pd_tensor_index(x->tensor, x->mode, from);
  x->value[to] = pd_tensor_value(x->tensor, from);
  if (x->row_bytes == 4)
    ((uint32_t *)x->row)[to] = (uint32_t)row;
  else
    ((uint64_t *)x->row)[to] = row;
}

static polyad_status unfold(struct unfolding *x) {
  const polyad_tensor *tensor = x->tensor;
  polyad_status status = POLYAD_OK;
  int bytes = tensor->nnz <= UINT32_MAX ? 4 : 8;
  void *permutation = NULL;
  x->row_bytes = tensor->index_bytes[x->mode];
  PD_TRY_CLEANUP(pd_alloc(x->context, tensor->nnz, (size_t)bytes, &permutation));
  PD_TRY_CLEANUP(sort_into_fibers(x, bytes, permutation));
  PD_TRY_CLEANUP(pd_alloc(x->context, tensor->nnz, (size_t)x->row_bytes, &x->row));
  PD_TRY_CLEANUP(PD_NEW(x->context, tensor->nnz, &x->value));
  PD_TRY_CLEANUP(PD_NEW(x->context, pd_add_saturated(tensor->nnz, 1), &x->fiber));
  for (uint64_t p = 0, before = 0; p < tensor->nnz; ++p) {
    uint64_t at = number_at(permutation, bytes, p);
    if (p == 0 || !same_fiber(tensor, x->mode, before, at)) x->fiber[x->fibers++] = p;
    take_entry(x, p, at);
    before = at;
  }
  x->fiber[x->fibers] = tensor->nnz;
cleanup:
  pd_free(x->context, permutation);
  return status;
}

/* Columns are taken this many at a time: one product of a fiber stays in registers. */
enum { BLOCK = 8 };

/* Adds X_f (X_f^T q) to y for all fibers f, columns [begin, begin + width), width <= BLOCK. */
static inline void apply_block(const struct unfolding *x, const struct pd_subspace *s, size_t begin,
                               size_t width) {
  const double *restrict q = s->q + begin;
  double *restrict y = s->y + begin;
  for (uint64_t f = 0; f < x->fibers; ++f) {
    double z[BLOCK] = {0};
    for (uint64_t p = x->fiber[f]; p < x->fiber[f + 1]; ++p) {
      const double *row = q + number_at(x->row, x->row_bytes, p) * s->columns;
      for (size_t r = 0; r < width; ++r)
        z[r] += x->value[p] * row[r];
    }
    for (uint64_t p = x->fiber[f]; p < x->fiber[f + 1]; ++p) {
      double *row = y + number_at(x->row, x->row_bytes, p) * s->columns;
      for (size_t r = 0; r < width; ++r)
        row[r] += x->value[p] * z[r];
    }
  }
}

/* y = X X^T q. Threads share out blocks of columns, so that no two write one entry. */
static void apply(const struct unfolding *x, struct pd_subspace *s) {
  memset(s->y, 0, s->rows * s->columns * sizeof *s->y);
  size_t blocks = (s->columns + BLOCK - 1) / BLOCK;
  int threads = pd_kernel_threads(x->context, x->tensor->nnz, s->columns);
  if ((size_t)threads > blocks) threads = (int)blocks;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (size_t b = 0; b < blocks; ++b) {
    size_t begin = b * BLOCK;
    if (s->columns - begin >= BLOCK)
      apply_block(x, s, begin, BLOCK);
    else
      apply_block(x, s, begin, s->columns - begin);
  }
}

/* A random start; the whole space when there is room for it, where one step is exact. */
static void start(const struct unfolding *x, struct pd_subspace *s) {
  uint64_t stream = (UINT64_C(1) << 32) + (uint64_t)x->mode;
  bool whole = s->columns == s->rows;
  for (uint64_t i = 0; i < s->rows; ++i)
    for (size_t r = 0; r < s->columns; ++r) {
      uint64_t k = i * s->columns + r;
      s->y[k] = whole ? i == r : pd_random_normal(polyad_seed(x->context), stream, k);
    }
}

/* Largest relative change of the first `count` singular values; they are kept in `before`. */
static double change(const struct pd_subspace *s, size_t count, double *before) {
  double most = 0, least = weak * s->values[0];
  for (size_t k = 0; k < count; ++k) {
    double scale = s->values[k] > least ? s->values[k] : least;
    double by = scale > 0 ? fabs(s->values[k] - before[k]) / scale : 0;
    most = by > most ? by : most;
    before[k] = s->values[k];
  }
  return most;
}

static polyad_status iterate(const struct unfolding *x, struct pd_subspace *s, size_t wanted,
                             double *before) {
  memset(before, 0, wanted * sizeof *before);
  start(x, s);
  PD_TRY(pd_subspace_orthonormalize(s));
  for (int k = 0; k < MOST_ITERATIONS && !pd_cancelled(x->context); ++k) {
    apply(x, s);
    PD_TRY(pd_subspace_orthonormalize(s));
    if (change(s, wanted, before) < settled || s->columns == s->rows) break;
  }
  return POLYAD_OK;
}

/* Columns of norm one go into the factor with the sign that makes their largest entry positive. */
static void store(const struct pd_subspace *s, uint64_t rank, polyad_type type, void *factor) {
  for (size_t r = 0; r < s->columns && r < rank; ++r) {
    double largest = 0;
    for (uint64_t i = 0; i < s->rows; ++i) {
      double value = s->q[i * s->columns + r];
      if (fabs(value) > fabs(largest)) largest = value;
    }
    if (largest == 0) continue;
    for (uint64_t i = 0; i < s->rows; ++i) {
      double value = copysign(1, largest) * s->q[i * s->columns + r];
      if (type == POLYAD_F64)
        ((double *)factor)[i * rank + r] = value;
      else
        ((float *)factor)[i * rank + r] = (float)value;
    }
  }
}

/* The leading vectors of an unfolding; s is for the caller to destroy. */
static polyad_status find_vectors(const struct unfolding *x, uint64_t rank, struct pd_subspace *s) {
  polyad_status status = POLYAD_OK;
  double *before = NULL;
  uint64_t rows = x->tensor->dims[x->mode];
  uint64_t columns = pd_add_saturated(rank, OVERSAMPLING) < rows ? rank + OVERSAMPLING : rows;
  PD_TRY_CLEANUP(pd_subspace_create(x->context, rows, columns, s));
  PD_TRY_CLEANUP(PD_NEW(x->context, columns, &before));
  status = iterate(x, s, (size_t)(rank < columns ? rank : columns), before);
cleanup:
  pd_free(x->context, before);
  return status;
}

static void clear_unfolding(struct unfolding *x) {
  pd_free(x->context, x->fiber);
  pd_free(x->context, x->row);
  pd_free(x->context, x->value);
}

static polyad_status one_mode(polyad_context *context, const polyad_tensor *tensor, int mode,
                              uint64_t rank, polyad_type type, void *factor) {
  polyad_status status = POLYAD_OK;
  struct unfolding x = {.context = context, .tensor = tensor, .mode = mode};
  struct pd_subspace s = {0};
  PD_TRY_CLEANUP(unfold(&x));
  PD_TRY_CLEANUP(find_vectors(&x, rank, &s));
  store(&s, rank, type, factor);
cleanup:
  pd_subspace_destroy(&s);
  clear_unfolding(&x);
  return status;
}

polyad_status pd_hosvd(polyad_context *context, const polyad_plan *plan, const uint64_t *ranks,
                       polyad_type type, void *const *factors) {
  polyad_tensor *tensor = NULL;
  PD_TRY(pd_plan_expand(context, plan, &tensor));
  polyad_status status = POLYAD_OK;
  for (int n = 0; n < plan->order && status == POLYAD_OK; ++n)
    status = one_mode(context, tensor, n, ranks[n], type, factors[n]);
  polyad_tensor_destroy(tensor);
  return status;
}

/* The fewest vectors that leave out at most `rest` of the sum of squares `total`; 0 when those
 * found are too few. The values are squares of singular values. */
static uint64_t enough(const struct pd_subspace *s, double total, double rest) {
  double kept = 0;
  for (size_t r = 0; r < s->columns; ++r) {
    kept += s->values[r];
    if (kept >= total * (1 - rest) * (1 - rounding)) return r + 1;
  }
  return s->columns == s->rows ? s->rows : 0;
}

static polyad_status rank_of_mode(polyad_context *context, const polyad_tensor *tensor, int mode,
                                  double rest, uint64_t *rank) {
  polyad_status status = POLYAD_OK;
  struct unfolding x = {.context = context, .tensor = tensor, .mode = mode};
  struct pd_subspace s = {0};
  double total = 0;
  uint64_t rows = tensor->dims[mode];
  PD_TRY_CLEANUP(unfold(&x));
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    total += x.value[p] * x.value[p];
  *rank = 0;
  for (uint64_t tried = rows <= WHOLE ? rows : FIRST_TRY; *rank == 0; tried *= 2) {
    pd_subspace_destroy(&s);
    PD_TRY_CLEANUP(find_vectors(&x, tried, &s));
    *rank = enough(&s, total, rest);
  }
cleanup:
  pd_subspace_destroy(&s);
  clear_unfolding(&x);
  return status;
}

polyad_status pd_hosvd_ranks(polyad_context *context, const polyad_plan *plan, double energy,
                             uint64_t *ranks) {
  polyad_tensor *tensor = NULL;
  PD_TRY(pd_plan_expand(context, plan, &tensor));
  polyad_status status = POLYAD_OK;
  for (int n = 0; n < plan->order && status == POLYAD_OK; ++n)
    status = rank_of_mode(context, tensor, n, (1 - energy) / plan->order, &ranks[n]);
  polyad_tensor_destroy(tensor);
  return status;
}
