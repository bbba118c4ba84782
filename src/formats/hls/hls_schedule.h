/* How the work of one mode is cut up on a GPU: made with the workspace. */
#ifndef PD_HLS_SCHEDULE_H
#define PD_HLS_SCHEDULE_H

#include "device/cuda/cuda_state.h"
#include "formats/hls/hls_layout.h"

/** One mode's tiles and single nonzeros in the order of the output, on the device. Tiles are
 * visited where they lie; of single nonzeros there is a copy, so that a warp reads them side by
 * side. */
struct pd_hls_schedule {
  uint32_t segments, items;
  uint32_t *tile_order, *segment_start, *line_segment;
  uint32_t *item_start, *row_item;
  uint32_t *nnz_inds; /* linear indices, each in pd_hls_index_words() words */
  void *nnz_vals;
};

/** Words of a nonzero's linear index in a schedule. */
static inline int pd_hls_index_words(const struct pd_hls *hls) {
  return (hls->linear_bits + 31) / 32;
}

/** `segment`, `item`: the most tiles and nonzeros of one. What was allocated is in the schedule
 *  also on failure. */
polyad_status pd_hls_schedule_create(polyad_context *context, const struct pd_device *device,
                                     const struct pd_hls *hls, int mode, uint64_t segment,
                                     uint64_t item, struct pd_hls_schedule *schedule);
/** Bytes of the copy of the nonzeros. */
uint64_t pd_hls_schedule_bytes(const struct pd_hls *hls);
void pd_hls_schedule_clear(polyad_context *context, const struct pd_device *device,
                           struct pd_hls_schedule *schedule);

#endif
