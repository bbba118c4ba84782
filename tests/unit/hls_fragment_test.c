/* The kernels' arithmetic on one tile, on the host: lanes, fragments, the layout of mma.sync.
 * Places come from the same functions as in the kernels; the layout of mma's operands is written
 * down here once more, from NVIDIA's PTX documentation. */
#include "core/random.h"
#include "formats/hls/hls_bits.h"
#include "harness.h"
#include <stdbool.h>
#include <string.h>

enum { LANES = PD_HLS_LANES, SIDE = PD_HLS_SIDE };

/* A fragment of the whole warp: two numbers per pair. */
typedef double fragment[LANES][PD_HLS_PAIRS][2];
typedef double product[LANES][4]; /* 16 x 8 */

/* mma.m16n8k16 for 16-bit types: D += A B. Group g = lane / 4, t = lane % 4. A: registers a0 to a3
 * hold two neighbours of a row each: rows g, g + 8, g, g + 8, columns 2 t and, from a2 on, 2 t + 8.
 * B: b0, b1: column g, rows 2 t and 2 t + 8. D: rows g, g, g + 8, g + 8, columns 2 t, 2 t + 1. */
static void mma_16(product d, double a[LANES][4][2], double b[LANES][2][2]) {
  double left[16][16], right[16][8];
  for (int lane = 0; lane < LANES; ++lane) {
    int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 8; ++i) { /* a0 .. a7 of the documentation */
      int row = (i < 2) || (i >= 4 && i < 6) ? g : g + 8;
      left[row][t * 2 + (i & 1) + (i >= 4 ? 8 : 0)] = a[lane][i / 2][i % 2];
    }
    for (int i = 0; i < 4; ++i)
      right[t * 2 + (i & 1) + (i >= 2 ? 8 : 0)][g] = b[lane][i / 2][i % 2];
  }
  for (int lane = 0; lane < LANES; ++lane)
    for (int i = 0; i < 4; ++i) {
      int row = lane / 4 + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
      for (int k = 0; k < 16; ++k)
        d[lane][i] += left[row][k] * right[k][column];
    }
}

/* mma.m16n8k8 for tf32: one number a register. A: (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4);
 * B: (t, g), (t + 4, g). */
static void mma_tf32(product d, double a[LANES][4], double b[LANES][2]) {
  double left[16][8], right[8][8];
  for (int lane = 0; lane < LANES; ++lane) {
    int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i)
      left[i % 2 == 0 ? g : g + 8][i < 2 ? t : t + 4] = a[lane][i];
    right[t][g] = b[lane][0];
    right[t + 4][g] = b[lane][1];
  }
  for (int lane = 0; lane < LANES; ++lane)
    for (int i = 0; i < 4; ++i) {
      int row = lane / 4 + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
      for (int k = 0; k < 8; ++k)
        d[lane][i] += left[row][k] * right[k][column];
    }
}

/* V::mma of the kernels. */
static void mma(bool tf32, product d, fragment a, double b[LANES][2][2]) {
  if (!tf32) {
    mma_16(d, a, b);
    return;
  }
  for (int step = 0; step < 2; ++step) {
    double left[LANES][4], right[LANES][2];
    for (int lane = 0; lane < LANES; ++lane) {
      left[lane][0] = a[lane][2 * step][0];
      left[lane][1] = a[lane][2 * step + 1][0];
      left[lane][2] = a[lane][2 * step][1];
      left[lane][3] = a[lane][2 * step + 1][1];
      right[lane][0] = b[lane][step][0];
      right[lane][1] = b[lane][step][1];
    }
    mma_tf32(d, left, right);
  }
}

/* A tile and the 16 x 16 blocks F[x][r] of its three factors. */
struct problem {
  uint32_t bitmap[PD_HLS_WORDS];
  double cell[SIDE][SIDE][SIDE], factor[3][SIDE][SIDE];
  double value[PD_HLS_CELLS];
};

static void make(struct problem *p, uint64_t seed) {
  int count = 0;
  memset(p, 0, sizeof *p);
  for (uint32_t bit = 0; bit < PD_HLS_CELLS; ++bit) {
    if (pd_random_uniform(seed, 1, bit) > 0.1) continue;
    double x = (double)(pd_random_u64(seed, 2, bit) % 15) + 1; /* small whole numbers: exact sums */
    p->bitmap[bit / 32] |= UINT32_C(1) << bit % 32;
    p->cell[bit / 256][bit / 16 % 16][bit % 16] = p->value[count++] = x;
  }
  for (int n = 0; n < 3; ++n)
    for (int x = 0; x < SIDE; ++x)
      for (int r = 0; r < SIDE; ++r)
        p->factor[n][x][r] =
            (double)(pd_random_u64(seed, 3 + (uint64_t)n, (uint64_t)(x * 16 + r)) % 7) - 3;
}

/* hls_pack of the kernels. */
static void pack(double factor[SIDE][SIDE], fragment f) {
  for (uint32_t lane = 0; lane < LANES; ++lane)
    for (int pair = 0; pair < PD_HLS_PAIRS; ++pair)
      for (uint32_t e = 0; e < 2; ++e)
        f[lane][pair][e] = factor[pd_hls_pair_x(lane, pair) + e][pd_hls_pair_r(lane, pair)];
}

/* expand_by_warp: each lane's 128 bits, the place of its first value by a prefix sum. */
static void expand(const struct problem *p, int output, int value_bytes, double *cells) {
  uint32_t at = 0;
  memset(cells, 0, PD_HLS_CELLS * sizeof *cells);
  for (uint32_t lane = 0; lane < LANES; ++lane)
    for (uint32_t k = 0; k < 4; ++k)
      for (uint32_t bits = p->bitmap[lane * 4 + k]; bits != 0; bits &= bits - 1) {
        uint32_t bit = (lane * 4 + k) * 32 + (uint32_t)__builtin_ctz(bits);
        cells[pd_hls_bank(pd_hls_cell(output, bit), value_bytes)] = p->value[at++];
      }
}

/* expand_by_block: warp w takes bits 16 w .. 16 w + 15 of each lane's 128. */
static void expand_together(const struct problem *p, int output, int value_bytes, double *cells) {
  uint32_t first[LANES + 1] = {0};
  memset(cells, 0, PD_HLS_CELLS * sizeof *cells);
  for (uint32_t lane = 0; lane < LANES; ++lane) {
    first[lane + 1] = first[lane];
    for (uint32_t k = 0; k < 4; ++k)
      first[lane + 1] += (uint32_t)__builtin_popcount(p->bitmap[lane * 4 + k]);
  }
  for (uint32_t warp = 0; warp < 8; ++warp)
    for (uint32_t lane = 0; lane < LANES; ++lane) {
      uint32_t at = first[lane], word = p->bitmap[lane * 4 + warp / 2];
      for (uint32_t k = 0; k < warp / 2; ++k)
        at += (uint32_t)__builtin_popcount(p->bitmap[lane * 4 + k]);
      if (warp % 2) at += (uint32_t)__builtin_popcount(word & 0xffff);
      uint32_t bits = warp % 2 ? word >> 16 : word & 0xffff;
      for (; bits != 0; bits &= bits - 1) {
        uint32_t bit = lane * 128 + warp * 16 + (uint32_t)__builtin_ctz(bits);
        cells[pd_hls_bank(pd_hls_cell(output, bit), value_bytes)] = p->value[at++];
      }
    }
}

static double cell_of(const struct problem *p, int output, int s, int k, int j) {
  int index[3];
  index[output] = s;
  index[pd_hls_mode_k(output)] = k;
  index[pd_hls_mode_j(output)] = j;
  return p->cell[index[0]][index[1]][index[2]];
}

/* times_slice: K' X(s)', two blocks of 8 columns. */
static void times_slice(bool tf32, const double *cells, uint32_t slice, fragment k, product d[2]) {
  memset(d, 0, 2 * sizeof *d);
  for (int block = 0; block < 2; ++block) {
    double right[LANES][2][2];
    for (uint32_t lane = 0; lane < LANES; ++lane)
      for (int step = 0; step < 2; ++step) {
        uint32_t place = pd_hls_bank(pd_hls_slice_place(lane, slice, block, step), tf32 ? 4 : 2);
        assert_int_equal(place % 2, 0); /* a pair is loaded at once */
        right[lane][step][0] = cells[place];
        right[lane][step][1] = cells[place + 1];
      }
    mma(tf32, d[block], k, right);
  }
}

static void check_tile(const struct problem *p, int output, bool tf32) {
  static double cells[PD_HLS_CELLS], together[PD_HLS_CELLS];
  fragment k, j;
  double(*factor)[SIDE][SIDE] = (double(*)[SIDE][SIDE])p->factor;
  int mode_k = pd_hls_mode_k(output), mode_j = pd_hls_mode_j(output);
  assert_int_equal(mode_k + mode_j + output, 3);
  assert_true(mode_k < mode_j); /* so that the last mode's columns are neighbours */
  pack(factor[mode_k], k);
  pack(factor[mode_j], j);
  expand(p, output, tf32 ? 4 : 2, cells);
  expand_together(p, output, tf32 ? 4 : 2, together);
  assert_memory_equal(cells, together, sizeof cells);
  for (int s = 0; s < SIDE; ++s) {
    double y[SIDE][SIDE] = {{0}}; /* [column of k][column of j] */
    for (int a = 0; a < SIDE; ++a)
      for (int b = 0; b < SIDE; ++b)
        for (int r = 0; r < SIDE; ++r)
          for (int q = 0; q < SIDE; ++q)
            y[r][q] += cell_of(p, output, s, a, b) * factor[mode_k][a][r] * factor[mode_j][b][q];
    product d[2], chain[2];
    fragment left;
    times_slice(tf32, cells, (uint32_t)s, k, d);
    /* MTTKRP: rows of the product times rows of the other factor, summed over the four lanes. */
    double sum[SIDE] = {0};
    for (uint32_t lane = 0; lane < LANES; ++lane)
      for (int high = 0; high < 2; ++high)
        for (int e = 0; e < 2; ++e) {
          sum[pd_hls_pair_r(lane, high)] += d[0][lane][2 * high + e] * j[lane][high][e];
          sum[pd_hls_pair_r(lane, high)] += d[1][lane][2 * high + e] * j[lane][2 + high][e];
        }
    for (int r = 0; r < SIDE; ++r)
      assert_true(sum[r] == y[r][r]);
    /* as_left, times_right: the whole product; its diagonal is where the kernel looks for it. */
    for (int lane = 0; lane < LANES; ++lane)
      for (int pair = 0; pair < PD_HLS_PAIRS; ++pair)
        for (int e = 0; e < 2; ++e)
          left[lane][pair][e] = d[pair / 2][lane][pair % 2 * 2 + e];
    memset(chain, 0, sizeof chain);
    for (int block = 0; block < 2; ++block) {
      double right[LANES][2][2];
      for (int lane = 0; lane < LANES; ++lane)
        for (int step = 0; step < 2; ++step)
          memcpy(right[lane][step], j[lane][pd_hls_right(block, step)], sizeof right[lane][step]);
      mma(tf32, chain[block], left, right);
    }
    double diagonal[SIDE] = {0};
    for (uint32_t lane = 0; lane < LANES; ++lane) {
      for (int block = 0; block < 2; ++block)
        for (int w = 0; w < 4; ++w)
          assert_true(
              chain[block][lane][w] ==
              y[pd_hls_product_row(lane, w)][8 * block + (int)pd_hls_product_column(lane, w)]);
      bool even = lane / 4 == lane % 4 * 2, odd = lane / 4 == lane % 4 * 2 + 1;
      diagonal[lane / 4] += even ? chain[0][lane][0] : odd ? chain[0][lane][1] : 0;
      diagonal[lane / 4 + 8] += even ? chain[1][lane][2] : odd ? chain[1][lane][3] : 0;
    }
    for (int r = 0; r < SIDE; ++r)
      assert_true(diagonal[r] == y[r][r]);
  }
}

static void a_tile_is_multiplied(void **state) {
  (void)state;
  static struct problem problem;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    make(&problem, seed);
    for (int output = 0; output < 3; ++output)
      for (int tf32 = 0; tf32 < 2; ++tf32)
        check_tile(&problem, output, tf32);
  }
}

/* fragment_at of the kernels: entry (r, x) from the lane that holds it. */
static void entries_are_found_in_other_lanes(void **state) {
  (void)state;
  double factor[SIDE][SIDE];
  fragment f;
  for (int x = 0; x < SIDE; ++x)
    for (int r = 0; r < SIDE; ++r)
      factor[x][r] = x * 100 + r;
  pack(factor, f);
  for (uint32_t lane = 0; lane < LANES; ++lane)
    for (uint32_t x = 0; x < SIDE; ++x)
      for (int high = 0; high < 2; ++high) {
        int pair = (x >= 8 ? 2 : 0) + high;
        double found = f[(lane & 28) + x % 8 / 2][pair][x & 1];
        assert_true(found == factor[x][pd_hls_pair_r(lane, high)]);
      }
}

/* A slice's loads of 32 lanes meet no bank twice (half precision), nor do those of 16 lanes (tf32,
 * 8 bytes a lane). */
static void loads_meet_no_bank_twice(void **state) {
  (void)state;
  for (int bytes = 2; bytes <= 4; bytes += 2)
    for (uint32_t from = 0; from < LANES; from += bytes == 2 ? 32 : 16)
      for (int block = 0; block < 2; ++block)
        for (int step = 0; step < 2; ++step) {
          int used[32] = {0};
          for (uint32_t lane = from; lane < from + (bytes == 2 ? 32 : 16); ++lane) {
            uint32_t place = pd_hls_bank(pd_hls_slice_place(lane, 5, block, step), bytes);
            for (uint32_t word = 0; word < (bytes == 2 ? 1 : 2); ++word)
              assert_int_equal(used[(place * (uint32_t)bytes / 4 + word) % 32]++, 0);
          }
        }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_tile_is_multiplied),
      cmocka_unit_test(entries_are_found_in_other_lanes),
      cmocka_unit_test(loads_meet_no_bank_twice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
