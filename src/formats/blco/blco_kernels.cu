/* MTTKRP of "blco". A thread block decodes a tile of nonzeros into shared memory and sorts it by
 * output row, so that whatever rows recur in it are summed before they leave: conflicts are
 * resolved where there are any. Groups of lanes then sum runs of equal rows in registers and add
 * each sum with one atomic operation, to one of several copies of the output when it is short. */
#include "formats/blco/blco_gpu.h"
#include "formats/nonzeros/nonzeros_kernels.cuh"
#include <cub/block/block_radix_sort.cuh>

enum { BLCO_THREADS = 128, BLCO_EACH = 4, BLCO_TILE_NONZEROS = BLCO_THREADS * BLCO_EACH };

typedef cub::BlockRadixSort<uint32_t, BLCO_THREADS, BLCO_EACH, uint32_t> TileSort;

/* The tile once it is sorted: place[k] is where the k-th nonzero was. */
struct SortedTile {
  uint32_t row[BLCO_TILE_NONZEROS];
  uint32_t place[BLCO_TILE_NONZEROS];
};

union TileMemory {
  TileSort::TempStorage sort;
  SortedTile sorted;
};

__device__ __forceinline__ uint32_t block_of(const struct pd_blco_launch &a, uint64_t tile,
                                             uint64_t p) {
  uint32_t low = __ldg(a.tile_block + tile), high = __ldg(a.tile_block + tile + 1);
  while (low < high) {
    uint32_t middle = low + (high - low + 1) / 2;
    if (__ldg(a.start + middle) <= p)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

__device__ __forceinline__ uint32_t index_of(const struct pd_blco_launch &a, int mode, uint64_t key,
                                             uint32_t block) {
  return __ldg(a.base[mode] + block) | (uint32_t)(key >> a.shift[mode] & a.mask[mode]);
}

/* Decodes the thread's nonzeros: input indices and values to shared memory, rows to registers. */
template <typename T>
__device__ void decode_tile(const struct pd_blco_launch &a, uint64_t tile, int count,
                            uint32_t *coordinate, T *value, uint32_t row[BLCO_EACH],
                            uint32_t place[BLCO_EACH]) {
  uint64_t begin = tile * BLCO_TILE_NONZEROS;
#pragma unroll
  for (int i = 0; i < BLCO_EACH; ++i) {
    int local = i * BLCO_THREADS + (int)threadIdx.x;
    place[i] = (uint32_t)local;
    row[i] = 0xffffffffu;
    if (local >= count) continue;
    uint64_t p = begin + (uint64_t)local;
    uint64_t key = __ldg(a.key + (p - a.offset));
    uint32_t block = block_of(a, tile, p);
    row[i] = index_of(a, a.nz.output_slot, key, block);
    value[local] = __ldg(static_cast<const T *>(a.nz.list.values) + (p - a.offset));
    for (int k = 0; k < a.nz.inputs; ++k)
      coordinate[k * BLCO_TILE_NONZEROS + local] = index_of(a, a.nz.slot[k], key, block);
  }
}

/* The group's share of the sorted tile, in one tile of columns. */
template <typename T, int LANES, bool ALIGNED, int INPUTS>
__device__ void sum_share(const struct pd_blco_launch &a, const SortedTile &sorted,
                          const uint32_t *coordinate, const T *value, int count, int columns,
                          T *out, uint64_t stride) {
  typedef Lane<T, LANES, ALIGNED> LANE;
  constexpr int GROUPS = BLCO_THREADS / LANES, SHARE = BLCO_TILE_NONZEROS / GROUPS;
  int lane = threadIdx.x % LANES, first = (int)threadIdx.x / LANES * SHARE;
  LANE part(lane, columns, a.nz.rank);
  Products<T, LANE, INPUTS> products;
  Decoded<T, INPUTS> decoded;
  Run<T, LANE> run;
  products.begin();
  run.begin();
  for (int q = first; q < first + SHARE; q += NZ_BATCH) {
    bool there[NZ_BATCH];
    Row<T> product[NZ_BATCH];
#pragma unroll
    for (int j = 0; j < NZ_BATCH; ++j) {
      int place = (int)sorted.place[q + j];
      there[j] = place < count;
      decoded.row[j] = sorted.row[q + j];
      decoded.value[j] = there[j] ? value[place] : T(0);
#pragma unroll
      for (int k = 0; k < nz_inputs<INPUTS>(a.nz); ++k)
        decoded.index[k][j] = there[j] ? coordinate[k * BLCO_TILE_NONZEROS + place] : 0;
    }
    products.compute(DecodedSource<T, INPUTS>{a.nz, decoded}, part, decoded.value, product);
#pragma unroll
    for (int j = 0; j < NZ_BATCH; ++j)
      if (there[j]) run.take(out, stride, part, false, decoded.row[j], product[j]);
  }
  run.flush(out, stride, part, false);
}

template <typename T, bool ALIGNED, int INPUTS>
__global__ void __launch_bounds__(BLCO_THREADS)
    blco_tiles(const __grid_constant__ struct pd_blco_launch a) {
  extern __shared__ uint32_t coordinate[]; /* inputs x tile */
  __shared__ TileMemory memory;
  __shared__ T value[BLCO_TILE_NONZEROS];
  uint64_t tile = a.first_tile + blockIdx.x, begin = tile * BLCO_TILE_NONZEROS;
  int count = a.nz.list.nnz - begin < BLCO_TILE_NONZEROS ? (int)(a.nz.list.nnz - begin)
                                                         : (int)BLCO_TILE_NONZEROS;
  uint32_t row[BLCO_EACH], place[BLCO_EACH];
  decode_tile<T>(a, tile, count, coordinate, value, row, place);
  TileSort(memory.sort).Sort(row, place, 0, a.row_bits);
  __syncthreads(); /* the sort's memory is used again */
#pragma unroll
  for (int i = 0; i < BLCO_EACH; ++i) {
    memory.sorted.row[BLCO_EACH * threadIdx.x + i] = row[i];
    memory.sorted.place[BLCO_EACH * threadIdx.x + i] = place[i];
  }
  __syncthreads();
  int tiles = (a.nz.rank + PD_NZ_COLUMNS - 1) / PD_NZ_COLUMNS;
  for (int columns = 0; columns < tiles; ++columns)
    sum_share<T, NzLanes<T>::value, ALIGNED, INPUTS>(a, memory.sorted, coordinate, value, count,
                                                     columns, nz_out<T>(a.nz), a.nz.out.stride);
}

template <typename T, bool ALIGNED>
static cudaError_t start(const struct pd_blco_launch *launch, cudaStream_t stream) {
  unsigned blocks = (unsigned)launch->tiles;
  size_t shared = (size_t)launch->nz.inputs * BLCO_TILE_NONZEROS * sizeof(uint32_t);
  switch (launch->nz.inputs) {
  case 2:
    blco_tiles<T, ALIGNED, 2><<<blocks, BLCO_THREADS, shared, stream>>>(*launch);
    break;
  case 3:
    blco_tiles<T, ALIGNED, 3><<<blocks, BLCO_THREADS, shared, stream>>>(*launch);
    break;
  case 4:
    blco_tiles<T, ALIGNED, 4><<<blocks, BLCO_THREADS, shared, stream>>>(*launch);
    break;
  default:
    blco_tiles<T, ALIGNED, 0><<<blocks, BLCO_THREADS, shared, stream>>>(*launch);
  }
  return cudaGetLastError();
}

extern "C" cudaError_t pd_blco_add_f32(const struct pd_blco_launch *launch, int aligned,
                                       cudaStream_t stream) {
  return aligned ? start<float, true>(launch, stream) : start<float, false>(launch, stream);
}

extern "C" cudaError_t pd_blco_add_f64(const struct pd_blco_launch *launch, int aligned,
                                       cudaStream_t stream) {
  return aligned ? start<double, true>(launch, stream) : start<double, false>(launch, stream);
}
