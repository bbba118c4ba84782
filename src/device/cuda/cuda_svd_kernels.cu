/* Small kernels between cuBLAS and cuSOLVER. */
#include "device/cuda/cuda_svd_launch.h"

namespace {

enum { THREADS = 256, BLOCKS_MAX = 4096 };

int blocks_for(uint64_t items) {
  uint64_t blocks = (items + THREADS - 1) / THREADS;
  return blocks < 1 ? 1 : blocks > BLOCKS_MAX ? BLOCKS_MAX : static_cast<int>(blocks);
}

__device__ uint64_t first_item() {
  return blockIdx.x * static_cast<uint64_t>(THREADS) + threadIdx.x;
}

__device__ uint64_t item_step() { return static_cast<uint64_t>(gridDim.x) * THREADS; }

template <typename FROM, typename TO>
__global__ void convert(uint64_t rows, uint64_t columns, const FROM *from, uint64_t from_stride,
                        TO *to, uint64_t to_stride) {
  for (uint64_t k = first_item(); k < rows * columns; k += item_step()) {
    uint64_t i = k / columns, c = k % columns;
    to[i * to_stride + c] = static_cast<TO>(from[i * from_stride + c]);
  }
}

template <typename T>
__global__ void take_vectors(uint64_t rows, uint64_t count, const double *vectors, T *u,
                             uint64_t u_stride) {
  for (uint64_t n = first_item(); n < rows * count; n += item_step()) {
    uint64_t i = n % rows, k = n / rows;
    u[i * u_stride + k] = static_cast<T>(vectors[i + (rows - 1 - k) * rows]);
  }
}

/* Squares of singular values below this part of the largest are rounding error. */
__device__ bool negligible(int count, const double *values, int k) {
  double least = values[count - 1] * count * 2.220446049250313e-16;
  return !(values[count - 1 - k] > least);
}

__global__ void rotation_of(int count, const double *vectors, const double *values,
                            double *rotation) {
  for (uint64_t n = first_item(); n < static_cast<uint64_t>(count) * count; n += item_step()) {
    int k = static_cast<int>(n % count), j = static_cast<int>(n / count);
    uint64_t from = static_cast<uint64_t>(count - 1 - k);
    rotation[n] = negligible(count, values, k)
                      ? 0.0
                      : vectors[j + from * count] / sqrt(values[count - 1 - k]);
  }
}

__device__ uint64_t scramble(uint64_t z) {
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/* In (0, 1). */
__device__ double uniform(uint64_t z) {
  return (static_cast<double>(scramble(z) >> 11) + 0.5) * 0x1p-53;
}

__global__ void refill(uint64_t n, int count, const double *values, double *x) {
  double scale = sqrt(3.0 / static_cast<double>(n));
  for (uint64_t at = first_item(); at < n * count; at += item_step()) {
    int k = static_cast<int>(at % count);
    if (negligible(count, values, k)) x[at] = scale * (2.0 * uniform(at) - 1.0);
  }
}

/* Box and Muller's. */
__global__ void normals(uint64_t count, uint64_t seed, double *to) {
  for (uint64_t k = first_item(); k < count; k += item_step()) {
    double a = uniform(scramble(seed) + 2 * k), b = uniform(scramble(seed) + 2 * k + 1);
    to[k] = sqrt(-2.0 * log(a)) * cospi(2.0 * b);
  }
}

__global__ void note(const int *info, int *flag) {
  if (*info != 0) *flag = 1;
}

/* Sums over a block's threads in a fixed order; the result is thread 0's. */
__device__ double block_sum(double mine) {
  __shared__ double sums[THREADS];
  sums[threadIdx.x] = mine;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  return sums[0];
}

template <typename T> __global__ void square_parts(uint64_t count, const T *from, double *parts) {
  double mine = 0;
  for (uint64_t k = first_item(); k < count; k += item_step())
    mine += static_cast<double>(from[k]) * static_cast<double>(from[k]);
  double sum = block_sum(mine);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

__global__ void add_square_parts(const double *parts, double *sum) {
  double total = block_sum(parts[threadIdx.x]);
  if (threadIdx.x == 0) *sum = total;
}

static_assert(static_cast<int>(PD_GPU_SQUARE_PARTS) == static_cast<int>(THREADS),
              "one thread adds each part");

} // namespace

extern "C" cudaError_t pd_gpu_convert(uint64_t rows, uint64_t columns, const void *from,
                                      int from_wide, uint64_t from_stride, void *to, int to_wide,
                                      uint64_t to_stride, cudaStream_t stream) {
  int blocks = blocks_for(rows * columns);
  const float *narrow = static_cast<const float *>(from);
  const double *wide = static_cast<const double *>(from);
  if (from_wide && to_wide)
    convert<<<blocks, THREADS, 0, stream>>>(rows, columns, wide, from_stride,
                                            static_cast<double *>(to), to_stride);
  else if (from_wide)
    convert<<<blocks, THREADS, 0, stream>>>(rows, columns, wide, from_stride,
                                            static_cast<float *>(to), to_stride);
  else if (to_wide)
    convert<<<blocks, THREADS, 0, stream>>>(rows, columns, narrow, from_stride,
                                            static_cast<double *>(to), to_stride);
  else
    convert<<<blocks, THREADS, 0, stream>>>(rows, columns, narrow, from_stride,
                                            static_cast<float *>(to), to_stride);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_take_vectors(uint64_t rows, uint64_t count, const double *vectors,
                                           void *u, int wide, uint64_t u_stride,
                                           cudaStream_t stream) {
  int blocks = blocks_for(rows * count);
  if (wide)
    take_vectors<<<blocks, THREADS, 0, stream>>>(rows, count, vectors, static_cast<double *>(u),
                                                 u_stride);
  else
    take_vectors<<<blocks, THREADS, 0, stream>>>(rows, count, vectors, static_cast<float *>(u),
                                                 u_stride);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_rotation(int count, const double *vectors, const double *values,
                                       double *rotation, cudaStream_t stream) {
  rotation_of<<<blocks_for(static_cast<uint64_t>(count) * count), THREADS, 0, stream>>>(
      count, vectors, values, rotation);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_refill(uint64_t n, int count, const double *values, double *x,
                                     cudaStream_t stream) {
  refill<<<blocks_for(n * count), THREADS, 0, stream>>>(n, count, values, x);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_normals(uint64_t count, uint64_t seed, double *to,
                                      cudaStream_t stream) {
  normals<<<blocks_for(count), THREADS, 0, stream>>>(count, seed, to);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_note(const int *info, int *flag, cudaStream_t stream) {
  note<<<1, 1, 0, stream>>>(info, flag);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_squares(uint64_t count, const void *from, int wide, double *parts,
                                      double *sum, cudaStream_t stream) {
  if (wide)
    square_parts<<<PD_GPU_SQUARE_PARTS, THREADS, 0, stream>>>(
        count, static_cast<const double *>(from), parts);
  else
    square_parts<<<PD_GPU_SQUARE_PARTS, THREADS, 0, stream>>>(
        count, static_cast<const float *>(from), parts);
  add_square_parts<<<1, THREADS, 0, stream>>>(parts, sum);
  return cudaGetLastError();
}
