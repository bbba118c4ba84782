/* The shortest decimal that reads back as the same floating-point number. */
#ifndef PD_NUMBER_SHORTEST_H
#define PD_NUMBER_SHORTEST_H

#include <stdbool.h>
#include <stdint.h>

/** A decimal digits * 10^exponent. */
struct pd_decimal {
  uint64_t digits; /* at most 17 of them for a double, 9 for a float; no trailing zero */
  int exponent;
};

/** Of all decimals that read back as the magnitude of `value` (as a float when `single`), those
 *  with the fewest digits, and of these the nearest to it. `value` is finite and not zero. */
struct pd_decimal pd_shortest_decimal(double value, bool single);

#endif
