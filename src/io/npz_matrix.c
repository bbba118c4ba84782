/* Sparse matrices as scipy.sparse.save_npz writes them: format says how, in ASCII; shape and data
 * are there in all; coo has row and col, csr and csc have indices and indptr. */
#include "io/npz_matrix.h"
#include <inttypes.h>
#include <string.h>

/* The text of an array of one text, up to 7 characters. */
static void short_text(const struct pd_npy *array, char *text) {
  size_t step = array->kind == 'U' ? 4 : 1;
  size_t length = (size_t)array->item_bytes / step;
  memset(text, 0, 8);
  for (size_t k = 0; k < length && k < 7 && array->count == 1; ++k)
    text[k] = ((const char *)array->data)[k * step];
}

bool pd_npz_is_matrix(const struct pd_npz *npz) {
  const struct pd_npy *format = pd_npz_find(npz, "format");
  return format != NULL && (format->kind == 'S' || format->kind == 'U') &&
         (pd_npz_find(npz, "row") != NULL || pd_npz_find(npz, "indptr") != NULL ||
          pd_npz_find(npz, "offsets") != NULL);
}

/* Indices of one dimension, as many as there are values. */
static polyad_status npz_matrix_take_indices(const struct pd_npz *npz, const char *name,
                                             uint64_t count, int64_t *indices) {
  const struct pd_npy *array;
  PD_TRY(pd_npz_need(npz, name, &array));
  if (array->order != 1 || array->count != count)
    return pd_npz_fail(npz, name, "an index for each number of data");
  return pd_npz_integers(npz, array, indices);
}

/* The rows of csr, or the columns of csc, from where each begins. */
static polyad_status spread(const struct pd_npz *npz, uint64_t lines, uint64_t count,
                            int64_t *indices) {
  const struct pd_npy *array;
  int64_t *start;
  PD_TRY(pd_npz_need(npz, "indptr", &array));
  if (array->order != 1 || array->count != lines + 1)
    return pd_npz_fail(npz, "indptr", "one number more than the matrix has rows (csc: columns)");
  PD_TRY(PD_NEW(npz->context, array->count, &start));
  polyad_status status = pd_npz_integers(npz, array, start);
  bool good = status != POLYAD_OK || (start[0] == 0 && start[lines] == (int64_t)count);
  for (uint64_t i = 0; i < lines && good && status == POLYAD_OK; ++i) {
    good = start[i] <= start[i + 1] && start[i + 1] <= (int64_t)count;
    for (int64_t p = start[i]; good && p < start[i + 1]; ++p)
      indices[p] = (int64_t)i;
  }
  pd_free(npz->context, start);
  if (good) return status;
  return pd_fail_at(npz->context, POLYAD_PARSE, npz->path, 0, 0,
                    "indptr is not in order; expected numbers that ascend from 0 to %" PRIu64
                    ", the length of data",
                    count);
}

polyad_status pd_npz_matrix(const struct pd_npz *npz, const int64_t *dims, uint64_t count,
                            int64_t *coords) {
  char format[8], quoted[PD_QUOTE_BYTES];
  short_text(pd_npz_find(npz, "format"), format);
  if (strcmp(format, "coo") == 0) {
    PD_TRY(npz_matrix_take_indices(npz, "row", count, coords));
    return npz_matrix_take_indices(npz, "col", count, coords + count);
  }
  bool rows = strcmp(format, "csr") == 0;
  if (!rows && strcmp(format, "csc") != 0)
    return pd_fail_at(npz->context, POLYAD_UNSUPPORTED, npz->path, 0, 0,
                      "a sparse matrix in the format %s; expected coo, csr or csc: write "
                      "scipy.sparse.save_npz(FILE, matrix.tocsr())",
                      pd_quote(quoted, format, strlen(format)));
  PD_TRY(npz_matrix_take_indices(npz, "indices", count, rows ? coords + count : coords));
  return spread(npz, (uint64_t)dims[rows ? 0 : 1], count, rows ? coords : coords + count);
}
