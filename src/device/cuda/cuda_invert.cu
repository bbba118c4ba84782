/* The R x R normal equations on a GPU: inversion by Gauss and Jordan (stable without pivoting for
 * positive definite matrices; its pivots are the squares of Cholesky's). When a pivot is no more
 * than the damping asked for, the matrix with damping * its diagonal added is inverted instead;
 * when none is asked for and a pivot is rounding error, the symmetric eigendecomposition (cyclic
 * Jacobi) gives the pseudo-inverse. A small pivot that is neither is noted: what is multiplied by
 * the inverse in double is then refined (pd_gpu_rows::refines). */
#include "device/cuda/cuda_linalg_device.cuh"
#include <cfloat>
#include <cooperative_groups.h>

/* ---- the threads that share a matrix in global memory -----------------------------------------
 */

/* Those of one block. */
struct Block {
  typedef unsigned Index; /* of entries */
  __device__ Index first() const { return threadIdx.x; }
  __device__ Index step() const { return blockDim.x; }
  __device__ void sync() const { __syncthreads(); }
  __device__ bool any(bool mine) const { return __syncthreads_or(mine) != 0; }
};

/* Those of all blocks of a cooperative launch. `flag` is 0 between calls of any(). */
struct Grid {
  typedef size_t Index;
  cooperative_groups::grid_group all;
  double *flag;
  __device__ Index first() const { return (Index)all.thread_rank(); }
  __device__ Index step() const { return (Index)all.size(); }
  __device__ void sync() const { all.sync(); }
  __device__ bool any(bool mine) const {
    if (mine) *flag = 1;
    all.sync();
    bool found = *static_cast<volatile double *>(flag) != 0;
    all.sync();
    if (first() == 0) *flag = 0;
    all.sync();
    return found;
  }
};

/* ---- the rank-revealing way -------------------------------------------------------------------
 */

/* Pair number k of round `round` when m players meet in m - 1 rounds. */
__device__ static void pair_of(int m, int round, int k, int *p, int *q) {
  int a = k == 0 ? m - 1 : (round + k) % (m - 1);
  int b = (round + m - 1 - k) % (m - 1);
  *p = min(a, b);
  *q = max(a, b);
}

/* Rotates all pairs of a round. rotation: cosine and sine of each pair. */
template <typename TEAM, typename I = typename TEAM::Index>
__device__ static void rotate_round(const TEAM &team, I n, int m, int round, double *a,
                                    double *vectors, double *rotation) {
  for (I k = team.first(); k < (I)m / 2; k += team.step()) {
    int p, q;
    pair_of(m, round, (int)k, &p, &q);
    double cosine = 1, sine = 0;
    if (q < n && a[p * n + q] != 0) {
      double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
      double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
      cosine = 1 / sqrt(t * t + 1);
      sine = t * cosine;
    }
    rotation[2 * k] = cosine;
    rotation[2 * k + 1] = sine;
  }
  team.sync();
  for (int pass = 0; pass < 2; ++pass) { /* rows of a; then columns of a and vectors */
    for (I e = team.first(); e < (I)m / 2 * n; e += team.step()) {
      I k = e / n, j = e % n;
      int p, q;
      pair_of(m, round, (int)k, &p, &q);
      if (q >= n) continue;
      double c = rotation[2 * k], s = rotation[2 * k + 1];
      double *first = pass == 0 ? a + p * n + j : a + j * n + p;
      double *second = pass == 0 ? a + q * n + j : a + j * n + q;
      double x = *first, y = *second;
      *first = c * x - s * y;
      *second = s * x + c * y;
      if (pass == 0) continue;
      double *u = vectors + j * n;
      x = u[p], y = u[q];
      u[p] = c * x - s * y;
      u[q] = s * x + c * y;
    }
    team.sync();
  }
}

template <typename TEAM, typename I = typename TEAM::Index>
__device__ static bool converged(const TEAM &team, I n, const double *a) {
  bool large = false;
  for (I e = team.first(); e < n * n; e += team.step()) {
    I r = e / n, s = e % n;
    if (r < s && fabs(a[e]) > DBL_EPSILON * sqrt(fabs(a[r * n + r] * a[s * n + s])) &&
        fabs(a[e]) > DBL_MIN)
      large = true;
  }
  return !team.any(large);
}

/* inverse = v^+ with eigenvalues up to n * eps * the largest taken as zero. */
template <typename TEAM, typename I = typename TEAM::Index>
__device__ static void pseudo_invert(const TEAM &team, const double *v, I n, double *inverse,
                                     double *scratch, double *scalars) {
  double *a = scratch, *vectors = scratch + n * n, *rotation = scratch + 2 * n * n;
  int m = (int)(n + n % 2);
  for (I e = team.first(); e < n * n; e += team.step()) {
    a[e] = v[e];
    vectors[e] = e / n == e % n ? 1 : 0;
  }
  team.sync();
  for (int sweep = 0; sweep < 40; ++sweep) {
    for (int round = 0; round < m - 1; ++round)
      rotate_round(team, n, m, round, a, vectors, rotation);
    if (converged(team, n, a)) break;
  }
  double largest = 0, kept = 0;
  for (I k = 0; k < n; ++k)
    largest = fmax(largest, a[k * n + k]);
  double least = (double)n * DBL_EPSILON * largest;
  for (I e = team.first(); e < n * n; e += team.step()) {
    I r = e / n, s = e % n;
    double sum = 0;
    for (I k = 0; k < n; ++k)
      if (a[k * n + k] > least) sum += vectors[r * n + k] * vectors[s * n + k] / a[k * n + k];
    inverse[e] = sum;
  }
  if (team.first() != 0) return;
  for (I k = 0; k < n; ++k)
    kept += a[k * n + k] > least;
  scalars[PD_GPU_KEPT] = kept;
  scalars[PD_GPU_FALLBACKS] += 1;
  scalars[PD_GPU_REFINES] = 0;
}

__device__ static bool is_pivot(double pivot, double diagonal, int n, double damping) {
  return pivot > 0 && pivot > fmax(n * DBL_EPSILON, damping) * diagonal;
}

/* Above the cube root of eps, which is the CPU's limit too (linalg/cpu_solve.c), the inverse loses
 * nothing that shows in the fit. */
__device__ static bool loses(double pivot, double diagonal) { return pivot < 6.1e-6 * diagonal; }

__device__ static bool may_damp(int n, double damping) { return damping > n * DBL_EPSILON; }

/* Entry (i, j) of v + damping diag(v); a component whose columns are zero gets a one, which leaves
 * it zero. */
template <typename I>
__device__ static double damped_entry(const double *v, I n, I i, I j, double damping) {
  double value = v[i * n + j];
  if (i != j) return value;
  return value > 0 ? value * (1 + damping) : 1;
}

__device__ static void note_damping(double *scalars) {
  scalars[PD_GPU_DAMPED] += 1;
  scalars[PD_GPU_PULLS] = 1;
  scalars[PD_GPU_REFINES] = 0;
}

/* inverse = (v + damping diag(v))^-1 in global memory. `scratch` has 2 n numbers. */
template <typename TEAM, typename I = typename TEAM::Index>
__device__ static void invert_damped(const TEAM &team, const double *v, I n, double damping,
                                     double *inverse, double *scratch, double *scalars) {
  double *row = scratch, *column = scratch + n;
  for (I e = team.first(); e < n * n; e += team.step())
    inverse[e] = damped_entry(v, n, e / n, e % n, damping);
  for (I k = 0; k < n; ++k) {
    team.sync();
    for (I i = team.first(); i < n; i += team.step()) {
      row[i] = inverse[k * n + i];
      column[i] = inverse[i * n + k];
    }
    team.sync();
    double reciprocal = 1 / row[k];
    for (I e = team.first(); e < n * n; e += team.step()) {
      I i = e / n, j = e % n;
      double r = row[j] * reciprocal, c = column[i];
      if (i == k)
        inverse[e] = j == k ? reciprocal : r;
      else
        inverse[e] = j == k ? -c * reciprocal : inverse[e] - c * r;
    }
  }
  if (team.first() == 0) note_damping(scalars);
}

/* ---- up to 128: one block, elements in registers, row and column k through shared memory ------
 */

/* What all threads need to know of a pivot. Its owner finds that out, since a division in every
 * thread of the block would take most of the time. */
struct Pivot {
  double reciprocal;
  int good; /* it is not too small beside the diagonal */
};

/* Gauss and Jordan's elimination on the elements in `a`; false at a pivot that is too small beside
 * the diagonal. */
template <int B>
__device__ static bool eliminate_small(double a[B][B], const double *diagonal, int n,
                                       double damping, bool checks, double (*row)[B * 32],
                                       double (*column)[B * 32], Pivot *pivot, double *scalars) {
  int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  for (int k = 0; k < n; ++k) {
    int half = k & 1;
#pragma unroll
    for (int p = 0; p < B; ++p)
#pragma unroll
      for (int q = 0; q < B; ++q) {
        int i = ty + 32 * p, j = tx + 32 * q;
        if (i == k) row[half][j] = a[p][q];
        if (j == k) column[half][i] = a[p][q];
        if (i == k && j == k) {
          pivot[half].reciprocal = 1 / a[p][q];
          pivot[half].good = !checks || is_pivot(a[p][q], diagonal[k], n, damping);
          if (checks && loses(a[p][q], diagonal[k])) scalars[PD_GPU_REFINES] = 1;
        }
      }
    __syncthreads();
    if (!pivot[half].good) return false;
    double reciprocal = pivot[half].reciprocal;
#pragma unroll
    for (int p = 0; p < B; ++p)
#pragma unroll
      for (int q = 0; q < B; ++q) {
        int i = ty + 32 * p, j = tx + 32 * q;
        double r = row[half][j] * reciprocal, c = column[half][i];
        if (i == k)
          a[p][q] = j == k ? reciprocal : r;
        else
          a[p][q] = j == k ? -c * reciprocal : a[p][q] - c * r;
      }
  }
  return true;
}

/* The thread's elements of the normal equations, which it also makes where they are a product of
 * Gram matrices; false, in all threads, where one is not finite. */
template <int B>
__device__ static bool take_small(const pd_gpu_inversion &job, double (&a)[B][B],
                                  double *diagonal) {
  int n = job.rank;
  bool finite = true;
#pragma unroll
  for (int p = 0; p < B; ++p)
#pragma unroll
    for (int q = 0; q < B; ++q) {
      int i = threadIdx.x / 32 + 32 * p, j = threadIdx.x % 32 + 32 * q, e = i * n + j;
      a[p][q] = 0;
      if (i >= n || j >= n) continue;
      if (job.grams.count > 0) job.v[e] = gram_product(job.grams, e, i == j);
      a[p][q] = job.v[e];
      if (i == j) diagonal[i] = a[p][q];
      finite = finite && isfinite(a[p][q]);
    }
  return __syncthreads_or(!finite) == 0;
}

template <int B>
static __global__ void __launch_bounds__(1024)
    invert_small(const __grid_constant__ Batch<pd_gpu_inversion> batch) {
  const pd_gpu_inversion &job = batch.job[blockIdx.x];
  const double *v = job.v;
  double *inverse = job.inverse, *scratch = job.scratch, *scalars = job.scalars;
  double damping = job.damping;
  int n = job.rank;
  __shared__ double row[2][B * 32], column[2][B * 32], diagonal[B * 32];
  __shared__ Pivot pivot[2];
  int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  double a[B][B];
  if (!take_small<B>(job, a, diagonal)) {
    if (threadIdx.x == 0) scalars[PD_GPU_NOT_FINITE] = 1;
    return;
  }
  if (threadIdx.x == 0) scalars[PD_GPU_PULLS] = scalars[PD_GPU_REFINES] = 0;
  __syncthreads();
  if (!eliminate_small<B>(a, diagonal, n, damping, true, row, column, pivot, scalars)) {
    if (!may_damp(n, damping)) {
      pseudo_invert(Block(), v, (unsigned)n, inverse, scratch, scalars);
      return;
    }
#pragma unroll
    for (int p = 0; p < B; ++p)
#pragma unroll
      for (int q = 0; q < B; ++q) {
        int i = ty + 32 * p, j = tx + 32 * q;
        a[p][q] = i >= n || j >= n ? 0 : damped_entry(v, n, i, j, damping);
      }
    __syncthreads(); /* all have seen which pivot failed, and what is said of it is written */
    if (threadIdx.x == 0) note_damping(scalars);
    (void)eliminate_small<B>(a, diagonal, n, damping, false, row, column, pivot, scalars);
  }
#pragma unroll
  for (int p = 0; p < B; ++p)
#pragma unroll
    for (int q = 0; q < B; ++q) {
      int i = ty + 32 * p, j = tx + 32 * q;
      if (i < n && j < n) inverse[i * n + j] = a[p][q];
    }
}

/* ---- above: two launches per step -------------------------------------------------------------
 */

static __global__ void begin_large(const double *v, size_t n, double *a, double *scalars) {
  bool finite = true;
  for (size_t e = (size_t)blockIdx.x * blockDim.x + threadIdx.x; e < n * n;
       e += (size_t)gridDim.x * blockDim.x) {
    a[e] = v[e];
    finite = finite && isfinite(v[e]);
  }
  if (!finite) scalars[PD_GPU_NOT_FINITE] = 1;
  if (blockIdx.x == 0 && threadIdx.x == 0)
    scalars[PD_GPU_FAILED] = scalars[PD_GPU_PULLS] = scalars[PD_GPU_REFINES] = 0;
}

static __global__ void take_row(const double *v, size_t n, double damping, size_t k,
                                const double *a, double *row, double *column, double *scalars) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  row[i] = a[k * n + i];
  column[i] = a[i * n + k];
  if (i != k) return;
  if (!is_pivot(a[k * n + k], v[k * n + k], (int)n, damping)) scalars[PD_GPU_FAILED] = 1;
  if (loses(a[k * n + k], v[k * n + k])) scalars[PD_GPU_REFINES] = 1;
}

static __global__ void eliminate(size_t n, size_t k, double *a, const double *row,
                                 const double *column) {
  size_t j = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= n) return;
  double reciprocal = 1 / row[k], r = row[j] * reciprocal;
  for (size_t i = blockIdx.y; i < n; i += gridDim.y) {
    double c = column[i], *entry = a + i * n + j;
    if (i == k)
      *entry = j == k ? reciprocal : r;
    else
      *entry = j == k ? -c * reciprocal : *entry - c * r;
  }
}

/* Where a pivot was too small. All blocks share the work, which one alone would do for seconds. */
enum { FINISH_THREADS = 512 };
static __global__ void __launch_bounds__(FINISH_THREADS)
    finish_large(const double *v, size_t n, double damping, double *inverse, double *scratch,
                 double *scalars) {
  if (scalars[PD_GPU_NOT_FINITE] != 0 || scalars[PD_GPU_FAILED] == 0) return;
  Grid grid = {cooperative_groups::this_grid(), scratch + 2 * n * n + 2 * n + 1};
  if (may_damp((int)n, damping))
    invert_damped(grid, v, n, damping, inverse, scratch, scalars);
  else
    pseudo_invert(grid, v, n, inverse, scratch, scalars);
}

static cudaError_t invert_large(const pd_gpu_inversion &job, cudaStream_t stream) {
  const double *v = job.v;
  double *inverse = job.inverse, *scratch = job.scratch, *scalars = job.scalars;
  double damping = job.damping;
  size_t n = (size_t)job.rank;
  unsigned blocks = (unsigned)((n * n + 1023) / 1024);
  dim3 strips((unsigned)(n + 255) / 256, (unsigned)(n < 8192 ? (n + 3) / 4 : 2048));
  double *row = scratch, *column = scratch + n;
  begin_large<<<blocks, 256, 0, stream>>>(v, n, inverse, scalars);
  for (size_t k = 0; k < n; ++k) {
    take_row<<<strips.x, 256, 0, stream>>>(v, n, damping, k, inverse, row, column, scalars);
    eliminate<<<strips, 256, 0, stream>>>(n, k, inverse, row, column);
  }
  cudaError_t code = cudaMemsetAsync(scratch + 2 * n * n + 2 * n + 1, 0, sizeof *scratch, stream);
  if (code != cudaSuccess) return code;
  void *arguments[] = {&v, &n, &damping, &inverse, &scratch, &scalars};
  return cudaLaunchCooperativeKernel(finish_large, dim3((unsigned)job.processors),
                                     dim3(FINISH_THREADS), arguments, 0, stream);
}

/* Threads that invert matrices of one tile: a warp for each row of the largest, since all of a
 * block wait for each other at every pivot. */
static unsigned tile_threads(const Batch<pd_gpu_inversion> &batch, int count) {
  int most = 1;
  for (int k = 0; k < count; ++k)
    most = batch.job[k].rank > most ? batch.job[k].rank : most;
  return 32 * (unsigned)most;
}

/* Tiles of 32 columns of the normal equations that one block inverts; 5: more than that. */
static int inversion_kind(const pd_gpu_inversion &job) {
  return job.rank > PD_GPU_RANK_SMALL ? 5 : (job.rank + 31) / 32;
}

static cudaError_t invert_batch(const Batch<pd_gpu_inversion> &batch, int count, int kind,
                                cudaStream_t stream) {
  cudaError_t code = cudaSuccess;
  unsigned blocks = (unsigned)count;
  switch (kind) {
  case 1:
    invert_small<1><<<blocks, tile_threads(batch, count), 0, stream>>>(batch);
    break;
  case 2:
    invert_small<2><<<blocks, 1024, 0, stream>>>(batch);
    break;
  case 3:
    invert_small<3><<<blocks, 1024, 0, stream>>>(batch);
    break;
  case 4:
    invert_small<4><<<blocks, 1024, 0, stream>>>(batch);
    break;
  default:
    for (int k = 0; k < count && code == cudaSuccess; ++k)
      code = invert_large(batch.job[k], stream);
  }
  return code;
}

extern "C" cudaError_t pd_gpu_invert(const struct pd_gpu_inversion *jobs, int count,
                                     cudaStream_t stream) {
  cudaError_t first = cudaSuccess;
  cudaError_t last =
      launch_in_batches(jobs, count, inversion_kind,
                        [&](const Batch<pd_gpu_inversion> &batch, int together, int kind) {
                          cudaError_t code = invert_batch(batch, together, kind, stream);
                          if (first == cudaSuccess) first = code;
                        });
  return first != cudaSuccess ? first : last;
}
