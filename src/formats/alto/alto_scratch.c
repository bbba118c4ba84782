#include "formats/alto/alto_scratch.h"
#include "core/isa.h"
#include "core/numbers.h"
#include "core/threads.h"

/* Temporaries may take as much as this, or as the storage: then fewer threads share a mode. */
static const uint64_t TEMPORARIES_BYTES = UINT64_C(64) << 20;

/* Whether a row of sums is a row of the output. */
static bool direct_sums(const struct pd_alto *alto, uint64_t rank) {
  return alto->type == POLYAD_F64 && rank % (uint64_t)pd_rowsum_lanes(alto->type, rank) == 0;
}

static uint64_t alto_scratch_row_bytes(uint64_t rank) {
  return pd_mul_saturated(pd_rowsum_padded(rank), sizeof(double));
}

/* Shares a mode; returns the rows of sums it needs beside the output. */
static uint64_t share_mode(const struct pd_alto *alto, uint64_t rank, int threads, int mode,
                           struct pd_alto_share *share, struct pd_alto_sharing *sharing) {
  uint64_t values = alto->nnz * pd_type_bytes(alto->type) * 2;
  uint64_t limit = values > TEMPORARIES_BYTES ? values : TEMPORARIES_BYTES;
  bool direct = direct_sums(alto, rank), atomic = pd_alto_adds_atomically(alto, mode);
  pd_alto_share_mode(alto, mode, threads, direct,
                     atomic ? UINT64_MAX : limit / alto_scratch_row_bytes(rank), share, sharing);
  if (!atomic) return sharing->rows;
  return direct ? 0 : alto->dims[mode];
}

/* The most that pull needs with so many threads, without sharing out anything. */
static uint64_t rows_bound(const struct pd_alto *alto, uint64_t rank, int threads) {
  uint64_t most = 0, limit = alto->nnz * pd_type_bytes(alto->type) * 2;
  if (limit < TEMPORARIES_BYTES) limit = TEMPORARIES_BYTES;
  limit /= alto_scratch_row_bytes(rank);
  for (int n = 0; n < alto->order; ++n) {
    uint64_t rows = alto->dims[n];
    if (pd_alto_adds_atomically(alto, n)) {
      if (direct_sums(alto, rank)) rows = 0;
    } else {
      uint64_t all = pd_mul_saturated(rows, (uint64_t)threads);
      uint64_t capped = limit > rows ? limit : rows; /* one part alone may pass the limit */
      rows = all < capped ? all : capped;
    }
    if (rows > most) most = rows;
  }
  return most;
}

struct pd_rowsum pd_alto_other_modes(const struct pd_alto *alto, int mode) {
  struct pd_rowsum list = {.nnz = alto->nnz};
  for (int n = 0; n < alto->order; ++n)
    if (n != mode) list.mode[list.columns++] = n;
  return list;
}

/* Room for the tables of pairs of any one mode. */
static uint64_t alto_scratch_table_bytes(const struct pd_alto *alto, uint64_t rank) {
  uint64_t most = 0;
  for (int n = 0; n < alto->order; ++n) {
    struct pd_rowsum list = pd_alto_other_modes(alto, n);
    uint64_t bytes = pd_pair_tables_bytes(&list, alto->dims, alto->type, rank);
    if (bytes > most) most = bytes;
  }
  return most;
}

uint64_t pd_alto_scratch_bytes(const void *storage, const uint64_t *ranks, int threads) {
  const uint64_t rank = ranks[0];
  const struct pd_alto *alto = storage;
  uint64_t row = alto_scratch_row_bytes(rank), t = (uint64_t)threads;
  uint64_t rows = pd_add_saturated(rows_bound(alto, rank, threads), t * PD_ALTO_BLOCK + 1);
  uint64_t lists = t * ((uint64_t)alto->order * sizeof(struct pd_alto_share) + t * sizeof(int) +
                        PD_ALTO_LINE * sizeof(double));
  return pd_add_saturated(pd_mul_saturated(rows, row), pd_rowsum_scratch_bytes(rank, 1, 1) +
                                                           alto_scratch_table_bytes(alto, rank) +
                                                           lists + sizeof(struct pd_alto_scratch) +
                                                           2 * PD_ALTO_BLOCK * sizeof(double));
}

/* Appends lanes of a vector that are no repetition, `place` and `column` being those of the first.
 */
static void add_columns(struct pd_alto_scratch *s, uint64_t place, uint64_t column,
                        uint64_t count) {
  struct pd_alto_columns *last = s->runs == 0 ? NULL : &s->columns[s->runs - 1];
  if (last != NULL && place == last->place + last->count && column == last->column + last->count)
    last->count += count;
  else
    s->columns[s->runs++] = (struct pd_alto_columns){place, column, count};
}

/* Kernels of the column blocks, and where a row of sums has which columns. */
static polyad_status alto_scratch_set_columns(polyad_type type, struct pd_alto_scratch *s) {
  const struct pd_column_blocks *blocks = &s->sums->blocks;
  PD_TRY(PD_SCRATCH(&s->base, (uint64_t)blocks->count, &s->kernel));
  PD_TRY(PD_SCRATCH(&s->base, 2 * (uint64_t)blocks->count, &s->columns));
  uint64_t done = 0, repeated = 0;
  for (int k = 0; k < blocks->count; ++k) {
    const struct pd_column_block *b = &blocks->block[k];
    const uint64_t lanes = (uint64_t)b->lanes;
    s->kernel[k] = s->isa->pick(type, b->lanes, b->vectors);
    for (int v = 0; v < b->vectors; ++v, s->sums_columns += lanes) {
      uint64_t column = b->first + (v == b->vectors - 1 ? b->tail : (uint64_t)v * lanes);
      repeated = done - column;
      add_columns(s, s->sums_columns + repeated, done, lanes - repeated);
      done = column + lanes;
    }
  }
  const int last = blocks->block[blocks->count - 1].lanes;
  PD_TRY(PD_SCRATCH(&s->base, PD_LANES_MAX, (double **)&s->keep));
  for (int w = 0; w < last; ++w)
    pd_store(type, s->keep, (uint64_t)w, (uint64_t)w < repeated ? 0 : 1);
  PD_TRY(PD_SCRATCH(&s->base, PD_ALTO_BLOCK, (double **)&s->ones));
  for (uint64_t p = 0; p < PD_ALTO_BLOCK; ++p)
    pd_store(type, s->ones, p, 1);
  return POLYAD_OK;
}

static polyad_status set_sharing(polyad_context *context, const struct pd_alto *alto,
                                 struct pd_alto_scratch *s) {
  uint64_t t = (uint64_t)s->threads, most = 0, count;
  PD_TRY(PD_SCRATCH(&s->base, pd_mul_saturated(t, (uint64_t)alto->order), &s->share));
  PD_TRY(PD_SCRATCH(&s->base, pd_mul_saturated(t, t), &s->parts));
  PD_TRY(PD_SCRATCH(&s->base, t * PD_ALTO_LINE, &s->gains));
  for (int n = 0; n < alto->order; ++n) {
    uint64_t rows =
        share_mode(alto, s->rank, s->threads, n, s->share + (uint64_t)n * t, &s->sharing[n]);
    if (rows > most) most = rows;
  }
  if (!pd_mul(most, s->padded, &count))
    return pd_fail(context, POLYAD_OVERFLOW, "temporaries of %llu rows are too large",
                   (unsigned long long)most);
  PD_TRY(PD_SCRATCH(&s->base, count, &s->sums_rows));
  return PD_SCRATCH(&s->base, pd_mul_saturated(pd_mul_saturated(t, PD_ALTO_BLOCK), s->padded),
                    &s->tiles);
}

polyad_status pd_alto_scratch_fill(polyad_context *context, const void *storage,
                                   const uint64_t *ranks, void *scratch) {
  const uint64_t rank = ranks[0];
  const struct pd_alto *alto = storage;
  struct pd_alto_scratch *s = scratch;
  s->threads = pd_kernel_threads(context, alto->nnz, rank);
  s->rank = rank;
  s->padded = pd_rowsum_padded(rank);
  s->isa = PD_ISA_PICK(const struct pd_alto_isa, &pd_alto);
  s->products_mode = -1;
  PD_TRY(pd_rowsum_scratch_create(&s->base, alto->type, rank, 1, 1, &s->sums));
  PD_TRY(pd_rowsum_scratch_add_tables(s->sums, alto_scratch_table_bytes(alto, rank)));
  PD_TRY(alto_scratch_set_columns(alto->type, s));
  return set_sharing(context, alto, s);
}
