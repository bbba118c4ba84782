/* Two passes over the rows of a factor that bring it to its normal form: one looks at norms and
 * largest entries of columns, one scales and moves the columns. A block's threads lie side by side
 * over the columns, as many as the next power of two, and take rows in turn. */
#include "device/cuda/cuda_linalg_device.cuh"

namespace {

enum { THREADS = 512, BLOCKS = 264, AT_ONCE = 4 };

/* What has been found in a column: the sum of squares, and the entry of largest magnitude with its
 * row, of equal ones the first. */
struct Found {
  double square, peak;
  uint64_t row;
};

__device__ void join(Found &found, const Found &other) {
  double mine = fabs(found.peak), its = fabs(other.peak);
  found.square += other.square;
  if (its > mine || (its == mine && other.row < found.row)) {
    found.peak = other.peak;
    found.row = other.row;
  }
}

__device__ void see(Found &found, double value, double scaled, uint64_t row) {
  found.square += scaled * scaled;
  if (fabs(value) > fabs(found.peak)) {
    found.peak = value;
    found.row = row;
  }
}

/* Numbers that a block leaves of each column. */
enum { SQUARE, PEAK, ROW, NUMBERS };

template <typename T>
__global__ void __launch_bounds__(THREADS)
    look(const __grid_constant__ pd_gpu_norms job, unsigned width) {
  __shared__ Found of[THREADS];
  const pd_gpu_matrix &x = job.x;
  unsigned c = threadIdx.x % width, lines = THREADS / width;
  uint64_t row = x.rows * blockIdx.x / gridDim.x + threadIdx.x / width;
  uint64_t end = x.rows * (blockIdx.x + 1) / gridDim.x;
  Found found = {0, 0, UINT64_MAX};
  if (c < (unsigned)job.count) {
    const T *column = static_cast<const T *>(x.data) + job.first + c;
    double one = job.one[c], other = job.other[c];
#pragma unroll AT_ONCE
    for (; row < end; row += lines) {
      double value = (double)column[row * x.stride];
      see(found, value, value * one * other, row);
    }
  }
  of[threadIdx.x] = found;
  __syncthreads();
  if (threadIdx.x >= (unsigned)job.count) return;
  for (unsigned line = 1; line < lines; ++line)
    join(found, of[line * width + c]);
  double *to = job.parts + ((size_t)blockIdx.x * (unsigned)job.count + c) * NUMBERS;
  to[SQUARE] = found.square;
  to[PEAK] = found.peak;
  to[ROW] = (double)found.row;
}

/* A thread per column adds up what the blocks have left, in their order. */
__global__ void join_norms(const double *parts, int blocks, int count, double *out) {
  int c = (int)threadIdx.x;
  if (c >= count) return;
  Found found = {0, 0, UINT64_MAX};
  for (int b = 0; b < blocks; ++b) {
    const double *from = parts + ((size_t)b * (unsigned)count + (unsigned)c) * NUMBERS;
    join(found, {from[SQUARE], from[PEAK], (uint64_t)from[ROW]});
  }
  out[c] = sqrt(found.square);
  out[count + c] = found.peak;
}

/* `form`: of each column the place it comes from, two powers of two, and a divisor. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    form_rows(pd_gpu_matrix x, pd_gpu_matrix to, const double *form, unsigned width) {
  unsigned lines = THREADS / width;
  uint64_t step = (uint64_t)gridDim.x * lines;
  for (unsigned k = threadIdx.x % width; k < (unsigned)x.rank; k += width) {
    const double *by = form + (size_t)k * PD_GPU_FORM;
    const T *from = static_cast<const T *>(x.data) + (uint64_t)by[0];
    T *out = static_cast<T *>(to.data) + k;
    double one = by[1], other = by[2], divided = by[3];
#pragma unroll AT_ONCE
    for (uint64_t row = (uint64_t)blockIdx.x * lines + threadIdx.x / width; row < x.rows;
         row += step)
      out[row * to.stride] = (T)((double)from[row * x.stride] * one * other / divided);
  }
}

/* The least power of two that is no less than a number of columns, up to a warp's lanes or two. */
unsigned width_of(int columns) {
  unsigned width = 1;
  while (width < (unsigned)columns && width < PD_GPU_NORM_COLUMNS)
    width *= 2;
  return width;
}

unsigned blocks_for(uint64_t rows, unsigned width) {
  uint64_t wanted = rows * width / (THREADS * AT_ONCE) + 1;
  return wanted < BLOCKS ? (unsigned)wanted : (unsigned)BLOCKS;
}

} // namespace

extern "C" cudaError_t pd_gpu_column_norms(const struct pd_gpu_norms *job, double *out,
                                           cudaStream_t stream) {
  unsigned width = width_of(job->count), blocks = blocks_for(job->x.rows, width);
  if (job->x.wide)
    look<double><<<blocks, THREADS, 0, stream>>>(*job, width);
  else
    look<float><<<blocks, THREADS, 0, stream>>>(*job, width);
  join_norms<<<1, PD_GPU_NORM_COLUMNS, 0, stream>>>(job->parts, (int)blocks, job->count, out);
  return cudaGetLastError();
}

extern "C" cudaError_t pd_gpu_form_columns(struct pd_gpu_matrix x, struct pd_gpu_matrix to,
                                           const double *form, cudaStream_t stream) {
  unsigned width = width_of(x.rank), blocks = 4 * blocks_for(x.rows, width);
  if (x.wide)
    form_rows<double><<<blocks, THREADS, 0, stream>>>(x, to, form, width);
  else
    form_rows<float><<<blocks, THREADS, 0, stream>>>(x, to, form, width);
  return cudaGetLastError();
}
