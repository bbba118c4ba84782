/* Making the nonzeros of a leaf. */
#include "core/bits.h"
#include "core/numbers.h"
#include "core/random.h"
#include "tensor/generate_plan.h"
#include "tensor/generate_sort.h"
#include <assert.h>
#include <string.h>

enum {
  LAWFUL_ROUNDS = 4
}; /* after so many draws by the law, the cells still wanted are drawn uniformly */

/* Coordinates below a slice, packed into words: `first` to the last mode, as many modes to a word
 * as it holds. Items of several words compare word by word. */
struct packing {
  int first, order;
  int words;
  int word[POLYAD_MAX_ORDER], shift[POLYAD_MAX_ORDER], bits[POLYAD_MAX_ORDER];
  int top_bits; /* of the only word, when there is one */
};

struct filler {
  struct pd_visitor visitor;
  const struct pd_plan *plan;
  struct pd_sink *sink;
  uint64_t position; /* of the next nonzero in the tensor */
  uint64_t prefix[POLYAD_MAX_ORDER];
  int mode;
  uint64_t *items, *spare;
};

double pd_generated_value(uint64_t seed, uint64_t p) {
  return (double)(1 + pd_random_u64(seed, 1, p) % 9);
}

static struct packing pack_modes(const struct pd_plan *plan, int first) {
  struct packing packing = {.first = first, .order = plan->order};
  int used = 65;
  for (int n = plan->order - 1; n >= first; --n) { /* words are counted from the last */
    int bits = pd_index_bits(plan->dims[n]);
    if (used + bits > 64) {
      ++packing.words;
      used = 0;
    }
    packing.word[n] = packing.words;
    packing.shift[n] = bits == 0 ? 0 : used;
    packing.bits[n] = bits;
    used += bits;
  }
  for (int n = first; n < plan->order; ++n)
    packing.word[n] = packing.words - packing.word[n];
  packing.top_bits = used;
  return packing;
}

static uint64_t sort_distinct(const struct packing *packing, uint64_t *items, uint64_t *spare,
                              uint64_t count) {
  uint64_t size = (uint64_t)packing->words, kept = 0;
  pd_sort_items(items, spare, count, packing->words, packing->top_bits);
  for (uint64_t p = 0; p < count; ++p) {
    if (p > 0 && !pd_item_before(items + (kept - 1) * size, items + p * size, packing->words))
      continue;
    if (kept != p) memcpy(items + kept * size, items + p * size, size * sizeof *items);
    ++kept;
  }
  return kept;
}

/* ---- slices ------------------------------------------------------------------------------------
 */

static void generate_fill_put(struct filler *filler, int modes, const uint64_t *coordinate) {
  struct pd_sink *sink = filler->sink;
  const struct pd_plan *plan = filler->plan;
  for (int n = 0; n < plan->order; ++n) {
    uint64_t index = n < modes ? filler->prefix[n] : coordinate[n];
    if (pd_index_bytes(plan->dims[n]) == 4)
      ((uint32_t *)sink->index[n])[sink->at] = (uint32_t)index;
    else
      ((uint64_t *)sink->index[n])[sink->at] = index;
  }
  double value = pd_generated_value(plan->seed, filler->position++);
  pd_store(sink->type, sink->values, sink->at, value);
  ++sink->at;
}

/* Draws items [from, to): each its own coordinate, or with the chance of a cluster the last mode
 * alone, along the fiber of the item before. */
static void draw_items(struct filler *filler, const struct packing *packing, bool lawful,
                       struct pd_draws *draws, uint64_t from, uint64_t to) {
  const struct pd_plan *plan = filler->plan;
  uint64_t coordinate[POLYAD_MAX_ORDER];
  int last = plan->order - 1;
  for (uint64_t p = from; p < to; ++p) {
    uint64_t *item = filler->items + p * (uint64_t)packing->words;
    bool follow = lawful && plan->cluster > 0 && p > from && packing->first < last &&
                  pd_draw(draws) < plan->cluster;
    memset(item, 0, (size_t)packing->words * sizeof *item);
    for (int n = packing->first; n <= last; ++n) {
      uint64_t bits =
          follow && n < last ? 0 : pd_random_u64(draws->seed, draws->stream, draws->counter++);
      struct pd_law uniform = {.dim = plan->dims[n]};
      if (!follow || n == last)
        coordinate[n] = pd_law_draw(lawful ? &plan->law[n] : &uniform, bits);
      item[packing->word[n]] |= coordinate[n] << packing->shift[n];
    }
  }
}

/* Draws `nnz` distinct coordinates below the prefix, of which there are at least PD_DENSE_SHARE
 * times as many. */
static void sample_slice(struct filler *filler, uint64_t nnz) {
  struct packing packing = pack_modes(filler->plan, filler->mode);
  struct pd_draws draws = {filler->plan->seed, ~pd_plan_stream(filler->prefix, filler->mode), 0};
  uint64_t have = 0;
  for (int round = 0; have < nnz; ++round) {
    draw_items(filler, &packing, round < LAWFUL_ROUNDS, &draws, have, nnz);
    have = sort_distinct(&packing, filler->items, filler->spare, nnz);
  }
  for (uint64_t p = 0; p < nnz; ++p) {
    const uint64_t *item = filler->items + p * (uint64_t)packing.words;
    uint64_t coordinate[POLYAD_MAX_ORDER];
    for (int n = packing.first; n < packing.order; ++n)
      coordinate[n] = item[packing.word[n]] >> packing.shift[n] & pd_low_mask(packing.bits[n]);
    generate_fill_put(filler, filler->mode, coordinate);
  }
}

static polyad_status fill_index(struct pd_visitor *visitor, uint64_t index, uint64_t nnz) {
  struct filler *filler = (struct filler *)visitor;
  const struct pd_plan *plan = filler->plan;
  uint64_t capacity = plan->capacity[filler->mode];
  filler->prefix[filler->mode++] = index;
  if (filler->mode == plan->order) {
    assert(nnz == 1);
    generate_fill_put(filler, filler->mode, NULL);
  } else if (nnz > capacity / PD_DENSE_SHARE) {
    uint64_t stream = pd_plan_stream(filler->prefix, filler->mode);
    (void)pd_plan_divide(plan, stream, filler->mode, 0, plan->dims[filler->mode], nnz, visitor);
  } else {
    sample_slice(filler, nnz);
  }
  --filler->mode;
  return POLYAD_OK;
}

uint64_t pd_plan_scratch_bytes(const struct pd_plan *plan) {
  return 2 * plan->leaf_nnz * (uint64_t)plan->order * sizeof(uint64_t);
}

void pd_plan_fill(const struct pd_plan *plan, const struct pd_leaf *leaf, void *scratch,
                  struct pd_sink *sink) {
  uint64_t *items = scratch;
  struct filler filler = {.visitor = {.visit = fill_index},
                          .plan = plan,
                          .sink = sink,
                          .position = leaf->begin,
                          .mode = leaf->mode,
                          .items = items,
                          .spare = items + plan->leaf_nnz * (uint64_t)plan->order};
  memcpy(filler.prefix, leaf->prefix, sizeof filler.prefix);
  (void)pd_plan_divide(plan, pd_plan_stream(leaf->prefix, leaf->mode), leaf->mode, leaf->lo,
                       leaf->hi, leaf->nnz, &filler.visitor);
}
