/* Bits and places of format "hls" that host and GPU must agree on: packed indices, cells of a tile,
 * and which number of a 16 x 16 block each lane of a warp holds in mma.sync. Included by C and by
 * CUDA; the unit test runs the kernels' arithmetic with the same functions. */
#ifndef PD_HLS_BITS_H
#define PD_HLS_BITS_H

#include <stdint.h>

#ifdef __CUDACC__
#define PD_BOTH static __host__ __device__ __forceinline__
#else
#define PD_BOTH static inline
#endif

enum {
  PD_HLS_SIDE = 16,                                       /* of a tile */
  PD_HLS_CELLS = PD_HLS_SIDE * PD_HLS_SIDE * PD_HLS_SIDE, /* bits of a bitmap */
  PD_HLS_WORDS = PD_HLS_CELLS / 32,
  PD_HLS_LANES = 32,
  PD_HLS_PAIRS = 4 /* pairs of numbers that a lane holds of a 16 x 16 block */
};

/** The number of `width` <= 32 bits that begins at bit `at`; one word beyond the last may be read.
 */
PD_BOTH uint32_t pd_hls_get(const uint32_t *words, uint64_t at, int width) {
  const uint32_t *from = words + at / 32;
  uint64_t pair = (uint64_t)from[0] | (uint64_t)from[1] << 32;
  return (uint32_t)((pair >> (at % 32)) & ((UINT64_C(1) << width) - 1));
}

/** Puts a number of `width` <= 32 bits into words whose bits are still zero. One without bits
 * leaves the word at `at` alone: that may be another thread's. */
PD_BOTH void pd_hls_put(uint32_t *words, uint64_t at, int width, uint32_t number) {
  if (width == 0) return;
  uint64_t bits = (uint64_t)number << (at % 32);
  words[at / 32] |= (uint32_t)bits;
  if (at % 32 + (uint32_t)width > 32) words[at / 32 + 1] |= (uint32_t)(bits >> 32);
}

/** Where cell (a, b, c) of a tile, bit 256 a + 16 b + c of its bitmap, stands in the expanded tile
 *  whose output is its mode `output` (0, 1, 2): slice s, then the later of the other modes (j),
 *  then the earlier one (k), so that slices are X(s)' with k contiguous. */
PD_BOTH uint32_t pd_hls_cell(int output, uint32_t bit) {
  uint32_t a = bit >> 8, b = bit >> 4 & 15, c = bit & 15;
  if (output == 0) return a << 8 | c << 4 | b;
  if (output == 1) return b << 8 | c << 4 | a;
  return c << 8 | b << 4 | a;
}

/** From where the cell of a word's (or half word's) first bit stands, that of bit `bit` is
 *  (bit % 16) next + (bit / 16) half further. */
struct pd_hls_steps {
  uint32_t next, half;
};
PD_BOTH struct pd_hls_steps pd_hls_steps_of(int output) {
  struct pd_hls_steps steps = {output == 2 ? 256u : 16u, output == 0   ? 1u
                                                         : output == 1 ? 256u
                                                                       : 16u};
  return steps;
}

/** The modes of a tile (0, 1, 2) that are k and j of pd_hls_cell(). */
PD_BOTH int pd_hls_mode_k(int output) { return output == 0 ? 1 : 0; }
PD_BOTH int pd_hls_mode_j(int output) { return output == 2 ? 1 : 2; }

/* A 16 x 16 block F(r, x) of a factor, r a column of the factor and x one of 16 consecutive rows,
 * is kept as a fragment: lane l holds PD_HLS_PAIRS pairs, pair p the numbers F(r, x), F(r, x + 1)
 * with the r and x below. The same fragment is the left operand (16 x 16, rows r) of mma.m16n8k16,
 * the multiplier of a product's rows, and two right operands (16 x 8, columns r): see
 * pd_hls_right(). With tf32, where mma takes 8 numbers of x at a time, a pair is two registers; the
 * sum over x is then taken in another order, the same on both sides. */
PD_BOTH uint32_t pd_hls_pair_r(uint32_t lane, int pair) { return lane / 4 + (pair & 1 ? 8 : 0); }
PD_BOTH uint32_t pd_hls_pair_x(uint32_t lane, int pair) {
  return lane % 4 * 2 + (pair & 2 ? 8 : 0);
}

/** The pair of a fragment that is half `step` (rows x < 8, x >= 8) of the right operand for columns
 *  r of 8 `block` .. 8 `block` + 7. */
PD_BOTH int pd_hls_right(int block, int step) { return block + 2 * step; }

/** A lane's numbers of the right operand X(s)' (k down, j across): pair (k, k + 1) of column j, for
 *  columns 8 `block` + 0..7 and half `step` of k. */
PD_BOTH uint32_t pd_hls_slice_place(uint32_t lane, uint32_t slice, int block, int step) {
  return slice << 8 | ((lane / 4 + (block ? 8 : 0)) << 4) | (lane % 4 * 2 + (step ? 8 : 0));
}

/** Where a place of an expanded tile is kept in shared memory, so that the lanes' loads of a slice
 *  fall into different banks; pairs stay together. */
PD_BOTH uint32_t pd_hls_bank(uint32_t place, int value_bytes) {
  return place ^ (place >> (value_bytes == 2 ? 3 : 2) & 8);
}

/** Row and column of register `which` (0..3) of a 16 x 8 product. */
PD_BOTH uint32_t pd_hls_product_row(uint32_t lane, int which) {
  return lane / 4 + (which & 2 ? 8 : 0);
}
PD_BOTH uint32_t pd_hls_product_column(uint32_t lane, int which) {
  return lane % 4 * 2 + (which & 1 ? 1 : 0);
}

#endif
