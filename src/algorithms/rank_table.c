/* What truncated HOSVDs keep, for all ranks at once. Factors are orthonormal and contain each
 * other, so that a truncated HOSVD's share is the sum of squares of the core's first cells: a table
 * of prefix sums has the shares of all of them. */
#include "algorithms/rank_choice.h"

static uint64_t rank_table_cells_of(const struct pd_core *core) {
  uint64_t cells = 1;
  for (int n = 0; n < core->order; ++n)
    cells *= core->dims[n];
  return cells;
}

void pd_rank_table(struct pd_core *core) {
  uint64_t cells = rank_table_cells_of(core), inner = cells;
  for (uint64_t k = 0; k < cells; ++k)
    core->data[k] *= core->data[k];
  for (int n = 0; n < core->order; ++n) {
    inner /= core->dims[n];
    for (uint64_t k = inner; k < cells; ++k)
      if (k / inner % core->dims[n] > 0) core->data[k] += core->data[k - inner];
  }
}

/* The ranks after these, the last mode first; false at the end. */
static bool rank_table_advance(const struct pd_core *table, uint64_t *ranks) {
  for (int n = table->order - 1; n >= 0; --n) {
    if (ranks[n] < table->dims[n]) {
      ++ranks[n];
      return true;
    }
    ranks[n] = 1;
  }
  return false;
}

static uint64_t rank_table_size_of(const uint64_t *ranks, int order) {
  uint64_t size = 1;
  for (int n = 0; n < order; ++n)
    size *= ranks[n];
  return size;
}

static void rank_table_take(const uint64_t *ranks, int order, uint64_t *to) {
  for (int n = 0; n < order; ++n)
    to[n] = ranks[n];
}

bool pd_rank_smallest(const struct pd_core *table, const struct pd_rank_limits *limits,
                      double target, uint64_t *ranks) {
  uint64_t at[POLYAD_MAX_ORDER], best = UINT64_MAX, cell = 0;
  double most = 0;
  for (int n = 0; n < table->order; ++n)
    at[n] = 1;
  do {
    double share = table->data[cell++];
    if (share < target) continue;
    uint64_t size = rank_table_size_of(at, table->order);
    if (size > best || (size == best && share <= most) || !limits->fits(limits->user, at)) continue;
    best = size;
    most = share;
    rank_table_take(at, table->order, ranks);
  } while (rank_table_advance(table, at));
  return best < UINT64_MAX;
}

bool pd_rank_largest(const struct pd_core *table, const struct pd_rank_limits *limits,
                     uint64_t *ranks, double *share) {
  uint64_t at[POLYAD_MAX_ORDER], cell = 0;
  *share = -1;
  for (int n = 0; n < table->order; ++n)
    at[n] = 1;
  do {
    double here = table->data[cell++];
    if (here <= *share || !limits->fits(limits->user, at)) continue;
    *share = here;
    rank_table_take(at, table->order, ranks);
  } while (rank_table_advance(table, at));
  return *share >= 0;
}
