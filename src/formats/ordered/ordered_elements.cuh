/* How sums over rows read nonzeros that are stored as elements, all numbers of one behind each
 * other, where planes have an array for each mode. open() takes the elements of a batch apart,
 * each lane other ones, so that the sums read what planes would give them; and it moves them to the
 * places of the next order, with one write each where they have two words or four. */
#ifndef PD_ORDERED_ELEMENTS_CUH
#define PD_ORDERED_ELEMENTS_CUH

#include "formats/ordered/ordered_launch.h"
#include <cuda_pipeline_primitives.h>

__device__ __forceinline__ float value_from(uint32_t low, uint32_t, float) {
  return __uint_as_float(low);
}

__device__ __forceinline__ double value_from(uint32_t low, uint32_t high, double) {
  return __hiloint2double((int)high, (int)low);
}

/* Reads a field; READ(word) gives a word of the element. */
template <typename READ>
__device__ __forceinline__ uint32_t field_from(const struct pd_gpu_bits &bits, const READ &read) {
  uint32_t low = read(bits.word), high = bits.two_words ? read(bits.word + 1) : 0;
  return __funnelshift_r(low, high, bits.shift) & bits.mask;
}

/* What a GPU's second level of cache should keep: elements that were read leave it first, so that
 * those on their way to scattered places stay until their neighbours have come, and are written to
 * memory together. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ __forceinline__ void copy_and_forget(void *to, const void *from, uint32_t bytes) {
  uint64_t hint;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(hint));
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(
                   (uint32_t)__cvta_generic_to_shared(to)),
               "l"(from), "r"(bytes), "l"(hint)
               : "memory");
}

__device__ __forceinline__ uint64_t keep_hint() {
  uint64_t hint;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(hint));
  return hint;
}

__device__ __forceinline__ void store_and_keep(uint32_t *to, uint4 x) {
  asm volatile("st.global.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to), "r"(x.x),
               "r"(x.y), "r"(x.z), "r"(x.w), "l"(keep_hint())
               : "memory");
}

__device__ __forceinline__ void store_and_keep(uint32_t *to, uint2 x) {
  asm volatile("st.global.L2::cache_hint.v2.b32 [%0], {%1, %2}, %3;" ::"l"(to), "r"(x.x), "r"(x.y),
               "l"(keep_hint())
               : "memory");
}

__device__ __forceinline__ void store_and_keep(uint32_t *to, uint32_t x) {
  asm volatile("st.global.L2::cache_hint.b32 [%0], %1, %2;" ::"l"(to), "r"(x), "l"(keep_hint())
               : "memory");
}
#else
__device__ __forceinline__ void copy_and_forget(void *to, const void *from, uint32_t bytes) {
  __pipeline_memcpy_async(to, from, 16, 16 - bytes);
}

template <typename WORDS> __device__ __forceinline__ void store_and_keep(uint32_t *to, WORDS x) {
  *reinterpret_cast<WORDS *>(to) = x;
}
#endif

/* Writes the first words of `count` elements to their places. */
template <int LANES>
__device__ void leave_elements(const struct pd_gpu_elements &data, const uint32_t *from,
                               uint32_t count, int lane) {
  const uint32_t words = (uint32_t)data.words, moved = (uint32_t)data.to_words;
  auto place = [&](uint32_t j) {
    const uint32_t *element = from + j * words;
    uint32_t at = field_from(data.remap, [&](uint32_t word) { return element[word]; });
    return data.to + (uint64_t)at * moved;
  };
  if (moved == 4) {
    for (uint32_t j = lane; j < count; j += LANES) {
      const uint32_t *element = from + j * words;
      store_and_keep(place(j), make_uint4(element[0], element[1], element[2], element[3]));
    }
  } else if (moved == 2) {
    for (uint32_t j = lane; j < count; j += LANES) {
      const uint32_t *element = from + j * words;
      store_and_keep(place(j), make_uint2(element[0], element[1]));
    }
  } else { /* neighbouring lanes write neighbouring words; k / moved, for a batch of at most 34
              words an element */
    const uint32_t inverse = (65536 + moved - 1) / moved;
    for (uint32_t k = lane; k < count * moved; k += LANES) {
      uint32_t j = k * inverse >> 16, word = k - j * moved;
      store_and_keep(place(j) + word, from[j * words + word]);
    }
  }
}

template <typename T, int LANES> struct StagedElements {
  typedef struct pd_gpu_elements DATA;
  static constexpr int BATCH = LANES == 4 ? 8 : 16;
  static constexpr int GROUPS = PD_BLOCK_THREADS / LANES;
  static constexpr int VALUE_WORDS = BATCH * (int)sizeof(T) / 4;
  const DATA &data;
  uint32_t *mine;       /* two batches of elements */
  uint32_t *apart;      /* values, and each input's indices, of the batch at work */
  const uint32_t *from; /* the group's first element */
  int lane;
  uint32_t here; /* elements of the group */

  /* A few words more, so that groups of a warp lie in different banks of shared memory. */
  __host__ __device__ static int group_words(const DATA &data) {
    return 2 * BATCH * data.words + VALUE_WORDS + data.inputs * BATCH + LANES;
  }
  static size_t bytes(const DATA &data) { return (size_t)GROUPS * group_words(data) * 4; }
  __device__ StagedElements(const DATA &data_, int4 *shared, int group, int lane_, uint64_t begin,
                            uint32_t here_, uint64_t)
      : data(data_), lane(lane_), here(here_) {
    mine = reinterpret_cast<uint32_t *>(shared) + group * group_words(data);
    apart = mine + 2 * BATCH * data.words;
    from = data.in + begin * (uint64_t)data.words;
  }
  __device__ uint32_t *stage(uint32_t at) const {
    return mine + (at / BATCH & 1) * BATCH * data.words;
  }
  /* What lies behind the last element is not read: zeros come instead. */
  __device__ void fetch(uint32_t at) const {
    uint32_t *to = stage(at);
    uint32_t first = at * (uint32_t)data.words, end = here * (uint32_t)data.words;
    for (uint32_t word = 4 * lane; word < BATCH * (uint32_t)data.words; word += 4 * LANES) {
      uint32_t left = first + word < end ? end - first - word : 0;
      copy_and_forget(to + word, left > 0 ? from + first + word : data.in,
                      left >= 4 ? 16 : 4 * left);
    }
    __pipeline_commit();
  }
  __device__ static void fetch_nothing() { __pipeline_commit(); }
  __device__ static void wait() { __pipeline_wait_prior(1); }

  template <int INPUTS> __device__ void open(uint32_t at) const {
    const uint32_t *batch = stage(at);
#pragma unroll
    for (int j = lane; j < BATCH; j += LANES) {
      const uint32_t *words = batch + j * data.words;
      reinterpret_cast<T *>(apart)[j] = value_from(words[0], sizeof(T) == 8 ? words[1] : 0, T());
#pragma unroll
      for (int k = 0; k < (INPUTS > 0 ? INPUTS : data.inputs); ++k)
        apart[VALUE_WORDS + k * BATCH + j] =
            field_from(data.input[k], [&](uint32_t word) { return words[word]; });
    }
    if (data.to != nullptr && blockIdx.y == 0 && at < here)
      leave_elements<LANES>(data, batch, here - at < BATCH ? here - at : BATCH, lane);
    __syncwarp();
  }
  template <int COUNT> __device__ void index(uint32_t at, int k, uint32_t index[COUNT]) const {
    const uint32_t *of = apart + VALUE_WORDS + k * BATCH + at % BATCH;
    if constexpr (COUNT == 4) {
      uint4 raw = *reinterpret_cast<const uint4 *>(of);
      index[0] = raw.x, index[1] = raw.y, index[2] = raw.z, index[3] = raw.w;
    } else {
#pragma unroll
      for (int j = 0; j < COUNT; ++j)
        index[j] = of[j];
    }
  }
  template <int COUNT> __device__ void values(uint32_t at, T value[COUNT]) const {
#pragma unroll
    for (int j = 0; j < COUNT; ++j)
      value[j] = reinterpret_cast<const T *>(apart)[at % BATCH + j];
  }
};

template <typename T, int LANES> struct DirectElements {
  typedef struct pd_gpu_elements DATA;
  static constexpr int BATCH = 32;
  const DATA &data;
  const uint32_t *from;
  int lane;
  uint32_t here;

  static size_t bytes(const DATA &) { return 0; }
  __device__ DirectElements(const DATA &data_, int4 *, int, int lane_, uint64_t begin,
                            uint32_t here_, uint64_t)
      : data(data_), lane(lane_), here(here_) {
    from = data.in + begin * (uint64_t)data.words;
  }
  __device__ static void fetch(uint32_t) {}
  __device__ static void fetch_nothing() {}
  __device__ static void wait() {}
  template <int> __device__ void open(uint32_t at) const {
    if (data.to == nullptr || blockIdx.y != 0 || at >= here) return;
    uint32_t count = here - at < BATCH ? here - at : BATCH;
    for (uint32_t j = 0; j < count; ++j) {
      const uint32_t *words = from + (uint64_t)(at + j) * (uint32_t)data.words;
      uint64_t place = field_from(data.remap, [&](uint32_t word) { return __ldg(words + word); });
      for (int word = lane; word < data.to_words; word += LANES)
        data.to[place * (uint64_t)data.to_words + word] = __ldg(words + word);
    }
  }

  template <int COUNT> __device__ void index(uint32_t at, int k, uint32_t index[COUNT]) const {
#pragma unroll
    for (int j = 0; j < COUNT; ++j) {
      const uint32_t *words = from + (uint64_t)(at + j) * (uint32_t)data.words;
      index[j] = at + j < here
                     ? field_from(data.input[k], [&](uint32_t word) { return __ldg(words + word); })
                     : 0;
    }
  }
  template <int COUNT> __device__ void values(uint32_t at, T value[COUNT]) const {
#pragma unroll
    for (int j = 0; j < COUNT; ++j) {
      const uint32_t *words = from + (uint64_t)(at + j) * (uint32_t)data.words;
      value[j] = at + j < here
                     ? value_from(__ldg(words), sizeof(T) == 8 ? __ldg(words + 1) : 0, T())
                     : T(0);
    }
  }
};

#endif
