/* Back from a sorted list to a tensor. */
#include "core/radix_sort.h"
#include "formats/rowsum/driver.h"
#include "formats/rowsum/rowsum_build.h"
#include <string.h>

static uint64_t number(const void *array, int bytes, uint64_t p) {
  return bytes == 2   ? ((const uint16_t *)array)[p]
         : bytes == 4 ? ((const uint32_t *)array)[p]
                      : ((const uint64_t *)array)[p];
}

static void put(void *array, int bytes, uint64_t p, uint64_t value) {
  if (bytes == 4)
    ((uint32_t *)array)[p] = (uint32_t)value;
  else
    ((uint64_t *)array)[p] = value;
}

static void fill(const struct pd_rowsum *list, int mode, const uint64_t *dims, void **index) {
  int bytes = pd_index_bytes(dims[mode]);
  for (uint64_t r = 0; r < list->runs; ++r) {
    uint64_t end = number(list->row_start, list->start_bytes, r + 1);
    for (uint64_t p = number(list->row_start, list->start_bytes, r); p < end; ++p)
      put(index[mode], bytes, p, number(list->row_id, list->row_bytes, r));
  }
  for (int c = 0; c < list->columns; ++c) {
    int other = list->mode[c], width = pd_index_bytes(dims[other]);
    for (uint64_t p = 0; p < list->nnz; ++p)
      put(index[other], width, p, pd_rowsum_id(list, c, p));
  }
}

polyad_status pd_rowsum_expand(polyad_context *context, const struct pd_rowsum *list, int mode,
                               const uint64_t *dims, polyad_type type, polyad_tensor **tensor) {
  polyad_status status = POLYAD_OK;
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  int order = list->columns + 1;
  for (int n = 0; n < order; ++n)
    PD_TRY_CLEANUP(pd_alloc(context, list->nnz, (size_t)pd_index_bytes(dims[n]), &index[n]));
  PD_TRY_CLEANUP(pd_alloc(context, list->nnz, pd_type_bytes(type), &values));
  fill(list, mode, dims, index);
  if (list->place == NULL)
    memcpy(values, list->values, (size_t)list->nnz * pd_type_bytes(type));
  else
    pd_gather(context, list->nnz, list->place, list->place_bytes, list->values, pd_type_bytes(type),
              values);
  status = pd_tensor_create_take(context, order, dims, list->nnz, type, index, &values,
                                 POLYAD_DUPLICATES_SUM, tensor);
cleanup:
  for (int n = 0; n < order; ++n)
    pd_free(context, index[n]);
  pd_free(context, values);
  return status;
}
