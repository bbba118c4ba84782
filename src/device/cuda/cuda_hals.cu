/* One sweep of hierarchical alternating least squares (HALS) over every row of a factor: entry
 * after entry becomes what minimises the residual while the others stay, or zero where that is
 * negative (A. Cichocki and A.-H. Phan, IEICE Trans. Fundam. E92-A, 2009). What an entry becomes
 * depends on those before it, so the work of a row is a chain. Of up to 32 columns a thread has a
 * row to itself, in registers, and 32 chains run in a warp; where rows are so few that each finds a
 * warp, a lane has an entry, and the chain is as short as can be. Wider rows are worked on by a
 * warp each, too, which shares out the sums of the chain. */
#include "device/cuda/cuda_linalg_device.cuh"

enum { MOST_BLOCKS = 528, ROW_WARPS = 4, LANE_WARPS = 8, WIDE_WARPS = 3 };
/* Rows of up to 32 columns that all find a warp at once. */
enum { FEW_ROWS = MOST_BLOCKS * LANE_WARPS };
static_assert(WIDE_WARPS * MOST_BLOCKS <= 2 * PD_GPU_RANK_WIDE, "pd_gpu_rows::room holds the rows");

/* ---- a thread per row ----------------------------------------------------------------------- */

/* Columns that are worked on together. */
enum { TOGETHER = 8 };

/* What all rows read, with zeros behind the last column. Row r of v begins with the columns that
 * are worked on together with r, since a thread's row does so in that step. */
template <int COLUMNS> struct Equations {
  double v[COLUMNS][COLUMNS], inverse[COLUMNS], weight[COLUMNS], scale[COLUMNS];
};

/* One over a diagonal entry; 0 where there is none that a double holds: the entry stays as it is.
 */
__device__ static double inverse_of(double diagonal) {
  double inverse = 1 / diagonal;
  return diagonal > 0 && isfinite(inverse) ? inverse : 0;
}

template <int COLUMNS>
__device__ static void read_equations(const pd_gpu_rows &job, Equations<COLUMNS> &shared) {
  int rank = job.x.rank;
  for (int e = threadIdx.x; e < COLUMNS * COLUMNS; e += blockDim.x) {
    int r = e / COLUMNS, s = (r / TOGETHER * TOGETHER + e) % COLUMNS;
    shared.v[r][e % COLUMNS] = r < rank && s < rank ? job.v[r * rank + s] : 0;
  }
  for (int r = threadIdx.x; r < COLUMNS; r += blockDim.x) {
    shared.inverse[r] = r < rank ? inverse_of(job.v[r * rank + r]) : 0;
    shared.weight[r] = r < rank ? job.weights[r] : 0;
    shared.scale[r] = r < rank ? 1 / divisor(job.scaling, job.weights[r], job.peak[r]) : 1;
  }
  __syncthreads();
}

/* Calls DO(row of the tile, column, place) for the entries of a warp's 32 rows, so that neighbours
 * in a row are neighbours in the warp. */
template <int COLUMNS, typename DO>
__device__ static void each_of_tile(const pd_gpu_matrix &a, uint64_t first, const DO &act) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int top = 0; top < 32; top += 32 / COLUMNS) {
    int i = top + lane / COLUMNS, r = lane % COLUMNS;
    act(i, r, r < a.rank && first + i < a.rows ? (first + i) * a.stride + r : UINT64_MAX);
  }
}

template <int COLUMNS, typename T>
__device__ static void read_tile(const pd_gpu_matrix &a, uint64_t first,
                                 T (&tile)[32][COLUMNS + 1]) {
  const T *from = static_cast<const T *>(a.data);
  __syncwarp();
  each_of_tile<COLUMNS>(a, first, [&](int i, int r, uint64_t place) {
    tile[i][r] = place != UINT64_MAX ? from[place] : T(0);
  });
  __syncwarp();
}

template <int COLUMNS, typename T>
__device__ static void write_tile(const pd_gpu_matrix &a, uint64_t first,
                                  const T (&tile)[32][COLUMNS + 1]) {
  T *to = static_cast<T *>(a.data);
  __syncwarp();
  each_of_tile<COLUMNS>(a, first, [&](int i, int r, uint64_t place) {
    if (place != UINT64_MAX) to[place] = tile[i][r];
  });
}

/* Columns from `first` on, which the row begins with: what the row as it was leaves of `in`, for
 * all of them at once; then each in turn, which tells those behind it by how much it changed. */
template <int COLUMNS, typename T>
__device__ static void sweep_together(const Equations<COLUMNS> &shared, const T *in, int first,
                                      double (&row)[COLUMNS]) {
  double left[TOGETHER];
#pragma unroll
  for (int j = 0; j < TOGETHER; ++j)
    left[j] = (double)in[first + j];
#pragma unroll
  for (int k = 0; k < COLUMNS; ++k)
#pragma unroll
    for (int j = 0; j < TOGETHER; ++j)
      left[j] -= shared.v[first + j][k] * row[k];
#pragma unroll
  for (int j = 0; j < TOGETHER; ++j) {
    double inverse = shared.inverse[first + j];
    double to = inverse > 0 ? fmax(0.0, row[j] + left[j] * inverse) : row[j];
    double change = to - row[j];
    row[j] = to;
#pragma unroll
    for (int i = j + 1; i < TOGETHER; ++i)
      left[i] -= shared.v[first + i][j] * change;
  }
}

/* A loop over groups of columns, and not all of them one after the other in the code, which would
 * be read more slowly than it is done. The row's numbers change places in it: registers have no
 * index.
 */
template <int COLUMNS, typename T>
__device__ static void hals_sweep(const Equations<COLUMNS> &shared, const T *in,
                                  double (&row)[COLUMNS]) {
#pragma unroll 1
  for (int first = 0; first < COLUMNS; first += TOGETHER) {
    double done[TOGETHER];
    sweep_together(shared, in, first, row);
#pragma unroll
    for (int j = 0; j < TOGETHER; ++j)
      done[j] = row[j];
#pragma unroll
    for (int k = 0; k < COLUMNS - TOGETHER; ++k)
      row[k] = row[k + TOGETHER];
#pragma unroll
    for (int j = 0; j < TOGETHER; ++j)
      row[COLUMNS - TOGETHER + j] = done[j];
  }
}

template <int COLUMNS, typename T>
static __global__ void __launch_bounds__(ROW_WARPS * 32, 4)
    sweep_rows(const __grid_constant__ pd_gpu_rows job) {
  __shared__ Equations<COLUMNS> shared;
  __shared__ T tiles[ROW_WARPS][32][COLUMNS + 1];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  uint64_t step = (uint64_t)gridDim.x * ROW_WARPS * 32;
  auto &tile = tiles[warp];
  double row[COLUMNS];
  read_equations(job, shared);
  for (uint64_t first = ((uint64_t)blockIdx.x * ROW_WARPS + warp) * 32; first < job.x.rows;
       first += step) {
    read_tile<COLUMNS>(job.before, first, tile);
#pragma unroll
    for (int r = 0; r < COLUMNS; ++r)
      row[r] = (double)tile[lane][r] * shared.weight[r];
    read_tile<COLUMNS>(job.m, first, tile);
    hals_sweep<COLUMNS, T>(shared, tile[lane], row);
#pragma unroll
    for (int r = 0; r < COLUMNS; ++r)
      tile[lane][r] = (T)(row[r] * shared.scale[r]);
    write_tile<COLUMNS>(job.x, first, tile);
  }
}

template <int COLUMNS> static void start_rows(const pd_gpu_rows &rows, cudaStream_t stream) {
  uint64_t block = ROW_WARPS * 32, wanted = (rows.x.rows + block - 1) / block, most = MOST_BLOCKS;
  unsigned blocks = (unsigned)(wanted < 1 ? 1 : wanted < most ? wanted : most);
  if (rows.x.wide)
    sweep_rows<COLUMNS, double><<<blocks, ROW_WARPS * 32, 0, stream>>>(rows);
  else
    sweep_rows<COLUMNS, float><<<blocks, ROW_WARPS * 32, 0, stream>>>(rows);
}

/* ---- a lane per entry ------------------------------------------------------------------------ */

/* What is left of the row's entry of `in`, kept by each lane for its column: lane r finds how much
 * its entry changes, and tells the others. */
template <typename T>
static __global__ void __launch_bounds__(LANE_WARPS * 32)
    sweep_lanes(const __grid_constant__ pd_gpu_rows job) {
  __shared__ double v[32][32];
  int rank = job.x.rank, lane = threadIdx.x % 32;
  bool mine = lane < rank;
  for (int e = threadIdx.x; e < 32 * 32; e += LANE_WARPS * 32) {
    int r = e / 32, s = e % 32;
    v[r][s] = r < rank && s < rank ? job.v[r * rank + s] : 0;
  }
  __syncthreads();
  double weight = mine ? job.weights[lane] : 0, peak = mine ? job.peak[lane] : 0;
  double inverse = mine ? inverse_of(v[lane][lane]) : 0;
  double scale = 1 / divisor(job.scaling, weight, peak);
  for (uint64_t i = (uint64_t)blockIdx.x * LANE_WARPS + threadIdx.x / 32; i < job.x.rows;
       i += (uint64_t)gridDim.x * LANE_WARPS) {
    const T *in = static_cast<const T *>(job.m.data) + i * job.m.stride;
    const T *old = static_cast<const T *>(job.before.data) + i * job.before.stride;
    double entry = mine ? (double)old[lane] * weight : 0, left = mine ? (double)in[lane] : 0;
#pragma unroll 8
    for (int k = 0; k < rank; ++k)
      left -= v[k][lane] * __shfl_sync(0xffffffffu, entry, k);
#pragma unroll 4
    for (int r = 0; r < rank; ++r) {
      double to = inverse > 0 ? fmax(0.0, entry + left * inverse) : entry;
      double change = __shfl_sync(0xffffffffu, to - entry, r);
      left -= v[r][lane] * change;
      if (lane == r) entry = to;
    }
    if (mine) static_cast<T *>(job.x.data)[i * job.x.stride + lane] = (T)(entry * scale);
  }
}

static void start_lanes(const pd_gpu_rows &rows, cudaStream_t stream) {
  unsigned blocks = (unsigned)((rows.x.rows + LANE_WARPS - 1) / LANE_WARPS);
  if (rows.x.wide)
    sweep_lanes<double><<<blocks, LANE_WARPS * 32, 0, stream>>>(rows);
  else
    sweep_lanes<float><<<blocks, LANE_WARPS * 32, 0, stream>>>(rows);
}

/* ---- a warp per row ------------------------------------------------------------------------- */

/* The row lies in shared memory, or in device memory where that would hold few. */
template <typename T> static __global__ void sweep_wide(const __grid_constant__ pd_gpu_rows job) {
  extern __shared__ double shared[];
  const pd_gpu_matrix &m = job.m, &x = job.x, &before = job.before;
  const double *__restrict__ v = job.v;
  int rank = x.rank, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  int warp = (int)threadIdx.x / 32, wide = rank > PD_GPU_RANK_WIDE;
  double *row = wide ? job.room + (size_t)(blockIdx.x * warps + warp) * rank : shared + warp * rank;
  for (uint64_t i = (uint64_t)blockIdx.x * warps + threadIdx.x / 32; i < x.rows;
       i += (uint64_t)gridDim.x * warps) {
    const T *in = static_cast<const T *>(m.data) + i * m.stride;
    const T *old = static_cast<const T *>(before.data) + i * before.stride;
    T *out = static_cast<T *>(x.data) + i * x.stride;
    for (int r = lane; r < rank; r += 32)
      row[r] = (double)old[r] * job.weights[r];
    __syncwarp();
    for (int r = 0; r < rank; ++r) {
      const double *line = v + (size_t)r * rank;
      double diagonal = line[r], product = 0;
      if (!(diagonal > 0)) continue;
      for (int s = lane; s < rank; s += 32)
        product += row[s] * line[s];
      for (int step = 16; step > 0; step /= 2)
        product += __shfl_xor_sync(0xffffffffu, product, step);
      __syncwarp();
      if (lane == 0) row[r] = fmax(0.0, row[r] + ((double)in[r] - product) / diagonal);
      __syncwarp();
    }
    for (int r = lane; r < rank; r += 32)
      out[r] = (T)(row[r] / divisor(job.scaling, job.weights[r], job.peak[r]));
    __syncwarp();
  }
}

static void start_wide(const pd_gpu_rows &rows, cudaStream_t stream) {
  int rank = rows.x.rank, wide = rank > PD_GPU_RANK_WIDE;
  int warps = wide ? (int)WIDE_WARPS : 4096 / rank > 8 ? 8 : 4096 / rank;
  uint64_t wanted = (rows.x.rows + (uint64_t)warps - 1) / (uint64_t)warps, most = MOST_BLOCKS;
  unsigned blocks = (unsigned)(wanted < 1 ? 1 : wanted < most ? wanted : most);
  size_t bytes = wide ? 0 : sizeof(double) * (size_t)warps * (size_t)rank;
  if (rows.x.wide)
    sweep_wide<double><<<blocks, (unsigned)warps * 32, bytes, stream>>>(rows);
  else
    sweep_wide<float><<<blocks, (unsigned)warps * 32, bytes, stream>>>(rows);
}

extern "C" cudaError_t pd_gpu_hals(const struct pd_gpu_rows *rows, cudaStream_t stream) {
  int rank = rows->x.rank;
  if (rows->x.rows == 0) return cudaSuccess;
  if (rank > 32)
    start_wide(*rows, stream);
  else if (rows->x.rows <= FEW_ROWS)
    start_lanes(*rows, stream);
  else if (rank <= 8)
    start_rows<8>(*rows, stream);
  else if (rank <= 16)
    start_rows<16>(*rows, stream);
  else
    start_rows<32>(*rows, stream);
  return cudaGetLastError();
}
