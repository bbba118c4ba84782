/* Models in long double, as the invariant of every decomposition sees them; shares no source with
 * the library. */
#ifndef PD_TEST_INVARIANT_MODEL_H
#define PD_TEST_INVARIANT_MODEL_H

#include <polyad/polyad.h>

/** One of the two is not NULL. Entries are those of the model times 2^-exponent. */
struct invariant_model {
  polyad_ktensor *kruskal;
  polyad_ttensor *tucker;
  int exponent;
  long double *scratch; /* Tucker: twice the core */
};

struct invariant_model invariant_kruskal(polyad_ktensor *model, int exponent);
struct invariant_model invariant_tucker(polyad_ttensor *model, int exponent);
void invariant_clear(struct invariant_model *model);

/** Products that one entry takes, to tell whether a check is worth its time. */
uint64_t invariant_work(const struct invariant_model *model);
long double invariant_entry(const struct invariant_model *model, const uint64_t *coordinate);
long double invariant_norm_squared(const struct invariant_model *model);
/** A bound of the model's norm in which nothing cancels. */
long double invariant_magnitude(const struct invariant_model *model);
/** The sum of all entries. */
long double invariant_mass(const struct invariant_model *model);

#endif
