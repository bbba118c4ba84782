/* MTTKRP of "fwc": values of a fiber times columns of one factor, columns divided among lanes. */
#include "formats/fwc/fwc_gpu.h"
#include "formats/nonzeros/nonzeros_kernels.cuh"

template <typename T, int INPUTS> struct FwcSource : NzSegment {
  static constexpr int KEPT = Decoded<T, INPUTS>::KEPT;
  uint32_t fiber, last, id[KEPT]; /* id[l]: of level l, the output's first */

  __device__ FwcSource(const struct pd_nz_launch &a, uint64_t item) : NzSegment(a, item) {
    enter(a, nz_at<uint32_t>(a, PD_FWC_UNIT_FIBER, begin / 64));
  }
  __device__ void enter(const struct pd_nz_launch &a, uint32_t to) {
    fiber = to;
    last = nz_at<uint32_t>(a, PD_FWC_START, (uint64_t)to + 1);
#pragma unroll
    for (int l = 0; l < nz_inputs<INPUTS>(a); ++l)
      id[l] = nz_at<uint32_t>(a, l, to);
  }
  __device__ void decode(const struct pd_nz_launch &a, uint64_t p, int count,
                         Decoded<T, INPUTS> &decoded) {
    int leaf = nz_inputs<INPUTS>(a);
#pragma unroll
    for (int j = 0; j < NZ_BATCH; ++j) {
      if (j >= count) continue;
      uint64_t at = p + (uint64_t)j;
      if (at >= last) enter(a, fiber + 1);
      decoded.row[j] = id[0];
      decoded.value[j] = nz_value_at<T>(a, at);
#pragma unroll
      for (int k = 0; k + 1 < leaf; ++k)
        decoded.index[k][j] = id[k + 1];
      decoded.index[leaf - 1][j] = nz_at<uint32_t>(a, leaf, at);
    }
  }
};

PD_NZ_LAUNCHERS(pd_fwc_add, FwcSource)
