/* Making the nonzeros of a leaf: the tree below its slices, in order. */
#include "core/numbers.h"
#include "core/random.h"
#include "tensor/generate_fibers.h"
#include "tensor/generate_sort.h"
#include <string.h>

struct filler {
  const struct pd_fiber_plan *plan;
  struct pd_sink *sink;
  uint64_t *children[PD_FIBER_ORDER]; /* of the slice's nodes one level above, beyond the first */
  uint64_t *list[PD_FIBER_ORDER];     /* chosen indices of the current node */
  uint64_t *work;
  bool varied[PD_FIBER_ORDER];     /* these numbers are not all 0 */
  uint64_t parent[PD_FIBER_ORDER]; /* next node of the slice one level above */
  uint64_t place[PD_FIBER_ORDER];  /* of the next tuple among all of its level */
  uint64_t prefix[PD_FIBER_ORDER];
};

static uint64_t work_words(const struct pd_fiber_plan *plan) {
  uint64_t words = 0;
  for (int n = 1; n < plan->order; ++n) {
    uint64_t most = plan->mode[n].most_children;
    uint64_t mode = pd_pick_words(&plan->mode[n].pick, most);
    words = mode > words ? mode : words;
    words = 3 * most > words ? 3 * most : words; /* to give popular indices their children */
  }
  return words;
}

uint64_t pd_fiber_plan_scratch_bytes(const struct pd_fiber_plan *plan) {
  uint64_t words = work_words(plan);
  for (int n = 1; n < plan->order; ++n)
    words += plan->mode[n].most_parents + plan->mode[n].most_children;
  return words * sizeof(uint64_t);
}

/* Ranks 0 to slices - 1 are forced on the level's tuples in turn, evenly: so no slice is empty. */
static uint64_t forced_before(const struct pd_fiber_plan *plan, int n, uint64_t place) {
  return place * plan->counts.slices[n] / plan->counts.tuples[n];
}

/* Chooses the children of the node `prefix` of n indices. */
static void generate_fibers_fill_choose(struct filler *filler, int n, uint64_t count) {
  const struct pd_fiber_plan *plan = filler->plan;
  const struct pd_fiber_mode *mode = &plan->mode[n];
  uint64_t place = filler->place[n], shared = pd_mix64((uint64_t)n + UINT64_C(0xa54ff53a5f1d36f1));
  for (int m = 0; m < n; ++m)
    if (mode->common >> m & 1)
      shared = pd_mix64(shared + filler->prefix[m] * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)m);
  struct pd_pick_source source = {.seed = plan->seed,
                                  .own = pd_mix64(place * PD_FIBER_ORDER + (uint64_t)n),
                                  .shared = shared,
                                  .share = mode->share};
  uint64_t forced = forced_before(plan, n, place);
  uint64_t forced_count = forced_before(plan, n, place + count) - forced;
  pd_pick(&mode->pick, &source, forced, forced_count, count, filler->list[n], filler->work);
  filler->place[n] = place + count;
}

static void generate_fibers_fill_put_index(struct pd_sink *sink, const struct pd_fiber_plan *plan,
                                           int n, uint64_t at, uint64_t index) {
  if (pd_index_bytes(plan->dims[n]) == 4)
    ((uint32_t *)sink->index[n])[at] = (uint32_t)index;
  else
    ((uint64_t *)sink->index[n])[at] = index;
}

/* Writes a fiber of the last mode. */
static void put_fiber(struct filler *filler, uint64_t count) {
  const struct pd_fiber_plan *plan = filler->plan;
  struct pd_sink *sink = filler->sink;
  int last = plan->order - 1;
  uint64_t position = filler->place[last] - count;
  for (int n = 0; n < last; ++n)
    for (uint64_t k = 0; k < count; ++k)
      generate_fibers_fill_put_index(sink, plan, n, sink->at + k, filler->prefix[n]);
  for (uint64_t k = 0; k < count; ++k) {
    generate_fibers_fill_put_index(sink, plan, last, sink->at + k, filler->list[last][k]);
    double value = pd_generated_value(plan->seed, position + k);
    pd_store(sink->type, sink->values, sink->at + k, value);
  }
  sink->at += count;
}

/* The chosen indices are nodes whose numbers of children stand next in line: the popular ones get
 * the large numbers, as popular places, words and names do in real data. */
static void favour_popular(struct filler *filler, int n, uint64_t count) {
  const struct pd_pick_mode *pick = &filler->plan->mode[n].pick;
  uint64_t *children = filler->children[n + 1] + filler->parent[n + 1];
  uint64_t *place = filler->work, *number = place + count, *spare = number + count;
  for (uint64_t k = 0; k < count; ++k) {
    place[k] = pd_pick_rank(pick, filler->list[n][k]) << 32 | k;
    number[k] = children[k];
  }
  pd_sort_items(place, spare, count, 1, 64);
  pd_sort_items(number, spare, count, 1, 64);
  for (uint64_t k = 0; k < count; ++k)
    children[place[k] & UINT32_MAX] = number[count - 1 - k];
}

static void fill_below(struct filler *filler, int n) {
  uint64_t count = 1 + filler->children[n][filler->parent[n]++];
  generate_fibers_fill_choose(filler, n, count);
  if (n + 1 == filler->plan->order || n + 1 == PD_FIBER_ORDER) {
    put_fiber(filler, count);
    return;
  }
  if (count > 1 && filler->varied[n + 1]) favour_popular(filler, n, count);
  for (uint64_t k = 0; k < count; ++k) {
    filler->prefix[n] = filler->list[n][k];
    fill_below(filler, n + 1);
  }
}

/* Draws how many children each node of the slice has, as the plan did, and brings their sums to
 * the plan's. */
static void size_nodes(struct filler *filler, uint64_t slice) {
  const struct pd_fiber_plan *plan = filler->plan;
  uint64_t own = 1;
  for (int n = 1; n < plan->order; ++n) {
    uint64_t tuples = plan->first[n][slice + 1] - plan->first[n][slice];
    uint64_t *children = filler->children[n], stream = pd_fiber_stream(n, slice);
    if (tuples == own)
      memset(children, 0, own * sizeof *children);
    else {
      for (uint64_t j = 0; j < own; ++j)
        children[j] = pd_children_draw(&plan->mode[n].children, plan->seed, stream, j);
      pd_children_divide(children, NULL, own, plan->mode[n].extra_room, tuples - own);
    }
    filler->varied[n] = tuples != own;
    filler->parent[n] = 0;
    filler->place[n] = plan->first[n][slice];
    own = tuples;
  }
}

void pd_fiber_plan_fill(const struct pd_fiber_plan *plan, uint64_t leaf, void *scratch,
                        struct pd_sink *sink) {
  struct filler filler = {.plan = plan, .sink = sink, .work = scratch};
  uint64_t *next = filler.work + work_words(plan), slices = plan->counts.tuples[0];
  for (int n = 1; n < plan->order; ++n) {
    filler.children[n] = next;
    filler.list[n] = next + plan->mode[n].most_parents;
    next = filler.list[n] + plan->mode[n].most_children;
  }
  for (uint64_t i = plan->leaf_slice[leaf]; i < plan->leaf_slice[leaf + 1]; ++i) {
    filler.prefix[0] = i * plan->dims[0] / slices; /* slices spread evenly */
    size_nodes(&filler, i);
    fill_below(&filler, 1);
  }
}
