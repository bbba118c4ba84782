/* Decodes elements, in the order of mode 0 or in whatever order a copy has them. */
#include "formats/flycoo/flycoo_layout.h"

/* The field by value: whether it crosses a word is asked once. */
static void flycoo_decode_field(const uint32_t *restrict element, size_t words,
                                const struct pd_flycoo_field field, int count,
                                uint64_t *restrict index) {
  const uint64_t mask = (UINT64_C(1) << field.bits) - 1;
  const uint32_t *restrict low = element + field.word;
  if (field.shift + field.bits <= 32)
    for (int k = 0; k < count; ++k)
      index[k] = low[(size_t)k * words] >> field.shift & mask;
  else
    for (int k = 0; k < count; ++k)
      index[k] =
          (low[(size_t)k * words] | (uint64_t)low[(size_t)k * words + 1] << 32) >> field.shift &
          mask;
}

void pd_flycoo_decode_elements(const struct pd_flycoo *storage, const uint32_t *elements,
                               uint64_t first, int count, struct pd_chunk *chunk) {
  const struct pd_flycoo_packing *packing = &storage->packing;
  const size_t words = (size_t)packing->words;
  const uint32_t *element = elements + first * words;
  for (int n = 0; n < storage->order; ++n)
    flycoo_decode_field(element, words, packing->index[n], count, chunk->index[n]);
  if (storage->type == POLYAD_F32)
    for (int k = 0; k < count; ++k)
      chunk->value[k] = pd_flycoo_value(element + (size_t)k * words, POLYAD_F32);
  else
    for (int k = 0; k < count; ++k)
      chunk->value[k] = pd_flycoo_value(element + (size_t)k * words, POLYAD_F64);
}

void pd_flycoo_decode(const void *pointer, uint64_t first, int count, struct pd_chunk *chunk) {
  const struct pd_flycoo *storage = pointer;
  pd_flycoo_decode_elements(storage, storage->elements[0], first, count, chunk);
}
