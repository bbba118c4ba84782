#include "formats/fibers/fibers_sum.cuh"

extern "C" cudaError_t pd_fibers_sum_f64(const struct pd_nz_launch *launch, int aligned,
                                         cudaStream_t stream) {
  return aligned ? fibers_by_order<double, true>(launch, stream)
                 : fibers_by_order<double, false>(launch, stream);
}
