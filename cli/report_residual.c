#include "report_residual.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 15 };

int cli_model_order(const struct cli_model *model) {
  return model->ktensor != NULL ? polyad_ktensor_order(model->ktensor)
                                : polyad_ttensor_order(model->ttensor);
}

const uint64_t *cli_model_dims(const struct cli_model *model) {
  return model->ktensor != NULL ? polyad_ktensor_dims(model->ktensor)
                                : polyad_ttensor_dims(model->ttensor);
}

uint64_t cli_model_columns(const struct cli_model *model, int mode) {
  return model->ktensor != NULL ? polyad_ktensor_rank(model->ktensor)
                                : polyad_ttensor_ranks(model->ttensor)[mode];
}

static polyad_type type_of(const struct cli_model *model) {
  return model->ktensor != NULL ? polyad_ktensor_type(model->ktensor)
                                : polyad_ttensor_type(model->ttensor);
}

static double number(polyad_type type, const void *array, uint64_t k) {
  return type == POLYAD_F64 ? ((const double *)array)[k] : ((const float *)array)[k];
}

/* The library hands factors out for writing as well; here they are only read. */
static const void *factor_of(const struct cli_model *model, int mode) {
  return model->ktensor != NULL
             ? polyad_ktensor_factor((polyad_ktensor *)(uintptr_t)model->ktensor, mode)
             : polyad_ttensor_factor((polyad_ttensor *)(uintptr_t)model->ttensor, mode);
}

double cli_model_factor(const struct cli_model *model, int mode, uint64_t row, uint64_t column) {
  return number(type_of(model), factor_of(model, mode),
                row * cli_model_columns(model, mode) + column);
}

double cli_model_weight(const struct cli_model *model, uint64_t component) {
  return number(type_of(model), polyad_ktensor_weights((polyad_ktensor *)(uintptr_t)model->ktensor),
                component);
}

double *cli_model_gram(const struct cli_model *model, int mode) {
  uint64_t rank = cli_model_columns(model, mode), rows = cli_model_dims(model)[mode];
  const void *factor = factor_of(model, mode);
  polyad_type type = type_of(model);
  double *gram = calloc(rank * rank, sizeof *gram);
  if (gram == NULL) return NULL;
#pragma omp parallel for schedule(dynamic)
  for (uint64_t r = 0; r < rank; ++r)
    for (uint64_t i = 0; i < rows; ++i) {
      double a = number(type, factor, i * rank + r);
      if (a == 0) continue;
      for (uint64_t s = r; s < rank; ++s)
        gram[r * rank + s] += a * number(type, factor, i * rank + s);
    }
  for (uint64_t r = 0; r < rank; ++r)
    for (uint64_t s = 0; s < r; ++s)
      gram[r * rank + s] = gram[s * rank + r];
  return gram;
}

/* H of a Kruskal tensor: the weights' outer product times the other modes' Gram matrices, entry by
 * entry, over the squared norm of the tensor. */
static double *kruskal_form(const struct cli_model *model, double *const *grams, int mode,
                            double norm) {
  uint64_t rank = cli_model_columns(model, mode);
  double *form = malloc(rank * rank * sizeof *form);
  if (form == NULL) return NULL;
  for (uint64_t r = 0; r < rank; ++r)
    for (uint64_t s = 0; s < rank; ++s) {
      double product = (cli_model_weight(model, r) / norm) * (cli_model_weight(model, s) / norm);
      for (int n = 0; n < cli_model_order(model); ++n)
        if (n != mode) product *= grams[n][r * rank + s];
      form[r * rank + s] = product;
    }
  return form;
}

/* out = in x_n gram: both cores have `inner` numbers after and `outer` before the mode. */
static void multiply_mode(const double *in, const double *gram, uint64_t outer, uint64_t rank,
                          uint64_t inner, double *out) {
  memset(out, 0, outer * rank * inner * sizeof *out);
  for (uint64_t o = 0; o < outer; ++o)
    for (uint64_t r = 0; r < rank; ++r)
      for (uint64_t s = 0; s < rank; ++s) {
        double g = gram[r * rank + s];
        const double *from = in + (o * rank + s) * inner;
        double *to = out + (o * rank + r) * inner;
        for (uint64_t k = 0; k < inner; ++k)
          to[k] += g * from[k];
      }
}

/* H of a Tucker tensor: the core unfolded along the mode, times that of the core multiplied by the
 * other modes' Gram matrices, over the squared norm of the tensor. */
static double *tucker_form(const struct cli_model *model, double *const *grams, int mode,
                           double norm) {
  const polyad_ttensor *ttensor = model->ttensor;
  const uint64_t *ranks = polyad_ttensor_ranks(ttensor);
  uint64_t size = polyad_ttensor_core_size(ttensor), rank = ranks[mode], before = 1, after = 1;
  const void *numbers = polyad_ttensor_core((polyad_ttensor *)(uintptr_t)ttensor);
  double *core = malloc(size * sizeof *core), *product = malloc(size * sizeof *product);
  double *spare = malloc(size * sizeof *spare), *form = calloc(rank * rank, sizeof *form);
  int order = polyad_ttensor_order(ttensor);
  if (core == NULL || product == NULL || spare == NULL || form == NULL) {
    free(form);
    form = NULL;
    goto cleanup;
  }
  for (uint64_t k = 0; k < size; ++k)
    product[k] = core[k] = number(polyad_ttensor_type(ttensor), numbers, k) / norm;
  for (int n = 0; n < order; ++n) {
    uint64_t outer = 1;
    for (int m = 0; m < n; ++m)
      outer *= ranks[m];
    if (n == mode) before = outer;
    if (n == mode) after = size / outer / rank;
    if (n == mode) continue;
    multiply_mode(product, grams[n], outer, ranks[n], size / outer / ranks[n], spare);
    double *swapped = product;
    product = spare;
    spare = swapped;
  }
  for (uint64_t o = 0; o < before; ++o)
    for (uint64_t r = 0; r < rank; ++r)
      for (uint64_t s = 0; s < rank; ++s)
        for (uint64_t k = 0; k < after; ++k)
          form[r * rank + s] +=
              core[(o * rank + r) * after + k] * product[(o * rank + s) * after + k];
cleanup:
  free(core);
  free(product);
  free(spare);
  return form;
}

/* Adds ||M_i||^2 to each slice, at least what the nonzeros have taken away again. What remains of
 * it by rounding is nothing: shares of that would be any number. */
static bool add_model(const struct cli_model *model, double *const *grams, int mode, double norm,
                      const double *taken, double *left) {
  double *form = model->ktensor != NULL ? kruskal_form(model, grams, mode, norm)
                                        : tucker_form(model, grams, mode, norm);
  uint64_t rank = cli_model_columns(model, mode), rows = cli_model_dims(model)[mode];
  const void *factor = factor_of(model, mode);
  polyad_type type = type_of(model);
  double roundings = DBL_EPSILON * (double)(4 * rank + (uint64_t)cli_model_order(model));
  if (form == NULL) return false;
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < rows; ++i) {
    double square = 0, terms = 0;
    for (uint64_t r = 0; r < rank; ++r) {
      double a = number(type, factor, i * rank + r), sum = 0, sizes = 0;
      if (a == 0) continue;
      for (uint64_t s = 0; s < rank; ++s) {
        double product = form[r * rank + s] * number(type, factor, i * rank + s);
        sum += product;
        sizes += fabs(product);
      }
      square += a * sum;
      terms += fabs(a) * sizes;
    }
    double outside = square - taken[i];
    left[i] += outside < roundings * terms ? 0 : outside; /* NaN stays */
  }
  free(form);
  return true;
}

static uint64_t index_at(const polyad_tensor *tensor, int mode, uint64_t k) {
  const void *indices = polyad_tensor_indices(tensor, mode);
  return polyad_tensor_index_bytes(tensor, mode) == 8 ? ((const uint64_t *)indices)[k]
                                                      : ((const uint32_t *)indices)[k];
}

/* What the nonzeros give: ||X_i||^2, the sum of (x - m)^2, and the sum of m^2 into `taken`. */
static polyad_status sum_nonzeros(polyad_context *context, const struct cli_model *model,
                                  const polyad_tensor *tensor, uint64_t *coordinates,
                                  double *values, double *const *taken,
                                  struct cli_residual *residual) {
  uint64_t order = (uint64_t)residual->order, nnz = polyad_tensor_nnz(tensor);
  double norm = polyad_tensor_norm(tensor);
  const void *stored = polyad_tensor_values(tensor);
  for (uint64_t first = 0; first < nnz; first += BLOCK) {
    uint64_t count = nnz - first < BLOCK ? nnz - first : BLOCK;
    for (uint64_t n = 0; n < order; ++n)
      for (uint64_t p = 0; p < count; ++p)
        coordinates[p * order + n] = index_at(tensor, (int)n, first + p);
    polyad_status status =
        model->ktensor != NULL
            ? polyad_ktensor_values(context, model->ktensor, count, coordinates, values)
            : polyad_ttensor_values(context, model->ttensor, count, coordinates, values);
    if (status != POLYAD_OK) return status;
    for (uint64_t p = 0; p < count; ++p) {
      double x = number(polyad_tensor_type(tensor), stored, first + p) / norm;
      double m = values[p] / norm, difference = x - m;
      for (uint64_t n = 0; n < order; ++n) {
        uint64_t i = coordinates[p * order + n];
        residual->data[n][i] += x * x;
        residual->left[n][i] += difference * difference;
        taken[n][i] += m * m;
      }
    }
  }
  return POLYAD_OK;
}

void cli_residual_free(struct cli_residual *residual) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    free(residual->data[n]);
    free(residual->left[n]);
  }
  *residual = (struct cli_residual){0};
}

polyad_status cli_residual_compute(polyad_context *context, const struct cli_model *model,
                                   const polyad_tensor *tensor, struct cli_residual *residual) {
  int order = cli_model_order(model);
  double *grams[POLYAD_MAX_ORDER] = {0}, *taken[POLYAD_MAX_ORDER] = {0};
  *residual = (struct cli_residual){.order = order};
  uint64_t *coordinates = malloc((size_t)BLOCK * (size_t)order * sizeof *coordinates);
  double *values = malloc((size_t)BLOCK * sizeof *values);
  bool fine = coordinates != NULL && values != NULL;
  for (int n = 0; n < order && fine; ++n) {
    uint64_t length = cli_model_dims(model)[n];
    residual->data[n] = calloc(length, sizeof(double));
    residual->left[n] = calloc(length, sizeof(double));
    taken[n] = calloc(length, sizeof(double));
    grams[n] = cli_model_gram(model, n);
    fine = residual->data[n] != NULL && residual->left[n] != NULL && taken[n] != NULL &&
           grams[n] != NULL;
  }
  polyad_status status = POLYAD_OUT_OF_MEMORY;
  if (fine) status = sum_nonzeros(context, model, tensor, coordinates, values, taken, residual);
  double norm = polyad_tensor_norm(tensor);
  for (int n = 0; n < order && status == POLYAD_OK; ++n)
    if (!add_model(model, grams, n, norm, taken[n], residual->left[n]))
      status = POLYAD_OUT_OF_MEMORY;
  if (status == POLYAD_OK) {
    residual->total_left = 0; /* of the whole tensor: the sum over the slices of a mode */
    for (uint64_t i = 0; i < cli_model_dims(model)[0]; ++i)
      residual->total_left += residual->left[0][i];
  }
  for (int n = 0; n < order; ++n) {
    free(grams[n]);
    free(taken[n]);
  }
  free(coordinates);
  free(values);
  if (status != POLYAD_OK) cli_residual_free(residual);
  return status;
}
