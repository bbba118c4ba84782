/* A sweep of HALS over sixteen rows that lie in a slot: see cuda_hals.cu. Up to 32 columns.
 *
 * Eight columns at a time get what the rows, as they are by now, leave of m: m minus the rows times
 * eight columns of v, a product by the tensor cores. Then each of the eight changes in turn, and
 * tells those behind it by how much. Lane 4 i + q holds columns 8 t + 2 q and 8 t + 2 q + 1 of rows
 * i and i + 8, for every tile t: so a result of one product is an operand of the next where it is,
 * and of a row's eight columns two change in one lane before the four lanes of the row share
 * them. */
#ifndef PD_CUDA_UPDATE_SWEEP_CUH
#define PD_CUDA_UPDATE_SWEEP_CUH

#include "device/cuda/cuda_linalg_device.cuh"
#include "device/cuda/cuda_update_tiles.cuh"

/** One over a diagonal entry of v; 0 where there is none that a double holds: the column stays as
 *  it is. */
__device__ static inline double inverse_of(double diagonal) {
  double inverse = 1 / diagonal;
  return diagonal > 0 && isfinite(inverse) ? inverse : 0;
}

/** What all rows read, with zeros behind the last column. `by`: entries of v as a product's right
 *  operand, for columns of tile `to` and rows of tile `from`. `own`: of a tile's 8 x 8 entries on
 *  the diagonal, rows 2 p and 2 p + 1 of column 2 q, then of column 2 q + 1, times the column's
 *  `inverse`. */
template <int TILES> struct Equations {
  double2 by[TILES][TILES][32];
  double2 own[TILES][4][4][2];
  double inverse[TILE * TILES], weight[TILE * TILES], scale[TILE * TILES];
};

template <int TILES>
__device__ static void load_equations(const pd_gpu_rows &rows, Equations<TILES> &v) {
  int rank = rows.x.rank, first = (int)threadIdx.x, step = (int)blockDim.x;
  auto entry = [&](int r, int s) {
    return r < rank && s < rank ? rows.v[(size_t)r * rank + s] : 0.0;
  };
  for (int at = first; at < TILES * TILES * 32; at += step) {
    int lane = at % 32, from = at / 32 % TILES, to = at / 32 / TILES;
    int r = from * TILE + lane % 4 * 2, s = to * TILE + lane / 4;
    v.by[to][from][lane] = {entry(r, s), entry(r + 1, s)};
  }
  for (int at = first; at < TILES * 32; at += step) {
    int e = at % 2, q = at / 2 % 4, p = at / 8 % 4, tile = at / 32;
    int r = tile * TILE + 2 * p, s = tile * TILE + 2 * q + e;
    double inverse = inverse_of(entry(s, s));
    v.own[tile][p][q][e] = {entry(r, s) * inverse, entry(r + 1, s) * inverse};
  }
  for (int r = first; r < TILE * TILES; r += step) {
    v.inverse[r] = inverse_of(entry(r, r));
    v.weight[r] = r < rank ? rows.weights[r] : 0;
    v.scale[r] = r < rank ? 1 / divisor(rows.scaling, rows.weights[r], rows.peak[r]) : 1;
  }
  __syncthreads();
}

/** The lane's entries of the factor before in rows `row` and `row` + 8: entry k is of column
 *  k / 2 * 8 + 2 q + k % 2. */
template <typename T, int TILES>
__device__ static inline void load_before(const pd_gpu_matrix &from, uint64_t row,
                                          T (&to)[2][2 * TILES]) {
  int first = (int)threadIdx.x % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    uint64_t at = row + half * TILE;
    const T *line = static_cast<const T *>(from.data) + at * from.stride;
#pragma unroll
    for (int k = 0; k < 2 * TILES; ++k) {
      int column = k / 2 * TILE + first + k % 2;
      to[half][k] = at < from.rows && column < from.rank ? line[column] : (T)0;
    }
  }
}

/* What is positive of a number; 0 of NaN, and of what is less than any normal double. Told by its
 * bits, since comparisons of doubles would lengthen the chain more. */
__device__ static inline double positive(double of) {
  unsigned high = (unsigned)__double2hiint(of) - 1;
  return high < 0x7ff00000u ? of : 0;
}

/* Columns 2 p and 2 p + 1 of a tile in the lane's two rows. `goal` is what the lane's own columns
 * would become by now, were nothing negative: the lane q = p changes its two to that, and all lanes
 * of the row take what that changes from their goals. */
template <int TILES>
__device__ static inline void sweep_pair(const Equations<TILES> &v, int tile, int p, double (&x)[4],
                                         double (&goal)[4]) {
  int lane = (int)threadIdx.x % 32, q = lane % 4, owner = lane - q + p;
  const double2(&own)[2] = v.own[tile][p][q];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int left = 2 * half, right = left + 1;
    double first = positive(goal[left]), by_first = first - x[left];
    double second = positive(fma(-own[1].x, by_first, goal[right])), by_second = second - x[right];
    if (q == p) {
      x[left] = first;
      x[right] = second;
    }
    by_first = __shfl_sync(0xffffffffu, by_first, owner);
    by_second = __shfl_sync(0xffffffffu, by_second, owner);
#pragma unroll
    for (int e = 0; e < 2; ++e)
      goal[left + e] = fma(-own[e].y, by_second, fma(-own[e].x, by_first, goal[left + e]));
  }
}

/** x, which holds the factor before times its weights, after a sweep: entry e of a tile is of
 *  column 2 q + e % 2 in row i + 8 (e / 2). */
template <typename T, int TILES>
__device__ static inline void sweep_sixteen(const Equations<TILES> &v, const T (&m)[2][2 * TILES],
                                            double (&x)[TILES][4]) {
  int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int to = 0; to < TILES; ++to) {
    double rest[4];
#pragma unroll
    for (int e = 0; e < 4; ++e)
      rest[e] = (double)m[e / 2][2 * to + e % 2];
      /* The tile that has just changed comes last. */
#pragma unroll
    for (int k = 0; k < TILES; ++k) {
      const int from = (to + k) % TILES;
      const double(&of)[4] = x[from];
      double2 by = v.by[to][from][lane];
      multiply_add(rest, {-of[0], -of[2], -of[1], -of[3]}, {by.x, by.y});
    }
    double2 inverse = *reinterpret_cast<const double2 *>(&v.inverse[to * TILE + lane % 4 * 2]);
    double goal[4];
#pragma unroll
    for (int e = 0; e < 4; ++e)
      goal[e] = fma(rest[e], e % 2 == 0 ? inverse.x : inverse.y, x[to][e]);
#pragma unroll
    for (int p = 0; p < 4; ++p)
      sweep_pair(v, to, p, x[to], goal);
  }
}

#endif
