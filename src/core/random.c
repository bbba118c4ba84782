#include "core/random.h"
#include <math.h>

double pd_random_normal(uint64_t seed, uint64_t stream, uint64_t counter) {
  double u = 1.0 - pd_random_uniform(seed, stream, 2 * counter); /* in (0, 1] */
  double v = pd_random_uniform(seed, stream, 2 * counter + 1);
  return sqrt(-2.0 * log(u)) * cos(6.283185307179586477 * v);
}
