#include "tensor/tensor_range.h"
#include <string.h>

/* Room for `nnz` nonzeros of a tensor like another. */
static polyad_status create_like(polyad_context *context, const polyad_tensor *like, uint64_t nnz,
                                 polyad_tensor **out) {
  polyad_tensor *made = NULL;
  polyad_status status = POLYAD_OK;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &made));
  made->context = context;
  made->order = like->order;
  made->nnz = nnz;
  made->type = like->type;
  memcpy(made->dims, like->dims, sizeof made->dims);
  memcpy(made->index_bytes, like->index_bytes, sizeof made->index_bytes);
  for (int n = 0; n < like->order; ++n)
    PD_TRY_CLEANUP(pd_alloc(context, nnz, (size_t)like->index_bytes[n], &made->index[n]));
  PD_TRY_CLEANUP(pd_alloc(context, nnz, pd_type_bytes(like->type), &made->values));
  *out = made;
  return POLYAD_OK;

cleanup:
  polyad_tensor_destroy(made);
  return status;
}

/* Copies nonzeros `begin` to `end` - 1 of `from` to place `at` of `to` and after. */
static void tensor_range_copy_nonzeros(const polyad_tensor *from, uint64_t begin, uint64_t end,
                                       polyad_tensor *to, uint64_t at) {
  for (int n = 0; n <= from->order; ++n) {
    bool values = n == from->order;
    size_t size = values ? pd_type_bytes(from->type) : (size_t)from->index_bytes[n];
    const char *source = values ? from->values : from->index[n];
    char *target = values ? to->values : to->index[n];
    if (end > begin)
      memcpy(target + at * size, source + begin * size, (size_t)(end - begin) * size);
  }
}

polyad_status pd_tensor_range(polyad_context *context, const polyad_tensor *tensor, uint64_t begin,
                              uint64_t end, polyad_tensor **range) {
  PD_TRY(create_like(context, tensor, end - begin, range));
  tensor_range_copy_nonzeros(tensor, begin, end, *range, 0);
  return POLYAD_OK;
}
