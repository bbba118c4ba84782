/* Decodes elements, in the order of mode 0 or in whatever order a copy has them. */
#include "formats/flycoo/flycoo_layout.h"

void pd_flycoo_decode_elements(const struct pd_flycoo *storage, const uint32_t *elements,
                               uint64_t first, int count, struct pd_chunk *chunk) {
  const struct pd_flycoo_packing *packing = &storage->packing;
  const uint32_t *element = elements + first * (uint64_t)packing->words;
  for (int k = 0; k < count; ++k, element += packing->words) {
    for (int n = 0; n < storage->order; ++n)
      chunk->index[n][k] = pd_flycoo_get(element, &packing->index[n]);
    chunk->value[k] = pd_flycoo_value(element, storage->type);
  }
}

void pd_flycoo_decode(const void *pointer, uint64_t first, int count, struct pd_chunk *chunk) {
  const struct pd_flycoo *storage = pointer;
  pd_flycoo_decode_elements(storage, storage->elements[0], first, count, chunk);
}
