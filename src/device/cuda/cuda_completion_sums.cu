/* Steps of completion on a GPU that take an observation at a time: the order of a mode's rows, the
 * entries of one component (CCD++), and the sums that tell how well a model describes observations.
 * Each sum is that of a fixed number of blocks, or of a row's block, whose threads take
 * observations by turns and add up what they have in the order of a tree; so the bits are always
 * the same. */
#include "device/cuda/cuda_completion_device.cuh"
#include <math.h>

enum { THREADS = 256, LANES = 8, GROUPS = THREADS / LANES, ROW_THREADS = 64 };
enum { BLOCKS = PD_GPU_COMPLETION_BLOCKS };

/* Adds up two numbers of all threads of a block; all know the sums. `room` holds as many pairs. */
template <int COUNT> __device__ static void add_up_block(double &a, double &b, double (*room)[2]) {
  int thread = (int)threadIdx.x;
  __syncthreads();
  room[thread][0] = a;
  room[thread][1] = b;
  for (int half = COUNT / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) {
      room[thread][0] += room[thread + half][0];
      room[thread][1] += room[thread + half][1];
    }
  }
  __syncthreads();
  a = room[0][0];
  b = room[0][1];
}

static unsigned blocks_for(uint64_t count, int threads) {
  uint64_t wanted = (count + (uint64_t)threads - 1) / (uint64_t)threads, most = 1 << 16;
  return (unsigned)(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

/* ---- order ---------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(THREADS)
    make_keys(const uint32_t *index, uint64_t count, uint64_t *keys, uint64_t *places) {
  for (uint64_t q = (uint64_t)blockIdx.x * THREADS + threadIdx.x; q < count;
       q += (uint64_t)gridDim.x * THREADS) {
    keys[q] = index[q];
    places[q] = q;
  }
}

static __global__ void __launch_bounds__(THREADS)
    gather(const uint32_t *from, const uint64_t *place, uint64_t count, uint32_t *to) {
  for (uint64_t p = (uint64_t)blockIdx.x * THREADS + threadIdx.x; p < count;
       p += (uint64_t)gridDim.x * THREADS)
    to[p] = from[place[p]];
}

extern "C" cudaError_t pd_gpu_completion_keys(const uint32_t *index, uint64_t count, uint64_t *keys,
                                              uint64_t *places, cudaStream_t stream) {
  make_keys<<<blocks_for(count, THREADS), THREADS, 0, stream>>>(index, count, keys, places);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_completion_gather(const uint32_t *from, const uint64_t *place,
                                                uint64_t count, uint32_t *to, cudaStream_t stream) {
  gather<<<blocks_for(count, THREADS), THREADS, 0, stream>>>(from, place, count, to);
  return cudaGetLastError();
}

/* ---- components ----------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(THREADS)
    copy_columns(const __grid_constant__ pd_gpu_completion_column job, bool back) {
  uint64_t step = (uint64_t)gridDim.x * THREADS;
  for (int n = 0; n < job.model.order; ++n)
    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < job.model.rows[n];
         i += step) {
      double *entry = job.model.factor[n] + i * (uint64_t)job.model.columns + job.r;
      if (back)
        *entry = job.column[n][i];
      else
        job.column[n][i] = *entry;
    }
}

static __global__ void __launch_bounds__(THREADS)
    shift_residuals(const __grid_constant__ pd_gpu_completion_column job, double sign) {
  uint64_t step = (uint64_t)gridDim.x * THREADS;
  for (uint64_t q = (uint64_t)blockIdx.x * THREADS + threadIdx.x; q < job.seen.count; q += step) {
    double product = sign * job.column[job.mode][job.seen.cell[job.mode][q]];
    for (int n = 0; n < job.model.order && !job.bias; ++n)
      if (n != job.mode) product *= job.column[n][job.seen.cell[n][q]];
    job.residual[q] += product;
  }
}

/* This thread's part of the sums of w h e and w h^2 over observations of a row. */
__device__ static void add_up_entries(const pd_gpu_completion_column &job, uint64_t first,
                                      uint64_t count, double &slope, double &square) {
  for (uint64_t p = first + threadIdx.x; p < first + count; p += ROW_THREADS) {
    uint64_t q = job.order.place != nullptr ? job.order.place[p] : p;
    double h = 1;
    for (int n = 0; n < job.model.order && !job.bias; ++n)
      if (n != job.mode) h *= job.column[n][job.order.index[n][p]];
    double weighted = job.seen.weight != nullptr ? job.seen.weight[q] * h : h;
    slope += weighted * job.residual[q];
    square += weighted * h;
  }
}

static __global__ void __launch_bounds__(ROW_THREADS)
    sum_column_pieces(const __grid_constant__ pd_gpu_completion_column job) {
  __shared__ double room[ROW_THREADS][2];
  const pd_gpu_piece &piece = job.order.piece[blockIdx.x];
  double slope = 0, square = 0;
  add_up_entries(job, piece.first, piece.count, slope, square);
  add_up_block<ROW_THREADS>(slope, square, room);
  if (threadIdx.x != 0) return;
  job.sums[2 * (size_t)blockIdx.x] = slope;
  job.sums[2 * (size_t)blockIdx.x + 1] = square;
}

static __global__ void __launch_bounds__(ROW_THREADS)
    solve_column(const __grid_constant__ pd_gpu_completion_column job) {
  __shared__ double room[ROW_THREADS][2];
  for (uint64_t i = blockIdx.x; i < job.model.rows[job.mode]; i += gridDim.x) {
    uint64_t first = job.order.start[i], count = job.order.start[i + 1] - first;
    uint64_t place = find_long_row(job.order, i);
    double slope = 0, square = 0;
    if (place == job.order.long_rows) {
      add_up_entries(job, first, count, slope, square);
    } else {
      uint64_t end = job.order.first_piece[place + 1];
      for (uint64_t k = job.order.first_piece[place] + threadIdx.x; k < end; k += ROW_THREADS) {
        slope += job.sums[2 * k];
        square += job.sums[2 * k + 1];
      }
    }
    add_up_block<ROW_THREADS>(slope, square, room);
    if (threadIdx.x != 0) continue;
    double *x = &job.column[job.mode][i];
    square += ridge_of(job.model, job.bias, count);
    if (count == 0)
      *x = 0;
    else if (square > 0)
      *x = slope / square;
    if ((job.model.nonnegative >> job.mode & 1) && !job.bias && *x < 0) *x = 0;
  }
}

extern "C" cudaError_t pd_gpu_completion_copy(const struct pd_gpu_completion_column *job, int back,
                                              cudaStream_t stream) {
  uint64_t longest = 1;
  for (int n = 0; n < job->model.order; ++n)
    if (job->model.rows[n] > longest) longest = job->model.rows[n];
  copy_columns<<<blocks_for(longest, THREADS), THREADS, 0, stream>>>(*job, back != 0);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_completion_shift(const struct pd_gpu_completion_column *job,
                                               double sign, cudaStream_t stream) {
  shift_residuals<<<blocks_for(job->seen.count, THREADS), THREADS, 0, stream>>>(*job, sign);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_completion_solve_column(const struct pd_gpu_completion_column *job,
                                                      cudaStream_t stream) {
  uint64_t rows = job->model.rows[job->mode], most = 1 << 30;
  if (job->order.pieces > 0)
    sum_column_pieces<<<(unsigned)job->order.pieces, ROW_THREADS, 0, stream>>>(*job);
  cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  solve_column<<<(unsigned)(rows < most ? rows : most), ROW_THREADS, 0, stream>>>(*job);
  return cudaGetLastError();
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* The model at an observation, and the magnitudes of what was added up, known to all lanes of the
 * group: they take its columns by turns. */
__device__ static void model_at_cell(const pd_gpu_completed &model, const pd_gpu_observations &o,
                                     uint64_t q, int lane, double &sum, double &size) {
  for (int r = lane; r < model.rank; r += LANES) {
    double product = 1;
    for (int n = 0; n < model.order; ++n)
      product *= model.factor[n][(size_t)o.cell[n][q] * model.columns + r];
    sum += product;
    size += fabs(product);
  }
  for (int n = lane; n < model.order && model.columns > model.rank; n += LANES) {
    double bias = model.factor[n][(size_t)o.cell[n][q] * model.columns + model.rank];
    sum += bias;
    size += fabs(bias);
  }
  for (int step = LANES / 2; step > 0; step /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, step);
    size += __shfl_xor_sync(0xffffffffu, size, step);
  }
}

static __global__ void __launch_bounds__(THREADS)
    compare(const __grid_constant__ pd_gpu_completed model,
            const __grid_constant__ pd_gpu_observations o, double shift, double *residual,
            double *partial) {
  __shared__ double room[THREADS][2];
  int lane = (int)threadIdx.x % LANES, group = (int)threadIdx.x / LANES;
  double loss = 0, magnitudes = 0;
  for (uint64_t first = (uint64_t)blockIdx.x * GROUPS; first < o.count;
       first += (uint64_t)BLOCKS * GROUPS) {
    bool there = first + group < o.count; /* all lanes stay for the shuffles */
    uint64_t q = there ? first + group : 0;
    double sum = 0, size = 0;
    model_at_cell(model, o, q, lane, sum, size);
    if (!there || lane != 0) continue;
    double x = o.value[q] + shift, error = x - sum;
    double weight = o.weight != nullptr ? o.weight[q] : 1;
    size += fabs(x) + 2 * fabs(shift);
    if (residual != nullptr) residual[q] = error;
    loss += weight * (error * error);
    magnitudes += weight * (size * size);
  }
  add_up_block<THREADS>(loss, magnitudes, room);
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = loss;
  partial[BLOCKS + blockIdx.x] = magnitudes;
}

static __global__ void __launch_bounds__(THREADS)
    add_penalty(const __grid_constant__ pd_gpu_completed model, const uint64_t *start, int mode,
                double *partial) {
  __shared__ double room[THREADS][2];
  double sum = 0, none = 0;
  for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < model.rows[mode];
       i += (uint64_t)BLOCKS * THREADS) {
    const double *row = model.factor[mode] + i * (uint64_t)model.columns;
    uint64_t count = start[i + 1] - start[i];
    double square = 0;
    for (int r = 0; r < model.rank; ++r)
      square += row[r] * row[r];
    sum += ridge_of(model, false, count) * square;
    if (model.columns > model.rank)
      sum += ridge_of(model, true, count) * (row[model.rank] * row[model.rank]);
  }
  add_up_block<THREADS>(sum, none, room);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(THREADS) add_blocks(const double *partial, double *sums) {
  __shared__ double room[THREADS][2];
  double sum = 0, none = 0;
  for (int b = (int)threadIdx.x; b < BLOCKS; b += THREADS)
    sum += partial[(size_t)blockIdx.x * BLOCKS + b];
  add_up_block<THREADS>(sum, none, room);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

extern "C" cudaError_t pd_gpu_completion_compare(const struct pd_gpu_completed *model,
                                                 const struct pd_gpu_observations *o, double shift,
                                                 double *residual, double *partial,
                                                 cudaStream_t stream) {
  compare<<<BLOCKS, THREADS, 0, stream>>>(*model, *o, shift, residual, partial);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_completion_penalty(const struct pd_gpu_completed *model,
                                                 const uint64_t *start, int mode, double *partial,
                                                 cudaStream_t stream) {
  add_penalty<<<BLOCKS, THREADS, 0, stream>>>(*model, start, mode, partial);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_completion_add(const double *partial, int count, double *sums,
                                             cudaStream_t stream) {
  add_blocks<<<(unsigned)count, THREADS, 0, stream>>>(partial, sums);
  return cudaGetLastError();
}
