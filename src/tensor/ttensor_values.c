/* Entries, norm and fit of a Tucker tensor. Squares are long double: they do not overflow, and the
 * differences of nearly equal sums keep more digits. Entries are double: the one at (i, j, ...) is
 * off by about sqrt(sum of (ranks + 1)) u ||G|| times the norms of its factor rows, with
 * independent roundings of unit u (core/rounding.h); a squared norm or product with them, by as
 * much to the first order. */
#include "core/numbers.h"
#include "core/rounding.h"
#include "tensor/tensor.h"
#include "tensor/ttensor.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* Sums over many entries are formed in this many parts whatever the number of threads. */
enum { PARTS = 256, GRAIN = 1 << 8, FEW_CELLS = 1 << 20, CELLS_PER_NONZERO = 8 };

/* The widest bound of ||X - M|| / ||X|| that a difference of squares may have. */
static const double formula_limit = 1e-10;

/* ---- one entry ------------------------------------------------------------------------------ */

/* The core multiplied by one row of the factors of the first modes, for each number of them:
 * entries that share their first coordinates, as sorted ones do, share these products. */
struct path {
  const polyad_ttensor *model;
  bool started;
  uint64_t coordinate[POLYAD_MAX_ORDER];
  double *product[POLYAD_MAX_ORDER + 1]; /* product[n]: of modes below n; product[0] is not used */
};

/* Numbers of a path. */
static uint64_t scratch_size(const polyad_ttensor *model) {
  uint64_t size = model->core_size, total = 0;
  for (int n = 0; n < model->order; ++n) {
    size /= model->ranks[n];
    total = pd_add_saturated(total, size);
  }
  return total;
}

static struct path begin_path(const polyad_ttensor *model, double *scratch) {
  struct path path = {.model = model};
  uint64_t size = model->core_size;
  for (int n = 0; n < model->order; ++n) {
    size /= model->ranks[n];
    path.product[n + 1] = scratch;
    scratch += size;
  }
  return path;
}

/* The product after mode n, of `size` numbers, from that before; `before` NULL: from the core. */
static void multiply_row(const struct path *path, int n, uint64_t size, const double *before,
                         double *restrict to) {
  const polyad_ttensor *model = path->model;
  uint64_t rank = model->ranks[n], first = path->coordinate[n] * rank;
  memset(to, 0, size * sizeof *to);
  for (uint64_t r = 0; r < rank; ++r) {
    double u = pd_load(model->type, model->factor[n], first + r);
    if (before != NULL) {
      const double *restrict from = before + r * size;
      for (uint64_t k = 0; k < size; ++k)
        to[k] += u * from[k];
    } else if (model->type == POLYAD_F32) {
      const float *restrict from = (const float *)model->core + r * size;
      for (uint64_t k = 0; k < size; ++k)
        to[k] += u * (double)from[k];
    } else {
      const double *restrict from = (const double *)model->core + r * size;
      for (uint64_t k = 0; k < size; ++k)
        to[k] += u * from[k];
    }
  }
}

static double ttensor_values_value_at(struct path *path, const uint64_t *coordinate) {
  int order = path->model->order, n = 0;
  uint64_t size = path->model->core_size;
  while (path->started && n < order && coordinate[n] == path->coordinate[n])
    size /= path->model->ranks[n++];
  for (; n < order; ++n) {
    size /= path->model->ranks[n];
    path->coordinate[n] = coordinate[n];
    multiply_row(path, n, size, n > 0 ? path->product[n] : NULL, path->product[n + 1]);
  }
  path->started = true;
  return path->product[order][0];
}

static int ttensor_values_threads_for(polyad_context *context, const polyad_ttensor *model,
                                      uint64_t entries) {
  return pd_threads_for(context, pd_mul_saturated(entries, model->core_size), GRAIN);
}

polyad_status polyad_ttensor_values(polyad_context *context, const polyad_ttensor *ttensor,
                                    uint64_t count, const uint64_t *coordinates, double *values) {
  PD_ENTER(context);
  if (ttensor == NULL || (count != 0 && (coordinates == NULL || values == NULL)))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "a NULL where a model, coordinates or values were expected");
  PD_TRY(pd_check_coordinates(context, ttensor->order, ttensor->dims, count, coordinates));
  int threads = ttensor_values_threads_for(context, ttensor, count);
  uint64_t each = scratch_size(ttensor);
  double *scratch;
  PD_TRY(PD_NEW(context, pd_mul_saturated(each, (uint64_t)threads), &scratch));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    struct path path = begin_path(ttensor, scratch + (uint64_t)t * each);
    for (uint64_t p = pd_part_begin(count, t, threads); p < pd_part_begin(count, t + 1, threads);
         ++p)
      values[p] = ttensor_values_value_at(&path, coordinates + p * (uint64_t)ttensor->order);
  }
  pd_free(context, scratch);
  return POLYAD_OK;
}

/* to = A^T A in long double. */
static void ttensor_values_gram(const polyad_ttensor *model, int n, long double *to) {
  uint64_t rank = model->ranks[n];
  for (uint64_t k = 0; k < rank * rank; ++k)
    to[k] = 0;
  for (uint64_t i = 0; i < model->dims[n]; ++i)
    for (uint64_t r = 0; r < rank; ++r) {
      long double left = pd_load(model->type, model->factor[n], i * rank + r);
      for (uint64_t s = 0; s < rank; ++s)
        to[r * rank + s] += left * pd_load(model->type, model->factor[n], i * rank + s);
    }
}

/* to = from multiplied in mode n by the symmetric matrix g; `inner` is the product of the ranks
 * after n. */
static void ttensor_values_multiply(uint64_t size, uint64_t rank, uint64_t inner,
                                    const long double *g, const long double *from,
                                    long double *to) {
  for (uint64_t k = 0; k < size; ++k) {
    uint64_t low = k % inner, r = k / inner % rank, high = k / inner / rank;
    const long double *line = from + high * rank * inner + low;
    long double sum = 0;
    for (uint64_t s = 0; s < rank; ++s)
      sum += g[r * rank + s] * line[s * inner];
    to[k] = sum;
  }
}

/* ||M||^2 = <G, G x_1 A1^T A1 x_2 ...>. */
static polyad_status norm_squared(polyad_context *context, const polyad_ttensor *model,
                                  long double *squared) {
  polyad_status status = POLYAD_OK;
  long double *from = NULL, *to = NULL, *g = NULL;
  uint64_t most = 1, size = model->core_size, inner = size;
  for (int n = 0; n < model->order; ++n)
    most = model->ranks[n] > most ? model->ranks[n] : most;
  PD_TRY_CLEANUP(PD_NEW(context, size, &from));
  PD_TRY_CLEANUP(PD_NEW(context, size, &to));
  PD_TRY_CLEANUP(PD_NEW(context, pd_mul_saturated(most, most), &g));
  for (uint64_t k = 0; k < size; ++k)
    from[k] = pd_load(model->type, model->core, k);
  for (int n = 0; n < model->order; ++n) {
    inner /= model->ranks[n];
    ttensor_values_gram(model, n, g);
    ttensor_values_multiply(size, model->ranks[n], inner, g, from, to);
    long double *swap = from;
    from = to;
    to = swap;
  }
  *squared = 0;
  for (uint64_t k = 0; k < size; ++k)
    *squared += from[k] * (long double)pd_load(model->type, model->core, k);
  if (!(*squared > 0)) *squared = 0;
cleanup:
  PD_FREE(context, from, to, g);
  return status;
}

polyad_status polyad_ttensor_norm(polyad_context *context, const polyad_ttensor *ttensor,
                                  double *norm) {
  PD_ENTER(context);
  PD_EXPECT(context, ttensor != NULL && norm != NULL, "a NULL where a model was expected");
  long double squared;
  PD_TRY(norm_squared(context, ttensor, &squared));
  *norm = (double)sqrtl(squared);
  return POLYAD_OK;
}

/* Sums over the nonzeros, in parts of fixed size. */
struct sums {
  long double tensor, product, model, difference;
};

static struct sums ttensor_values_sum_part(const polyad_ttensor *model, const polyad_tensor *tensor,
                                           uint64_t begin, uint64_t end, double *scratch) {
  struct sums sum = {0};
  uint64_t coordinate[POLYAD_MAX_ORDER];
  struct path path = begin_path(model, scratch);
  for (uint64_t p = begin; p < end; ++p) {
    pd_tensor_coordinate(tensor, p, coordinate);
    long double x = pd_tensor_value(tensor, p), m = ttensor_values_value_at(&path, coordinate);
    sum.tensor += x * x;
    sum.product += x * m;
    sum.model += m * m;
    sum.difference += (x - m) * (x - m);
  }
  return sum;
}

/* The model's squares over the cells without a nonzero, visited in the order of the nonzeros. */
static long double square_between(const polyad_ttensor *model, const polyad_tensor *tensor,
                                  uint64_t cells, double *scratch) {
  uint64_t coordinate[POLYAD_MAX_ORDER] = {0}, p = 0;
  long double sum = 0;
  struct path path = begin_path(model, scratch);
  for (uint64_t cell = 0; cell < cells; ++cell) {
    if (pd_tensor_is_at(tensor, p, coordinate)) {
      ++p;
    } else {
      long double m = ttensor_values_value_at(&path, coordinate);
      sum += m * m;
    }
    pd_next_cell(model->order, model->dims, coordinate);
  }
  return sum;
}

static struct sums sum_nonzeros(const polyad_ttensor *model, const polyad_tensor *tensor,
                                double *scratch, int threads) {
  struct sums part[PARTS], total = {0};
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    for (int k = t; k < PARTS; k += threads)
      part[k] = ttensor_values_sum_part(model, tensor, pd_part_begin(tensor->nnz, k, PARTS),
                                        pd_part_begin(tensor->nnz, k + 1, PARTS),
                                        scratch + (uint64_t)t * scratch_size(model));
  for (int k = 0; k < PARTS; ++k) {
    total.tensor += part[k].tensor;
    total.product += part[k].product;
    total.model += part[k].model;
    total.difference += part[k].difference;
  }
  return total;
}

/* ---- the residual ---------------------------------------------------------------------------- */

/* What the entries at `count` cells are off by together, in norm. Their rows' norms are at most the
 * largest of each factor, and over all cells those of the whole factors. */
static double entries_error(const polyad_ttensor *model, uint64_t count) {
  double all = 1, largest = 1, terms = 0, core = 0;
  for (int n = 0; n < model->order; ++n) {
    double whole = 0, most = 0;
    for (uint64_t i = 0; i < model->dims[n]; ++i) {
      double row = 0;
      for (uint64_t r = 0; r < model->ranks[n]; ++r) {
        double u = pd_load(model->type, model->factor[n], i * model->ranks[n] + r);
        row += u * u;
      }
      whole += row;
      most = fmax(most, row);
    }
    all *= sqrt(whole);
    largest *= sqrt(most);
    terms += (double)model->ranks[n] + 1;
  }
  for (uint64_t k = 0; k < model->core_size; ++k) {
    double g = pd_load(model->type, model->core, k);
    core += g * g;
  }
  return PD_DEVIATIONS * 0x1p-53 * sqrt(terms * core) * fmin(all, largest * sqrt((double)count));
}

static bool few_cells(const polyad_ttensor *model, const polyad_tensor *tensor, uint64_t *cells) {
  *cells = pd_cells(model->order, model->dims);
  return *cells <= FEW_CELLS || *cells / CELLS_PER_NONZERO <= tensor->nnz;
}

/* ||X - M||^2 / ||X||^2 and a bound for the root: from the difference at the nonzeros and the
 * model's square everywhere else. */
static double small_square(const polyad_ttensor *model, const polyad_tensor *tensor,
                           const struct sums *sum, long double everywhere, double *scratch,
                           double *bound) {
  uint64_t cells;
  double norm = (double)sqrtl(sum->tensor);
  if (few_cells(model, tensor, &cells)) {
    long double square = sum->difference + square_between(model, tensor, cells, scratch);
    *bound = entries_error(model, cells) / norm + DBL_EPSILON;
    return (double)(square / sum->tensor);
  }
  long double rest = everywhere - sum->model;
  double error = entries_error(model, tensor->nnz);
  double rho = (double)((sum->difference + (rest > 0 ? rest : 0)) / sum->tensor);
  double lost = 2 * error * (double)(sqrtl(sum->model) / sum->tensor);
  *bound = error / norm + pd_root_bound(rho, lost) + DBL_EPSILON;
  return rho;
}

polyad_status pd_ttensor_residual(polyad_context *context, const polyad_ttensor *ttensor,
                                  const polyad_tensor *tensor, double *relative, double *bound) {
  long double squared;
  double *scratch;
  int threads = ttensor_values_threads_for(context, ttensor, tensor->nnz);
  PD_TRY(norm_squared(context, ttensor, &squared));
  PD_TRY(PD_NEW(context, pd_mul_saturated(scratch_size(ttensor), (uint64_t)threads), &scratch));
  struct sums sum = sum_nonzeros(ttensor, tensor, scratch, threads);
  double rho = (double)((sum.tensor + squared - 2 * sum.product) / sum.tensor);
  double error = 2 * entries_error(ttensor, tensor->nnz) / (double)sqrtl(sum.tensor);
  double found = pd_root_bound(rho, fmax(error, -rho)) + DBL_EPSILON;
  if (!(found <= formula_limit))
    rho = small_square(ttensor, tensor, &sum, squared, scratch, &found);
  *relative = sqrt(rho);
  if (bound != NULL) *bound = found;
  pd_free(context, scratch);
  return POLYAD_OK;
}

polyad_status polyad_ttensor_fit(polyad_context *context, const polyad_ttensor *ttensor,
                                 const polyad_tensor *tensor, double *fit) {
  PD_ENTER(context);
  PD_EXPECT(context, ttensor != NULL && tensor != NULL && fit != NULL,
            "a model, tensor or place is missing (NULL)");
  if (tensor->order != ttensor->order ||
      memcmp(tensor->dims, ttensor->dims, (size_t)tensor->order * sizeof *tensor->dims) != 0)
    return pd_fail(context, POLYAD_MISMATCH, "model and tensor differ in their dims");
  if (tensor->nnz == 0)
    return pd_fail(context, POLYAD_NUMERICAL,
                   "the tensor is zero, so that the fit is not defined; expected a nonzero");
  double relative;
  PD_TRY(pd_ttensor_residual(context, ttensor, tensor, &relative, NULL));
  *fit = 1 - relative;
  return POLYAD_OK;
}
