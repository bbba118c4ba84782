/* Trees of compressed fibers as a source of decoded nonzeros: the tensor-times-matrix chain, and
 * MTTKRP of fewer than three or more than five modes. A group of lanes walks one piece; indices of
 * the upper levels are read when their node changes. */
#include "formats/fibers/fibers_gpu.h"
#include "formats/nonzeros/nonzeros_chain.cuh"

template <typename T, int INPUTS> struct FiberSource {
  static constexpr int KEPT = Decoded<T, INPUTS>::KEPT;
  uint64_t begin, end;
  uint32_t node[KEPT], id[KEPT], last[KEPT]; /* of each level above the leaves; last + 1 child */
  bool whole;

  __device__ FiberSource(const struct pd_nz_launch &a, uint64_t item)
      : begin(nz_at<uint32_t>(a, PD_FIBERS_ITEM, item)),
        end(nz_at<uint32_t>(a, PD_FIBERS_ITEM, item + 1)),
        whole(a.list.number[0] != 0 && a.output_slot == 0 &&
              nz_at<uint8_t>(a, PD_FIBERS_WHOLE, item) != 0) {
    int upper = nz_inputs<INPUTS>(a);
#pragma unroll
    for (int l = 0; l < upper; ++l)
      enter(a, l, nz_at<uint32_t>(a, PD_FIBERS_PATH, item * (uint64_t)upper + (uint64_t)l));
  }
  __device__ bool alone() const { return whole; }
  __device__ void enter(const struct pd_nz_launch &a, int level, uint32_t to) {
    node[level] = to;
    id[level] = nz_at<uint32_t>(a, level, to);
    last[level] = nz_at<uint32_t>(a, PD_FIBERS_START + level, (uint64_t)to + 1);
  }
  /* Makes `node` the path to nonzero p, which is the next one. */
  __device__ void advance(const struct pd_nz_launch &a, uint32_t p) {
    uint32_t child = p;
    int upper = nz_inputs<INPUTS>(a);
#pragma unroll
    for (int l = upper - 1; l >= 0; --l) {
      if (child < last[l]) return;
      enter(a, l, node[l] + 1);
      child = node[l];
    }
  }
  /* Index of the nonzero in a level: `leaf` where it is the last. */
  __device__ uint32_t at_level(int level, int upper, uint32_t leaf) const {
    uint32_t index = leaf;
#pragma unroll
    for (int l = 0; l < upper; ++l)
      if (l == level) index = id[l];
    return index;
  }
  __device__ void decode(const struct pd_nz_launch &a, uint64_t p, int count,
                         Decoded<T, INPUTS> &decoded) {
    int upper = nz_inputs<INPUTS>(a);
#pragma unroll
    for (int j = 0; j < NZ_BATCH; ++j) {
      if (j >= count) continue;
      uint64_t at = p + (uint64_t)j;
      uint32_t leaf = nz_at<uint32_t>(a, upper, at);
      advance(a, (uint32_t)at);
      decoded.value[j] = nz_value_at<T>(a, at);
      decoded.row[j] = at_level(a.output_slot, upper, leaf);
#pragma unroll
      for (int k = 0; k < upper; ++k)
        decoded.index[k][j] = at_level(k < a.output_slot ? k : k + 1, upper, leaf);
    }
  }
};

static bool is_summed(const struct pd_nz_launch *launch) {
  return launch->inputs >= 2 && launch->inputs <= 4;
}

extern "C" cudaError_t pd_fibers_add_f32(const struct pd_nz_launch *launch, int aligned,
                                         cudaStream_t stream) {
  if (is_summed(launch)) return pd_fibers_sum_f32(launch, aligned, stream);
  return aligned ? NzScatter::start<float, true, 0, FiberSource>(launch, stream)
                 : NzScatter::start<float, false, 0, FiberSource>(launch, stream);
}

extern "C" cudaError_t pd_fibers_add_f64(const struct pd_nz_launch *launch, int aligned,
                                         cudaStream_t stream) {
  if (is_summed(launch)) return pd_fibers_sum_f64(launch, aligned, stream);
  return aligned ? NzScatter::start<double, true, 0, FiberSource>(launch, stream)
                 : NzScatter::start<double, false, 0, FiberSource>(launch, stream);
}

PD_NZ_CHAIN_LAUNCHERS(pd_fibers_chain, FiberSource)
