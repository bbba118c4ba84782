/* The functions of pack_block.h for one instruction set; the includer defines TABLE, the name of
 * their table. Loops without branches, which vectorise. */
#include "build/pack_block.h"
#include <string.h>

static void block_add_piece(const struct pd_piece *piece, int bytes, const void *index,
                            uint64_t count, uint64_t *restrict word) {
  const uint32_t *narrow = index;
  const uint64_t *wide = index;
  const int low = piece->low, shift = piece->shift;
  const uint64_t mask = pd_low_mask(piece->bits);
  if (bytes == 4)
    for (uint64_t p = 0; p < count; ++p)
      word[p] |= ((uint64_t)narrow[p] >> low & mask) << shift;
  else
    for (uint64_t p = 0; p < count; ++p)
      word[p] |= (wide[p] >> low & mask) << shift;
}

static void block_add_counts(polyad_type type, const void *values, uint64_t count,
                             uint64_t *restrict word) {
  const double *wide = values;
  const float *narrow = values;
  if (type == POLYAD_F64)
    for (uint64_t p = 0; p < count; ++p)
      word[p] |= (uint64_t)(uint32_t)(int32_t)wide[p];
  else
    for (uint64_t p = 0; p < count; ++p)
      word[p] |= (uint64_t)(uint32_t)(int32_t)narrow[p];
}

static inline __attribute__((always_inline)) uint64_t index_in(const struct pd_piece *piece,
                                                               int pieces, const uint64_t *record) {
  uint64_t index = 0;
  for (int k = 0; k < pieces; ++k)
    index |= (record[piece[k].word] >> piece[k].shift & pd_low_mask(piece[k].bits)) << piece[k].low;
  return index;
}

static inline __attribute__((always_inline)) void block_unpack(const struct pd_piece *piece,
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
    block_unpack(piece, pieces, count, records, 1, 2, to);
  else if (words == 1 && bytes == 4)
    block_unpack(piece, pieces, count, records, 1, 4, to);
  else if (words == 2 && bytes == 2)
    block_unpack(piece, pieces, count, records, 2, 2, to);
  else if (words == 2 && bytes == 4)
    block_unpack(piece, pieces, count, records, 2, 4, to);
  else
    block_unpack(piece, pieces, count, records, words, bytes, to);
}

/* Indices of one or two pieces have instances. */
static void block_index(const struct pd_piece *piece, int pieces, uint64_t count,
                        const uint64_t *records, int words, int bytes, void *to) {
  const struct pd_piece one = piece[0], two[2] = {piece[0], piece[pieces > 1]};
  if (pieces == 1)
    unpack_words(&one, 1, count, records, words, bytes, to);
  else if (pieces == 2)
    unpack_words(two, 2, count, records, words, bytes, to);
  else
    block_unpack(piece, pieces, count, records, words, bytes, to);
}

/* Whole numbers become values. */
static void block_counts(const struct pd_layout *layout, uint64_t count, const uint64_t *last,
                         void *to) {
  const uint64_t words = (uint64_t)layout->words, mask = pd_low_mask(layout->value_bits);
  if (layout->value_bytes == 8)
    for (uint64_t p = 0; p < count; ++p)
      ((double *)to)[p] = (double)(int32_t)(last[p * words] & mask);
  else
    for (uint64_t p = 0; p < count; ++p)
      ((float *)to)[p] = (float)(int32_t)(last[p * words] & mask);
}

/* A value that an integer does not hold comes back as another one. Written for each type: floats
 * that become doubles on the way take twice as many vectors. */
#define BLOCK_BITS(VAL, BITS)                                                                      \
  static uint32_t block_bits_##VAL(const VAL *value, uint64_t count) {                             \
    BITS differ = 0;                                                                               \
    uint32_t bits = 0;                                                                             \
    for (uint64_t p = 0; p < count; ++p) {                                                         \
      int32_t whole =                                                                              \
          value[p] >= 0 && value[p] < 1 << PD_COUNT_BITS_MOST ? (int32_t)value[p] : -1;            \
      VAL back = (VAL)whole;                                                                       \
      BITS is, was;                                                                                \
      memcpy(&is, &back, sizeof is);                                                               \
      memcpy(&was, &value[p], sizeof was);                                                         \
      differ |= is ^ was;                                                                          \
      bits |= (uint32_t)whole;                                                                     \
    }                                                                                              \
    return differ == 0 ? bits : UINT32_MAX;                                                        \
  }
BLOCK_BITS(float, uint32_t)
BLOCK_BITS(double, uint64_t)

static uint32_t block_count_bits(polyad_type type, const void *values, uint64_t count) {
  return type == POLYAD_F64 ? block_bits_double(values, count) : block_bits_float(values, count);
}

static void block_range(const uint64_t *number, uint64_t count, uint64_t *least, uint64_t *most) {
  uint64_t low = *least, high = *most;
  for (uint64_t p = 0; p < count; ++p) {
    low = number[p] < low ? number[p] : low;
    high = number[p] > high ? number[p] : high;
  }
  *least = low;
  *most = high;
}

const struct pd_pack_functions TABLE = {block_add_piece, block_add_counts, block_index,
                                        block_counts,    block_count_bits, block_range};
