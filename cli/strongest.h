/* The numbers of largest magnitude: of an array, and of a Tucker model's core. */
#ifndef CLI_STRONGEST_H
#define CLI_STRONGEST_H

#include <polyad/polyad.h>

enum { CLI_STRONGEST_MOST = 100 };

/** Numbers that lie `stride` apart. */
struct cli_numbers {
  const void *first;
  polyad_type type;
  uint64_t count, stride;
};

double cli_number(const struct cli_numbers *numbers, uint64_t k);

/** Indices of the `top` (at most CLI_STRONGEST_MOST) numbers of largest magnitude, zeros and what
 * is not finite left out; of equal ones the one with the smaller index comes first. Returns how
 * many there are. */
int cli_strongest(const struct cli_numbers *numbers, int top, uint64_t *indices);

struct cli_core_entry {
  uint64_t column[POLYAD_MAX_ORDER]; /* of each mode's factor, from 0 */
  double value, share;               /* share: of the core's squared norm */
};
/** The `top` entries of a core of largest magnitude, as cli_strongest() finds them; `entries` has
 * room for CLI_STRONGEST_MOST. */
int cli_core_strongest(const polyad_ttensor *model, int top, struct cli_core_entry *entries);

#endif
