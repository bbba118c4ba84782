/* Kernels that share a tensor out to a team: a thread per nonzero finds its cell of the grid, says
 * that its index occurs, or numbers it anew. */
#include "device/build_steps.h"
#include "device/cuda/cuda_build_places.cuh"
#include "device/cuda/cuda_deal_launch.h"

static __global__ void __launch_bounds__(THREADS)
    find_cells(const __grid_constant__ struct pd_gpu_deal_grid of, uint32_t *cell) {
  uint64_t p = own_place();
  if (p >= of.nnz) return;
  uint32_t found = 0;
  for (int k = 0; k < of.modes; ++k)
    found = found * (uint32_t)of.ranges[k] +
            (uint32_t)pd_build_range_at(of.cut + of.first[k], of.ranges[k], of.index[k][p]);
  cell[p] = found;
}

extern "C" cudaError_t pd_gpu_deal_cells(const struct pd_gpu_deal_grid *of, uint32_t *cell,
                                         cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(of->nnz, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks > 0) find_cells<<<blocks, THREADS, 0, stream>>>(*of, cell);
  return cudaGetLastError();
}

/* Most nonzeros find their bit set: they only read. */
static __global__ void __launch_bounds__(THREADS)
    mark_indices(const uint32_t *index, uint64_t count, uint32_t first, uint32_t *has) {
  uint64_t p = own_place();
  if (p >= count) return;
  uint32_t i = index[p] - first, bit = 1u << i % WARP;
  if ((*static_cast<volatile uint32_t *>(has + i / WARP) & bit) == 0) atomicOr(has + i / WARP, bit);
}

extern "C" cudaError_t pd_gpu_deal_mark(const uint32_t *index, uint64_t count, uint32_t first,
                                        uint32_t *has, cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(count, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks > 0) mark_indices<<<blocks, THREADS, 0, stream>>>(index, count, first, has);
  return cudaGetLastError();
}

static __global__ void __launch_bounds__(THREADS)
    renumber_indices(uint32_t *index, uint64_t count, uint32_t first, const uint32_t *number) {
  uint64_t p = own_place();
  if (p < count) index[p] = number[index[p] - first];
}

extern "C" cudaError_t pd_gpu_deal_renumber(uint32_t *index, uint64_t count, uint32_t first,
                                            const uint32_t *number, cudaStream_t stream) {
  unsigned blocks;
  if (!blocks_for(count, &blocks)) return cudaErrorInvalidConfiguration;
  if (blocks > 0) renumber_indices<<<blocks, THREADS, 0, stream>>>(index, count, first, number);
  return cudaGetLastError();
}
