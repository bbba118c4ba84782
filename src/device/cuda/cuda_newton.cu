/* PDNR and PQNR on a GPU: a block of threads takes a few rows after the other, whoever is free the
 * next ones, and solves each as linalg/newton_block.h says, in shared memory where there is enough.
 * Short rows, whose products fit into a small block's memory, are a warp's; longer ones have more.
 * No row depends on another, and what is added up is whole numbers. */
#include "device/cuda/cuda_newton_launch.h"

/* Waits for all threads of the blocks that solve a row together; what they have written is seen.
 * All of the launch's blocks run at once. */
static __device__ void newton_wait(void *pointer, unsigned blocks) {
  pd_gpu_newton_gate *gate = static_cast<pd_gpu_newton_gate *>(pointer);
  __syncthreads();
  if (gate == nullptr) return;
  if (threadIdx.x == 0) {
    volatile unsigned *turn = &gate->turn;
    unsigned now = *turn;
    __threadfence();
    if (atomicAdd(&gate->arrived, 1u) == blocks - 1) {
      gate->arrived = 0;
      __threadfence();
      *turn = now + 1;
    } else {
      while (*turn == now)
        continue;
    }
    __threadfence();
  }
  __syncthreads();
}

#define PD_BLOCK_FUNCTION __device__ static inline
#define PD_BLOCK_SYNC(block) newton_wait((block)->gate, (block)->threads / blockDim.x)
#include "linalg/newton_block.h"

enum { MOST_THREADS = 512, MOST_AT_ONCE = 64, TURNS = 8 };

extern __shared__ __align__(16) double newton_memory[];

/* The next rows of the block, or of the blocks that solve a row together. */
static __device__ uint64_t newton_take_rows(const pd_newton_block &block, unsigned long long *next,
                                            int at_once) {
  __shared__ unsigned long long taken;
  pd_gpu_newton_gate *gate = static_cast<pd_gpu_newton_gate *>(block.gate);
  volatile unsigned long long *there = gate != nullptr ? &gate->taken : &taken;
  PD_BLOCK_SYNC(&block);
  if (block.thread == 0) *there = atomicAdd(next, (unsigned long long)at_once);
  PD_BLOCK_SYNC(&block);
  return *there;
}

static __global__ void __launch_bounds__(MOST_THREADS, 1)
    newton_rows(const __grid_constant__ pd_newton_job job,
                const __grid_constant__ pd_gpu_newton_rows rows, unsigned long long *next,
                int at_once, pd_gpu_newton_found *found) {
  int team = blockIdx.x / rows.team;
  double *memory =
      rows.scratch != nullptr ? rows.scratch + team * rows.shape.numbers : newton_memory;
  pd_newton_block block;
  unsigned long long kkt = 0, inner = 0, changed = 0;
  block.job = &job;
  block.shape = &rows.shape;
  block.room = newton_cut_up(&job, &rows.shape, memory);
  block.thread = (int)(blockIdx.x % rows.team * blockDim.x + threadIdx.x);
  block.threads = rows.shape.threads;
  block.gate = rows.team > 1 ? rows.gates + team : nullptr;
  for (;;) {
    uint64_t first = newton_take_rows(block, next, at_once);
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
  if (block.thread != 0) return;
  atomicMax(&found->kkt, kkt);
  atomicAdd(&found->inner, inner);
  atomicOr(&found->changed, changed);
}

/* Blocks of a launch: all run at once, as those of a team that wait for each other have to. */
static cudaError_t newton_blocks(const struct pd_gpu_newton_rows *rows, size_t bytes,
                                 uint64_t job_rows, unsigned *blocks) {
  int threads = rows->shape.threads / rows->team, each = 0;
  cudaError_t code =
      cudaFuncSetAttribute(newton_rows, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  if (code == cudaSuccess)
    code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, newton_rows, threads, bytes);
  if (code != cudaSuccess) return code;
  uint64_t teams = (uint64_t)each * (uint64_t)rows->processors / (uint64_t)rows->team;
  if (rows->scratch != nullptr && teams > (uint64_t)rows->teams) teams = (uint64_t)rows->teams;
  if (teams > job_rows) teams = job_rows;
  *blocks = (unsigned)(teams * (uint64_t)rows->team);
  return teams > 0 || job_rows == 0 ? cudaSuccess : cudaErrorInvalidConfiguration;
}

extern "C" cudaError_t pd_gpu_newton_solve(const struct pd_newton_job *job,
                                           const struct pd_gpu_newton_rows *rows,
                                           unsigned long long *next,
                                           struct pd_gpu_newton_found *found, cudaStream_t stream) {
  size_t bytes = rows->scratch != nullptr ? 0 : rows->shape.numbers * sizeof(double);
  unsigned blocks, threads = (unsigned)(rows->shape.threads / rows->team);
  cudaError_t code = newton_blocks(rows, bytes, job->rows, &blocks);
  if (code != cudaSuccess || blocks == 0) return code;
  uint64_t teams = blocks / (unsigned)rows->team, share = job->rows / (teams * TURNS);
  int at_once = share < 1 ? 1 : share > (uint64_t)MOST_AT_ONCE ? (int)MOST_AT_ONCE : (int)share;
  if (rows->team == 1) {
    newton_rows<<<blocks, threads, bytes, stream>>>(*job, *rows, next, at_once, found);
    return cudaGetLastError();
  }
  void *arguments[] = {const_cast<pd_newton_job *>(job), const_cast<pd_gpu_newton_rows *>(rows),
                       &next, &at_once, &found};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void *>(newton_rows), dim3(blocks),
                                     dim3(threads), arguments, bytes, stream);
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
