/* Models as directories of text: the input is a model, bit for bit, and labels. What is written
 * must read back, with the C library's own functions, as the same numbers and labels. */
#include "fuzz_input.h"

#include "tensor/ktensor.h"
#include "tensor/tensor.h"
#include "tensor/ttensor.h"
#include <math.h>
#include <polyad/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER_MOST = 3, LENGTH_MOST = 4, RANK_MOST = 3, LABEL_MOST = 12, TOP = 2 };

struct shape {
  int order, tucker, labelled;
  polyad_type type;
  uint64_t dims[ORDER_MOST], ranks[ORDER_MOST];
};

static struct shape take_shape(const uint8_t **data, size_t *size) {
  uint8_t bits = fuzz_take_byte(data, size), lengths = fuzz_take_byte(data, size);
  struct shape shape = {.order = 1 + bits % ORDER_MOST,
                        .tucker = (bits & 4) != 0,
                        .labelled = (bits & 8) != 0,
                        .type = bits & 16 ? POLYAD_F32 : POLYAD_F64};
  for (int n = 0; n < shape.order; ++n) {
    shape.dims[n] = 1 + (uint64_t)(lengths >> 2 * n) % LENGTH_MOST;
    shape.ranks[n] = 1 + (uint64_t)(bits >> 5) % RANK_MOST;
    if (shape.ranks[n] > shape.dims[n]) shape.ranks[n] = shape.dims[n];
    if (!shape.tucker) shape.ranks[n] = shape.ranks[0];
  }
  return shape;
}

/* A model holds finite numbers: others become 1. */
static void take_values(const uint8_t **data, size_t *size, polyad_type type, uint64_t count,
                        void *values) {
  for (uint64_t k = 0; k < count; ++k) {
    double wide;
    float narrow;
    if (type == POLYAD_F32) {
      fuzz_take(data, size, &narrow, sizeof narrow);
      ((float *)values)[k] = isfinite(narrow) ? narrow : 1;
    } else {
      fuzz_take(data, size, &wide, sizeof wide);
      ((double *)values)[k] = isfinite(wide) ? wide : 1;
    }
  }
}

/* ---- what was written -------------------------------------------------------------------------
 */

static char *load(const char *folder, const char *name, int mode) {
  static char text[1 << 16];
  char path[160];
  snprintf(path, sizeof path, name, folder, mode);
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  size_t got = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[got] = '\0';
  return text;
}

static double number_at(polyad_type type, const void *values, uint64_t k) {
  return type == POLYAD_F32 ? (double)((const float *)values)[k] : ((const double *)values)[k];
}

/* Lines of numbers with a blank between two. */
static void require_matrix(const char *text, polyad_type type, const void *values, uint64_t rows,
                           uint64_t columns) {
  fuzz_require(text != NULL, "a file");
  for (uint64_t k = 0; k < rows * columns; ++k) {
    char *end;
    double found = strtod(text, &end), kept = number_at(type, values, k);
    if (type == POLYAD_F32) found = (double)(float)found;
    fuzz_require(end > text && memcmp(&found, &kept, sizeof kept) == 0, "the same number");
    fuzz_require(*end == ((k + 1) % columns == 0 ? '\n' : ' '), "a row on each line");
    text = end + 1;
  }
  fuzz_require(*text == '\0', "no more numbers");
}

/* A label with its escapes undone, up to a tab; returns its length. */
static size_t undo_escapes(const char **text, char out[4 * LABEL_MOST]) {
  size_t length = 0;
  const char *p = *text;
  for (; *p != '\t' && *p != '\n' && *p != '\0'; ++length) {
    unsigned byte = 0;
    fuzz_require(length < 4 * LABEL_MOST, "a label of its length");
    if (p[0] != '\\') {
      out[length] = *p++;
    } else if (p[1] == '\\') {
      out[length] = '\\';
      p += 2;
    } else {
      fuzz_require(p[1] == 'x' && sscanf(p + 2, "%2x", &byte) == 1, "an escape");
      out[length] = (char)byte;
      p += 4;
    }
  }
  *text = p;
  return length;
}

static void require_top(const char *text, const polyad_tensor *tensor, int mode, polyad_type type,
                        const void *factor, uint64_t rank) {
  uint64_t rows = tensor->dims[mode], count = rows < TOP ? rows : TOP;
  fuzz_require(text != NULL && strncmp(text, "component\tplace\t", 16) == 0, "a head line");
  text = strchr(text, '\n') + 1;
  for (uint64_t k = 0; k < rank * count; ++k) {
    unsigned long long component, place, index;
    int used = 0;
    char label[4 * LABEL_MOST], *end;
    size_t expected;
    fuzz_require(sscanf(text, "%llu\t%llu\t%llu%n", &component, &place, &index, &used) == 3 &&
                     component == k / count + 1 && place == k % count + 1 && index >= 1 &&
                     index <= rows && text[used] == '\t',
                 "a line for each place");
    text += used + 1;
    size_t length = undo_escapes(&text, label);
    const char *kept = polyad_tensor_label(tensor, mode, index - 1, &expected);
    fuzz_require(length == expected && memcmp(label, kept, length) == 0, "the label of the index");
    double found = strtod(text + 1, &end);
    double number = number_at(type, factor, (index - 1) * rank + component - 1);
    if (type == POLYAD_F32) found = (double)(float)found;
    fuzz_require(found == number && *end == '\n', "the number of the index");
    text = end + 1;
  }
  fuzz_require(*text == '\0', "no more lines");
}

/* ---- the model --------------------------------------------------------------------------------
 */

static polyad_tensor *make_tensor(polyad_context *context, const struct shape *shape,
                                  const uint8_t **data, size_t *size) {
  static const uint32_t zero = 0;
  static const double one = 1;
  char text[LENGTH_MOST][LABEL_MOST] = {{0}};
  const char *labels[LENGTH_MOST];
  polyad_tensor_input input;
  polyad_tensor *tensor;
  polyad_tensor_input_init(&input);
  input.order = shape->order;
  input.dims = shape->dims;
  input.nnz = 1;
  input.index_type = POLYAD_U32;
  for (int n = 0; n < shape->order; ++n)
    input.index[n] = &zero;
  input.values = &one;
  fuzz_require(polyad_tensor_create(context, &input, &tensor) == POLYAD_OK, "a tensor");
  for (uint64_t i = 0; i < shape->dims[0]; ++i) {
    fuzz_take(data, size, text[i], LABEL_MOST - 1);
    labels[i] = text[i];
  }
  fuzz_require(polyad_tensor_set_labels(context, tensor, 0, "mode", labels) == POLYAD_OK, "labels");
  return tensor;
}

static void require_factors(const char *path, const struct shape *shape,
                            const polyad_tensor *tensor, void *const *factor) {
  for (int n = 0; n < shape->order; ++n)
    require_matrix(load(path, "%s/mode%d.txt", n + 1), shape->type, factor[n], shape->dims[n],
                   shape->ranks[n]);
  if (tensor != NULL)
    require_top(load(path, "%s/mode%d.top.tsv", 1), tensor, 0, shape->type, factor[0],
                shape->ranks[0]);
}

static void try_ktensor(polyad_context *context, const char *path, const struct shape *shape,
                        const polyad_tensor *tensor, const uint8_t **data, size_t *size) {
  polyad_ktensor *model;
  fuzz_require(polyad_ktensor_create(context, shape->order, shape->dims, shape->ranks[0],
                                     shape->type, &model) == POLYAD_OK,
               "a model");
  take_values(data, size, shape->type, model->rank, model->weights);
  for (int n = 0; n < shape->order; ++n)
    take_values(data, size, shape->type, model->dims[n] * model->rank, model->factor[n]);
  fuzz_require(polyad_ktensor_write_directory(context, model, tensor, TOP, path) == POLYAD_OK,
               "a directory");
  require_matrix(load(path, "%s/lambda.txt", 0), shape->type, model->weights, model->rank, 1);
  require_factors(path, shape, tensor, model->factor);
  polyad_ktensor_destroy(model);
}

static void try_ttensor(polyad_context *context, const char *path, const struct shape *shape,
                        const polyad_tensor *tensor, const uint8_t **data, size_t *size) {
  polyad_ttensor *model;
  fuzz_require(polyad_ttensor_create(context, shape->order, shape->dims, shape->ranks, shape->type,
                                     &model) == POLYAD_OK,
               "a model");
  take_values(data, size, shape->type, model->core_size, model->core);
  for (int n = 0; n < shape->order; ++n)
    take_values(data, size, shape->type, model->dims[n] * model->ranks[n], model->factor[n]);
  fuzz_require(polyad_ttensor_write_directory(context, model, tensor, TOP, path) == POLYAD_OK,
               "a directory");
  require_matrix(load(path, "%s/core.txt", 0), shape->type, model->core, model->ranks[0],
                 model->core_size / model->ranks[0]);
  require_factors(path, shape, tensor, model->factor);
  polyad_ttensor_destroy(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[96];
  struct shape shape = take_shape(&data, &size);
  polyad_context *context = fuzz_begin(1);
  polyad_tensor *tensor = shape.labelled ? make_tensor(context, &shape, &data, &size) : NULL;
  snprintf(path, sizeof path, "%s/model", fuzz_folder());
  if (shape.tucker)
    try_ttensor(context, path, &shape, tensor, &data, &size);
  else
    try_ktensor(context, path, &shape, tensor, &data, &size);
  polyad_tensor_destroy(tensor);
  fuzz_empty_folder();
  fuzz_end(context);
  return 0;
}
