/* GPU side of trees of compressed fibers. */
#ifndef PD_FIBERS_GPU_H
#define PD_FIBERS_GPU_H

#include "formats/nonzeros/nonzeros_gpu.h"

/* Where a tree's arrays are in a list: ids of level l in array l, starts of its children in array
 * PD_FIBERS_START + l. number[0]: 1 when the rows of whole slices are nobody else's; number[1]:
 * fibers. */
enum { PD_FIBERS_START = 16, PD_FIBERS_ITEM = 32, PD_FIBERS_PATH, PD_FIBERS_WHOLE };

#ifdef __cplusplus
extern "C" {
#endif

/** Of any number of inputs. */
cudaError_t pd_fibers_add_f32(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream);
cudaError_t pd_fibers_add_f64(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream);
/** Of two to four inputs. */
cudaError_t pd_fibers_sum_f32(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream);
cudaError_t pd_fibers_sum_f64(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream);
cudaError_t pd_fibers_chain_f32(const struct pd_nz_chain *chain, cudaStream_t stream);
cudaError_t pd_fibers_chain_f64(const struct pd_nz_chain *chain, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
