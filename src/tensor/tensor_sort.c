/* Sorting the nonzeros of a tensor that is being made: those bits of the indices in which nonzeros
 * differ and the value are packed into a record; the records are sorted, and unpacked into the
 * tensor's own arrays while they lie in the cache. */
#include "tensor/tensor_sort.h"
#include "build/records.h"
#include "core/bits.h"
#include "core/radix_sort.h"

enum { THREAD_GRAIN = 1 << 14 };

struct sorting {
  polyad_tensor *tensor;
  struct pd_layout layout;
  int bits[POLYAD_MAX_ORDER];       /* lowest bits of a mode's indices that records have */
  uint64_t above[POLYAD_MAX_ORDER]; /* the others, which are the same in all nonzeros */
};

/* Bits in which the indices of a mode differ. */
static uint64_t differing(const polyad_context *context, const polyad_tensor *tensor, int mode) {
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN);
  uint64_t differ = 0;
  if (tensor->index_bytes[mode] == 4) {
    const uint32_t *index = tensor->index[mode];
#pragma omp parallel for num_threads(threads) schedule(static) reduction(| : differ)
    for (uint64_t p = 0; p < tensor->nnz; ++p)
      differ |= index[p] ^ index[0];
  } else {
    const uint64_t *index = tensor->index[mode];
#pragma omp parallel for num_threads(threads) schedule(static) reduction(| : differ)
    for (uint64_t p = 0; p < tensor->nnz; ++p)
      differ |= index[p] ^ index[0];
  }
  return differ;
}

static void restore_above(const struct sorting *sorting, int mode, uint64_t first, uint64_t count) {
  const polyad_tensor *tensor = sorting->tensor;
  uint64_t above = sorting->above[mode];
  for (uint64_t p = first; p < first + count; ++p)
    if (tensor->index_bytes[mode] == 4)
      ((uint32_t *)tensor->index[mode])[p] |= (uint32_t)above;
    else
      ((uint64_t *)tensor->index[mode])[p] |= above;
}

/* Sorted records become nonzeros. Indices of which no bit differs stand there already. */
static void put_sorted(void *visitor, uint64_t first, uint64_t count, const uint64_t *records) {
  const struct sorting *sorting = visitor;
  const polyad_tensor *tensor = sorting->tensor;
  for (int n = 0; n < tensor->order; ++n) {
    int bytes = tensor->index_bytes[n];
    if (sorting->bits[n] == 0) continue;
    pd_records_index(&sorting->layout, count, records, n, bytes,
                     (char *)tensor->index[n] + first * (uint64_t)bytes);
    if (sorting->above[n] != 0) restore_above(sorting, n, first, count);
  }
  pd_records_values(&sorting->layout, count, records,
                    (char *)tensor->values + first * pd_type_bytes(tensor->type));
}

polyad_status pd_tensor_sort(polyad_context *context, polyad_tensor *tensor, bool *strict) {
  struct pd_key keys[POLYAD_MAX_ORDER];
  for (int n = 0; n < tensor->order; ++n)
    keys[n] = (struct pd_key){tensor->index[n], tensor->index_bytes[n], tensor->dims[n]};
  if (pd_is_sorted(context, tensor->nnz, tensor->order, keys, strict)) return POLYAD_OK;
  struct sorting sorting = {.tensor = tensor};
  const struct pd_record_source source = {.tensor = tensor};
  struct pd_room room;
  for (int n = 0; n < tensor->order; ++n) {
    sorting.bits[n] = pd_bit_length(differing(context, tensor, n));
    sorting.above[n] = pd_tensor_index(tensor, n, 0) & ~pd_low_mask(sorting.bits[n]);
    pd_layout_add(&sorting.layout, n, 0, sorting.bits[n]);
  }
  PD_TRY(pd_room_create_values(context, tensor, sorting.layout.key_bits, &room));
  pd_layout_end_values(&sorting.layout, tensor->type, room.value_bits);
  polyad_status status = pd_records_sort(context, &source, &sorting.layout, sorting.layout.key_bits,
                                         &room, put_sorted, &sorting);
  pd_room_destroy(context, &room);
  (void)pd_is_sorted(context, tensor->nnz, tensor->order, keys, strict);
  return status;
}
