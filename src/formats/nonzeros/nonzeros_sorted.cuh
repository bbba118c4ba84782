/* Sums of nonzeros that are sorted by output row: no atomic operations, the same bits every time.
 *
 * A group of lanes takes a segment. Rows that lie within it are stored. The sum of the row that
 * began before the segment goes to head[segment], that of the row that begins in it and goes on
 * after it to tail[segment]; a second kernel adds up the tail and the heads that follow. */
#ifndef PD_NONZEROS_SORTED_CUH
#define PD_NONZEROS_SORTED_CUH

#include "formats/nonzeros/nonzeros_kernels.cuh"

enum { NZ_JOIN_WARPS = PD_NZ_THREADS / 32, NZ_JOIN_SHORT = 64 /* segments that a warp joins */ };

template <typename T, int LANES, bool ALIGNED, int INPUTS, template <typename, int> class SOURCE>
__global__ void __launch_bounds__(PD_NZ_THREADS)
    nz_sum_sorted(const __grid_constant__ struct pd_nz_launch a) {
  typedef Lane<T, LANES, ALIGNED> LANE;
  constexpr int GROUPS = PD_NZ_THREADS / LANES;
  int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
  uint64_t segment = (uint64_t)blockIdx.x * GROUPS + (uint64_t)group;
  if (segment >= a.list.items) return;
  LANE part(lane, (int)blockIdx.y, a.rank);
  SOURCE<T, INPUTS> source(a, segment);
  uint32_t row = source.row_at(a, source.begin);
  /* Whether the row of the current sum began before the segment. */
  bool before = source.begin > 0 && source.row_at(a, source.begin - 1) == row;
  T *out = static_cast<T *>(a.out.data),
    *head = static_cast<T *>(a.head) + segment * (uint64_t)a.rank;
  Products<T, LANE, INPUTS> products;
  Decoded<T, INPUTS> decoded;
  Row<T> sum = LANE::zero();
  products.begin();
  for (uint64_t p = source.begin; p < source.end; p += NZ_BATCH) {
    int count = source.end - p < NZ_BATCH ? (int)(source.end - p) : NZ_BATCH;
    Row<T> product[NZ_BATCH];
    nz_decode(a, source, p, count, decoded);
    products.compute(DecodedSource<T, INPUTS>{a, decoded}, part, decoded.value, product);
#pragma unroll
    for (int j = 0; j < NZ_BATCH; ++j) {
      if (j >= count) continue;
      if (decoded.row[j] != row) {
        part.store(before ? head : out + (uint64_t)row * a.out.stride, sum);
        before = false;
        row = decoded.row[j];
        sum = LANE::zero();
      }
      add(sum, product[j]);
    }
  }
  bool after = source.end < a.list.nnz && source.row_at(a, source.end) == row;
  if (before)
    part.store(head, sum);
  else if (after)
    part.store(static_cast<T *>(a.tail) + segment * (uint64_t)a.rank, sum);
  else
    part.store(out + (uint64_t)row * a.out.stride, sum);
}

/* Of the row that begins in the segment and goes on after it: the last segment that has some of
 * it; 0 when there is no such row. */
template <typename SOURCE>
__device__ uint64_t last_segment(const struct pd_nz_launch &a, uint64_t segment, uint32_t *row) {
  uint64_t unit = a.segment, end = (segment + 1) * unit, nnz = a.list.nnz;
  if (end >= nnz) return 0;
  *row = SOURCE::row_at(a, end - 1);
  if (SOURCE::row_at(a, end) != *row) return 0;
  if (segment > 0 && SOURCE::row_at(a, segment * unit - 1) == *row) return 0;
  uint64_t last = segment + 1, step = 1;
  for (; (last + step) * unit < nnz && SOURCE::row_at(a, (last + step) * unit) == *row; step *= 2)
    last += step;
  for (; step > 0; step /= 2)
    if ((last + step) * unit < nnz && SOURCE::row_at(a, (last + step) * unit) == *row) last += step;
  return last;
}

/* Every `step`-th partial sum of the row, from `from` on. */
template <typename T, typename LANE>
__device__ Row<T> sum_partials(const struct pd_nz_launch &a, const LANE &part, uint64_t first,
                               uint64_t from, uint64_t last, uint64_t step) {
  const T *head = static_cast<const T *>(a.head), *tail = static_cast<const T *>(a.tail);
  Row<T> sum = LANE::zero();
#pragma unroll 4
  for (uint64_t k = from; k <= last; k += step)
    add(sum, part.reload((k == first ? tail : head) + k * (uint64_t)a.rank));
  return sum;
}

/* A block looks after as many segments as it has warps: each warp joins a short row by itself, long
 * ones all threads together. */
template <typename T, int LANES, bool ALIGNED, typename SOURCE>
__global__ void __launch_bounds__(PD_NZ_THREADS)
    nz_join(const __grid_constant__ struct pd_nz_launch a) {
  typedef Lane<T, LANES, ALIGNED> LANE;
  constexpr int GROUPS = PD_NZ_THREADS / LANES, SHARES = 32 / LANES;
  __shared__ uint64_t last_of[NZ_JOIN_WARPS];
  __shared__ uint32_t row_of[NZ_JOIN_WARPS];
  __shared__ Row<T> partial[GROUPS][LANES];
  int warp = threadIdx.x / 32, lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
  uint64_t first = (uint64_t)blockIdx.x * NZ_JOIN_WARPS;
  T *out = static_cast<T *>(a.out.data);
  LANE part(lane, (int)blockIdx.y, a.rank);
  if (threadIdx.x % 32 == 0) last_of[warp] = last_segment<SOURCE>(a, first + warp, &row_of[warp]);
  __syncthreads();
  uint64_t mine = first + (uint64_t)warp;
  if (last_of[warp] != 0 && last_of[warp] - mine <= NZ_JOIN_SHORT) {
    int share = group % SHARES;
    Row<T> sum =
        sum_partials<T>(a, part, mine, mine + (uint64_t)share, last_of[warp], (uint64_t)SHARES);
#pragma unroll
    for (int step = LANES; step < 32; step *= 2)
#pragma unroll
      for (int i = 0; i < Row<T>::N; ++i)
        sum.v[i] += __shfl_xor_sync(0xffffffffu, sum.v[i], step);
    if (share == 0) part.store(out + (uint64_t)row_of[warp] * a.out.stride, sum);
  }
  for (int w = 0; w < NZ_JOIN_WARPS; ++w) {
    uint64_t start = first + (uint64_t)w;
    if (last_of[w] == 0 || last_of[w] - start <= NZ_JOIN_SHORT) continue;
    partial[group][lane] =
        sum_partials<T>(a, part, start, start + (uint64_t)group, last_of[w], (uint64_t)GROUPS);
    __syncthreads();
    if (group == 0) {
      Row<T> sum = LANE::zero();
      for (int g = 0; g < GROUPS; ++g)
        add(sum, partial[g][lane]);
      part.store(out + (uint64_t)row_of[w] * a.out.stride, sum);
    }
    __syncthreads();
  }
}

struct NzSum {
  template <typename T, bool ALIGNED, int INPUTS, template <typename, int> class SOURCE>
  static cudaError_t start(const struct pd_nz_launch *launch, cudaStream_t stream) {
    constexpr int LANES = NzLanes<T>::value, GROUPS = PD_NZ_THREADS / LANES;
    uint64_t segments = launch->list.items;
    unsigned tiles = (unsigned)((launch->rank + PD_NZ_COLUMNS - 1) / PD_NZ_COLUMNS);
    if (segments == 0) return cudaSuccess;
    nz_sum_sorted<T, LANES, ALIGNED, INPUTS, SOURCE>
        <<<dim3((unsigned)((segments + GROUPS - 1) / GROUPS), tiles), PD_NZ_THREADS, 0, stream>>>(
            *launch);
    cudaError_t code = cudaGetLastError();
    if (code != cudaSuccess || segments == 1) return code;
    nz_join<T, LANES, ALIGNED, SOURCE<T, INPUTS>>
        <<<dim3((unsigned)((segments + NZ_JOIN_WARPS - 1) / NZ_JOIN_WARPS), tiles), PD_NZ_THREADS,
           0, stream>>>(*launch);
    return cudaGetLastError();
  }
};

#define PD_NZ_SORTED_LAUNCHERS(name, source) PD_NZ_LAUNCHERS_BY(NzSum, name, source)

#endif
