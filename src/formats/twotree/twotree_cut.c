#include "formats/twotree/twotree_cut.h"

/* A partial row that is written: its cache lines leave for the memory, or stay nearby. */
static const double LINE_WRITTEN = 1.5;

uint64_t pd_twotree_tuples(const struct pd_traits *traits, const struct pd_twotree_modes *modes) {
  uint64_t bound = 1, counted = 0;
  int last = modes->others > 0 ? modes->other[0] : 0;
  if (modes->count == 1) return traits->nonempty[modes->mode[0]];
  for (int k = 0; k < modes->count; ++k)
    bound = pd_mul_saturated(bound, traits->nonempty[modes->mode[k]]);
  counted =
      modes->others == 1 ? traits->fibers[last] : traits->tuples[modes->mode[0]][modes->count];
  if (bound > traits->nnz) bound = traits->nnz;
  return counted > 0 && counted < bound ? counted : bound;
}

/* A tensor whose first mode is the number of a side's tuple, and whose others are the side's other
 * modes: `pass` is the list of its first mode. */
static void pass_traits(const struct pd_traits *traits, const struct pd_twotree_modes *modes,
                        struct pd_traits *pass) {
  *pass = (struct pd_traits){.order = 1 + modes->others, .nnz = traits->nnz};
  pass->dims[0] = pass->nonempty[0] = pd_twotree_tuples(traits, modes);
  for (int k = 0; k < modes->others; ++k) {
    pass->dims[1 + k] = traits->dims[modes->other[k]];
    pass->nonempty[1 + k] = traits->nonempty[modes->other[k]];
    pass->fibers[1 + k] = traits->fibers[modes->other[k]];
  }
}

/* A tensor of the tuples: their numbers, then the side's modes. */
static void tuple_traits(const struct pd_traits *traits, const struct pd_twotree_modes *modes,
                         struct pd_traits *tuples) {
  uint64_t count = pd_twotree_tuples(traits, modes);
  *tuples = (struct pd_traits){.order = 1 + modes->count, .nnz = count};
  for (int k = 0; k <= modes->count; ++k) {
    tuples->dims[k] = k == 0 ? count : traits->dims[modes->mode[k - 1]];
    tuples->nonempty[k] = k == 0 ? count : traits->nonempty[modes->mode[k - 1]];
    tuples->fibers[k] = count;
  }
}

void pd_twotree_pass_tiling(const struct pd_traits *traits, const struct pd_request *request,
                            const struct pd_twotree_modes *modes, struct pd_tiling *tiling) {
  struct pd_traits pass;
  if (modes->count == 1) {
    pd_tiling_choose(traits, request, modes->mode[0], true, tiling);
    return;
  }
  pass_traits(traits, modes, &pass);
  pd_tiling_choose(&pass, request, 0, true, tiling);
}

void pd_twotree_list_tiling(const struct pd_traits *traits, const struct pd_twotree_modes *modes,
                            int which, struct pd_tiling *tiling) {
  *tiling = (struct pd_tiling){.runs = traits->nonempty[modes->mode[which]]};
  for (int k = 0; k <= modes->count; ++k) {
    if (k == which + 1) continue;
    tiling->shift[tiling->columns] = 64;
    tiling->mode[tiling->columns++] = k;
  }
}

static double side_cost(const struct pd_traits *traits, const struct pd_request *request,
                        const struct pd_twotree_modes *modes) {
  struct pd_tiling tiling;
  struct pd_traits tuples;
  double row = (double)request->rank * (double)pd_type_bytes(request->precision), cost;
  pd_twotree_pass_tiling(traits, request, modes, &tiling);
  cost = tiling.nanoseconds;
  if (modes->count == 1) return cost;
  tuple_traits(traits, modes, &tuples);
  cost += (double)tuples.nnz * (row < 64 ? 1 : row / 64) * LINE_WRITTEN;
  for (int k = 0; k < modes->count; ++k) {
    pd_tiling_choose(&tuples, request, 1 + k, false, &tiling);
    cost += tiling.nanoseconds;
  }
  return cost;
}

/* Costs of all sides that there can be: cost[first][count]. */
struct costs {
  double of[PD_TWOTREE_MAX_ORDER][PD_TWOTREE_MAX_ORDER];
};

/* The cut of the cyclic order that begins with a side at mode `start`: bit k of `ends` tells
 * whether a side ends after mode start + k. */
static struct pd_twotree_cut cut_at(const struct costs *costs, int order, int start,
                                    unsigned ends) {
  struct pd_twotree_cut cut = {0};
  for (int k = 0, first = 0; k < order; ++k) {
    if ((ends >> k & 1) == 0 && k + 1 < order) continue;
    cut.first[cut.sides] = (start + first) % order;
    cut.count[cut.sides] = k + 1 - first;
    cut.nanoseconds += costs->of[cut.first[cut.sides]][cut.count[cut.sides]];
    ++cut.sides;
    first = k + 1;
  }
  return cut;
}

void pd_twotree_cut_choose(const struct pd_traits *traits, const struct pd_request *request,
                           struct pd_twotree_cut *cut) {
  struct costs costs = {0};
  int order = traits->order;
  double plain = 0;
  for (int first = 0; first < order; ++first)
    for (int count = 1; count < order; ++count) {
      struct pd_twotree_modes modes = pd_twotree_modes_from(order, first, count);
      costs.of[first][count] = side_cost(traits, request, &modes);
    }
  for (int n = 0; n < order; ++n)
    plain += costs.of[n][1];
  *cut = (struct pd_twotree_cut){0};
  for (int start = 0; start < order; ++start)
    for (unsigned ends = 0; ends < 1u << (order - 1); ++ends) {
      if (ends == 0 || (ends & 1) != 0) continue; /* one side of all modes; one mode first */
      struct pd_twotree_cut next = cut_at(&costs, order, start, ends);
      if (cut->sides == 0 || next.nanoseconds < cut->nanoseconds) *cut = next;
    }
  cut->plain = plain;
}
