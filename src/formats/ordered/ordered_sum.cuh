/* The kernel over nonzeros sorted by output row and, within a row, by the inputs in turn.
 *
 * LANES lanes form a group and hold a tile of a row, 16 bytes each. A group walks `segment`
 * consecutive nonzeros. Nonzeros that share all inputs but the innermost one ("leaf") are a run:
 *
 *   out row = sum over runs of (product of the run's outer rows) * (sum of value * leaf row)
 *
 * so the outer rows are loaded and multiplied once per run. While no group of the warp sees a run
 * begin or a row end, four nonzeros at a time cost four loads and four multiply-adds per lane.
 * Rows of the output are summed in registers and written once, without atomics.
 *
 * Gradients: with B the output mode's factor, every value x becomes the slope of the loss's gain at
 * the model <b outer, leaf>. */
#ifndef PD_ORDERED_SUM_CUH
#define PD_ORDERED_SUM_CUH

#include "engine/loss.h"
#include "formats/ordered/ordered_join.cuh"
#include "formats/ordered/ordered_launch.h"

/* How a lane holds its part of a row. */
template <typename T, int LANES, bool ALIGNED, pd_gpu_what WHAT> struct LaneOf {
  typedef Lane<T, LANES, ALIGNED> type;
};
template <int LANES> struct LaneOf<float, LANES, true, PD_GPU_HALVES> {
  typedef HalfLane<LANES> type;
};

/* Whether what values count for depends on the model. */
constexpr bool weighs(pd_gpu_what what) { return what == PD_GPU_GRADIENT || what == PD_GPU_GAIN; }

/* One group on its way. */
template <typename T, int LANES, bool ALIGNED, int INPUTS, pd_gpu_what WHAT, typename SOURCE>
struct Walk {
  static constexpr int GROUPS = PD_BLOCK_THREADS / LANES;
  static constexpr int TABLES = INPUTS == 0 ? 1 : INPUTS, OUTER = INPUTS - 1;
  static constexpr bool WEIGHS = weighs(WHAT), STORES = WHAT != PD_GPU_GAIN;
  typedef typename LaneOf<T, LANES, ALIGNED, WHAT>::type LANE;

  const struct pd_gpu_sum &a;
  const SOURCE &source;
  const LANE &part;
  Partials<T, LANES, GROUPS> &parts;
  int group, lane;
  Table<T> table[TABLES];
  Row<T> sum, inner, outer; /* of the row, of the run, product of the run's outer rows */
  Row<T> model, weighted;   /* Phi: the row of B, and times outer */
  double gain;
  uint32_t row, id, next_id; /* place in the list of rows; output rows of this and the next one */
  bool inside;               /* whether the row began in the segment */

  __device__ Walk(const struct pd_gpu_sum &a_, const SOURCE &source_, const LANE &part_,
                  Partials<T, LANES, GROUPS> &parts_, int group_, int lane_)
      : a(a_), source(source_), part(part_), parts(parts_), group(group_), lane(lane_), gain(0),
        row(0), id(0), next_id(0), inside(true) {
    sum = inner = outer = model = weighted = LANE::zero();
#pragma unroll
    for (int k = 0; k < INPUTS; ++k)
      table[k] = part.table(a.factor[k], a.stride[k]);
  }

  /* Behind the last row comes row 0: what pads a batch reads a row of B too. */
  __device__ uint32_t id_at(uint64_t which) const {
    if (which >= a.rows) return 0;
    return a.row_id == nullptr ? (uint32_t)which : __ldg(a.row_id + which);
  }

  __device__ void load_model() {
    if constexpr (WEIGHS) {
      Row<T> zero = LANE::zero();
      model = part.column < part.rank ? part.load(part.table(a.model, a.model_stride), id) : zero;
    }
  }

  __device__ void begin(uint64_t first) {
    inside = first == 0 || (int32_t)__ldg(&a.marks[first / PD_MARKS_UNIT - 1].x) < 0;
    row = __ldg(a.chunk_row + first / PD_CHUNK_UNIT);
    if (first % PD_CHUNK_UNIT != 0) /* half a chunk: those that end before */
      row += (uint32_t)__popc((int)__ldg(&a.marks[first / PD_MARKS_UNIT - 1].x));
    id = id_at(row);
    next_id = id_at((uint64_t)row + 1);
    load_model();
  }

  /* <b outer, leaf> of `COUNT` nonzeros of the run, over all lanes of the group, and over other
   * tiles than this one. A step goes through all nonzeros, so that their shuffles wait together. */
  template <int COUNT>
  __device__ void models_at(uint32_t at, const Row<T> leaf[COUNT], T m[COUNT]) const {
#pragma unroll
    for (int j = 0; j < COUNT; ++j)
      m[j] = dot(weighted, leaf[j]);
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
#pragma unroll
      for (int j = 0; j < COUNT; ++j)
        m[j] += __shfl_xor_sync(0xffffffffu, m[j], step);
    if (gridDim.y > 1)
      for (int j = 0; j < COUNT; ++j)
        m[j] = model_of_all_tiles(at + (uint32_t)j);
  }

  __device__ T model_of_all_tiles(uint32_t at) const {
    T value = 0;
    for (int tile = 0; tile < (int)gridDim.y; ++tile) {
      LANE there(lane, tile, a.rank);
      if (there.column >= a.rank) continue;
      Row<T> product = there.load(there.table(a.model, a.model_stride), id);
      for (int k = 0; k < a.inputs; ++k) {
        uint32_t index[1];
        source.template index<1>(at, k, index);
        multiply(product, there.load(there.table(a.factor[k], a.stride[k]), index[0]));
      }
#pragma unroll
      for (int i = 0; i < Row<T>::N; ++i)
        value += product.v[i];
    }
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
      value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
  }

  /* The slopes of `COUNT` nonzeros. Which loss it is is asked once: the common one's divisions then
   * follow each other without a branch. */
  template <int COUNT> __device__ void slopes_of(T value[COUNT], const T m[COUNT]) const {
    const T least = (T)a.least;
    if (a.loss == PD_LOSS_POISSON) {
#pragma unroll
      for (int j = 0; j < COUNT; ++j)
        value[j] = PD_POISSON_SLOPE(value[j], m[j], least);
    } else {
#pragma unroll
      for (int j = 0; j < COUNT; ++j)
        value[j] = PD_LOSS_SLOPE(a.loss, value[j], m[j], least);
    }
  }

  /* `COUNT` nonzeros of the current run. */
  template <int COUNT> __device__ void take(uint32_t at, T value[COUNT], const Row<T> leaf[COUNT]) {
    if constexpr (WEIGHS) {
      T m[COUNT];
      models_at<COUNT>(at, leaf, m);
      if constexpr (!STORES) {
#pragma unroll
        for (int j = 0; j < COUNT; ++j)
          if (value[j] != T(0)) gain += PD_LOSS_GAIN(a.loss, (double)value[j], (double)m[j]);
        return;
      }
      slopes_of<COUNT>(value, m);
    }
#pragma unroll
    for (int j = 0; j < COUNT; ++j)
      multiply_add(inner, value[j], leaf[j]);
  }

  /* Adds what was summed of the run to the row. With one input all of a row is one run. */
  __device__ void fold() {
    if constexpr (INPUTS == 1)
      add(sum, inner);
    else
      multiply_add(sum, inner, outer);
  }

  __device__ void begin_run(const Row<T> &product) {
    fold();
    inner = LANE::zero();
    outer = product;
    if constexpr (WEIGHS) {
      weighted = model;
      multiply(weighted, outer);
    }
  }

  __device__ void end_row() {
    fold();
    if constexpr (STORES) {
      if (inside)
        part.store(static_cast<T *>(a.out) + (uint64_t)id * a.out_stride, sum);
      else
        parts.first[group][lane] = sum;
    }
    sum = inner = outer = LANE::zero();
    inside = true;
    ++row;
    id = next_id;
    next_id = id_at((uint64_t)row + 1);
    if (row < a.rows) load_model();
  }

  /* Four nonzeros within the runs of all groups of the warp. */
  __device__ void quiet_step(uint32_t at) {
    uint32_t index[4];
    T value[4];
    Row<T> leaf[4];
    source.template index<4>(at, OUTER, index);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      leaf[j] = part.load(table[OUTER], index[j]);
    source.template values<4>(at, value);
    take<4>(at, value, leaf);
  }

  /* Two nonzeros: bits 0 and 1 of `runs` and `ends` tell where runs begin and rows end. */
  __device__ void busy_step(uint32_t at, uint32_t runs, uint32_t ends) {
    constexpr int COUNT = 2;
    Row<T> leaf[COUNT], fresh[COUNT][OUTER > 0 ? OUTER : 1];
    T value[COUNT];
#pragma unroll
    for (int k = 0; k < INPUTS; ++k) {
      uint32_t index[COUNT];
      source.template index<COUNT>(at, k, index);
#pragma unroll
      for (int j = 0; j < COUNT; ++j)
        if (k == OUTER)
          leaf[j] = part.load(table[k], index[j]);
        else if (runs >> j & 1)
          fresh[j][k] = part.load(table[k], index[j]);
    }
    source.template values<COUNT>(at, value);
#pragma unroll
    for (int j = 0; j < COUNT; ++j) {
      if constexpr (OUTER > 0)
        if (runs >> j & 1) {
#pragma unroll
          for (int k = 1; k < OUTER; ++k)
            multiply(fresh[j][0], fresh[j][k]);
          begin_run(fresh[j][0]);
        }
      take<1>(at + j, value + j, leaf + j);
      if (ends >> j & 1) end_row();
    }
  }

  /* One nonzero with any number of inputs. */
  __device__ void plain_step(uint32_t at, uint32_t runs, uint32_t ends) {
    Row<T> leaf[1], product;
    T value[1];
#pragma unroll
    for (int i = 0; i < Row<T>::N; ++i)
      leaf[0].v[i] = product.v[i] = 1;
    for (int k = 0; k < a.inputs; ++k) {
      uint32_t index[1];
      bool last = k == a.inputs - 1;
      if (!last && !(runs & 1)) continue;
      source.template index<1>(at, k, index);
      Row<T> there = part.load(part.table(a.factor[k], a.stride[k]), index[0]);
      multiply(last ? leaf[0] : product, there);
    }
    source.template values<1>(at, value);
    if (runs & 1) begin_run(product);
    take<1>(at, value, leaf);
    if (ends & 1) end_row();
  }

  __device__ void batch(uint32_t at, uint32_t runs, uint32_t ends) {
    if constexpr (INPUTS == 1) runs = 0; /* they begin where rows do */
#pragma unroll 1
    for (uint32_t step = at; step < at + SOURCE::BATCH; step += 4, runs >>= 4, ends >>= 4) {
      if constexpr (INPUTS == 0) {
        for (int j = 0; j < 4; ++j)
          plain_step(step + j, runs >> j, ends >> j);
      } else {
        if (__all_sync(0xffffffffu, ((runs | ends) & 15) == 0)) {
          quiet_step(step);
        } else {
          busy_step(step, runs, ends);
          busy_step(step + 2, runs >> 2, ends >> 2);
        }
      }
    }
  }

  /* All batches of the segment; `warp_here`: nonzeros of the longest segment of the warp, so that
   * its lanes stay together. Groups past the end see zeros and no marks. */
  __device__ void run(uint64_t first, uint32_t here, uint32_t warp_here) {
    constexpr int BATCH = SOURCE::BATCH;
    const uint2 none = make_uint2(0, 0), *marks = a.marks + first / PD_MARKS_UNIT;
    uint2 now = here > 0 ? __ldg(marks) : none;
    if (here > 0) now.y |= 1;
#pragma unroll 1
    for (uint32_t at = 0; at < warp_here; at += BATCH) {
      uint2 mark = now;
      uint32_t next = at + BATCH;
      if (next < warp_here)
        source.fetch(next);
      else
        source.fetch_nothing();
      now = next < here ? __ldg(marks + next / PD_MARKS_UNIT) : none;
      source.wait();
      __syncwarp();
      if constexpr (BATCH < PD_MARKS_UNIT) {
        mark.x >>= at % PD_MARKS_UNIT;
        mark.y >>= at % PD_MARKS_UNIT;
      }
      source.template open<INPUTS>(at);
      batch(at, mark.y, mark.x);
      __syncwarp();
    }
    fold();
  }

  /* Leaves what belongs to rows that other groups share. */
  __device__ void leave_parts(uint64_t first, uint32_t here) {
    uint64_t end = first + here;
    bool open = here == (uint32_t)a.segment && end < a.nnz &&
                (int32_t)__ldg(&a.marks[end / PD_MARKS_UNIT - 1].x) >= 0;
    if (open && inside) parts.last[group][lane] = sum;
    if (open && !inside) parts.first[group][lane] = sum;
    if (lane == 0) {
      parts.has_last[group] = open && inside;
      parts.through[group] = open && !inside;
      parts.last_row[group] = id;
    }
  }
};

/* Adds up one number of each group, in fixed order. */
template <int LANES>
__device__ static void add_groups(double mine, int group, int lane, double *to) {
  __shared__ double of_group[PD_BLOCK_THREADS / LANES];
  if (lane == 0) of_group[group] = mine;
  __syncthreads();
  if (threadIdx.x != 0 || blockIdx.y != 0) return;
  double sum = 0;
  for (int g = 0; g < PD_BLOCK_THREADS / LANES; ++g)
    sum += of_group[g];
  to[blockIdx.x] = sum;
}

template <typename DATA> struct Job {
  struct pd_gpu_sum sum;
  DATA data;
};

template <typename T, int LANES, bool ALIGNED, int INPUTS, pd_gpu_what WHAT, typename SOURCE>
__global__ void __launch_bounds__(PD_BLOCK_THREADS, PD_SUM_BLOCKS(INPUTS, weighs(WHAT)))
    sum_segments(const __grid_constant__ Job<typename SOURCE::DATA> job) {
  typedef Walk<T, LANES, ALIGNED, INPUTS, WHAT, SOURCE> WALK;
  constexpr int GROUPS = WALK::GROUPS, IN_WARP = 32 / LANES;
  extern __shared__ int4 staged[];
  __shared__ Partials<T, LANES, GROUPS> parts;
  const struct pd_gpu_sum &a = job.sum;
  int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
  uint32_t segment = (uint32_t)a.segment;
  uint64_t warp_first = ((uint64_t)blockIdx.x * GROUPS + group / IN_WARP * IN_WARP) * segment;
  uint64_t first = warp_first + (uint64_t)(group % IN_WARP) * segment;
  uint32_t warp_here = warp_first >= a.nnz            ? 0
                       : a.nnz - warp_first < segment ? (uint32_t)(a.nnz - warp_first)
                                                      : segment;
  uint32_t here = first >= a.nnz            ? 0
                  : a.nnz - first < segment ? (uint32_t)(a.nnz - first)
                                            : segment;
  if (here == 0) first = 0; /* addresses stay inside */
  typename WALK::LANE part(lane, (int)blockIdx.y, a.rank);
  SOURCE source(job.data, staged, group, lane, first, here, a.nnz);
  if (warp_here > 0) source.fetch(0);
  WALK walk(a, source, part, parts, group, lane);
  if (here > 0) walk.begin(first);
  if (lane == 0) parts.has_first[group] = !walk.inside;
  walk.run(first, here, warp_here);
  if constexpr (!WALK::STORES) {
    add_groups<LANES>(walk.gain, group, lane, static_cast<double *>(a.head));
  } else {
    walk.leave_parts(first, here);
    __syncthreads();
    uint64_t carry = (uint64_t)blockIdx.x * (uint64_t)a.rank;
    join_groups<T, LANES, GROUPS>(parts, group, lane, part, static_cast<T *>(a.out), a.out_stride,
                                  static_cast<T *>(a.head) + carry,
                                  static_cast<T *>(a.tail) + carry);
  }
}

/* ---- starting it ------------------------------------------------------------------------------
 */

enum { STAGING_MOST = 48 << 10 /* of shared memory: fits every architecture, with the partials */ };

template <typename T, int LANES, bool ALIGNED, int INPUTS, pd_gpu_what WHAT, typename SOURCE>
static cudaError_t start_sum(const Job<typename SOURCE::DATA> &job, cudaStream_t stream) {
  const struct pd_gpu_sum *a = &job.sum;
  uint64_t blocks = pd_gpu_sum_blocks(a->nnz, LANES, a->segment);
  int width = LANES * Row<T>::N;
  unsigned tiles = (unsigned)((a->rank + width - 1) / width);
  auto kernel = sum_segments<T, LANES, ALIGNED, INPUTS, WHAT, SOURCE>;
  size_t bytes = SOURCE::bytes(job.data);
  if (bytes > 32 << 10) {
    cudaError_t code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)STAGING_MOST);
    if (code != cudaSuccess) return code;
  }
  kernel<<<dim3((unsigned)blocks, tiles), PD_BLOCK_THREADS, bytes, stream>>>(job);
  cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  if constexpr (WHAT == PD_GPU_GAIN)
    return pd_gpu_add_up(static_cast<const double *>(a->head), blocks,
                         static_cast<double *>(a->out), stream);
  return blocks == 1 ? code
                     : start_join<T, LANES, ALIGNED>(a, blocks, tiles, PD_BLOCK_THREADS, stream);
}

template <typename T, int LANES, bool ALIGNED, pd_gpu_what WHAT,
          template <typename, int> class STAGED, template <typename, int> class DIRECT>
static cudaError_t start_inputs(const Job<typename STAGED<T, LANES>::DATA> &job,
                                cudaStream_t stream) {
  typedef STAGED<T, LANES> SOURCE;
  typedef DIRECT<T, LANES> PLAIN;
  if constexpr (WHAT == PD_GPU_GAIN) { /* once per iteration: one kernel serves all */
    return start_sum<T, LANES, ALIGNED, 0, WHAT, PLAIN>(job, stream);
  } else {
    switch (SOURCE::bytes(job.data) > STAGING_MOST ? 0 : job.sum.inputs) {
    case 1: /* Phi's kernel for any number of inputs serves matrices */
      if constexpr (!weighs(WHAT))
        return start_sum<T, LANES, ALIGNED, 1, WHAT, SOURCE>(job, stream);
      else
        return start_sum<T, LANES, ALIGNED, 0, WHAT, PLAIN>(job, stream);
    case 2:
      return start_sum<T, LANES, ALIGNED, 2, WHAT, SOURCE>(job, stream);
    case 3:
      return start_sum<T, LANES, ALIGNED, 3, WHAT, SOURCE>(job, stream);
    case 4:
      return start_sum<T, LANES, ALIGNED, 4, WHAT, SOURCE>(job, stream);
    default:
      return start_sum<T, LANES, ALIGNED, 0, WHAT, PLAIN>(job, stream);
    }
  }
}

/* The kernel for the rank. */
template <typename T, pd_gpu_what WHAT, template <typename, int> class STAGED,
          template <typename, int> class DIRECT>
static cudaError_t start_lanes(const struct pd_gpu_sum *sum,
                               const typename STAGED<T, 8>::DATA *data, cudaStream_t stream) {
  const Job<typename STAGED<T, 8>::DATA> job = {*sum, *data};
  int lanes = pd_gpu_lanes(sum->rank, (int)sizeof(T), sum->aligned);
  if (sum->nnz == 0) return cudaSuccess;
  if constexpr (WHAT == PD_GPU_HALVES) {
    if (!sum->aligned) return cudaErrorInvalidValue;
  } else if (!sum->aligned) {
    return lanes == 8 ? start_inputs<T, 8, false, WHAT, STAGED, DIRECT>(job, stream)
                      : start_inputs<T, 32, false, WHAT, STAGED, DIRECT>(job, stream);
  }
  switch (lanes) {
  case 4:
    return start_inputs<T, 4, true, WHAT, STAGED, DIRECT>(job, stream);
  case 8:
    return start_inputs<T, 8, true, WHAT, STAGED, DIRECT>(job, stream);
  case 16:
    return start_inputs<T, 16, true, WHAT, STAGED, DIRECT>(job, stream);
  default:
    return start_inputs<T, 32, true, WHAT, STAGED, DIRECT>(job, stream);
  }
}

#endif
