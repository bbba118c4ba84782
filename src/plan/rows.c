/* Each mode has a source of nonzeros in the order of its rows (formats/ttmc/ttmc_source.h): the
 * storage's where it has that order, else one over the tensor that the storage was decoded to. One
 * pass over each source finds where the rows begin. */
#include "plan/rows.h"
#include "formats/ttmc/ttmc_source.h"

enum { GRAIN = 1 << 16 };

struct pd_plan_rows {
  int order;
  polyad_tensor *tensor; /* the nonzeros, for modes whose rows the storage has not in order */
  struct pd_ttmc_source source[POLYAD_MAX_ORDER];
  struct pd_ttmc_order sorted[POLYAD_MAX_ORDER];
  uint64_t *start[POLYAD_MAX_ORDER]; /* dims + 1: the first nonzero of each row in the source */
};

struct pd_row_reader {
  struct pd_ttmc_block block;
};

/* ---- rows of a tensor --------------------------------------------------------------------- */

static uint64_t rows_row_of_nonzero(const void *storage, int mode, uint64_t p) {
  return pd_tensor_index(storage, mode, p);
}

static void rows_decode(const struct pd_ttmc_source *source, uint64_t count, const uint64_t *place,
                        struct pd_ttmc_block *block) {
  const polyad_tensor *tensor = source->storage;
  for (uint64_t p = 0; p < count; ++p) {
    block->row[p] = pd_tensor_index(tensor, source->mode, place[p]);
    block->value[p] = pd_tensor_value(tensor, place[p]);
    for (int g = 0; g < source->columns; ++g)
      block->index[g][p] = pd_tensor_index(tensor, source->column_mode[g], place[p]);
  }
}

/* Tensors are sorted by their first mode. */
static void tensor_rows(const void *storage, int mode, struct pd_ttmc_source *source,
                        struct pd_ttmc_segments *segments) {
  const polyad_tensor *tensor = storage;
  *source = (struct pd_ttmc_source){.storage = tensor,
                                    .mode = mode,
                                    .type = tensor->type,
                                    .nnz = tensor->nnz,
                                    .decode = rows_decode};
  for (int n = 0; n < tensor->order; ++n)
    if (n != mode) source->column_mode[source->columns++] = n;
  *segments = (struct pd_ttmc_segments){.storage = tensor,
                                        .mode = mode,
                                        .dim = tensor->dims[mode],
                                        .count = mode == 0 ? 0 : tensor->nnz,
                                        .row = rows_row_of_nonzero};
}

/* ---- making ------------------------------------------------------------------------------- */

/* Rows that begin in this part of the nonzeros, and those before them that are empty. The row of
 * the nonzero before the part is known from the part before. */
static void rows_find_starts(const struct pd_ttmc_source *source, uint64_t begin, uint64_t end,
                             struct pd_row_reader *reader, uint64_t *start) {
  struct pd_ttmc_block *block = &reader->block;
  uint64_t next = 0; /* the first row whose start is not known */
  *reader = (struct pd_row_reader){0};
  if (begin > 0) {
    pd_ttmc_decode(source, begin - 1, 1, block);
    next = block->row[0] + 1;
  }
  for (uint64_t first = begin; first < end; first += PD_TTMC_BLOCK) {
    uint64_t count = end - first < PD_TTMC_BLOCK ? end - first : PD_TTMC_BLOCK;
    pd_ttmc_decode(source, first, count, block);
    for (uint64_t p = 0; p < count; ++p)
      for (; next <= block->row[p]; ++next)
        start[next] = first + p;
  }
}

static polyad_status find_all_starts(polyad_context *context, const struct pd_ttmc_source *source,
                                     uint64_t dim, uint64_t *start) {
  int threads = pd_threads_for(context, source->nnz, GRAIN);
  struct pd_row_reader *reader = NULL, last = {0};
  uint64_t next = 0;
  PD_TRY(PD_NEW(context, (uint64_t)threads, &reader));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    rows_find_starts(source, pd_part_begin(source->nnz, t, threads),
                     pd_part_begin(source->nnz, t + 1, threads), &reader[t], start);
  if (source->nnz > 0) {
    pd_ttmc_decode(source, source->nnz - 1, 1, &last.block);
    next = last.block.row[0] + 1;
  }
  for (; next <= dim; ++next)
    start[next] = source->nnz;
  pd_free(context, reader);
  return POLYAD_OK;
}

/* Rows of a mode that stand in order in the storage are read from there. Searching a storage of
 * another order for every nonzero would take longer than the tensor takes memory. */
static polyad_status open_mode(polyad_context *context, const polyad_plan *plan, int mode,
                               struct pd_plan_rows *rows) {
  struct pd_ttmc_source *source = &rows->source[mode];
  struct pd_ttmc_segments segments = {.count = 0};
  if (plan->format->rows != NULL && !plan->shed)
    plan->format->rows(plan->storage, mode, source, &segments);
  if (source->decode == NULL || segments.count > 0) {
    if (rows->tensor == NULL) PD_TRY(pd_plan_expand(context, plan, &rows->tensor));
    tensor_rows(rows->tensor, mode, source, &segments);
  }
  if (segments.count > 0) {
    PD_TRY(pd_ttmc_order_create(context, &segments, &rows->sorted[mode]));
    source->sorted = &rows->sorted[mode];
  }
  PD_TRY(PD_NEW(context, pd_add_saturated(plan->dims[mode], 1), &rows->start[mode]));
  return find_all_starts(context, source, plan->dims[mode], rows->start[mode]);
}

polyad_status pd_plan_rows_create(polyad_context *context, const polyad_plan *plan,
                                  struct pd_plan_rows **out) {
  struct pd_plan_rows *rows = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &rows));
  polyad_status status = POLYAD_OK;
  rows->order = plan->order;
  for (int n = 0; n < plan->order && status == POLYAD_OK; ++n)
    status = open_mode(context, plan, n, rows);
  if (status == POLYAD_OK)
    *out = rows;
  else
    pd_plan_rows_destroy(context, rows);
  return status;
}

void pd_plan_rows_destroy(polyad_context *context, struct pd_plan_rows *rows) {
  if (rows == NULL) return;
  for (int n = 0; n < rows->order; ++n) {
    pd_ttmc_order_clear(context, &rows->sorted[n]);
    pd_free(context, rows->start[n]);
  }
  polyad_tensor_destroy(rows->tensor);
  pd_free(context, rows);
}

/* ---- reading ------------------------------------------------------------------------------ */

uint64_t pd_plan_row_length(const struct pd_plan_rows *rows, int mode, uint64_t i) {
  return rows->start[mode][i + 1] - rows->start[mode][i];
}

polyad_status pd_row_reader_create(polyad_context *context, struct pd_row_reader **reader) {
  return PD_NEW_ZERO(context, 1, reader);
}

void pd_row_reader_destroy(polyad_context *context, struct pd_row_reader *reader) {
  pd_free(context, reader);
}

struct pd_row_part pd_row_read(const struct pd_plan_rows *rows, struct pd_row_reader *reader,
                               int mode, uint64_t i, uint64_t first) {
  const struct pd_ttmc_source *source = &rows->source[mode];
  struct pd_ttmc_block *block = &reader->block;
  uint64_t left = pd_plan_row_length(rows, mode, i) - first;
  uint64_t count = left < PD_TTMC_BLOCK ? left : PD_TTMC_BLOCK;
  pd_ttmc_decode(source, rows->start[mode][i] + first, count, block);
  struct pd_row_part part = {.count = (int)count, .value = block->value};
  for (int g = 0; g < source->columns; ++g)
    part.index[source->column_mode[g]] = block->index[g];
  return part;
}
