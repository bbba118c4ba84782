/* Passes over tall factor matrices. */
#include "core/half.h"
#include "device/cuda/cuda_linalg_device.cuh"

enum { THREADS = 256, WARPS = THREADS / 32 };
/* Sums are divided into blocks by the number of rows alone: as many as fill a large GPU. */
enum { MOST_BLOCKS = 528 };

/* ---- passes over rows -------------------------------------------------------------------------
 */

/* Above PD_GPU_RANK_WIDE: tiles of 64 x 64 entries of a product, of as many rows for other sums,
 * and how many of them a piece of rows has that is taken at once. */
enum { TILE = 64, TILE_DEPTH = 16, TILE_LANES = 16, PIECE_TILES = 16, CHUNK = 256 };
static_assert(2 * PIECE_TILES * TILE <= 2 * PD_GPU_RANK_WIDE,
              "pd_gpu_rows::room holds a piece of m, and one of what is left of it");

/* Rows of a tile in shared memory: as many as fit beside the sums into 40 KiB. */
static constexpr __host__ __device__ int tile_rows(int rank) {
  if (rank > PD_GPU_RANK_WIDE) return TILE;
  int rows = 5120 / rank - 4;
  return rows > 32 ? 32 : rows;
}

/* Entries of a tile that a thread sees to, at most: every eighth row, every 32nd column. */
static constexpr __host__ __device__ int most_entries() {
  int most = 0;
  for (int rank = PD_GPU_RANK_PASS + 1; rank <= PD_GPU_RANK_WIDE; ++rank) {
    int entries = (tile_rows(rank) + WARPS - 1) / WARPS * ((rank + 31) / 32);
    if (entries > most) most = entries;
  }
  return most;
}

extern "C" int pd_gpu_row_blocks(uint64_t rows, int rank) {
  uint64_t tiles = (rows + (uint64_t)tile_rows(rank) - 1) / (uint64_t)tile_rows(rank);
  uint64_t most = rank > PD_GPU_RANK_WIDE ? (uint64_t)PIECE_TILES : (uint64_t)MOST_BLOCKS;
  return (int)(tiles < 1 ? 1 : tiles < most ? tiles : most);
}

/* Adds what a thread found in its rows of column r to the block's sums: the warps hold different
 * rows of the same 32 columns and are added in order. `stage` holds WARPS * 32 * 4 numbers. */
__device__ static void add_to_sums(const double mine[4], int rank, int r, double *stage,
                                   double *sums) {
  int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
#pragma unroll
  for (int q = 0; q < 4; ++q)
    stage[(q * WARPS + ty) * 32 + tx] = mine[q];
  __syncthreads();
  if (ty < 4 && r < rank) {
    double total = sums[ty * rank + r];
    for (int w = 0; w < WARPS; ++w) {
      double part = stage[(ty * WARPS + w) * 32 + tx];
      total = ty == SUM_LARGEST ? fmax(total, part) : total + part;
    }
    sums[ty * rank + r] = total;
  }
  __syncthreads();
}

__device__ static void account(double m, double x, double weight, double mine[4]) {
  mine[SUM_INNER] += m * x;
  mine[SUM_SQUARE] += weight * (x * x);
  mine[SUM_ABSOLUTE] += fabs(x);
  mine[SUM_LARGEST] = fmax(mine[SUM_LARGEST], fabs(x));
}

/* Sums of `columns` columns from `first` on, of a matrix of `rank`. */
__device__ static void write_sums(int rank, int first, int columns, const double *sums,
                                  double *to) {
  for (int k = (int)threadIdx.x; k < 4 * columns; k += THREADS)
    to[((size_t)blockIdx.x * 4 + k / columns) * rank + first + k % columns] = sums[k];
}

/* What is added to entry (i, r) of the right-hand side. */
template <typename T>
__device__ static double pulled(const pd_gpu_rows &job, uint64_t i, int r, int rank) {
  double old = (double)static_cast<const T *>(job.before.data)[i * job.before.stride + r];
  return old * (job.damping * job.weights[r] * job.v[(size_t)r * rank + r]);
}

/* What an update keeps of entry (i, r). */
template <typename T>
__device__ static T kept_entry(const pd_gpu_rows &job, uint64_t i, int r, double value) {
  T rounded = (T)value;
  if (job.halves == nullptr) return rounded;
  uint16_t half = pd_bfloat_of((float)rounded);
  job.halves[i * job.x.stride + r] = half;
  return (T)pd_float_of_bfloat(half);
}

/* Whether x = m inverse is refined; of rows in double alone. */
template <typename T> __device__ static bool refines(const pd_gpu_rows &job) {
  return sizeof(T) == sizeof(double) && *job.refines != 0;
}

/* value[q] = entry r of row ty + 8 q of `left` times `right`, for a thread of a block. */
__device__ __forceinline__ static void rows_times(const double *left, unsigned stride, int count,
                                                  const double *__restrict__ right, int rank, int r,
                                                  double value[4]) {
  int ty = (int)threadIdx.x / 32;
  value[0] = value[1] = value[2] = value[3] = 0;
  for (int s = 0; s < rank && r < rank; ++s) {
    double factor = __ldg(right + s * rank + r);
#pragma unroll
    for (int q = 0; q < 4; ++q)
      if (ty + q * WARPS < count) value[q] += left[(ty + q * WARPS) * stride + s] * factor;
  }
}

/* The solution in `x` of the rows whose m is in the tile, by refinement; the thread keeps its
 * entries of m, whose place in the tile what is left of m takes. */
__device__ static void solve_refined(const pd_gpu_rows &job, double *tile, double *x, int count,
                                     double *kept) {
  int rank = job.x.rank, tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  double value[4];
  for (int step = 0;; ++step) {
    for (int r = tx; r < rank + tx; r += 32) {
      rows_times(tile, (unsigned)rank, count, job.inverse, rank, r, value);
      for (int i = ty; i < count && r < rank; i += WARPS)
        x[i * job.x.stride + r] = (step > 0 ? x[i * job.x.stride + r] : 0) + value[i / WARPS];
    }
    __syncthreads();
    if (step == PD_GPU_REFINEMENTS) return;
    int at = 0;
    for (int r = tx; r < rank + tx; r += 32) {
      rows_times(x, (unsigned)job.x.stride, count, job.v, rank, r, value);
      for (int i = ty; i < count && r < rank; i += WARPS, ++at) {
        if (step == 0) kept[at] = tile[i * rank + r];
        tile[i * rank + r] = kept[at] - value[i / WARPS];
      }
    }
    __syncthreads();
  }
}

template <typename T>
static __global__ void __launch_bounds__(THREADS, 4)
    multiply(const __grid_constant__ pd_gpu_rows job) {
  extern __shared__ double shared[];
  __shared__ double stage[4 * WARPS * 32];
  const pd_gpu_matrix &x = job.x;
  int rank = x.rank, rows = tile_rows(rank), tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  double *sums = shared, *tile = shared + 4 * rank;
  bool pulls = job.before.data != nullptr && *job.pulls != 0, refined = refines<T>(job);
  for (int k = (int)threadIdx.x; k < 4 * rank; k += THREADS)
    sums[k] = 0;
  for (uint64_t first = (uint64_t)blockIdx.x * rows; first < x.rows;
       first += (uint64_t)gridDim.x * rows) {
    int count = x.rows - first < (uint64_t)rows ? (int)(x.rows - first) : rows;
    T *data = static_cast<T *>(x.data) + first * x.stride;
    double kept[sizeof(T) == sizeof(double) ? most_entries() : 1];
    int at = 0;
    __syncthreads();
    for (int i = ty; i < count; i += WARPS)
      for (int r = tx; r < rank; r += 32)
        tile[i * rank + r] =
            (double)data[i * x.stride + r] + (pulls ? pulled<T>(job, first + i, r, rank) : 0);
    __syncthreads();
    if constexpr (sizeof(T) == sizeof(double))
      if (refined) solve_refined(job, tile, data, count, kept);
    for (int r = tx; r < rank + tx; r += 32) {
      double mine[4] = {0, 0, 0, 0}, value[4];
      if (!refined) rows_times(tile, (unsigned)rank, count, job.inverse, rank, r, value);
      double by = r < rank ? 1 / divisor(job.scaling, job.weights[r], job.peak[r]) : 0;
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        int i = ty + q * WARPS;
        if (i >= count || r >= rank) break;
        T *entry = data + i * x.stride + r;
        double m = refined ? kept[at++] : pulls ? (double)*entry : tile[i * rank + r];
        T rounded = kept_entry<T>(job, first + i, r, (refined ? (double)*entry : value[q]) * by);
        double weight = job.slices != nullptr ? job.slices[first + i] : 1;
        *entry = rounded;
        account(m, (double)rounded, weight, mine);
      }
      add_to_sums(mine, rank, r, stage, sums);
    }
  }
  __syncthreads();
  write_sums(rank, 0, rank, sums, job.sums);
}

/* Columns whose sums a block has in shared memory. */
static __host__ __device__ int chunk_of(int rank) { return rank > PD_GPU_RANK_WIDE ? CHUNK : rank; }

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    column_sums(pd_gpu_matrix m, pd_gpu_matrix x, const double *slices, double *block_sums) {
  extern __shared__ double shared[];
  __shared__ double stage[4 * WARPS * 32];
  int rank = x.rank, rows = tile_rows(rank), tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  int begin = (int)blockIdx.y * chunk_of(rank);
  int columns = rank - begin < chunk_of(rank) ? rank - begin : chunk_of(rank);
  const T *left = static_cast<const T *>(m.data) + begin;
  const T *right = static_cast<const T *>(x.data) + begin;
  for (int k = (int)threadIdx.x; k < 4 * columns; k += THREADS)
    shared[k] = 0;
  __syncthreads();
  for (int c = 0; c < columns; c += 32) {
    int r = c + tx;
    double mine[4] = {0, 0, 0, 0};
    for (uint64_t first = (uint64_t)blockIdx.x * rows; first < x.rows && r < columns;
         first += (uint64_t)gridDim.x * rows)
      for (int i = ty; i < rows && first + i < x.rows; i += WARPS)
        account((double)left[(first + i) * m.stride + r], (double)right[(first + i) * x.stride + r],
                slices != nullptr ? slices[first + i] : 1, mine);
    add_to_sums(mine, columns, r, stage, shared);
  }
  write_sums(rank, begin, columns, shared, block_sums);
}

/* A piece of rows as doubles, with what pulls them: what multiply_wide() makes their new entries
 * from, in place. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    widen(const __grid_constant__ pd_gpu_rows job, uint64_t first, int count) {
  const pd_gpu_matrix &x = job.x;
  const T *data = static_cast<const T *>(x.data);
  bool pulls = job.before.data != nullptr && *job.pulls != 0;
  for (int i = (int)blockIdx.x; i < count; i += (int)gridDim.x)
    for (int r = (int)threadIdx.x; r < x.rank; r += THREADS)
      job.room[(size_t)i * x.rank + r] = (double)data[(first + i) * x.stride + r] +
                                         (pulls ? pulled<T>(job, first + i, r, x.rank) : 0);
}

/* Adds what the threads found in the tile's columns ty + 16 q to the sums of the block's rows. */
__device__ static void add_tile_sums(const double mine[4], bool fresh, bool in, double *to,
                                     int rank) {
  __shared__ double stage[4][TILE_LANES][TILE_LANES];
  int tx = (int)threadIdx.x % TILE_LANES, ty = (int)threadIdx.x / TILE_LANES;
#pragma unroll
  for (int k = 0; k < 4; ++k)
    stage[k][ty][tx] = mine[k];
  __syncthreads();
  if (ty < 4 && in) {
    double total = fresh ? 0 : to[(size_t)ty * rank];
    for (int w = 0; w < TILE_LANES; ++w) {
      double part = stage[ty][w][tx];
      total = ty == SUM_LARGEST ? fmax(total, part) : total + part;
    }
    to[(size_t)ty * rank] = total;
  }
  __syncthreads();
}

/* A tile of the product of `left`'s rows with `right`: a thread has 4 x 4 entries, 16 rows and 16
 * columns apart. */
__device__ static void multiply_tile(const double *left, uint64_t stride, int count,
                                     const double *__restrict__ right, int rank,
                                     double value[4][4]) {
  __shared__ double rows[TILE_DEPTH][TILE + 1], columns[TILE_DEPTH][TILE];
  int row = (int)blockIdx.y * TILE, column = (int)blockIdx.x * TILE;
  int tx = (int)threadIdx.x % TILE_LANES, ty = (int)threadIdx.x / TILE_LANES;
  for (int s = 0; s < rank; s += TILE_DEPTH) {
    __syncthreads();
    for (int e = (int)threadIdx.x; e < TILE * TILE_DEPTH; e += THREADS) {
      int i = e / TILE_DEPTH, k = e % TILE_DEPTH, j = e % TILE, l = e / TILE;
      rows[k][i] = row + i < count && s + k < rank ? left[(uint64_t)(row + i) * stride + s + k] : 0;
      columns[l][j] = s + l < rank && column + j < rank
                          ? __ldg(right + (size_t)(s + l) * rank + column + j)
                          : 0;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE_DEPTH; ++k)
#pragma unroll
      for (int p = 0; p < 4; ++p)
#pragma unroll
        for (int q = 0; q < 4; ++q)
          value[p][q] += rows[k][ty + TILE_LANES * p] * columns[k][tx + TILE_LANES * q];
  }
}

/* What is left of a piece of m in job.room, behind the piece. */
__device__ static double *rest_of(const pd_gpu_rows &job) {
  return job.room + (size_t)PIECE_TILES * TILE * (size_t)job.x.rank;
}

/* Where x = m inverse of a piece is there and is to be refined: m - x v. */
static __global__ void __launch_bounds__(THREADS)
    rest_wide(const __grid_constant__ pd_gpu_rows job, uint64_t first, int count) {
  const pd_gpu_matrix &x = job.x;
  int tx = (int)threadIdx.x % TILE_LANES, ty = (int)threadIdx.x / TILE_LANES;
  double value[4][4] = {};
  if (!refines<double>(job)) return;
  multiply_tile(static_cast<const double *>(x.data) + first * x.stride, x.stride, count, job.v,
                x.rank, value);
  for (int p = 0; p < 4; ++p)
    for (int q = 0; q < 4; ++q) {
      int i = (int)blockIdx.y * TILE + ty + TILE_LANES * p;
      int r = (int)blockIdx.x * TILE + tx + TILE_LANES * q;
      size_t at = (size_t)i * x.rank + r;
      if (i < count && r < x.rank) rest_of(job)[at] = job.room[at] - value[p][q];
    }
}

/* A tile of x = m inverse, and of the sums over its columns: step 0. Where the update is refined,
 * steps 1 to PD_GPU_REFINEMENTS follow, each of which adds what is left of m times the inverse, and
 * only the last one scales x and takes the sums. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    multiply_wide(const __grid_constant__ pd_gpu_rows job, uint64_t first, int count, int step) {
  const pd_gpu_matrix &x = job.x;
  int rank = x.rank, row = (int)blockIdx.y * TILE, column = (int)blockIdx.x * TILE;
  int tx = (int)threadIdx.x % TILE_LANES, ty = (int)threadIdx.x / TILE_LANES;
  double value[4][4] = {};
  bool refined = refines<T>(job);
  if (step > 0 && !refined) return;
  multiply_tile(step > 0 ? rest_of(job) : job.room, (uint64_t)rank, count, job.inverse, rank,
                value);
  T *data = static_cast<T *>(x.data) + first * x.stride;
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    int r = column + tx + TILE_LANES * q;
    double mine[4] = {0, 0, 0, 0};
    double by = r < rank ? 1 / divisor(job.scaling, job.weights[r], job.peak[r]) : 0;
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      int i = row + ty + TILE_LANES * p;
      if (i >= count || r >= rank) break;
      T *entry = data + (uint64_t)i * x.stride + r;
      double solution = (step > 0 ? (double)*entry : 0) + value[p][q];
      if (refined && step < PD_GPU_REFINEMENTS) {
        *entry = (T)solution;
        continue;
      }
      double m = refined ? job.room[(size_t)i * rank + r] : (double)*entry;
      T rounded = kept_entry<T>(job, first + (uint64_t)i, r, solution * by);
      account(m, (double)rounded, job.slices != nullptr ? job.slices[first + i] : 1, mine);
      *entry = rounded;
    }
    if (!refined || step == PD_GPU_REFINEMENTS)
      add_tile_sums(mine, first == 0, r < rank,
                    job.sums + (size_t)blockIdx.y * 4 * rank + (r < rank ? r : 0), rank);
  }
}

template <typename T> static void multiply_in_pieces(const pd_gpu_rows &job, cudaStream_t stream) {
  uint64_t first = 0;
  do {
    uint64_t rest = job.x.rows - first;
    int count = (int)(rest < PIECE_TILES * TILE ? rest : PIECE_TILES * TILE);
    dim3 tiles((unsigned)(job.x.rank + TILE - 1) / TILE,
               count > 0 ? (unsigned)(count + TILE - 1) / TILE : 1);
    if (count > 0) widen<T><<<(unsigned)count, THREADS, 0, stream>>>(job, first, count);
    multiply_wide<T><<<tiles, THREADS, 0, stream>>>(job, first, count, 0);
    for (int step = 1; job.x.wide && step <= PD_GPU_REFINEMENTS; ++step) {
      rest_wide<<<tiles, THREADS, 0, stream>>>(job, first, count);
      multiply_wide<T><<<tiles, THREADS, 0, stream>>>(job, first, count, step);
    }
    first += PIECE_TILES * TILE;
  } while (first < job.x.rows);
}

static size_t row_bytes(int rank, bool with_tile) {
  return sizeof(double) * (size_t)rank * (size_t)(4 + (with_tile ? tile_rows(rank) : 0));
}

extern "C" cudaError_t pd_gpu_multiply(const struct pd_gpu_rows *rows, cudaStream_t stream) {
  if (rows->x.rank > PD_GPU_RANK_WIDE) {
    if (rows->x.wide)
      multiply_in_pieces<double>(*rows, stream);
    else
      multiply_in_pieces<float>(*rows, stream);
    return cudaGetLastError();
  }
  size_t bytes = row_bytes(rows->x.rank, true);
  if (rows->x.wide)
    multiply<double><<<(unsigned)rows->blocks, THREADS, bytes, stream>>>(*rows);
  else
    multiply<float><<<(unsigned)rows->blocks, THREADS, bytes, stream>>>(*rows);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_column_sums(struct pd_gpu_matrix m, struct pd_gpu_matrix x,
                                          const double *slices, int blocks, double *sums,
                                          cudaStream_t stream) {
  int columns = chunk_of(x.rank);
  size_t bytes = row_bytes(columns, false);
  dim3 grid((unsigned)blocks, (unsigned)((x.rank + columns - 1) / columns));
  if (x.wide)
    column_sums<double><<<grid, THREADS, bytes, stream>>>(m, x, slices, sums);
  else
    column_sums<float><<<grid, THREADS, bytes, stream>>>(m, x, slices, sums);
  return cudaGetLastError();
}

template <typename T>
static __global__ void __launch_bounds__(THREADS) scale(pd_gpu_matrix x, const double *factor) {
  int tx = threadIdx.x % 32, ty = threadIdx.x / 32, any = 0;
  for (int r = (int)threadIdx.x; r < x.rank; r += THREADS)
    any |= factor[r] != 1.0;
  if (!__syncthreads_or(any)) return;
  for (int r = tx; r < x.rank; r += 32) {
    double by = factor[r];
    T *column = static_cast<T *>(x.data) + r;
    for (uint64_t i = (uint64_t)blockIdx.x * WARPS + ty; i < x.rows;
         i += (uint64_t)gridDim.x * WARPS)
      column[i * x.stride] = (T)((double)column[i * x.stride] * by);
  }
}

extern "C" cudaError_t pd_gpu_scale(struct pd_gpu_matrix x, const double *factor,
                                    cudaStream_t stream) {
  uint64_t blocks = (x.rows + 4 * WARPS - 1) / (4 * WARPS);
  unsigned grid = (unsigned)(blocks < 1 ? 1 : blocks < 4096 ? blocks : 4096);
  if (x.wide)
    scale<double><<<grid, THREADS, 0, stream>>>(x, factor);
  else
    scale<float><<<grid, THREADS, 0, stream>>>(x, factor);
  return cudaGetLastError();
}
