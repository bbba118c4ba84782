/* The residual of a model summed from the nonzeros, in double: 8 lanes take a nonzero, and by turns
 * its columns: 16 bytes of every row at once where rows allow, else one. Groups of lanes take four
 * nonzeros at once, whose rows are on their way together, by turns; blocks leave partial sums,
 * which one block adds up in fixed order. */
#include "device/cuda/cuda_linalg_launch.h"

enum { THREADS = 256, LANES = 8, GROUPS = THREADS / LANES, STEP = 4, MODES = 16 };
static_assert(STEP == 4, "indices_at() reads as many at once");

struct Residual {
  const void *index[MODES], *factor[MODES];
  uint64_t stride[MODES];
  int index_bytes[MODES];
  const void *values;
  const double *weight;
  uint64_t nnz;
  int order, rank;
};

/* Indices of STEP nonzeros from p, a multiple of STEP, on; those beyond the last count as the
 * first. */
__device__ static void indices_at(const Residual &job, int n, uint64_t p, uint64_t (&index)[STEP]) {
  if (job.index_bytes[n] == 4 && p + STEP <= job.nnz) {
    uint4 all = __ldg(reinterpret_cast<const uint4 *>(job.index[n]) + p / STEP);
    index[0] = all.x;
    index[1] = all.y;
    index[2] = all.z;
    index[3] = all.w;
    return;
  }
#pragma unroll
  for (int k = 0; k < STEP; ++k) {
    uint64_t q = p + k < job.nnz ? p + k : 0;
    index[k] = job.index_bytes[n] == 4 ? static_cast<const uint32_t *>(job.index[n])[q]
                                       : static_cast<const uint64_t *>(job.index[n])[q];
  }
}

template <typename T, int COLUMNS>
__device__ static void load_columns(const T *from, T (&to)[COLUMNS]) {
  if constexpr (COLUMNS == 1)
    to[0] = __ldg(from);
  else {
    static_assert(sizeof to == sizeof(int4));
    int4 all = __ldg(reinterpret_cast<const int4 *>(from));
    memcpy(to, &all, sizeof to);
  }
}

/* The model's values at STEP nonzeros from p on, known to all lanes of the group. ORDER 0: any
 * number of modes. */
template <typename T, int ORDER, int COLUMNS>
__device__ static void model_at(const Residual &job, uint64_t p, int lane, double *sum) {
  constexpr int MOST = ORDER == 0 ? MODES : ORDER;
  const T *row[STEP][MOST];
#pragma unroll
  for (int n = 0; n < MOST; ++n)
    if (ORDER > 0 || n < job.order) {
      uint64_t index[STEP];
      indices_at(job, n, p, index);
#pragma unroll
      for (int k = 0; k < STEP; ++k)
        row[k][n] = static_cast<const T *>(job.factor[n]) + index[k] * job.stride[n];
    }
#pragma unroll
  for (int k = 0; k < STEP; ++k)
    sum[k] = 0;
  for (int r = lane * COLUMNS; r < job.rank; r += LANES * COLUMNS) {
#pragma unroll
    for (int k = 0; k < STEP; ++k) {
      double product[COLUMNS];
#pragma unroll
      for (int c = 0; c < COLUMNS; ++c)
        product[c] = job.weight[r + c];
#pragma unroll
      for (int n = 0; n < MOST; ++n)
        if (ORDER > 0 || n < job.order) {
          T entry[COLUMNS];
          load_columns<T, COLUMNS>(row[k][n] + r, entry);
#pragma unroll
          for (int c = 0; c < COLUMNS; ++c)
            product[c] *= (double)entry[c];
        }
#pragma unroll
      for (int c = 0; c < COLUMNS; ++c)
        sum[k] += product[c];
    }
  }
#pragma unroll
  for (int k = 0; k < STEP; ++k)
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
      sum[k] += __shfl_xor_sync(0xffffffffu, sum[k], step);
}

/* Adds up what the groups' first lanes hold. */
__device__ static double sum_groups(double mine, int group, int lane, double *room) {
  __syncthreads();
  if (lane == 0) room[group] = mine;
  __syncthreads();
  double sum = 0;
  for (int g = 0; g < GROUPS; ++g)
    sum += room[g];
  return sum;
}

template <typename T, int ORDER, int COLUMNS>
static __global__ void __launch_bounds__(THREADS)
    residual(const __grid_constant__ Residual job, double *parts) {
  __shared__ double room[GROUPS];
  int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
  double missed = 0, covered = 0;
  uint64_t step = (uint64_t)gridDim.x * GROUPS * STEP;
  for (uint64_t first = (uint64_t)blockIdx.x * GROUPS * STEP; first < job.nnz; first += step) {
    uint64_t p = first + (uint64_t)group * STEP; /* all lanes of a warp stay for the shuffles */
    double model[STEP];
    model_at<T, ORDER, COLUMNS>(job, p, lane, model);
#pragma unroll
    for (int k = 0; k < STEP; ++k) {
      if (p + k >= job.nnz) break;
      double difference = (double)static_cast<const T *>(job.values)[p + k] - model[k];
      missed += difference * difference;
      covered += model[k] * model[k];
    }
  }
  missed = sum_groups(missed, group, lane, room);
  covered = sum_groups(covered, group, lane, room);
  if (threadIdx.x != 0) return;
  parts[2 * blockIdx.x] = missed;
  parts[2 * blockIdx.x + 1] = covered;
}

template <typename T, int COLUMNS>
static void start_columns(const Residual &job, unsigned blocks, double *parts,
                          cudaStream_t stream) {
  switch (job.order) {
  case 3:
    residual<T, 3, COLUMNS><<<blocks, THREADS, 0, stream>>>(job, parts);
    break;
  case 4:
    residual<T, 4, COLUMNS><<<blocks, THREADS, 0, stream>>>(job, parts);
    break;
  case 5:
    residual<T, 5, COLUMNS><<<blocks, THREADS, 0, stream>>>(job, parts);
    break;
  default:
    residual<T, 0, 1><<<blocks, THREADS, 0, stream>>>(job, parts);
  }
}

/* Whether every row begins at a multiple of 16 bytes, and every lane has columns of its own. */
template <typename T> static bool wide_columns(const Residual &job) {
  bool fits = job.rank % (LANES * 16 / (int)sizeof(T)) == 0;
  for (int n = 0; n < job.order; ++n)
    fits = fits && job.stride[n] * sizeof(T) % 16 == 0 && (uintptr_t)job.factor[n] % 16 == 0;
  return fits;
}

template <typename T>
static void start(const Residual &job, unsigned blocks, double *parts, cudaStream_t stream) {
  if (wide_columns<T>(job))
    start_columns<T, 16 / sizeof(T)>(job, blocks, parts, stream);
  else
    start_columns<T, 1>(job, blocks, parts, stream);
}

static __global__ void add_residual_parts(int blocks, const double *parts, int goes_on,
                                          double *scalars) {
  __shared__ double room[2][THREADS];
  double sum[2] = {0, 0};
  for (int b = (int)threadIdx.x; b < blocks; b += THREADS)
    for (int k = 0; k < 2; ++k)
      sum[k] += parts[2 * b + k];
  for (int k = 0; k < 2; ++k)
    room[k][threadIdx.x] = sum[k];
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < half)
      for (int k = 0; k < 2; ++k)
        room[k][threadIdx.x] += room[k][threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  scalars[PD_GPU_RESIDUAL] = room[0][0] + (goes_on ? scalars[PD_GPU_RESIDUAL] : 0);
  scalars[PD_GPU_COVERED] = room[1][0] + (goes_on ? scalars[PD_GPU_COVERED] : 0);
}

extern "C" cudaError_t pd_gpu_residual(const struct pd_gpu_residual *job, double *parts,
                                       double *scalars, cudaStream_t stream) {
  Residual to = {};
  for (int n = 0; n < job->order; ++n) {
    to.index[n] = job->index[n];
    to.index_bytes[n] = job->index_bytes[n];
    to.factor[n] = job->factor[n].data;
    to.stride[n] = job->factor[n].stride;
  }
  to.values = job->values;
  to.weight = job->weight;
  to.nnz = job->nnz;
  to.order = job->order;
  to.rank = job->factor[0].rank;
  uint64_t wanted = (job->nnz + GROUPS * STEP - 1) / (GROUPS * STEP);
  int blocks = wanted < PD_GPU_RESIDUAL_BLOCKS ? (int)wanted : PD_GPU_RESIDUAL_BLOCKS;
  if (blocks < 1) blocks = 1;
  if (job->factor[0].wide)
    start<double>(to, (unsigned)blocks, parts, stream);
  else
    start<float>(to, (unsigned)blocks, parts, stream);
  cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  add_residual_parts<<<1, THREADS, 0, stream>>>(blocks, parts, job->goes_on, scalars);
  return cudaGetLastError();
}
