/* Chunks for the CPU: lists of formats/rowsum. */
#include "plan/stream.h"
#include <string.h>

static int stream_lists_arrays(struct pd_rowsum *list, polyad_type type,
                               struct pd_stream_array array[PD_STREAM_ARRAYS]) {
  int count = 0;
  array[count++] =
      (struct pd_stream_array){&list->row_start, (list->runs + 1) * (uint64_t)list->start_bytes};
  array[count++] = (struct pd_stream_array){&list->row_id, list->runs * (uint64_t)list->row_bytes};
  for (int g = 0; g < list->columns; ++g)
    array[count++] =
        (struct pd_stream_array){&list->id[g], list->nnz * (uint64_t)list->id_bytes[g]};
  array[count++] = (struct pd_stream_array){&list->values, list->nnz * pd_type_bytes(type)};
  return count;
}

struct pd_rowsum pd_stream_list_at(const struct pd_stream *stream, int mode, uint64_t k,
                                   const char *at) {
  struct pd_stream_array array[PD_STREAM_ARRAYS];
  struct pd_rowsum list = stream->chunk[mode][k].list;
  int count = stream_lists_arrays(&list, stream->type, array);
  for (int a = 0; a < count; ++a) {
    *array[a].pointer = at;
    at += pd_stream_padded(array[a].bytes);
  }
  return list;
}

/* A chunk has fewer than 2^32 rows and nonzeros almost always. */
static uint64_t stream_lists_bytes(const struct pd_stream *stream, int mode, uint64_t nnz,
                                   uint64_t rows) {
  uint64_t entry = pd_type_bytes(stream->type);
  uint64_t run = (uint64_t)pd_index_bytes(stream->dims[mode]) + 4;
  for (int n = 0; n < stream->order; ++n)
    if (n != mode) entry += (uint64_t)pd_rowsum_index_bytes(stream->dims[n], false);
  return pd_add_saturated(pd_mul_saturated(nnz, entry), pd_mul_saturated(rows, run));
}

static uint64_t stream_lists_building_bytes(const struct pd_stream *stream, uint64_t nnz,
                                            int threads) {
  return pd_rowsum_building_bytes(stream->order, stream->dims, nnz, stream->type, false, threads);
}

static polyad_status stream_lists_build(polyad_context *context, struct pd_stream *stream,
                                        const struct pd_stream_source *from,
                                        struct pd_stream_chunk *chunk) {
  struct pd_stream_array array[PD_STREAM_ARRAYS];
  struct pd_tiling tiling;
  struct pd_room room = {0};
  pd_tiling_choose(from->traits, from->request, from->mode, false, &tiling);
  PD_TRY(pd_rowsum_room_create(context, from->tensor, false, &room));
  polyad_status status =
      pd_rowsum_build(context, from->tensor, from->mode, false, &tiling, &room, &chunk->list);
  pd_room_destroy(context, &room);
  if (status == POLYAD_OK) {
    int count = stream_lists_arrays(&chunk->list, stream->type, array);
    status = pd_stream_spill(context, stream, chunk, count, array);
  }
  struct pd_rowsum shape = chunk->list;
  pd_rowsum_clear(context, &chunk->list);
  shape.row_start = shape.row_id = shape.values = NULL;
  memset(shape.id, 0, sizeof shape.id);
  chunk->list = shape;
  return status;
}

static polyad_status stream_lists_check(polyad_context *context, const struct pd_stream *stream,
                                        int mode, uint64_t k, const char *at) {
  struct pd_rowsum list = pd_stream_list_at(stream, mode, k, at);
  uint64_t dims[POLYAD_MAX_ORDER];
  memcpy(dims, stream->dims, sizeof dims);
  dims[mode] = stream->chunk[mode][k].rows;
  return pd_rowsum_check(context, &list, mode, dims);
}

const struct pd_stream_lists pd_stream_rowsum_lists = {
    .format = "coo",
    .bytes = stream_lists_bytes,
    .building_bytes = stream_lists_building_bytes,
    .build = stream_lists_build,
    .check = stream_lists_check,
};
