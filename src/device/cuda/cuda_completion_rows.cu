/* Least squares for every row of a factor, on a GPU. A block of threads takes a row. An observation
 * of the row gives a vector g: the elementwise product h of the other factors' rows, 1 for the
 * bias, and behind them the right-hand side, all times the root of the weight. The matrix of the
 * normal equations and their right-hand side are the upper triangle of G = sum of g g^T.
 *
 * G is divided into square tiles, and each thread keeps a tile in registers. The block puts the
 * vectors of some observations into shared memory, then every thread adds its tile's products.
 * Where there are more threads than tiles, they form slices, each of which takes every s-th
 * observation, and whose tiles are added in order at the end; where there are fewer, the
 * observations are gone through again. Pieces of long rows are summed so by blocks of their own
 * first, and the row's block adds them in order.
 *
 * Then the block solves the equations where the matrix lies, in shared memory or, if that is too
 * small, in global memory: below the diagonal is room for the Cholesky factor. */
#include "device/cuda/cuda_completion_device.cuh"
#include <float.h>
#include <math.h>

enum { MOST_SWEEPS = 200, TILES_SMALL = 15, LEAST_BATCH = 4, MOST_BATCH = 32, MODES = 16 };

/* How G is divided, and what shared memory holds: vectors of a batch of observations or partial
 * tiles of slices, then x, the right-hand side and reciprocals, then perhaps G. */
struct Shape {
  int tile, threads;
  int across, tiles; /* tiles in a row of G, and on and above its diagonal */
  int padded;        /* numbers in a row of G */
  int stride;        /* between rows where equations are solved: odd, for the banks */
  int slices, batch;
  int stage; /* numbers */
};

static Shape shape_of(int columns) {
  Shape shape;
  shape.tile = columns + 1 <= 4 * TILES_SMALL ? 4 : 8;
  shape.threads = shape.tile == 4 ? 128 : 256;
  shape.across = (columns + shape.tile) / shape.tile;
  shape.tiles = shape.across * (shape.across + 1) / 2;
  shape.padded = shape.across * shape.tile;
  shape.stride = shape.padded + 1;
  shape.slices = shape.tile == 4 ? shape.threads / shape.tiles : 1;
  shape.batch = 4096 / shape.padded;
  if (shape.batch > MOST_BATCH) shape.batch = MOST_BATCH;
  if (shape.batch < LEAST_BATCH) shape.batch = LEAST_BATCH;
  shape.stage = shape.batch * shape.padded;
  int join = shape.slices > 1 ? shape.threads * shape.tile * shape.tile : 0;
  if (shape.stage < join) shape.stage = join;
  return shape;
}

/* Where a tile lies: those of the first row of tiles come first. */
__device__ static void find_tile(int across, int tile, int &row, int &column) {
  row = 0;
  while (tile >= across - row) {
    tile -= across - row;
    ++row;
  }
  column = row + tile;
}

/* What the vectors of a batch are made from: where the other factors' rows begin, the roots of
 * weights, and the right-hand sides. */
struct Batch {
  unsigned long long row[MOST_BATCH * MODES];
  double root[MOST_BATCH], value[MOST_BATCH];
};

/* Looks up observations p, p + 1, ... of the mode's order. */
__device__ static void look_up_batch(const pd_gpu_completion_rows &job, const Shape &shape,
                                     uint64_t p, int count, Batch &batch) {
  int order = job.model.order;
  for (int e = (int)threadIdx.x; e < count * order; e += shape.threads) {
    int j = e / order, n = e % order;
    if (n != job.mode) {
      batch.row[e] = (unsigned long long)job.order.index[n][p + j] * job.model.columns;
      continue;
    }
    uint64_t q = job.order.place != nullptr ? job.order.place[p + j] : p + j;
    batch.value[j] = job.seen.value[q];
    batch.root[j] = job.seen.weight != nullptr ? sqrt(job.seen.weight[q]) : 1;
  }
}

/* Makes the vectors: a warp takes an observation, and its lanes take entries by turns. */
__device__ static void make_vectors(const pd_gpu_completion_rows &job, const Shape &shape,
                                    int count, const Batch &batch, double *vectors) {
  const pd_gpu_completed &model = job.model;
  bool biases = model.columns > model.rank;
  for (int j = (int)threadIdx.x / 32; j < count; j += shape.threads / 32)
    for (int r = (int)threadIdx.x % 32; r < shape.padded; r += 32) {
      bool right = r == model.columns, reads = r < model.rank || (right && biases);
      double entry = right ? batch.value[j] : r < model.columns ? 1 : 0;
      for (int n = 0; n < model.order && reads; ++n) {
        if (n == job.mode) continue;
        const double *row = model.factor[n] + batch.row[j * model.order + n];
        if (right)
          entry -= row[model.rank];
        else
          entry *= row[r];
      }
      vectors[j * shape.padded + r] = entry * batch.root[j];
    }
}

/* Adds up the slices' tiles. */
__device__ static void join_slices(const Shape &shape, const double *stage, double *out,
                                   int stride) {
  int numbers = shape.tile * shape.tile;
  for (int e = (int)threadIdx.x; e < shape.tiles * numbers; e += shape.threads) {
    int tile = e % shape.tiles, k = e / shape.tiles, row, column;
    double sum = 0;
    for (int s = 0; s < shape.slices; ++s)
      sum += stage[k * shape.threads + s * shape.tiles + tile];
    find_tile(shape.across, tile, row, column);
    out[(size_t)(row * shape.tile + k / shape.tile) * stride + column * shape.tile +
        k % shape.tile] = sum;
  }
}

/* The products of the batch's vectors in one tile. */
template <int TILE>
__device__ static void add_products(const double *vectors, const Shape &shape, int count, int slice,
                                    int row, int column, double (&sum)[TILE * TILE]) {
  for (int j = slice; j < count; j += shape.slices) {
    const double *left = vectors + j * shape.padded + row * TILE;
    const double *right = vectors + j * shape.padded + column * TILE;
    double a[TILE], b[TILE];
#pragma unroll
    for (int k = 0; k < TILE; k += 2) { /* rows of tiles begin at multiples of 16 bytes */
      double2 from_left = *reinterpret_cast<const double2 *>(left + k);
      double2 from_right = *reinterpret_cast<const double2 *>(right + k);
      a[k] = from_left.x;
      a[k + 1] = from_left.y;
      b[k] = from_right.x;
      b[k + 1] = from_right.y;
    }
#pragma unroll
    for (int u = 0; u < TILE; ++u)
#pragma unroll
      for (int v = 0; v < TILE; ++v)
        sum[u * TILE + v] += a[u] * b[v];
  }
}

/* out = G of the observations [first, first + count), on and above the diagonal's tiles. */
template <int TILE>
__device__ static void add_up_observations(const pd_gpu_completion_rows &job, const Shape &shape,
                                           uint64_t first, uint64_t count, double *stage,
                                           double *out, int stride) {
  __shared__ Batch batch;
  int thread = (int)threadIdx.x, lanes = shape.slices > 1 ? shape.tiles : shape.threads;
  for (int begin = 0; begin < shape.tiles; begin += shape.threads) {
    int tile = begin + thread % lanes, slice = thread / lanes, row = 0, column = 0;
    bool active = tile < shape.tiles && slice < shape.slices;
    double sum[TILE * TILE] = {0};
    if (active) find_tile(shape.across, tile, row, column);
    for (uint64_t done = 0; done < count; done += (uint64_t)shape.batch) {
      int some = count - done < (uint64_t)shape.batch ? (int)(count - done) : shape.batch;
      __syncthreads();
      look_up_batch(job, shape, first + done, some, batch);
      __syncthreads();
      make_vectors(job, shape, some, batch, stage);
      __syncthreads();
      if (active) add_products<TILE>(stage, shape, some, slice, row, column, sum);
    }
    if (shape.slices > 1) {
      __syncthreads();
#pragma unroll
      for (int k = 0; k < TILE * TILE; ++k)
        if (active) stage[k * shape.threads + thread] = sum[k];
      __syncthreads();
      join_slices(shape, stage, out, stride);
    } else if (active) {
#pragma unroll
      for (int k = 0; k < TILE * TILE; ++k)
        out[(size_t)(row * TILE + k / TILE) * stride + column * TILE + k % TILE] = sum[k];
    }
  }
  __syncthreads();
}

__device__ static void add_up_pieces(const pd_gpu_completion_rows &job, const Shape &shape,
                                     uint64_t place, double *out) {
  size_t numbers = (size_t)shape.padded * shape.padded;
  uint64_t first = job.order.first_piece[place], end = job.order.first_piece[place + 1];
  for (int e = (int)threadIdx.x; e < (int)numbers; e += shape.threads) {
    int row = e / shape.padded, column = e % shape.padded;
    if (row / shape.tile > column / shape.tile) continue;
    double sum = 0;
    for (uint64_t k = first; k < end; ++k)
      sum += job.sums[k * numbers + e];
    out[(size_t)row * shape.stride + column] = sum;
  }
  __syncthreads();
}

/* The equations of a row: `matrix` has them on and above its diagonal. */
struct System {
  double *matrix, *x, *right, *inverse;
  int size, stride, threads;
};

/* Cholesky's method for the matrix with `added` on its diagonal, a column after the other; false:
 * a pivot is no more than rounding. */
__device__ static bool factor_system(const System &system, double added, double limit) {
  __shared__ bool failed;
  int stride = system.stride;
  for (int s = 0; s < system.size; ++s) {
    const double *line = system.matrix + (size_t)s * stride;
    for (int r = s + (int)threadIdx.x; r < system.size; r += system.threads) {
      double *row = system.matrix + (size_t)r * stride;
      double sum = line[r] + (r == s ? added : 0);
      for (int k = 0; k < s; ++k)
        sum -= row[k] * line[k];
      if (r > s) {
        row[s] = sum;
        continue;
      }
      failed = !(sum / (line[s] + added) > limit);
      system.inverse[s] = 1 / sqrt(sum);
    }
    __syncthreads();
    if (failed) return false;
    for (int r = s + 1 + (int)threadIdx.x; r < system.size; r += system.threads)
      system.matrix[(size_t)r * stride + s] *= system.inverse[s];
    __syncthreads();
  }
  return true;
}

/* x = (L L^T)^-1 right. */
__device__ static void substitute(const System &system) {
  int stride = system.stride, thread = (int)threadIdx.x;
  double *right = system.right;
  for (int s = 0; s < system.size; ++s) {
    double x = right[s] * system.inverse[s];
    for (int r = s + 1 + thread; r < system.size; r += system.threads)
      right[r] -= system.matrix[(size_t)r * stride + s] * x;
    __syncthreads();
  }
  for (int r = thread; r < system.size; r += system.threads)
    right[r] *= system.inverse[r];
  __syncthreads();
  for (int r = system.size - 1; r >= 0; --r) {
    double x = right[r] * system.inverse[r];
    for (int s = thread; s < r; s += system.threads)
      right[s] -= system.matrix[(size_t)r * stride + s] * x;
    if (thread == 0) system.x[r] = x;
    __syncthreads();
  }
}

/* A matrix that rounding leaves without full rank gets the least of the numbers rounding, 100
 * rounding, 10^4 rounding, ... times its largest diagonal entry that lets it be factored. Returns
 * whether it was so. */
__device__ static bool solve_system(const System &system) {
  double most = 0, rounding = system.size * DBL_EPSILON, added = 0;
  for (int r = 0; r < system.size; ++r)
    most = fmax(most, system.matrix[(size_t)r * system.stride + r]);
  double next = fmax(rounding * most, DBL_MIN);
  if (!(most > 0)) {
    for (int r = (int)threadIdx.x; r < system.size; r += system.threads)
      system.x[r] = 0;
    __syncthreads();
    return false;
  }
  while (!factor_system(system, added, rounding)) {
    if (!(next <= most) || isinf(most)) { /* the host sees it by the objective */
      for (int r = (int)threadIdx.x; r < system.size; r += system.threads)
        system.x[r] = nan("");
      __syncthreads();
      return true;
    }
    added = next;
    next *= 100;
    __syncthreads();
  }
  substitute(system);
  return added > 0;
}

/* Coordinate descent over x whose first `bounded` entries are at least 0, until nothing moves. The
 * slopes follow every change, and are computed anew for every sweep. */
__device__ static void solve_bounded_system(const System &system, int bounded, double *slope) {
  int size = system.size, stride = system.stride, thread = (int)threadIdx.x;
  for (int e = thread; e < size * size; e += system.threads)
    if (e / size > e % size)
      system.matrix[(size_t)(e / size) * stride + e % size] =
          system.matrix[(size_t)(e % size) * stride + e / size];
  __syncthreads();
  for (int k = 0; k < MOST_SWEEPS; ++k) {
    double moved = 0, most = 0;
    for (int s = thread; s < size; s += system.threads) {
      double sum = system.right[s];
      for (int r = 0; r < size; ++r)
        sum -= system.matrix[(size_t)s * stride + r] * system.x[r];
      slope[s] = sum;
    }
    __syncthreads();
    for (int r = 0; r < size; ++r) {
      const double *line = system.matrix + (size_t)r * stride;
      double before = system.x[r], next = line[r] > 0 ? before + slope[r] / line[r] : 0;
      if (r < bounded && next < 0) next = 0;
      double change = next - before;
      moved = fmax(moved, fabs(change));
      most = fmax(most, fabs(next));
      if (change == 0) continue; /* for all threads */
      __syncthreads();
      if (thread == 0) system.x[r] = next;
      for (int s = thread; s < size; s += system.threads)
        slope[s] -= line[s] * change;
      __syncthreads();
    }
    if ((most > 0 ? moved / most : moved) <= 4 * DBL_EPSILON) break;
    __syncthreads();
  }
}

__device__ static void solve_row(const pd_gpu_completion_rows &job, const System &system,
                                 uint64_t count, double *row) {
  const pd_gpu_completed &model = job.model;
  for (int r = (int)threadIdx.x; r < system.size; r += system.threads) {
    double *line = system.matrix + (size_t)r * system.stride;
    line[r] += ridge_of(model, r == model.rank, count);
    system.right[r] = line[system.size];
    system.x[r] = row[r];
  }
  __syncthreads();
  if (model.nonnegative >> job.mode & 1)
    solve_bounded_system(system, model.rank, system.inverse);
  else if (solve_system(system) && threadIdx.x == 0)
    atomicAdd(job.fallbacks, 1ull);
  __syncthreads();
  for (int r = (int)threadIdx.x; r < system.size; r += system.threads)
    row[r] = system.x[r];
  __syncthreads();
}

extern __shared__ __align__(16) double completion_room[];

template <int TILE, int THREADS>
static __global__ void __launch_bounds__(THREADS)
    sum_pieces(const __grid_constant__ pd_gpu_completion_rows job,
               const __grid_constant__ Shape shape) {
  const pd_gpu_piece &piece = job.order.piece[blockIdx.x];
  add_up_observations<TILE>(job, shape, piece.first, piece.count, completion_room,
                            job.sums + (size_t)blockIdx.x * shape.padded * shape.padded,
                            shape.padded);
}

template <int TILE, int THREADS>
static __global__ void __launch_bounds__(THREADS)
    solve_rows(const __grid_constant__ pd_gpu_completion_rows job,
               const __grid_constant__ Shape shape) {
  double *next = completion_room + shape.stage;
  System system = {.matrix = nullptr,
                   .x = next,
                   .right = next + shape.padded,
                   .inverse = next + 2 * shape.padded,
                   .size = job.model.columns,
                   .stride = shape.stride,
                   .threads = shape.threads};
  system.matrix = job.scratch == nullptr
                      ? next + 3 * shape.padded
                      : job.scratch + (size_t)blockIdx.x * shape.padded * shape.stride;
  for (uint64_t i = blockIdx.x; i < job.model.rows[job.mode]; i += gridDim.x) {
    uint64_t first = job.order.start[i], count = job.order.start[i + 1] - first;
    uint64_t place = find_long_row(job.order, i);
    double *row = job.model.factor[job.mode] + i * (uint64_t)job.model.columns;
    if (count == 0) {
      for (int r = (int)threadIdx.x; r < job.model.columns; r += shape.threads)
        row[r] = 0;
      continue;
    }
    if (place < job.order.long_rows)
      add_up_pieces(job, shape, place, system.matrix);
    else
      add_up_observations<TILE>(job, shape, first, count, completion_room, system.matrix,
                                shape.stride);
    solve_row(job, system, count, row);
  }
}

/* Bytes of shared memory of a block that solves rows, with or without their matrix. */
static int bytes_of(const Shape &shape, bool matrix) {
  return (int)sizeof(double) *
         (shape.stage + 3 * shape.padded + (matrix ? shape.padded * shape.stride : 0));
}

template <int TILE, int THREADS>
static cudaError_t start_rows(const pd_gpu_completion_rows &job, const Shape &shape,
                              cudaStream_t stream) {
  uint64_t rows = job.model.rows[job.mode], most = job.scratch != nullptr ? job.blocks : 1 << 30;
  int bytes = bytes_of(shape, job.scratch == nullptr);
  int stage = (int)sizeof(double) * shape.stage;
  cudaError_t code = cudaFuncSetAttribute(solve_rows<TILE, THREADS>,
                                          cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (code != cudaSuccess) return code;
  if (job.order.pieces > 0)
    sum_pieces<TILE, THREADS><<<(unsigned)job.order.pieces, THREADS, stage, stream>>>(job, shape);
  code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  solve_rows<TILE, THREADS>
      <<<(unsigned)(rows < most ? rows : most), THREADS, bytes, stream>>>(job, shape);
  return cudaGetLastError();
}

extern "C" uint64_t pd_gpu_completion_piece(int columns) {
  Shape shape = shape_of(columns);
  return (uint64_t)shape.padded * (uint64_t)shape.padded;
}

extern "C" uint64_t pd_gpu_completion_scratch(int columns, int shared_bytes, int blocks) {
  Shape shape = shape_of(columns);
  if (bytes_of(shape, true) + (int)sizeof(Batch) + 64 <= shared_bytes) return 0; /* 64: flags */
  return (uint64_t)shape.padded * (uint64_t)shape.stride * (uint64_t)blocks;
}

extern "C" cudaError_t pd_gpu_completion_solve_rows(const struct pd_gpu_completion_rows *job,
                                                    cudaStream_t stream) {
  Shape shape = shape_of(job->model.columns);
  return shape.tile == 4 ? start_rows<4, 128>(*job, shape, stream)
                         : start_rows<8, 256>(*job, shape, stream);
}
