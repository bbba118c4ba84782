/* From the nonzeros of a storage, decoded chunk by chunk, back to a tensor. */
#include "tensor/chunk.h"
#include "core/numbers.h"
#include "tensor/tensor.h"

static void chunk_put_index(const struct pd_chunk *chunk, int mode, uint64_t first, int count,
                            int index_bytes, void *to) {
  for (int k = 0; k < count; ++k)
    pd_id_put(to, index_bytes, first + (uint64_t)k, chunk->index[mode][k]);
}

static void put_values(const struct pd_chunk *chunk, uint64_t first, int count, polyad_type type,
                       void *to) {
  for (int k = 0; k < count; ++k)
    pd_store(type, to, first + (uint64_t)k, chunk->value[k]);
}

static void decode_all(const polyad_context *context, const struct pd_nonzeros *nonzeros,
                       void **index, void *values) {
  uint64_t chunks = (nonzeros->nnz + PD_CHUNK - 1) / PD_CHUNK;
  int threads = pd_threads_for(context, chunks, 64);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t c = 0; c < chunks; ++c) {
    struct pd_chunk chunk;
    uint64_t first = c * PD_CHUNK;
    int count = pd_chunk_count(first, nonzeros->nnz);
    nonzeros->decode(nonzeros->storage, first, count, &chunk);
    for (int n = 0; n < nonzeros->order; ++n)
      chunk_put_index(&chunk, n, first, count, pd_index_bytes(nonzeros->dims[n]), index[n]);
    put_values(&chunk, first, count, nonzeros->type, values);
  }
}

polyad_status pd_nonzeros_decode(polyad_context *context, const struct pd_nonzeros *nonzeros,
                                 void **index, void *values) {
  decode_all(context, nonzeros, index, values);
  return pd_nonzeros_check(context, nonzeros);
}

polyad_status pd_nonzeros_to_arrays(polyad_context *context, const struct pd_nonzeros *nonzeros,
                                    void **index, void **values) {
  for (int n = 0; n < nonzeros->order; ++n)
    PD_TRY(pd_alloc(context, nonzeros->nnz, (size_t)pd_index_bytes(nonzeros->dims[n]), &index[n]));
  PD_TRY(pd_alloc(context, nonzeros->nnz, pd_type_bytes(nonzeros->type), values));
  return pd_nonzeros_decode(context, nonzeros, index, *values);
}

polyad_status pd_nonzeros_to_tensor(polyad_context *context, const struct pd_nonzeros *nonzeros,
                                    polyad_tensor **tensor) {
  polyad_status status = POLYAD_OK;
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  PD_TRY_CLEANUP(pd_nonzeros_to_arrays(context, nonzeros, index, &values));
  status =
      pd_tensor_create_take(context, nonzeros->order, nonzeros->dims, nonzeros->nnz, nonzeros->type,
                            index, &values, POLYAD_DUPLICATES_ERROR, nonzeros->zeros, tensor);
cleanup:
  for (int n = 0; n < nonzeros->order; ++n)
    pd_free(context, index[n]);
  pd_free(context, values);
  return status;
}
