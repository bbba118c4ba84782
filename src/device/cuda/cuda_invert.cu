/* The R x R normal equations on a GPU: inversion by Gauss and Jordan (stable without pivoting for
 * positive definite matrices; its pivots are the squares of Cholesky's). When a pivot is no more
 * than the damping asked for, the matrix with damping * its diagonal added is inverted instead;
 * when none is asked for and a pivot is rounding error, the symmetric eigendecomposition (cyclic
 * Jacobi) gives the pseudo-inverse. */
#include "device/cuda/cuda_linalg_device.cuh"
#include <cfloat>

/* ---- the rank-revealing way: one block, matrices in global memory --------------------------- */

/* Pair number k of round `round` when m players meet in m - 1 rounds. */
__device__ static void pair_of(int m, int round, int k, int *p, int *q) {
  int a = k == 0 ? m - 1 : (round + k) % (m - 1);
  int b = (round + m - 1 - k) % (m - 1);
  *p = min(a, b);
  *q = max(a, b);
}

/* Rotates all pairs of a round. rotation: cosine and sine of each pair. */
__device__ static void rotate_round(int n, int m, int round, double *a, double *vectors,
                                    double *rotation) {
  for (int k = (int)threadIdx.x; k < m / 2; k += (int)blockDim.x) {
    int p, q;
    pair_of(m, round, k, &p, &q);
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
  __syncthreads();
  for (int pass = 0; pass < 2; ++pass) { /* rows of a; then columns of a and vectors */
    for (int e = (int)threadIdx.x; e < m / 2 * n; e += (int)blockDim.x) {
      int k = e / n, j = e % n, p, q;
      pair_of(m, round, k, &p, &q);
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
    __syncthreads();
  }
}

__device__ static bool converged(int n, const double *a) {
  int large = 0;
  for (int e = (int)threadIdx.x; e < n * n; e += (int)blockDim.x) {
    int r = e / n, s = e % n;
    if (r < s && fabs(a[e]) > DBL_EPSILON * sqrt(fabs(a[r * n + r] * a[s * n + s])) &&
        fabs(a[e]) > DBL_MIN)
      large = 1;
  }
  return __syncthreads_or(large) == 0;
}

/* inverse = v^+ with eigenvalues up to n * eps * the largest taken as zero. */
__device__ static void pseudo_invert(const double *v, int n, double *inverse, double *scratch,
                                     double *scalars) {
  double *a = scratch, *vectors = scratch + (size_t)n * n, *rotation = scratch + 2 * (size_t)n * n;
  int m = n + n % 2;
  for (int e = (int)threadIdx.x; e < n * n; e += (int)blockDim.x) {
    a[e] = v[e];
    vectors[e] = e / n == e % n ? 1 : 0;
  }
  __syncthreads();
  for (int sweep = 0; sweep < 40; ++sweep) {
    for (int round = 0; round < m - 1; ++round)
      rotate_round(n, m, round, a, vectors, rotation);
    if (converged(n, a)) break;
  }
  double largest = 0, kept = 0;
  for (int k = 0; k < n; ++k)
    largest = fmax(largest, a[k * n + k]);
  double least = n * DBL_EPSILON * largest;
  for (int e = (int)threadIdx.x; e < n * n; e += (int)blockDim.x) {
    int r = e / n, s = e % n;
    double sum = 0;
    for (int k = 0; k < n; ++k)
      if (a[k * n + k] > least) sum += vectors[r * n + k] * vectors[s * n + k] / a[k * n + k];
    inverse[e] = sum;
  }
  if (threadIdx.x != 0) return;
  for (int k = 0; k < n; ++k)
    kept += a[k * n + k] > least;
  scalars[PD_GPU_KEPT] = kept;
  scalars[PD_GPU_FALLBACKS] += 1;
}

__device__ static bool all_finite(const double *v, int n) {
  int bad = 0;
  for (int e = (int)threadIdx.x; e < n * n; e += (int)blockDim.x)
    bad |= !isfinite(v[e]);
  return __syncthreads_or(bad) == 0;
}

__device__ static bool is_pivot(double pivot, double diagonal, int n, double damping) {
  return pivot > 0 && pivot / diagonal > fmax(n * DBL_EPSILON, damping);
}

__device__ static bool may_damp(int n, double damping) { return damping > n * DBL_EPSILON; }

/* Entry (i, j) of v + damping diag(v); a component whose columns are zero gets a one, which leaves
 * it zero. */
__device__ static double damped_entry(const double *v, int n, int i, int j, double damping) {
  double value = v[(size_t)i * n + j];
  if (i != j) return value;
  return value > 0 ? value * (1 + damping) : 1;
}

__device__ static void note_damping(double *scalars) {
  if (threadIdx.x != 0) return;
  scalars[PD_GPU_DAMPED] += 1;
  scalars[PD_GPU_PULLS] = 1;
}

/* inverse = (v + damping diag(v))^-1 by one block, in global memory. `scratch` has 2 n numbers. */
__device__ static void invert_damped(const double *v, int n, double damping, double *inverse,
                                     double *scratch, double *scalars) {
  double *row = scratch, *column = scratch + n;
  for (int e = (int)threadIdx.x; e < n * n; e += (int)blockDim.x)
    inverse[e] = damped_entry(v, n, e / n, e % n, damping);
  for (int k = 0; k < n; ++k) {
    __syncthreads();
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) {
      row[i] = inverse[(size_t)k * n + i];
      column[i] = inverse[(size_t)i * n + k];
    }
    __syncthreads();
    double reciprocal = 1 / row[k];
    for (int e = (int)threadIdx.x; e < n * n; e += (int)blockDim.x) {
      int i = e / n, j = e % n;
      double r = row[j] * reciprocal, c = column[i];
      if (i == k)
        inverse[e] = j == k ? reciprocal : r;
      else
        inverse[e] = j == k ? -c * reciprocal : inverse[e] - c * r;
    }
  }
  note_damping(scalars);
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
                                       double (*column)[B * 32], Pivot *pivot) {
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

template <int B>
static __global__ void __launch_bounds__(1024)
    invert_small(const __grid_constant__ Batch<pd_gpu_inversion> batch) {
  const pd_gpu_inversion &job = batch.job[blockIdx.x];
  const pd_gpu_grams &grams = job.grams;
  double *v = job.v, *inverse = job.inverse, *scratch = job.scratch, *scalars = job.scalars;
  double damping = job.damping;
  int n = job.rank;
  __shared__ double row[2][B * 32], column[2][B * 32], diagonal[B * 32];
  __shared__ Pivot pivot[2];
  int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  double a[B][B];
  for (int e = (int)threadIdx.x; e < n * n; e += (int)blockDim.x) {
    if (grams.count > 0) v[e] = gram_product(grams, e, e / n == e % n);
    if (e / n == e % n) diagonal[e / n] = v[e];
  }
  __syncthreads();
  if (!all_finite(v, n)) {
    if (threadIdx.x == 0) scalars[PD_GPU_NOT_FINITE] = 1;
    return;
  }
  if (threadIdx.x == 0) scalars[PD_GPU_PULLS] = 0;
  for (int attempt = 0; attempt < 2; ++attempt) {
#pragma unroll
    for (int p = 0; p < B; ++p)
#pragma unroll
      for (int q = 0; q < B; ++q) {
        int i = ty + 32 * p, j = tx + 32 * q;
        a[p][q] = i >= n || j >= n ? 0
                  : attempt == 0   ? v[i * n + j]
                                   : damped_entry(v, n, i, j, damping);
      }
    if (eliminate_small<B>(a, diagonal, n, damping, attempt == 0, row, column, pivot)) break;
    if (!may_damp(n, damping)) {
      pseudo_invert(v, n, inverse, scratch, scalars);
      return;
    }
    __syncthreads();
    note_damping(scalars);
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

static __global__ void begin_large(const double *v, int n, double *a, double *scalars) {
  bool finite = true;
  for (int e = (int)(blockIdx.x * blockDim.x + threadIdx.x); e < n * n;
       e += (int)(gridDim.x * blockDim.x)) {
    a[e] = v[e];
    finite = finite && isfinite(v[e]);
  }
  if (!finite) scalars[PD_GPU_NOT_FINITE] = 1;
  if (blockIdx.x == 0 && threadIdx.x == 0) scalars[PD_GPU_FAILED] = scalars[PD_GPU_PULLS] = 0;
}

static __global__ void take_row(const double *v, int n, double damping, int k, const double *a,
                                double *row, double *column, double *scalars) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  row[i] = a[k * n + i];
  column[i] = a[i * n + k];
  if (i == k && !is_pivot(a[k * n + k], v[k * n + k], n, damping)) scalars[PD_GPU_FAILED] = 1;
}

static __global__ void eliminate(int n, int k, double *a, const double *row, const double *column) {
  double reciprocal = 1 / row[k];
  for (int e = (int)(blockIdx.x * blockDim.x + threadIdx.x); e < n * n;
       e += (int)(gridDim.x * blockDim.x)) {
    int i = e / n, j = e % n;
    double r = row[j] * reciprocal, c = column[i];
    if (i == k)
      a[e] = j == k ? reciprocal : r;
    else
      a[e] = j == k ? -c * reciprocal : a[e] - c * r;
  }
}

static __global__ void __launch_bounds__(1024)
    finish_large(const double *v, int n, double damping, double *inverse, double *scratch,
                 double *scalars) {
  if (scalars[PD_GPU_NOT_FINITE] != 0 || scalars[PD_GPU_FAILED] == 0) return;
  if (may_damp(n, damping))
    invert_damped(v, n, damping, inverse, scratch, scalars);
  else
    pseudo_invert(v, n, inverse, scratch, scalars);
}

static void invert_large(const pd_gpu_inversion &job, cudaStream_t stream) {
  const double *v = job.v;
  double *inverse = job.inverse, *scratch = job.scratch, *scalars = job.scalars;
  double damping = job.damping;
  int n = job.rank;
  unsigned blocks = (unsigned)((n * n + 1023) / 1024);
  double *row = scratch, *column = scratch + n;
  begin_large<<<blocks, 256, 0, stream>>>(v, n, inverse, scalars);
  for (int k = 0; k < n; ++k) {
    take_row<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(v, n, damping, k, inverse, row,
                                                              column, scalars);
    eliminate<<<blocks, 256, 0, stream>>>(n, k, inverse, row, column);
  }
  finish_large<<<1, 1024, 0, stream>>>(v, n, damping, inverse, scratch, scalars);
}

/* Tiles of 32 columns of the normal equations that one block inverts; 5: more than that. */
static int inversion_kind(const pd_gpu_inversion &job) {
  return job.rank > PD_GPU_RANK_SMALL ? 5 : (job.rank + 31) / 32;
}

static void invert_batch(const Batch<pd_gpu_inversion> &batch, int count, int kind,
                         cudaStream_t stream) {
  unsigned blocks = (unsigned)count;
  switch (kind) {
  case 1:
    return invert_small<1><<<blocks, 1024, 0, stream>>>(batch);
  case 2:
    return invert_small<2><<<blocks, 1024, 0, stream>>>(batch);
  case 3:
    return invert_small<3><<<blocks, 1024, 0, stream>>>(batch);
  case 4:
    return invert_small<4><<<blocks, 1024, 0, stream>>>(batch);
  default:
    for (int k = 0; k < count; ++k)
      invert_large(batch.job[k], stream);
  }
}

extern "C" cudaError_t pd_gpu_invert(const struct pd_gpu_inversion *jobs, int count,
                                     cudaStream_t stream) {
  return launch_in_batches(jobs, count, inversion_kind,
                           [&](const Batch<pd_gpu_inversion> &batch, int together, int kind) {
                             invert_batch(batch, together, kind, stream);
                           });
}
