/* Sorts the numbers and takes the middle. */
#include "core/median.h"
#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double pd_median(uint64_t count, double *numbers) {
  if (count == 0) return NAN;
  qsort(numbers, (size_t)count, sizeof *numbers, compare_doubles);
  return 0.5 * (numbers[(count - 1) / 2] + numbers[count / 2]);
}
