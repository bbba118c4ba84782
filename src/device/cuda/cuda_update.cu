/* The pass over the rows of a factor of up to 32 columns that an update is: x = m w, and in the
 * same pass the block's part of x^T x, its inner products with m, its largest entries and its
 * weighted squares. Every number is read once and written once.
 *
 * A warp takes eight rows at a time and multiplies them by w, which lies in its registers, with the
 * tensor cores' products of 8 x 4 and 4 x 8 matrices of doubles. Those leave the matrices' columns
 * free to be numbered in any way. Lane 4 i + q holds 2 TILES columns of row i, from q 2 TILES on,
 * one after another in memory, both of m and of x: step k of a product takes column q 2 TILES + k
 * from each q, and tile t of a result gives lane q its columns 2 t and 2 t + 1. For x^T x the rows
 * change places with the columns by shuffles. Sums stay in registers to the end of a block's rows,
 * whose division into blocks depends on their number alone. */
#include "core/half.h"
#include "device/cuda/cuda_linalg_device.cuh"

namespace {

enum { WARPS = 4, THREADS = 32 * WARPS, TILE = 8 };
/* Rows that are worth a block. */
enum { LEAST_ROWS = 64 };

/* What a pass reads and makes, and whether its lanes may read their columns as vectors. */
struct Pass {
  pd_gpu_rows rows;
  int aligned;
};

/* c += a b, with one entry of a (8 x 4) and of b (4 x 8) in every lane and two of c. */
__device__ void multiply_add(double (&c)[2], double a, double b) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a), "d"(b));
#else
  int lane = (int)threadIdx.x % 32, row = lane / 4 * 4, column = lane % 4 * 8;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    double left = __shfl_sync(0xffffffffu, a, row + k);
    c[0] += left * __shfl_sync(0xffffffffu, b, column + k);
    c[1] += left * __shfl_sync(0xffffffffu, b, column + 4 + k);
  }
#endif
}

/* Bytes of a vector that divides a lane's columns. */
template <typename T, int COLUMNS> struct Vector;
template <> struct Vector<float, 2> { using type = float2; };
template <> struct Vector<float, 4> { using type = float4; };
template <> struct Vector<float, 6> { using type = float2; };
template <> struct Vector<float, 8> { using type = float4; };
template <> struct Vector<double, 2> { using type = double2; };
template <> struct Vector<double, 4> { using type = double2; };
template <> struct Vector<double, 6> { using type = double2; };
template <> struct Vector<double, 8> { using type = double2; };

/* The columns of a row from `first` on; zeros beyond the last. */
template <typename T, int COLUMNS>
__device__ void load(const pd_gpu_matrix &from, int aligned, uint64_t row, int first,
                     T (&to)[COLUMNS]) {
  using V = typename Vector<T, COLUMNS>::type;
  constexpr int STEP = sizeof(V) / sizeof(T);
  if (row >= from.rows) {
#pragma unroll
    for (int k = 0; k < COLUMNS; ++k)
      to[k] = 0;
    return;
  }
  const T *line = static_cast<const T *>(from.data) + row * from.stride + first;
  if (aligned) {
#pragma unroll
    for (int k = 0; k < COLUMNS; k += STEP) {
      V part = *reinterpret_cast<const V *>(line + k);
      const T *entry = reinterpret_cast<const T *>(&part);
#pragma unroll
      for (int e = 0; e < STEP; ++e)
        to[k + e] = entry[e];
    }
  } else {
#pragma unroll
    for (int k = 0; k < COLUMNS; ++k)
      to[k] = first + k < from.rank ? line[k] : (T)0;
  }
}

template <typename T, int COLUMNS>
__device__ void store(const pd_gpu_matrix &to, int aligned, uint64_t row, int first,
                      const T (&from)[COLUMNS]) {
  using V = typename Vector<T, COLUMNS>::type;
  constexpr int STEP = sizeof(V) / sizeof(T);
  if (row >= to.rows) return;
  T *line = static_cast<T *>(to.data) + row * to.stride + first;
  if (aligned) {
#pragma unroll
    for (int k = 0; k < COLUMNS; k += STEP) {
      V part;
      T *entry = reinterpret_cast<T *>(&part);
#pragma unroll
      for (int e = 0; e < STEP; ++e)
        entry[e] = from[k + e];
      *reinterpret_cast<V *>(line + k) = part;
    }
  } else {
#pragma unroll
    for (int k = 0; k < COLUMNS; ++k)
      if (first + k < to.rank) line[k] = from[k];
  }
}

/* What a lane has found in its columns. */
template <typename T, int TILES> struct Sums {
  double inner[2 * TILES], square[2 * TILES];
  T largest[2 * TILES];
  double gram[TILES * (TILES + 1) / 2][2];
};

/* Adds eight rows of x to their Gram matrix. */
template <typename T, int TILES>
__device__ void add_gram(const T (&x)[2 * TILES], double (&gram)[TILES * (TILES + 1) / 2][2]) {
  int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int from = (half * 4 + lane % 4) * 4 + lane / 8;
    double entry[TILES];
#pragma unroll
    for (int t = 0; t < TILES; ++t) {
      T even = __shfl_sync(0xffffffffu, x[2 * t], from);
      T odd = __shfl_sync(0xffffffffu, x[2 * t + 1], from);
      entry[t] = (double)(lane / 4 % 2 == 0 ? even : odd);
    }
    int pair = 0;
#pragma unroll
    for (int s = 0; s < TILES; ++s)
#pragma unroll
      for (int t = s; t < TILES; ++t)
        multiply_add(gram[pair++], entry[s], entry[t]);
  }
}

/* The block's room for what its threads have found: one use after the other. */
template <int TILES> struct Room {
  static constexpr int PAIRS = TILES * (TILES + 1) / 2, COLUMNS = 8 * TILES, ROWS = 8 * WARPS;
  union {
    double by[COLUMNS];
    double gram[WARPS][2 * PAIRS][32];
    double column[3][ROWS][COLUMNS];
  };
};

/* Adds up the warps' Gram matrices in order and leaves the upper triangle. */
template <int TILES>
__device__ void write_gram(const Pass &pass, const double (&gram)[TILES * (TILES + 1) / 2][2],
                           Room<TILES> &room) {
  int rank = pass.rows.x.rank;
  double *to = pass.rows.partial + (size_t)blockIdx.x * rank * rank;
  __syncthreads();
#pragma unroll
  for (int e = 0; e < 2 * Room<TILES>::PAIRS; ++e)
    room.gram[threadIdx.x / 32][e][threadIdx.x % 32] = gram[e / 2][e % 2];
  __syncthreads();
#pragma unroll 1
  for (int at = (int)threadIdx.x; at < 64 * Room<TILES>::PAIRS; at += THREADS) {
    int lane = at % 32, e = at / 32, s = 0, t = e / 2;
    for (; t >= TILES - s; ++s)
      t -= TILES - s;
    t += s;
    double total = 0;
    for (int w = 0; w < WARPS; ++w)
      total += room.gram[w][e][lane];
    int a = lane / 8 * 2 * TILES + 2 * s + lane / 4 % 2;
    int b = lane % 4 * 2 * TILES + 2 * t + e % 2;
    if (a < rank && b < rank && (s < t || a <= b)) to[(size_t)min(a, b) * rank + max(a, b)] = total;
  }
}

/* Adds up the sums of the lanes that share columns, in the order of their rows. */
template <typename T, int TILES>
__device__ void write_columns(const Pass &pass, const Sums<T, TILES> &sums, Room<TILES> &room) {
  constexpr int COLUMNS = Room<TILES>::COLUMNS;
  int row = (int)threadIdx.x / 4, first = (int)threadIdx.x % 4 * 2 * TILES, rank = pass.rows.x.rank;
  double *to = pass.rows.sums + (size_t)blockIdx.x * PD_GPU_COLUMN_SUMS * rank;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 2 * TILES; ++k) {
    room.column[0][row][first + k] = sums.inner[k];
    room.column[1][row][first + k] = sums.square[k];
    room.column[2][row][first + k] = (double)sums.largest[k];
  }
  __syncthreads();
#pragma unroll 1
  for (int at = (int)threadIdx.x; at < 3 * COLUMNS; at += THREADS) {
    int kind = at / COLUMNS, r = at % COLUMNS;
    double total = 0;
#pragma unroll 4
    for (int i = 0; i < Room<TILES>::ROWS; ++i) {
      double one = room.column[kind][i][r];
      total = kind == 2 ? fmax(total, one) : total + one;
    }
    int place = kind == 0 ? SUM_INNER : kind == 1 ? SUM_SQUARE : SUM_LARGEST;
    if (r < rank) to[place * rank + r] = total;
  }
}

/* The lane's entries of w, whose columns are divided by what the update divides by. */
template <int TILES>
__device__ void load_inverse(const pd_gpu_rows &rows, double (&w)[2 * TILES][TILES],
                             Room<TILES> &room) {
  int lane = (int)threadIdx.x % 32, rank = rows.x.rank, r = (int)threadIdx.x;
  if (r < rank) room.by[r] = 1 / divisor(rows.scaling, rows.weights[r], rows.peak[r]);
  __syncthreads();
#pragma unroll
  for (int t = 0; t < TILES; ++t) {
    int column = lane / 8 * 2 * TILES + 2 * t + lane / 4 % 2;
#pragma unroll
    for (int k = 0; k < 2 * TILES; ++k) {
      int row = lane % 4 * 2 * TILES + k;
      bool there = row < rank && column < rank;
      w[k][t] = there ? rows.inverse[(size_t)row * rank + column] * room.by[column] : 0;
    }
  }
}

/* What a damped update multiplies the lane's columns of the factor before by. */
template <int TILES>
__device__ void load_pull(const pd_gpu_rows &rows, int first, double (&pull)[2 * TILES]) {
#pragma unroll
  for (int k = 0; k < 2 * TILES; ++k) {
    int r = first + k, rank = rows.x.rank;
    pull[k] = r < rank ? rows.damping * rows.weights[r] * rows.v[(size_t)r * rank + r] : 0;
  }
}

/* product += left w, for eight rows. */
template <int TILES>
__device__ void add_times(const double (&left)[2 * TILES], const double (&w)[2 * TILES][TILES],
                          double (&product)[TILES][2]) {
#pragma unroll
  for (int k = 0; k < 2 * TILES; ++k)
#pragma unroll
    for (int t = 0; t < TILES; ++t)
      multiply_add(product[t], left[k], w[k][t]);
}

/* A step of iterative refinement, x += (m - x v) w. The columns of w and of x are divided already,
 * so those of v's rows are taken times what divides them. */
template <int TILES>
__device__ void refine(const pd_gpu_rows &rows, const Room<TILES> &room,
                       const double (&w)[2 * TILES][TILES], const double (&m)[2 * TILES],
                       double (&x)[TILES][2]) {
  int lane = (int)threadIdx.x % 32, rank = rows.x.rank;
  double rest[TILES][2], left[2 * TILES];
#pragma unroll
  for (int t = 0; t < TILES; ++t) {
    rest[t][0] = m[2 * t];
    rest[t][1] = m[2 * t + 1];
  }
#pragma unroll
  for (int k = 0; k < 2 * TILES; ++k) {
    int row = lane % 4 * 2 * TILES + k;
#pragma unroll
    for (int t = 0; t < TILES; ++t) {
      int column = lane / 8 * 2 * TILES + 2 * t + lane / 4 % 2;
      bool there = row < rank && column < rank;
      double entry = there ? rows.v[(size_t)row * rank + column] / room.by[row] : 0;
      multiply_add(rest[t], -x[k / 2][k % 2], entry);
    }
  }
#pragma unroll
  for (int k = 0; k < 2 * TILES; ++k)
    left[k] = rest[k / 2][k % 2];
  add_times<TILES>(left, w, x);
}

/* One row's entries of x from those of m. */
template <typename T, int TILES, bool REFINES>
__device__ void solve(const Pass &pass, const Room<TILES> &room,
                      const double (&w)[2 * TILES][TILES], bool pulls, uint64_t row, int first,
                      const T (&m)[2 * TILES], T (&x)[2 * TILES]) {
  double right[2 * TILES], product[TILES][2];
#pragma unroll
  for (int k = 0; k < 2 * TILES; ++k)
    right[k] = (double)m[k];
  if (pulls) {
    T before[2 * TILES];
    double pull[2 * TILES];
    load(pass.rows.before, 0, row, first, before);
    load_pull<TILES>(pass.rows, first, pull);
#pragma unroll
    for (int k = 0; k < 2 * TILES; ++k)
      right[k] += (double)before[k] * pull[k];
  }
#pragma unroll
  for (int t = 0; t < TILES; ++t)
    product[t][0] = product[t][1] = 0;
  add_times<TILES>(right, w, product);
  if constexpr (REFINES) {
#pragma unroll 1
    for (int step = 0; step < PD_GPU_REFINEMENTS; ++step)
      refine<TILES>(pass.rows, room, w, m, product);
  }
#pragma unroll
  for (int t = 0; t < TILES; ++t) {
    x[2 * t] = (T)product[t][0];
    x[2 * t + 1] = (T)product[t][1];
  }
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

/* WITHOUT: x is there, and m may be. Else x holds m, and is replaced: by SOLVE where the update is
 * not refined, by REFINE, in double, where it is. That is known on the device alone, and one kernel
 * for both would have too few registers: the other one leaves at once. */
enum Way { WITHOUT, SOLVE, REFINE };

template <typename T, int TILES, Way WAY>
__global__ void __launch_bounds__(THREADS, 2) pass_rows(const __grid_constant__ Batch<Pass> batch) {
  const Pass &pass = batch.job[blockIdx.y];
  __shared__ Room<TILES> room;
  constexpr int COLUMNS = 2 * TILES;
  constexpr bool SOLVES = WAY != WITHOUT;
  const pd_gpu_rows &rows = pass.rows;
  if (SOLVES && sizeof(T) == sizeof(double) && (*rows.refines != 0) != (WAY == REFINE)) return;
  const pd_gpu_matrix &in = SOLVES ? rows.x : rows.m;
  int lane = (int)threadIdx.x % 32, first = lane % 4 * COLUMNS;
  uint64_t tiles = (rows.x.rows + TILE - 1) / TILE;
  uint64_t end = tiles * (blockIdx.x + 1) / gridDim.x;
  bool pulls = SOLVES && rows.before.data != nullptr && *rows.pulls != 0;
  double w[COLUMNS][TILES];
  Sums<T, TILES> sums = {};
  T m[COLUMNS] = {}, next[COLUMNS] = {}, x[COLUMNS];
  if (SOLVES) load_inverse<TILES>(rows, w, room);
  uint64_t tile = tiles * blockIdx.x / gridDim.x + threadIdx.x / 32;
  if (in.data != nullptr && tile < end) load(in, pass.aligned, tile * TILE + lane / 4, first, next);
  for (; tile < end; tile += WARPS) {
    uint64_t row = tile * TILE + lane / 4;
#pragma unroll
    for (int k = 0; k < COLUMNS; ++k)
      m[k] = next[k];
    if (in.data != nullptr && tile + WARPS < end)
      load(in, pass.aligned, row + WARPS * TILE, first, next);
    if (SOLVES) {
      solve<T, TILES, WAY == REFINE>(pass, room, w, pulls, row, first, m, x);
      if constexpr (sizeof(T) == sizeof(float))
        if (rows.halves != nullptr) halve(rows, row, first, x);
      store(rows.x, pass.aligned, row, first, x);
    } else {
      load(rows.x, pass.aligned, row, first, x);
    }
#pragma unroll
    for (int k = 0; k < COLUMNS; ++k) {
      sums.inner[k] += (double)m[k] * (double)x[k];
      T size = x[k] < 0 ? -x[k] : x[k];
      sums.largest[k] = size > sums.largest[k] ? size : sums.largest[k];
    }
    if (rows.slices != nullptr) {
      double weight = row < rows.x.rows ? rows.slices[row] : 0;
#pragma unroll
      for (int k = 0; k < COLUMNS; ++k)
        sums.square[k] += weight * ((double)x[k] * (double)x[k]);
    }
    add_gram<T, TILES>(x, sums.gram);
  }
  write_gram<TILES>(pass, sums.gram, room);
  write_columns<T, TILES>(pass, sums, room);
}

int tiles(const Pass &pass) { return (pass.rows.x.rank + TILE - 1) / TILE; }
int solves(const Pass &pass) { return pass.rows.inverse != nullptr; }

template <typename T, int TILES>
void start(const Batch<Pass> &batch, int count, cudaStream_t stream) {
  dim3 blocks((unsigned)batch.job[0].rows.blocks, (unsigned)count);
  if (!solves(batch.job[0])) {
    pass_rows<T, TILES, WITHOUT><<<blocks, THREADS, 0, stream>>>(batch);
    return;
  }
  pass_rows<T, TILES, SOLVE><<<blocks, THREADS, 0, stream>>>(batch);
  if constexpr (sizeof(T) == sizeof(double))
    pass_rows<T, TILES, REFINE><<<blocks, THREADS, 0, stream>>>(batch);
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
  auto kind = [](const Pass &job) { return (tiles(job) * 2 + solves(job)) * 2 + job.rows.x.wide; };
  return launch_in_batches(pass, count, kind, [&](const Batch<Pass> &batch, int together, int) {
    if (batch.job[0].rows.x.wide)
      start<double>(batch, together, stream);
    else
      start<float>(batch, together, stream);
  });
}
