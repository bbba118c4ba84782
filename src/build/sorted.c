#include "build/sorted.h"

/* Where sorted records are unpacked. */
struct unpacking {
  struct pd_layout layout;
  const polyad_tensor *sorted;
};

static void sorted_unpack(void *visitor, uint64_t first, uint64_t count, const uint64_t *records) {
  const struct unpacking *unpacking = visitor;
  const struct pd_layout *layout = &unpacking->layout;
  const polyad_tensor *to = unpacking->sorted;
  pd_records_values(layout, count, records,
                    (char *)to->values + first * (uint64_t)layout->value_bytes);
  for (int n = 0; n < to->order; ++n)
    pd_records_index(layout, count, records, n, to->index_bytes[n],
                     (char *)to->index[n] + first * (uint64_t)to->index_bytes[n]);
}

static polyad_status sorted_allocate(polyad_context *context, const polyad_tensor *like,
                                     polyad_tensor *sorted) {
  *sorted = (polyad_tensor){
      .context = context, .order = like->order, .nnz = like->nnz, .type = like->type};
  for (int n = 0; n < like->order; ++n) {
    sorted->dims[n] = like->dims[n];
    sorted->index_bytes[n] = like->index_bytes[n];
    PD_TRY(pd_alloc(context, like->nnz, (size_t)like->index_bytes[n], &sorted->index[n]));
  }
  return pd_alloc(context, like->nnz, pd_type_bytes(like->type), &sorted->values);
}

polyad_status pd_sorted_create(polyad_context *context, const polyad_tensor *tensor,
                               const struct pd_layout *keys, struct pd_room *room,
                               polyad_tensor *sorted) {
  const struct pd_record_source source = {.tensor = tensor};
  struct unpacking unpacking = {*keys, sorted};
  PD_TRY(sorted_allocate(context, tensor, sorted));
  if (room->records == NULL) PD_TRY(pd_room_create_values(context, tensor, keys->key_bits, room));
  pd_layout_end_values(&unpacking.layout, tensor->type, room->value_bits);
  return pd_records_sort(context, &source, &unpacking.layout, pd_layout_unsorted_bits(keys), room,
                         sorted_unpack, &unpacking);
}

polyad_status pd_sorted_by_modes(polyad_context *context, const polyad_tensor *tensor,
                                 const int *modes, struct pd_room *room, polyad_tensor *sorted) {
  struct pd_layout keys = {.words = 0};
  for (int l = 0; l < tensor->order; ++l)
    pd_layout_add(&keys, modes[l], 0, pd_index_bits(tensor->dims[modes[l]]));
  return pd_sorted_create(context, tensor, &keys, room, sorted);
}

uint64_t pd_sorted_bytes(int order, const uint64_t *dims, uint64_t nnz, polyad_type type,
                         int threads) {
  uint64_t item = pd_type_bytes(type);
  int words = pd_record_words(pd_index_bits_of_all(order, dims), 8 * (int)item);
  for (int n = 0; n < order; ++n)
    item += (uint64_t)pd_index_bytes(dims[n]);
  return pd_add_saturated(pd_sorting_bytes(nnz, words, threads), pd_mul_saturated(nnz, item));
}
