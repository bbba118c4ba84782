/* The law by which indices of one mode are drawn: a bounded power law over ranks 1 to dim, whose
 * ranks are scattered over the indices. */
#ifndef PD_GENERATE_LAW_H
#define PD_GENERATE_LAW_H

#include "core/core.h"

#define PD_LAW_BLOCK 64 /* indices whose mass is kept as one number */

struct pd_law {
  uint64_t dim;
  double exponent;
  double span, power;           /* of the inverse distribution function */
  uint64_t multiplier, inverse; /* index = rank * multiplier mod dim; 1: not scattered */
  double *mass_before;          /* of each block; NULL: mass has a closed form */
};

/** Random numbers for one place of the plan. */
struct pd_draws {
  uint64_t seed, stream, counter;
};
double pd_draw(struct pd_draws *draws);

/** Prepares a law for drawing. Modes longer than 2^26 are not scattered: their low indices are
 *  the heavy ones. */
void pd_law_init(uint64_t dim, double exponent, struct pd_law *law);
/** Prepares it for pd_law_mass(), too. */
polyad_status pd_law_tabulate(polyad_context *context, struct pd_law *law);
void pd_law_destroy(polyad_context *context, struct pd_law *law);

/** Relative probability of indices lo to hi - 1; with a table both are multiples of PD_LAW_BLOCK
 *  or the mode's end. */
double pd_law_mass(const struct pd_law *law, uint64_t lo, uint64_t hi);
/** Relative probability of one index. */
double pd_law_weight(const struct pd_law *law, uint64_t index);
/** Draws an index; `bits` are 64 random ones. */
uint64_t pd_law_draw(const struct pd_law *law, uint64_t bits);

/** Number of successes in n trials of probability p. */
uint64_t pd_draw_binomial(struct pd_draws *draws, uint64_t n, double p);

#endif
