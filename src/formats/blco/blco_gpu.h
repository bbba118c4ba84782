/* What the kernels of "blco" get. Plain C on both sides. */
#ifndef PD_BLCO_GPU_H
#define PD_BLCO_GPU_H

#include "formats/nonzeros/nonzeros_gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PD_BLCO_MODES = 16 };

/** One launch over tiles [first_tile, first_tile + tiles). */
struct pd_blco_launch {
  struct pd_nz_launch nz; /* inputs, factors, out; slots are modes */
  uint64_t first_tile, tiles;
  uint64_t offset;     /* nonzero that key[0] and values[0] belong to */
  const uint64_t *key; /* values are nz.list.values */
  const uint32_t *tile_block, *start;
  const uint32_t *base[PD_BLCO_MODES];
  uint64_t mask[PD_BLCO_MODES];
  int shift[PD_BLCO_MODES];
  int row_bits; /* of an output row, at least 1 */
};

/** Adds to nz.out or its copies (zero before). */
cudaError_t pd_blco_add_f32(const struct pd_blco_launch *launch, int aligned, cudaStream_t stream);
cudaError_t pd_blco_add_f64(const struct pd_blco_launch *launch, int aligned, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
