#include "formats/rowsum/pair_tables.h"
#include "core/machine.h"
#include "tensor/tensor.h"

enum { LEAST_REUSE = 8 }; /* nonzeros per row of a table that make it worth its making */

/* Bytes that a table may have: part of a core's second level of cache, since the rows of the
 * longer modes go through it, too. */
static uint64_t most_bytes(void) { return pd_machine_cache(2) / 2; }

/* Rows of the pair's table; 0: not worth it or not held by the cache. */
static uint64_t pair_rows(uint64_t nnz, uint64_t row_bytes, uint64_t first, uint64_t second) {
  uint64_t rows = pd_mul_saturated(first, second);
  if (rows > nnz / LEAST_REUSE) return 0;
  return pd_mul_saturated(rows, row_bytes) <= most_bytes() ? rows : 0;
}

/* Columns from the shortest factor to the longest. */
static void sort_columns(int columns, const uint64_t *rows, int *column) {
  for (int g = 0; g < columns; ++g) {
    int at = g;
    for (; at > 0 && rows[column[at - 1]] > rows[g]; --at)
      column[at] = column[at - 1];
    column[at] = g;
  }
}

uint64_t pd_pair_tables_bytes(const struct pd_rowsum *list, const uint64_t *dims, polyad_type type,
                              uint64_t rank) {
  uint64_t rows[POLYAD_MAX_ORDER], bytes = 0,
                                   row_bytes = pd_mul_saturated(rank, pd_type_bytes(type));
  int column[POLYAD_MAX_ORDER];
  for (int g = 0; g < list->columns; ++g)
    rows[g] = dims[list->mode[g]];
  sort_columns(list->columns, rows, column);
  for (int g = 0; g + 1 < list->columns; g += 2)
    bytes += row_bytes * pair_rows(list->nnz, row_bytes, rows[column[g]], rows[column[g + 1]]);
  return bytes;
}

static struct pd_source single(const struct pd_rowsum_job *job, int column) {
  return (struct pd_source){.columns = 1,
                            .column = {column},
                            .rows = job->factor[column],
                            .stride = job->stride[column],
                            .count = job->factor_rows[column]};
}

void pd_sources_choose(const struct pd_rowsum_job *job, void *tables, uint64_t bytes,
                       struct pd_sources *sources) {
  const struct pd_rowsum *list = job->list;
  uint64_t row_bytes = job->rank * pd_type_bytes(job->type);
  int column[POLYAD_MAX_ORDER], partner[POLYAD_MAX_ORDER];
  char *table = tables;
  sources->count = 0;
  for (int g = 0; g < list->columns; ++g)
    partner[g] = -1;
  sort_columns(list->columns, job->factor_rows, column);
  for (int k = 0; k + 1 < list->columns; k += 2) {
    int g = column[k], h = column[k + 1];
    uint64_t rows = pair_rows(list->nnz, row_bytes, job->factor_rows[g], job->factor_rows[h]);
    if (rows == 0 || rows * row_bytes > bytes) break;
    partner[g] = h;
    partner[h] = list->columns; /* taken */
    sources->source[sources->count++] = (struct pd_source){.columns = 2,
                                                           .column = {g, h},
                                                           .inner = job->factor_rows[h],
                                                           .rows = table,
                                                           .stride = job->rank,
                                                           .count = rows};
    table += rows * row_bytes;
    bytes -= rows * row_bytes;
  }
  for (int g = 0; g < list->columns; ++g)
    if (partner[g] < 0) sources->source[sources->count++] = single(job, g);
}

#define DEFINE_MULTIPLY(type)                                                                      \
  static void multiply_##type(uint64_t rank, const type *a, const type *b, type *restrict to) {    \
    for (uint64_t r = 0; r < rank; ++r)                                                            \
      to[r] = a[r] * b[r];                                                                         \
  }
DEFINE_MULTIPLY(float)
DEFINE_MULTIPLY(double)

static void fill_row(const struct pd_rowsum_job *job, const struct pd_source *pair, uint64_t row) {
  int g = pair->column[0], h = pair->column[1];
  uint64_t a = row / pair->inner * job->stride[g], b = row % pair->inner * job->stride[h];
  if (job->type == POLYAD_F32)
    multiply_float(job->rank, (const float *)job->factor[g] + a, (const float *)job->factor[h] + b,
                   (float *)pair->rows + row * pair->stride);
  else
    multiply_double(job->rank, (const double *)job->factor[g] + a,
                    (const double *)job->factor[h] + b, (double *)pair->rows + row * pair->stride);
}

/* Whether the table has the products of these factors. If not, what it and the tables behind it
 * held is forgotten: tables lie one after the other, and theirs may begin elsewhere. */
static bool holds(const struct pd_rowsum_job *job, const struct pd_source *pair, int which,
                  struct pd_tables_made *made) {
  struct pd_table_made now = {.rows = pair->rows}, *before = &made->table[which];
  bool same = which < made->count && before->rows == now.rows;
  for (int k = 0; k < 2; ++k) {
    now.mode[k] = job->list->mode[pair->column[k]];
    now.version[k] = job->version[pair->column[k]];
    same = same && now.version[k] != 0 && before->version[k] == now.version[k] &&
           before->mode[k] == now.mode[k];
  }
  if (same) return true;
  *before = now;
  made->count = which + 1;
  return false;
}

void pd_sources_fill(const struct pd_rowsum_job *job, const struct pd_sources *sources, int threads,
                     struct pd_tables_made *made) {
  int which = 0;
  for (const struct pd_source *s = sources->source; s < sources->source + sources->count; ++s)
    if (s->columns == 2 && !holds(job, s, which++, made)) {
#pragma omp parallel for num_threads(threads) schedule(static)
      for (uint64_t row = 0; row < s->count; ++row)
        fill_row(job, s, row);
    }
}
