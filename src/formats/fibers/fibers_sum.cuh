/* MTTKRP of trees of compressed fibers of three to five modes, for an output mode on any level.
 *
 * A group of lanes walks a piece. Above the leaves it keeps, for each level of its path, the
 * product of the factor rows down to there, the output's left out. Where the output is above the
 * leaves, the nonzeros of a fiber are summed first, and the sum is multiplied once by the product
 * over the fiber; where it is on the leaves, every nonzero adds its value times that product. Ids
 * of fibers are read two ahead and their rows one ahead, leaves four at a time. */
#ifndef PD_FIBERS_SUM_CUH
#define PD_FIBERS_SUM_CUH

#include "formats/fibers/fibers_gpu.h"
#include "formats/nonzeros/nonzeros_kernels.cuh"

/* Blocks of a multiprocessor at once, at least: a little spilling of floats costs less than their
 * waiting; doubles would spill much. */
template <typename T> struct FiberBlocks { static constexpr int value = sizeof(T) == 4 ? 3 : 2; };

/* Ids of leaves and values of four nonzeros, the first of them a multiple of four; zeros past the
 * last nonzero. */
template <typename T> struct Leaves {
  uint32_t id[NZ_BATCH];
  T value[NZ_BATCH];

  __device__ void load(const uint32_t *ids, const T *values, uint32_t p, uint32_t nnz) {
    if (p + NZ_BATCH <= nnz) {
      *reinterpret_cast<uint4 *>(id) = __ldg(reinterpret_cast<const uint4 *>(ids + p));
#pragma unroll
      for (int k = 0; k < NZ_BATCH * (int)sizeof(T) / 16; ++k)
        reinterpret_cast<int4 *>(value)[k] = __ldg(reinterpret_cast<const int4 *>(values + p) + k);
    } else {
#pragma unroll
      for (int j = 0; j < NZ_BATCH; ++j) {
        id[j] = p + j < nnz ? __ldg(ids + p + j) : 0;
        value[j] = p + j < nnz ? __ldg(values + p + j) : T(0);
      }
    }
  }
};

/* UPPER levels above the leaves; LEAF: the output is on the leaves. */
template <typename T, int LANES, bool ALIGNED, int UPPER, bool LEAF> struct FiberWalk {
  typedef Lane<T, LANES, ALIGNED> LANE;
  static constexpr int FIBER = UPPER - 1;
  const struct pd_nz_launch &a;
  const LANE &part;
  uint32_t node[UPPER], last[UPPER];     /* of the path; one past the last child of each */
  Row<T> above[UPPER];                   /* product of the rows of a level and those above it */
  uint32_t row;                          /* of the output, unless it is on the leaves */
  uint32_t next_last, next_id, id_after; /* of the next fiber, and of the one after it */
  Row<T> next_row;

  __device__ FiberWalk(const struct pd_nz_launch &a_, const LANE &part_, uint64_t item)
      : a(a_), part(part_), row(0) {
#pragma unroll
    for (int l = 0; l < UPPER; ++l) {
      uint64_t place = item * UPPER + (uint64_t)l;
      node[l] = nz_at<uint32_t>(a, PD_FIBERS_PATH, place);
      last[l] = nz_at<uint32_t>(a, PD_FIBERS_START + l, (uint64_t)node[l] + 1);
      uint32_t id = nz_at<uint32_t>(a, l, node[l]);
      descend(l, id, row_of(l, id));
    }
    next_row = LANE::zero();
    id_after = fiber_id(node[FIBER] + 1);
    look_ahead();
  }

  __device__ bool is_output(int level) const { return !LEAF && level == a.output_slot; }
  __device__ Table<T> table(int level) const {
    int input = LEAF || level < a.output_slot ? level : level - 1;
    return part.table(a.factor[input], a.stride[input]);
  }
  __device__ Row<T> row_of(int level, uint32_t id) const {
    return is_output(level) ? LANE::zero() : part.load(table(level), id);
  }
  __device__ uint32_t fiber_id(uint32_t fiber) const {
    uint32_t fibers = (uint32_t)a.list.number[1];
    return nz_at<uint32_t>(a, FIBER, fiber < fibers ? fiber : fibers - 1);
  }
  /* The path goes on through a node with this id and factor row. */
  __device__ void descend(int level, uint32_t id, const Row<T> &factor_row) {
    if (is_output(level)) {
      row = id;
      if (level > 0)
        above[level] = above[level > 0 ? level - 1 : 0];
      else
#pragma unroll
        for (int i = 0; i < Row<T>::N; ++i)
          above[0].v[i] = 1;
    } else {
      above[level] = factor_row;
      if (level > 0) multiply(above[level], above[level > 0 ? level - 1 : 0]);
    }
  }
  __device__ void look_ahead() {
    uint32_t fibers = (uint32_t)a.list.number[1], fiber = node[FIBER];
    next_id = id_after;
    next_row = row_of(FIBER, next_id);
    next_last = nz_at<uint32_t>(a, PD_FIBERS_START + FIBER,
                                fiber + 2 < fibers ? (uint64_t)fiber + 2 : (uint64_t)fibers);
    id_after = fiber_id(fiber + 2);
  }
  /* Goes on to the next node of a level above the fibers, and of those above it that end there. */
  template <int LEVEL> __device__ void climb() {
    uint32_t to = node[LEVEL] + 1;
    if constexpr (LEVEL > 0)
      if (to == last[LEVEL - 1]) climb<LEVEL - 1>();
    node[LEVEL] = to;
    last[LEVEL] = nz_at<uint32_t>(a, PD_FIBERS_START + LEVEL, (uint64_t)to + 1);
    uint32_t id = nz_at<uint32_t>(a, LEVEL, to);
    descend(LEVEL, id, row_of(LEVEL, id));
  }
  __device__ void next_fiber() {
    uint32_t to = node[FIBER] + 1;
    if (to == last[FIBER - 1]) climb<FIBER - 1>();
    node[FIBER] = to;
    last[FIBER] = next_last;
    descend(FIBER, next_id, next_row);
    look_ahead();
  }
};

template <typename T, int LANES, bool ALIGNED, int UPPER, bool LEAF>
__global__ void __launch_bounds__(PD_NZ_THREADS, FiberBlocks<T>::value)
    fibers_sum(const __grid_constant__ struct pd_nz_launch a) {
  typedef Lane<T, LANES, ALIGNED> LANE;
  constexpr int GROUPS = PD_NZ_THREADS / LANES, FIBER = UPPER - 1;
  uint64_t item = (uint64_t)blockIdx.x * GROUPS + (uint64_t)threadIdx.x / LANES;
  if (item >= a.list.items) return;
  LANE part((int)threadIdx.x % LANES, (int)blockIdx.y, a.rank);
  FiberWalk<T, LANES, ALIGNED, UPPER, LEAF> walk(a, part, item);
  uint32_t begin = nz_at<uint32_t>(a, PD_FIBERS_ITEM, item);
  uint32_t end = nz_at<uint32_t>(a, PD_FIBERS_ITEM, item + 1), nnz = (uint32_t)a.list.nnz;
  bool alone =
      a.list.number[0] != 0 && a.output_slot == 0 && nz_at<uint8_t>(a, PD_FIBERS_WHOLE, item) != 0;
  const uint32_t *ids = static_cast<const uint32_t *>(a.list.array[UPPER]);
  const T *values = static_cast<const T *>(a.list.values);
  Table<T> leaf_table = part.table(a.factor[LEAF ? 0 : UPPER - 1], a.stride[LEAF ? 0 : UPPER - 1]);
  T *out = nz_out<T>(a);
  Row<T> sum = LANE::zero(); /* of the fiber */
  Run<T, LANE> run;
  Leaves<T> leaves, next;
  run.begin();
  next.load(ids, values, begin / NZ_BATCH * NZ_BATCH, nnz);
  for (uint32_t p = begin / NZ_BATCH * NZ_BATCH; p < end; p += NZ_BATCH) {
    Row<T> leaf[NZ_BATCH];
    leaves = next;
    if (!LEAF)
#pragma unroll
      for (int j = 0; j < NZ_BATCH; ++j)
        leaf[j] = part.load(leaf_table, leaves.id[j]);
    if (p + NZ_BATCH < end) next.load(ids, values, p + NZ_BATCH, nnz);
#pragma unroll
    for (int j = 0; j < NZ_BATCH; ++j) {
      uint32_t q = p + (uint32_t)j;
      if (q - begin >= end - begin) continue;
      if (q == walk.last[FIBER]) {
        if (!LEAF) {
          multiply(sum, walk.above[FIBER]);
          run.take(out, a.out.stride, part, alone, walk.row, sum);
          sum = LANE::zero();
        }
        walk.next_fiber();
      }
      if (LEAF) {
        Row<T> product = walk.above[FIBER];
#pragma unroll
        for (int i = 0; i < Row<T>::N; ++i)
          product.v[i] *= leaves.value[j];
        run.take(out, a.out.stride, part, false, leaves.id[j], product);
      } else {
        multiply_add(sum, leaves.value[j], leaf[j]);
      }
    }
  }
  if (!LEAF) {
    multiply(sum, walk.above[FIBER]);
    run.take(out, a.out.stride, part, alone, walk.row, sum);
  }
  run.flush(out, a.out.stride, part, alone);
}

template <typename T, bool ALIGNED, int UPPER>
static cudaError_t fibers_start(const struct pd_nz_launch *launch, cudaStream_t stream) {
  constexpr int LANES = NzLanes<T>::value, GROUPS = PD_NZ_THREADS / LANES;
  dim3 grid((unsigned)((launch->list.items + GROUPS - 1) / GROUPS),
            (unsigned)((launch->rank + PD_NZ_COLUMNS - 1) / PD_NZ_COLUMNS));
  if (grid.x == 0) return cudaSuccess;
  if (launch->output_slot == UPPER)
    fibers_sum<T, LANES, ALIGNED, UPPER, true><<<grid, PD_NZ_THREADS, 0, stream>>>(*launch);
  else
    fibers_sum<T, LANES, ALIGNED, UPPER, false><<<grid, PD_NZ_THREADS, 0, stream>>>(*launch);
  return cudaGetLastError();
}

template <typename T, bool ALIGNED>
static cudaError_t fibers_by_order(const struct pd_nz_launch *launch, cudaStream_t stream) {
  switch (launch->inputs) {
  case 2:
    return fibers_start<T, ALIGNED, 2>(launch, stream);
  case 3:
    return fibers_start<T, ALIGNED, 3>(launch, stream);
  default:
    return fibers_start<T, ALIGNED, 4>(launch, stream);
  }
}

#endif
