/* Tensors and models as NumPy archives. A tensor has the arrays of pydata's sparse.save_npz: coords
 * (N × nnz), data, shape, fill_value (0); a Kruskal tensor has weights, a Tucker tensor core, and
 * both factor_0, factor_1, …. All may have mode_names (empty: none) and labels_0, …, of the modes
 * that have labels: text. An array that is alone, in an archive or as a file, is a dense tensor. */
#include "io/formats.h"
#include "io/npz_names.h"
#include "tensor/tensor.h"
#include <stdio.h>
#include <string.h>

enum { BLOCK = 1024 };
static const unsigned char signature[4] = "PK\x03\x04";

bool pd_npz_recognise(const unsigned char *head, size_t size) {
  return size >= sizeof signature && memcmp(head, signature, sizeof signature) == 0;
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
  struct pd_npy array = pd_npy_of(name, 'f', pd_type_bytes(type), order, shape);
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
  struct pd_npy format = pd_npy_of("format", 'U', sizeof word, 0, NULL);
  struct numbers letters = {word, sizeof word};
  PD_TRY(pd_npz_put(w, &format, fill_numbers, &letters));
  struct pd_npy coords = pd_npy_of("coords", 'i', coord_bytes(tensor), 2, shape);
  PD_TRY(pd_npz_put(w, &coords, fill_coords, tensor));
  PD_TRY(put_reals(w, "data", 1, &tensor->nnz, tensor->type, tensor->values));
  struct pd_npy dims = pd_npy_of("shape", 'i', sizeof(int64_t), 1, &order);
  struct numbers lengths = {tensor->dims, order * sizeof(int64_t)};
  PD_TRY(pd_npz_put(w, &dims, fill_numbers, &lengths));
  PD_TRY(put_reals(w, "fill_value", 0, NULL, tensor->type, &zero));
  return pd_npz_put_names(w, tensor);
}

polyad_status pd_npz_write(polyad_context *context, const polyad_tensor *tensor, const char *path) {
  struct pd_npz_writer *writer;
  PD_TRY(pd_npz_open(context, path, &writer));
  return pd_npz_close(writer, put_tensor(writer, tensor));
}

static polyad_status put_model(struct pd_npz_writer *w, const struct pd_model *model) {
  PD_TRY(model->tucker ? put_reals(w, "core", model->order, model->ranks, model->type, model->first)
                       : put_reals(w, "weights", 1, model->ranks, model->type, model->first));
  for (int n = 0; n < model->order; ++n) {
    char name[PD_NPZ_NAME_BYTES];
    uint64_t shape[] = {model->dims[n], model->ranks[n]};
    snprintf(name, sizeof name, "factor_%d", n);
    PD_TRY(put_reals(w, name, 2, shape, model->type, model->factor[n]));
  }
  return pd_npz_put_names(w, model->outline);
}

polyad_status pd_npz_write_model(polyad_context *context, const struct pd_model *model,
                                 const char *path) {
  struct pd_npz_writer *writer;
  PD_TRY(pd_npz_open(context, path, &writer));
  return pd_npz_close(writer, put_model(writer, model));
}
