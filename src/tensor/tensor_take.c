/* A tensor from arrays it takes over: sorts them, merges repeats, drops or keeps zeros, in place.
 */
#include "tensor/tensor_merge.h"
#include "tensor/tensor_sort.h"
#include <assert.h>

polyad_status pd_tensor_create_take(polyad_context *context, int order, const uint64_t *dims,
                                    uint64_t nnz, polyad_type type, void **index, void **values,
                                    polyad_duplicates duplicates, polyad_zeros zeros,
                                    polyad_tensor **tensor) {
  assert(order >= 1 && order <= POLYAD_MAX_ORDER);
  *tensor = NULL;
  polyad_tensor *made;
  polyad_status status = PD_NEW_ZERO(context, 1, &made);
  if (status != POLYAD_OK) {
    for (int n = 0; n < order; ++n) {
      pd_free(context, index[n]);
      index[n] = NULL;
    }
    pd_free(context, *values);
    *values = NULL;
    return status;
  }
  made->context = context;
  made->order = order;
  made->nnz = nnz;
  made->type = type;
  made->zeros = zeros;
  made->values = *values;
  *values = NULL;
  for (int n = 0; n < order; ++n) {
    made->dims[n] = dims[n];
    made->index_bytes[n] = pd_index_bytes(dims[n]);
    made->index[n] = index[n];
    index[n] = NULL;
  }
  bool strict;
  PD_TRY_CLEANUP(pd_tensor_sort(context, made, &strict));
  if (duplicates != PD_REPEATS_STAY)
    PD_TRY_CLEANUP(pd_tensor_merge(context, made, duplicates, strict));
  *tensor = made;
  return POLYAD_OK;

cleanup:
  polyad_tensor_destroy(made);
  return status;
}
