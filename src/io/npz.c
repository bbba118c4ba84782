/* Tensors and models as NumPy archives. A tensor has the arrays of pydata's sparse.save_npz: coords
 * (N × nnz), data, shape, fill_value (0); a Kruskal tensor has weights, a Tucker tensor core, and
 * both factor_0, factor_1, …. All may have mode_names (empty: none) and labels_0, …, of the modes
 * that have labels: text. An array that is alone, in an archive or as a file, is a dense tensor. */
#include "core/numbers.h"
#include "io/formats.h"
#include "io/npz_archive.h"
#include "tensor/ktensor.h"
#include "tensor/ttensor.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { UTF8_BYTES = 4, REPLACEMENT = 0xfffd, LAST_CHARACTER = 0x10ffff, BLOCK = 1024 };
static const unsigned char signature[4] = "PK\x03\x04";

bool pd_npz_recognise(const unsigned char *head, size_t size) {
  return size >= sizeof signature && memcmp(head, signature, sizeof signature) == 0;
}

/* ---- text -------------------------------------------------------------------------------------
 * UTF-8 here, four bytes for each character there. */

/* The next character of a text; bytes that are no UTF-8 become U+FFFD. */
static uint32_t next_character(const unsigned char *text, size_t length, size_t *at) {
  size_t size = pd_utf8_length(text + *at, length - *at);
  const unsigned char *s = text + *at;
  *at += size == 0 ? 1 : size;
  if (size == 0) return REPLACEMENT;
  uint32_t character = size == 1 ? s[0] : s[0] & (0x7fu >> size);
  for (size_t k = 1; k < size; ++k)
    character = character << 6 | (s[k] & 0x3fu);
  return character;
}

/* The bytes of a character in UTF-8, 0 where it is none. */
static size_t put_utf8(uint32_t character, char out[UTF8_BYTES]) {
  static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  if (character > LAST_CHARACTER || (character >= 0xd800 && character < 0xe000)) return 0;
  size_t size = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
  for (size_t k = size - 1; k > 0; --k, character >>= 6)
    out[k] = (char)(0x80 | (character & 0x3f));
  out[0] = (char)(lead[size] | character);
  return size;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static struct pd_npy npy_of(const char *name, char kind, size_t item_bytes, int order,
                            const uint64_t *shape) {
  struct pd_npy array = {.kind = kind, .item_bytes = (int)item_bytes, .order = order, .count = 1};
  snprintf(array.name, sizeof array.name, "%s", name);
  for (int n = 0; n < order; ++n) {
    array.shape[n] = shape[n];
    array.count *= shape[n];
  }
  return array;
}

/* Texts of an array: labels of a mode, names of modes, or one alone. */
struct texts {
  const polyad_tensor *tensor;
  int mode; /* -1: names of the modes */
  uint64_t count, width;
};

static const char *text_at(const struct texts *texts, uint64_t k, size_t *length) {
  if (texts->mode >= 0) return polyad_tensor_label(texts->tensor, texts->mode, k, length);
  const char *name = polyad_tensor_mode_name(texts->tensor, (int)k);
  *length = name == NULL ? 0 : strlen(name);
  return name == NULL ? "" : name;
}

static void find_width(struct texts *texts) {
  texts->width = 1;
  for (uint64_t k = 0; k < texts->count; ++k) {
    size_t length, at = 0;
    uint64_t characters = 0;
    const char *text = text_at(texts, k, &length);
    for (; at < length; ++characters)
      (void)next_character((const unsigned char *)text, length, &at);
    if (characters > texts->width) texts->width = characters;
  }
}

static polyad_status fill_texts(struct pd_npz_sink *sink, const void *user) {
  static const uint32_t nothing[BLOCK];
  const struct texts *texts = user;
  for (uint64_t k = 0; k < texts->count; ++k) {
    size_t length, at = 0;
    uint64_t left = texts->width;
    const char *text = text_at(texts, k, &length);
    for (; at < length; --left) {
      uint32_t character = next_character((const unsigned char *)text, length, &at);
      PD_TRY(pd_npz_bytes(sink, &character, sizeof character));
    }
    for (uint64_t some; left > 0; left -= some) {
      some = left < BLOCK ? left : BLOCK;
      PD_TRY(pd_npz_bytes(sink, nothing, some * sizeof *nothing));
    }
  }
  return POLYAD_OK;
}

static polyad_status put_texts(struct pd_npz_writer *w, const char *name, struct texts texts) {
  find_width(&texts);
  struct pd_npy array = npy_of(name, 'U', (size_t)(4 * texts.width), 1, &texts.count);
  return pd_npz_put(w, &array, fill_texts, &texts);
}

/* Names and labels; `outline` may be NULL. */
static polyad_status put_names(struct pd_npz_writer *w, const polyad_tensor *outline) {
  bool named = false;
  char name[PD_NPZ_NAME_BYTES];
  if (outline == NULL) return POLYAD_OK;
  for (int n = 0; n < outline->order; ++n) {
    named = named || outline->mode_name[n] != NULL;
    if (outline->labels[n].count == 0) continue;
    snprintf(name, sizeof name, "labels_%d", n);
    PD_TRY(put_texts(w, name, (struct texts){outline, n, outline->dims[n], 0}));
  }
  if (!named) return POLYAD_OK;
  return put_texts(w, "mode_names", (struct texts){outline, -1, (uint64_t)outline->order, 0});
}

struct numbers {
  const void *data;
  uint64_t bytes;
};

static polyad_status fill_numbers(struct pd_npz_sink *sink, const void *user) {
  const struct numbers *numbers = user;
  return pd_npz_bytes(sink, numbers->data, numbers->bytes);
}

static polyad_status put_reals(struct pd_npz_writer *w, const char *name, int order,
                               const uint64_t *shape, polyad_type type, const void *data) {
  struct pd_npy array = npy_of(name, 'f', pd_type_bytes(type), order, shape);
  struct numbers numbers = {data, array.count * pd_type_bytes(type)};
  return pd_npz_put(w, &array, fill_numbers, &numbers);
}

/* Bytes of a signed integer that holds every index. */
static size_t coord_bytes(const polyad_tensor *tensor) {
  for (int n = 0; n < tensor->order; ++n)
    if (tensor->dims[n] > (uint64_t)INT32_MAX + 1) return sizeof(int64_t);
  return sizeof(int32_t);
}

/* Indices of all modes, one mode after the other. */
static polyad_status fill_coords(struct pd_npz_sink *sink, const void *user) {
  const polyad_tensor *tensor = user;
  int64_t wide[BLOCK];
  bool narrow = coord_bytes(tensor) == sizeof(int32_t);
  for (int n = 0; n < tensor->order; ++n) {
    if (narrow) {
      PD_TRY(pd_npz_bytes(sink, tensor->index[n], tensor->nnz * sizeof(int32_t)));
      continue;
    }
    for (uint64_t p = 0; p < tensor->nnz;) {
      uint64_t some = tensor->nnz - p < BLOCK ? tensor->nnz - p : BLOCK;
      for (uint64_t k = 0; k < some; ++k)
        wide[k] = (int64_t)pd_tensor_index(tensor, n, p + k);
      PD_TRY(pd_npz_bytes(sink, wide, some * sizeof *wide));
      p += some;
    }
  }
  return POLYAD_OK;
}

static polyad_status put_tensor(struct pd_npz_writer *w, const polyad_tensor *tensor) {
  uint64_t order = (uint64_t)tensor->order, shape[] = {order, tensor->nnz};
  const double zero = 0;
  static const uint32_t word[] = {'c', 'o', 'o'}; /* the layout, as sparse.load_npz asks for it */
  struct pd_npy format = npy_of("format", 'U', sizeof word, 0, NULL);
  struct numbers letters = {word, sizeof word};
  PD_TRY(pd_npz_put(w, &format, fill_numbers, &letters));
  struct pd_npy coords = npy_of("coords", 'i', coord_bytes(tensor), 2, shape);
  PD_TRY(pd_npz_put(w, &coords, fill_coords, tensor));
  PD_TRY(put_reals(w, "data", 1, &tensor->nnz, tensor->type, tensor->values));
  struct pd_npy dims = npy_of("shape", 'i', sizeof(int64_t), 1, &order);
  struct numbers lengths = {tensor->dims, order * sizeof(int64_t)};
  PD_TRY(pd_npz_put(w, &dims, fill_numbers, &lengths));
  PD_TRY(put_reals(w, "fill_value", 0, NULL, tensor->type, &zero));
  return put_names(w, tensor);
}

polyad_status pd_npz_write(polyad_context *context, const polyad_tensor *tensor, const char *path) {
  struct pd_npz_writer *writer;
  PD_TRY(pd_npz_open(context, path, &writer));
  return pd_npz_close(writer, put_tensor(writer, tensor));
}

static polyad_status put_model(struct pd_npz_writer *w, const struct pd_model *model) {
  const polyad_ktensor *k = model->ktensor;
  const polyad_ttensor *t = model->ttensor;
  int order = k != NULL ? k->order : t->order;
  polyad_type type = k != NULL ? k->type : t->type;
  PD_TRY(k != NULL ? put_reals(w, "weights", 1, &k->rank, type, k->weights)
                   : put_reals(w, "core", order, t->ranks, type, t->core));
  for (int n = 0; n < order; ++n) {
    char name[PD_NPZ_NAME_BYTES];
    uint64_t shape[] = {k != NULL ? k->dims[n] : t->dims[n], k != NULL ? k->rank : t->ranks[n]};
    snprintf(name, sizeof name, "factor_%d", n);
    PD_TRY(put_reals(w, name, 2, shape, type, k != NULL ? k->factor[n] : t->factor[n]));
  }
  return put_names(w, model->outline);
}

polyad_status pd_npz_write_model(polyad_context *context, const struct pd_model *model,
                                 const char *path) {
  struct pd_npz_writer *writer;
  PD_TRY(pd_npz_open(context, path, &writer));
  return pd_npz_close(writer, put_model(writer, model));
}

/* ---- reading: names and labels ----------------------------------------------------------------
 */

/* An array of texts as labels. */
static polyad_status take_texts(const struct pd_npz *npz, const struct pd_npy *array,
                                struct pd_labels *labels) {
  uint64_t width = (uint64_t)array->item_bytes / 4, bytes = 0;
  const uint32_t *text = array->data;
  char out[UTF8_BYTES];
  if (array->kind != 'U') return pd_npz_fail(npz, array->name, "text");
  for (uint64_t k = 0; k < array->count * width; ++k)
    bytes += put_utf8(text[k], out);
  PD_TRY(PD_NEW(npz->context, array->count + 1, &labels->start));
  PD_TRY(PD_NEW(npz->context, bytes + array->count, &labels->text));
  for (uint64_t i = 0, at = 0; i < array->count; ++i, text += width) {
    uint64_t length = width;
    labels->start[i] = at;
    while (length > 0 && text[length - 1] == 0)
      --length;
    for (uint64_t k = 0; k < length; ++k) {
      size_t size = put_utf8(text[k], out);
      if (size == 0) return pd_npz_fail(npz, array->name, "text of Unicode's characters");
      memcpy(labels->text + at, out, size);
      at += size;
    }
    labels->text[at++] = '\0';
    labels->start[i + 1] = at;
  }
  labels->count = array->count;
  return POLYAD_OK;
}

static polyad_status take_names(const struct pd_npz *npz, polyad_tensor *tensor,
                                const struct pd_labels *names) {
  if (names->count != (uint64_t)tensor->order)
    return pd_npz_fail(npz, "mode_names", "a name for each mode");
  for (int n = 0; n < tensor->order; ++n) {
    const char *name = names->text + names->start[n];
    size_t size = strlen(name) + 1;
    if (size == 1) continue;
    PD_TRY(PD_NEW(npz->context, size, &tensor->mode_name[n]));
    memcpy(tensor->mode_name[n], name, size);
  }
  return POLYAD_OK;
}

static polyad_status take_labels(const struct pd_npz *npz, polyad_tensor *tensor, int mode,
                                 const struct pd_npy *array) {
  struct pd_labels labels = {0};
  polyad_status status = take_texts(npz, array, &labels);
  if (status == POLYAD_OK && mode < 0) status = take_names(npz, tensor, &labels);
  if (status == POLYAD_OK && mode >= 0) {
    if (labels.count == tensor->dims[mode])
      pd_tensor_take_labels(tensor, mode, &labels);
    else
      status = pd_npz_fail(npz, array->name, "a label for each index of the mode");
  }
  PD_FREE(npz->context, labels.start, labels.text);
  return status;
}

static bool has_names(const struct pd_npz *npz) {
  for (int k = 0; k < npz->count; ++k)
    if (strncmp(npz->array[k].name, "labels_", 7) == 0) return true;
  return pd_npz_find(npz, "mode_names") != NULL;
}

/* Gives a tensor the names and labels of the archive. */
static polyad_status take_outline(const struct pd_npz *npz, polyad_tensor *tensor) {
  const struct pd_npy *array = pd_npz_find(npz, "mode_names");
  if (array != NULL) PD_TRY(take_labels(npz, tensor, -1, array));
  for (int n = 0; n < tensor->order; ++n) {
    char name[PD_NPZ_NAME_BYTES];
    snprintf(name, sizeof name, "labels_%d", n);
    array = pd_npz_find(npz, name);
    if (array != NULL) PD_TRY(take_labels(npz, tensor, n, array));
  }
  return POLYAD_OK;
}

/* ---- reading: tensors -------------------------------------------------------------------------
 */

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
  if (status == POLYAD_OK)
    status = name_file(npz, polyad_tensor_create_dense(npz->context, &input, tensor));
  pd_free(npz->context, copy);
  return status;
}

static polyad_status npz_take_tensor(struct pd_npz *npz, const polyad_read_options *options,
                                     struct parts *parts, polyad_tensor **tensor) {
  const struct pd_npy *coords, *data, *shape;
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  if (pd_npz_find(npz, "factor_0") != NULL)
    return pd_fail_at(npz->context, POLYAD_PARSE, npz->path, 0, 0, "a model; expected a tensor");
  if (npz->count == 1 && pd_npz_find(npz, "coords") == NULL)
    return take_array(npz, &npz->array[0], options, tensor);
  PD_TRY(pd_npz_need(npz, "coords", &coords));
  PD_TRY(pd_npz_need(npz, "data", &data));
  PD_TRY(pd_npz_need(npz, "shape", &shape));
  PD_TRY(check_fill(npz));
  if (shape->order != 1 || shape->count < 1 || shape->count > POLYAD_MAX_ORDER)
    return pd_npz_fail(npz, "shape", "the length of each mode, 1 to 16 of them");
  if (coords->order != 2 || coords->shape[0] != shape->count)
    return pd_npz_fail(npz, "coords", "a row for each mode and a column for each nonzero");
  if (data->order != 1 || data->count != coords->shape[1])
    return pd_npz_fail(npz, "data", "a number for each column of coords");
  input.order = (int)shape->count;
  PD_TRY(PD_NEW(npz->context, shape->count, &parts->dims));
  PD_TRY(PD_NEW(npz->context, coords->count, &parts->coords));
  PD_TRY(pd_alloc(npz->context, data->count, sizeof(double), &parts->values));
  PD_TRY(pd_npz_integers(npz, shape, parts->dims));
  PD_TRY(check_tensor_dims(npz, (const uint64_t *)parts->dims, input.order, options));
  PD_TRY(pd_npz_integers(npz, coords, parts->coords));
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
  PD_TRY(name_file(npz, polyad_tensor_create(npz->context, &input, tensor)));
  return take_outline(npz, *tensor);
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

static polyad_status take_model_names(const struct pd_npz *npz, int order, const uint64_t *dims,
                                      struct pd_model_read *model) {
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = order;
  input.dims = dims;
  input.type = input.value_type = model->type;
  PD_TRY(polyad_tensor_create(npz->context, &input, &model->outline));
  return take_outline(npz, model->outline);
}

static polyad_status npz_take_model(const struct pd_npz *npz, struct pd_model_read *model) {
  bool kruskal = model->wanted == POLYAD_CONTENTS_KTENSOR;
  const struct pd_npy *first, *factor[POLYAD_MAX_ORDER];
  uint64_t dims[POLYAD_MAX_ORDER], ranks[POLYAD_MAX_ORDER];
  int order;
  if (pd_npz_find(npz, kruskal ? "core" : "weights") != NULL)
    return pd_fail_at(npz->context, POLYAD_PARSE, npz->path, 0, 0, "a %s; expected a %s",
                      kruskal ? "Tucker model (ttensor)" : "CP model (ktensor)",
                      kruskal ? "CP model (ktensor)" : "Tucker model (ttensor)");
  if (pd_npz_find(npz, "coords") != NULL)
    return pd_fail_at(npz->context, POLYAD_PARSE, npz->path, 0, 0, "a tensor; expected a model");
  PD_TRY(pd_npz_need(npz, kruskal ? "weights" : "core", &first));
  PD_TRY(find_factors(npz, factor, dims, ranks, &order));
  if (first->order != (kruskal ? 1 : order))
    return pd_npz_fail(npz, first->name,
                       kruskal ? "one number for each component" : "an axis for each factor");
  for (int n = 0; n < order; ++n)
    if (ranks[n] != first->shape[kruskal ? 0 : n])
      return pd_npz_fail(npz, factor[n]->name,
                         kruskal ? "as many columns as there are weights" : "the core's length");
  PD_TRY(
      kruskal
          ? polyad_ktensor_create(npz->context, order, dims, ranks[0], model->type, &model->ktensor)
          : polyad_ttensor_create(npz->context, order, dims, ranks, model->type, &model->ttensor));
  PD_TRY(pd_npz_reals(npz, first, model->type,
                      kruskal ? model->ktensor->weights : model->ttensor->core));
  for (int n = 0; n < order; ++n)
    PD_TRY(pd_npz_reals(npz, factor[n], model->type,
                        kruskal ? model->ktensor->factor[n] : model->ttensor->factor[n]));
  return has_names(npz) ? take_model_names(npz, order, dims, model) : POLYAD_OK;
}

polyad_status pd_npz_read_model(polyad_context *context, struct pd_input *input,
                                struct pd_model_read *model) {
  struct pd_npz npz;
  polyad_status status = pd_npz_read(context, input, &npz);
  if (status == POLYAD_OK) status = npz_take_model(&npz, model);
  pd_npz_free(&npz);
  return status;
}
