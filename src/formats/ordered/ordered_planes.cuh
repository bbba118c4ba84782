/* Where the kernels read nonzeros that are stored as planes of words: staged through shared memory,
 * a batch ahead of use, or directly. `at` counts from the group's first nonzero. */
#ifndef PD_ORDERED_PLANES_CUH
#define PD_ORDERED_PLANES_CUH

#include "formats/ordered/ordered_launch.h"
#include <cuda_pipeline_primitives.h>

template <typename T, int LANES> struct StagedPlanes {
  typedef struct pd_gpu_planes DATA;
  static constexpr int BATCH = LANES == 4 ? 16 : 32;
  static constexpr int GROUPS = PD_BLOCK_THREADS / LANES;
  static constexpr int QUADS = BATCH / 4; /* 16-byte pieces of a plane's batch */
  static constexpr int VALUE_QUADS = QUADS * (int)sizeof(T) / 4;
  const DATA &data;
  int4 *mine;
  int lane;
  uint32_t begin, here; /* of the group; `here` is padded to four */

  static size_t bytes(const DATA &data) {
    return (size_t)GROUPS * 2 * (data.planes * QUADS + VALUE_QUADS) * 16;
  }
  __device__ StagedPlanes(const DATA &data_, int4 *shared, int group, int lane_, uint64_t begin_,
                          uint32_t here_, uint64_t)
      : data(data_), lane(lane_), begin((uint32_t)begin_), here((here_ + 3) & ~3u) {
    mine = shared + group * 2 * stage_quads();
  }
  __device__ int stage_quads() const { return data.planes * QUADS + VALUE_QUADS; }
  __device__ int4 *stage(uint32_t at) const { return mine + (at / BATCH & 1) * stage_quads(); }

  /* Starts copying the batch; groups past the end get zeros. */
  __device__ void fetch(uint32_t at) const {
    int4 *to = stage(at);
    for (int plane = 0; plane < data.planes; ++plane)
#pragma unroll
      for (int q = lane; q < QUADS; q += LANES) {
        uint32_t p = at + 4 * q;
        bool there = p < here;
        __pipeline_memcpy_async(to + plane * QUADS + q, data.plane[plane] + (there ? begin + p : 0),
                                16, there ? 0 : 16);
      }
    to += data.planes * QUADS;
#pragma unroll
    for (int q = lane; q < VALUE_QUADS; q += LANES) {
      uint32_t p = at + 16 / (uint32_t)sizeof(T) * q;
      bool there = p < here;
      __pipeline_memcpy_async(to + q, static_cast<const T *>(data.values) + (there ? begin + p : 0),
                              16, there ? 0 : 16);
    }
    __pipeline_commit();
  }
  __device__ static void fetch_nothing() { __pipeline_commit(); }
  /* Waits for all batches but the one fetched last. */
  __device__ static void wait() { __pipeline_wait_prior(1); }
  template <int> __device__ static void open(uint32_t) {}

  template <int COUNT> __device__ void index(uint32_t at, int k, uint32_t index[COUNT]) const {
    const struct pd_gpu_bits &bits = data.input[k];
    const uint32_t *from =
        reinterpret_cast<const uint32_t *>(stage(at) + bits.word * QUADS) + at % BATCH;
    if constexpr (COUNT == 4) {
      uint4 raw = *reinterpret_cast<const uint4 *>(from);
      index[0] = raw.x, index[1] = raw.y, index[2] = raw.z, index[3] = raw.w;
    } else {
#pragma unroll
      for (int j = 0; j < COUNT; ++j)
        index[j] = from[j];
    }
#pragma unroll
    for (int j = 0; j < COUNT; ++j)
      index[j] = (index[j] >> bits.shift) & bits.mask;
  }
  template <int COUNT> __device__ void values(uint32_t at, T value[COUNT]) const {
    const T *from = reinterpret_cast<const T *>(stage(at) + data.planes * QUADS) + at % BATCH;
#pragma unroll
    for (int j = 0; j < COUNT; ++j)
      value[j] = from[j];
  }
};

template <typename T, int LANES> struct DirectPlanes {
  typedef struct pd_gpu_planes DATA;
  static constexpr int BATCH = 32;
  const DATA &data;
  uint64_t begin;
  uint32_t here;

  static size_t bytes(const DATA &) { return 0; }
  __device__ DirectPlanes(const DATA &data_, int4 *, int, int, uint64_t begin_, uint32_t here_,
                          uint64_t)
      : data(data_), begin(begin_), here(here_) {}
  __device__ static void fetch(uint32_t) {}
  __device__ static void fetch_nothing() {}
  __device__ static void wait() {}
  template <int> __device__ static void open(uint32_t) {}

  template <int COUNT> __device__ void index(uint32_t at, int k, uint32_t index[COUNT]) const {
    const struct pd_gpu_bits &bits = data.input[k];
#pragma unroll
    for (int j = 0; j < COUNT; ++j)
      index[j] = at + j < here
                     ? (__ldg(data.plane[bits.word] + begin + at + j) >> bits.shift) & bits.mask
                     : 0;
  }
  template <int COUNT> __device__ void values(uint32_t at, T value[COUNT]) const {
#pragma unroll
    for (int j = 0; j < COUNT; ++j)
      value[j] = at + j < here ? __ldg(static_cast<const T *>(data.values) + begin + at + j) : T(0);
  }
};

#endif
