/* Unpacking of records into arrays of indices and values. */
#include "build/pack_block.h"
#include "build/records.h"
#include <string.h>

void pd_records_index(const struct pd_layout *layout, uint64_t count, const uint64_t *records,
                      int mode, int bytes, void *to) {
  struct pd_piece piece[PD_PIECES_MAX] = {{0}};
  int pieces = 0, words = layout->words;
  for (int k = 0; k < layout->pieces; ++k)
    if (layout->piece[k].mode == mode) piece[pieces++] = layout->piece[k];
  if (pieces == 0)
    memset(to, 0, count * (uint64_t)bytes);
  else
    pd_pack_block_functions()->index(piece, pieces, count, records, words, bytes, to);
}

void pd_records_values(const struct pd_layout *layout, uint64_t count, const uint64_t *records,
                       void *to) {
  uint64_t words = (uint64_t)layout->words;
  const uint64_t *last = records + words - 1;
  if (layout->value_bits < 8 * layout->value_bytes)
    pd_pack_block_functions()->counts(layout, count, last, to);
  else if (layout->value_bits == 64)
    for (uint64_t p = 0; p < count; ++p)
      ((uint64_t *)to)[p] = last[p * words];
  else
    for (uint64_t p = 0; p < count; ++p)
      ((uint32_t *)to)[p] = (uint32_t)last[p * words];
}
