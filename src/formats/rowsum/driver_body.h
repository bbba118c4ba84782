/* Drives the kernel over one thread's part of the nonzeros; included once per instruction set
 * with PD_ISA_TABLE and FULL_BYTES defined. */
#include "core/fold.h"
#include "formats/rowsum/decode.h"
#include "formats/rowsum/driver.h"
#include "tensor/tensor.h"
#include <math.h>
#include <string.h>

#define KERNEL_BODY "formats/rowsum/kernel_body.h"
#define INSTANCE pd_instance
#define TYPE_BODY "formats/rowsum/weights_body.h"
#include "formats/rowsum/instances_types.h"

#include "formats/rowsum/weigh_body.h"

/* Writes a vector's worth of sums; a call of memcpy would take longer than a short run. */
static inline __attribute__((always_inline)) void write_vector(polyad_type type, int lanes,
                                                               const double *sums, void *out) {
  if (type == POLYAD_F32)
    for (int w = 0; w < lanes; ++w)
      ((float *)out)[w] = (float)sums[w];
  else
    for (int w = 0; w < lanes; ++w)
      ((double *)out)[w] = sums[w];
}

/* Writes the sums of one row, in the order of the column blocks. */
static void write_row(const struct pd_rowsum_job *job, const struct pd_column_blocks *blocks,
                      const double *sums, uint64_t index) {
  if (job->out == NULL) return;
  const uint64_t item = pd_type_bytes(job->type);
  char *row = (char *)job->out + index * job->out_stride * item;
  for (const struct pd_column_block *b = blocks->block; b < blocks->block + blocks->count; ++b)
    for (int v = 0; v < b->vectors; ++v, sums += b->lanes) {
      void *to =
          row + (b->first + (v == b->vectors - 1 ? b->tail : (uint64_t)(v * b->lanes))) * item;
      if (b->lanes == 16)
        write_vector(job->type, 16, sums, to);
      else if (b->lanes == 8)
        write_vector(job->type, 8, sums, to);
      else
        write_vector(job->type, b->lanes, sums, to);
    }
}

/* Empty rows are set to zero by whoever begins the row after them (the last row: also those
 * behind it). */
static void zero_around(const struct pd_rowsum_job *job, uint64_t run) {
  const struct pd_rowsum *list = job->list;
  if (list->scattered || list->row_bytes == 0) return; /* rowsum.c has done that; none is empty */
  uint64_t here = pd_rowsum_row(list, run);
  uint64_t from = run == 0 ? 0 : pd_rowsum_row(list, run - 1) + 1;
  if (from < here) pd_rowsum_zero(job, from, here);
  if (run == list->runs - 1 && here + 1 < job->out_rows)
    pd_rowsum_zero(job, here + 1, job->out_rows);
}

static void start_run(const struct pd_rowsum_pass *pass, struct pd_run *run) {
  const uint64_t item = pd_type_bytes(pass->job->type);
  const bool stored = pass->job->pi != NULL;
  *run = (struct pd_run){.columns = stored ? 1 : pass->sources.count, .fresh = true};
  for (int g = 0; g < run->columns && !stored; ++g) {
    const struct pd_source *source = &pass->sources.source[g];
    run->prefetch[g] =
        source->columns == 1 && source->count * pass->job->rank * item > PD_PREFETCH_FROM;
    run->prefetches |= run->prefetch[g];
  }
}

/* Values of a permuted list, or of one that has them between indices, one after the other. */
static const char *gather(const struct pd_rowsum_job *job, uint64_t first, uint64_t count,
                          double *room) {
  const struct pd_rowsum *list = job->list;
  const size_t item = pd_type_bytes(job->type), step = list->inside ? 4 * (size_t)list->step : item;
  const char *values = list->values;
  for (uint64_t p = 0; p < count; ++p)
    if (job->type == POLYAD_F32)
      memcpy((float *)room + p, values + pd_rowsum_place(list, first + p) * step, sizeof(float));
    else
      memcpy(room + p, values + pd_rowsum_place(list, first + p) * step, sizeof *room);
  return (const char *)room;
}

/* Indices of a column from nonzero `first` on; those of a packed list are unpacked into `room`. */
static inline struct pd_ids ids_of(const struct pd_rowsum *list, int g, uint64_t first,
                                   uint64_t count, uint32_t *room) {
  if (list->step == 0) {
    pd_fetch_stream(list->id[g], (uint64_t)list->id_bytes[g], first);
    return (struct pd_ids){.at = (const char *)list->id[g] + first * (uint64_t)list->id_bytes[g],
                           .bytes = list->id_bytes[g]};
  }
  const uint64_t left = list->nnz - first, wanted = count + PD_AHEAD;
  const size_t step = (size_t)list->step;
  const uint32_t *word = (const uint32_t *)list->id[g];
  if (step == 1 || g == 0) pd_fetch_stream(word, step * sizeof *word, first);
  pd_unpack(word + first * step, step, list->shift[g], list->mask[g], left < wanted ? left : wanted,
            room);
  return (struct pd_ids){.at = room, .bytes = 4};
}

/* Addresses of the stored rows of Pi. */
static void decode_stored(const struct pd_rowsum_job *job, uint64_t first, uint64_t count,
                          const char **row) {
  const uint64_t bytes = job->rank * pd_type_bytes(job->type);
  const char *from = (const char *)job->pi + first * bytes;
  for (uint64_t p = 0; p < count; ++p)
    row[p] = from + p * bytes;
}

/* Addresses of factor rows; returns the nonzeros' values, which may be in `room`. */
static const char *decode(const struct pd_rowsum_pass *pass, uint64_t first, uint64_t count,
                          const char *(*row_of)[PD_BLOCK + PD_AHEAD], double *room) {
  const struct pd_rowsum *list = pass->job->list;
  const uint64_t item = pd_type_bytes(pass->job->type), left = list->nnz - first;
  const char *values = (const char *)list->values + first * item;
  _Alignas(64) uint32_t id[2][PD_BLOCK + PD_AHEAD];
  if (list->place == NULL && !list->inside)
    pd_fetch_stream(list->values, item, first);
  else
    values = gather(pass->job, first, count, room);
  if (pass->job->pi != NULL) {
    decode_stored(pass->job, first, count, row_of[0]);
    return values;
  }
  for (int k = 0; k < pass->sources.count; ++k) {
    const struct pd_source *source = &pass->sources.source[k];
    int g = source->column[0], h = source->column[1];
    uint64_t stride = source->stride * item;
    if (list->place != NULL) {
      pd_decode_places(list, g, source->rows, stride, first, count, row_of[k]);
      continue;
    }
    const struct pd_ids outer = ids_of(list, g, first, count, id[0]);
    if (source->columns == 1) {
      pd_decode(outer.at, outer.bytes, left, source->rows, stride, 0, count, row_of[k]);
      continue;
    }
    const struct pd_ids inner = ids_of(list, h, first, count, id[1]);
    pd_decode_pair(&outer, &inner, source, left, stride, count, row_of[k]);
  }
  return values;
}

static void drive(const struct pd_rowsum_pass *pass, const struct pd_rowsum_part *part) {
  const struct pd_rowsum_job *job = pass->job;
  const struct pd_column_blocks *blocks = pass->blocks;
  const struct pd_rowsum *list = job->list;
  const uint64_t item = pd_type_bytes(job->type);
  _Alignas(64) const char *row_of[POLYAD_MAX_ORDER][PD_BLOCK + PD_AHEAD];
  _Alignas(64) double room[PD_BLOCK];
  struct pd_run run;
  struct weighing w;
  start_run(pass, &run);
  if (job->b != NULL) start_weighing(job, blocks, run.columns, &w);
  uint64_t row = part->run, row_end = pd_rowsum_start(list, row + 1);
  double *sums = part->head;
  if (pd_rowsum_start(list, row) == part->begin) {
    zero_around(job, row);
    sums = row_end > part->end ? part->tail : part->sums;
  }
  for (uint64_t first = part->begin, count; first < part->end; first += count) {
    count = part->end - first < PD_BLOCK ? part->end - first : PD_BLOCK;
    const char *values = decode(pass, first, count, row_of, room);
    for (uint64_t at = 0; at < count;) {
      uint64_t left = row_end - (first + at);
      uint64_t some = left < count - at ? left : count - at;
      run.count = (uint32_t)some;
      run.values = values + at * item;
      run.row = (const pd_rows *)(row_of[0] + at);
      take_run(job, blocks, part, &w, &run, pd_rowsum_row(list, row), sums);
      run.fresh = false;
      at += some;
      if (some < left) continue;
      if (sums == part->sums) write_row(job, blocks, sums, pd_rowsum_row(list, row));
      if (first + at == part->end) break;
      row_end = pd_rowsum_start(list, ++row + 1);
      zero_around(job, row);
      run.fresh = true;
      sums = row_end > part->end ? part->tail : part->sums;
    }
  }
  if (job->b != NULL) *part->gain = w.gain;
}

/* First output row of a block; behind the last block: the end of the output. */
static uint64_t block_row(const struct pd_rowsum_job *job, uint64_t block) {
  const struct pd_rowsum *list = job->list;
  if (block == list->blocks) return job->out_rows;
  return pd_rowsum_row(list, list->block_start[block]) >> list->block_shift << list->block_shift;
}

static void write_block(const struct pd_rowsum_job *job, const struct pd_column_blocks *blocks,
                        const double *sums, uint64_t block) {
  uint64_t first = block_row(job, block), end = first + (UINT64_C(1) << job->list->block_shift);
  if (end > job->out_rows) end = job->out_rows;
  for (uint64_t i = first; i < end; ++i)
    write_row(job, blocks, sums + (i - first) * pd_rowsum_padded(job->rank), i);
}

/* Where the sums of a block go. Empty blocks are set to zero by whoever begins the block before
 * them (the first: also those in front of it). */
static double *begin_block(const struct pd_rowsum_job *job, const struct pd_rowsum_part *part,
                           uint64_t block) {
  const struct pd_rowsum *list = job->list;
  uint64_t rows = UINT64_C(1) << list->block_shift;
  double *sums = part->head;
  if (pd_rowsum_start(list, list->block_start[block]) >= part->begin) {
    uint64_t behind = block_row(job, block) + rows;
    if (block == 0) pd_rowsum_zero(job, 0, block_row(job, 0));
    if (behind < block_row(job, block + 1)) pd_rowsum_zero(job, behind, block_row(job, block + 1));
    uint64_t end = pd_rowsum_start(list, list->block_start[block + 1]);
    sums = end > part->end ? part->tail : part->sums;
  }
  memset(sums, 0, rows * pd_rowsum_padded(job->rank) * sizeof *sums);
  return sums;
}

static void drive_tiled(const struct pd_rowsum_pass *pass, const struct pd_rowsum_part *part) {
  const struct pd_rowsum_job *job = pass->job;
  const struct pd_column_blocks *blocks = pass->blocks;
  const struct pd_rowsum *list = job->list;
  const uint64_t item = pd_type_bytes(job->type), padded = pd_rowsum_padded(job->rank);
  const uint64_t mask = (UINT64_C(1) << list->block_shift) - 1;
  _Alignas(64) const char *row_of[POLYAD_MAX_ORDER][PD_BLOCK + PD_AHEAD];
  _Alignas(64) double room[PD_BLOCK];
  struct pd_run run;
  struct weighing w;
  start_run(pass, &run);
  if (job->b != NULL) start_weighing(job, blocks, run.columns, &w);
  run.fresh = false;
  uint64_t r = part->run, run_end = pd_rowsum_start(list, r + 1), block = part->block;
  double *sums = begin_block(job, part, block);
  for (uint64_t first = part->begin, count; first < part->end; first += count) {
    count = part->end - first < PD_BLOCK ? part->end - first : PD_BLOCK;
    const char *values = decode(pass, first, count, row_of, room);
    for (uint64_t at = 0; at < count;) {
      uint64_t left = run_end - (first + at);
      uint64_t some = left < count - at ? left : count - at;
      run.count = (uint32_t)some;
      run.values = values + at * item;
      run.row = (const pd_rows *)(row_of[0] + at);
      uint64_t index = pd_rowsum_row(list, r);
      take_run(job, blocks, part, &w, &run, index, sums + (index & mask) * padded);
      at += some;
      if (some < left) continue;
      if (++r == list->block_start[block + 1]) {
        if (sums == part->sums) write_block(job, blocks, sums, block);
        if (first + at == part->end) break;
        sums = begin_block(job, part, ++block);
      }
      if (first + at < part->end) run_end = pd_rowsum_start(list, r + 1);
    }
  }
  if (job->b != NULL) *part->gain = w.gain;
}

static void drive_pi(const struct pd_rowsum_pass *pass, const struct pd_rowsum_part *part,
                     void *pi) {
  const struct pd_rowsum_job *job = pass->job;
  const uint64_t item = pd_type_bytes(job->type);
  _Alignas(64) const char *row_of[POLYAD_MAX_ORDER][PD_BLOCK + PD_AHEAD];
  _Alignas(64) double room[PD_BLOCK];
  struct pd_run run;
  struct weighing w;
  start_run(pass, &run);
  memset(part->b, 0, pd_rowsum_padded(job->rank) * sizeof(double));
  for (uint64_t first = part->begin, count; first < part->end; first += count) {
    count = part->end - first < PD_BLOCK ? part->end - first : PD_BLOCK;
    (void)decode(pass, first, count, row_of, room);
    run.count = (uint32_t)count;
    run.row = (const pd_rows *)row_of[0];
    /* the products with b, which is 0, are not used */
    pd_find_dots(pass->blocks, item, job->rank, &run, part->b,
                 (char *)pi + first * job->rank * item, w.dots);
  }
}

static int lanes_for(polyad_type type, uint64_t rank) {
  return type == POLYAD_F32 ? lanes_for_float(rank) : lanes_for_double(rank);
}

static const struct pd_instance *pick(polyad_type type, int lanes, int vectors) {
  return type == POLYAD_F32 ? pick_float(lanes, vectors) : pick_double(lanes, vectors);
}

const struct pd_rowsum_isa PD_ISA_TABLE = {.lanes = lanes_for,
                                           .pick = pick,
                                           .drive = drive,
                                           .drive_tiled = drive_tiled,
                                           .drive_pi = drive_pi,
                                           .slopes = slopes_of,
                                           .gains = gains_of,
                                           .write_row = write_row};
