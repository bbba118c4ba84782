/* Drives the kernels over one thread's part of the nonzeros; included once per instruction set with
 * PD_ISA_TABLE and FULL_BYTES defined. */
#include "formats/alto/alto_kernel.h"
#include <math.h>
#include <string.h>

#define KERNEL_BODY "formats/alto/alto_kernel_body.h"
#define INSTANCE pd_alto_kernel
#include "formats/rowsum/instances_types.h"

/* What one thread has at hand. */
struct block {
  pd_alto_rows row[POLYAD_MAX_ORDER]; /* of each column */
  pd_alto_rows own;                   /* rows of B */
  pd_alto_rows sum;
  uint64_t index[PD_ALTO_COLUMN]; /* of the output mode */
};

/* ---- addresses ------------------------------------------------------------------------------- */

/* Where indices of a mode are read from: (array[p] >> from) & mask. */
struct reader {
  const void *array;
  int bytes, from;
  uint64_t mask;
};

static struct reader read_plain(const void *array, int bytes, uint64_t first) {
  return (struct reader){(const char *)array + first * (uint64_t)bytes, bytes, 0, UINT64_MAX};
}

/* Indices of nonzeros from `first` on; those that one shift and mask do not decode are decoded into
 * `room`. */
static struct reader read_mode(const struct pd_alto_job *job, int mode, uint64_t first,
                               uint64_t count, uint64_t *room) {
  const struct pd_alto *alto = job->alto;
  const struct pd_alto_mode *field = &alto->field[mode];
  if (alto->decoded) return read_plain(alto->index[mode], alto->index_bytes[mode], first);
  if (field->runs == 1) {
    const struct pd_alto_run *run = &field->run[0];
    bool low = run->word == 0;
    struct reader reader =
        read_plain(low ? alto->low : alto->high, low ? alto->low_bytes : alto->high_bytes, first);
    reader.from = run->from;
    reader.mask = pd_low_mask(run->bits);
    return reader;
  }
  job->decode(alto, mode, first, count, room);
  return read_plain(room, 8, 0);
}

static inline __attribute__((always_inline)) uint64_t read_one(const struct reader *reader,
                                                               int bytes, uint64_t p) {
  return pd_alto_number(reader->array, bytes, p) >> reader->from & reader->mask;
}

static inline __attribute__((always_inline)) void
set_rows_sized(const struct reader *from, int bytes, bool narrow, const char *base, uint64_t stride,
               uint64_t count, const char **restrict row) {
  const struct reader reader = *from;
  for (uint64_t p = 0; p < count; ++p) {
    uint64_t index = read_one(&reader, bytes, p);
    row[p] = base + (narrow ? (uint64_t)(uint32_t)index * (uint32_t)stride : index * stride);
  }
}

/* Addresses of a factor's rows. */
static void set_rows(const struct reader *reader, uint64_t rows, const char *base, uint64_t stride,
                     uint64_t count, const char **row) {
  if (rows > UINT32_MAX || stride > UINT32_MAX || reader->bytes == 2)
    for (uint64_t p = 0; p < count; ++p)
      row[p] = base + read_one(reader, reader->bytes, p) * stride;
  else if (reader->bytes == 4)
    set_rows_sized(reader, 4, true, base, stride, count, row);
  else
    set_rows_sized(reader, 8, true, base, stride, count, row);
}

static inline __attribute__((always_inline)) void
set_sums_sized(const struct reader *from, int bytes, const struct pd_alto_part *part,
               uint64_t count, const char **restrict sum) {
  const struct reader reader = *from;
  const uint64_t own_begin = part->own.begin, own_end = part->own.end;
  const uintptr_t left = part->left, middle = part->middle, right = part->right;
  const uint64_t stride = part->stride, middle_stride = part->middle_stride;
  for (uint64_t p = 0; p < count; ++p) {
    uint64_t i = read_one(&reader, bytes, p);
    uintptr_t base = i < own_begin ? left : right;
    bool own = i >= own_begin && i < own_end;
    sum[p] = (const char *)((own ? middle : base) + i * (own ? middle_stride : stride));
  }
}

/* Rows of the part's sums; see struct pd_alto_part. */
static void set_sums(const struct reader *reader, const struct pd_alto_part *part, uint64_t rows,
                     uint64_t count, const char **sum) {
  bool alike = part->left == part->right && part->left == part->middle &&
               part->stride == part->middle_stride;
  if (alike)
    set_rows(reader, rows, (const char *)part->left, part->stride, count, sum);
  else if (reader->bytes == 2)
    set_sums_sized(reader, 2, part, count, sum);
  else if (reader->bytes == 4)
    set_sums_sized(reader, 4, part, count, sum);
  else
    set_sums_sized(reader, 8, part, count, sum);
}

static inline __attribute__((always_inline)) void
set_pair_sized(const struct reader *from, const struct reader *with, int bytes,
               const struct pd_source *pair, uint64_t stride, uint64_t count,
               const char **restrict row) {
  const struct reader a = *from, b = *with;
  const char *table = pair->rows;
  const uint32_t inner = (uint32_t)pair->inner; /* tables have fewer than 2^32 rows */
  for (uint64_t p = 0; p < count; ++p) {
    uint32_t at = (uint32_t)read_one(&a, bytes, p) * inner + (uint32_t)read_one(&b, bytes, p);
    row[p] = table + (uint64_t)at * (uint32_t)stride;
  }
}

/* Addresses of the rows of what is taken for one factor, of nonzeros from `first` on. */
static void set_source(const struct pd_alto_job *job, const struct pd_source *source,
                       uint64_t first, uint64_t count, const char **row) {
  const uint64_t stride = source->stride * pd_type_bytes(job->alto->type);
  uint64_t room[2][PD_ALTO_COLUMN];
  struct reader a = read_mode(job, job->other[source->column[0]], first, count, room[0]);
  if (source->columns == 1) {
    set_rows(&a, source->count, source->rows, stride, count, row);
    return;
  }
  struct reader b = read_mode(job, job->other[source->column[1]], first, count, room[1]);
  if (a.bytes == 4 && b.bytes == 4)
    set_pair_sized(&a, &b, 4, source, stride, count, row);
  else if (a.bytes == 8 && b.bytes == 8)
    set_pair_sized(&a, &b, 8, source, stride, count, row);
  else
    for (uint64_t p = 0; p < count; ++p)
      row[p] = (const char *)source->rows +
               (read_one(&a, a.bytes, p) * source->inner + read_one(&b, b.bytes, p)) * stride;
}

/* Addresses of nonzeros [first + begin, first + end) at places [begin, end). */
static void set_addresses(const struct pd_alto_job *job, const struct pd_alto_part *part,
                          uint64_t first, uint64_t begin, uint64_t end, struct block *block) {
  const struct pd_alto *alto = job->alto;
  uint64_t room[PD_ALTO_COLUMN], count = end - begin;
  for (int k = 0; k < job->sources.count && job->products == NULL; ++k)
    set_source(job, &job->sources.source[k], first + begin, count, block->row[k] + begin);
  for (uint64_t p = begin; p < end && job->products != NULL; ++p)
    block->row[0][p] = job->products + (first + p) * job->rank * pd_type_bytes(alto->type);
  if (job->products_out != NULL) return;
  struct reader reader = read_mode(job, job->mode, first + begin, count, room);
  set_sums(&reader, part, alto->dims[job->mode], count, block->sum + begin);
  if (job->weighs || job->gains)
    set_rows(&reader, alto->dims[job->mode], job->own, job->own_stride, count, block->own + begin);
  for (uint64_t p = 0; p < count && job->atomic; ++p)
    block->index[begin + p] = read_one(&reader, reader.bytes, p);
}

/* Places behind the last nonzero, for the prefetch. */
static void repeat_last(const struct pd_alto_job *job, uint64_t last, uint64_t end,
                        struct block *block) {
  int columns = job->products != NULL ? 1 : job->sources.count;
  for (uint64_t p = last + 1; p < end; ++p) {
    for (int g = 0; g < columns; ++g)
      block->row[g][p] = block->row[g][last];
    block->sum[p] = block->sum[last];
    block->own[p] = block->own[last];
    block->index[p] = block->index[last];
  }
}

/* Moves what was decoded ahead to the front. */
static void keep_ahead(const struct pd_alto_job *job, struct block *block) {
  enum { BYTES = PD_ALTO_AHEAD * sizeof(char *) };
  int columns = job->products != NULL ? 1 : job->sources.count;
  for (int g = 0; g < columns; ++g)
    memcpy(block->row[g], block->row[g] + PD_ALTO_BLOCK, BYTES);
  memcpy(block->sum, block->sum + PD_ALTO_BLOCK, BYTES);
  memcpy(block->own, block->own + PD_ALTO_BLOCK, BYTES);
  memcpy(block->index, block->index + PD_ALTO_BLOCK, BYTES);
}

/* ---- what is done with a block -----------------------------------------------------------------
 */

static void run_add(const struct pd_alto_job *job, struct pd_alto_work *work) {
  const uint64_t item = pd_type_bytes(job->alto->type);
  const struct pd_column_block *b = job->blocks->block;
  work->sums_first = 0;
  for (int k = 0; k < job->blocks->count; ++k, ++b) {
    work->first = b->first * item;
    work->tail = b->tail * item;
    job->kernel[k]->add(work);
    work->sums_first += (uint64_t)(b->lanes * b->vectors) * sizeof(double);
  }
}

static void run_phi(const struct pd_alto_job *job, struct pd_alto_work *work) {
  work->tail = job->blocks->block[0].tail * pd_type_bytes(job->alto->type);
  job->kernel[0]->phi(work);
}

/* The kernels' sums of each nonzero by itself, in the tile. */
static void run_tile(const struct pd_alto_job *job, const struct pd_alto_part *part, bool phi,
                     struct pd_alto_work *work) {
  pd_alto_rows tile;
  const char *const *sum = work->sum;
  memset(part->tile, 0, work->count * job->padded * sizeof(double));
  for (uint32_t p = 0; p < work->count; ++p)
    tile[p] = (const char *)(part->tile + p * job->padded);
  for (uint32_t p = work->count; p < PD_ALTO_COLUMN; ++p)
    tile[p] = (const char *)part->tile;
  work->sum = tile;
  if (phi)
    run_phi(job, work);
  else
    run_add(job, work);
  work->sum = sum;
}

/* Writes the tile's rows as rows of Pi. */
static void store_products(const struct pd_alto_job *job, const double *tile, uint64_t first,
                           uint32_t count) {
  for (uint32_t p = 0; p < count; ++p, tile += job->padded)
    for (const struct pd_alto_columns *c = job->columns; c < job->columns + job->runs; ++c)
      for (uint64_t k = 0; k < c->count; ++k) {
        uint64_t at = (first + p) * job->rank + c->column + k;
        if (job->alto->type == POLYAD_F32)
          ((float *)job->products_out)[at] = (float)tile[c->place + k];
        else
          ((double *)job->products_out)[at] = tile[c->place + k];
      }
}

/* <B, product> of a nonzero, product in the order of a row of sums. */
static inline double model_of(const struct pd_alto_job *job, const void *own,
                              const double *product) {
  double model = 0;
  for (const struct pd_alto_columns *c = job->columns; c < job->columns + job->runs; ++c) {
    const double *mine = product + c->place, *wide = (const double *)own + c->column;
    const float *narrow = (const float *)own + c->column;
    const uint64_t count = c->count;
    if (job->alto->type == POLYAD_F32) {
#pragma omp simd reduction(+ : model)
      for (uint64_t k = 0; k < count; ++k)
        model += mine[k] * (double)narrow[k];
    } else {
#pragma omp simd reduction(+ : model)
      for (uint64_t k = 0; k < count; ++k)
        model += mine[k] * wide[k];
    }
  }
  return model;
}

static double value_of(const struct pd_alto_job *job, const struct pd_alto_work *work, uint32_t p) {
  return job->alto->type == POLYAD_F32 ? (double)((const float *)work->values)[p]
                                       : ((const double *)work->values)[p];
}

/* Adds the gains of the block's nonzeros. */
static void add_gains(const struct pd_alto_job *job, const struct pd_alto_part *part,
                      const struct pd_alto_work *work) {
  const double *tile = part->tile;
  double sum = *part->gain;
  for (uint32_t p = 0; p < work->count; ++p, tile += job->padded)
    sum += PD_LOSS_GAIN(job->loss.kind, value_of(job, work, p), model_of(job, work->own[p], tile));
  *part->gain = sum;
}

/* Turns products in the tile into terms of the gradient. */
static void weigh_tile(const struct pd_alto_job *job, const struct pd_alto_work *work,
                       double *tile) {
  for (uint32_t p = 0; p < work->count; ++p, tile += job->padded) {
    double model = model_of(job, work->own[p], tile);
    double weight = PD_LOSS_SLOPE(job->loss.kind, value_of(job, work, p), model, job->loss.least);
    const uint64_t columns = job->sums_columns;
#pragma omp simd
    for (uint64_t k = 0; k < columns; ++k)
      tile[k] *= weight;
  }
}

/* Adds the tile to the sums: with atomic operations where another part may do so as well. */
static void add_tile(const struct pd_alto_job *job, const struct pd_alto_part *part,
                     const struct block *block, uint32_t count) {
  const double *tile = part->tile;
  const uint64_t columns = job->sums_columns;
  for (uint32_t p = 0; p < count; ++p, tile += job->padded) {
    double *sums = (double *)(uintptr_t)block->sum[p];
    uint64_t i = block->index[p];
    if (!job->atomic || (i >= part->own.begin && i < part->own.end)) {
#pragma omp simd
      for (uint64_t k = 0; k < columns; ++k)
        sums[k] += tile[k];
      continue;
    }
    for (uint64_t k = 0; k < columns; ++k) {
#pragma omp atomic
      sums[k] += tile[k];
    }
  }
}

/* Products of each nonzero by itself, in the tile. */
static void run_products(const struct pd_alto_job *job, const struct pd_alto_part *part,
                         struct pd_alto_work *work) {
  const void *values = work->values;
  work->values = job->ones;
  run_tile(job, part, false, work);
  work->values = values;
}

static void run_block(const struct pd_alto_job *job, const struct pd_alto_part *part,
                      const struct block *block, uint64_t first, struct pd_alto_work *work) {
  /* The kernels have the Poisson loss built in, others go through the tile. */
  bool fused = job->weighs && job->blocks->count == 1 && job->loss.kind == PD_LOSS_POISSON;
  if (job->products_out != NULL) {
    run_products(job, part, work);
    store_products(job, part->tile, first, work->count);
  } else if (job->gains) {
    run_products(job, part, work);
    add_gains(job, part, work);
  } else if (job->weighs && !fused) {
    run_products(job, part, work);
    weigh_tile(job, work, part->tile);
    add_tile(job, part, block, work->count);
  } else if (job->atomic) {
    run_tile(job, part, fused, work);
    add_tile(job, part, block, work->count);
  } else if (fused) {
    run_phi(job, work);
  } else {
    run_add(job, work);
  }
}

static bool beyond_cache(uint64_t rows, uint64_t row_bytes) {
  return rows > PD_ALTO_PREFETCH_FROM / row_bytes;
}

static void start_work(const struct pd_alto_job *job, const struct block *block,
                       struct pd_alto_work *work) {
  const uint64_t row = job->rank * pd_type_bytes(job->alto->type);
  *work = (struct pd_alto_work){.row = block->row,
                                .sum = block->sum,
                                .own = block->own,
                                .columns = job->products != NULL ? 1 : job->sources.count,
                                .least = job->loss.least,
                                .keep = job->keep};
  uint64_t rows = job->alto->dims[job->mode];
  bool stored = job->products != NULL; /* rows in sequence: the processor sees that itself */
  for (int g = 0; g < work->columns; ++g) {
    work->prefetch[g] = !stored && beyond_cache(job->sources.source[g].count, row);
    work->prefetches |= work->prefetch[g];
  }
  work->prefetch_own = job->weighs && beyond_cache(rows, row);
  work->prefetch_sums = !job->atomic && job->products_out == NULL && !job->gains &&
                        beyond_cache(rows, job->padded * sizeof(double));
  work->prefetches |= work->prefetch_own || work->prefetch_sums;
}

static void drive(const struct pd_alto_job *job, const struct pd_alto_part *part) {
  const uint64_t item = pd_type_bytes(job->alto->type);
  struct block block;
  struct pd_alto_work work;
  start_work(job, &block, &work);
  for (uint64_t first = part->begin, known = 0; first < part->end; first += PD_ALTO_BLOCK) {
    uint64_t left = part->end - first;
    uint64_t wanted = left < PD_ALTO_COLUMN ? left : PD_ALTO_COLUMN;
    if (known < wanted) set_addresses(job, part, first, known, wanted, &block);
    if (wanted < PD_ALTO_COLUMN) repeat_last(job, wanted - 1, PD_ALTO_COLUMN, &block);
    work.count = (uint32_t)(left < PD_ALTO_BLOCK ? left : PD_ALTO_BLOCK);
    work.values = (const char *)job->alto->values + first * item;
    run_block(job, part, &block, first, &work);
    keep_ahead(job, &block);
    known = wanted > PD_ALTO_BLOCK ? wanted - PD_ALTO_BLOCK : 0;
  }
}

static const struct pd_alto_kernel *pick(polyad_type type, int lanes, int vectors) {
  return type == POLYAD_F32 ? pick_float(lanes, vectors) : pick_double(lanes, vectors);
}

const struct pd_alto_isa PD_ISA_TABLE = {.pick = pick, .drive = drive};
