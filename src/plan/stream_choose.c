/* How many nonzeros a chunk of a tensor that streams has: as many as fit into the memory limit,
 * both while chunks are built and while a decomposition reads them. */
#include "linalg/linalg.h"
#include "plan/plan_create.h"
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

/* Every nonzero is a row of its own. */
uint64_t pd_stream_entry_bytes(const struct pd_stream *stream) {
  const uint64_t some = 64; /* what several nonzeros share is counted too */
  uint64_t most = 0;
  for (int n = 0; n < stream->order; ++n) {
    uint64_t bytes = (stream->lists->bytes(stream, n, some, some) + some - 1) / some;
    if (bytes > most) most = bytes;
  }
  return most;
}

uint64_t pd_stream_disk_bytes(const struct pd_stream *stream, const struct pd_stream_facts *facts) {
  uint64_t total = 0, padding = pd_mul_saturated(stream->chunks, 96 * PD_STREAM_ARRAYS);
  for (int n = 0; n < stream->order; ++n) {
    uint64_t rows = pd_add_saturated(facts->nonempty[n], stream->chunks);
    total = pd_add_saturated(total, stream->lists->bytes(stream, n, stream->nnz, rows));
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
  return stream->lists->building_bytes(stream, nnz, threads);
}

/* Bytes for each nonzero of a chunk while its list is built: its arrays as a tensor, and beside
 * them records, or the list and what sorting takes. */
static uint64_t building_entry_bytes(const struct pd_stream *stream, int threads) {
  uint64_t record = pd_stream_record_bytes(stream);
  uint64_t list = pd_stream_entry_bytes(stream) + sorting_bytes(stream, 1, threads) -
                  sorting_bytes(stream, 0, threads);
  return record + (list > record ? list : record);
}

/* Factors and their copies, as CP-ALS has them; on the CPU its other matrices too, and the sums of
 * the parts of a chunk. */
static uint64_t running_bytes(const struct pd_stream *stream, const struct pd_request *request) {
  uint64_t row = pd_mul_saturated(request->rank, pd_type_bytes(stream->type));
  uint64_t bytes = pd_mul_saturated(2, pd_mul_saturated(rows_of_all(stream), row));
  if (!request->device->functions->host_memory) return bytes;
  bytes = pd_add_saturated(bytes, pd_rowsum_scratch_bytes(request->rank, 1, PD_STREAM_PARTS));
  return pd_add_saturated(bytes,
                          request->device->linalg->work_bytes(request->rank, COUNTED_THREADS));
}

/* Bytes of the host, for each nonzero of a chunk, while a decomposition runs: two chunks, and what
 * a residual on a device is summed from at a time. */
static uint64_t running_entry_bytes(const struct pd_stream *stream) {
  bool there = !stream->device->functions->host_memory;
  return 2 * pd_stream_entry_bytes(stream) + (there ? pd_stream_record_bytes(stream) : 0);
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

uint64_t pd_stream_device_bytes(const polyad_context *context, const struct pd_stream *stream,
                                const struct pd_request *request, uint64_t workspace) {
  uint64_t stride = pd_factor_stride(request->device, stream->type, request->rank);
  uint64_t factors = pd_mul_saturated(rows_of_all(stream), stride * pd_type_bytes(stream->type));
  uint64_t spares = pd_plan_spare_bytes(context, request->device, stream->type, request->rank,
                                        stream->order, stream->dims);
  return pd_add_saturated(workspace, pd_add_saturated(factors, spares));
}

/* Of the device, with chunks of so many nonzeros. */
static uint64_t device_bytes_with(const polyad_context *context, const struct pd_stream *stream,
                                  const struct pd_request *request, uint64_t chunk) {
  uint64_t device, host, largest = pd_mul_saturated(pd_stream_entry_bytes(stream), chunk);
  largest = pd_add_saturated(largest, 64 * PD_STREAM_ARRAYS); /* what aligns them */
  pd_stream_there_bytes(stream, chunk, largest, request->rank, &device, &host);
  return pd_stream_device_bytes(context, stream, request, device);
}

/* The most nonzeros, up to `chunk`, with which a chunk leaves a margin of the device's memory;
 * fails where there are fewer than `least`. */
static polyad_status fit_device(polyad_context *context, const struct pd_stream *stream,
                                const struct pd_request *request, uint64_t least, uint64_t *chunk) {
  const struct pd_device *device = request->device;
  uint64_t available = device->functions->memory_available(context, device), low = 0;
  char need[32], have[32];
  uint64_t smallest = device_bytes_with(context, stream, request, least);
  available -= available / 16;
  for (uint64_t high = *chunk + 1; high - low > 1;) { /* low fits, or is 0; high does not */
    uint64_t middle = low + (high - low) / 2;
    if (device_bytes_with(context, stream, request, middle) <= available)
      low = middle;
    else
      high = middle;
  }
  *chunk = low;
  if (low >= least) return POLYAD_OK;
  return pd_fail(
      context, POLYAD_MEMORY_LIMIT,
      "%s: streaming in the smallest chunks takes %s (%llu bytes) of its memory, factors "
      "included, and %s can be used; raise the memory limit or ask for less",
      device->name, pd_bytes_text(need, smallest), (unsigned long long)smallest,
      pd_bytes_text(have, available));
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

/* The most nonzeros for which the host has room, while chunks are built and while they are read. */
static polyad_status fit_host(polyad_context *context, const struct pd_stream *stream,
                              const struct pd_request *request, uint64_t least, uint64_t *chunk) {
  const uint64_t limit = polyad_memory_limit(context), process = process_bytes(context);
  const uint64_t used = polyad_memory_in_use(context) + process;
  /* Numbers of slices are in use already and go before a decomposition begins. */
  const uint64_t counts = rows_of_all(stream) * sizeof(uint64_t);
  const uint64_t left = limit > used ? limit - used : 0, available = left - left / 16;
  const uint64_t tables = PD_STREAM_CHUNKS_MOST / 64 * sizeof(struct pd_stream_chunk);
  const uint64_t building = building_entry_bytes(stream, COUNTED_THREADS);
  const uint64_t running = running_entry_bytes(stream);
  const uint64_t factors = running_bytes(stream, request);
  uint64_t fixed = pd_add_saturated(tables, pd_stream_staging_bytes(available));
  fixed = pd_add_saturated(fixed, sorting_bytes(stream, 0, COUNTED_THREADS));
  *chunk = divided(available, fixed, building);
  uint64_t other = divided(available + counts, pd_add_saturated(tables, factors), running);
  if (other < *chunk) *chunk = other;
  if (*chunk >= least) return POLYAD_OK;
  uint64_t build = pd_add_saturated(fixed, pd_mul_saturated(least, building));
  uint64_t run = pd_add_saturated(factors, pd_mul_saturated(least, running)) + tables;
  uint64_t more = build > run ? build : run;
  *chunk = least; /* the estimates' margin is what is missing */
  return pd_memory_check(context, pd_add_saturated(more, more / 8 + process),
                         "streaming in the smallest chunks");
}

polyad_status pd_stream_choose(polyad_context *context, struct pd_stream *stream,
                               const struct pd_request *request, uint64_t asked) {
  if (asked > 0) return check_asked(context, stream, asked);
  uint64_t chunk, least = stream->nnz / PD_STREAM_CHUNKS_MOST + 1;
  if (least < PD_STREAM_LEAST) least = PD_STREAM_LEAST;
  if (least > stream->nnz) least = stream->nnz;
  PD_TRY(fit_host(context, stream, request, least, &chunk));
  if (chunk > PD_STREAM_MOST && least <= PD_STREAM_MOST) chunk = PD_STREAM_MOST;
  if (chunk > stream->nnz) chunk = stream->nnz;
  if (!stream->device->functions->host_memory)
    PD_TRY(fit_device(context, stream, request, least, &chunk));
  stream->chunk_nnz = chunk;
  stream->chunks = in_chunks(stream->nnz, chunk);
  return POLYAD_OK;
}
