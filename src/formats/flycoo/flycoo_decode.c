/* Decodes elements in the order of mode 0. */
#include "formats/flycoo/flycoo_layout.h"

void pd_flycoo_decode(const void *pointer, uint64_t first, int count, struct pd_chunk *chunk) {
  const struct pd_flycoo *storage = pointer;
  const struct pd_flycoo_packing *packing = &storage->packing;
  for (int k = 0; k < count; ++k) {
    const uint32_t *element =
        storage->elements[0] + (first + (uint64_t)k) * (uint64_t)packing->words;
    for (int n = 0; n < storage->order; ++n)
      chunk->index[n][k] = pd_flycoo_get(element, &packing->index[n]);
    chunk->value[k] = pd_flycoo_value(element, storage->type);
  }
}
