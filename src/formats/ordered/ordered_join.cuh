/* Sums of rows that several groups of a block, or several blocks, share. Fixed order, no atomics.
 *
 * A group's first partial sum belongs to a row that began before its segment, its last one to a
 * row that goes on after it. `through`: the first one neither begins nor ends in the segment. */
#ifndef PD_ORDERED_JOIN_CUH
#define PD_ORDERED_JOIN_CUH

#include "formats/ordered/ordered_lanes.cuh"

/* A block's partial sums in shared memory. */
template <typename T, int LANES, int GROUPS> struct Partials {
  Row<T> first[GROUPS][LANES], last[GROUPS][LANES];
  uint32_t last_row[GROUPS]; /* output row of `last` */
  bool has_first[GROUPS], has_last[GROUPS], through[GROUPS];
};

/* Adds to `sum` what groups from `group` on have of the row; false when the block ends before it
 * does. */
template <typename T, int LANES, int GROUPS>
__device__ bool follow(const Partials<T, LANES, GROUPS> &parts, int group, int lane, Row<T> &sum) {
  for (; group < GROUPS && parts.has_first[group]; ++group) {
    add(sum, parts.first[group][lane]);
    if (!parts.through[group]) return true;
  }
  return false;
}

/* Called by all threads after a barrier. head: sum of the row that began before the block, up to
 * its end or the block's; tail: of the row that begins in the block and goes on after it. */
template <typename T, int LANES, int GROUPS, typename LANE>
__device__ void join_groups(const Partials<T, LANES, GROUPS> &parts, int group, int lane,
                            const LANE &part, T *out, uint64_t out_stride, T *head, T *tail) {
  if (group == 0 && parts.has_first[0]) {
    Row<T> sum = LANE::zero();
    follow<T, LANES, GROUPS>(parts, 0, lane, sum);
    part.store(head, sum);
  }
  if (!parts.has_last[group]) return;
  Row<T> sum = parts.last[group][lane];
  if (follow<T, LANES, GROUPS>(parts, group + 1, lane, sum))
    part.store(out + parts.last_row[group] * out_stride, sum);
  else
    part.store(tail, sum);
}

/* What joining blocks needs. */
template <typename T> struct JoinBlocks {
  uint64_t blocks, nnz, block_nonzeros;
  const uint64_t *row_start;
  const uint32_t *row_id, *chunk_row;
  const T *head, *tail;
  T *out;
  uint64_t out_stride;
  int rank;
};

/* One warp per block: when a row begins in the block and goes on after it, adds up the block's
 * tail and the heads of the blocks that follow. The warp's groups take every S-th of them. */
template <typename T, int LANES, bool ALIGNED>
__global__ void __launch_bounds__(256) join_blocks(const __grid_constant__ JoinBlocks<T> join) {
  constexpr int S = 32 / LANES, N = Row<T>::N;
  uint64_t block = (uint64_t)blockIdx.x * 8 + threadIdx.x / 32;
  int lane = threadIdx.x % LANES, share = threadIdx.x % 32 / LANES;
  if (block + 1 >= join.blocks) return;
  uint64_t end = (block + 1) * join.block_nonzeros;
  uint64_t row = join.chunk_row[end / 64], start = join.row_start[row];
  if (start == end || start < block * join.block_nonzeros) return;
  uint64_t last = (join.row_start[row + 1] - 1) / join.block_nonzeros;
  Lane<T, LANES, ALIGNED> part(lane, (int)blockIdx.y, join.rank);
  Row<T> sum = part.zero();
#pragma unroll 4
  for (uint64_t from = block + (uint64_t)share; from <= last; from += S)
    add(sum, part.reload((from == block ? join.tail : join.head) + from * (uint64_t)join.rank));
#pragma unroll
  for (int step = LANES; step < 32; step *= 2)
#pragma unroll
    for (int i = 0; i < N; ++i)
      sum.v[i] += __shfl_xor_sync(0xffffffffu, sum.v[i], step);
  uint64_t id = join.row_id == nullptr ? row : join.row_id[row];
  if (share == 0) part.store(join.out + id * join.out_stride, sum);
}

/* Joins the blocks of a kernel; SUM is what it was given. */
template <typename T, int LANES, bool ALIGNED, typename SUM>
static cudaError_t start_join(const SUM *a, uint64_t blocks, unsigned tiles, int block_threads,
                              cudaStream_t stream) {
  JoinBlocks<T> join = {blocks,
                        a->nnz,
                        (uint64_t)(block_threads / LANES) * (uint64_t)a->segment,
                        a->row_start,
                        a->row_id,
                        a->chunk_row,
                        static_cast<const T *>(a->head),
                        static_cast<const T *>(a->tail),
                        static_cast<T *>(a->out),
                        a->out_stride,
                        a->rank};
  join_blocks<T, LANES, ALIGNED>
      <<<dim3((unsigned)((blocks + 7) / 8), tiles), 256, 0, stream>>>(join);
  return cudaGetLastError();
}

#endif
