/* The median of numbers. */
#ifndef PD_MEDIAN_H
#define PD_MEDIAN_H

#include <stdint.h>

/** The mean of the two in the middle where their number is even, NaN of none. Sorts the numbers. */
double pd_median(uint64_t count, double *numbers);

#endif
