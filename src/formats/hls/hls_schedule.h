/* How the work of one mode is cut up on a GPU: made on the host with the workspace. */
#ifndef PD_HLS_SCHEDULE_H
#define PD_HLS_SCHEDULE_H

#include "device/cuda/cuda_state.h"
#include "formats/hls/hls_layout.h"

/** One mode's tiles and single nonzeros in the order of the output, on the device. */
struct pd_hls_schedule {
  uint32_t segments, items;
  uint32_t *tile_order, *segment_start, *line_segment;
  uint32_t *nonzero_order, *item_start, *row_item;
};

/** `segment`, `item`: the most tiles and nonzeros of one. What was allocated is in the schedule
 *  also on failure. */
polyad_status pd_hls_schedule_create(polyad_context *context, const struct pd_device *device,
                                     const struct pd_hls *hls, int mode, uint64_t segment,
                                     uint64_t item, struct pd_hls_schedule *schedule);
void pd_hls_schedule_clear(polyad_context *context, const struct pd_device *device,
                           struct pd_hls_schedule *schedule);

#endif
