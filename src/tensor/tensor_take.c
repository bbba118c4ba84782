/* A tensor from arrays it takes over: sorts them, merges repeats, drops zeros, in place. */
#include "core/radix_sort.h"
#include "tensor/tensor_merge.h"
#include <assert.h>
#include <string.h>

enum { THREAD_GRAIN = 1 << 14, BLOCK = 1024 };

static int sum_of_bits(const polyad_tensor *tensor) {
  int bits = 0;
  for (int n = 0; n < tensor->order; ++n)
    bits += pd_index_bits(tensor->dims[n]);
  return bits;
}

static void set_keys(const polyad_tensor *tensor, struct pd_key *keys) {
  for (int n = 0; n < tensor->order; ++n)
    keys[n] = (struct pd_key){tensor->index[n], tensor->index_bytes[n], tensor->dims[n]};
}

/* ---- coordinates of at most 64 bits: one key carries the value along ----------------------- */

static void pack_block(const polyad_tensor *tensor, uint64_t begin, uint64_t end, uint64_t *keys) {
  memset(keys + begin, 0, (end - begin) * sizeof *keys);
  for (int n = 0; n < tensor->order; ++n) {
    int bits = pd_index_bits(tensor->dims[n]);
    if (bits == 0) continue;
    for (uint64_t p = begin; p < end; ++p)
      keys[p] = (bits < 64 ? keys[p] << bits : 0) | pd_tensor_index(tensor, n, p);
  }
}

static void unpack_block(polyad_tensor *tensor, uint64_t begin, uint64_t end, uint64_t *keys) {
  for (int n = tensor->order - 1; n >= 0; --n) {
    int bits = pd_index_bits(tensor->dims[n]);
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    if (tensor->index_bytes[n] == 4) {
      uint32_t *index = tensor->index[n];
      for (uint64_t p = begin; p < end; ++p)
        index[p] = (uint32_t)(keys[p] & mask);
    } else {
      uint64_t *index = tensor->index[n];
      for (uint64_t p = begin; p < end; ++p)
        index[p] = keys[p] & mask;
    }
    for (uint64_t p = begin; p < end; ++p)
      keys[p] >>= bits;
  }
}

static uint64_t block_end(uint64_t begin, uint64_t count) {
  return count - begin < BLOCK ? count : begin + BLOCK;
}

/* The index arrays are given up while the keys are sorted, so that the peak is keys and values
 * twice: no more than 32 bytes a nonzero. */
static polyad_status sort_packed(polyad_context *context, polyad_tensor *tensor, int bits) {
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN);
  uint64_t *keys;
  PD_TRY(PD_NEW(context, tensor->nnz, &keys));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t begin = 0; begin < tensor->nnz; begin += BLOCK)
    pack_block(tensor, begin, block_end(begin, tensor->nnz), keys);
  for (int n = 0; n < tensor->order; ++n) {
    pd_free(context, tensor->index[n]);
    tensor->index[n] = NULL;
  }
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(
      pd_sort_u64(context, tensor->nnz, keys, bits, tensor->values, pd_type_bytes(tensor->type)));
  for (int n = 0; n < tensor->order; ++n)
    PD_TRY_CLEANUP(
        pd_alloc(context, tensor->nnz, (size_t)tensor->index_bytes[n], &tensor->index[n]));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t begin = 0; begin < tensor->nnz; begin += BLOCK)
    unpack_block(tensor, begin, block_end(begin, tensor->nnz), keys);

cleanup:
  pd_free(context, keys);
  return status;
}

/* ---- longer coordinates: a permutation, then one array after the other --------------------- */

static polyad_status gather_array(polyad_context *context, uint64_t count, const void *permutation,
                                  int permutation_bytes, size_t item_bytes, void **array) {
  void *sorted;
  PD_TRY(pd_alloc(context, count, item_bytes, &sorted));
  pd_gather(context, count, permutation, permutation_bytes, *array, item_bytes, sorted);
  pd_free(context, *array);
  *array = sorted;
  return POLYAD_OK;
}

static polyad_status sort_by_permutation(polyad_context *context, polyad_tensor *tensor) {
  int bytes = tensor->nnz <= UINT64_C(1) << 32 ? 4 : 8;
  struct pd_key keys[POLYAD_MAX_ORDER];
  set_keys(tensor, keys);
  void *permutation;
  PD_TRY(pd_alloc(context, tensor->nnz, (size_t)bytes, &permutation));
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(
      pd_sort_permutation(context, tensor->nnz, tensor->order, keys, bytes, permutation));
  for (int n = 0; n < tensor->order; ++n)
    PD_TRY_CLEANUP(gather_array(context, tensor->nnz, permutation, bytes,
                                (size_t)tensor->index_bytes[n], &tensor->index[n]));
  PD_TRY_CLEANUP(gather_array(context, tensor->nnz, permutation, bytes, pd_type_bytes(tensor->type),
                              &tensor->values));
cleanup:
  pd_free(context, permutation);
  return status;
}

static polyad_status sort_nonzeros(polyad_context *context, polyad_tensor *tensor, bool *strict) {
  struct pd_key keys[POLYAD_MAX_ORDER];
  set_keys(tensor, keys);
  if (pd_is_sorted(context, tensor->nnz, tensor->order, keys, strict)) return POLYAD_OK;
  int bits = sum_of_bits(tensor);
  return bits <= 64 ? sort_packed(context, tensor, bits) : sort_by_permutation(context, tensor);
}

polyad_status pd_tensor_create_take(polyad_context *context, int order, const uint64_t *dims,
                                    uint64_t nnz, polyad_type type, void **index, void **values,
                                    polyad_duplicates duplicates, polyad_tensor **tensor) {
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
  made->values = *values;
  *values = NULL;
  for (int n = 0; n < order; ++n) {
    made->dims[n] = dims[n];
    made->index_bytes[n] = pd_index_bytes(dims[n]);
    made->index[n] = index[n];
    index[n] = NULL;
  }
  bool strict;
  PD_TRY_CLEANUP(sort_nonzeros(context, made, &strict));
  PD_TRY_CLEANUP(pd_tensor_merge(context, made, duplicates, strict));
  *tensor = made;
  return POLYAD_OK;

cleanup:
  polyad_tensor_destroy(made);
  return status;
}
