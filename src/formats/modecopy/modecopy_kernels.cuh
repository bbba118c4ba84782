/* MTTKRP of nonzeros sorted by output row (default variant of "modecopy").
 *
 * LANES lanes form a group and hold a tile of a row, 16 bytes each. A group walks `segment`
 * consecutive nonzeros, four at a time: it loads the words of four nonzeros with one 16-byte load
 * (the same for all its lanes), then all factor rows they need, then multiplies. Rows of the outer
 * inputs are loaded only where the index differs from the nonzero before. Rows of the output are
 * summed in registers and written once, without atomics.
 *
 * Per nonzero: 4 x planes + value bytes streamed; (1 + changes of outer indices) rows gathered. */
#ifndef PD_MODECOPY_KERNELS_CUH
#define PD_MODECOPY_KERNELS_CUH

#include "formats/modecopy/modecopy_join.cuh"
#include "formats/modecopy/modecopy_launch.h"
#include "formats/modecopy/modecopy_products.cuh"

/* Where a group is. */
template <typename T> struct Walk {
  uint64_t row; /* place in the list of rows */
  uint32_t id, next_id;
  bool inside; /* whether the row began in the segment */
  Row<T> sum;
};

__device__ __forceinline__ uint32_t row_id_at(const struct pd_gpu_sum &a, uint64_t row) {
  if (a.row_id == nullptr) return (uint32_t)row;
  return row < a.rows ? __ldg(a.row_id + row) : 0;
}

template <typename T> __device__ __forceinline__ void load_values(const T *from, T value[4]) {
  constexpr int QUADS = (int)sizeof(T) / 4;
#pragma unroll
  for (int q = 0; q < QUADS; ++q) {
    int4 raw = __ldg(reinterpret_cast<const int4 *>(from) + q);
    const T *part = reinterpret_cast<const T *>(&raw);
#pragma unroll
    for (int i = 0; i < 4 / QUADS; ++i)
      value[q * (4 / QUADS) + i] = part[i];
  }
}

__device__ __forceinline__ void load_words(const uint32_t *from, uint32_t word[4]) {
  uint4 raw = __ldg(reinterpret_cast<const uint4 *>(from));
  word[0] = raw.x, word[1] = raw.y, word[2] = raw.z, word[3] = raw.w;
}

/* Indices in planes: four nonzeros' words at once. */
template <typename T> struct PlaneSource {
  const struct pd_gpu_sum &a;
  uint64_t p;

  __device__ int inputs() const { return a.inputs; }
  __device__ const T *factor(int k) const { return static_cast<const T *>(a.field[k].factor); }
  __device__ uint64_t stride(int k) const { return a.field[k].stride; }
  __device__ void index(int k, uint32_t index[4]) const {
    const struct pd_gpu_field &field = a.field[k];
    uint32_t word[4];
    load_words(field.plane + p, word);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      index[j] = (word[j] >> field.shift) & field.mask;
  }
};

template <typename T, int LANES, bool ALIGNED, int INPUTS>
__global__ void __launch_bounds__(PD_BLOCK_THREADS, 2)
    sum_rows(const __grid_constant__ struct pd_gpu_sum a) {
  constexpr int GROUPS = PD_BLOCK_THREADS / LANES;
  typedef Lane<T, LANES, ALIGNED> LANE;
  __shared__ Partials<T, LANES, GROUPS> parts;
  int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
  LANE part(lane, (int)blockIdx.y, a.rank);
  uint64_t begin = ((uint64_t)blockIdx.x * GROUPS + (uint64_t)group) * (uint64_t)a.segment;
  uint64_t end = begin + (uint64_t)a.segment < a.nnz ? begin + (uint64_t)a.segment : a.nnz;
  T *out = static_cast<T *>(a.out);
  bool has_first = false, has_last = false, through = false;
  Walk<T> walk;
  if (begin < a.nnz) {
    walk.row = a.chunk_row[begin / PD_SEGMENT_UNIT];
    walk.id = row_id_at(a, walk.row);
    walk.next_id = row_id_at(a, walk.row + 1);
    walk.inside = a.row_start[walk.row] == begin;
    walk.sum = LANE::zero();
    has_first = !walk.inside;
    Products<T, LANE, INPUTS> products;
    products.begin();
    uint32_t flags[4] = {0, 0, 0, 0};
    for (uint64_t p = begin; p < end; p += 4) {
      T value[4];
      Row<T> product[4];
      load_words(a.flags + p, flags);
      load_values(static_cast<const T *>(a.values) + p, value);
      products.compute(PlaneSource<T>{a, p}, part, value, product);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        add(walk.sum, product[j]);
        if ((int32_t)flags[j] < 0) { /* the row ends */
          if (walk.inside)
            part.store(out + walk.id * a.out_stride, walk.sum);
          else
            parts.first[group][lane] = walk.sum;
          walk.sum = LANE::zero();
          walk.inside = true;
          ++walk.row;
          walk.id = walk.next_id;
          walk.next_id = row_id_at(a, walk.row + 1);
        }
      }
    }
    /* The last nonzero of all ends its row: sums of padding are dropped here. */
    bool open = end < a.nnz && (int32_t)flags[3] >= 0;
    has_last = open && walk.inside;
    through = open && !walk.inside;
    if (has_last) parts.last[group][lane] = walk.sum;
    if (through) parts.first[group][lane] = walk.sum;
  }
  if (lane == 0) {
    parts.has_first[group] = has_first;
    parts.has_last[group] = has_last;
    parts.through[group] = through;
    parts.last_row[group] = walk.id;
  }
  __syncthreads();
  uint64_t carry = (uint64_t)blockIdx.x * (uint64_t)a.rank;
  join_groups<T, LANES, GROUPS>(parts, group, lane, part, out, a.out_stride,
                                static_cast<T *>(a.head) + carry, static_cast<T *>(a.tail) + carry);
}

template <typename T, int LANES, bool ALIGNED>
static cudaError_t sum_lanes(const struct pd_gpu_sum *a, cudaStream_t stream) {
  uint64_t blocks = pd_gpu_sum_blocks(a->nnz, LANES, a->segment);
  int width = LANES * Row<T>::N, tiles = (a->rank + width - 1) / width;
  dim3 grid((unsigned)blocks, (unsigned)tiles);
  switch (a->inputs) {
  case 2:
    sum_rows<T, LANES, ALIGNED, 2><<<grid, PD_BLOCK_THREADS, 0, stream>>>(*a);
    break;
  case 3:
    sum_rows<T, LANES, ALIGNED, 3><<<grid, PD_BLOCK_THREADS, 0, stream>>>(*a);
    break;
  case 4:
    sum_rows<T, LANES, ALIGNED, 4><<<grid, PD_BLOCK_THREADS, 0, stream>>>(*a);
    break;
  default:
    sum_rows<T, LANES, ALIGNED, 0><<<grid, PD_BLOCK_THREADS, 0, stream>>>(*a);
  }
  cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess || blocks == 1) return code;
  JoinBlocks<T> join = {blocks,
                        a->nnz,
                        (uint64_t)(PD_BLOCK_THREADS / LANES) * (uint64_t)a->segment,
                        a->row_start,
                        a->row_id,
                        a->chunk_row,
                        static_cast<const T *>(a->head),
                        static_cast<const T *>(a->tail),
                        static_cast<T *>(a->out),
                        a->out_stride,
                        a->rank};
  join_blocks<T, LANES, ALIGNED>
      <<<dim3((unsigned)((blocks + 7) / 8), (unsigned)tiles), 256, 0, stream>>>(join);
  return cudaGetLastError();
}

template <typename T>
static cudaError_t sum_any(const struct pd_gpu_sum *a, int aligned, cudaStream_t stream) {
  int lanes = pd_gpu_lanes(a->rank, (int)sizeof(T), aligned);
  if (a->nnz == 0) return cudaSuccess;
  if (!aligned)
    return lanes == 8 ? sum_lanes<T, 8, false>(a, stream) : sum_lanes<T, 32, false>(a, stream);
  switch (lanes) {
  case 4:
    return sum_lanes<T, 4, true>(a, stream);
  case 8:
    return sum_lanes<T, 8, true>(a, stream);
  case 16:
    return sum_lanes<T, 16, true>(a, stream);
  default:
    return sum_lanes<T, 32, true>(a, stream);
  }
}

#endif
