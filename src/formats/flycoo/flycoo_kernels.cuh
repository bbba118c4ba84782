/* MTTKRP over elements sorted by output row, with remapping (default variant of "flycoo").
 *
 * As in "modecopy", a group of LANES lanes walks `segment` consecutive elements and sums rows of
 * the output in registers; there is no atomic anywhere. The lanes of a group hold the words of an
 * element, one or two each (loaded as one contiguous read), get fields from each other by shuffles,
 * and write the words to the element's place in the next order as one contiguous write. Elements
 * of more words than that are read field by field.
 *
 * Per element: 4 x words read, as much written to a random place; factor rows as in "modecopy". */
#ifndef PD_FLYCOO_KERNELS_CUH
#define PD_FLYCOO_KERNELS_CUH

#include "formats/flycoo/flycoo_launch.h"
#include "formats/modecopy/modecopy_join.cuh"
#include "formats/modecopy/modecopy_products.cuh"

/* Four elements, their words spread over the lanes of the group: HELD words per lane. */
template <int LANES, int HELD> struct Words {
  uint32_t held[4][HELD];

  __device__ void load(const struct pd_gpu_fly &a, uint64_t p, int lane) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      uint64_t at = p + j < a.nnz ? p + j : a.nnz - 1;
#pragma unroll
      for (int h = 0; h < HELD; ++h) {
        int word = lane + h * LANES;
        held[j][h] = word < a.words ? __ldg(a.in + at * (uint64_t)a.words + word) : 0;
      }
    }
  }

  __device__ uint32_t word(const struct pd_gpu_fly &, int j, uint32_t number) const {
    uint32_t mine = held[j][0];
    if (HELD > 1 && number >= LANES) mine = held[j][HELD - 1];
    return __shfl_sync(0xffffffffu, mine, (int)number % LANES, LANES);
  }

  __device__ void write(const struct pd_gpu_fly &a, int j, uint64_t, uint32_t to, int lane) const {
#pragma unroll
    for (int h = 0; h < HELD; ++h) {
      int word = lane + h * LANES;
      if (word < a.words) a.out_elements[(uint64_t)to * (uint64_t)a.words + word] = held[j][h];
    }
  }
};

/* Elements of any number of words: every lane reads the words it needs. */
template <int LANES> struct Words<LANES, 0> {
  uint64_t first;

  __device__ void load(const struct pd_gpu_fly &, uint64_t p, int) { first = p; }

  __device__ uint64_t place(const struct pd_gpu_fly &a, int j) const {
    return first + j < a.nnz ? first + j : a.nnz - 1;
  }

  __device__ uint32_t word(const struct pd_gpu_fly &a, int j, uint32_t number) const {
    return __ldg(a.in + place(a, j) * (uint64_t)a.words + number);
  }

  __device__ void write(const struct pd_gpu_fly &a, int j, uint64_t, uint32_t to, int lane) const {
    for (int word = lane; word < a.words; word += LANES)
      a.out_elements[(uint64_t)to * (uint64_t)a.words + word] =
          __ldg(a.in + place(a, j) * (uint64_t)a.words + word);
  }
};

template <typename WORDS>
__device__ __forceinline__ uint32_t field_of(const WORDS &words, const struct pd_gpu_fly &a, int j,
                                             const struct pd_gpu_bits &bits) {
  uint32_t low = words.word(a, j, bits.word);
  uint32_t high = bits.two_words ? words.word(a, j, bits.word + 1) : 0;
  return __funnelshift_r(low, high, bits.shift) & bits.mask;
}

template <typename WORDS>
__device__ __forceinline__ float value_of(const WORDS &words, const struct pd_gpu_fly &a, int j,
                                          float) {
  return __uint_as_float(words.word(a, j, 0));
}

template <typename WORDS>
__device__ __forceinline__ double value_of(const WORDS &words, const struct pd_gpu_fly &a, int j,
                                           double) {
  return __hiloint2double((int)words.word(a, j, 1), (int)words.word(a, j, 0));
}

template <typename T, typename WORDS> struct ElementSource {
  const struct pd_gpu_fly &a;
  const WORDS &words;

  __device__ int inputs() const { return a.inputs; }
  __device__ const T *factor(int k) const { return static_cast<const T *>(a.factor[k]); }
  __device__ uint64_t stride(int k) const { return a.stride[k]; }
  __device__ void index(int k, uint32_t index[4]) const {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      index[j] = field_of(words, a, j, a.input[k]);
  }
};

template <typename T, int LANES, bool ALIGNED, int INPUTS, int HELD>
__global__ void __launch_bounds__(PD_BLOCK_THREADS, 2)
    sum_elements(const __grid_constant__ struct pd_gpu_fly a) {
  constexpr int GROUPS = PD_BLOCK_THREADS / LANES;
  typedef Lane<T, LANES, ALIGNED> LANE;
  typedef Words<LANES, HELD> WORDS;
  __shared__ Partials<T, LANES, GROUPS> parts;
  int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
  LANE part(lane, (int)blockIdx.y, a.rank);
  bool moves = a.out_elements != nullptr && blockIdx.y == 0;
  uint64_t begin = ((uint64_t)blockIdx.x * GROUPS + (uint64_t)group) * (uint64_t)a.segment;
  T *out = static_cast<T *>(a.out);
  bool has_first = false, inside = true;
  if (begin < a.nnz) inside = a.row_start[a.chunk_row[begin / PD_SEGMENT_UNIT]] == begin;
  has_first = !inside;
  bool began = false; /* whether `row` is known */
  uint32_t row = 0;
  Row<T> sum = LANE::zero();
  Products<T, LANE, INPUTS> products;
  products.begin();
  /* All groups take the same number of steps, so that shuffles meet; past the end the last
   * element is read again and nothing is done with it. */
  for (int step = 0; step < a.segment; step += 4) {
    uint64_t p = begin + (uint64_t)step;
    WORDS words;
    T value[4];
    Row<T> product[4];
    uint32_t id[4];
    words.load(a, p, lane);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      value[j] = value_of(words, a, j, T());
      id[j] = field_of(words, a, j, a.output);
    }
    products.compute(ElementSource<T, WORDS>{a, words}, part, value, product);
    if (moves) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        uint32_t to = field_of(words, a, j, a.remap);
        if (p + j < a.nnz) words.write(a, j, p, to, lane);
      }
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (p + j >= a.nnz) continue;
      if (began && id[j] != row) { /* the row before has ended */
        if (inside)
          part.store(out + row * a.out_stride, sum);
        else
          parts.first[group][lane] = sum;
        sum = LANE::zero();
        inside = true;
      }
      began = true;
      row = id[j];
      add(sum, product[j]);
    }
  }
  /* Does the last row go on in the next segment? */
  uint64_t end = begin + (uint64_t)a.segment;
  bool open = end < a.nnz && a.row_start[a.chunk_row[end / PD_SEGMENT_UNIT]] != end;
  if (began && !open && inside) part.store(out + row * a.out_stride, sum);
  if (began && !inside) parts.first[group][lane] = sum;
  if (began && open && inside) parts.last[group][lane] = sum;
  if (lane == 0) {
    parts.has_first[group] = began && has_first;
    parts.has_last[group] = began && open && inside;
    parts.through[group] = began && open && !inside;
    parts.last_row[group] = row;
  }
  __syncthreads();
  uint64_t carry = (uint64_t)blockIdx.x * (uint64_t)a.rank;
  join_groups<T, LANES, GROUPS>(parts, group, lane, part, out, a.out_stride,
                                static_cast<T *>(a.head) + carry, static_cast<T *>(a.tail) + carry);
}

template <typename T, int LANES, bool ALIGNED, int INPUTS>
static void launch_inputs(const struct pd_gpu_fly *a, dim3 grid, cudaStream_t stream) {
  if (a->words <= LANES)
    sum_elements<T, LANES, ALIGNED, INPUTS, 1><<<grid, PD_BLOCK_THREADS, 0, stream>>>(*a);
  else if (a->words <= 2 * LANES)
    sum_elements<T, LANES, ALIGNED, INPUTS, 2><<<grid, PD_BLOCK_THREADS, 0, stream>>>(*a);
  else
    sum_elements<T, LANES, ALIGNED, 0, 0><<<grid, PD_BLOCK_THREADS, 0, stream>>>(*a);
}

template <typename T, int LANES, bool ALIGNED>
static cudaError_t fly_lanes(const struct pd_gpu_fly *a, cudaStream_t stream) {
  uint64_t blocks = pd_gpu_sum_blocks(a->nnz, LANES, a->segment);
  int width = LANES * Row<T>::N, tiles = (a->rank + width - 1) / width;
  dim3 grid((unsigned)blocks, (unsigned)tiles);
  switch (a->inputs) {
  case 2:
    launch_inputs<T, LANES, ALIGNED, 2>(a, grid, stream);
    break;
  case 3:
    launch_inputs<T, LANES, ALIGNED, 3>(a, grid, stream);
    break;
  default:
    launch_inputs<T, LANES, ALIGNED, 0>(a, grid, stream);
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

/* Groups of at least 8 lanes: fewer could not hold an element's words. */
template <typename T>
static cudaError_t fly_any(const struct pd_gpu_fly *a, int aligned, cudaStream_t stream) {
  int lanes = pd_gpu_lanes(a->rank, (int)sizeof(T), aligned);
  if (a->nnz == 0) return cudaSuccess;
  if (!aligned)
    return lanes <= 8 ? fly_lanes<T, 8, false>(a, stream) : fly_lanes<T, 32, false>(a, stream);
  if (lanes <= 8) return fly_lanes<T, 8, true>(a, stream);
  return lanes == 16 ? fly_lanes<T, 16, true>(a, stream) : fly_lanes<T, 32, true>(a, stream);
}

#endif
