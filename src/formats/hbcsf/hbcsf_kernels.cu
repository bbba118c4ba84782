/* MTTKRP of the slices of "hbcsf" that are outside its trees. */
#include "formats/hbcsf/hbcsf_gpu.h"
#include "formats/nonzeros/nonzeros_kernels.cuh"

/* Slices of one nonzero: no row occurs twice, so that products are stored. */
template <typename T, int INPUTS> using SingleSource = NzArraySource<T, INPUTS, true>;

/* Compressed slices: the output row comes from the slice, all other indices from the nonzero. */
template <typename T, int INPUTS> struct ListedSource : NzSegment {
  uint32_t slice, row, last;

  __device__ ListedSource(const struct pd_nz_launch &a, uint64_t item) : NzSegment(a, item) {
    enter(a, nz_at<uint32_t>(a, PD_HBCSF_UNIT_SLICE, begin / 64));
  }
  __device__ void enter(const struct pd_nz_launch &a, uint32_t to) {
    slice = to;
    row = nz_at<uint32_t>(a, 0, to);
    last = nz_at<uint32_t>(a, PD_HBCSF_START, (uint64_t)to + 1);
  }
  __device__ void decode(const struct pd_nz_launch &a, uint64_t p, int count,
                         Decoded<T, INPUTS> &decoded) {
#pragma unroll
    for (int j = 0; j < NZ_BATCH; ++j) {
      if (j >= count) continue;
      uint64_t at = p + (uint64_t)j;
      if (at >= last) enter(a, slice + 1);
      decoded.row[j] = row;
      decoded.value[j] = nz_value_at<T>(a, at);
#pragma unroll
      for (int k = 0; k < nz_inputs<INPUTS>(a); ++k)
        decoded.index[k][j] = nz_at<uint32_t>(a, k + 1, at);
    }
  }
};

PD_NZ_LAUNCHERS(pd_hbcsf_single, SingleSource)
PD_NZ_LAUNCHERS(pd_hbcsf_listed, ListedSource)
