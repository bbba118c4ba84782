/* One sweep of hierarchical alternating least squares (HALS) over every row of a factor: entry
 * after entry becomes what minimises the residual while the others stay, or zero where that is
 * negative (A. Cichocki and A.-H. Phan, IEICE Trans. Fundam. E92-A, 2009). What an entry becomes
 * depends on those before it, so the work of a row is a chain. Where rows of up to 32 columns are
 * so few that each finds a warp, a lane has an entry, and the chain is as short as can be; more
 * rows are swept by the pass over them that sums them (cuda_update.cu). Wider rows are worked on by
 * a warp each, too, which shares out the sums of the chain. */
#include "device/cuda/cuda_update_sweep.cuh"

enum { MOST_BLOCKS = 528, LANE_WARPS = 8, WIDE_WARPS = 3 };
/* Rows of up to 32 columns that all find a warp at once. */
enum { FEW_ROWS = MOST_BLOCKS * LANE_WARPS };
static_assert(WIDE_WARPS * MOST_BLOCKS <= 2 * PD_GPU_RANK_WIDE, "pd_gpu_rows::room holds the rows");

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
    bool used = job.used == nullptr || (job.used[i / 32] >> i % 32 & 1) != 0;
    double entry = mine ? (double)old[lane] * weight : 0;
    double left = mine && used ? (double)in[lane] : 0;
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

extern "C" int pd_gpu_sweeps_in_pass(uint64_t rows, int rank) {
  return rank <= PD_GPU_RANK_PASS && rows > FEW_ROWS;
}

extern "C" cudaError_t pd_gpu_hals(const struct pd_gpu_rows *rows, cudaStream_t stream) {
  if (rows->x.rows == 0) return cudaSuccess;
  if (rows->x.rank <= PD_GPU_RANK_PASS)
    start_lanes(*rows, stream);
  else
    start_wide(*rows, stream);
  return cudaGetLastError();
}
