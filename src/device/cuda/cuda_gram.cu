/* Gram matrices, their products, and the norms and inner products of columns from sums that passes
 * over rows have left. */
#include "device/cuda/cuda_linalg_device.cuh"

enum { THREADS = 256, WARPS = THREADS / 32 };
/* Sums are divided into blocks by the number of rows alone: as many as fill a large GPU. */
enum { MOST_BLOCKS = 528 };

/* ---- products of Gram matrices ----------------------------------------------------------------
 */

static __global__ void hadamard(pd_gpu_grams grams, size_t rank, double *v) {
  size_t e = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (e < rank * rank) v[e] = gram_product(grams, e, e / rank == e % rank);
}

extern "C" cudaError_t pd_gpu_hadamard(const struct pd_gpu_grams *grams, int rank, double *v,
                                       cudaStream_t stream) {
  size_t entries = (size_t)rank * (size_t)rank;
  hadamard<<<(unsigned)((entries + 255) / 256), 256, 0, stream>>>(*grams, (size_t)rank, v);
  return cudaGetLastError();
}

/* ---- Gram matrices: blocks of 32 x 32 of the upper triangle, rows in parts ----------------------
 */

static int tile_pairs(int rank) {
  int tiles = (rank + 31) / 32;
  return tiles * (tiles + 1) / 2;
}

extern "C" int pd_gpu_gram_parts(uint64_t rows, int rank) {
  uint64_t most = MOST_BLOCKS / (uint64_t)tile_pairs(rank), wanted = rows / 256;
  if (most < 1) most = 1;
  return (int)(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

template <typename T>
static __global__ void __launch_bounds__(THREADS) gram(pd_gpu_matrix x, double *partial) {
  __shared__ double left[32][33], right[32][33];
  int tx = threadIdx.x % 32, ty = threadIdx.x / 32, row_tile = 0, pair = (int)blockIdx.x;
  int tiles = (x.rank + 31) / 32;
  for (; pair >= tiles - row_tile; ++row_tile)
    pair -= tiles - row_tile;
  int a = row_tile * 32, b = (row_tile + pair) * 32;
  const T *data = static_cast<const T *>(x.data);
  uint64_t begin = x.rows * blockIdx.y / gridDim.y, end = x.rows * (blockIdx.y + 1) / gridDim.y;
  double sum[4] = {0, 0, 0, 0};
  for (uint64_t first = begin; first < end; first += 32) {
    __syncthreads();
    for (int i = ty; i < 32; i += WARPS) {
      bool in = first + i < end;
      left[i][tx] = in && a + tx < x.rank ? (double)data[(first + i) * x.stride + a + tx] : 0;
      right[i][tx] = in && b + tx < x.rank ? (double)data[(first + i) * x.stride + b + tx] : 0;
    }
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < 32; ++i)
#pragma unroll
      for (int q = 0; q < 4; ++q)
        sum[q] += left[i][ty + q * WARPS] * right[i][tx];
  }
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    int r = a + ty + q * WARPS, s = b + tx;
    if (r < x.rank && s < x.rank) partial[((size_t)blockIdx.y * x.rank + r) * x.rank + s] = sum[q];
  }
}

extern "C" cudaError_t pd_gpu_gram(struct pd_gpu_matrix x, int parts, double *partial,
                                   cudaStream_t stream) {
  dim3 grid((unsigned)tile_pairs(x.rank), (unsigned)parts);
  if (x.wide)
    gram<double><<<grid, THREADS, 0, stream>>>(x, partial);
  else
    gram<float><<<grid, THREADS, 0, stream>>>(x, partial);
  return cudaGetLastError();
}

/* ---- norms and inner products -------------------------------------------------------------------
 */

__device__ static double norm_of(const double *sums, int blocks, int rank, int r, int scaling) {
  size_t step = 4 * (size_t)rank;
  if (scaling == SCALE_NORM_2) return sqrt(warp_sum(sums + SUM_SQUARE * rank + r, blocks, step));
  if (scaling == SCALE_NORM_1) return warp_sum(sums + SUM_ABSOLUTE * rank + r, blocks, step);
  double largest = warp_largest(sums + SUM_LARGEST * rank + r, blocks, step);
  return largest > 0 ? fmax(1.0, largest) : 0; /* a zero column: lambda 0, as on the CPU */
}

/* One block: a warp per column. `lambda` NULL: only the inner products, weighted. */
static __global__ void __launch_bounds__(1024)
    finish_columns(const double *sums, int blocks, int rank, int scaling, const double *weight,
                   double *lambda, double *factor, double *scalars) {
  __shared__ double inner[1024];
  double total = 0, mass = 0;
  for (int first = 0; first < rank; first += 1024) {
    int count = rank - first < 1024 ? rank - first : 1024;
    for (int k = (int)threadIdx.x / 32, r = first + k; k < count; k += 32, r += 32) {
      double product = warp_sum(sums + SUM_INNER * (size_t)rank + r, blocks, 4 * (size_t)rank);
      inner[k] = weight == nullptr ? product : weight[r] * product;
      if (lambda == nullptr) continue;
      double norm = norm_of(sums, blocks, rank, r, scaling);
      lambda[r] = norm;
      factor[r] = norm > 0 ? 1 / norm : 1;
    }
    __syncthreads();
    for (int k = 0; threadIdx.x == 0 && k < count; ++k) {
      total += inner[k];
      if (lambda != nullptr) mass += lambda[first + k];
    }
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  scalars[PD_GPU_INNER] = total;
  if (lambda != nullptr) scalars[PD_GPU_MASS] = mass;
}

extern "C" cudaError_t pd_gpu_finish_columns(const double *sums, int blocks, int rank, int scaling,
                                             double *lambda, double *factor, double *scalars,
                                             cudaStream_t stream) {
  finish_columns<<<1, 1024, 0, stream>>>(sums, blocks, rank, scaling, nullptr, lambda, factor,
                                         scalars);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_finish_inner(const double *sums, int blocks, int rank,
                                           const double *weight, double *scalars,
                                           cudaStream_t stream) {
  finish_columns<<<1, 1024, 0, stream>>>(sums, blocks, rank, 0, weight, nullptr, nullptr, scalars);
  return cudaGetLastError();
}
