/* Kernels over chunks on a device with memory of its own. A chunk is copied to one of two slots
 * there while the kernel of the chunk before runs, which is the one that a plan in the device's
 * memory has ("modecopy"), on the chunk's rows of the result alone.
 *
 * Each of the host's two buffers is given back to the reader when it has been copied; where the
 * lists are kept in memory they are copied from there, and the host enqueues all chunks at once. */
#include "device/device.h"
#include "linalg/linalg.h"
#include "plan/stream.h"
#include "plan/stream_reader.h"

enum { SLOTS = 2 };

struct scratch {
  struct pd_scratch base;
  const struct pd_walk *walk; /* of the kernels for a chunk */
  void *inner;                /* its scratch */
  void *feed;
  struct pd_linalg_work *work; /* for adding rows */
  void *slot[SLOTS];           /* on the device, one behind the other */
  void *row;     /* there too: the sums of a row so far, of which the chunk has more */
  double *part;  /* there too: what each chunk adds to a result of one number */
  double *parts; /* the same on the host */
  uint64_t slot_bytes;
  char *buffer[SLOTS];
  uint64_t pinned; /* bytes of each buffer that may be pinned */
  uint64_t passes;
};

const struct polyad_kernels *pd_stream_inner(const struct pd_device *device) {
  if (device->functions->host_memory || device->functions->feed == NULL ||
      device->linalg->add == NULL)
    return NULL;
  return pd_kernels_find(pd_stream_modecopy_lists.format, device->kind);
}

static const struct pd_walk *stream_there_walk(const struct pd_device *device) {
  return pd_walk_of(pd_stream_inner(device), pd_stream_kernels_there.walks[0]->ops);
}

/* ---- workspace --------------------------------------------------------------------------------
 */

static uint64_t stream_there_held_bytes(const struct pd_stream *stream, uint64_t nnz,
                                        uint64_t largest, uint64_t rank, int threads) {
  struct pd_modecopy shape;
  uint64_t ranks[POLYAD_MAX_ORDER], chunks = nnz == 0 ? 0 : stream->nnz / nnz + 1;
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    ranks[n] = rank;
  pd_stream_copy_shape(stream, &shape);
  shape.nnz = nnz;
  uint64_t total = stream_there_walk(stream->device)->workspace_bytes(&shape, ranks, threads);
  total = pd_add_saturated(total, pd_mul_saturated(SLOTS, largest));
  total = pd_add_saturated(total, stream->device->linalg->work_bytes(rank, threads));
  total = pd_add_saturated(total, pd_mul_saturated(chunks, sizeof(double)));
  uint64_t stride = pd_factor_stride(stream->device, stream->type, rank);
  return pd_add_saturated(total, pd_mul_saturated(stride, pd_type_bytes(stream->type)));
}

static uint64_t stream_there_workspace_bytes(const void *storage, const uint64_t *ranks,
                                             int threads) {
  const struct pd_stream *stream = storage;
  return stream_there_held_bytes(stream, stream->chunk_nnz, stream->largest, ranks[0], threads);
}

void pd_stream_there_bytes(const struct pd_stream *stream, uint64_t nnz, uint64_t largest,
                           uint64_t rank, uint64_t *device, uint64_t *host) {
  const int threads = 1; /* of the host: a device's bytes do not depend on them */
  uint64_t residual = pd_mul_saturated(nnz, pd_stream_record_bytes(stream));
  uint64_t buffers = stream->kept != NULL ? 0 : pd_mul_saturated(SLOTS, largest);
  *device = stream_there_held_bytes(stream, nnz, largest, rank, threads);
  *host = pd_add_saturated(buffers, residual);
}

static void stream_there_clear(polyad_context *context, void *pointer) {
  struct scratch *scratch = pointer;
  const struct pd_device *device = scratch->base.device;
  if (scratch->feed != NULL) device->functions->feed->close(scratch->feed);
  for (int k = 0; k < SLOTS; ++k) {
    if (scratch->pinned > 0) pd_stream_pin(device, scratch->buffer[k], scratch->pinned, false);
    pd_free(context, scratch->buffer[k]);
  }
  pd_free(context, scratch->parts);
  pd_walk_close(scratch->inner);
  if (scratch->work != NULL) device->linalg->work_destroy(context, scratch->work);
}

static polyad_status stream_there_fill(polyad_context *context, const void *storage,
                                       const uint64_t *ranks, void *pointer) {
  const struct pd_stream *stream = storage;
  struct scratch *scratch = pointer;
  const struct pd_device *device = scratch->base.device;
  struct pd_modecopy shape;
  size_t size = pd_type_bytes(stream->type);
  pd_stream_copy_shape(stream, &shape);
  scratch->walk = stream_there_walk(device);
  PD_TRY(pd_walk_open(context, scratch->walk, device, &shape, ranks, &scratch->inner));
  PD_TRY(device->linalg->work_create(context, device, ranks[0], &scratch->work));
  PD_TRY(pd_scratch_array(&scratch->base, pd_mul_saturated(SLOTS, stream->largest), 1,
                          &scratch->slot[0]));
  for (int k = 1; k < SLOTS; ++k)
    scratch->slot[k] = (char *)scratch->slot[k - 1] + stream->largest;
  scratch->slot_bytes = stream->largest;
  PD_TRY(pd_scratch_array(&scratch->base, pd_factor_stride(device, stream->type, ranks[0]), size,
                          &scratch->row));
  PD_TRY(PD_SCRATCH(&scratch->base, stream->chunks, &scratch->part));
  PD_TRY(PD_NEW(context, stream->chunks, &scratch->parts));
  PD_TRY(pd_stream_buffers(context, stream, scratch->buffer));
  if (stream->kept == NULL) {
    scratch->pinned = stream->largest;
    for (int k = 0; k < SLOTS; ++k)
      pd_stream_pin(device, scratch->buffer[k], scratch->pinned, true);
  }
  return device->functions->feed->open(context, device, SLOTS, &scratch->feed);
}

/* ---- kernels ----------------------------------------------------------------------------------
 */

/* The rows of a matrix from `first` on. */
static struct pd_matrix stream_there_rows(const struct pd_matrix *matrix, uint64_t first,
                                          uint64_t rows) {
  struct pd_matrix some = *matrix;
  some.data = (char *)matrix->data + first * matrix->stride * pd_type_bytes(matrix->type);
  some.rows = rows;
  some.version = 0;
  some.borrowed = true;
  return some;
}

/* Runs the kernel on the chunk's rows; `at` is its slot. */
static polyad_status stream_there_run_chunk(polyad_context *context, struct scratch *scratch,
                                            const struct pd_modecopy *copy,
                                            const struct pd_stream_chunk *chunk,
                                            const struct pd_call *call) {
  const struct pd_device *device = scratch->base.device;
  const struct pd_matrix *factors[POLYAD_MAX_ORDER];
  struct pd_matrix model, out;
  struct pd_call now = *call;
  now.factors = factors;
  for (int n = 0; n < copy->order; ++n)
    factors[n] = call->factors[n];
  if (pd_op_needs_model(&call->op)) {
    model = stream_there_rows(call->factors[call->mode], chunk->base, chunk->rows);
    factors[call->mode] = &model;
  }
  if (call->op.into == PD_INTO_SCALAR)
    return scratch->walk->run(context, copy, scratch->inner, &now);
  out = stream_there_rows(call->out, chunk->base, chunk->rows);
  now.out = &out;
  struct pd_matrix first = stream_there_rows(&out, 0, 1), before = first;
  uint64_t row = out.stride * pd_type_bytes(out.type);
  before.data = scratch->row;
  if (chunk->shared) PD_TRY(device->functions->copy(context, device, before.data, first.data, row));
  if (chunk->rows > copy->copy[call->mode].order.rows)
    PD_TRY(device->functions->fill_zero(context, device, out.data, out.rows * row));
  PD_TRY(scratch->walk->run(context, copy, scratch->inner, &now));
  return chunk->shared ? device->linalg->add(context, scratch->work, &before, &first) : POLYAD_OK;
}

/* Brings chunk k, whose arrays begin at `from` in the host's memory, and computes it. */
static polyad_status stream_there_feed(polyad_context *context, const struct pd_stream *stream,
                                       struct scratch *scratch, const struct pd_call *call,
                                       uint64_t k, const char *from) {
  const struct pd_device_feed *feed = scratch->base.device->functions->feed;
  const struct pd_stream_chunk *chunk = &stream->chunk[call->mode][k];
  const int slot = (int)(k % SLOTS);
  struct pd_modecopy copy;
  struct pd_call now = *call;
  struct pd_matrix part = {.device = scratch->base.device,
                           .type = POLYAD_F64,
                           .rows = 1,
                           .columns = 1,
                           .stride = 1,
                           .data = scratch->part + k,
                           .borrowed = true};
  if (call->op.into == PD_INTO_SCALAR) now.out = &part;
  PD_TRY(feed->copy(context, scratch->feed, slot, scratch->slot[slot], from, chunk->bytes));
  pd_stream_copy_at(stream, call->mode, k, scratch->slot[slot], &copy);
  PD_TRY(stream_there_run_chunk(context, scratch, &copy, chunk, &now));
  return feed->used(context, scratch->feed, slot);
}

/* The sum of what the chunks have added, in their order. */
static polyad_status stream_there_add_up(polyad_context *context, const struct pd_stream *stream,
                                         struct scratch *scratch, struct pd_matrix *out) {
  const struct pd_device *device = scratch->base.device;
  double sum = 0;
  PD_TRY(device->functions->copy_out(context, device, scratch->parts, scratch->part,
                                     stream->chunks * sizeof *scratch->parts));
  for (uint64_t k = 0; k < stream->chunks; ++k)
    sum += scratch->parts[k];
  scratch->parts[0] = sum; /* stays where it is while it is copied */
  return device->functions->copy_in(context, device, out->data, scratch->parts, sizeof sum);
}

static polyad_status stream_there_run(polyad_context *context, const void *storage, void *workspace,
                                      const struct pd_call *call) {
  const struct pd_stream *stream = storage;
  struct scratch *scratch = workspace;
  const struct pd_device_feed *feed = scratch->base.device->functions->feed;
  struct pd_stream_reader reader;
  polyad_status status = POLYAD_OK;
  ++scratch->passes;
  PD_TRY(pd_ptn_blocks_same(&stream->file));
  pd_stream_reader_open(&reader, stream, call->mode, scratch->buffer);
  for (uint64_t k = 0; k < stream->chunks && status == POLYAD_OK; ++k) {
    const char *at;
    /* The reader gets the buffer of the chunk before. */
    if (k > 0 && stream->kept == NULL)
      status = feed->copied(context, scratch->feed, (int)((k - 1) % SLOTS));
    if (status == POLYAD_OK) status = pd_stream_reader_next(context, &reader, k, &at);
    if (status == POLYAD_OK) status = stream_there_feed(context, stream, scratch, call, k, at);
  }
  pd_stream_reader_close(&reader);
  /* The next pass reads into the buffers at once. */
  for (int k = 0; k < SLOTS && stream->kept == NULL && status == POLYAD_OK; ++k)
    status = feed->copied(context, scratch->feed, k);
  if (status != POLYAD_OK || call->op.into != PD_INTO_SCALAR) return status;
  return stream_there_add_up(context, stream, scratch, call->out);
}

/* Between two passes the slots are empty. */
static void *stream_there_lend(void *workspace, uint64_t *bytes) {
  struct scratch *scratch = workspace;
  *bytes = SLOTS * scratch->slot_bytes;
  return scratch->slot[0];
}

static const struct pd_walk stream_there_rows_walk = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = stream_there_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = stream_there_fill,
    .clear = stream_there_clear,
    .run = stream_there_run,
    .lend = stream_there_lend,
};

static uint64_t stream_there_sum_depth(const void *storage, const void *workspace, int mode,
                                       uint64_t longest_row) {
  const struct pd_stream *stream = storage;
  const struct scratch *scratch = workspace;
  const struct polyad_kernels *inner = pd_stream_inner(stream->device);
  struct pd_modecopy shape;
  pd_stream_copy_shape(stream, &shape);
  uint64_t depth = inner->sum_depth(&shape, scratch->inner, mode, longest_row);
  return depth + longest_row / stream->chunk_nnz + 1;
}

/* Slots are filled in turn, and copies wait for what came before: no record could hold that. */
static uint64_t stream_there_position(const void *workspace) {
  return ((const struct scratch *)workspace)->passes;
}

const struct polyad_kernels pd_stream_kernels_there = {
    .format = "modecopy",
    .device = "cuda",
    .walks = {&stream_there_rows_walk},
    .sum_depth = stream_there_sum_depth,
    .position = stream_there_position,
};
