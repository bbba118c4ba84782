/* The storage and the kernels of plans whose tensor stays on disk. */
#include "core/threads.h"
#include "plan/stream.h"
#include "plan/stream_reader.h"
#include <stdio.h>
#include <string.h>

/* ---- storage -----------------------------------------------------------------------------------
 */

polyad_status pd_stream_buffers(polyad_context *context, const struct pd_stream *stream,
                                char *buffer[2]) {
  for (int k = 0; k < 2 && stream->kept == NULL; ++k)
    PD_TRY(pd_alloc(context, stream->largest, 1, (void **)&buffer[k]));
  return POLYAD_OK;
}

static polyad_status stream_kernels_check_mode(polyad_context *context,
                                               const struct pd_stream *stream, int mode,
                                               char *const *buffer) {
  struct pd_stream_reader reader;
  polyad_status status = POLYAD_OK;
  pd_stream_reader_open(&reader, stream, mode, buffer);
  for (uint64_t k = 0; k < stream->chunks && status == POLYAD_OK; ++k) {
    const char *at;
    status = pd_stream_reader_next(context, &reader, k, &at);
    if (status == POLYAD_OK) status = stream->lists->check(context, stream, mode, k, at);
  }
  pd_stream_reader_close(&reader);
  return status;
}

static polyad_status stream_kernels_check(polyad_context *context, const void *storage) {
  const struct pd_stream *stream = storage;
  char *buffer[2] = {NULL};
  polyad_status status = pd_stream_buffers(context, stream, buffer);
  for (int n = 0; n < stream->order && status == POLYAD_OK; ++n)
    status = stream_kernels_check_mode(context, stream, n, buffer);
  for (int k = 0; k < 2; ++k)
    pd_free(context, buffer[k]);
  return status;
}

static uint64_t stream_kernels_bytes(const void *storage) {
  const struct pd_stream *stream = storage;
  return stream->lists_bytes;
}

static void stream_kernels_describe(const void *storage, int first_mode,
                                    char text[PD_REASON_BYTES]) {
  const struct pd_stream *stream = storage;
  (void)first_mode;
  snprintf(text, PD_REASON_BYTES, "%d lists %s, each sorted by its mode, in %llu chunks",
           stream->order, stream->kept != NULL ? "in the host's memory" : "on disk",
           (unsigned long long)stream->chunks);
}

static void stream_kernels_destroy(polyad_context *context, void *storage) {
  struct pd_stream *stream = storage;
  if (stream == NULL) return;
  pd_ptn_blocks_close(&stream->file);
  pd_spill_close(&stream->spill);
  pd_stream_pin(stream->device, stream->kept, stream->lists_bytes, false);
  pd_free(context, stream->kept);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(context, stream->chunk[n]);
  PD_FREE(context, stream->path, stream->directory, stream);
}

/* From the tensor's file. Zeros stand for what cannot be read; readable() then tells. */
static void stream_kernels_decode(const void *storage, uint64_t first, int count,
                                  struct pd_chunk *chunk) {
  const struct pd_stream *stream = storage;
  if (!pd_ptn_blocks_decode(&stream->file, first, count, chunk)) {
    atomic_store(&((struct pd_stream *)stream)->unreadable, true);
    for (int n = 0; n < stream->order; ++n)
      memset(chunk->index[n], 0, (size_t)count * sizeof chunk->index[n][0]);
    memset(chunk->value, 0, (size_t)count * sizeof chunk->value[0]);
  }
  for (int k = 0; k < count; ++k)
    chunk->value[k] = pd_stream_value(stream, chunk->value[k]);
}

static polyad_status readable(polyad_context *context, const void *storage) {
  const struct pd_stream *stream = storage;
  PD_TRY(pd_ptn_blocks_same(&stream->file));
  if (!atomic_load(&stream->unreadable)) return POLYAD_OK;
  return pd_fail_at(context, POLYAD_IO, stream->path, 0, 0, "nonzeros could not be read");
}

#define STREAM_SLOTS                                                                               \
  .check = stream_kernels_check, .bytes = stream_kernels_bytes,                                    \
  .describe = stream_kernels_describe, .destroy = stream_kernels_destroy,                          \
  .decode = stream_kernels_decode, .readable = readable

const struct polyad_format pd_stream_format = {.name = "coo", STREAM_SLOTS};
const struct polyad_format pd_stream_copies_format = {.name = "modecopy", STREAM_SLOTS};

/* ---- workspace ---------------------------------------------------------------------------------
 */

struct scratch {
  struct pd_scratch base;
  struct pd_rowsum_scratch *sums;
  char *buffer[2];
  void *row; /* the sums of a row so far, of which the next chunk has more */
};

static uint64_t stream_kernels_table_bytes(const struct pd_stream *stream, uint64_t rank) {
  uint64_t most = 0;
  for (int n = 0; n < stream->order; ++n)
    for (uint64_t k = 0; k < stream->chunks; ++k) {
      uint64_t each =
          pd_pair_tables_bytes(&stream->chunk[n][k].list, stream->dims, stream->type, rank);
      if (each > most) most = each;
    }
  return most;
}

static uint64_t stream_kernels_workspace_bytes(const void *storage, const uint64_t *ranks,
                                               int threads) {
  const uint64_t rank = ranks[0];
  const struct pd_stream *stream = storage;
  (void)threads;
  uint64_t total = pd_rowsum_scratch_bytes(rank, 1, PD_STREAM_PARTS);
  total = pd_add_saturated(total, stream_kernels_table_bytes(stream, rank));
  total = pd_add_saturated(total, pd_mul_saturated(2, stream->largest));
  return pd_add_saturated(total, pd_mul_saturated(rank, pd_type_bytes(stream->type)));
}

static void stream_kernels_workspace_clear(polyad_context *context, void *user) {
  struct scratch *scratch = user;
  for (int k = 0; k < 2; ++k)
    pd_free(context, scratch->buffer[k]);
}

static polyad_status stream_kernels_fill(polyad_context *context, const void *storage,
                                         const uint64_t *ranks, void *pointer) {
  const uint64_t rank = ranks[0];
  const struct pd_stream *stream = storage;
  struct scratch *scratch = pointer;
  PD_TRY(pd_rowsum_scratch_create(&scratch->base, stream->type, rank, 1, PD_STREAM_PARTS,
                                  &scratch->sums));
  pd_rowsum_share_parts(scratch->sums, pd_kernel_threads(context, stream->chunk_nnz, rank));
  PD_TRY(pd_rowsum_scratch_add_tables(scratch->sums, stream_kernels_table_bytes(stream, rank)));
  PD_TRY(pd_stream_buffers(context, stream, scratch->buffer));
  return pd_scratch_array(&scratch->base, rank, pd_type_bytes(stream->type), &scratch->row);
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

/* The place of a row of the matrix. */
static void *stream_kernels_row_at(const struct pd_matrix *matrix, uint64_t row) {
  return (char *)matrix->data + row * matrix->stride * pd_type_bytes(matrix->type);
}

/* The job of a chunk: its rows are those from chunk->base on. */
static struct pd_rowsum_job stream_kernels_job_of(const struct pd_stream *stream,
                                                  const struct pd_call *call,
                                                  const struct pd_stream_chunk *chunk,
                                                  const struct pd_rowsum *list) {
  struct pd_rowsum_job job = pd_rowsum_job_of(list, stream->type, call);
  job.out_rows = chunk->rows;
  if (job.b != NULL) job.b = stream_kernels_row_at(call->factors[call->mode], chunk->base);
  if (job.out != NULL) job.out = stream_kernels_row_at(call->out, chunk->base);
  return job;
}

static void add_row(polyad_type type, uint64_t rank, const void *from, void *to) {
  for (uint64_t r = 0; r < rank; ++r)
    if (type == POLYAD_F32)
      ((float *)to)[r] = ((const float *)from)[r] + ((const float *)to)[r];
    else
      ((double *)to)[r] = ((const double *)from)[r] + ((const double *)to)[r];
}

/* `sum` gets what the chunk adds to a result of one number. */
static void run_chunk(const struct pd_stream *stream, struct scratch *scratch,
                      const struct pd_call *call, uint64_t k, const char *at, double *sum) {
  const struct pd_stream_chunk *chunk = &stream->chunk[call->mode][k];
  const struct pd_rowsum list = pd_stream_list_at(stream, call->mode, k, at);
  struct pd_rowsum_job job = stream_kernels_job_of(stream, call, chunk, &list);
  if (job.out == NULL) {
    *sum += pd_rowsum_gain(&job, scratch->sums);
    return;
  }
  size_t row = job.rank * pd_type_bytes(stream->type);
  if (chunk->shared) memcpy(scratch->row, job.out, row);
  pd_rowsum_run(&job, scratch->sums);
  if (chunk->shared) add_row(stream->type, job.rank, scratch->row, job.out);
}

static polyad_status stream_kernels_run(polyad_context *context, const void *storage,
                                        void *workspace, const struct pd_call *call) {
  const struct pd_stream *stream = storage;
  struct scratch *scratch = workspace;
  struct pd_stream_reader reader;
  double sum = 0;
  polyad_status status = POLYAD_OK;
  PD_TRY(pd_ptn_blocks_same(&stream->file));
  pd_stream_reader_open(&reader, stream, call->mode, scratch->buffer);
  for (uint64_t k = 0; k < stream->chunks && status == POLYAD_OK; ++k) {
    const char *at;
    status = pd_stream_reader_next(context, &reader, k, &at);
    if (status == POLYAD_OK) run_chunk(stream, scratch, call, k, at, &sum);
  }
  pd_stream_reader_close(&reader);
  if (call->op.into == PD_INTO_SCALAR) *(double *)call->out->data = sum;
  return status;
}

static const struct pd_walk stream_kernels_rows = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = stream_kernels_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = stream_kernels_fill,
    .clear = stream_kernels_workspace_clear,
    .run = stream_kernels_run,
};

/* That of a chunk, and the additions of a row's parts. */
static uint64_t stream_kernels_sum_depth(const void *storage, const void *scratch, int mode,
                                         uint64_t longest_row) {
  const struct pd_stream *stream = storage;
  return pd_sum_depth_on_cpu(storage, scratch, mode, longest_row) +
         longest_row / stream->chunk_nnz + 1;
}

const struct polyad_kernels pd_stream_kernels = {
    .format = "coo",
    .device = "cpu",
    .walks = {&stream_kernels_rows},
    .sum_depth = stream_kernels_sum_depth,
    .phi_over_mttkrp = 1.9,
};
