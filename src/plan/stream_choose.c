/* How many nonzeros a chunk of a tensor that streams has: as many as fit into the memory limit,
 * both while chunks are built and while a decomposition reads them. */
#include "linalg/linalg.h"
#include "plan/stream.h"

static uint64_t rows_of_all(const struct pd_stream *stream) {
  uint64_t rows = 0;
  for (int n = 0; n < stream->order; ++n)
    rows = pd_add_saturated(rows, stream->dims[n]);
  return rows;
}

uint64_t pd_stream_record_bytes(const struct pd_stream *stream) {
  uint64_t bytes = pd_type_bytes(stream->type);
  for (int n = 0; n < stream->order; ++n)
    bytes += (uint64_t)pd_index_bytes(stream->dims[n]);
  return bytes;
}

/* Indices and value of a nonzero in the list of `mode`. */
static uint64_t entry_bytes(const struct pd_stream *stream, int mode) {
  uint64_t bytes = pd_type_bytes(stream->type);
  for (int n = 0; n < stream->order; ++n)
    if (n != mode) bytes += (uint64_t)pd_rowsum_index_bytes(stream->dims[n], false);
  return bytes;
}

/* Row number and start of a run; a chunk has fewer than 2^32 rows and nonzeros almost always. */
static uint64_t run_bytes(const struct pd_stream *stream, int mode) {
  return (uint64_t)pd_index_bytes(stream->dims[mode]) + 4;
}

/* The most that a nonzero takes in a chunk's arrays: every one a run of its own. */
static uint64_t most_entry_bytes(const struct pd_stream *stream) {
  uint64_t most = 0;
  for (int n = 0; n < stream->order; ++n) {
    uint64_t bytes = entry_bytes(stream, n) + run_bytes(stream, n);
    if (bytes > most) most = bytes;
  }
  return most;
}

uint64_t pd_stream_disk_bytes(const struct pd_stream *stream, const struct pd_stream_facts *facts) {
  uint64_t total = 0, padding = pd_mul_saturated(stream->chunks, 64 * PD_STREAM_ARRAYS);
  for (int n = 0; n < stream->order; ++n) {
    uint64_t runs = pd_add_saturated(facts->nonempty[n], stream->chunks);
    total = pd_add_saturated(total, pd_mul_saturated(stream->nnz, entry_bytes(stream, n)));
    total = pd_add_saturated(total, pd_mul_saturated(runs, run_bytes(stream, n)));
    total = pd_add_saturated(total, padding);
  }
  return total;
}

uint64_t pd_stream_staging_bytes(uint64_t available) {
  const uint64_t most = 32 << 20, bytes = available / 8;
  return bytes < most ? bytes : most;
}

/* Chunks must not depend on the threads, which would change the bits of results: room for so many
 * is counted; that of more is small and comes out of the margin. */
enum { COUNTED_THREADS = 4 };

static uint64_t sorting_bytes(const struct pd_stream *stream, uint64_t nnz, int threads) {
  return pd_rowsum_building_bytes(stream->order, stream->dims, nnz, stream->type, false, threads);
}

/* Bytes for each nonzero of a chunk while its list is built: its arrays as a tensor, and beside
 * them records, or the list and what sorting takes. */
static uint64_t building_entry_bytes(const struct pd_stream *stream, int threads) {
  uint64_t record = pd_stream_record_bytes(stream);
  uint64_t list = most_entry_bytes(stream) + sorting_bytes(stream, 1, threads) -
                  sorting_bytes(stream, 0, threads);
  return record + (list > record ? list : record);
}

/* Factors and their copies, as CP-ALS has them, and the sums of the parts of a chunk. */
static uint64_t running_bytes(const struct pd_stream *stream, const struct pd_request *request) {
  uint64_t row = pd_mul_saturated(request->rank, pd_type_bytes(stream->type));
  uint64_t bytes = pd_mul_saturated(2, pd_mul_saturated(rows_of_all(stream), row));
  bytes = pd_add_saturated(bytes, pd_rowsum_scratch_bytes(request->rank, 1, PD_STREAM_PARTS));
  return pd_add_saturated(bytes,
                          request->device->linalg->work_bytes(request->rank, COUNTED_THREADS));
}

/* A limit that is the machine's or the control group's has to hold the process too: its code, its
 * stacks, and what BLAS takes when it is loaded. One that the caller set is for what polyad
 * allocates. */
static uint64_t process_bytes(const polyad_context *context) {
  return pd_memory_limit_is_set(context) ? 0 : UINT64_C(48) << 20;
}

static uint64_t divided(uint64_t available, uint64_t fixed, uint64_t each) {
  return available > fixed ? (available - fixed) / each : 0;
}

static uint64_t in_chunks(uint64_t nnz, uint64_t chunk) {
  return chunk == 0 ? 1 : nnz / chunk + (nnz % chunk != 0);
}

static polyad_status check_asked(polyad_context *context, struct pd_stream *stream,
                                 uint64_t asked) {
  stream->chunk_nnz = asked < stream->nnz ? asked : stream->nnz;
  stream->chunks = in_chunks(stream->nnz, stream->chunk_nnz);
  if (stream->chunks <= PD_STREAM_CHUNKS_MOST) return POLYAD_OK;
  return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                 "chunks of %llu nonzeros make %llu of them; expected at most %d chunks",
                 (unsigned long long)asked, (unsigned long long)stream->chunks,
                 PD_STREAM_CHUNKS_MOST);
}

polyad_status pd_stream_choose(polyad_context *context, struct pd_stream *stream,
                               const struct pd_request *request, uint64_t asked) {
  if (asked > 0) return check_asked(context, stream, asked);
  const uint64_t limit = polyad_memory_limit(context), process = process_bytes(context);
  const uint64_t used = polyad_memory_in_use(context) + process;
  /* Numbers of slices are in use already and go before a decomposition begins. */
  const uint64_t counts = rows_of_all(stream) * sizeof(uint64_t);
  const uint64_t left = limit > used ? limit - used : 0, available = left - left / 16;
  const uint64_t tables = PD_STREAM_CHUNKS_MOST / 64 * sizeof(struct pd_stream_chunk);
  const uint64_t building = building_entry_bytes(stream, COUNTED_THREADS);
  const uint64_t running = 2 * most_entry_bytes(stream);
  const uint64_t factors = running_bytes(stream, request);
  uint64_t fixed = pd_add_saturated(tables, pd_stream_staging_bytes(available));
  fixed = pd_add_saturated(fixed, sorting_bytes(stream, 0, COUNTED_THREADS));
  uint64_t chunk = divided(available, fixed, building);
  uint64_t other = divided(available + counts, pd_add_saturated(tables, factors), running);
  if (other < chunk) chunk = other;
  if (chunk > PD_STREAM_MOST) chunk = PD_STREAM_MOST;
  if (chunk > stream->nnz) chunk = stream->nnz;
  uint64_t least = stream->nnz / PD_STREAM_CHUNKS_MOST + 1;
  if (least < PD_STREAM_LEAST) least = PD_STREAM_LEAST;
  if (least > stream->nnz) least = stream->nnz;
  stream->chunk_nnz = chunk;
  stream->chunks = in_chunks(stream->nnz, chunk);
  if (chunk >= least) return POLYAD_OK;
  uint64_t build = pd_add_saturated(fixed, pd_mul_saturated(least, building));
  uint64_t run = pd_add_saturated(factors, pd_mul_saturated(least, running)) + tables;
  uint64_t more = build > run ? build : run;
  PD_TRY(pd_memory_check(context, pd_add_saturated(more, more / 8 + process),
                         "streaming in the smallest chunks"));
  stream->chunk_nnz = least; /* the estimates' margin is what is missing */
  stream->chunks = in_chunks(stream->nnz, least);
  return POLYAD_OK;
}
