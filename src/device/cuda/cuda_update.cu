/* The pass over the rows of a factor of up to 32 columns that an update is: x = m w, or a sweep of
 * HALS from the factor before (cuda_update_sweep.cuh), and in the same pass the block's part of
 * x^T x, its inner products with m, its largest entries and its weighted squares. Every number is
 * read once and written once.
 *
 * A warp takes sixteen rows at a time and multiplies them by w with the tensor cores' products of
 * doubles. Those leave the matrices' columns free to be numbered in any way: lane 4 i + q holds
 * 2 TILES columns of rows i and i + 8, from q 2 TILES on, one after another in memory, both of m
 * and of x. Column k of a lane is one of a product's steps, and tile t of a result gives lanes
 * their columns 2 t and 2 t + 1.
 *
 * Rows of m come into slots of shared memory while the warp works on those before them: a processor
 * has room for so few warps that rows which are asked for one step ahead leave the memory idle. x
 * takes m's place in the slot, where x^T x finds its columns. Sums stay in registers to the end of
 * a block's rows, whose division into blocks depends on their number alone. */
#include "core/half.h"
#include "device/cuda/cuda_linalg_device.cuh"
#include "device/cuda/cuda_update_sweep.cuh"
#include "device/cuda/cuda_update_tiles.cuh"

namespace {

enum { WARPS = 4, THREADS = 32 * WARPS };
/* Rows that are worth a block. */
enum { LEAST_ROWS = WARPS * ROWS };
/* Bytes of a warp's slots. */
enum { SLOT_BYTES = 8192 };

/* WITHOUT: x is there, and m may be. SWEEP: x comes from `before` and m. Else x holds m, and is
 * replaced: by SOLVE where the update is not refined, by REFINE, in double, where it is. That is
 * known on the device alone, and one kernel for both would have too few registers: the other one
 * leaves at once. */
enum Way { WITHOUT, SOLVE, REFINE, SWEEP };
__device__ constexpr bool solves(Way way) { return way == SOLVE || way == REFINE; }

/* What a pass reads and makes, and whether its rows may be moved in pieces. */
struct Pass {
  pd_gpu_rows rows;
  int aligned;
};

/* The columns of a row from `first` on; zeros beyond the last. */
template <typename T, int COLUMNS>
__device__ void load(const pd_gpu_matrix &from, uint64_t row, int first, T (&to)[COLUMNS]) {
  const T *line = static_cast<const T *>(from.data) + row * from.stride + first;
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k)
    to[k] = from.data != nullptr && row < from.rows && first + k < from.rank ? line[k] : (T)0;
}

/* Which 8 x 8 tiles of x^T x its products of 16 x 8 make, so that every tile of the upper triangle
 * is made once, be it as its transpose: those of columns `upper` and `lower` with columns `right`,
 * one digit of each a product. NO_TILE: there is no lower one. */
enum { NO_TILE = 15 };
template <int TILES> struct Products;
template <> struct Products<1> {
  static constexpr int COUNT = 1, UPPER = 0x0, LOWER = 0xf, RIGHT = 0x0;
};
template <> struct Products<2> {
  static constexpr int COUNT = 2, UPPER = 0x00, LOWER = 0xf1, RIGHT = 0x01;
};
template <> struct Products<3> {
  static constexpr int COUNT = 3, UPPER = 0x100, LOWER = 0x221, RIGHT = 0x201;
};
template <> struct Products<4> {
  static constexpr int COUNT = 5, UPPER = 0x20100, LOWER = 0x31212, RIGHT = 0x33210;
};

__device__ constexpr int digit(int of, int at) { return of >> 4 * at & 15; }

/* What a lane has found: inner products in its 2 TILES columns, the rest in the column of its own
 * number. */
template <typename T, int TILES> struct Sums {
  double inner[2 * TILES], square;
  T largest;
  double gram[Products<TILES>::COUNT][4];
};

/* Adds a slot's rows of x to their Gram matrix. */
template <typename T, int TILES>
__device__ void add_gram(const T *slot, double (&gram)[Products<TILES>::COUNT][4]) {
  using Of = Products<TILES>;
  int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int first = 0; first < ROWS; first += TILE) {
    double entry[2][TILES];
#pragma unroll
    for (int k = 0; k < 2; ++k)
#pragma unroll
      for (int t = 0; t < TILES; ++t)
        entry[k][t] = (double)slot[slot_place<T>(first + 4 * k + lane % 4, t * TILE + lane / 4)];
#pragma unroll
    for (int p = 0; p < Of::COUNT; ++p) {
      const int upper = digit(Of::UPPER, p), lower = digit(Of::LOWER, p);
      const int right = digit(Of::RIGHT, p), other = lower == NO_TILE ? 0 : lower;
      bool both = lower != NO_TILE;
      multiply_add(gram[p],
                   {entry[0][upper], both ? entry[0][other] : 0, entry[1][upper],
                    both ? entry[1][other] : 0},
                   {entry[0][right], entry[1][right]});
    }
  }
}

/* The block's room for what its threads have found: one use after the other. */
template <int TILES> struct Room {
  static constexpr int SUMS = 4 * Products<TILES>::COUNT, COLUMNS = TILE * TILES,
                       PARTS = TILE * WARPS;
  union {
    double gram[WARPS][SUMS][32];
    struct {
      double inner[PARTS][COLUMNS], square[WARPS][32], largest[WARPS][32];
    };
  };
};

/* Adds up the warps' Gram matrices in order and leaves the upper triangle. */
template <int TILES>
__device__ void write_gram(const Pass &pass, const double (&gram)[Products<TILES>::COUNT][4],
                           Room<TILES> &room) {
  using Of = Products<TILES>;
  int rank = pass.rows.x.rank;
  double *to = pass.rows.partial + (size_t)blockIdx.x * rank * rank;
  __syncthreads();
#pragma unroll
  for (int e = 0; e < Room<TILES>::SUMS; ++e)
    room.gram[threadIdx.x / 32][e][threadIdx.x % 32] = gram[e / 4][e % 4];
  __syncthreads();
#pragma unroll 1
  for (int at = (int)threadIdx.x; at < 32 * Room<TILES>::SUMS; at += THREADS) {
    int lane = at % 32, e = at / 32, p = e / 4;
    int left = digit(e % 4 < 2 ? Of::UPPER : Of::LOWER, p), right = digit(Of::RIGHT, p);
    int a = left * TILE + lane / 4, b = right * TILE + lane % 4 * 2 + e % 2;
    double total = 0;
    for (int w = 0; w < WARPS; ++w)
      total += room.gram[w][e][lane];
    if (a < rank && b < rank && (left != right || a <= b))
      to[(size_t)min(a, b) * rank + max(a, b)] = total;
  }
}

/* The column of a lane's entry k of the rows. */
template <int TILES, Way WAY> __device__ int column_of_entry(int k) {
  int q = (int)threadIdx.x % 4;
  return WAY == SWEEP ? k / 2 * TILE + 2 * q + k % 2 : q * 2 * TILES + k;
}

/* Adds up the sums of the lanes that share columns, in the order of their rows. */
template <typename T, int TILES, Way WAY>
__device__ void write_columns(const Pass &pass, const Sums<T, TILES> &sums, Room<TILES> &room) {
  int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, rank = pass.rows.x.rank;
  double *to = pass.rows.sums + (size_t)blockIdx.x * PD_GPU_COLUMN_SUMS * rank;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 2 * TILES; ++k)
    room.inner[threadIdx.x / 4][column_of_entry<TILES, WAY>(k)] = sums.inner[k];
  room.square[warp][lane] = sums.square;
  room.largest[warp][lane] = (double)sums.largest;
  __syncthreads();
  if (lane >= rank) return;
  double total = 0;
  if (warp == 0) {
#pragma unroll 8
    for (int i = 0; i < Room<TILES>::PARTS; ++i)
      total += room.inner[i][lane];
    to[SUM_INNER * rank + lane] = total;
  } else if (warp == 1) {
    for (int i = 0; i < WARPS; ++i)
      total += room.square[i][lane];
    to[SUM_SQUARE * rank + lane] = total;
  } else if (warp == 2) {
    for (int i = 0; i < WARPS; ++i)
      total = fmax(total, room.largest[i][lane]);
    to[SUM_LARGEST * rank + lane] = total;
  }
}

/* w, whose columns are divided by what the update divides by, in the order in which lanes take its
 * entries: for every step k of a product and tile t of its result one a lane. */
template <int TILES> struct Inverse {
  double by[TILE * TILES]; /* what columns are taken times */
  double entry[2 * TILES][TILES][32];
};

/* The row and the column of a matrix that a lane takes for step k and tile t. */
template <int TILES> __device__ int row_of(int lane, int k) { return lane % 4 * 2 * TILES + k; }
template <int TILES> __device__ int column_of(int lane, int t) {
  return lane / 8 * 2 * TILES + 2 * t + lane / 4 % 2;
}

template <int TILES> __device__ void load_inverse(const pd_gpu_rows &rows, Inverse<TILES> &w) {
  int rank = rows.x.rank;
  if ((int)threadIdx.x < rank)
    w.by[threadIdx.x] =
        1 / divisor(rows.scaling, rows.weights[threadIdx.x], rows.peak[threadIdx.x]);
  __syncthreads();
#pragma unroll
  for (int at = (int)threadIdx.x; at < 2 * TILES * TILES * 32; at += THREADS) {
    int lane = at % 32, t = at / 32 % TILES, k = at / 32 / TILES;
    int row = row_of<TILES>(lane, k), column = column_of<TILES>(lane, t);
    bool there = row < rank && column < rank;
    w.entry[k][t][lane] = there ? rows.inverse[(size_t)row * rank + column] * w.by[column] : 0;
  }
  __syncthreads();
}

/* product += two steps, k and k + 1, of the lane's entries of two rows times w: those of a step for
 * both rows come before those of the next. A product's columns lie in tiles, of each two of the
 * first row and then two of the second. */
template <int TILES>
__device__ void add_steps(const double (&of)[4], int k, const Inverse<TILES> &w,
                          double (&product)[TILES][4]) {
  int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int t = 0; t < TILES; ++t)
    multiply_add(product[t], of, {w.entry[k][t][lane], w.entry[k + 1][t][lane]});
}

/* product += m w for the lane's columns of two rows. */
template <typename T, int TILES>
__device__ void add_times(const T (&m)[2][2 * TILES], const Inverse<TILES> &w,
                          double (&product)[TILES][4]) {
#pragma unroll
  for (int k = 0; k < 2 * TILES; k += 2)
    add_steps({(double)m[0][k], (double)m[1][k], (double)m[0][k + 1], (double)m[1][k + 1]}, k, w,
              product);
}

/* A step of iterative refinement, x += (m - x v) w. The columns of w and of x are divided already,
 * so those of v's rows are taken times what divides them. */
template <int TILES>
__device__ void refine(const pd_gpu_rows &rows, const Inverse<TILES> &w,
                       const double (&m)[2][2 * TILES], double (&x)[TILES][4]) {
  int lane = (int)threadIdx.x % 32, rank = rows.x.rank;
  double rest[TILES][4];
#pragma unroll
  for (int e = 0; e < 4 * TILES; ++e)
    rest[e / 4][e % 4] = m[e % 4 / 2][e / 4 * 2 + e % 2];
#pragma unroll
  for (int k = 0; k < 2 * TILES; k += 2)
#pragma unroll
    for (int t = 0; t < TILES; ++t) {
      double entry[2];
#pragma unroll
      for (int step = 0; step < 2; ++step) {
        int row = row_of<TILES>(lane, k + step), column = column_of<TILES>(lane, t);
        bool there = row < rank && column < rank;
        entry[step] = there ? rows.v[(size_t)row * rank + column] / w.by[row] : 0;
      }
      const double(&of)[4] = x[k / 2];
      multiply_add(rest[t], {-of[0], -of[2], -of[1], -of[3]}, entry);
    }
#pragma unroll
  for (int t = 0; t < TILES; ++t)
    add_steps({rest[t][0], rest[t][2], rest[t][1], rest[t][3]}, 2 * t, w, x);
}

/* What a damped update adds to m in column r of a row: a multiple of the factor before. */
template <typename T> __device__ double pull_of(const pd_gpu_rows &rows, uint64_t row, int r) {
  int rank = rows.x.rank;
  const T *before = static_cast<const T *>(rows.before.data);
  if (row >= rows.x.rows || r >= rank) return 0;
  return rows.damping * rows.weights[r] * rows.v[(size_t)r * rank + r] *
         (double)before[row * rows.before.stride + r];
}

/* product += b w, with b what is added to m in row `row` and the eighth after it. It is seldom
 * asked for, and leaves the registers to what always is. */
template <typename T, int TILES>
__device__ void add_pull(const pd_gpu_rows &rows, const Inverse<TILES> &w, uint64_t row,
                         double (&product)[TILES][4]) {
  int first = (int)threadIdx.x % 4 * 2 * TILES;
#pragma unroll 1
  for (int k = 0; k < 2 * TILES; k += 2)
    add_steps({pull_of<T>(rows, row, first + k), pull_of<T>(rows, row + TILE, first + k),
               pull_of<T>(rows, row, first + k + 1), pull_of<T>(rows, row + TILE, first + k + 1)},
              k, w, product);
}

/* The lane's entries of x from those of m, in rows that begin with row `begin`. */
template <typename T, int TILES, bool REFINES>
__device__ void solve(const Pass &pass, const Inverse<TILES> &w, bool pulls, uint64_t begin,
                      const T (&m)[2][2 * TILES], T (&x)[2][2 * TILES]) {
  double product[TILES][4] = {};
  add_times(m, w, product);
  if (pulls) add_pull<T>(pass.rows, w, begin + threadIdx.x % 32 / 4, product);
  if constexpr (REFINES) {
#pragma unroll 1
    for (int step = 0; step < PD_GPU_REFINEMENTS; ++step)
      refine<TILES>(pass.rows, w, m, product);
  }
#pragma unroll
  for (int e = 0; e < 4 * TILES; ++e)
    x[e % 4 / 2][e / 4 * 2 + e % 2] = (T)product[e / 4][e % 4];
}

/* Rounds a lane's columns of x to bfloat16, in pairs: rows of halves have an even number of
 * columns, and x is zero behind the last. */
template <int COLUMNS>
__device__ void halve(const pd_gpu_rows &rows, uint64_t row, int first, float (&x)[COLUMNS]) {
#pragma unroll
  for (int k = 0; k < COLUMNS; k += 2) {
    uint32_t low = pd_bfloat_of(x[k]), high = pd_bfloat_of(x[k + 1]);
    x[k] = pd_float_of_bfloat((uint16_t)low);
    x[k + 1] = pd_float_of_bfloat((uint16_t)high);
    if (row < rows.x.rows && first + k < rows.x.rank)
      *reinterpret_cast<uint32_t *>(rows.halves + row * rows.x.stride + first + k) =
          low | high << 16;
  }
}

/* Adds a slot's rows of x, from row `begin` on, to what is summed by columns. */
template <typename T, int TILES>
__device__ void fold_columns(const pd_gpu_rows &rows, uint64_t begin, const T *slot,
                             Sums<T, TILES> &sums) {
  int column = (int)threadIdx.x % 32;
  if (column >= TILES * TILE) return;
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
    T x = slot[slot_place<T>(row, column)];
    sums.largest = fmax(sums.largest, fabs(x));
  }
  if (rows.slices == nullptr) return;
#pragma unroll 4
  for (int row = 0; row < ROWS; ++row) {
    double x = (double)slot[slot_place<T>(row, column)];
    if (begin + row < rows.x.rows) sums.square += rows.slices[begin + row] * (x * x);
  }
}

/* m of a lane's rows where the slot holds x. */
template <typename T, int COLUMNS>
__device__ void load_m(const pd_gpu_rows &rows, uint64_t row, int first, T (&m)[COLUMNS]) {
  bool there = rows.used == nullptr || row >= rows.x.rows || (rows.used[row / 32] >> row % 32 & 1);
  load(rows.m, there ? row : UINT64_MAX, first, m);
}

/* Adds what the lane has of the rows to the inner products. */
template <typename T, int TILES>
__device__ void add_inner(const T (&m)[2][2 * TILES], const T (&x)[2][2 * TILES],
                          Sums<T, TILES> &sums) {
#pragma unroll
  for (int k = 0; k < 2 * TILES; ++k)
    sums.inner[k] += (double)m[0][k] * (double)x[0][k] + (double)m[1][k] * (double)x[1][k];
}

/* Sixteen rows, which the slot holds: m where the pass solves, and then x in their place; else x.
 */
template <typename T, int TILES, Way WAY>
__device__ void update_slot(const Pass &pass, const Inverse<TILES> &w, bool pulls, uint64_t begin,
                            T *slot, Sums<T, TILES> &sums) {
  const pd_gpu_rows &rows = pass.rows;
  int lane = (int)threadIdx.x % 32, first = lane % 4 * 2 * TILES;
  T m[2][2 * TILES], x[2][2 * TILES];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int at = lane / 4 + half * TILE;
    slot_read(slot, at, first, WAY == WITHOUT ? x[half] : m[half]);
    if (WAY == WITHOUT) load_m(rows, begin + at, first, m[half]);
  }
  if (WAY != WITHOUT) {
    solve<T, TILES, WAY == REFINE>(pass, w, pulls, begin, m, x);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int at = lane / 4 + half * TILE;
      if constexpr (sizeof(T) == sizeof(float))
        if (rows.halves != nullptr) halve(rows, begin + at, first, x[half]);
      slot_write(slot, at, first, x[half]);
    }
  }
  add_inner<T, TILES>(m, x, sums);
}

/* Sixteen rows by a sweep: the slot holds m, and then x in its place. `before` has the lane's
 * entries of the factor before, and gets those of the rows from `next` on, which are on their way
 * while these change. */
template <typename T, int TILES>
__device__ void sweep_slot(const pd_gpu_rows &rows, const Equations<TILES> &v, uint64_t next,
                           T (&before)[2][2 * TILES], T *slot, Sums<T, TILES> &sums) {
  int lane = (int)threadIdx.x % 32, row = lane / 4;
  T m[2][2 * TILES], to[2][2 * TILES];
  double x[TILES][4];
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int k = 0; k < 2 * TILES; k += 2) {
      int column = column_of_entry<TILES, SWEEP>(k);
      T pair[2];
      slot_read(slot, row + half * TILE, column, pair);
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        m[half][k + e] = pair[e];
        x[k / 2][2 * half + e] = (double)before[half][k + e] * v.weight[column + e];
      }
    }
  load_before<T, TILES>(rows.before, next + row, before);
  sweep_sixteen<T, TILES>(v, m, x);
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int k = 0; k < 2 * TILES; k += 2) {
      int column = column_of_entry<TILES, SWEEP>(k);
      T pair[2];
#pragma unroll
      for (int e = 0; e < 2; ++e)
        pair[e] = to[half][k + e] = (T)(x[k / 2][2 * half + e] * v.scale[column + e]);
      slot_write(slot, row + half * TILE, column, pair);
    }
  add_inner<T, TILES>(m, to, sums);
}

/* What a pass has for all rows. */
template <int TILES, Way WAY> struct Shared { Inverse<TILES> w; };
template <int TILES> struct Shared<TILES, SWEEP> { Equations<TILES> v; };

template <typename T, int TILES, Way WAY>
__global__ void __launch_bounds__(THREADS, 2) pass_rows(const __grid_constant__ Batch<Pass> batch) {
  constexpr int SLOTS = SLOT_BYTES / (ROWS * SLOT_COLUMNS * (int)sizeof(T));
  const Pass &pass = batch.job[blockIdx.y];
  const pd_gpu_rows &rows = pass.rows;
  __shared__ Shared<TILES, WAY> all;
  __shared__ union {
    Room<TILES> room;
    alignas(PIECE) T slot[WARPS][SLOTS][ROWS * SLOT_COLUMNS];
  } shared;
  if (sizeof(T) == sizeof(double) && solves(WAY) && (*rows.refines != 0) != (WAY == REFINE)) return;
  uint64_t steps = (rows.x.rows + ROWS - 1) / ROWS;
  uint64_t step = steps * blockIdx.x / gridDim.x + threadIdx.x / 32;
  uint64_t end = steps * (blockIdx.x + 1) / gridDim.x;
  T(*slots)[ROWS * SLOT_COLUMNS] = shared.slot[threadIdx.x / 32];
  int turn = 0;
  const pd_gpu_matrix &in = WAY != WITHOUT && rows.m.data != nullptr ? rows.m : rows.x;
  auto used = [&](int ahead) {
    uint64_t at = step + (uint64_t)ahead * WARPS;
    bool all_are = WAY == WITHOUT || rows.used == nullptr || at >= end;
    return all_are ? ~0u : rows.used[at / 2] >> at % 2 * ROWS;
  };
  auto fetch = [&](int ahead, uint32_t bits) {
    uint64_t at = step + (uint64_t)ahead * WARPS;
    if (at < end)
      fetch_slot<T, TILES>(slots[(turn + ahead) % SLOTS], in, pass.aligned, at * ROWS, bits);
    __pipeline_commit();
  };
  for (int ahead = 0; ahead < SLOTS - 1; ++ahead)
    fetch(ahead, used(ahead));
  uint32_t bits = used(SLOTS - 1);
  bool pulls = solves(WAY) && rows.before.data != nullptr && *rows.pulls != 0;
  Sums<T, TILES> sums = {};
  T before[2][2 * TILES];
  if constexpr (solves(WAY)) load_inverse<TILES>(rows, all.w);
  if constexpr (WAY == SWEEP) {
    load_equations<TILES>(rows, all.v);
    load_before<T, TILES>(rows.before, step * ROWS + threadIdx.x % 32 / 4, before);
  }
  for (; step < end; step += WARPS, ++turn) {
    T *slot = slots[turn % SLOTS];
    fetch(SLOTS - 1, bits);
    bits = used(SLOTS);
    __pipeline_wait_prior(SLOTS - 1);
    __syncwarp();
    if constexpr (WAY == SWEEP)
      sweep_slot<T, TILES>(rows, all.v, (step + WARPS) * ROWS, before, slot, sums);
    else
      update_slot<T, TILES, WAY>(pass, all.w, pulls, step * ROWS, slot, sums);
    __syncwarp();
    if (WAY != WITHOUT) store_slot<T, TILES>(rows.x, pass.aligned, step * ROWS, slot);
    fold_columns<T, TILES>(rows, step * ROWS, slot, sums);
    add_gram<T, TILES>(slot, sums.gram);
    __syncwarp();
  }
  write_gram<TILES>(pass, sums.gram, shared.room);
  write_columns<T, TILES, WAY>(pass, sums, shared.room);
}

int tiles(const Pass &pass) { return (pass.rows.x.rank + TILE - 1) / TILE; }
Way way_of(const Pass &pass) {
  return pass.rows.sweeps ? SWEEP : pass.rows.inverse != nullptr ? SOLVE : WITHOUT;
}

template <typename T, int TILES>
void start(const Batch<Pass> &batch, int count, cudaStream_t stream) {
  dim3 blocks((unsigned)batch.job[0].rows.blocks, (unsigned)count);
  switch (way_of(batch.job[0])) {
  case WITHOUT:
    pass_rows<T, TILES, WITHOUT><<<blocks, THREADS, 0, stream>>>(batch);
    break;
  case SWEEP:
    pass_rows<T, TILES, SWEEP><<<blocks, THREADS, 0, stream>>>(batch);
    break;
  default:
    pass_rows<T, TILES, SOLVE><<<blocks, THREADS, 0, stream>>>(batch);
    if constexpr (sizeof(T) == sizeof(double))
      pass_rows<T, TILES, REFINE><<<blocks, THREADS, 0, stream>>>(batch);
  }
}

template <typename T> void start(const Batch<Pass> &batch, int count, cudaStream_t stream) {
  switch (tiles(batch.job[0])) {
  case 1:
    return start<T, 1>(batch, count, stream);
  case 2:
    return start<T, 2>(batch, count, stream);
  case 3:
    return start<T, 3>(batch, count, stream);
  default:
    return start<T, 4>(batch, count, stream);
  }
}

/* Whether rows may be read as vectors, with zeros behind the last column where they end a tile. */
bool has_tiles(const pd_gpu_matrix &x) {
  uint64_t bytes = x.wide ? 8 : 4, columns = (uint64_t)(x.rank + TILE - 1) / TILE * TILE;
  return x.data == nullptr ||
         (x.stride * bytes % 16 == 0 && columns <= x.stride && (uintptr_t)x.data % 16 == 0);
}

} // namespace

extern "C" int pd_gpu_pass_blocks(uint64_t rows) {
  uint64_t wanted = (rows + LEAST_ROWS - 1) / LEAST_ROWS, most = PD_GPU_PASS_BLOCKS;
  return (int)(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

extern "C" cudaError_t pd_gpu_pass(const struct pd_gpu_rows *jobs, int count, cudaStream_t stream) {
  Pass pass[PD_GPU_JOBS];
  for (int k = 0; k < count; ++k) {
    const pd_gpu_rows &rows = jobs[k];
    pass[k] = {rows, has_tiles(rows.x) && has_tiles(rows.m)};
  }
  auto kind = [](const Pass &job) { return (tiles(job) * 4 + way_of(job)) * 2 + job.rows.x.wide; };
  return launch_in_batches(pass, count, kind, [&](const Batch<Pass> &batch, int together, int) {
    if (batch.job[0].rows.x.wide)
      start<double>(batch, together, stream);
    else
      start<float>(batch, together, stream);
  });
}
