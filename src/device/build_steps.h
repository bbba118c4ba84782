/* What is computed at one place of an array while a storage is built: plain functions for the host
 * and for kernels. */
#ifndef PD_BUILD_STEPS_H
#define PD_BUILD_STEPS_H

#include "core/half.h"

#ifdef __CUDACC__
#define PD_BUILD_STEP static __host__ __device__ inline
#else
#define PD_BUILD_STEP static inline
#endif

/** Bits [low, low + bits) of a nonzero's index in a mode: 1 to 32 of them. */
struct pd_build_piece {
  uint8_t mode, low, bits;
};

/** The range that an index lies in: the last of `ranges`, of which some may be empty, that begins
 * at it or before. Range q begins at cut[q]. */
PD_BUILD_STEP int pd_build_range_at(const uint64_t *cut, int ranges, uint64_t index) {
  int low = 0, high = ranges;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if (cut[middle] <= index)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/** A piece in its place: shifted left, in a word of plane `plane`. */
struct pd_build_field {
  struct pd_build_piece from;
  uint8_t plane, shift;
};

PD_BUILD_STEP uint32_t pd_build_bits(uint32_t index, struct pd_build_piece piece) {
  return index >> piece.low & 0xffffffffu >> (32 - piece.bits);
}

/** The pieces of a nonzero's indices as one number, the first one in the highest bits: 64 at most.
 *  `table` is NULL, or the first piece has the bits of table[index] instead of the index's. */
PD_BUILD_STEP uint64_t pd_build_key_of(const uint32_t *const *index,
                                       const struct pd_build_piece *piece, int pieces,
                                       const uint32_t *table, uint64_t p) {
  uint64_t key = 0;
  for (int k = 0; k < pieces; ++k) {
    uint32_t i = index[piece[k].mode][p];
    key = key << piece[k].bits | pd_build_bits(k == 0 && table != 0 ? table[i] : i, piece[k]);
  }
  return key;
}

/** The fields of a nonzero, all of one word. */
PD_BUILD_STEP uint64_t pd_build_word(const uint32_t *const *index,
                                     const struct pd_build_field *field, int fields, uint64_t p) {
  uint64_t word = 0;
  for (int k = 0; k < fields; ++k)
    word |= (uint64_t)pd_build_bits(index[field[k].from.mode][p], field[k].from) << field[k].shift;
  return word;
}

/** Word w of a stream of items of `bits` bits each, 256 at most, that lie one behind the other: the
 *  fields say which bits of an item are whose. Item k is nonzero permutation[place[k]]; NULL: the
 *  order of the arrays, every place. */
PD_BUILD_STEP uint32_t pd_build_stream_word(const uint32_t *const *index,
                                            const struct pd_build_field *field, int fields,
                                            int bits, const uint32_t *permutation,
                                            const uint32_t *place, uint64_t items, uint64_t w) {
  uint32_t word = 0;
  if (bits == 0) return 0;
  for (uint64_t k = 32 * w / (uint64_t)bits; k < items && k * (uint64_t)bits < 32 * (w + 1); ++k) {
    uint64_t at = place == 0 ? k : place[k], p = permutation == 0 ? at : permutation[at];
    for (int f = 0; f < fields; ++f) {
      int64_t shift = (int64_t)(k * (uint64_t)bits) + field[f].shift - (int64_t)(32 * w);
      if (shift <= -(int)field[f].from.bits || shift >= 32) continue;
      uint32_t number = pd_build_bits(index[field[f].from.mode][p], field[f].from);
      word |= shift >= 0 ? number << shift : number >> -shift;
    }
  }
  return word;
}

/** How values are stored: as numbers of a type that may be shorter than the tensor's. */
enum { PD_BUILD_F16, PD_BUILD_BF16, PD_BUILD_F32, PD_BUILD_F64 };

/** values[at] = x times 2^-exponent, as a number of such a type. */
PD_BUILD_STEP void pd_build_put_value(void *values, uint64_t at, int number, int exponent,
                                      double x) {
  if (exponent != 0) x = ldexp(x, -exponent);
  if (number == PD_BUILD_F16)
    ((uint16_t *)values)[at] = pd_half_of(x);
  else if (number == PD_BUILD_BF16)
    ((uint16_t *)values)[at] = pd_bfloat_of((float)x);
  else if (number == PD_BUILD_F32)
    ((float *)values)[at] = (float)x;
  else
    ((double *)values)[at] = x;
}

/** The run with place p, of runs that begin at start[0], start[1] and so on. */
PD_BUILD_STEP uint32_t pd_build_run_at(const uint32_t *start, uint32_t runs, uint64_t p) {
  uint32_t low = 0, high = runs - 1;
  while (low < high) {
    uint32_t middle = high - (high - low) / 2;
    if (start[middle] <= p)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/** Whether the run with place p has `least` nonzeros or more, and with `first` begins there too. */
PD_BUILD_STEP int pd_build_in_large_run(const uint32_t *start, uint32_t runs, uint32_t least,
                                        int first, uint32_t p) {
  uint32_t r = pd_build_run_at(start, runs, p);
  return start[r + 1] - start[r] >= least && (!first || start[r] == p);
}

/** Whether nonzeros p and q differ in one of the pieces. */
PD_BUILD_STEP int pd_build_apart(const uint32_t *const *index, const struct pd_build_piece *piece,
                                 int pieces, uint64_t p, uint64_t q) {
  for (int k = 0; k < pieces; ++k)
    if (pd_build_bits(index[piece[k].mode][p] ^ index[piece[k].mode][q], piece[k]) != 0) return 1;
  return 0;
}

/** Puts a number into bits of an item, from bit `shift` of its first word on; they were zero. */
PD_BUILD_STEP void pd_build_put(uint32_t *word, int shift, int bits, uint32_t number) {
  uint64_t wide = (uint64_t)number << shift;
  if (bits > 0) word[0] |= (uint32_t)wide;
  if (shift + bits > 32) word[1] |= (uint32_t)(wide >> 32);
}

/** floor(log2(size)) for a size above 0. */
PD_BUILD_STEP int pd_build_class(uint32_t size) {
  int class_of = 0;
  while (size >>= 1)
    ++class_of;
  return class_of;
}

/** The row with place p: the last of `rows` that begins at p or before; none of them is empty. */
PD_BUILD_STEP uint64_t pd_build_row_at(const uint64_t *row_start, uint64_t rows, uint64_t p) {
  uint64_t low = 0, high = rows - 1;
  while (low < high) {
    uint64_t middle = high - (high - low) / 2;
    if (row_start[middle] <= p)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/** Whether nonzero p is the last of its output row; sorted[p] is its output row. */
PD_BUILD_STEP int pd_build_ends(const uint32_t *sorted, uint64_t nnz, uint64_t p) {
  return p < nnz && (p + 1 == nnz || sorted[p] != sorted[p + 1]);
}

/** Whether an output row begins at nonzero p. */
PD_BUILD_STEP int pd_build_begins(const uint32_t *sorted, uint64_t p) {
  return p == 0 || sorted[p] != sorted[p - 1];
}

/** Whether a run begins at nonzero p: an output row does, or an index of the outer inputs differs,
 *  whose bits in plane k are outer_mask[k]. The planes are in the order of the permutation (NULL:
 *  that of the nonzeros). */
PD_BUILD_STEP int pd_build_starts_run(const uint32_t *sorted, const uint32_t *const *plane,
                                      const uint32_t *outer_mask, int planes,
                                      const uint32_t *permutation, uint64_t nnz, uint64_t p) {
  if (p >= nnz) return 0;
  if (pd_build_begins(sorted, p)) return 1;
  uint64_t here = permutation == 0 ? p : permutation[p];
  uint64_t before = permutation == 0 ? p - 1 : permutation[p - 1];
  for (int k = 0; k < planes; ++k)
    if (outer_mask[k] != 0 && ((plane[k][here] ^ plane[k][before]) & outer_mask[k]) != 0) return 1;
  return 0;
}

/** Whether a tuple of indices begins at place p of the order of the permutation (NULL: that of the
 *  arrays): nonzeros come in the order of their tuples. */
PD_BUILD_STEP int pd_build_begins_tuple(const uint32_t *const *index, int modes,
                                        const uint32_t *permutation, uint64_t p) {
  if (p == 0) return 1;
  uint64_t here = permutation == 0 ? p : permutation[p];
  uint64_t before = permutation == 0 ? p - 1 : permutation[p - 1];
  for (int k = 0; k < modes; ++k)
    if (index[k][here] != index[k][before]) return 1;
  return 0;
}

/** How many of the leading pieces a stable sort must look at, where nonzeros are sorted by mode 0,
 * 1 and so on: those left over come in that order already, mode by mode, each from its highest bit
 *  that the pieces before them lack down to its lowest. `bits` are those of each mode's indices. A
 *  table keeps its mode's indices apart, or is alone in the key. */
PD_BUILD_STEP int pd_build_leading(const struct pd_build_piece *piece, int pieces, int has_table,
                                   int order, const int *bits) {
  int missing = 0, leading = pieces, next = order, low = 0;
  for (int n = 0; n < order; ++n)
    missing += bits[n];
  for (int k = 0; k < pieces; ++k)
    missing -= k == 0 && has_table ? bits[piece[k].mode] : piece[k].bits;
  if (missing != 0) return pieces; /* they differ in what the key does not have */
  while (leading > (has_table ? 1 : 0)) {
    struct pd_build_piece last = piece[leading - 1];
    if (last.mode > next || last.low != (last.mode == next ? low : 0)) break;
    next = last.mode;
    low = last.low + last.bits;
    --leading;
  }
  return leading;
}

#endif
