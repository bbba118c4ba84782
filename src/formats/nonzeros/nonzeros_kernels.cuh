/* Adding the products of listed nonzeros to an output that other groups add to as well.
 *
 * LANES lanes form a group, 16 bytes of a row each; a group takes one item, a run of nonzeros, four
 * at a time. A format's SOURCE decodes them. Products of nonzeros with the same output row that
 * follow each other are summed in registers; at the end of the run the sum is added to the output
 * with an atomic operation, or stored where the source says that nobody else has that row. */
#ifndef PD_NONZEROS_KERNELS_CUH
#define PD_NONZEROS_KERNELS_CUH

#include "formats/nonzeros/nonzeros_gpu.h"
#include "formats/nonzeros/nonzeros_products.cuh"

enum { NZ_BATCH = 4 };

/* Lanes of a group. */
template <typename T> struct NzLanes {
  static constexpr int value = (int)PD_NZ_COLUMNS * (int)sizeof(T) / 16;
};

/* Four decoded nonzeros; those past the end of the item have value 0 and index 0. */
template <typename T, int INPUTS> struct Decoded {
  static constexpr int KEPT = INPUTS > 0 ? INPUTS : (int)PD_NZ_INPUTS;
  uint32_t row[NZ_BATCH];
  uint32_t index[KEPT][NZ_BATCH];
  T value[NZ_BATCH];

  __device__ void clear() {
#pragma unroll
    for (int j = 0; j < NZ_BATCH; ++j) {
      row[j] = 0;
      value[j] = 0;
      if constexpr (INPUTS > 0)
#pragma unroll
        for (int k = 0; k < KEPT; ++k)
          index[k][j] = 0;
    }
  }
};

/* What Products wants to know. */
template <typename T, int INPUTS> struct DecodedSource {
  const struct pd_nz_launch &a;
  const Decoded<T, INPUTS> &decoded;

  __device__ int inputs() const { return a.inputs; }
  __device__ const T *factor(int k) const { return static_cast<const T *>(a.factor[k]); }
  __device__ uint64_t stride(int k) const { return a.stride[k]; }
  __device__ void index(int k, uint32_t index[NZ_BATCH]) const {
#pragma unroll
    for (int j = 0; j < NZ_BATCH; ++j)
      index[j] = decoded.index[k][j];
  }
};

template <typename T, int LANES, bool ALIGNED>
__device__ __forceinline__ void add_atomically(const Lane<T, LANES, ALIGNED> &part, T *to,
                                               const Row<T> &row) {
#if __CUDA_ARCH__ >= 900
  if constexpr (ALIGNED && sizeof(T) == 4) {
    if (part.column < part.rank)
      atomicAdd(reinterpret_cast<float4 *>(to + part.column),
                make_float4(row.v[0], row.v[1], row.v[2], row.v[3]));
    return;
  } else
#endif
#pragma unroll
    for (int i = 0; i < Row<T>::N; ++i) {
      int column = ALIGNED ? part.column + i : part.column + i * LANES;
      if (column < part.rank) atomicAdd(to + column, row.v[i]);
    }
}

/* Where the block adds: the output, or one of its copies. */
template <typename T> __device__ __forceinline__ T *nz_out(const struct pd_nz_launch &a) {
  return static_cast<T *>(a.out.data) + blockIdx.x % (unsigned)a.out.copies * a.out.copy_stride;
}

/* The sum of a run of nonzeros of one output row. */
template <typename T, typename LANE> struct Run {
  uint32_t row;
  bool open; /* whether `row` means anything yet */
  Row<T> sum;

  __device__ void begin() {
    row = 0;
    open = false;
    sum = LANE::zero();
  }
  __device__ void flush(T *out, uint64_t stride, const LANE &part, bool alone) {
    if (!open) return;
    T *to = out + (uint64_t)row * stride;
    if (alone)
      part.store(to, sum);
    else
      add_atomically(part, to, sum);
    sum = LANE::zero();
  }
  __device__ void take(T *out, uint64_t stride, const LANE &part, bool alone, uint32_t next,
                       const Row<T> &product) {
    if (!open || next != row) {
      flush(out, stride, part, alone);
      row = next;
      open = true;
    }
    add(sum, product);
  }
};

/* The next nonzeros, and zeros past the end. */
template <typename T, int INPUTS, typename SOURCE>
__device__ __forceinline__ void nz_decode(const struct pd_nz_launch &a, SOURCE &source, uint64_t p,
                                          int count, Decoded<T, INPUTS> &decoded) {
  decoded.clear();
  source.decode(a, p, count, decoded);
  if constexpr (INPUTS == 0)
    for (int k = 0; k < a.inputs; ++k)
      for (int j = count; j < NZ_BATCH; ++j)
        decoded.index[k][j] = 0;
}

/* SOURCE(a, item) knows `begin` and `end` of the item; decode(a, p, count, decoded) is called for
 * p = begin, begin + 4, ...; alone(): whether sums of the item's runs are their rows' only ones. */
template <typename T, int LANES, bool ALIGNED, int INPUTS, template <typename, int> class SOURCE>
__global__ void __launch_bounds__(PD_NZ_THREADS)
    nz_scatter(const __grid_constant__ struct pd_nz_launch a) {
  typedef Lane<T, LANES, ALIGNED> LANE;
  constexpr int GROUPS = PD_NZ_THREADS / LANES;
  int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
  uint64_t item = (uint64_t)blockIdx.x * GROUPS + (uint64_t)group;
  if (item >= a.list.items) return;
  LANE part(lane, (int)blockIdx.y, a.rank);
  SOURCE<T, INPUTS> source(a, item);
  Products<T, LANE, INPUTS> products;
  Decoded<T, INPUTS> decoded;
  Run<T, LANE> run;
  T *out = nz_out<T>(a);
  products.begin();
  run.begin();
  for (uint64_t p = source.begin; p < source.end; p += NZ_BATCH) {
    int count = source.end - p < NZ_BATCH ? (int)(source.end - p) : NZ_BATCH;
    Row<T> product[NZ_BATCH];
    nz_decode(a, source, p, count, decoded);
    products.compute(DecodedSource<T, INPUTS>{a, decoded}, part, decoded.value, product);
#pragma unroll
    for (int j = 0; j < NZ_BATCH; ++j)
      if (j < count) run.take(out, a.out.stride, part, source.alone(), decoded.row[j], product[j]);
  }
  run.flush(out, a.out.stride, part, source.alone());
}

struct NzScatter {
  template <typename T, bool ALIGNED, int INPUTS, template <typename, int> class SOURCE>
  static cudaError_t start(const struct pd_nz_launch *launch, cudaStream_t stream) {
    constexpr int LANES = NzLanes<T>::value, GROUPS = PD_NZ_THREADS / LANES;
    uint64_t blocks = (launch->list.items + GROUPS - 1) / GROUPS;
    int tiles = (launch->rank + PD_NZ_COLUMNS - 1) / PD_NZ_COLUMNS;
    if (blocks == 0) return cudaSuccess;
    nz_scatter<T, LANES, ALIGNED, INPUTS, SOURCE>
        <<<dim3((unsigned)blocks, (unsigned)tiles), PD_NZ_THREADS, 0, stream>>>(*launch);
    return cudaGetLastError();
  }
};

/* START::start() for the number of inputs. */
template <typename START, typename T, bool ALIGNED, template <typename, int> class SOURCE>
static cudaError_t nz_by_inputs(const struct pd_nz_launch *launch, cudaStream_t stream) {
  switch (launch->inputs) {
  case 2:
    return START::template start<T, ALIGNED, 2, SOURCE>(launch, stream);
  case 3:
    return START::template start<T, ALIGNED, 3, SOURCE>(launch, stream);
  case 4:
    return START::template start<T, ALIGNED, 4, SOURCE>(launch, stream);
  default:
    return START::template start<T, ALIGNED, 0, SOURCE>(launch, stream);
  }
}

template <typename START, typename T, template <typename, int> class SOURCE>
static cudaError_t nz_launch(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream) {
  return aligned ? nz_by_inputs<START, T, true, SOURCE>(launch, stream)
                 : nz_by_inputs<START, T, false, SOURCE>(launch, stream);
}

/* Defines the two launchers of a format. */
#define PD_NZ_LAUNCHERS_BY(start, name, source)                                                    \
  extern "C" cudaError_t name##_f32(const struct pd_nz_launch *launch, int aligned,                \
                                    cudaStream_t stream) {                                         \
    return nz_launch<start, float, source>(launch, aligned, stream);                               \
  }                                                                                                \
  extern "C" cudaError_t name##_f64(const struct pd_nz_launch *launch, int aligned,                \
                                    cudaStream_t stream) {                                         \
    return nz_launch<start, double, source>(launch, aligned, stream);                              \
  }
#define PD_NZ_LAUNCHERS(name, source) PD_NZ_LAUNCHERS_BY(NzScatter, name, source)

/* An item that is an equal part of all nonzeros. */
struct NzSegment {
  uint64_t begin, end;
  __device__ NzSegment(const struct pd_nz_launch &a, uint64_t item)
      : begin(item * a.segment),
        end(begin + a.segment < a.list.nnz ? begin + a.segment : a.list.nnz) {}
  __device__ bool alone() const { return false; }
};

template <typename N>
__device__ __forceinline__ N nz_at(const struct pd_nz_launch &a, int array, uint64_t place) {
  return __ldg(static_cast<const N *>(a.list.array[array]) + place);
}

/* Inputs: known at compile time, or not. */
template <int INPUTS> __device__ __forceinline__ int nz_inputs(const struct pd_nz_launch &a) {
  return INPUTS > 0 ? INPUTS : a.inputs;
}

template <typename T>
__device__ __forceinline__ T nz_value_at(const struct pd_nz_launch &a, uint64_t p) {
  return __ldg(static_cast<const T *>(a.list.values) + p);
}

/* A list of plain arrays: array k holds the indices of slot k. */
template <typename T, int INPUTS, bool ALONE> struct NzArraySource : NzSegment {
  using NzSegment::NzSegment;

  __device__ bool alone() const { return ALONE; }
  __device__ static uint32_t row_at(const struct pd_nz_launch &a, uint64_t p) {
    return nz_at<uint32_t>(a, a.output_slot, p);
  }
  __device__ void decode(const struct pd_nz_launch &a, uint64_t p, int count,
                         Decoded<T, INPUTS> &decoded) {
#pragma unroll
    for (int j = 0; j < NZ_BATCH; ++j) {
      if (j >= count) continue;
      decoded.row[j] = row_at(a, p + (uint64_t)j);
      decoded.value[j] = nz_value_at<T>(a, p + (uint64_t)j);
#pragma unroll
      for (int k = 0; k < nz_inputs<INPUTS>(a); ++k)
        decoded.index[k][j] = nz_at<uint32_t>(a, a.slot[k], p + (uint64_t)j);
    }
  }
};

#endif
