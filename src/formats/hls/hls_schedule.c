#include "formats/hls/hls_schedule.h"
#include "formats/hls/hls_order.h"

void pd_hls_schedule_clear(polyad_context *context, const struct pd_device *device,
                           struct pd_hls_schedule *schedule) {
  pd_cuda_release(context, device, schedule->tile_order);
  pd_cuda_release(context, device, schedule->segment_start);
  pd_cuda_release(context, device, schedule->line_segment);
  pd_cuda_release(context, device, schedule->nonzero_order);
  pd_cuda_release(context, device, schedule->item_start);
  pd_cuda_release(context, device, schedule->row_item);
  *schedule = (struct pd_hls_schedule){0};
}

static polyad_status allocate(polyad_context *context, uint64_t count, uint32_t **out) {
  PD_TRY(pd_cuda_services->alloc(context, count, sizeof **out, (void **)out));
  memset(*out, 0, count * sizeof **out);
  return POLYAD_OK;
}

/* Cuts each line (start[line] to start[line + 1]) into pieces of at most `most`: where they begin
 * (and the last one's end), and the first piece of each line. */
static polyad_status cut(polyad_context *context, const struct pd_device *device, uint64_t lines,
                         const uint32_t *start, uint64_t most, uint32_t *count,
                         uint32_t **piece_start, uint32_t **line_piece) {
  uint64_t pieces = 0;
  for (uint64_t k = 0; k < lines; ++k)
    pieces += (start[k + 1] - start[k] + most - 1) / most;
  if (pieces > INT32_MAX)
    return pd_cuda_services->fail(context, POLYAD_OVERFLOW, "the work has too many parts");
  *count = (uint32_t)pieces;
  if (pieces == 0) return POLYAD_OK;
  uint32_t *begin = NULL, *first = NULL, at = 0;
  polyad_status status = allocate(context, pieces + 1, &begin);
  if (status == POLYAD_OK) status = allocate(context, lines + 1, &first);
  for (uint64_t k = 0; status == POLYAD_OK && k < lines; ++k) {
    first[k] = at;
    for (uint64_t p = start[k]; p < start[k + 1]; p += most)
      begin[at++] = (uint32_t)p;
  }
  if (status == POLYAD_OK) {
    first[lines] = at;
    begin[at] = start[lines];
    status =
        pd_cuda_upload(context, device, pieces + 1, sizeof *begin, begin, (void **)piece_start);
  }
  if (status == POLYAD_OK)
    status = pd_cuda_upload(context, device, lines + 1, sizeof *first, first, (void **)line_piece);
  pd_cuda_services->free(context, begin);
  pd_cuda_services->free(context, first);
  return status;
}

polyad_status pd_hls_schedule_create(polyad_context *context, const struct pd_device *device,
                                     const struct pd_hls *hls, int mode, uint64_t segment,
                                     uint64_t item, struct pd_hls_schedule *schedule) {
  struct pd_hls_order order = pd_hls_order_empty(hls, mode);
  polyad_status status = allocate(context, hls->tiles + 1, &order.tile);
  if (status == POLYAD_OK) status = allocate(context, order.lines + 1, &order.tile_start);
  if (status == POLYAD_OK) status = allocate(context, hls->sparse_nnz + 1, &order.nonzero);
  if (status == POLYAD_OK) status = allocate(context, order.rows + 1, &order.row_start);
  if (status == POLYAD_OK) {
    pd_hls_order_fill(hls, mode, &order);
    status = cut(context, device, order.lines, order.tile_start, segment, &schedule->segments,
                 &schedule->segment_start, &schedule->line_segment);
  }
  if (status == POLYAD_OK)
    status = cut(context, device, order.rows, order.row_start, item, &schedule->items,
                 &schedule->item_start, &schedule->row_item);
  if (status == POLYAD_OK)
    status = pd_cuda_upload(context, device, hls->tiles, sizeof *order.tile, order.tile,
                            (void **)&schedule->tile_order);
  if (status == POLYAD_OK)
    status = pd_cuda_upload(context, device, hls->sparse_nnz, sizeof *order.nonzero, order.nonzero,
                            (void **)&schedule->nonzero_order);
  pd_cuda_services->free(context, order.tile);
  pd_cuda_services->free(context, order.tile_start);
  pd_cuda_services->free(context, order.nonzero);
  pd_cuda_services->free(context, order.row_start);
  return status;
}
