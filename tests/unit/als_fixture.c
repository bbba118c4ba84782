#include "als_fixture.h"
#include "core/numbers.h"
#include "core/random.h"
#include "inputs.h"
#include "linalg/lapack.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

polyad_tensor *als_tensor(polyad_context *context, int order, const uint64_t *dims, uint64_t nnz,
                          const int32_t *index, const double *value) {
  polyad_tensor_input input = input_of_rows(order, dims, nnz, POLYAD_I32, index, value);
  polyad_tensor *tensor;
  ALS_OK(context, polyad_tensor_create(context, &input, &tensor));
  return tensor;
}

polyad_tensor *als_tensor_of_model(polyad_context *context, polyad_ktensor *model) {
  int order = polyad_ktensor_order(model);
  const uint64_t *dims = polyad_ktensor_dims(model);
  uint64_t entries = 1;
  for (int n = 0; n < order; ++n)
    entries *= dims[n];
  uint64_t *coordinates = malloc(entries * (uint64_t)order * sizeof *coordinates);
  int32_t *index = malloc(entries * (uint64_t)order * sizeof *index);
  double *value = malloc(entries * sizeof *value);
  assert_true(coordinates != NULL && index != NULL && value != NULL);
  for (uint64_t p = 0; p < entries; ++p) {
    uint64_t rest = p;
    for (int n = order; n-- > 0; rest /= dims[n]) {
      coordinates[p * (uint64_t)order + (uint64_t)n] = rest % dims[n];
      index[p * (uint64_t)order + (uint64_t)n] = (int32_t)(rest % dims[n]);
    }
  }
  ALS_OK(context, polyad_ktensor_values(context, model, entries, coordinates, value));
  polyad_tensor *tensor = als_tensor(context, order, dims, entries, index, value);
  free(coordinates);
  free(index);
  free(value);
  return tensor;
}

polyad_tensor *als_random_tensor(polyad_context *context, int order, const uint64_t *dims,
                                 uint64_t nnz, uint64_t seed, int counts) {
  int32_t *index = malloc(nnz * (uint64_t)order * sizeof *index);
  double *value = malloc(nnz * sizeof *value);
  assert_true(index != NULL && value != NULL);
  for (uint64_t p = 0; p < nnz; ++p) {
    for (int n = 0; n < order; ++n)
      index[p * (uint64_t)order + (uint64_t)n] =
          (int32_t)(pd_random_u64(seed, (uint64_t)n, p) % dims[n]);
    value[p] =
        counts ? 1 + (double)(pd_random_u64(seed, 100, p) % 5) : pd_random_normal(seed, 100, p);
  }
  polyad_tensor *tensor = als_tensor(context, order, dims, nnz, index, value);
  free(index);
  free(value);
  return tensor;
}

polyad_plan *als_plan(polyad_context *context, const polyad_tensor *tensor, uint64_t rank,
                      polyad_type precision) {
  polyad_plan_options options;
  polyad_plan *plan;
  polyad_plan_options_init(&options);
  options.rank = rank;
  options.precision = precision;
  ALS_OK(context, polyad_plan_create(context, tensor, &options, &plan));
  return plan;
}

polyad_ktensor *als_model(polyad_context *context, int order, const uint64_t *dims, uint64_t rank,
                          const double *const *factor) {
  polyad_ktensor *model;
  ALS_OK(context, polyad_ktensor_create(context, order, dims, rank, POLYAD_F64, &model));
  for (int n = 0; n < order; ++n)
    memcpy(polyad_ktensor_factor(model, n), factor[n], dims[n] * rank * sizeof(double));
  return model;
}

polyad_ktensor *als_random_model(polyad_context *context, int order, const uint64_t *dims,
                                 uint64_t rank, uint64_t seed, int nonnegative) {
  polyad_ktensor *model;
  ALS_OK(context, polyad_ktensor_create(context, order, dims, rank, POLYAD_F64, &model));
  for (int n = 0; n < order; ++n) {
    double *factor = polyad_ktensor_factor(model, n);
    for (uint64_t k = 0; k < dims[n] * rank; ++k)
      factor[k] = nonnegative ? pd_random_uniform(seed, (uint64_t)n, k)
                              : pd_random_normal(seed, (uint64_t)n, k);
  }
  return model;
}

static double entry(const void *values, polyad_type type, uint64_t k) {
  return type == POLYAD_F64 ? ((const double *)values)[k] : (double)((const float *)values)[k];
}

void als_check_model(polyad_ktensor *model) {
  uint64_t rank = polyad_ktensor_rank(model);
  polyad_type type = polyad_ktensor_type(model);
  double unit = type == POLYAD_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
  const void *weights = polyad_ktensor_weights(model);
  for (uint64_t r = 0; r < rank; ++r) {
    double weight = entry(weights, type, r);
    assert_true(isfinite(weight) && weight >= 0);
    assert_true(r == 0 || weight <= entry(weights, type, r - 1));
    for (int n = 0; n < polyad_ktensor_order(model); ++n) {
      const void *factor = polyad_ktensor_factor(model, n);
      uint64_t rows = polyad_ktensor_dims(model)[n];
      double square = 0;
      for (uint64_t i = 0; i < rows; ++i) {
        double value = entry(factor, type, i * rank + r);
        assert_true(isfinite(value));
        square += value * value;
      }
      if (square > 0 || weight > 0) assert_true(fabs(square - 1) <= 4 * (double)(rows + 4) * unit);
    }
  }
}

/* The elementwise product of the Gram matrices of all factors but that of mode `skip`. */
static void normal_equations(polyad_ktensor *model, int skip, double *v) {
  uint64_t rank = polyad_ktensor_rank(model);
  polyad_type type = polyad_ktensor_type(model);
  for (uint64_t e = 0; e < rank * rank; ++e)
    v[e] = 1;
  for (int n = 0; n < polyad_ktensor_order(model); ++n)
    for (uint64_t e = 0; n != skip && e < rank * rank; ++e) {
      const void *factor = polyad_ktensor_factor(model, n);
      double sum = 0;
      for (uint64_t i = 0; i < polyad_ktensor_dims(model)[n]; ++i)
        sum +=
            pd_load(type, factor, i * rank + e / rank) * pd_load(type, factor, i * rank + e % rank);
      v[e] *= sum;
    }
}

double als_sum_error(polyad_type type, uint64_t terms) {
  return 7 * (type == POLYAD_F32 ? sqrt(16) * 0x1p-24 : sqrt((double)terms) * 0x1p-53);
}

double als_drift(polyad_context *context, polyad_ktensor *model, uint64_t terms, int iterations) {
  size_t rank = (size_t)polyad_ktensor_rank(model);
  int order = polyad_ktensor_order(model);
  const void *weights = polyad_ktensor_weights(model);
  double *v = calloc(rank * rank, sizeof *v), *values = calloc(rank, sizeof *values);
  double *work = calloc(pd_eigen_numbers(rank), sizeof *work), condition = 0;
  assert_true(v != NULL && values != NULL && work != NULL);
  for (int n = 0; n < order; ++n) {
    normal_equations(model, n, v);
    ALS_OK(context, pd_eigen(context, rank, v, rank, values, work));
    condition += values[rank - 1] / values[0];
  }
  free(v);
  free(values);
  free(work);
  polyad_type type = polyad_ktensor_type(model); /* weights are sorted */
  double spread = pd_load(type, weights, 0) / pd_load(type, weights, rank - 1);
  return 2 * iterations * condition * spread * als_sum_error(type, terms + rank + (uint64_t)order);
}

int als_same_model(polyad_ktensor *a, polyad_ktensor *b) {
  uint64_t rank = polyad_ktensor_rank(a);
  size_t bytes = rank * (polyad_ktensor_type(a) == POLYAD_F64 ? 8 : 4);
  if (memcmp(polyad_ktensor_weights(a), polyad_ktensor_weights(b), bytes) != 0) return 0;
  for (int n = 0; n < polyad_ktensor_order(a); ++n)
    if (memcmp(polyad_ktensor_factor(a, n), polyad_ktensor_factor(b, n),
               bytes * polyad_ktensor_dims(a)[n]) != 0)
      return 0;
  return 1;
}
