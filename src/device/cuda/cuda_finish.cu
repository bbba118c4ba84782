/* What follows the passes over rows: sums of what their blocks have left, in the blocks' order, and
 * the scalars of the fit, from R x R matrices alone. */
#include "device/cuda/cuda_linalg_device.cuh"

namespace {

enum { THREADS = 1024, WARPS = THREADS / 32, COLUMNS = 1024 };

/* Sums over the columns of what DO(r, terms) finds of column r, by a block with a warp per column,
 * in an order that depends on the rank alone; the first warp knows them. */
template <int TERMS, typename DO>
__device__ void sum_columns(int rank, double (&total)[TERMS], const DO &act) {
  __shared__ double term[TERMS][COLUMNS];
  for (int t = 0; t < TERMS; ++t)
    total[t] = 0;
  for (int first = 0; first < rank; first += COLUMNS) {
    int count = rank - first < COLUMNS ? rank - first : COLUMNS;
    for (int r = (int)threadIdx.x / 32; r < count; r += WARPS) {
      double mine[TERMS];
      act(first + r, mine);
      if (threadIdx.x % 32 == 0)
        for (int t = 0; t < TERMS; ++t)
          term[t][r] = mine[t];
    }
    __syncthreads();
    if (threadIdx.x < 32)
      for (int t = 0; t < TERMS; ++t)
        total[t] += warp_sum(term[t], count, 1);
    __syncthreads();
  }
}

/* One over the norm of column r, for whom norms scale; else one. */
__device__ double norm_factor(const pd_gpu_finish &job, int r) {
  if (job.lambda == nullptr || job.scaling != SCALE_NORM_2) return 1;
  const double *entry = job.partial + (size_t)r * job.rank + r;
  double norm = sqrt(warp_sum(entry, job.parts, job.partial_step));
  return norm > 0 ? 1 / norm : 1;
}

/* A warp per entry of the upper triangle, which is mirrored. */
__device__ void finish_gram(const pd_gpu_finish &job) {
  size_t e = (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
  int rank = job.rank, r = (int)(e / rank), s = (int)(e % rank);
  if (r >= rank || r > s) return;
  double sum = warp_sum(job.partial + (size_t)r * rank + s, job.parts, job.partial_step);
  sum *= norm_factor(job, r) * norm_factor(job, s);
  if (threadIdx.x % 32 != 0) return;
  job.gram[(size_t)r * rank + s] = sum;
  job.gram[(size_t)s * rank + r] = sum;
}

/* What is stored is rounded, and so is its largest entry. */
__device__ double stored(const pd_gpu_finish &job, double number) {
  return job.wide ? number : (double)(float)number;
}

/* A warp per column; returns what it adds to INNER. */
__device__ double finish_column(const pd_gpu_finish &job, int r) {
  int rank = job.rank;
  size_t step = job.sums_step;
  double largest = warp_largest(job.sums + SUM_LARGEST * rank + r, job.blocks, step);
  if (job.lambda == nullptr) {
    if (threadIdx.x % 32 == 0) job.peak[r] = largest;
    return 0;
  }
  double by = norm_factor(job, r);
  double divided = divisor(job.scaling, job.weights[r], job.peak[r]);
  double inner = warp_sum(job.sums + SUM_INNER * rank + r, job.blocks, step);
  double square = warp_sum(job.sums + SUM_SQUARE * rank + r, job.blocks, step);
  if (threadIdx.x % 32 == 0) {
    double weight = job.scaling == SCALE_NORM_2 ? 1 / by : divided;
    job.lambda[r] = largest > 0 ? weight : 0;
    job.factor[r] = by;
    job.peak[r] = job.scaling == SCALE_NORM_2 ? stored(job, largest * by) : largest;
    job.squares[r] = square * (by * by);
  }
  return divided * inner;
}

/* Blocks whose warps finish Gram matrices of a rank; one more finishes the columns. */
__host__ __device__ unsigned gram_blocks(int rank) {
  return (unsigned)(((size_t)rank * rank + WARPS - 1) / WARPS);
}

__global__ void __launch_bounds__(THREADS)
    finish_update(const __grid_constant__ Batch<pd_gpu_finish> batch) {
  const pd_gpu_finish &job = batch.job[blockIdx.y];
  if (blockIdx.x < gram_blocks(job.rank)) return finish_gram(job);
  if (blockIdx.x > gram_blocks(job.rank)) return;
  double total[1];
  sum_columns<1>(job.rank, total, [&](int r, double *term) { *term = finish_column(job, r); });
  if (job.lambda != nullptr && threadIdx.x == 0) job.scalars[PD_GPU_INNER] = total[0];
}

/* Squared norm of component r but for its column in the last factor. */
__device__ double others_squared(const pd_gpu_grams &grams, const double *lambda, int rank, int r) {
  double square = lambda[r] * lambda[r];
  for (int n = 0; n < grams.count - 1; ++n)
    square *= grams.gram[n][(size_t)r * rank + r];
  return square;
}

/* A block per model, a warp per row of the product of all its Gram matrices. */
__global__ void __launch_bounds__(THREADS)
    model_norm(const __grid_constant__ Batch<pd_gpu_norm> batch) {
  const pd_gpu_norm &job = batch.job[blockIdx.x];
  const pd_gpu_grams &grams = job.grams;
  const double *peak = job.peak, *lambda = job.lambda, *squares = job.squares;
  double *scalars = job.scalars;
  int rank = job.rank;
  double total[5]; /* of the model, norms, largest entries, weights of zero, spreads */
  sum_columns<5>(rank, total, [&](int r, double *term) {
    double sum = 0;
    for (int s = (int)threadIdx.x % 32; s < rank; s += 32)
      sum += gram_product(grams, (size_t)r * rank + s, false) * lambda[s];
    for (int s = 16; s > 0; s /= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, s);
    double others = others_squared(grams, lambda, rank, r);
    term[0] = lambda[r] * sum;
    term[1] = sqrt(others * grams.gram[grams.count - 1][(size_t)r * rank + r]);
    term[2] = others * peak[r] * peak[r];
    term[3] = lambda[r] == 0 ? 1 : 0;
    term[4] = squares != nullptr ? others * squares[r] : 0;
  });
  if (threadIdx.x != 0) return;
  scalars[PD_GPU_MODEL] = total[0];
  scalars[PD_GPU_NORMS] = total[1];
  scalars[PD_GPU_PEAKS] = total[2];
  scalars[PD_GPU_CLIPPED] = total[3];
  if (squares != nullptr) scalars[PD_GPU_SPREAD] = total[4];
}

/* One block: a warp per column. */
__global__ void __launch_bounds__(THREADS)
    finish_spread(const __grid_constant__ pd_gpu_grams grams, const double *sums, int blocks,
                  const double *lambda, double *squares, int rank, double *scalars) {
  double total[1];
  sum_columns<1>(rank, total, [&](int r, double *term) {
    double square =
        warp_sum(sums + SUM_SQUARE * rank + r, blocks, PD_GPU_COLUMN_SUMS * (size_t)rank);
    if (threadIdx.x % 32 == 0) squares[r] = square;
    *term = others_squared(grams, lambda, rank, r) * square;
  });
  if (threadIdx.x == 0) scalars[PD_GPU_SPREAD] = total[0];
}

/* Where the scalars of runs are; a block per run. */
struct Sources {
  const double *from[PD_GPU_JOBS];
};
__global__ void gather_scalars(const __grid_constant__ Sources sources, double *to) {
  to[(size_t)blockIdx.x * PD_GPU_SCALARS + threadIdx.x] = sources.from[blockIdx.x][threadIdx.x];
}

} // namespace

extern "C" cudaError_t pd_gpu_finish_update(const struct pd_gpu_finish *jobs, int count,
                                            cudaStream_t stream) {
  auto alike = [](const pd_gpu_finish &) { return 0; };
  return launch_in_batches(jobs, count, alike,
                           [&](const Batch<pd_gpu_finish> &batch, int together, int) {
                             int rank = 1;
                             for (int k = 0; k < together; ++k)
                               rank = batch.job[k].rank > rank ? batch.job[k].rank : rank;
                             dim3 blocks(gram_blocks(rank) + 1, (unsigned)together);
                             finish_update<<<blocks, THREADS, 0, stream>>>(batch);
                           });
}

extern "C" cudaError_t pd_gpu_model_norm(const struct pd_gpu_norm *jobs, int count,
                                         cudaStream_t stream) {
  auto alike = [](const pd_gpu_norm &) { return 0; };
  return launch_in_batches(jobs, count, alike,
                           [&](const Batch<pd_gpu_norm> &batch, int together, int) {
                             model_norm<<<(unsigned)together, THREADS, 0, stream>>>(batch);
                           });
}

extern "C" cudaError_t pd_gpu_gather_scalars(const double *const *from, int count, double *to,
                                             cudaStream_t stream) {
  Sources sources = {};
  for (int k = 0; k < count; ++k)
    sources.from[k] = from[k];
  gather_scalars<<<(unsigned)count, PD_GPU_SCALARS, 0, stream>>>(sources, to);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_spread(const struct pd_gpu_grams *grams, const double *sums,
                                     int blocks, const double *lambda, double *squares, int rank,
                                     double *scalars, cudaStream_t stream) {
  finish_spread<<<1, THREADS, 0, stream>>>(*grams, sums, blocks, lambda, squares, rank, scalars);
  return cudaGetLastError();
}
