/* MTTKRP of "hicoo": a group of lanes takes equal parts of the nonzeros, whatever blocks they are
 * in, so that blocks of one nonzero and blocks of thousands are computed alike. */
#include "formats/hicoo/hicoo_gpu.h"
#include "formats/nonzeros/nonzeros_chain.cuh"

template <typename T, int INPUTS> struct HicooSource : NzSegment {
  uint32_t block, last;

  __device__ HicooSource(const struct pd_nz_launch &a, uint64_t item) : NzSegment(a, item) {
    enter(a, nz_at<uint32_t>(a, PD_HICOO_UNIT_BLOCK, begin / 64));
  }
  __device__ void enter(const struct pd_nz_launch &a, uint32_t to) {
    block = to;
    last = nz_at<uint32_t>(a, PD_HICOO_START, (uint64_t)to + 1);
  }
  __device__ uint32_t index(const struct pd_nz_launch &a, int mode, uint64_t p) const {
    return nz_at<uint32_t>(a, PD_HICOO_BLOCK + mode, block) << (uint32_t)a.list.number[0] |
           nz_at<uint8_t>(a, mode, p);
  }
  __device__ void decode(const struct pd_nz_launch &a, uint64_t p, int count,
                         Decoded<T, INPUTS> &decoded) {
#pragma unroll
    for (int j = 0; j < NZ_BATCH; ++j) {
      if (j >= count) continue;
      uint64_t at = p + (uint64_t)j;
      if (at >= last) enter(a, block + 1);
      decoded.row[j] = index(a, a.output_slot, at);
      decoded.value[j] = nz_value_at<T>(a, at);
#pragma unroll
      for (int k = 0; k < nz_inputs<INPUTS>(a); ++k)
        decoded.index[k][j] = index(a, a.slot[k], at);
    }
  }
};

PD_NZ_LAUNCHERS(pd_hicoo_add, HicooSource)
PD_NZ_CHAIN_LAUNCHERS(pd_hicoo_chain, HicooSource)
