#include "io/sorted_runs.h"
#include "io/ptn_writer.h"
#include "tensor/tensor_merge.h"
#include <string.h>

enum {
  WRITE_BYTES = 1 << 20, /* of records that are written at once */
  READ_LEAST = 4 << 10,  /* of a run that are read at once */
  READ_MOST = 1 << 20,
  BATCH = 1 << 12 /* merged nonzeros that are handed to the writer at once */
};

/* A sorted piece in the spill file: a record has the indices, then the value. */
struct pd_run {
  uint64_t offset, left; /* of the records that were not read yet */
  uint64_t record;       /* bytes */
  int index_bytes[POLYAD_MAX_ORDER];
  char *buffer;
  uint64_t at, filled;             /* records of the buffer */
  uint64_t head[POLYAD_MAX_ORDER]; /* coordinate of record `at` */
};

/* ---- writing ----------------------------------------------------------------------------------
 */

polyad_status pd_runs_create(polyad_context *context, const char *directory, struct pd_runs *runs) {
  *runs = (struct pd_runs){.context = context, .spill = {.file = -1}};
  return pd_spill_create(context, directory, &runs->spill);
}

uint64_t pd_runs_entry_bytes(int order, polyad_type type, int index_bytes) {
  uint64_t indices = (uint64_t)(order * index_bytes), value = pd_type_bytes(type);
  /* Chunks that grow by half, a column while it is joined, and records in whole words, twice. */
  return (indices + value) * 3 / 2 + sizeof(uint64_t) + 2 * ((indices + value + 7) / 8 * 8);
}

static void put_records(const polyad_tensor *tensor, uint64_t first, uint64_t count, char *out,
                        size_t record) {
  size_t value = pd_type_bytes(tensor->type);
  for (uint64_t p = first; p < first + count; ++p, out += record) {
    char *to = out;
    for (int n = 0; n < tensor->order; ++n) {
      size_t bytes = (size_t)tensor->index_bytes[n];
      memcpy(to, (const char *)tensor->index[n] + p * bytes, bytes);
      to += bytes;
    }
    memcpy(to, (const char *)tensor->values + p * value, value);
  }
}

static polyad_status write_records(struct pd_runs *runs, const polyad_tensor *tensor,
                                   const struct pd_run *run) {
  uint64_t most = WRITE_BYTES / run->record, count;
  char *records;
  PD_TRY(pd_alloc(runs->context, most, run->record, (void **)&records));
  polyad_status status = POLYAD_OK;
  for (uint64_t p = 0; p < tensor->nnz && status == POLYAD_OK; p += count) {
    count = tensor->nnz - p < most ? tensor->nnz - p : most;
    put_records(tensor, p, count, records, run->record);
    status = pd_spill_write(runs->context, &runs->spill, run->offset + p * run->record,
                            count * run->record, records);
  }
  pd_free(runs->context, records);
  return status;
}

static polyad_status add_run(struct pd_runs *runs, const polyad_tensor *tensor) {
  struct pd_run run = {.offset = runs->bytes, .left = tensor->nnz};
  run.record = pd_type_bytes(tensor->type);
  for (int n = 0; n < tensor->order; ++n) {
    run.index_bytes[n] = tensor->index_bytes[n];
    run.record += (uint64_t)tensor->index_bytes[n];
  }
  if (runs->count == runs->room) {
    uint64_t room = runs->room == 0 ? 16 : 2 * runs->room;
    PD_TRY(pd_realloc(runs->context, room, sizeof *runs->run, (void **)&runs->run));
    runs->room = room;
  }
  runs->order = tensor->order;
  runs->type = tensor->type;
  PD_TRY(pd_spill_reserve(runs->context, &runs->spill, runs->bytes + tensor->nnz * run.record));
  PD_TRY(write_records(runs, tensor, &run));
  runs->run[runs->count++] = run;
  runs->bytes += tensor->nnz * run.record;
  runs->nnz += tensor->nnz;
  return POLYAD_OK;
}

polyad_status pd_runs_take(struct pd_runs *runs, struct pd_coordinates *coordinates) {
  polyad_tensor *tensor;
  PD_TRY(pd_coordinates_finish(coordinates, NULL, PD_REPEATS_STAY, POLYAD_ZEROS_KEEP, &tensor));
  polyad_status status = add_run(runs, tensor);
  polyad_tensor_destroy(tensor);
  return status;
}

/* ---- merging ----------------------------------------------------------------------------------
 */

struct merge {
  struct pd_runs *runs;
  polyad_duplicates duplicates;
  uint64_t *heap, size; /* runs that have nonzeros left, the one with the first in front */
  uint64_t read_bytes;  /* of a run's buffer */
  struct pd_ptn_writer *writer;
  polyad_tensor batch; /* merged nonzeros; arrays of BATCH */
};

/* The records of a run that come next; its head is then the first of them. */
static polyad_status sorted_runs_refill(struct merge *m, struct pd_run *run) {
  uint64_t most = m->read_bytes / run->record;
  run->filled = run->left < most ? run->left : most;
  PD_TRY(pd_spill_read(m->runs->context, &m->runs->spill, run->offset, run->filled * run->record,
                       run->buffer));
  run->offset += run->filled * run->record;
  run->left -= run->filled;
  run->at = 0;
  return POLYAD_OK;
}

static void decode_head(const struct merge *m, struct pd_run *run) {
  const char *from = run->buffer + run->at * run->record;
  for (int n = 0; n < m->runs->order; ++n) {
    uint32_t narrow;
    if (run->index_bytes[n] == 4) {
      memcpy(&narrow, from, sizeof narrow);
      run->head[n] = narrow;
    } else {
      memcpy(&run->head[n], from, sizeof run->head[n]);
    }
    from += run->index_bytes[n];
  }
}

static double head_value(const struct merge *m, const struct pd_run *run) {
  size_t bytes = pd_type_bytes(m->runs->type);
  double wide;
  float narrow;
  const char *from = run->buffer + (run->at + 1) * run->record - bytes;
  memcpy(bytes == 4 ? (void *)&narrow : (void *)&wide, from, bytes);
  return bytes == 4 ? (double)narrow : wide;
}

/* Of equal coordinates that of the earlier run is first. */
static bool sorted_runs_before(const struct merge *m, uint64_t a, uint64_t b) {
  const uint64_t *x = m->runs->run[a].head, *y = m->runs->run[b].head;
  for (int n = 0; n < m->runs->order; ++n)
    if (x[n] != y[n]) return x[n] < y[n];
  return a < b;
}

/* Brings the run at a place of the heap down to where it belongs. */
static void sorted_runs_sift_down(struct merge *m, uint64_t at) {
  uint64_t moving = m->heap[at];
  for (uint64_t child; (child = 2 * at + 1) < m->size; at = child) {
    if (child + 1 < m->size && sorted_runs_before(m, m->heap[child + 1], m->heap[child])) ++child;
    if (sorted_runs_before(m, moving, m->heap[child])) break;
    m->heap[at] = m->heap[child];
  }
  m->heap[at] = moving;
}

/* Past the first nonzero of all. */
static polyad_status sorted_runs_advance(struct merge *m) {
  struct pd_run *run = &m->runs->run[m->heap[0]];
  if (++run->at == run->filled) {
    PD_TRY(sorted_runs_refill(m, run));
    if (run->filled == 0) m->heap[0] = m->heap[--m->size];
  }
  if (run->filled > 0) decode_head(m, run);
  if (m->size > 0) sorted_runs_sift_down(m, 0);
  return POLYAD_OK;
}

static polyad_status put_batch(struct merge *m) {
  polyad_status status = pd_ptn_writer_put(m->writer, m->batch.nnz,
                                           (const void *const *)m->batch.index, m->batch.values);
  m->batch.nnz = 0;
  if (status != POLYAD_OK || !pd_cancelled(m->runs->context)) return status;
  return pd_fail(m->runs->context, POLYAD_CANCELLED, "sorting was cancelled");
}

/* Takes all nonzeros at the first coordinate and makes one, or none, of them. */
static polyad_status merge_next(struct merge *m) {
  uint64_t coordinate[POLYAD_MAX_ORDER];
  const struct pd_run *first = &m->runs->run[m->heap[0]];
  const size_t bytes = (size_t)m->runs->order * sizeof coordinate[0];
  struct pd_merging merging = {0};
  memcpy(coordinate, first->head, bytes);
  do {
    pd_merging_add(&merging, m->duplicates, head_value(m, &m->runs->run[m->heap[0]]));
    PD_TRY(sorted_runs_advance(m));
  } while (m->size > 0 && memcmp(coordinate, m->runs->run[m->heap[0]].head, bytes) == 0);
  double value = pd_merging_end(&merging, m->duplicates, m->runs->type);
  PD_TRY(pd_merging_check(m->runs->context, &merging, value, m->duplicates, m->runs->type,
                          m->runs->order, coordinate));
  if (value == 0) return POLYAD_OK;
  for (int n = 0; n < m->runs->order; ++n)
    pd_id_put(m->batch.index[n], m->batch.index_bytes[n], m->batch.nnz, coordinate[n]);
  pd_store(m->runs->type, m->batch.values, m->batch.nnz, value);
  return ++m->batch.nnz == BATCH ? put_batch(m) : POLYAD_OK;
}

static polyad_status merge_make_room(struct merge *m, const uint64_t *dims) {
  polyad_context *context = m->runs->context;
  uint64_t used = polyad_memory_in_use(context), limit = polyad_memory_limit(context);
  uint64_t most = limit > used ? (limit - used) / 2 / (m->runs->count + 1) : 0;
  m->read_bytes = most > READ_MOST ? READ_MOST : most < READ_LEAST ? READ_LEAST : most;
  PD_TRY(PD_NEW(context, m->runs->count, &m->heap));
  for (int n = 0; n < m->runs->order; ++n) {
    m->batch.index_bytes[n] = pd_index_bytes(dims[n]);
    PD_TRY(pd_alloc(context, BATCH, (size_t)m->batch.index_bytes[n], &m->batch.index[n]));
  }
  PD_TRY(pd_alloc(context, BATCH, pd_type_bytes(m->runs->type), &m->batch.values));
  for (uint64_t k = 0; k < m->runs->count; ++k) {
    PD_TRY(pd_alloc(context, m->read_bytes, 1, (void **)&m->runs->run[k].buffer));
    PD_TRY(sorted_runs_refill(m, &m->runs->run[k]));
    decode_head(m, &m->runs->run[k]);
    m->heap[m->size++] = k;
  }
  for (uint64_t k = m->size; k-- > 0;)
    sorted_runs_sift_down(m, k);
  return POLYAD_OK;
}

static void merge_clear(struct merge *m) {
  polyad_context *context = m->runs->context;
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(context, m->batch.index[n]);
  PD_FREE(context, m->batch.values, m->heap);
  pd_ptn_writer_abort(m->writer);
}

polyad_status pd_runs_merge(struct pd_runs *runs, const uint64_t *dims,
                            polyad_duplicates duplicates, struct pd_spill *packed) {
  struct merge m = {.runs = runs, .duplicates = duplicates};
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_spill_create(runs->context, runs->spill.directory, packed));
  PD_TRY_CLEANUP(pd_ptn_writer_open_spill(runs->context, packed, runs->order, dims, runs->nnz,
                                          runs->type, &m.writer));
  PD_TRY_CLEANUP(merge_make_room(&m, dims));
  while (m.size > 0)
    PD_TRY_CLEANUP(merge_next(&m));
  PD_TRY_CLEANUP(put_batch(&m));
  status = pd_ptn_writer_close(m.writer);
  m.writer = NULL;
cleanup:
  merge_clear(&m);
  pd_runs_clear(runs);
  return status;
}

void pd_runs_clear(struct pd_runs *runs) {
  for (uint64_t k = 0; k < runs->count; ++k)
    pd_free(runs->context, runs->run[k].buffer);
  pd_free(runs->context, runs->run);
  pd_spill_close(&runs->spill);
  runs->run = NULL;
  runs->count = 0;
}
