#include "formats/modecopy/modecopy_pairs.h"

enum { LEAST_REUSE = 8 }; /* nonzeros per row of a table that make it worth its making */
static const uint64_t MOST = 8 << 20;  /* bytes of a table: it shares the second level of cache */
static const double LEAST_GAIN = 1.1;  /* of the loads of a pass: a model of caches errs */
static const double START = 250e3;     /* of a kernel, in rows that are near */
static const double RUN_BYTES = 57.25; /* a run's instructions take as long as so many near bytes */

uint64_t pd_modecopy_table_rows(uint64_t nnz, uint64_t row_bytes, uint64_t high, uint64_t low) {
  uint64_t rows = pd_mul_saturated(high, UINT64_C(1) << pd_index_bits(low));
  if (rows > nnz / LEAST_REUSE || pd_mul_saturated(rows, row_bytes) > MOST) return 0;
  return rows;
}

static uint64_t row_bytes_of(uint64_t rank, polyad_type type) {
  return pd_mul_saturated(pd_wide_stride(type, rank), pd_type_bytes(type));
}

/* For a row of the table two are read and one is written. */
double pd_modecopy_gather_cost(const struct pd_modecopy_gather *gather) {
  double making = gather->table > 0 ? START + 3 * (double)gather->table : 0;
  double run = RUN_BYTES / gather->row_bytes, input = 0;
  for (int k = 0; k < gather->inputs; ++k) {
    input = pd_ordered_gather_cost(gather->rows[k] * gather->row_bytes);
    if (k + 1 < gather->inputs) run += input;
  }
  return making + gather->nnz * input + gather->runs * run;
}

static double modecopy_pairs_cost_of(const struct pd_modecopy *storage,
                                     const struct pd_modecopy_copy *copy,
                                     const struct pd_modecopy_pair *pair, uint64_t row_bytes) {
  struct pd_modecopy_input input[POLYAD_MAX_ORDER];
  struct pd_modecopy_gather gather = {.nnz = (double)storage->nnz,
                                      .row_bytes = (double)row_bytes,
                                      .inputs = pd_modecopy_inputs(copy, pair, input),
                                      .table = pair->rows};
  for (int k = 0; k < gather.inputs; ++k)
    gather.rows[k] = (double)(input[k].mode < 0 ? pair->rows : storage->dims[input[k].mode]);
  if (gather.inputs > 1) gather.runs = (double)copy->order.runs; /* of one input there are none */
  return pd_modecopy_gather_cost(&gather);
}

struct pd_modecopy_pair pd_modecopy_pair_of(const struct pd_modecopy *storage, int mode,
                                            uint64_t rank) {
  const struct pd_modecopy_copy *copy = &storage->copy[mode];
  struct pd_modecopy_pair best = {.rows = 0};
  if (storage->variant != PD_MODECOPY_SORTED || copy->inputs < 2) return best;
  uint64_t row_bytes = row_bytes_of(rank, storage->type);
  double least = modecopy_pairs_cost_of(storage, copy, &best, row_bytes) / LEAST_GAIN;
  for (int high = 0; high < copy->inputs; ++high)
    for (int low = 0; low < copy->inputs; ++low) {
      const struct pd_modecopy_field *above = &copy->field[high], *below = &copy->field[low];
      int bits = pd_index_bits(storage->dims[below->mode]);
      if (high == low || above->plane != below->plane || above->shift != below->shift + bits)
        continue;
      struct pd_modecopy_pair pair = {high, low, bits,
                                      pd_modecopy_table_rows(storage->nnz, row_bytes,
                                                             storage->dims[above->mode],
                                                             storage->dims[below->mode])};
      if (pair.rows == 0) continue;
      double now = modecopy_pairs_cost_of(storage, copy, &pair, row_bytes);
      if (now >= least) continue;
      least = now;
      best = pair;
    }
  return best;
}

/* Where the innermost input is one of the pair, the table is the innermost. Runs then begin where
 * the other of the pair changes, too, which loads rows once more and changes no sum. */
int pd_modecopy_inputs(const struct pd_modecopy_copy *copy, const struct pd_modecopy_pair *pair,
                       struct pd_modecopy_input *input) {
  int count = 0, last = copy->inputs - 1;
  bool pairs = pair->rows > 0, innermost = pair->high == last || pair->low == last;
  int first = pair->high < pair->low ? pair->high : pair->low;
  const struct pd_modecopy_field *low = &copy->field[pair->low];
  struct pd_modecopy_input table = {-1, low->plane, low->shift, low->mask};
  if (pairs) table.mask |= copy->field[pair->high].mask << pair->bits;
  for (int k = 0; k < copy->inputs; ++k) {
    const struct pd_modecopy_field *field = &copy->field[k];
    if (!pairs || (k != pair->high && k != pair->low))
      input[count++] =
          (struct pd_modecopy_input){field->mode, field->plane, field->shift, field->mask};
    else if (innermost ? k == last : k == first)
      input[count++] = table;
  }
  return count;
}

int pd_modecopy_tables(const struct pd_modecopy *storage, uint64_t rank, uint64_t *rows) {
  int count = 0;
  *rows = 0;
  for (int mode = 0; mode < storage->order; ++mode) {
    if (!pd_modecopy_has(storage, mode)) continue;
    struct pd_modecopy_pair pair = pd_modecopy_pair_of(storage, mode, rank);
    count += pair.rows > 0;
    if (pair.rows > *rows) *rows = pair.rows;
  }
  return count;
}

uint64_t pd_modecopy_table_bytes(const struct pd_modecopy *storage, uint64_t rank) {
  uint64_t rows;
  (void)pd_modecopy_tables(storage, rank, &rows);
  return rows * row_bytes_of(rank, storage->type);
}

uint64_t pd_modecopy_table_bytes_at_most(const struct pd_traits *traits, uint64_t rank,
                                         polyad_type type) {
  uint64_t most = 0, row_bytes = row_bytes_of(rank, type);
  for (int high = 0; high < traits->order && traits->order > 2; ++high)
    for (int low = 0; low < traits->order; ++low) {
      uint64_t rows = high == low ? 0
                                  : pd_modecopy_table_rows(traits->nnz, row_bytes,
                                                           traits->dims[high], traits->dims[low]);
      if (rows > most) most = rows;
    }
  return most * row_bytes;
}
