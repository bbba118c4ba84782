/* MTTKRP of "fcoo": segments between flags are summed, without atomic operations. */
#include "formats/fcoo/fcoo_gpu.h"
#include "formats/nonzeros/nonzeros_chain.cuh"
#include "formats/nonzeros/nonzeros_sorted.cuh"

template <typename T, int INPUTS> struct FcooSource : NzSegment {
  using NzSegment::NzSegment;

  /* Bit p % 64: nonzero p begins a row. The unit's first flag does not count: its row is known. */
  __device__ static uint64_t flags_at(const struct pd_nz_launch &a, uint64_t p) {
    return nz_at<unsigned long long>(a, PD_FCOO_FLAGS, p / 64) & ~1ull;
  }
  __device__ static uint32_t row_of(const struct pd_nz_launch &a, uint64_t flags, uint32_t first,
                                    uint64_t p) {
    int begun = __popcll(flags & (~0ull >> (63 - p % 64)));
    return nz_at<uint32_t>(a, PD_FCOO_ROW_ID, (uint64_t)first + (uint64_t)begun);
  }
  __device__ static uint32_t row_at(const struct pd_nz_launch &a, uint64_t p) {
    return row_of(a, flags_at(a, p), nz_at<uint32_t>(a, PD_FCOO_UNIT_ROW, p / 64), p);
  }
  /* Four nonzeros are in one unit: p is a multiple of four. */
  __device__ void decode(const struct pd_nz_launch &a, uint64_t p, int count,
                         Decoded<T, INPUTS> &decoded) {
    uint64_t flags = flags_at(a, p);
    uint32_t first = nz_at<uint32_t>(a, PD_FCOO_UNIT_ROW, p / 64);
#pragma unroll
    for (int j = 0; j < NZ_BATCH; ++j) {
      if (j >= count) continue;
      uint64_t at = p + (uint64_t)j;
      decoded.row[j] = row_of(a, flags, first, at);
      decoded.value[j] = nz_value_at<T>(a, at);
#pragma unroll
      for (int k = 0; k < nz_inputs<INPUTS>(a); ++k)
        decoded.index[k][j] = nz_at<uint32_t>(a, k + 1, at);
    }
  }
};

PD_NZ_SORTED_LAUNCHERS(pd_fcoo_add, FcooSource)
PD_NZ_CHAIN_LAUNCHERS(pd_fcoo_chain, FcooSource)
