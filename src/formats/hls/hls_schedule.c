#include "formats/hls/hls_schedule.h"
#include "device/cuda/cuda_sort.h"
#include "formats/hls/hls_launch.h"
#include "formats/hls/hls_order.h"

void pd_hls_schedule_clear(polyad_context *context, const struct pd_device *device,
                           struct pd_hls_schedule *schedule) {
  pd_cuda_release(context, device, schedule->tile_order);
  pd_cuda_release(context, device, schedule->segment_start);
  pd_cuda_release(context, device, schedule->line_segment);
  pd_cuda_release(context, device, schedule->item_start);
  pd_cuda_release(context, device, schedule->row_item);
  pd_cuda_release(context, device, schedule->nnz_inds);
  pd_cuda_release(context, device, schedule->nnz_vals);
  *schedule = (struct pd_hls_schedule){0};
}

static polyad_status hls_schedule_allocate(polyad_context *context, uint64_t count,
                                           uint32_t **out) {
  PD_TRY(pd_cuda_services->alloc(context, count, sizeof **out, (void **)out));
  memset(*out, 0, count * sizeof **out);
  return POLYAD_OK;
}

/* Cuts each line (start[line] to start[line + 1]) into pieces of at most `most`: where they begin
 * (and the last one's end), and the first piece of each line. */
static polyad_status hls_schedule_cut(polyad_context *context, const struct pd_device *device,
                                      uint64_t lines, const uint32_t *start, uint64_t most,
                                      uint32_t *count, uint32_t **piece_start,
                                      uint32_t **line_piece) {
  uint64_t pieces = 0;
  for (uint64_t k = 0; k < lines; ++k)
    pieces += (start[k + 1] - start[k] + most - 1) / most;
  if (pieces > INT32_MAX)
    return pd_cuda_services->fail(context, POLYAD_OVERFLOW, "the work has too many parts");
  *count = (uint32_t)pieces;
  if (pieces == 0) return POLYAD_OK;
  uint32_t *begin = NULL, *first = NULL, at = 0;
  polyad_status status = hls_schedule_allocate(context, pieces + 1, &begin);
  if (status == POLYAD_OK) status = hls_schedule_allocate(context, lines + 1, &first);
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

uint64_t pd_hls_schedule_bytes(const struct pd_hls *hls) {
  uint64_t each = 4 * (uint64_t)pd_hls_index_words(hls) + pd_hls_value_bytes(hls->value);
  return pd_add_saturated(pd_mul_saturated(hls->sparse_nnz, each), 8);
}

/* Single nonzeros by their row: job.keys[at] are the sorted rows, job.values[at] the nonzeros. */
struct by_row {
  struct pd_gpu_sort_job job;
  int at;
};

static void clear_by_row(polyad_context *context, const struct pd_device *device,
                         struct by_row *sorted) {
  for (int k = 0; k < 2; ++k) {
    pd_cuda_release(context, device, sorted->job.keys[k]);
    pd_cuda_release(context, device, sorted->job.values[k]);
  }
}

static polyad_status sort_by_row(polyad_context *context, const struct pd_device *device,
                                 const struct pd_hls *hls, int mode, struct by_row *sorted) {
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  struct pd_gpu_sort_job *job = &sorted->job;
  struct pd_hls_field field = {hls->linear_bits, hls->shift[mode], hls->bits[mode]};
  *sorted = (struct by_row){.job = {.key_bytes = 4,
                                    .value_bytes = 4,
                                    .count = hls->sparse_nnz,
                                    .bits = hls->bits[mode] < 1 ? 1 : hls->bits[mode]}};
  for (int k = 0; k < 2; ++k) {
    PD_TRY(pd_cuda_allocate(context, device, job->count, 4, &job->keys[k]));
    PD_TRY(pd_cuda_allocate(context, device, job->count, 4, &job->values[k]));
  }
  PD_TRY(PD_CUDA(
      context, state,
      pd_hls_rows_run(hls->nnz_inds, job->count, &field, job->keys[0], pd_cuda_stream(state))));
  PD_TRY(
      PD_CUDA(context, state, pd_gpu_count_up(job->values[0], job->count, pd_cuda_stream(state))));
  return pd_cuda_sort_arrays(context, device, job, &sorted->at);
}

/* Where the rows of the sorted nonzeros begin, for the host. */
static polyad_status hls_schedule_find_starts(polyad_context *context,
                                              const struct pd_device *device,
                                              const struct by_row *sorted, uint64_t rows,
                                              uint32_t *start) {
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  uint32_t *on_device = NULL;
  PD_TRY(pd_cuda_allocate(context, device, rows + 1, 4, (void **)&on_device));
  polyad_status status = PD_CUDA(context, state,
                                 pd_gpu_starts(sorted->job.keys[sorted->at], sorted->job.count,
                                               rows, on_device, pd_cuda_stream(state)));
  if (status == POLYAD_OK)
    status = pd_cuda_device_functions.copy_out(context, device, start, on_device, 4 * (rows + 1));
  pd_cuda_release(context, device, on_device);
  return status;
}

/* The nonzeros copied in a mode's order. */
static polyad_status hls_schedule_copy_nonzeros(polyad_context *context,
                                                const struct pd_device *device,
                                                const struct pd_hls *hls, const uint32_t *order,
                                                struct pd_hls_schedule *schedule) {
  int words = pd_hls_index_words(hls);
  size_t value = pd_hls_value_bytes(hls->value);
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  uint64_t used = hls->sparse_nnz * (uint64_t)words;
  /* Reading an index takes two words at once, and one without bits may begin behind the last: what
   * lies there is masked out, and zero. */
  PD_TRY(pd_cuda_allocate(context, device, used + 2, 4, (void **)&schedule->nnz_inds));
  PD_TRY(PD_CUDA(context, state,
                 cudaMemsetAsync(schedule->nnz_inds + used, 0, 8, pd_cuda_stream(state))));
  PD_TRY(pd_cuda_allocate(context, device, hls->sparse_nnz, value, &schedule->nnz_vals));
  struct pd_hls_reorder reorder = {.order = order,
                                   .nnz_inds = hls->nnz_inds,
                                   .nnz_vals = hls->nnz_vals,
                                   .nonzeros = hls->sparse_nnz,
                                   .linear_bits = hls->linear_bits,
                                   .words = words,
                                   .value_bytes = (int)value,
                                   .out_inds = schedule->nnz_inds,
                                   .out_vals = schedule->nnz_vals};
  return PD_CUDA(context, state, pd_hls_reorder_run(&reorder, pd_cuda_stream(state)));
}

static polyad_status schedule_nonzeros(polyad_context *context, const struct pd_device *device,
                                       const struct pd_hls *hls, int mode, uint64_t item,
                                       struct pd_hls_schedule *schedule) {
  struct by_row sorted;
  uint64_t rows = hls->dims[mode];
  uint32_t *start = NULL;
  if (hls->sparse_nnz == 0) return POLYAD_OK;
  polyad_status status = sort_by_row(context, device, hls, mode, &sorted);
  if (status == POLYAD_OK) status = hls_schedule_allocate(context, rows + 1, &start);
  if (status == POLYAD_OK) status = hls_schedule_find_starts(context, device, &sorted, rows, start);
  if (status == POLYAD_OK)
    status = hls_schedule_cut(context, device, rows, start, item, &schedule->items,
                              &schedule->item_start, &schedule->row_item);
  if (status == POLYAD_OK)
    status =
        hls_schedule_copy_nonzeros(context, device, hls, sorted.job.values[sorted.at], schedule);
  if (status == POLYAD_OK)
    status = PD_CUDA(context, pd_cuda_state_of(device),
                     cudaStreamSynchronize(pd_cuda_stream(pd_cuda_state_of(device))));
  pd_cuda_services->free(context, start);
  clear_by_row(context, device, &sorted);
  return status;
}

static polyad_status schedule_tiles(polyad_context *context, const struct pd_device *device,
                                    const struct pd_hls *hls, int mode, uint64_t segment,
                                    struct pd_hls_schedule *schedule) {
  struct pd_hls_order order = pd_hls_order_empty(hls, mode);
  struct pd_hls here = *hls; /* with the tiles' indices on the host */
  uint64_t words = pd_hls_packed_words(hls->tiles, hls->tile_linear_bits);
  if (hls->tiles == 0) return POLYAD_OK;
  here.b_inds = NULL;
  polyad_status status = hls_schedule_allocate(context, words, &here.b_inds);
  if (status == POLYAD_OK)
    status = device->functions->copy_out(context, device, here.b_inds, hls->b_inds, 4 * words);
  if (status == POLYAD_OK) status = hls_schedule_allocate(context, hls->tiles, &order.tile);
  if (status == POLYAD_OK)
    status = hls_schedule_allocate(context, order.lines + 1, &order.tile_start);
  if (status == POLYAD_OK) {
    pd_hls_order_tiles(&here, mode, &order);
    status =
        hls_schedule_cut(context, device, order.lines, order.tile_start, segment,
                         &schedule->segments, &schedule->segment_start, &schedule->line_segment);
  }
  if (status == POLYAD_OK)
    status = pd_cuda_upload(context, device, hls->tiles, sizeof *order.tile, order.tile,
                            (void **)&schedule->tile_order);
  pd_cuda_services->free(context, here.b_inds);
  pd_cuda_services->free(context, order.tile);
  pd_cuda_services->free(context, order.tile_start);
  return status;
}

polyad_status pd_hls_schedule_create(polyad_context *context, const struct pd_device *device,
                                     const struct pd_hls *hls, int mode, uint64_t segment,
                                     uint64_t item, struct pd_hls_schedule *schedule) {
  PD_TRY(schedule_tiles(context, device, hls, mode, segment, schedule));
  return schedule_nonzeros(context, device, hls, mode, item, schedule);
}
