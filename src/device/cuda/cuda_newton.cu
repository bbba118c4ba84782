/* PDNR and PQNR on a GPU: a block of threads takes a few rows after the other, whoever is free the
 * next ones, and solves each as linalg/newton_block.h says, in shared memory where there is enough.
 * Short rows, whose products fit into a small block's memory, are a warp's; longer ones have more.
 * No row depends on another, and what is added up is whole numbers. */
#include "device/cuda/cuda_newton_launch.h"

#define PD_BLOCK_FUNCTION __device__ static inline
#define PD_BLOCK_SYNC(block) __syncthreads()
#include "linalg/newton_block.h"

enum { MOST_THREADS = 512, MOST_AT_ONCE = 64, TURNS = 8 };

extern __shared__ __align__(16) double newton_memory[];

static __global__ void __launch_bounds__(MOST_THREADS, 1)
    newton_rows(const __grid_constant__ pd_newton_job job,
                const __grid_constant__ pd_gpu_newton_rows rows, unsigned long long *next,
                int at_once, pd_gpu_newton_found *found) {
  __shared__ unsigned long long taken;
  double *memory =
      rows.scratch != nullptr ? rows.scratch + blockIdx.x * rows.shape.numbers : newton_memory;
  pd_newton_block block;
  unsigned long long kkt = 0, inner = 0, changed = 0;
  block.job = &job;
  block.shape = &rows.shape;
  block.room = newton_cut_up(&job, &rows.shape, memory);
  block.thread = (int)threadIdx.x;
  block.threads = rows.shape.threads;
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) taken = atomicAdd(next, (unsigned long long)at_once);
    __syncthreads();
    uint64_t first = taken;
    if (first >= job.rows) break;
    for (uint64_t i = first; i < first + at_once && i < job.rows; ++i) {
      uint64_t count = job.end[i] - job.first[i];
      if (count < rows.least || count > rows.most) continue;
      pd_newton_row row = newton_solve_row(&block, i);
      /* Bits of a number that is not negative order like the number; those of NaN come last. */
      unsigned long long bits = (unsigned long long)__double_as_longlong(fabs(row.kkt));
      kkt = bits > kkt ? bits : kkt;
      inner += row.inner;
      changed |= row.changed ? 1 : 0;
    }
  }
  if (threadIdx.x != 0) return;
  atomicMax(&found->kkt, kkt);
  atomicAdd(&found->inner, inner);
  atomicOr(&found->changed, changed);
}

extern "C" cudaError_t pd_gpu_newton_solve(const struct pd_newton_job *job,
                                           const struct pd_gpu_newton_rows *rows,
                                           unsigned long long *next,
                                           struct pd_gpu_newton_found *found, cudaStream_t stream) {
  size_t bytes = rows->scratch != nullptr ? 0 : rows->shape.numbers * sizeof(double);
  uint64_t blocks = (uint64_t)rows->blocks;
  int each = 1;
  cudaError_t code =
      cudaFuncSetAttribute(newton_rows, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  if (code == cudaSuccess && rows->scratch == nullptr)
    code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, newton_rows, rows->shape.threads,
                                                         bytes);
  if (code != cudaSuccess) return code;
  if (rows->scratch == nullptr) blocks = (uint64_t)(each > 0 ? each : 1) * rows->processors;
  if (blocks > job->rows) blocks = job->rows;
  if (blocks == 0) return cudaSuccess;
  uint64_t at_once = job->rows / (blocks * TURNS);
  if (at_once < 1) at_once = 1;
  if (at_once > MOST_AT_ONCE) at_once = MOST_AT_ONCE;
  newton_rows<<<(unsigned)blocks, rows->shape.threads, bytes, stream>>>(*job, *rows, next,
                                                                        (int)at_once, found);
  return cudaGetLastError();
}

/* ---- where rows begin --------------------------------------------------------------------- */

static __device__ uint64_t row_of_place(const pd_gpu_newton_places &places, uint64_t q) {
  uint64_t p = places.order != nullptr ? places.order[q] : q;
  return (places.plane[p] >> places.shift) & places.mask;
}

static __global__ void __launch_bounds__(MOST_THREADS)
    newton_find_rows(const __grid_constant__ pd_gpu_newton_places places) {
  uint64_t q = blockIdx.x * (uint64_t)MOST_THREADS + threadIdx.x;
  if (q >= places.nnz) return;
  uint64_t row = row_of_place(places, q);
  if (q == 0 || row_of_place(places, q - 1) != row) places.first[row] = q;
  if (q + 1 == places.nnz || row_of_place(places, q + 1) != row) places.end[row] = q + 1;
}

extern "C" cudaError_t pd_gpu_newton_find_rows(const struct pd_gpu_newton_places *places,
                                               cudaStream_t stream) {
  uint64_t blocks = (places->nnz + MOST_THREADS - 1) / MOST_THREADS;
  if (blocks == 0) return cudaSuccess;
  if (blocks > 0x7fffffffu) return cudaErrorInvalidConfiguration;
  newton_find_rows<<<(unsigned)blocks, MOST_THREADS, 0, stream>>>(*places);
  return cudaGetLastError();
}
