/* Builds the lists of a tensor that streams, mode by mode. The file is sorted by its first mode:
 * its nonzeros fill one chunk after the other. For another mode every nonzero first gets its rank
 * among all sorted by this mode (the place where its row begins, from the numbers of nonzeros of
 * the rows, and how many of the row came before), which names its chunk, and waits for it as a
 * record in a second spill file. */
#include "plan/stream.h"
#include "tensor/tensor_fibers.h"
#include <string.h>

struct builder {
  polyad_context *context;
  struct pd_stream *stream;
  const struct pd_request *request;
  polyad_plan *plan;
  struct pd_stream_facts *facts;
  int mode;
  uint64_t *place;         /* of each row of the mode: rank of its next nonzero */
  polyad_tensor chunk;     /* nonzeros of one chunk; arrays of chunk_nnz */
  struct pd_spill waiting; /* records, chunk after chunk */
  char *staged;            /* records on their way there: room for `room` of every chunk */
  uint64_t *staged_count, *written, room;
};

/* ---- where chunks begin ---------------------------------------------------------------------- */

static uint64_t stream_build_chunk_end(const struct pd_stream *stream, uint64_t k) {
  return k + 1 == stream->chunks ? stream->nnz : (k + 1) * stream->chunk_nnz;
}

/* Turns numbers of nonzeros into places of the rows, and finds the rows in which chunks begin. */
static void cut_rows(struct builder *b) {
  struct pd_stream *stream = b->stream;
  struct pd_stream_chunk *chunk = stream->chunk[b->mode];
  uint64_t rows = stream->dims[b->mode], begin = 0, k = 0;
  for (uint64_t i = 0; i < rows; ++i) {
    uint64_t end = begin + b->place[i];
    for (; k < stream->chunks && k * stream->chunk_nnz < end; ++k) {
      chunk[k].base = k == 0 ? 0 : i;
      chunk[k].shared = k * stream->chunk_nnz > begin;
    }
    b->place[i] = begin;
    begin = end;
  }
  for (k = 0; k < stream->chunks; ++k) {
    bool last = k + 1 == stream->chunks;
    uint64_t behind = last ? rows : chunk[k + 1].base + chunk[k + 1].shared;
    chunk[k].rows = behind - chunk[k].base;
  }
}

/* ---- one chunk ------------------------------------------------------------------------------- */

static void stream_build_put_index(const struct builder *b, int mode, uint64_t p, uint64_t index) {
  if (b->chunk.index_bytes[mode] == 4)
    ((uint32_t *)b->chunk.index[mode])[p] = (uint32_t)index;
  else
    ((uint64_t *)b->chunk.index[mode])[p] = index;
}

static void stream_build_put_value(const struct builder *b, uint64_t p, double value) {
  if (b->stream->type == POLYAD_F32)
    ((float *)b->chunk.values)[p] = (float)value;
  else
    ((double *)b->chunk.values)[p] = value;
}

/* Facts of the chunk that the order of its columns rests on. */
static polyad_status find_traits(struct builder *b, struct pd_traits *traits) {
  memset(traits, 0, sizeof *traits);
  traits->order = b->stream->order;
  traits->nnz = b->chunk.nnz;
  memcpy(traits->dims, b->chunk.dims, sizeof traits->dims);
  for (int n = 0; n < traits->order; ++n) {
    uint64_t some = b->facts->nonempty[n];
    some = some < traits->nnz ? some : traits->nnz;
    traits->nonempty[n] = some < traits->dims[n] ? some : traits->dims[n];
  }
  return pd_tensor_estimate_fibers(b->context, &b->chunk, traits->fibers);
}

polyad_status pd_stream_spill(polyad_context *context, struct pd_stream *stream,
                              struct pd_stream_chunk *chunk, int count,
                              const struct pd_stream_array *array) {
  chunk->offset = stream->lists_bytes;
  for (int a = 0; a < count; ++a) {
    PD_TRY(pd_spill_write(context, &stream->spill, chunk->offset + chunk->bytes, array[a].bytes,
                          *array[a].pointer));
    chunk->bytes += pd_stream_padded(array[a].bytes);
  }
  stream->lists_bytes += chunk->bytes;
  if (chunk->bytes > stream->largest) stream->largest = chunk->bytes;
  return POLYAD_OK;
}

/* The list of chunk k, whose nonzeros are in b->chunk, those of the mode still as in the file. */
static polyad_status build_chunk(struct builder *b, uint64_t k) {
  struct pd_stream_chunk *chunk = &b->stream->chunk[b->mode][k];
  struct pd_traits traits;
  if (pd_cancelled(b->context))
    return pd_fail(b->context, POLYAD_CANCELLED, "planning was cancelled");
  b->chunk.dims[b->mode] = chunk->rows;
  int threads = pd_threads_for(b->context, b->chunk.nnz, 1 << 16);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < b->chunk.nnz; ++p)
    stream_build_put_index(b, b->mode, p, pd_tensor_index(&b->chunk, b->mode, p) - chunk->base);
  PD_TRY(find_traits(b, &traits));
  const struct pd_stream_source from = {&b->chunk, &traits, b->request, b->mode};
  return b->stream->lists->build(b->context, b->stream, &from, chunk);
}

/* ---- the first mode -------------------------------------------------------------------------- */

static polyad_status build_first(struct builder *b) {
  struct pd_stream *stream = b->stream;
  uint64_t k = 0;
  b->chunk.nnz = 0;
  PD_TRY(pd_ptn_blocks_rewind(&stream->file));
  for (uint64_t first = 0;; first += stream->file.count) {
    PD_TRY(pd_ptn_blocks_next(&stream->file));
    if (stream->file.count == 0) break;
    for (uint64_t p = 0; p < stream->file.count; ++p) {
      double value = pd_stream_value(stream, pd_ptn_blocks_value(&stream->file, p));
      for (int n = 0; n < stream->order; ++n)
        stream_build_put_index(b, n, b->chunk.nnz, pd_ptn_blocks_index(&stream->file, n, p));
      stream_build_put_value(b, b->chunk.nnz++, value);
      b->plan->sum += value;
      if (first + p + 1 < stream_build_chunk_end(stream, k)) continue;
      PD_TRY(build_chunk(b, k++));
      b->chunk.nnz = 0;
    }
  }
  return pd_ptn_blocks_same(&stream->file);
}

/* ---- the others ------------------------------------------------------------------------------ */

static void put_record(const struct builder *b, uint64_t p, char *record) {
  const struct pd_stream *stream = b->stream;
  for (int n = 0; n < stream->order; ++n) {
    uint64_t index = pd_ptn_blocks_index(&stream->file, n, p);
    uint32_t narrow = (uint32_t)index;
    size_t bytes = (size_t)b->chunk.index_bytes[n];
    memcpy(record, bytes == 4 ? (const void *)&narrow : (const void *)&index, bytes);
    record += bytes;
  }
  double value = pd_stream_value(stream, pd_ptn_blocks_value(&stream->file, p));
  float narrow = (float)value;
  if (stream->type == POLYAD_F32)
    memcpy(record, &narrow, sizeof narrow);
  else
    memcpy(record, &value, sizeof value);
}

static polyad_status stream_build_flush(struct builder *b, uint64_t k) {
  uint64_t record = pd_stream_record_bytes(b->stream), count = b->staged_count[k];
  uint64_t at = k * b->stream->chunk_nnz + b->written[k];
  b->staged_count[k] = 0;
  b->written[k] += count;
  return pd_spill_write(b->context, &b->waiting, at * record, count * record,
                        b->staged + k * b->room * record);
}

static polyad_status stage(struct builder *b) {
  struct pd_stream *stream = b->stream;
  uint64_t record = pd_stream_record_bytes(stream);
  memset(b->staged_count, 0, stream->chunks * sizeof *b->staged_count);
  memset(b->written, 0, stream->chunks * sizeof *b->written);
  PD_TRY(pd_ptn_blocks_rewind(&stream->file));
  for (;;) {
    PD_TRY(pd_ptn_blocks_next(&stream->file));
    if (stream->file.count == 0) break;
    for (uint64_t p = 0; p < stream->file.count; ++p) {
      uint64_t row = pd_ptn_blocks_index(&stream->file, b->mode, p);
      uint64_t k = b->place[row]++ / stream->chunk_nnz;
      if (k >= stream->chunks || b->written[k] + b->staged_count[k] >= stream->chunk_nnz)
        return pd_ptn_blocks_same(&stream->file) != POLYAD_OK
                   ? POLYAD_IO
                   : pd_fail(b->context, POLYAD_INTERNAL, "a chunk has too many nonzeros");
      put_record(b, p, b->staged + (k * b->room + b->staged_count[k]) * record);
      if (++b->staged_count[k] == b->room) PD_TRY(stream_build_flush(b, k));
    }
  }
  for (uint64_t k = 0; k < stream->chunks; ++k)
    PD_TRY(stream_build_flush(b, k));
  return pd_ptn_blocks_same(&stream->file);
}

static void take_records(struct builder *b, const char *records, uint64_t count) {
  const uint64_t each = pd_stream_record_bytes(b->stream);
  int threads = pd_threads_for(b->context, count, 1 << 16);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < count; ++p) {
    const char *record = records + p * each;
    for (int n = 0; n < b->stream->order; ++n) {
      size_t bytes = (size_t)b->chunk.index_bytes[n];
      memcpy((char *)b->chunk.index[n] + p * bytes, record, bytes);
      record += bytes;
    }
    size_t item = pd_type_bytes(b->stream->type);
    memcpy((char *)b->chunk.values + p * item, record, item);
  }
  b->chunk.nnz = count;
}

static polyad_status build_waiting(struct builder *b, uint64_t k) {
  uint64_t record = pd_stream_record_bytes(b->stream), begin = k * b->stream->chunk_nnz;
  uint64_t count = stream_build_chunk_end(b->stream, k) - begin;
  char *records;
  PD_TRY(pd_alloc(b->context, count, record, (void **)&records));
  polyad_status status =
      pd_spill_read(b->context, &b->waiting, begin * record, count * record, records);
  if (status == POLYAD_OK) take_records(b, records, count);
  pd_free(b->context, records);
  PD_TRY(status);
  return build_chunk(b, k);
}

static polyad_status make_staging(struct builder *b) {
  struct pd_stream *stream = b->stream;
  uint64_t record = pd_stream_record_bytes(stream), used = polyad_memory_in_use(b->context);
  uint64_t limit = polyad_memory_limit(b->context), left = limit > used ? limit - used : 0;
  b->room = pd_stream_staging_bytes(left) / record / stream->chunks;
  if (b->room < 1) b->room = 1;
  if (b->room > stream->chunk_nnz) b->room = stream->chunk_nnz;
  PD_TRY(PD_NEW(b->context, stream->chunks, &b->staged_count));
  PD_TRY(PD_NEW(b->context, stream->chunks, &b->written));
  return pd_alloc(b->context, pd_mul_saturated(stream->chunks, b->room), record,
                  (void **)&b->staged);
}

static void drop_staging(struct builder *b) {
  PD_FREE(b->context, b->staged, b->staged_count, b->written);
  b->staged = NULL;
  b->staged_count = b->written = NULL;
}

static polyad_status build_other(struct builder *b) {
  struct pd_stream *stream = b->stream;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(make_staging(b));
  PD_TRY_CLEANUP(stage(b));
  drop_staging(b);
  for (uint64_t k = 0; k < stream->chunks; ++k)
    PD_TRY_CLEANUP(build_waiting(b, k));
cleanup:
  drop_staging(b);
  return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static polyad_status stream_build_make_room(struct builder *b) {
  struct pd_stream *stream = b->stream;
  b->chunk = (polyad_tensor){
      .context = b->context, .order = stream->order, .type = stream->type, .nnz = 0};
  for (int n = 0; n < stream->order; ++n) {
    PD_TRY(PD_NEW_ZERO(b->context, stream->chunks, &stream->chunk[n]));
    b->chunk.index_bytes[n] = pd_index_bytes(stream->dims[n]);
    PD_TRY(pd_alloc(b->context, stream->chunk_nnz, (size_t)b->chunk.index_bytes[n],
                    &b->chunk.index[n]));
  }
  return pd_alloc(b->context, stream->chunk_nnz, pd_type_bytes(stream->type), &b->chunk.values);
}

static void drop_room(struct builder *b) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(b->context, b->chunk.index[n]);
  pd_free(b->context, b->chunk.values);
}

static polyad_status stream_build_build_mode(struct builder *b, int mode) {
  b->mode = mode;
  b->place = b->facts->count[mode];
  memcpy(b->chunk.dims, b->stream->dims, sizeof b->chunk.dims);
  cut_rows(b);
  PD_TRY(mode == 0 ? build_first(b) : build_other(b));
  pd_free(b->context, b->facts->count[mode]);
  b->facts->count[mode] = NULL;
  return POLYAD_OK;
}

polyad_status pd_stream_build(polyad_context *context, struct pd_stream *stream,
                              const struct pd_request *request, polyad_plan *plan,
                              struct pd_stream_facts *facts) {
  struct builder b = {.context = context,
                      .stream = stream,
                      .request = request,
                      .plan = plan,
                      .facts = facts,
                      .waiting = {.file = -1}};
  polyad_status status = POLYAD_OK;
  uint64_t lists = pd_stream_disk_bytes(stream, facts);
  PD_TRY_CLEANUP(pd_spill_create(context, stream->directory, &stream->spill));
  PD_TRY_CLEANUP(pd_spill_reserve(context, &stream->spill, lists));
  if (stream->order > 1) {
    PD_TRY_CLEANUP(pd_spill_create(context, stream->directory, &b.waiting));
    PD_TRY_CLEANUP(
        pd_spill_reserve(context, &b.waiting, stream->nnz * pd_stream_record_bytes(stream)));
  }
  PD_TRY_CLEANUP(stream_build_make_room(&b));
  for (int n = 0; n < stream->order; ++n)
    PD_TRY_CLEANUP(stream_build_build_mode(&b, n));
cleanup:
  drop_room(&b);
  pd_spill_close(&b.waiting);
  return status;
}
