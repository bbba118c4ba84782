/* Choosing distinct indices of one mode for the children of one node. */
#ifndef PD_GENERATE_PICK_H
#define PD_GENERATE_PICK_H

#include "tensor/generate_law.h"

/** The indices of a mode that may be chosen: rank r, from 0 to law.dim - 1, stands for the index
 *  r * multiplier mod dim; low ranks are the popular ones. */
struct pd_pick_mode {
  uint64_t dim;
  uint64_t multiplier, inverse;
  int index_bits;
  struct pd_law law; /* of the ranks, which it does not scatter */
};

/** Ranks are drawn from stream `own`, but with the chance `share` from stream `shared`, at the same
 *  place: nodes with the same shared stream have children in common. */
struct pd_pick_source {
  uint64_t seed;
  uint64_t own, shared;
  double share;
};

/** The rank that stands for an index. */
static inline uint64_t pd_pick_rank(const struct pd_pick_mode *mode, uint64_t index) {
  return mode->multiplier == 1 ? index : index * mode->inverse % mode->dim;
}

/** Work space in words for choosing up to `most` indices. */
uint64_t pd_pick_words(const struct pd_pick_mode *mode, uint64_t most);

/** Chooses `count` indices, at most as many as there are ranks, into `list`, ascending. Ranks
 *  `forced` to forced + forced_count - 1 are among them (forced_count <= count). */
void pd_pick(const struct pd_pick_mode *mode, const struct pd_pick_source *source, uint64_t forced,
             uint64_t forced_count, uint64_t count, uint64_t *list, uint64_t *work);

#endif
