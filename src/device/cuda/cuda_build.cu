/* Kernels that build storages: a thread per nonzero, row or word of bits, all arrays read and
 * written in order but for the gather, which reads nonzeros where the permutation says. */
#include "device/build_steps.h"
#include "device/cuda/cuda_build_launch.h"
#include "device/cuda/cuda_build_places.cuh"
#include "tensor/tuple_hash.h"
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

enum { CHUNK = 64, SHARED_COUNTS = 8192, COUNTING_BLOCKS = 2048 };

/* ---- arrays from the host -------------------------------------------------------------------- */

static __global__ void __launch_bounds__(THREADS)
    widen_halves(const uint16_t *from, uint64_t count, uint32_t *to) {
  uint64_t p = own_place();
  if (p < count) to[p] = from[p];
}

extern "C" cudaError_t pd_gpu_build_widen(const uint16_t *from, uint64_t count, uint32_t *to,
                                          cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(count, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks > 0) widen_halves<<<blocks, THREADS, 0, stream>>>(from, count, to);
  return cudaGetLastError();
}

/* ---- keys ------------------------------------------------------------------------------------ */

template <typename Key>
static __global__ void __launch_bounds__(THREADS)
    pack_keys(const __grid_constant__ struct pd_gpu_build_keys of, const uint32_t *permutation,
              uint64_t nnz, Key *keys) {
  uint64_t p = own_place();
  if (p >= nnz) return;
  uint64_t from = permutation == NULL ? p : permutation[p];
  keys[p] = (Key)pd_build_key_of(of.index, of.piece, of.pieces, of.table, from);
}

extern "C" cudaError_t pd_gpu_build_keys(const struct pd_gpu_build_keys *of,
                                         const uint32_t *permutation, uint64_t nnz, void *keys,
                                         cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(nnz, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks == 0) return cudaSuccess;
  if (of->key_bytes == 4)
    pack_keys<uint32_t>
        <<<blocks, THREADS, 0, stream>>>(*of, permutation, nnz, static_cast<uint32_t *>(keys));
  else
    pack_keys<uint64_t>
        <<<blocks, THREADS, 0, stream>>>(*of, permutation, nnz, static_cast<uint64_t *>(keys));
  return cudaGetLastError();
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Lanes with the same index add once for all of them: in a tensor sorted by the mode that is a
 * whole warp nearly always. The loop is the same for all lanes of a warp. */
static __device__ __forceinline__ void count_indices(const uint32_t *index, uint64_t nnz,
                                                     uint32_t *counts) {
  unsigned lane = threadIdx.x % WARP;
  uint64_t step = (uint64_t)gridDim.x * THREADS;
  for (uint64_t first = own_place() - lane; first < nnz; first += step) {
    bool mine = first + lane < nnz;
    unsigned active = __ballot_sync(ALL_LANES, mine);
    if (mine) {
      uint32_t i = index[first + lane];
      unsigned same = __match_any_sync(active, i);
      if (lane == (unsigned)(__ffs((int)same) - 1)) atomicAdd(&counts[i], (uint32_t)__popc(same));
    }
    __syncwarp();
  }
}

static __global__ void __launch_bounds__(THREADS)
    count_long(const uint32_t *index, uint64_t nnz, uint32_t *degree) {
  count_indices(index, nnz, degree);
}

/* Short modes: every block counts by itself first. */
static __global__ void __launch_bounds__(THREADS)
    count_short(const uint32_t *index, uint64_t nnz, uint32_t dim, uint32_t *degree) {
  __shared__ uint32_t counts[SHARED_COUNTS];
  for (uint32_t i = threadIdx.x; i < dim; i += THREADS)
    counts[i] = 0;
  __syncthreads();
  count_indices(index, nnz, counts);
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < dim; i += THREADS)
    if (counts[i] > 0) atomicAdd(&degree[i], counts[i]);
}

extern "C" cudaError_t pd_gpu_build_degrees(const uint32_t *index, uint64_t nnz, uint64_t dim,
                                            uint32_t *degree, cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(nnz, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks == 0) return cudaSuccess;
  if (blocks > COUNTING_BLOCKS) blocks = COUNTING_BLOCKS;
  if (dim <= SHARED_COUNTS)
    count_short<<<blocks, THREADS, 0, stream>>>(index, nnz, (uint32_t)dim, degree);
  else
    count_long<<<blocks, THREADS, 0, stream>>>(index, nnz, degree);
  return cudaGetLastError();
}

static __global__ void __launch_bounds__(THREADS)
    add_classes(const uint32_t *degree, uint64_t dim, unsigned long long *sums) {
  __shared__ unsigned long long own[PD_GPU_BUILD_SUMS];
  const unsigned last = PD_GPU_BUILD_SUMS - 1;
  uint64_t step = (uint64_t)gridDim.x * THREADS;
  if (threadIdx.x < PD_GPU_BUILD_SUMS) own[threadIdx.x] = 0;
  __syncthreads();
  for (uint64_t i = own_place(); i < dim; i += step) {
    uint32_t size = degree[i];
    if (size == 0) continue;
    int c = pd_build_class(size);
    atomicAdd(&own[c], 1ull);
    atomicAdd(&own[PD_GPU_BUILD_CLASSES + c], (unsigned long long)size);
    atomicMax(&own[last], (unsigned long long)size);
  }
  __syncthreads();
  if (threadIdx.x < last && own[threadIdx.x] > 0) atomicAdd(&sums[threadIdx.x], own[threadIdx.x]);
  if (threadIdx.x == last) atomicMax(&sums[last], own[last]);
}

extern "C" cudaError_t pd_gpu_build_classes(const uint32_t *degree, uint64_t dim, uint64_t *sums,
                                            cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(dim, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks == 0) return cudaSuccess;
  if (blocks > COUNTING_BLOCKS) blocks = COUNTING_BLOCKS;
  add_classes<<<blocks, THREADS, 0, stream>>>(degree, dim,
                                              reinterpret_cast<unsigned long long *>(sums));
  return cudaGetLastError();
}

/* ---- distinct tuples ---------------------------------------------------------------------------
 */

static __device__ __forceinline__ uint64_t tuple_term(const struct pd_gpu_build_ranks &of, int mode,
                                                      uint64_t p) {
  uint64_t index = of.index[mode][p];
  return of.sampled ? of.factor[mode] * index : pd_tuple_term(mode, index);
}

/* Lanes whose cells share a word set their bits at once: where nonzeros are sorted by these modes
 * that is most of a warp, whose lanes would wait for each other. */
static __global__ void __launch_bounds__(THREADS)
    mark_cells(const __grid_constant__ struct pd_gpu_build_cells of, uint32_t *bits) {
  uint64_t p = own_place(), cell = 0;
  unsigned active = __ballot_sync(ALL_LANES, p < of.nnz);
  if (p >= of.nnz) return;
  for (int k = 0; k < of.modes; ++k)
    cell = cell * of.dim[k] + of.index[k][p];
  uint32_t *word = bits + cell / 32, own = 1u << cell % 32;
  unsigned same = __match_any_sync(active, (unsigned long long)(cell / 32));
  unsigned first = (unsigned)__ffs((int)same) - 1;
#if __CUDA_ARCH__ >= 800
  own = __reduce_or_sync(same, own);
#else
  for (unsigned rest = same, mine = own; rest != 0; rest &= rest - 1)
    own |= __shfl_sync(same, mine, __ffs((int)rest) - 1);
#endif
  if (threadIdx.x % WARP == first && (*static_cast<volatile uint32_t *>(word) & own) != own)
    atomicOr(word, own);
}

extern "C" cudaError_t pd_gpu_build_cells(const struct pd_gpu_build_cells *of, uint32_t *bits,
                                          cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(of->nnz, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks > 0) mark_cells<<<blocks, THREADS, 0, stream>>>(*of, bits);
  return cudaGetLastError();
}

/* A register is read before it is raised: soon few tuples raise any. */
static __global__ void __launch_bounds__(THREADS)
    see_tuples(const __grid_constant__ struct pd_gpu_build_ranks of, uint32_t *registers) {
  uint64_t p = own_place(), total = 0;
  if (p >= of.nnz) return;
  for (int n = 0; n < of.modes; ++n)
    total += tuple_term(of, n, p);
  for (int n = 0; n < of.order; ++n) {
    if (!of.sampled || pd_tuple_drawn(total)) {
      uint64_t hash = pd_mix64(total);
      uint32_t *place = registers + (uint64_t)n * PD_TUPLE_REGISTERS + pd_tuple_register(hash);
      uint32_t rank = pd_tuple_rank(hash);
      if (*static_cast<volatile uint32_t *>(place) < rank) atomicMax(place, rank);
    }
    total += tuple_term(of, (n + of.modes) % of.order, p) - tuple_term(of, n, p);
  }
}

extern "C" cudaError_t pd_gpu_build_ranks(const struct pd_gpu_build_ranks *of, uint32_t *registers,
                                          cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(of->nnz, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks > 0) see_tuples<<<blocks, THREADS, 0, stream>>>(*of, registers);
  return cudaGetLastError();
}

/* ---- gathering ------------------------------------------------------------------------------- */

/* Elements that lie one behind the other have no word of 8 bytes in its place. */
static __device__ __forceinline__ void gather_value(const struct pd_gpu_build_gather &g, uint64_t p,
                                                    uint64_t from, bool real) {
  const uint32_t *narrow = static_cast<const uint32_t *>(g.values);
  uint32_t *to = static_cast<uint32_t *>(g.to_values);
  if (g.converts) {
    double x = !real                ? 0
               : g.value_bytes == 4 ? static_cast<const float *>(g.values)[from]
                                    : static_cast<const double *>(g.values)[from];
    pd_build_put_value(g.to_values, p, g.number, g.exponent, x);
  } else if (g.value_bytes == 4) {
    to[g.step == 0 ? p : p * (uint64_t)g.step] = real ? narrow[from] : 0;
  } else if (g.step == 0) {
    static_cast<uint64_t *>(g.to_values)[p] =
        real ? static_cast<const uint64_t *>(g.values)[from] : 0;
  } else {
    to[p * (uint64_t)g.step] = real ? narrow[2 * from] : 0;
    to[p * (uint64_t)g.step + 1] = real ? narrow[2 * from + 1] : 0;
  }
}

static __global__ void __launch_bounds__(THREADS)
    gather_nonzeros(const __grid_constant__ struct pd_gpu_build_gather g) {
  uint64_t p = own_place();
  if (p >= g.padded) return;
  bool real = p < g.nnz;
  uint64_t at = g.place == NULL || !real ? p : g.place[p];
  uint64_t from = !real ? 0 : g.permutation == NULL ? at : g.permutation[at];
  for (int k = 0; k < g.planes; ++k) {
    int first = g.first[k];
    uint64_t word =
        real ? pd_build_word(g.index, g.field + first, g.first[k + 1] - first, from) : 0;
    if ((g.wide >> k & 1) != 0)
      static_cast<uint64_t *>(g.plane[k])[p] = word;
    else
      static_cast<uint32_t *>(g.plane[k])[g.step == 0 ? p : p * (uint64_t)g.step] = (uint32_t)word;
  }
  if (g.to_values != NULL) gather_value(g, p, from, real);
  if (real && g.sorted != NULL) g.sorted[p] = g.output[from];
}

extern "C" cudaError_t pd_gpu_build_gather(const struct pd_gpu_build_gather *gather,
                                           cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(gather->padded, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks > 0) gather_nonzeros<<<blocks, THREADS, 0, stream>>>(*gather);
  return cudaGetLastError();
}

static __global__ void __launch_bounds__(THREADS)
    number_items(const __grid_constant__ struct pd_gpu_build_number of) {
  uint64_t p = own_place();
  if (p >= of.nnz) return;
  uint64_t from = of.permutation == NULL ? p : of.permutation[p];
  uint64_t item = of.item == NULL ? from : of.item[from];
  pd_build_put(of.words + item * (uint64_t)of.step, of.shift, of.bits, (uint32_t)p);
}

extern "C" cudaError_t pd_gpu_build_number_items(const struct pd_gpu_build_number *of,
                                                 cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(of->nnz, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks > 0) number_items<<<blocks, THREADS, 0, stream>>>(*of);
  return cudaGetLastError();
}

/* ---- runs ------------------------------------------------------------------------------------ */

struct run_begins {
  struct pd_gpu_build_runs of;
  __device__ bool operator()(uint32_t p) const {
    if (p == 0) return true;
    uint64_t here = of.permutation == NULL ? p : of.permutation[p];
    uint64_t before = of.permutation == NULL ? p - 1 : of.permutation[p - 1];
    return pd_build_apart(of.index, of.piece, of.pieces, here, before) != 0;
  }
};

extern "C" cudaError_t pd_gpu_build_runs(const struct pd_gpu_build_runs *of, uint32_t *start,
                                         uint64_t *runs, void *temporary, size_t *bytes,
                                         cudaStream_t stream) {
  if (of->nnz > INT32_MAX) return cudaErrorInvalidValue;
  struct run_begins begins = {*of};
  return cub::DeviceSelect::If(temporary, *bytes, thrust::counting_iterator<uint32_t>(0), start,
                               runs, (int)of->nnz, begins, stream);
}

static __global__ void __launch_bounds__(THREADS)
    find_runs(const uint32_t *start, uint32_t runs, uint64_t nnz, uint64_t unit, uint64_t count,
              uint32_t *run) {
  uint64_t c = own_place();
  if (c < count) run[c] = pd_build_run_at(start, runs, c * unit < nnz ? c * unit : nnz - 1);
}

extern "C" cudaError_t pd_gpu_build_runs_at(const uint32_t *start, uint32_t runs, uint64_t nnz,
                                            uint64_t unit, uint64_t count, uint32_t *run,
                                            cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(count, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks > 0) find_runs<<<blocks, THREADS, 0, stream>>>(start, runs, nnz, unit, count, run);
  return cudaGetLastError();
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct begins {
  const uint32_t *sorted;
  __device__ bool operator()(uint64_t p) const { return pd_build_begins(sorted, p) != 0; }
};

extern "C" cudaError_t pd_gpu_build_starts(const uint32_t *sorted, uint64_t nnz, uint64_t *start,
                                           uint64_t *rows, void *temporary, size_t *bytes,
                                           cudaStream_t stream) {
  if (nnz > INT32_MAX) return cudaErrorInvalidValue;
  struct begins begin = {sorted};
  return cub::DeviceSelect::If(temporary, *bytes, thrust::counting_iterator<uint64_t>(0), start,
                               rows, (int)nnz, begin, stream);
}

static __global__ void __launch_bounds__(THREADS)
    name_rows(const __grid_constant__ struct pd_gpu_build_rows of) {
  uint64_t r = own_place();
  if (r == 0) of.row_start[of.rows] = of.nnz;
  if (r >= of.rows) return;
  uint32_t id = of.sorted[of.row_start[r]];
  if (of.row_id != NULL) of.row_id[r] = id;
  if (of.used != NULL) atomicOr(&of.used[id / 32], 1u << id % 32);
}

static __global__ void __launch_bounds__(THREADS)
    name_chunks(const __grid_constant__ struct pd_gpu_build_rows of, uint64_t chunks) {
  uint64_t c = own_place();
  if (c > chunks) return;
  of.chunk_row[c] =
      (uint32_t)(c == chunks ? of.rows : pd_build_row_at(of.row_start, of.rows, c * CHUNK));
}

extern "C" cudaError_t pd_gpu_build_rows(const struct pd_gpu_build_rows *of, cudaStream_t stream) {
  uint64_t chunks = (of->nnz + CHUNK - 1) / CHUNK;
  unsigned blocks, chunk_blocks;
  if (!blocks_for(of->rows + 1, &blocks) || !blocks_for(chunks + 1, &chunk_blocks))
    return cudaErrorInvalidConfiguration;
  name_rows<<<blocks, THREADS, 0, stream>>>(*of);
  if (of->chunk_row != NULL) name_chunks<<<chunk_blocks, THREADS, 0, stream>>>(*of, chunks);
  return cudaGetLastError();
}

/* A warp has one word of each kind of bits. */
static __global__ void __launch_bounds__(THREADS)
    mark(const __grid_constant__ struct pd_gpu_build_marks of, uint64_t words) {
  uint64_t p = own_place(), word = p / WARP;
  if (word >= words) return;
  unsigned ends = __ballot_sync(ALL_LANES, pd_build_ends(of.sorted, of.nnz, p));
  unsigned runs =
      __ballot_sync(ALL_LANES, pd_build_starts_run(of.sorted, of.plane, of.outer_mask, of.planes,
                                                   of.permutation, of.nnz, p));
  if (p % WARP != 0) return;
  if (of.marks != NULL && p < of.nnz) {
    of.marks[2 * word] = ends;
    of.marks[2 * word + 1] = runs;
  }
  if (of.ends != NULL) of.ends[word] = ends;
}

extern "C" cudaError_t pd_gpu_build_marks(const struct pd_gpu_build_marks *of,
                                          cudaStream_t stream) {
  uint64_t words = of->nnz / WARP + 1; /* the last one may have no nonzeros */
  unsigned blocks;
  if (!blocks_for(words * WARP, &blocks)) return cudaErrorInvalidConfiguration;
  mark<<<blocks, THREADS, 0, stream>>>(*of, words);
  return cudaGetLastError();
}

static __global__ void __launch_bounds__(THREADS)
    write_rows_of(const uint64_t *row_start, const uint32_t *row_id, uint64_t rows, uint64_t nnz,
                  uint32_t *row) {
  uint64_t p = own_place();
  if (p >= nnz) return;
  uint64_t r = pd_build_row_at(row_start, rows, p);
  row[p] = row_id == NULL ? (uint32_t)r : row_id[r];
}

extern "C" cudaError_t pd_gpu_build_rows_of(const uint64_t *row_start, const uint32_t *row_id,
                                            uint64_t rows, uint64_t nnz, uint32_t *row,
                                            cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(nnz, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks > 0) write_rows_of<<<blocks, THREADS, 0, stream>>>(row_start, row_id, rows, nnz, row);
  return cudaGetLastError();
}

/* ---- tuples -----------------------------------------------------------------------------------
 */

static __global__ void __launch_bounds__(THREADS)
    mark_tuples(const __grid_constant__ struct pd_gpu_build_tuples of) {
  uint64_t p = own_place();
  if (p < of.nnz)
    of.begins[p] = p > 0 && pd_build_begins_tuple(of.index, of.modes, of.permutation, p) != 0;
}

extern "C" cudaError_t pd_gpu_build_number(const struct pd_gpu_build_tuples *of, void *temporary,
                                           size_t *bytes, cudaStream_t stream) {
  unsigned blocks;
  if (of->nnz > INT32_MAX || !blocks_for(of->nnz, &blocks)) return cudaErrorInvalidValue;
  if (temporary != NULL && blocks > 0) mark_tuples<<<blocks, THREADS, 0, stream>>>(*of);
  cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  return cub::DeviceScan::InclusiveSum(temporary, *bytes, of->begins, of->number, (int)of->nnz,
                                       stream);
}

static __global__ void __launch_bounds__(THREADS)
    name_tuples(const __grid_constant__ struct pd_gpu_build_tuples of) {
  uint64_t p = own_place();
  if (p >= of.nnz) return;
  uint64_t from = of.permutation == NULL ? p : of.permutation[p];
  uint32_t number = of.number[p];
  of.tuple_of[from] = number;
  if (p > 0 && of.begins[p] == 0) return;
  for (int k = 0; k < of.modes; ++k)
    of.tuple_index[k][number] = of.index[k][from];
}

extern "C" cudaError_t pd_gpu_build_name_tuples(const struct pd_gpu_build_tuples *of,
                                                cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(of->nnz, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks > 0) name_tuples<<<blocks, THREADS, 0, stream>>>(*of);
  return cudaGetLastError();
}

template <typename T>
static __global__ void __launch_bounds__(THREADS) fill_ones(T *values, uint64_t count) {
  uint64_t p = own_place();
  if (p < count) values[p] = 1;
}

extern "C" cudaError_t pd_gpu_build_ones(void *values, int value_bytes, uint64_t count,
                                         cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(count, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks == 0) return cudaSuccess;
  if (value_bytes == 4)
    fill_ones<<<blocks, THREADS, 0, stream>>>(static_cast<float *>(values), count);
  else
    fill_ones<<<blocks, THREADS, 0, stream>>>(static_cast<double *>(values), count);
  return cudaGetLastError();
}
