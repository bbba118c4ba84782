#include "formats/twotree/twotree_cut.h"

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
      costs.of[first][count] = pd_twotree_side_cost(traits, request, &modes);
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
