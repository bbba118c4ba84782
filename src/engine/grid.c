/* Sums of f(0, m) over the whole grid.
 *
 * Where f(0, m) is m, the sum factors into the factors' column sums s_n: sum over r of the product
 * over n of s_n(r). Where it is m^2, it factors into their Gram matrices in the same way, over
 * pairs of columns. Other losses have no closed form, and every cell is visited, without a dense
 * tensor:
 *
 *   cells = rows of the longest mode L  x  columns (an index in each of the other modes)
 *
 * A thread takes consecutive columns, TILE at a time. For each it has the product k of the other
 * modes' rows, so that m = <row i of L, k> for BLOCK rows at once, and with d = f'(0, m)
 *
 *   gradient of L, row i   += d k
 *   p                      += d row i          for the column
 *   gradient of n, row i_n += p times the product of the rows of the modes but n and L
 *
 * The gradients are sums of the threads' own, in the order of the threads. */
#include "engine/grid.h"
#include "core/numbers.h"
#include "engine/loss.h"
#include <math.h>
#include <string.h>

enum { TILE = 32, BLOCK = 128, GRAIN = 1 << 14 };

/* The factors in double, one behind the other, as gradients are. */
struct model {
  int order, longest;
  const uint64_t *dims;
  uint64_t rank, numbers, columns;
  uint64_t start[POLYAD_MAX_ORDER]; /* of each mode's matrix */
  double *factor;
};

static const double *grid_row(const struct model *model, int mode, uint64_t i) {
  return model->factor + model->start[mode] + i * model->rank;
}

static polyad_status grid_open(polyad_context *context, const struct pd_grid *grid,
                               struct model *model) {
  uint64_t rows = 0;
  *model =
      (struct model){.order = grid->order, .dims = grid->dims, .rank = grid->rank, .columns = 1};
  for (int n = 0; n < grid->order; ++n) {
    if (grid->dims[n] > grid->dims[model->longest]) model->longest = n;
    model->start[n] = rows * grid->rank;
    rows += grid->dims[n];
  }
  for (int n = 0; n < grid->order; ++n)
    if (n != model->longest) model->columns = pd_mul_saturated(model->columns, grid->dims[n]);
  model->numbers = rows * grid->rank;
  PD_TRY(PD_NEW(context, model->numbers, &model->factor));
  for (int n = 0; n < grid->order; ++n)
    for (uint64_t k = 0; k < grid->dims[n] * grid->rank; ++k)
      model->factor[model->start[n] + k] = pd_load(grid->type, grid->factors[n], k);
  return POLYAD_OK;
}

/* ---- closed forms -----------------------------------------------------------------------------
 */

/* f(0, m) = m. */
static void sum_of_models(const struct model *model, double *sum, double *const *gradients) {
  for (uint64_t r = 0; r < model->rank; ++r) {
    double column[POLYAD_MAX_ORDER], all = 1;
    for (int n = 0; n < model->order; ++n) {
      column[n] = 0;
      for (uint64_t i = 0; i < model->dims[n]; ++i)
        column[n] += grid_row(model, n, i)[r];
      all *= column[n];
    }
    *sum += all;
    for (int n = 0; n < model->order && gradients != NULL; ++n) {
      double others = 1;
      for (int k = 0; k < model->order; ++k)
        if (k != n) others *= column[k];
      for (uint64_t i = 0; i < model->dims[n]; ++i)
        gradients[n][i * model->rank + r] = others;
    }
  }
}

/* f(0, m) = m^2, by pairs of columns q and r. */
static void sum_of_squares(const struct model *model, double *sum, double *const *gradients) {
  uint64_t rank = model->rank;
  for (uint64_t q = 0; q < rank; ++q)
    for (uint64_t r = 0; r < rank; ++r) {
      double gram[POLYAD_MAX_ORDER], all = 1;
      for (int n = 0; n < model->order; ++n) {
        gram[n] = 0;
        for (uint64_t i = 0; i < model->dims[n]; ++i)
          gram[n] += grid_row(model, n, i)[q] * grid_row(model, n, i)[r];
        all *= gram[n];
      }
      *sum += all;
      for (int n = 0; n < model->order && gradients != NULL; ++n) {
        double others = 2;
        for (int k = 0; k < model->order; ++k)
          if (k != n) others *= gram[k];
        for (uint64_t i = 0; i < model->dims[n]; ++i)
          gradients[n][i * rank + q] =
              (r == 0 ? 0 : gradients[n][i * rank + q]) + others * grid_row(model, n, i)[r];
      }
    }
}

/* ---- every cell -------------------------------------------------------------------------------
 */

/* One thread's columns and sums. */
struct walker {
  const polyad_context *context;
  const struct model *model;
  int loss;
  bool slopes; /* gradients are wanted */
  uint64_t begin, end;
  double *product;  /* TILE x rank: k of each column */
  double *pulled;   /* TILE x rank: p of each column */
  double *rest;     /* rank */
  double *gradient; /* as the model's factors */
  double sum;
};

static void grid_index(const struct model *model, uint64_t column, uint64_t *index) {
  for (int n = model->order - 1; n >= 0; --n) {
    if (n == model->longest) continue;
    index[n] = column % model->dims[n];
    column /= model->dims[n];
  }
}

/* The product of the rows of all modes but the longest and `without`. */
static void grid_multiply(const struct model *model, const uint64_t *index, int without,
                          double *product) {
  for (uint64_t r = 0; r < model->rank; ++r)
    product[r] = 1;
  for (int n = 0; n < model->order; ++n) {
    if (n == model->longest || n == without) continue;
    const double *row = grid_row(model, n, index[n]);
    for (uint64_t r = 0; r < model->rank; ++r)
      product[r] *= row[r];
  }
}

/* The cells of some rows of the longest mode in one column. */
static void grid_cells(struct walker *w, uint64_t first, uint64_t rows, const double *product,
                       double *pulled) {
  const struct model *model = w->model;
  uint64_t rank = model->rank;
  const double *factor = grid_row(model, model->longest, first);
  double *gradient = w->gradient + model->start[model->longest] + first * rank;
  double m[BLOCK], sum = 0;
  for (uint64_t i = 0; i < rows; ++i) {
    double dot = 0;
#pragma omp simd reduction(+ : dot)
    for (uint64_t r = 0; r < rank; ++r)
      dot += factor[i * rank + r] * product[r];
    m[i] = dot;
  }
  for (uint64_t i = 0; i < rows; ++i)
    sum += PD_LOSS_ZERO(w->loss, m[i]);
  w->sum += sum;
  for (uint64_t i = 0; i < rows && w->slopes; ++i) {
    double slope = PD_LOSS_ZERO_SLOPE(w->loss, m[i]);
#pragma omp simd
    for (uint64_t r = 0; r < rank; ++r) {
      gradient[i * rank + r] += slope * product[r];
      pulled[r] += slope * factor[i * rank + r];
    }
  }
}

/* What the columns of a tile add to the gradients of the other modes. */
static void grid_pull(struct walker *w, uint64_t first, uint64_t count) {
  const struct model *model = w->model;
  uint64_t index[POLYAD_MAX_ORDER], rank = model->rank;
  for (uint64_t c = 0; c < count; ++c) {
    grid_index(model, first + c, index);
    for (int n = 0; n < model->order; ++n) {
      if (n == model->longest) continue;
      double *gradient = w->gradient + model->start[n] + index[n] * rank;
      grid_multiply(model, index, n, w->rest);
      for (uint64_t r = 0; r < rank; ++r)
        gradient[r] += w->pulled[c * rank + r] * w->rest[r];
    }
  }
}

/* Ends early after polyad_cancel(): a grid may have more cells than anybody waits for. */
static void grid_walk(struct walker *w) {
  const struct model *model = w->model;
  uint64_t rank = model->rank, rows = model->dims[model->longest], index[POLYAD_MAX_ORDER];
  for (uint64_t first = w->begin; first < w->end; first += TILE) {
    uint64_t count = w->end - first < TILE ? w->end - first : TILE;
    memset(w->pulled, 0, count * rank * sizeof *w->pulled);
    for (uint64_t c = 0; c < count; ++c) {
      grid_index(model, first + c, index);
      grid_multiply(model, index, -1, w->product + c * rank);
    }
    for (uint64_t i = 0; i < rows; i += BLOCK) {
      if (pd_cancelled(w->context)) return;
      for (uint64_t c = 0; c < count; ++c)
        grid_cells(w, i, rows - i < BLOCK ? rows - i : BLOCK, w->product + c * rank,
                   w->pulled + c * rank);
    }
    if (w->slopes) grid_pull(w, first, count);
  }
}

static polyad_status grid_walk_all(polyad_context *context, int loss, const struct model *model,
                                   double *sum, double *const *gradients) {
  uint64_t cells = pd_mul_saturated(model->columns, model->dims[model->longest]);
  int threads = pd_threads_for(context, cells, GRAIN);
  uint64_t each = (2 * (uint64_t)TILE + 1) * model->rank + model->numbers, all;
  struct walker *walker = NULL;
  double *room = NULL;
  polyad_status status = POLYAD_OK;
  if (model->columns == UINT64_MAX)
    return pd_fail(context, POLYAD_OVERFLOW,
                   "the grid has more than 2^64 cells; expected a loss "
                   "whose sum over all cells has a closed form");
  if (!pd_mul(each, (uint64_t)threads, &all))
    return pd_fail(context, POLYAD_OVERFLOW, "rank %llu is too large",
                   (unsigned long long)model->rank);
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, (uint64_t)threads, &walker));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, all, &room));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    double *mine = room + (uint64_t)t * each;
    walker[t] = (struct walker){.context = context,
                                .model = model,
                                .loss = loss,
                                .slopes = gradients != NULL,
                                .begin = pd_part_begin(model->columns, t, threads),
                                .end = pd_part_begin(model->columns, t + 1, threads),
                                .product = mine + model->numbers,
                                .pulled = mine + model->numbers + TILE * model->rank,
                                .rest = mine + model->numbers + 2 * TILE * model->rank,
                                .gradient = mine};
    grid_walk(&walker[t]);
  }
  if (pd_cancelled(context))
    PD_TRY_CLEANUP(pd_fail(context, POLYAD_CANCELLED, "the sum over all cells was cancelled"));
  for (int t = 0; t < threads; ++t)
    *sum += walker[t].sum;
  for (int n = 0; n < model->order && gradients != NULL; ++n)
    for (uint64_t k = 0; k < model->dims[n] * model->rank; ++k) {
      gradients[n][k] = 0;
      for (int t = 0; t < threads; ++t)
        gradients[n][k] += walker[t].gradient[model->start[n] + k];
    }
cleanup:
  PD_FREE(context, walker, room);
  return status;
}

polyad_status pd_grid_sum(polyad_context *context, int loss, const struct pd_grid *grid,
                          double *sum, double *const *gradients) {
  struct model model;
  polyad_status status = grid_open(context, grid, &model);
  *sum = 0;
  int form = PD_LOSS_GRID(loss);
  if (status == POLYAD_OK && form == PD_GRID_MODELS)
    sum_of_models(&model, sum, gradients);
  else if (status == POLYAD_OK && form == PD_GRID_SQUARES)
    sum_of_squares(&model, sum, gradients);
  else if (status == POLYAD_OK)
    status = grid_walk_all(context, loss, &model, sum, gradients);
  pd_free(context, model.factor);
  return status;
}
