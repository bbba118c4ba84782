/* How well a Kruskal tensor agrees with a sparse tensor.
 *
 * ||X - M||^2 = ||X||^2 + ||M||^2 - 2 <X, M> loses the digits that its terms share: near an exact
 * fit, and where components cancel, so that M is small beside them. With S the sum of the
 * components' norms, c = order + rank and independent roundings of unit u (core/rounding.h),
 *
 *   an entry m of the model is off by sqrt(c) u times what it is when nothing cancels, so that all
 *   of them together are off by at most sqrt(c) u S in norm;
 *   ||M||^2 is off by sqrt(rows of all Gram matrices + 2 rank) u S^2.
 *
 * Where the formula's bound is too wide the residual is summed from its entries: over all cells, or
 * over the nonzeros, plus what ||M||^2 in long double has elsewhere. */
#include "tensor/ktensor_fit.h"
#include "core/rounding.h"
#include "tensor/ktensor_scale.h"
#include <float.h>
#include <math.h>

/* Sums over nonzeros are formed in this many parts whatever the number of threads. */
enum { PARTS = 256, NONZERO_GRAIN = 1 << 11, CELLS_PER_NONZERO = 8, FEW_CELLS = 1 << 18 };

/* The widest bound of ||X - M|| / ||X|| that the formula may have. */
static const double formula_limit = 1e-10;

polyad_status polyad_ktensor_norm(polyad_context *context, const polyad_ktensor *ktensor,
                                  double *norm) {
  PD_ENTER(context);
  PD_EXPECT(context, ktensor != NULL && norm != NULL, "a NULL where a model was expected");
  struct pd_scaled_model model;
  PD_TRY(pd_scale_model(context, ktensor, &model));
  double squared;
  polyad_status status = pd_model_norm_squared(context, &model, &squared, NULL);
  if (status == POLYAD_OK) *norm = ldexp(sqrt(squared), model.exponent);
  pd_unscale_model(context, &model);
  return status;
}

/* What sums over the entries of both tensors are formed from. They are seen times 2^-exponent,
 * which makes the larger one of ordinary size. */
struct residual {
  const struct pd_scaled_model *model;
  const polyad_tensor *tensor;
  int exponent;
};

static double ktensor_fit_value_at(const struct residual *residual, uint64_t p) {
  double value = pd_tensor_value(residual->tensor, p);
  return residual->exponent == 0 ? value : ldexp(value, -residual->exponent);
}

static double ktensor_fit_model_at(const struct residual *residual, const uint64_t *coordinate) {
  return ldexp(pd_model_value(residual->model, coordinate),
               residual->model->exponent - residual->exponent);
}

/* A sum over the nonzeros, or over the cells, from `begin` to `end` - 1. */
typedef long double part_sum(const struct residual *residual, uint64_t begin, uint64_t end);

static long double sum_in_parts(const polyad_context *context, const struct residual *residual,
                                uint64_t count, uint64_t work, part_sum *sum) {
  long double sums[PARTS], total = 0;
  int threads = pd_threads_for(context, work, NONZERO_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int part = 0; part < PARTS; ++part)
    sums[part] =
        sum(residual, pd_part_begin(count, part, PARTS), pd_part_begin(count, part + 1, PARTS));
  for (int part = 0; part < PARTS; ++part)
    total += sums[part];
  return total;
}

static long double products(const struct residual *residual, uint64_t begin, uint64_t end) {
  uint64_t coordinate[POLYAD_MAX_ORDER];
  double sum = 0;
  for (uint64_t p = begin; p < end; ++p) {
    pd_tensor_coordinate(residual->tensor, p, coordinate);
    sum += ktensor_fit_value_at(residual, p) * pd_model_value(residual->model, coordinate);
  }
  return sum;
}

/* <X, M> without 2^(model exponent + tensor exponent). */
static double scaled_innerprod(const polyad_context *context, const struct pd_scaled_model *model,
                               const polyad_tensor *tensor, int tensor_exponent) {
  const struct residual of = {model, tensor, tensor_exponent};
  uint64_t work = pd_mul_saturated(tensor->nnz, 1 + model->rank / 8);
  return (double)sum_in_parts(context, &of, tensor->nnz, work, products);
}

polyad_status polyad_ktensor_innerprod(polyad_context *context, const polyad_ktensor *ktensor,
                                       const polyad_tensor *tensor, double *product) {
  PD_ENTER(context);
  PD_TRY(pd_check_same_dims(context, ktensor, tensor));
  PD_EXPECT(context, product != NULL, "no place for the product (NULL)");
  struct pd_scaled_model model;
  PD_TRY(pd_scale_model(context, ktensor, &model));
  int exponent;
  (void)pd_sum_of_squares(context, tensor->nnz, tensor->type, tensor->values, &exponent);
  double scaled = scaled_innerprod(context, &model, tensor, exponent);
  *product = ldexp(scaled, model.exponent + exponent);
  pd_unscale_model(context, &model);
  return POLYAD_OK;
}

/* ---- the residual, computed directly -------------------------------------------------------- */

/* First nonzero at or after a coordinate. */
static uint64_t lower_bound(const polyad_tensor *tensor, const uint64_t *coordinate) {
  uint64_t low = 0, high = tensor->nnz;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    int n = 0;
    while (n < tensor->order && pd_tensor_index(tensor, n, middle) == coordinate[n])
      ++n;
    if (n < tensor->order && pd_tensor_index(tensor, n, middle) < coordinate[n])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static long double squares_of_cells(const struct residual *residual, uint64_t begin, uint64_t end) {
  const polyad_tensor *tensor = residual->tensor;
  uint64_t coordinate[POLYAD_MAX_ORDER], rest = begin;
  for (int n = tensor->order - 1; n >= 0; --n) {
    coordinate[n] = rest % tensor->dims[n];
    rest /= tensor->dims[n];
  }
  double sum = 0;
  uint64_t p = lower_bound(tensor, coordinate);
  for (uint64_t cell = begin; cell < end; ++cell) {
    double difference = -ktensor_fit_model_at(residual, coordinate);
    if (pd_tensor_is_at(tensor, p, coordinate)) difference += ktensor_fit_value_at(residual, p++);
    sum += difference * difference;
    pd_next_cell(tensor->order, tensor->dims, coordinate);
  }
  return sum;
}

static long double model_value_long(const struct pd_scaled_model *model,
                                    const uint64_t *coordinate) {
  long double total = 0;
  for (uint64_t r = 0; r < model->rank; ++r) {
    long double product = (long double)model->coefficient[r];
    for (int n = 0; n < model->order; ++n)
      product *= pd_load(model->type, model->factor[n], coordinate[n] * model->rank + r);
    total += product;
  }
  return total;
}

/* Sum over s of coefficient_r coefficient_s times element (r, s) of the product of all Gram
 * matrices, elements left of the diagonal being counted on its right. `products` and `sums` are
 * work space of `rank` numbers. */
static long double norm_share_long(const struct pd_scaled_model *model, uint64_t r,
                                   long double *products, long double *sums) {
  for (uint64_t s = r; s < model->rank; ++s)
    products[s] = (s == r ? 1.0L : 2.0L) * (long double)model->coefficient[r] *
                  (long double)model->coefficient[s];
  for (int n = 0; n < model->order; ++n) {
    for (uint64_t s = r; s < model->rank; ++s)
      sums[s] = 0;
    for (uint64_t i = 0; i < model->dims[n]; ++i) {
      long double left = pd_load(model->type, model->factor[n], i * model->rank + r);
      for (uint64_t s = r; s < model->rank; ++s)
        sums[s] += left * pd_load(model->type, model->factor[n], i * model->rank + s);
    }
    for (uint64_t s = r; s < model->rank; ++s)
      products[s] *= sums[s];
  }
  long double share = 0;
  for (uint64_t s = r; s < model->rank; ++s)
    share += products[s];
  return share;
}

static long double model_squares_long(const struct residual *residual, uint64_t begin,
                                      uint64_t end) {
  uint64_t coordinate[POLYAD_MAX_ORDER];
  long double sum = 0;
  for (uint64_t p = begin; p < end; ++p) {
    pd_tensor_coordinate(residual->tensor, p, coordinate);
    long double value = model_value_long(residual->model, coordinate);
    sum += value * value;
  }
  return sum;
}

/* Square of the model's norm where the tensor has no nonzero: a difference of nearly equal
 * numbers, so in the longest type there is. */
static long double model_between_nonzeros(const polyad_context *context,
                                          const struct residual *residual, long double *work) {
  const struct pd_scaled_model *model = residual->model;
  uint64_t nnz = residual->tensor->nnz;
  long double everywhere = 0;
  int threads = pd_threads_for(context, nnz, NONZERO_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (uint64_t r = 0; r < model->rank; ++r) {
    long double *products = work + (2 * r + 1) * model->rank;
    work[r] = norm_share_long(model, r, products, products + model->rank);
  }
  for (uint64_t r = 0; r < model->rank; ++r)
    everywhere += work[r];
  long double rest = everywhere - sum_in_parts(context, residual, nnz, nnz, model_squares_long);
  return rest > 0 ? ldexpl(rest, 2 * (model->exponent - residual->exponent)) : 0;
}

static long double squares_of_nonzeros(const struct residual *residual, uint64_t begin,
                                       uint64_t end) {
  uint64_t coordinate[POLYAD_MAX_ORDER];
  double sum = 0;
  for (uint64_t p = begin; p < end; ++p) {
    pd_tensor_coordinate(residual->tensor, p, coordinate);
    double difference =
        ktensor_fit_value_at(residual, p) - ktensor_fit_model_at(residual, coordinate);
    sum += difference * difference;
  }
  return sum;
}

/* ---- bounds --------------------------------------------------------------------------------- */

/* Norms in the residual's scale: of the tensor, and the sum of the components'. */
struct sizes {
  double tensor, components;
};

/* Additions that a sum over so many terms in PARTS parts has one after the other. */
static double depth_of(uint64_t terms) {
  uint64_t in_part = terms / PARTS + 1;
  return (double)(in_part + PARTS);
}

/* Error of ||M||^2 and of 2 m^2 over the nonzeros in arithmetic of this unit, over ||X||^2. */
static double norm_error(const struct residual *residual, const struct sizes *size, double unit) {
  const struct pd_scaled_model *model = residual->model;
  double share = size->components / size->tensor, rows = 2 * (double)model->rank;
  for (int n = 0; n < model->order; ++n)
    rows += (double)model->dims[n];
  double entries = (double)model->rank + model->order + depth_of(residual->tensor->nnz);
  return PD_DEVIATIONS * unit * (sqrt(rows) + 2 * sqrt(entries)) * share * share;
}

/* Error of all entries of the model together, over ||X||. */
static double entry_error(const struct residual *residual, const struct sizes *size) {
  double count = (double)residual->model->rank + residual->model->order;
  return PD_DEVIATIONS * 0x1p-53 * sqrt(count) * size->components / size->tensor;
}

static double formula_bound(const struct residual *residual, const struct sizes *size, double rho) {
  double depth = sqrt(depth_of(residual->tensor->nnz));
  double product = 2 * (entry_error(residual, size) +
                        PD_DEVIATIONS * 0x1p-53 * depth * size->components / size->tensor);
  double error =
      norm_error(residual, size, 0x1p-53) + product + 2 * PD_DEVIATIONS * 0x1p-53 * depth;
  return pd_root_bound(rho, fmax(error, -rho)) + DBL_EPSILON;
}

/* ---- the residual, by either way ------------------------------------------------------------ */

/* Sums ||X - M||^2 from its entries; `bound` is that of ||X - M|| / ||X||. */
static polyad_status direct_residual(polyad_context *context, const struct residual *residual,
                                     const struct sizes *size, double *squared, double *bound) {
  const polyad_tensor *tensor = residual->tensor;
  uint64_t cells = pd_cells(tensor->order, tensor->dims);
  double tensor_squared = size->tensor * size->tensor;
  if (cells <= FEW_CELLS || cells / CELLS_PER_NONZERO <= tensor->nnz) {
    *squared = (double)sum_in_parts(context, residual, cells, cells, squares_of_cells);
    double sum = PD_DEVIATIONS * 0x1p-53 * sqrt(depth_of(cells));
    *bound = entry_error(residual, size) + sum * sqrt(*squared / tensor_squared) + DBL_EPSILON;
    return POLYAD_OK;
  }
  uint64_t rank = residual->model->rank;
  long double *work;
  PD_TRY(PD_NEW(context, pd_mul_saturated(rank, pd_add_saturated(1, 2 * rank)), &work));
  long double between = model_between_nonzeros(context, residual, work);
  *squared = (double)(between + sum_in_parts(context, residual, tensor->nnz, tensor->nnz,
                                             squares_of_nonzeros));
  pd_free(context, work);
  double rho = *squared / tensor_squared, sum = sqrt(depth_of(tensor->nnz));
  *bound = entry_error(residual, size) + PD_DEVIATIONS * 0x1p-53 * sum * sqrt(rho) +
           pd_root_bound(rho, norm_error(residual, size, (double)LDBL_EPSILON / 2)) + DBL_EPSILON;
  return POLYAD_OK;
}

polyad_status pd_ktensor_residual(polyad_context *context, const polyad_ktensor *ktensor,
                                  const polyad_tensor *tensor, double *relative, double *bound) {
  int exponent;
  double tensor_squared =
      pd_sum_of_squares(context, tensor->nnz, tensor->type, tensor->values, &exponent);
  if (tensor_squared == 0)
    return pd_fail(context, POLYAD_NUMERICAL,
                   "the tensor is zero, so that the fit is not defined; expected a nonzero");
  struct pd_scaled_model model;
  PD_TRY(pd_scale_model(context, ktensor, &model));
  double model_squared, components, found = 0;
  polyad_status status = pd_model_norm_squared(context, &model, &model_squared, &components);
  if (status == POLYAD_OK) {
    int common = components > 0 && model.exponent > exponent ? model.exponent : exponent;
    const struct residual residual = {&model, tensor, common};
    const struct sizes size = {ldexp(sqrt(tensor_squared), exponent - common),
                               ldexp(components, model.exponent - common)};
    double x = ldexp(tensor_squared, 2 * (exponent - common));
    double m = ldexp(model_squared, 2 * (model.exponent - common));
    double product = ldexp(scaled_innerprod(context, &model, tensor, exponent),
                           model.exponent + exponent - 2 * common);
    double squared = x + m - 2 * product;
    found = formula_bound(&residual, &size, squared / x);
    if (found > formula_limit)
      status = direct_residual(context, &residual, &size, &squared, &found);
    *relative = ldexp(sqrt(squared) / sqrt(tensor_squared), common - exponent);
    if (bound != NULL) *bound = found;
  }
  pd_unscale_model(context, &model);
  return status;
}

polyad_status polyad_ktensor_fit(polyad_context *context, const polyad_ktensor *ktensor,
                                 const polyad_tensor *tensor, double *fit) {
  PD_ENTER(context);
  PD_TRY(pd_check_same_dims(context, ktensor, tensor));
  PD_EXPECT(context, fit != NULL, "no place for the fit (NULL)");
  double relative;
  PD_TRY(pd_ktensor_residual(context, ktensor, tensor, &relative, NULL));
  *fit = 1 - relative;
  return POLYAD_OK;
}
