/* Unpacking of records into arrays of indices and values. */
#include "build/records.h"
#include <string.h>

static inline __attribute__((always_inline)) uint64_t index_in(const struct pd_piece *piece,
                                                               int pieces, const uint64_t *record) {
  uint64_t index = 0;
  for (int k = 0; k < pieces; ++k)
    index |= (record[piece[k].word] >> piece[k].shift & pd_low_mask(piece[k].bits)) << piece[k].low;
  return index;
}

static inline __attribute__((always_inline)) void unpack_unpack(const struct pd_piece *piece,
                                                                int pieces, uint64_t count,
                                                                const uint64_t *records, int words,
                                                                int bytes, void *to) {
  for (uint64_t p = 0; p < count; ++p) {
    uint64_t index = index_in(piece, pieces, records + p * (uint64_t)words);
    if (bytes == 2)
      ((uint16_t *)to)[p] = (uint16_t)index;
    else if (bytes == 4)
      ((uint32_t *)to)[p] = (uint32_t)index;
    else
      ((uint64_t *)to)[p] = index;
  }
}

/* Instances for records of one or two words, which most are. */
static inline __attribute__((always_inline)) void unpack_words(const struct pd_piece *piece,
                                                               int pieces, uint64_t count,
                                                               const uint64_t *records, int words,
                                                               int bytes, void *to) {
  if (words == 1 && bytes == 2)
    unpack_unpack(piece, pieces, count, records, 1, 2, to);
  else if (words == 1 && bytes == 4)
    unpack_unpack(piece, pieces, count, records, 1, 4, to);
  else if (words == 2 && bytes == 2)
    unpack_unpack(piece, pieces, count, records, 2, 2, to);
  else if (words == 2 && bytes == 4)
    unpack_unpack(piece, pieces, count, records, 2, 4, to);
  else
    unpack_unpack(piece, pieces, count, records, words, bytes, to);
}

/* Indices of one or two pieces have instances. */
void pd_records_index(const struct pd_layout *layout, uint64_t count, const uint64_t *records,
                      int mode, int bytes, void *to) {
  struct pd_piece piece[PD_PIECES_MAX] = {{0}};
  int pieces = 0, words = layout->words;
  for (int k = 0; k < layout->pieces; ++k)
    if (layout->piece[k].mode == mode) piece[pieces++] = layout->piece[k];
  struct pd_piece one = piece[0], two[2] = {piece[0], piece[1]};
  if (pieces == 0)
    memset(to, 0, count * (uint64_t)bytes);
  else if (pieces == 1)
    unpack_words(&one, 1, count, records, words, bytes, to);
  else if (pieces == 2)
    unpack_words(two, 2, count, records, words, bytes, to);
  else
    unpack_unpack(piece, pieces, count, records, words, bytes, to);
}

/* Whole numbers become values. */
static void unpack_counts(const struct pd_layout *layout, uint64_t count, const uint64_t *last,
                          void *to) {
  const uint64_t words = (uint64_t)layout->words, mask = pd_low_mask(layout->value_bits);
  if (layout->value_bytes == 8)
    for (uint64_t p = 0; p < count; ++p)
      ((double *)to)[p] = (double)(int32_t)(last[p * words] & mask);
  else
    for (uint64_t p = 0; p < count; ++p)
      ((float *)to)[p] = (float)(int32_t)(last[p * words] & mask);
}

void pd_records_values(const struct pd_layout *layout, uint64_t count, const uint64_t *records,
                       void *to) {
  uint64_t words = (uint64_t)layout->words;
  const uint64_t *last = records + words - 1;
  if (layout->value_bits < 8 * layout->value_bytes)
    unpack_counts(layout, count, last, to);
  else if (layout->value_bits == 64)
    for (uint64_t p = 0; p < count; ++p)
      ((uint64_t *)to)[p] = last[p * words];
  else
    for (uint64_t p = 0; p < count; ++p)
      ((uint32_t *)to)[p] = (uint32_t)last[p * words];
}
