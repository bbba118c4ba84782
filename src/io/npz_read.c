/* Reading tensors and models from NumPy archives; npz.c says which arrays they have. */
#include "core/numbers.h"
#include "io/formats.h"
#include "io/npz_matrix.h"
#include "io/npz_names.h"
#include "tensor/tensor.h"
#include <inttypes.h>
#include <stdio.h>

/* What a tensor is made of, in the types that polyad_tensor_create() takes. */
struct parts {
  int64_t *coords, *dims;
  void *values;
};

static polyad_status check_fill(const struct pd_npz *npz) {
  const struct pd_npy *array = pd_npz_find(npz, "fill_value");
  double fill = 0;
  if (array == NULL) return POLYAD_OK;
  if (array->count != 1) return pd_npz_fail(npz, "fill_value", "one number");
  PD_TRY(pd_npz_reals(npz, array, POLYAD_F64, &fill));
  if (fill == 0) return POLYAD_OK;
  return pd_fail_at(npz->context, POLYAD_PARSE, npz->path, 0, 0,
                    "fill_value is %g; expected 0: cells that are not stored are zero", fill);
}

static polyad_status check_tensor_dims(const struct pd_npz *npz, const uint64_t *dims, int order,
                                       const polyad_read_options *options) {
  if (options->order != 0 && options->order != order)
    return pd_fail_at(npz->context, POLYAD_MISMATCH, npz->path, 0, 0,
                      "order %d; expected %d, as the dims given", order, options->order);
  for (int n = 0; n < order; ++n)
    if (dims[n] < 1 || dims[n] > INT64_MAX || (options->order != 0 && options->dims[n] != dims[n]))
      return pd_fail_at(npz->context, POLYAD_MISMATCH, npz->path, 0, 0,
                        "mode %d has length %" PRId64 "; expected %s", n + 1, (int64_t)dims[n],
                        options->order != 0 ? "the length given" : "at least 1");
  return POLYAD_OK;
}

/* Names the file in front of what is wrong with its entries. */
static polyad_status name_file(const struct pd_npz *npz, polyad_status status) {
  if (status != POLYAD_INVALID_ARGUMENT && status != POLYAD_NUMERICAL) return status;
  char why[512];
  snprintf(why, sizeof why, "%s", polyad_last_error(npz->context));
  pd_begin(npz->context);
  return pd_fail_at(npz->context, POLYAD_PARSE, npz->path, 0, 0, "%s", why);
}

static polyad_status make_sparse(const struct pd_npz *npz, const polyad_tensor_input *input,
                                 polyad_tensor **tensor) {
  pd_set_source(npz->context, npz->path);
  polyad_status status = polyad_tensor_create(npz->context, input, tensor);
  pd_set_source(npz->context, NULL);
  return name_file(npz, status);
}

static polyad_status make_of_dense(const struct pd_npz *npz, const polyad_dense_input *input,
                                   polyad_tensor **tensor) {
  pd_set_source(npz->context, npz->path);
  polyad_status status = polyad_tensor_create_dense(npz->context, input, tensor);
  pd_set_source(npz->context, NULL);
  return name_file(npz, status);
}

/* The nonzeros of a dense array. Numbers but float32 and float64 are copied as float64. */
static polyad_status take_array(const struct pd_npz *npz, const struct pd_npy *array,
                                const polyad_read_options *options, polyad_tensor **tensor) {
  polyad_dense_input input;
  polyad_dense_input_init(&input);
  int64_t strides[POLYAD_MAX_ORDER], step = array->item_bytes;
  void *copy = NULL;
  if (array->order < 1) return pd_npz_fail(npz, array->name, "1 to 16 modes");
  PD_TRY(check_tensor_dims(npz, array->shape, array->order, options));
  input.order = array->order;
  input.dims = array->shape;
  input.cells = array->data;
  input.type = options->type;
  input.zeros = options->zeros;
  for (int n = 0; n < array->order; ++n) {
    strides[n] = step;
    step *= (int64_t)array->shape[n];
  }
  if (array->kind == 'f') {
    input.cell_type = array->item_bytes == 4 ? POLYAD_F32 : POLYAD_F64;
    if (array->fortran) input.strides = strides;
  } else {
    PD_TRY(pd_alloc(npz->context, array->count, sizeof(double), &copy));
    input.cells = copy;
  }
  polyad_status status = POLYAD_OK;
  if (copy != NULL) status = pd_npz_reals(npz, array, POLYAD_F64, copy);
  if (status == POLYAD_OK) status = make_of_dense(npz, &input, tensor);
  pd_free(npz->context, copy);
  return status;
}

/* coords: NULL of a matrix, whose indices are elsewhere. */
static polyad_status npz_read_check_parts(const struct pd_npz *npz, const struct pd_npy *coords,
                                          const struct pd_npy *data, const struct pd_npy *shape) {
  if (coords == NULL && shape->count != 2)
    return pd_npz_fail(npz, "shape", "the numbers of rows and columns");
  if (coords == NULL)
    return data->order == 1 ? POLYAD_OK
                            : pd_npz_fail(npz, "data",
                                          "one dimension, as of matrices in the formats coo, csr "
                                          "and csc: write scipy.sparse.save_npz(FILE, "
                                          "matrix.tocsr())");
  if (coords->order != 2 || coords->shape[0] != shape->count)
    return pd_npz_fail(npz, "coords", "a row for each mode and a column for each nonzero");
  if (data->order != 1 || data->count != coords->shape[1])
    return pd_npz_fail(npz, "data", "a number for each column of coords");
  return POLYAD_OK;
}

static polyad_status npz_take_tensor(struct pd_npz *npz, const polyad_read_options *options,
                                     struct parts *parts, polyad_tensor **tensor) {
  const struct pd_npy *coords = NULL, *data, *shape;
  polyad_tensor_input input;
  bool matrix = pd_npz_is_matrix(npz);
  polyad_tensor_input_init(&input);
  if (pd_npz_find(npz, "factor_0") != NULL)
    return pd_fail_at(npz->context, POLYAD_PARSE, npz->path, 0, 0, "a model; expected a tensor");
  if (npz->count == 1 && pd_npz_find(npz, "coords") == NULL)
    return take_array(npz, &npz->array[0], options, tensor);
  if (!matrix) PD_TRY(pd_npz_need(npz, "coords", &coords));
  PD_TRY(pd_npz_need(npz, "data", &data));
  PD_TRY(pd_npz_need(npz, "shape", &shape));
  PD_TRY(check_fill(npz));
  if (shape->order != 1 || shape->count < 1 || shape->count > POLYAD_MAX_ORDER)
    return pd_npz_fail(npz, "shape", "the length of each mode, 1 to 16 of them");
  PD_TRY(npz_read_check_parts(npz, coords, data, shape));
  input.order = (int)shape->count;
  PD_TRY(PD_NEW(npz->context, shape->count, &parts->dims));
  PD_TRY(PD_NEW(npz->context, pd_mul_saturated(data->count, shape->count), &parts->coords));
  PD_TRY(pd_alloc(npz->context, data->count, sizeof(double), &parts->values));
  PD_TRY(pd_npz_integers(npz, shape, parts->dims));
  PD_TRY(check_tensor_dims(npz, (const uint64_t *)parts->dims, input.order, options));
  PD_TRY(matrix ? pd_npz_matrix(npz, parts->dims, data->count, parts->coords)
                : pd_npz_integers(npz, coords, parts->coords));
  PD_TRY(pd_npz_reals(npz, data, POLYAD_F64, parts->values));
  input.dims = (const uint64_t *)parts->dims;
  input.nnz = data->count;
  input.index_type = POLYAD_I64;
  for (int n = 0; n < input.order; ++n) {
    input.index[n] = parts->coords + (uint64_t)n * input.nnz;
    input.index_stride[n] = sizeof *parts->coords;
  }
  input.values = parts->values;
  input.value_stride = sizeof(double);
  input.type = options->type;
  input.duplicates = options->duplicates;
  input.zeros = options->zeros;
  PD_TRY(make_sparse(npz, &input, tensor));
  return pd_npz_take_names(npz, *tensor);
}

polyad_status pd_npz_read_tensor(polyad_context *context, const char *path, struct pd_input *input,
                                 const polyad_read_options *options, polyad_tensor **tensor) {
  (void)path; /* the input has its name */
  struct pd_npz npz;
  struct parts parts = {0};
  polyad_status status = pd_npz_read(context, input, &npz);
  if (status == POLYAD_OK) status = npz_take_tensor(&npz, options, &parts, tensor);
  PD_FREE(context, parts.coords, parts.dims, parts.values);
  pd_npz_free(&npz);
  return status;
}

polyad_status pd_npy_read_tensor(polyad_context *context, const char *path, struct pd_input *input,
                                 const polyad_read_options *options, polyad_tensor **tensor) {
  (void)path; /* the input has its name */
  struct pd_npz npz;
  polyad_status status = pd_npy_read(context, input, &npz);
  if (status == POLYAD_OK) status = take_array(&npz, &npz.array[0], options, tensor);
  pd_npz_free(&npz);
  return status;
}

/* ---- reading: models --------------------------------------------------------------------------
 */

/* Factors that the archive has, their rows and columns. */
static polyad_status find_factors(const struct pd_npz *npz, const struct pd_npy **factor,
                                  uint64_t *dims, uint64_t *ranks, int *order) {
  PD_TRY(pd_npz_need(npz, "factor_0", &factor[0]));
  for (*order = 0; *order < POLYAD_MAX_ORDER; ++*order) {
    char name[PD_NPZ_NAME_BYTES];
    snprintf(name, sizeof name, "factor_%d", *order);
    const struct pd_npy *found = pd_npz_find(npz, name);
    if (found == NULL) break;
    if (found->order != 2 || found->count == 0)
      return pd_npz_fail(npz, name, "a matrix with a row for each index, a column for each rank");
    factor[*order] = found;
    dims[*order] = found->shape[0];
    ranks[*order] = found->shape[1];
  }
  return POLYAD_OK;
}

static polyad_status npz_take_model(const struct pd_npz *npz, struct pd_model_read *model) {
  bool tucker = model->wanted == POLYAD_CONTENTS_TTENSOR;
  const struct pd_npy *first, *factor[POLYAD_MAX_ORDER];
  uint64_t dims[POLYAD_MAX_ORDER], ranks[POLYAD_MAX_ORDER];
  struct pd_model arrays;
  int order;
  if (pd_npz_find(npz, tucker ? "weights" : "core") != NULL)
    return pd_model_fail_kind(npz->context, npz->path, model);
  if (pd_npz_find(npz, "coords") != NULL)
    return pd_fail_at(npz->context, POLYAD_PARSE, npz->path, 0, 0, "a tensor; expected a model");
  PD_TRY(pd_npz_need(npz, tucker ? "core" : "weights", &first));
  PD_TRY(find_factors(npz, factor, dims, ranks, &order));
  if (first->order != (tucker ? order : 1))
    return pd_npz_fail(npz, first->name,
                       tucker ? "an axis for each factor" : "one number for each component");
  for (int n = 0; n < order; ++n)
    if (ranks[n] != first->shape[tucker ? n : 0])
      return pd_npz_fail(npz, factor[n]->name,
                         tucker ? "the core's length" : "as many columns as there are weights");
  PD_TRY(pd_model_make(npz->context, order, dims, ranks, model, &arrays));
  PD_TRY(pd_npz_reals(npz, first, model->type, arrays.first));
  for (int n = 0; n < order; ++n)
    PD_TRY(pd_npz_reals(npz, factor[n], model->type, arrays.factor[n]));
  if (!pd_npz_has_names(npz)) return POLYAD_OK;
  PD_TRY(pd_model_make_outline(npz->context, order, dims, model));
  return pd_npz_take_names(npz, model->outline);
}

polyad_status pd_npz_read_model(polyad_context *context, struct pd_input *input,
                                struct pd_model_read *model) {
  struct pd_npz npz;
  polyad_status status = pd_npz_read(context, input, &npz);
  if (status == POLYAD_OK) status = npz_take_model(&npz, model);
  pd_npz_free(&npz);
  return status;
}
