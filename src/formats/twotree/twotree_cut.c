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

void pd_twotree_cut_choose(const struct pd_traits *traits, const struct pd_request *request,
                           struct pd_twotree_cut *cut) {
  struct pd_tiling tiling;
  *cut = (struct pd_twotree_cut){0};
  for (int n = 0; n < traits->order; ++n) {
    pd_tiling_choose(traits, request, n, true, &tiling);
    cut->plain += tiling.nanoseconds;
  }
  for (int count = (traits->order + 1) / 2; count < traits->order; ++count)
    for (int first = 0; first < traits->order; ++first) {
      struct pd_twotree_cut next = {.first = first, .count = count};
      for (int side = 0; side < PD_TWOTREE_SIDES; ++side) {
        struct pd_twotree_modes modes = pd_twotree_modes_of(traits->order, &next, side);
        next.nanoseconds += side_cost(traits, request, &modes);
      }
      if (cut->count > 0 && next.nanoseconds >= cut->nanoseconds) continue;
      next.plain = cut->plain;
      *cut = next;
    }
}
