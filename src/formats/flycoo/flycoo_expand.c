/* Back from the elements, in the order of mode 0, to a tensor. */
#include "formats/flycoo/flycoo_layout.h"

static void fill(const struct pd_flycoo *storage, void **index, void *values) {
  const struct pd_flycoo_packing *packing = &storage->packing;
  for (uint64_t p = 0; p < storage->nnz; ++p) {
    const uint32_t *element = storage->elements[0] + p * (uint64_t)packing->words;
    for (int n = 0; n < storage->order; ++n)
      ((uint32_t *)index[n])[p] = pd_flycoo_get(element, &packing->index[n]);
    memcpy((char *)values + p * pd_type_bytes(storage->type), element,
           pd_type_bytes(storage->type));
  }
}

polyad_status pd_flycoo_expand(polyad_context *context, const void *pointer,
                               polyad_tensor **tensor) {
  const struct pd_flycoo *storage = pointer;
  polyad_status status = POLYAD_OK;
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  for (int n = 0; n < storage->order; ++n)
    PD_TRY_CLEANUP(pd_alloc(context, storage->nnz, sizeof(uint32_t), &index[n]));
  PD_TRY_CLEANUP(pd_alloc(context, storage->nnz, pd_type_bytes(storage->type), &values));
  fill(storage, index, values);
  status = pd_tensor_create_take(context, storage->order, storage->dims, storage->nnz,
                                 storage->type, index, &values, POLYAD_DUPLICATES_SUM, tensor);
cleanup:
  for (int n = 0; n < storage->order; ++n)
    pd_free(context, index[n]);
  pd_free(context, values);
  return status;
}
