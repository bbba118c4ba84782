/* MTTKRP of "dense" on the CPU. With the cells as a matrix X, whose rows are the tuples of the
 * first group of modes and whose columns those of the second, and with the products of the second
 * group's factor rows as a matrix K (one row for each of its tuples, the Khatri-Rao product of its
 * factors),
 *
 *   Y = X K
 *
 * has a partial row for each tuple of the first group. It serves all of that group's modes while
 * the second group's factors have the same versions: row i of a mode's result is the sum of the
 * partial rows of the tuples with index i there, each times the rows of the group's other factors.
 * The second group has its own partial rows, of the transpose of X and the first group's factors.
 *
 * K has rows that no nonzero asks for. Where factors overflow there, or hold no number, zeros of X
 * would turn the result into NaN that it has in no other format: they are then left out.
 */
#include "core/isa.h"
#include "core/threads.h"
#include "formats/dense/dense_layout.h"
#include "formats/dense/dense_walk.h"
#include "formats/tables.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>

enum { ROWS_AT_ONCE = 48, LANES_MOST = 8 };

struct scratch {
  struct pd_scratch base;
  const struct pd_dense_walk *walk;
  int threads;
  size_t padded;                            /* columns of the matrices below */
  double *partial[PD_DENSE_GROUPS];         /* Y of each group that has modes */
  struct pd_versions made[PD_DENSE_GROUPS]; /* what it was made from */
  double *products;                         /* K, and later those of a group's other factors */
  bool finite;                              /* all of them are */
  double *sums;                             /* a row for each thread */
};

static uint64_t padded_to(uint64_t rank, uint64_t lanes) {
  return pd_add_saturated(rank, lanes - 1) / lanes * lanes;
}

static uint64_t most_rows(const struct pd_dense *dense) {
  return dense->rows[0] > dense->rows[1] ? dense->rows[0] : dense->rows[1];
}

static uint64_t dense_cpu_workspace_bytes(const void *storage, const uint64_t *ranks, int threads) {
  const struct pd_dense *dense = storage;
  uint64_t rows = pd_add_saturated(most_rows(dense), (uint64_t)threads);
  for (int g = 0; g < PD_DENSE_GROUPS; ++g)
    if (dense->cells[g] != NULL) rows = pd_add_saturated(rows, dense->rows[g]);
  uint64_t row = pd_mul_saturated(padded_to(ranks[0], LANES_MOST), sizeof(double));
  return pd_mul_saturated(rows, row);
}

static polyad_status dense_cpu_fill(polyad_context *context, const void *storage,
                                    const uint64_t *ranks, void *pointer) {
  const struct pd_dense *dense = storage;
  struct scratch *scratch = pointer;
  uint64_t numbers;
  scratch->walk = PD_ISA_PICK(const struct pd_dense_walk, &pd_dense_walk);
  scratch->padded = (size_t)padded_to(ranks[0], scratch->walk->lanes);
  scratch->threads = pd_kernel_threads(context, dense->rows[0] * dense->rows[1], ranks[0]);
  if (!pd_mul(pd_add_saturated(most_rows(dense), (uint64_t)scratch->threads), scratch->padded,
              &numbers))
    return pd_fail(context, POLYAD_OVERFLOW,
                   "%" PRIu64 " partial rows of rank %" PRIu64 " are too large", most_rows(dense),
                   ranks[0]);
  for (int g = 0; g < PD_DENSE_GROUPS; ++g)
    if (dense->cells[g] != NULL)
      PD_TRY(PD_SCRATCH(&scratch->base, dense->rows[g] * scratch->padded, &scratch->partial[g]));
  PD_TRY(PD_SCRATCH(&scratch->base, most_rows(dense) * scratch->padded, &scratch->products));
  return PD_SCRATCH(&scratch->base, (uint64_t)scratch->threads * scratch->padded, &scratch->sums);
}

/* to[r] *= entry r of a row of a factor. */
static void multiply_by_row(const struct pd_matrix *factor, polyad_type type, uint64_t row,
                            double *to) {
  uint64_t at = row * factor->stride;
  if (type == POLYAD_F32) {
    const float *from = (const float *)factor->data + at;
    for (uint64_t r = 0; r < factor->columns; ++r)
      to[r] *= (double)from[r];
  } else {
    const double *from = (const double *)factor->data + at;
    for (uint64_t r = 0; r < factor->columns; ++r)
      to[r] *= from[r];
  }
}

/* Without an early end: the loop is one of vectors. */
static bool row_is_finite(const double *row, size_t count) {
  int odd = 0;
  for (size_t r = 0; r < count; ++r)
    odd |= !(fabs(row[r]) <= DBL_MAX);
  return odd == 0;
}

/* products(t, :) = the product of the rows at tuple t of the factors of the modes, `left_out` not
 * among them, zero behind the rank. Returns the number of tuples. */
static uint64_t fill_products(const struct pd_dense *dense, struct scratch *scratch,
                              struct pd_dense_modes modes, int left_out,
                              const struct pd_call *call) {
  uint64_t tuples = 1, rank = pd_call_rank(call);
  int of[POLYAD_MAX_ORDER], count = 0;
  for (int n = modes.first; n < modes.first + modes.count; ++n) {
    if (n == left_out) continue;
    of[count++] = n;
    tuples *= dense->dims[n];
  }
  int threads = pd_worth_threads(scratch->threads, pd_mul_saturated(tuples, rank));
  bool finite = true;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(&& : finite)
  for (uint64_t t = 0; t < tuples; ++t) {
    double *to = scratch->products + t * scratch->padded;
    uint64_t rest = t;
    for (size_t r = 0; r < scratch->padded; ++r)
      to[r] = r < rank ? 1 : 0;
    for (int k = count - 1; k >= 0; --k) {
      multiply_by_row(call->factors[of[k]], dense->type, rest % dense->dims[of[k]], to);
      rest /= dense->dims[of[k]];
    }
    finite = finite && row_is_finite(to, scratch->padded);
  }
  scratch->finite = finite;
  return tuples;
}

/* As pd_dense_walk.product(), but zeros of `a` add nothing, whatever `b` has there. */
static void product_of_nonzeros(size_t rows, size_t inner, const double *a, const double *b,
                                size_t padded, double *y) {
  for (size_t i = 0; i < rows; ++i, y += padded) {
    for (size_t r = 0; r < padded; ++r)
      y[r] = 0;
    for (size_t k = 0; k < inner; ++k)
      for (size_t r = 0; r < padded && a[i * inner + k] != 0; ++r)
        y[r] += a[i * inner + k] * b[k * padded + r];
  }
}

/* As pd_dense_walk.fold(), but zeros of `y` add nothing. */
static void fold_of_nonzeros(size_t outer, size_t step, size_t inner, size_t padded,
                             const double *y, const double *b, double *sum) {
  for (size_t l = 0; l < outer; ++l, y += step * padded, b += inner * padded)
    for (size_t k = 0; k < inner * padded; ++k)
      if (y[k] != 0) sum[k % padded] += y[k] * b[k];
}

/* The partial rows of a group, unless they are there. */
static void make_partial(const struct pd_dense *dense, struct scratch *scratch, int group,
                         const struct pd_call *call) {
  struct pd_dense_modes own = pd_dense_group(dense, group);
  uint64_t all = (UINT64_C(1) << dense->order) - 1;
  uint64_t others = all & ~(((UINT64_C(1) << own.count) - 1) << own.first);
  if (others != 0 && pd_versions_hold(&scratch->made[group], call->factors, others)) return;
  uint64_t inner = fill_products(dense, scratch, pd_dense_group(dense, 1 - group), -1, call);
  uint64_t rows = dense->rows[group];
  void (*product)(size_t, size_t, const double *, const double *, size_t, double *) =
      scratch->finite ? scratch->walk->product : product_of_nonzeros;
#pragma omp parallel for num_threads(scratch->threads) schedule(static)
  for (uint64_t i = 0; i < rows; i += ROWS_AT_ONCE) {
    uint64_t some = rows - i < ROWS_AT_ONCE ? rows - i : ROWS_AT_ONCE;
    product(some, inner, dense->cells[group] + i * inner, scratch->products, scratch->padded,
            scratch->partial[group] + i * scratch->padded);
  }
  pd_versions_set(&scratch->made[group], call->factors, others);
}

static void store_row(const struct pd_matrix *out, polyad_type type, uint64_t row,
                      const double *from) {
  if (type == POLYAD_F32) {
    float *to = (float *)out->data + row * out->stride;
    for (uint64_t r = 0; r < out->columns; ++r)
      to[r] = (float)from[r];
  } else {
    double *to = (double *)out->data + row * out->stride;
    for (uint64_t r = 0; r < out->columns; ++r)
      to[r] = from[r];
  }
}

/* Row i of the result from the partial rows: the tuples with index i lie `outer` times `inner` in
 * one piece. */
static void sum_partial(const struct pd_dense *dense, struct scratch *scratch, int group,
                        const struct pd_call *call) {
  struct pd_dense_modes own = pd_dense_group(dense, group);
  const double *partial = scratch->partial[group];
  uint64_t dim = dense->dims[call->mode];
  uint64_t outer = pd_cells(call->mode - own.first, dense->dims + own.first);
  uint64_t inner = pd_cells(own.first + own.count - call->mode - 1, dense->dims + call->mode + 1);
  bool folded = own.count > 1;
  if (folded) (void)fill_products(dense, scratch, own, call->mode, call);
  void (*fold)(size_t, size_t, size_t, size_t, const double *, const double *, double *) =
      scratch->finite ? scratch->walk->fold : fold_of_nonzeros;
  int threads =
      pd_worth_threads(scratch->threads, pd_mul_saturated(dense->rows[group], pd_call_rank(call)));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t i = 0; i < dim; ++i) {
    const double *row = partial + i * inner * scratch->padded;
    if (folded) {
      double *sum = scratch->sums + (uint64_t)omp_get_thread_num() * scratch->padded;
      for (size_t r = 0; r < scratch->padded; ++r)
        sum[r] = 0;
      fold(outer, dim * inner, inner, scratch->padded, row, scratch->products, sum);
      row = sum;
    }
    store_row(call->out, dense->type, i, row);
  }
}

static polyad_status dense_cpu_run(polyad_context *context, const void *storage, void *workspace,
                                   const struct pd_call *call) {
  (void)context;
  const struct pd_dense *dense = storage;
  struct scratch *scratch = workspace;
  int group = call->mode < dense->cut ? 0 : 1;
  make_partial(dense, scratch, group, call);
  sum_partial(dense, scratch, group, call);
  return POLYAD_OK;
}

/* Sums are of doubles; the result is rounded once. */
static uint64_t dense_cpu_sum_depth(const void *storage, const void *scratch, int mode,
                                    uint64_t longest_row) {
  (void)storage, (void)scratch, (void)mode;
  return longest_row < 1 ? longest_row : 1;
}

static const struct pd_walk dense_cpu_rows = {
    .ops = PD_OPS_MTTKRP,
    .workspace_bytes = dense_cpu_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = dense_cpu_fill,
    .run = dense_cpu_run,
};

const struct polyad_kernels pd_dense_kernels_cpu = {
    .format = "dense",
    .device = "cpu",
    .walks = {&dense_cpu_rows},
    .sum_depth = dense_cpu_sum_depth,
};
