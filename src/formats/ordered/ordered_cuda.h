/* What formats share on a GPU that keep nonzeros in the order of output rows: the tables on the
 * device, scratch memory, and the description that the kernels get. */
#ifndef PD_ORDERED_CUDA_H
#define PD_ORDERED_CUDA_H

#include "device/cuda/cuda_state.h"
#include "formats/ordered/ordered.h"
#include "formats/ordered/ordered_launch.h"

/** Tables of one mode's order on the device. */
struct pd_ordered_device {
  uint64_t *row_start;
  uint32_t *row_id, *chunk_row;
  uint2 *marks;
  uint32_t *used; /* a bit per output row, NULL when all have nonzeros */
};

polyad_status pd_ordered_upload(polyad_context *context, const struct pd_device *device,
                                uint64_t nnz, uint64_t dim, const struct pd_ordered *from,
                                struct pd_ordered_device *to);
void pd_ordered_unload(polyad_context *context, const struct pd_device *device,
                       struct pd_ordered_device *tables);

/** Memory of one running computation. */
struct pd_ordered_scratch {
  const struct pd_device *device;
  int segment;
  void *head, *tail;
};

uint64_t pd_ordered_scratch_bytes(uint64_t nnz, uint64_t rank, polyad_type type);
/** For sums of rows of so many inputs. What was allocated is in `scratch` also on failure. */
polyad_status pd_ordered_scratch_create(polyad_context *context, const struct pd_device *device,
                                        uint64_t nnz, int inputs, uint64_t rank, polyad_type type,
                                        struct pd_ordered_scratch *scratch);
void pd_ordered_scratch_destroy(polyad_context *context, struct pd_ordered_scratch *scratch);

/** The most additions that a product goes through: those of a segment, of a block's groups (at most
 *  64), and of the blocks (of at least eight segments) that a row spans. */
static inline uint64_t pd_ordered_sum_depth(const struct pd_ordered_scratch *scratch,
                                            uint64_t longest_row) {
  uint64_t segment = (uint64_t)scratch->segment;
  return longest_row < segment ? longest_row : segment + 64 + longest_row / (8 * segment);
}

/** Fails unless kernels can take the rank. */
polyad_status pd_ordered_rank_check(polyad_context *context, uint64_t rank);

/** Describes an operation. */
struct pd_gpu_sum pd_ordered_sum(uint64_t nnz, const struct pd_ordered *host,
                                 const struct pd_ordered_device *tables,
                                 const struct pd_ordered_scratch *scratch,
                                 const struct pd_call *call);

/** Zeroes output rows without nonzeros. */
polyad_status pd_ordered_zero_unused(polyad_context *context,
                                     const struct pd_ordered_device *tables, struct pd_matrix *out);

#endif
