/* The residual of a model summed from the nonzeros, in double: 8 lanes take a nonzero and every
 * eighth column each. Groups of lanes take the nonzeros by turns; blocks leave partial sums, which
 * one block adds up in fixed order. */
#include "device/cuda/cuda_linalg_launch.h"

enum { THREADS = 256, LANES = 8, GROUPS = THREADS / LANES, MODES = 16 };

struct Residual {
  const void *index[MODES], *factor[MODES];
  uint64_t stride[MODES];
  int index_bytes[MODES];
  const void *values;
  const double *weight;
  uint64_t nnz;
  int order, rank;
};

__device__ static uint64_t index_at(const Residual &job, int n, uint64_t p) {
  return job.index_bytes[n] == 4 ? static_cast<const uint32_t *>(job.index[n])[p]
                                 : static_cast<const uint64_t *>(job.index[n])[p];
}

/* The model's value at nonzero p, known to all lanes of the group. */
template <typename T> __device__ static double model_at(const Residual &job, uint64_t p, int lane) {
  const T *row[MODES];
  double sum = 0;
#pragma unroll
  for (int n = 0; n < MODES; ++n)
    if (n < job.order)
      row[n] = static_cast<const T *>(job.factor[n]) + index_at(job, n, p) * job.stride[n];
  for (int r = lane; r < job.rank; r += LANES) {
    double product = job.weight[r];
#pragma unroll
    for (int n = 0; n < MODES; ++n)
      if (n < job.order) product *= (double)__ldg(row[n] + r);
    sum += product;
  }
#pragma unroll
  for (int step = LANES / 2; step > 0; step /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, step);
  return sum;
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

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    residual(const __grid_constant__ Residual job, double *parts) {
  __shared__ double room[GROUPS];
  int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
  double missed = 0, covered = 0;
  uint64_t step = (uint64_t)gridDim.x * GROUPS;
  for (uint64_t first = (uint64_t)blockIdx.x * GROUPS; first < job.nnz; first += step) {
    uint64_t p = first + (uint64_t)group; /* all lanes of a warp stay for the shuffles */
    bool here = p < job.nnz;
    double model = model_at<T>(job, here ? p : 0, lane);
    if (!here) continue;
    double difference = (double)static_cast<const T *>(job.values)[p] - model;
    missed += difference * difference;
    covered += model * model;
  }
  missed = sum_groups(missed, group, lane, room);
  covered = sum_groups(covered, group, lane, room);
  if (threadIdx.x != 0) return;
  parts[2 * blockIdx.x] = missed;
  parts[2 * blockIdx.x + 1] = covered;
}

static __global__ void add_parts(int blocks, const double *parts, double *scalars) {
  __shared__ double room[2][THREADS];
  double sum[2] = {0, 0};
  for (int b = (int)threadIdx.x; b < blocks; b += THREADS)
    for (int k = 0; k < 2; ++k)
      sum[k] += parts[2 * b + k];
  for (int k = 0; k < 2; ++k)
    room[k][threadIdx.x] = sum[k];
  __syncthreads();
  if (threadIdx.x >= 2) return;
  double total = 0;
  for (int t = 0; t < THREADS; ++t)
    total += room[threadIdx.x][t];
  scalars[threadIdx.x == 0 ? PD_GPU_RESIDUAL : PD_GPU_COVERED] = total;
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
  uint64_t wanted = (job->nnz + GROUPS - 1) / GROUPS;
  int blocks = wanted < PD_GPU_RESIDUAL_BLOCKS ? (int)wanted : PD_GPU_RESIDUAL_BLOCKS;
  if (blocks < 1) blocks = 1;
  if (job->factor[0].wide)
    residual<double><<<(unsigned)blocks, THREADS, 0, stream>>>(to, parts);
  else
    residual<float><<<(unsigned)blocks, THREADS, 0, stream>>>(to, parts);
  cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  add_parts<<<1, THREADS, 0, stream>>>(blocks, parts, scalars);
  return cudaGetLastError();
}
