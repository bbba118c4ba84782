/* The tensor-times-matrix chain on a GPU.
 *
 * A group of threads takes a segment of the nonzeros. Each of its threads has one combination of
 * the columns of all input modes but the first, and TILE columns of the first: below the first mode
 * it sums one number, and whenever the first mode's index (or the row) changes, that number times
 * the first mode's row goes into TILE sums. All threads of a group read the same indices, and
 * neighbours read neighbouring columns of the last factor and write neighbouring numbers. */
#include "formats/ttmc/ttmc_gpu.h"

namespace {

__device__ __forceinline__ uint32_t index_at(const pd_gpu_ttmc_index &where, uint64_t p) {
  return (__ldg(where.plane + p) >> where.shift) & where.mask;
}

__device__ __forceinline__ uint64_t place_of(const pd_gpu_ttmc &a, uint64_t q) {
  return a.order == nullptr ? q : __ldg(a.order + q);
}

__device__ __forceinline__ uint32_t row_at(const pd_gpu_ttmc &a, uint64_t q) {
  return index_at(a.row, place_of(a, q));
}

__device__ __forceinline__ uint64_t segment_end(const pd_gpu_ttmc &a, uint64_t segment) {
  uint64_t end = (segment + 1) * a.segment;
  return end < a.nnz ? end : a.nnz;
}

/* What one thread sums. */
template <typename T, int TILE> struct Sums {
  double below;     /* the first column's row */
  double row[TILE]; /* of the output row */
  uint32_t digit[PD_TTMC_GPU_COLUMNS];
  uint32_t first;  /* column of the first mode */
  uint64_t offset; /* of this thread's first number in a row of the output */

  __device__ void begin(const pd_gpu_ttmc &a, uint64_t slot) {
    uint64_t rest = slot % a.inner;
    first = static_cast<uint32_t>(slot / a.inner) * TILE;
    offset = a.columns > 0 ? first * a.column[0].out_stride : 0;
    for (int k = a.columns - 1; k >= 1; --k) {
      digit[k] = static_cast<uint32_t>(rest % a.column[k].rank);
      rest /= a.column[k].rank;
      offset += digit[k] * a.column[k].out_stride;
    }
    below = 0;
    clear();
  }

  __device__ void clear() {
#pragma unroll
    for (int j = 0; j < TILE; ++j)
      row[j] = 0;
  }

  __device__ int count(const pd_gpu_ttmc &a) const {
    uint32_t rank = a.columns > 0 ? a.column[0].rank : 1;
    return rank - first < TILE ? static_cast<int>(rank - first) : TILE;
  }

  /* The nonzero's value times its rows in all columns but the first. */
  __device__ void add(const pd_gpu_ttmc &a, uint64_t p) {
    double product = static_cast<double>(__ldg(static_cast<const T *>(a.values) + p));
    for (int k = 1; k < a.columns; ++k) {
      const T *factor = static_cast<const T *>(a.column[k].factor);
      uint64_t index = index_at(a.column[k].index, p);
      product *= static_cast<double>(__ldg(factor + index * a.column[k].stride + digit[k]));
    }
    below += product;
  }

  /* The first mode's index is about to change from `index`. */
  __device__ void flush(const pd_gpu_ttmc &a, uint32_t index) {
    int mine = count(a);
    if (a.columns == 0) {
      row[0] += below;
    } else {
      const T *from =
          static_cast<const T *>(a.column[0].factor) + index * a.column[0].stride + first;
#pragma unroll
      for (int j = 0; j < TILE; ++j)
        if (j < mine) row[j] += below * static_cast<double>(__ldg(from + j));
    }
    below = 0;
  }

  __device__ uint64_t step(const pd_gpu_ttmc &a) const {
    return a.columns > 0 ? a.column[0].out_stride : 0;
  }

  template <typename TO> __device__ void store(const pd_gpu_ttmc &a, TO *to) const {
    int mine = count(a);
#pragma unroll
    for (int j = 0; j < TILE; ++j)
      if (j < mine) to[offset + j * step(a)] = static_cast<TO>(row[j]);
  }

  __device__ void add_to(const pd_gpu_ttmc &a, T *to) const {
    int mine = count(a);
#pragma unroll
    for (int j = 0; j < TILE; ++j)
      if (j < mine) atomicAdd(to + offset + j * step(a), static_cast<T>(row[j]));
  }
};

/* The group's nonzeros; ATOMIC: rows are added to the output, in any order. */
template <typename T, int TILE, bool ATOMIC>
__global__ void __launch_bounds__(PD_TTMC_GPU_THREADS)
    ttmc_segments(const __grid_constant__ pd_gpu_ttmc a, uint64_t slots) {
  uint64_t thread = blockIdx.x * static_cast<uint64_t>(PD_TTMC_GPU_THREADS) + threadIdx.x;
  uint64_t segment = thread / slots;
  if (segment >= a.segments) return;
  uint64_t begin = segment * a.segment, end = segment_end(a, segment);
  T *out = static_cast<T *>(a.out);
  Sums<T, TILE> sums;
  sums.begin(a, thread % slots);
  uint32_t row = row_at(a, begin), index = 0;
  bool begins = ATOMIC || begin == 0 || row_at(a, begin - 1) != row;
  if (a.columns > 0) index = index_at(a.column[0].index, place_of(a, begin));
  for (uint64_t q = begin; q < end; ++q) {
    uint64_t p = place_of(a, q);
    uint32_t next_row = index_at(a.row, p);
    uint32_t next = a.columns > 0 ? index_at(a.column[0].index, p) : 0;
    if (next_row != row || next != index) {
      sums.flush(a, index);
      index = next;
    }
    if (next_row != row) {
      if (ATOMIC)
        sums.add_to(a, out + row * a.out_stride);
      else if (begins)
        sums.store(a, out + row * a.out_stride);
      else
        sums.store(a, a.head + segment * a.row_numbers);
      sums.clear();
      begins = true;
      row = next_row;
    }
    sums.add(a, p);
  }
  sums.flush(a, index);
  if (ATOMIC)
    sums.add_to(a, out + row * a.out_stride);
  else if (!begins)
    sums.store(a, a.head + segment * a.row_numbers);
  else if (end < a.nnz && row_at(a, end) == row)
    sums.store(a, a.tail + segment * a.row_numbers);
  else
    sums.store(a, out + row * a.out_stride);
}

/* A row that begins in this segment and goes on in later ones: its tail and their heads. */
template <typename T>
__global__ void __launch_bounds__(PD_TTMC_GPU_THREADS)
    join_segments(const __grid_constant__ pd_gpu_ttmc a) {
  uint64_t segment = blockIdx.x, begin = segment * a.segment, end = segment_end(a, segment);
  uint32_t row = row_at(a, end - 1);
  bool begins = begin == 0 || row_at(a, begin - 1) != row;
  if (!begins || end >= a.nnz || row_at(a, end) != row) return;
  uint64_t last = segment;
  do {
    ++last;
    end = segment_end(a, last);
  } while (end < a.nnz && row_at(a, end - 1) == row && row_at(a, end) == row);
  T *out = static_cast<T *>(a.out) + row * a.out_stride;
  for (uint64_t k = threadIdx.x; k < a.row_numbers; k += PD_TTMC_GPU_THREADS) {
    double sum = a.tail[segment * a.row_numbers + k];
    for (uint64_t s = segment + 1; s <= last; ++s)
      sum += a.head[s * a.row_numbers + k];
    out[k] = static_cast<T>(sum);
  }
}

template <typename T, int TILE, bool ATOMIC>
cudaError_t launch_tile(const pd_gpu_ttmc &a, uint64_t slots, cudaStream_t stream) {
  uint64_t blocks = (a.segments * slots + PD_TTMC_GPU_THREADS - 1) / PD_TTMC_GPU_THREADS;
  if (blocks > 0x7fffffffu) return cudaErrorInvalidConfiguration;
  ttmc_segments<T, TILE, ATOMIC>
      <<<static_cast<unsigned>(blocks), PD_TTMC_GPU_THREADS, 0, stream>>>(a, slots);
  return cudaGetLastError();
}

template <typename T, bool ATOMIC> cudaError_t launch(const pd_gpu_ttmc &a, cudaStream_t stream) {
  uint32_t rank = a.columns > 0 ? a.column[0].rank : 1;
  uint64_t slots = pd_gpu_ttmc_slots(a.inner, rank);
  if (a.segments > 0x7fffffffu) return cudaErrorInvalidConfiguration;
  int tile = pd_gpu_ttmc_tile(rank);
  cudaError_t status = tile == 1   ? launch_tile<T, 1, ATOMIC>(a, slots, stream)
                       : tile == 4 ? launch_tile<T, 4, ATOMIC>(a, slots, stream)
                                   : launch_tile<T, 8, ATOMIC>(a, slots, stream);
  if (ATOMIC || status != cudaSuccess || a.segments < 2) return status;
  join_segments<T><<<static_cast<unsigned>(a.segments), PD_TTMC_GPU_THREADS, 0, stream>>>(a);
  return cudaGetLastError();
}

} // namespace

extern "C" cudaError_t pd_gpu_ttmc_sorted(const struct pd_gpu_ttmc *a, int wide,
                                          cudaStream_t stream) {
  return wide ? launch<double, false>(*a, stream) : launch<float, false>(*a, stream);
}

extern "C" cudaError_t pd_gpu_ttmc_atomic(const struct pd_gpu_ttmc *a, int wide,
                                          cudaStream_t stream) {
  return wide ? launch<double, true>(*a, stream) : launch<float, true>(*a, stream);
}
