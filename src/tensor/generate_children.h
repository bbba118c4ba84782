/* How many children the nodes of a tree have: random numbers of a given mean, spread and largest
 * value, and their exact division of a total. */
#ifndef PD_GENERATE_CHILDREN_H
#define PD_GENERATE_CHILDREN_H

#include <stdint.h>

/** A law of children beyond the first: a lognormal variable, cut at `most` and rounded up or down
 *  at random so that its mean stays. */
enum { PD_CHILDREN_FEW = 64 };
struct pd_children {
  double mu, sigma; /* of its logarithm */
  double most;
  double at_most[PD_CHILDREN_FEW]; /* chance of so many or fewer, where most is below FEW */
};

/** The law whose numbers of children (1 or more) have this mean, coefficient of variation and
 *  largest value. A spread that numbers of this mean cannot have becomes the nearest that they
 *  can. */
struct pd_children pd_children_law(double mean, double cv, uint64_t most);

/** Children beyond the first of the node that owns this place. */
uint64_t pd_children_draw(const struct pd_children *law, uint64_t seed, uint64_t stream,
                          uint64_t counter);

/** Changes the `count` numbers `extra` in proportion so that they sum to `total`. Number i stays at
 *  or below each * own[i] (own NULL: each); these limits must sum to at least `total`. */
void pd_children_divide(uint64_t *extra, const uint64_t *own, uint64_t count, uint64_t each,
                        uint64_t total);

#endif
