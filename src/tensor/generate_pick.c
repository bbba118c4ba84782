/* Where few of many ranks are wanted, ranks are drawn until enough are distinct. Where many are
 * wanted, each rank gets a random key, exponentially distributed with the rank's weight as its
 * rate, and the smallest keys win; both sample without replacement (P. S. Efraimidis, P. G.
 * Spirakis, Weighted random sampling with a reservoir, IPL 97, 2006). */
#include "tensor/generate_pick.h"
#include "core/random.h"
#include "tensor/generate_sort.h"
#include <math.h>

enum {
  KEYS_FROM = 4,    /* keys are used when more than one rank in so many is wanted */
  LAWFUL_ROUNDS = 4 /* after so many rounds of draws, ranks are drawn uniformly */
};

struct key {
  double value;
  uint64_t rank;
};

static bool uses_keys(const struct pd_pick_mode *mode, uint64_t count) {
  return count > mode->law.dim / KEYS_FROM;
}

uint64_t pd_pick_words(const struct pd_pick_mode *mode, uint64_t most) {
  uint64_t ranks = mode->law.dim, keys = uses_keys(mode, most) ? 2 * ranks : 0;
  return keys > most ? keys : most;
}

static uint64_t generate_pick_index_of(const struct pd_pick_mode *mode, uint64_t rank) {
  return mode->multiplier == 1 ? rank : rank * mode->multiplier % mode->dim;
}

/* The random number at a place: the stream's own, or the one in common. */
static uint64_t draw_bits(const struct pd_pick_source *source, uint64_t place) {
  bool in_common = source->share > 0 &&
                   pd_random_uniform(source->seed, source->own, 2 * place + 1) < source->share;
  return in_common ? pd_random_u64(source->seed, source->shared, place)
                   : pd_random_u64(source->seed, source->own, 2 * place);
}

static uint64_t keep_distinct(const struct pd_pick_mode *mode, uint64_t *list, uint64_t *spare,
                              uint64_t count) {
  pd_sort_items(list, spare, count, 1, mode->index_bits);
  uint64_t kept = 0;
  for (uint64_t p = 0; p < count; ++p)
    if (p == 0 || list[p] != list[kept - 1]) list[kept++] = list[p];
  return kept;
}

static void pick_by_draws(const struct pd_pick_mode *mode, const struct pd_pick_source *source,
                          uint64_t forced, uint64_t forced_count, uint64_t count, uint64_t *list,
                          uint64_t *work) {
  const struct pd_law uniform = {.dim = mode->law.dim};
  struct pd_pick_source from = *source;
  uint64_t have = 0, place = 0;
  for (; have < forced_count; ++have)
    list[have] = generate_pick_index_of(mode, forced + have);
  for (int round = 0;; ++round) {
    const struct pd_law *law = round < LAWFUL_ROUNDS ? &mode->law : &uniform;
    for (; have < count; ++have)
      list[have] = generate_pick_index_of(mode, pd_law_draw(law, draw_bits(&from, place++)));
    if (count > 1) have = keep_distinct(mode, list, work, count);
    if (have == count) return;
    from.share = 0; /* what repeated in the common stream is drawn anew */
  }
}

/* Brings the `count` smallest keys to the front (C. A. R. Hoare's selection). */
static void select_smallest(struct key *keys, uint64_t size, uint64_t count) {
  uint64_t low = 0, high = size;
  while (high - low > 1 && count > low && count < high) {
    double pivot = keys[low + (high - low) / 2].value;
    uint64_t i = low, j = high - 1;
    for (;;) {
      while (keys[i].value < pivot)
        ++i;
      while (keys[j].value > pivot)
        --j;
      if (i >= j) break;
      struct key swapped = keys[i];
      keys[i++] = keys[j];
      keys[j--] = swapped;
    }
    if (count <= i)
      high = i;
    else
      low = i;
  }
}

static void pick_by_keys(const struct pd_pick_mode *mode, const struct pd_pick_source *source,
                         uint64_t forced, uint64_t forced_count, uint64_t count, uint64_t *list,
                         uint64_t *work) {
  struct key *keys = (struct key *)work;
  uint64_t ranks = mode->law.dim;
  for (uint64_t r = 0; r < ranks; ++r) {
    double u = (double)(draw_bits(source, r) >> 11) * 0x1p-53;
    bool must = r >= forced && r - forced < forced_count;
    keys[r] = (struct key){must ? -1 : -log1p(-u) / pd_law_weight(&mode->law, r), r};
  }
  select_smallest(keys, ranks, count);
  for (uint64_t k = 0; k < count; ++k)
    list[k] = generate_pick_index_of(mode, keys[k].rank);
  pd_sort_items(list, work, count, 1, mode->index_bits);
}

void pd_pick(const struct pd_pick_mode *mode, const struct pd_pick_source *source, uint64_t forced,
             uint64_t forced_count, uint64_t count, uint64_t *list, uint64_t *work) {
  if (uses_keys(mode, count) && count > 1)
    pick_by_keys(mode, source, forced, forced_count, count, list, work);
  else
    pick_by_draws(mode, source, forced, forced_count, count, list, work);
}
