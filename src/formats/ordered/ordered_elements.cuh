/* The same for nonzeros that are stored as elements; leave() moves a batch that is done with to the
 * places of the next order, each element as one contiguous write. */
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

template <typename T, int LANES> struct StagedElements {
  typedef struct pd_gpu_elements DATA;
  static constexpr int BATCH = 16;
  static constexpr int GROUPS = PD_BLOCK_THREADS / LANES;
  const DATA &data;
  uint32_t *mine;
  const uint32_t *from; /* the group's first element */
  int lane;
  uint32_t here; /* elements of the group */

  static size_t bytes(const DATA &data) {
    return (size_t)GROUPS * 2 * BATCH * (size_t)data.words * 4;
  }
  __device__ StagedElements(const DATA &data_, int4 *shared, int group, int lane_, uint64_t begin,
                            uint32_t here_, uint64_t)
      : data(data_), lane(lane_), here(here_) {
    mine = reinterpret_cast<uint32_t *>(shared) + group * 2 * BATCH * data.words;
    from = data.in + begin * (uint64_t)data.words;
  }
  __device__ uint32_t *stage(uint32_t at) const {
    return mine + (at / BATCH & 1) * BATCH * data.words;
  }
  __device__ uint32_t *element(uint32_t at) const { return stage(at) + at % BATCH * data.words; }
  __device__ void fetch(uint32_t at) const {
    uint32_t *to = stage(at);
    uint32_t first = at * (uint32_t)data.words, end = here * (uint32_t)data.words;
    for (uint32_t word = 4 * lane; word < BATCH * (uint32_t)data.words; word += 4 * LANES) {
      bool there = first + word < end;
      __pipeline_memcpy_async(to + word, there ? from + first + word : data.in, 16, there ? 0 : 16);
    }
    __pipeline_commit();
  }
  __device__ static void fetch_nothing() { __pipeline_commit(); }
  __device__ static void wait() { __pipeline_wait_prior(1); }

  template <int COUNT> __device__ void index(uint32_t at, int k, uint32_t index[COUNT]) const {
#pragma unroll
    for (int j = 0; j < COUNT; ++j) {
      const uint32_t *words = element(at) + j * data.words;
      index[j] = field_from(data.input[k], [&](uint32_t word) { return words[word]; });
    }
  }
  template <int COUNT> __device__ void values(uint32_t at, T value[COUNT]) const {
#pragma unroll
    for (int j = 0; j < COUNT; ++j) {
      const uint32_t *words = element(at) + j * data.words;
      value[j] = value_from(words[0], sizeof(T) == 8 ? words[1] : 0, T());
    }
  }
  __device__ void leave(uint32_t at) const {
    if (data.to == nullptr || blockIdx.y != 0) return;
    uint32_t count = at >= here ? 0 : here - at < BATCH ? here - at : BATCH;
#pragma unroll 4
    for (uint32_t j = 0; j < count; ++j) {
      const uint32_t *words = stage(at) + j * data.words;
      uint64_t place = field_from(data.remap, [&](uint32_t word) { return words[word]; });
      for (int word = lane; word < data.words; word += LANES)
        data.to[place * (uint64_t)data.words + word] = words[word];
    }
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
  __device__ void leave(uint32_t at) const {
    if (data.to == nullptr || blockIdx.y != 0) return;
    for (uint32_t p = at; p < at + BATCH && p < here; ++p) {
      const uint32_t *words = from + (uint64_t)p * (uint32_t)data.words;
      uint64_t place = field_from(data.remap, [&](uint32_t word) { return __ldg(words + word); });
      for (int word = lane; word < data.words; word += LANES)
        data.to[place * (uint64_t)data.words + word] = __ldg(words + word);
    }
  }
};

#endif
