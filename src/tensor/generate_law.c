#include "tensor/generate_law.h"
#include "core/numbers.h"
#include "core/random.h"
#include <assert.h>
#include <math.h>

enum { LARGEST_SCATTERED = 1 << 26, FEW_TRIALS = 24, FEW_SUCCESSES = 12 };

double pd_draw(struct pd_draws *draws) {
  return pd_random_uniform(draws->seed, draws->stream, draws->counter++);
}

/* ---- laws --------------------------------------------------------------------------------------
 */

/* The number whose product with a is 1 modulo dim; both below 2^31 and without common divisor. */
static uint64_t modular_inverse(uint64_t a, uint64_t dim) {
  int64_t old_rest = (int64_t)a, rest = (int64_t)dim, old_factor = 1, factor = 0;
  while (rest != 0) {
    int64_t quotient = old_rest / rest, next = old_rest - quotient * rest;
    old_rest = rest;
    rest = next;
    next = old_factor - quotient * factor;
    old_factor = factor;
    factor = next;
  }
  return (uint64_t)(old_factor < 0 ? old_factor + (int64_t)dim : old_factor);
}

void pd_law_init(uint64_t dim, double exponent, struct pd_law *law) {
  *law = (struct pd_law){.dim = dim, .exponent = exponent, .multiplier = 1, .inverse = 1};
  bool logarithmic = fabs(exponent - 1) < 1e-6;
  law->power = logarithmic ? 0 : 1 / (1 - exponent);
  law->span = logarithmic ? log1p((double)dim) : pow((double)dim + 1, 1 - exponent) - 1;
  if (exponent == 0 || dim > LARGEST_SCATTERED || dim <= 2) return;
  /* The golden ratio scatters neighbours far apart. */
  law->multiplier = (uint64_t)(0.6180339887 * (double)dim) | 1;
  while (pd_common_divisor(law->multiplier, dim) != 1)
    law->multiplier += 2;
  law->multiplier %= dim;
  law->inverse = modular_inverse(law->multiplier, dim);
}

polyad_status pd_law_tabulate(polyad_context *context, struct pd_law *law) {
  uint64_t dim = law->dim;
  if (law->multiplier == 1 || law->mass_before != NULL) return POLYAD_OK;
  uint64_t blocks = (dim + PD_LAW_BLOCK - 1) / PD_LAW_BLOCK;
  double *before;
  PD_TRY(PD_NEW(context, blocks + 1, &before));
  int threads = pd_threads_for(context, dim, 1 << 12);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t block = 0; block < blocks; ++block) {
    uint64_t end = (block + 1) * PD_LAW_BLOCK < dim ? (block + 1) * PD_LAW_BLOCK : dim;
    before[block + 1] = 0;
    for (uint64_t i = block * PD_LAW_BLOCK; i < end; ++i)
      before[block + 1] += pd_law_weight(law, i);
  }
  before[0] = 0;
  for (uint64_t block = 0; block < blocks; ++block)
    before[block + 1] += before[block];
  law->mass_before = before;
  return POLYAD_OK;
}

void pd_law_destroy(polyad_context *context, struct pd_law *law) {
  pd_free(context, law->mass_before);
  law->mass_before = NULL;
}

double pd_law_weight(const struct pd_law *law, uint64_t index) {
  uint64_t rank = law->multiplier == 1 ? index : index * law->inverse % law->dim;
  return law->exponent == 0 ? 1 : pow((double)rank + 1.5, -law->exponent);
}

/* Integral of the density from 1 to x. */
static double mass_below(const struct pd_law *law, double x) {
  return law->power == 0 ? log(x) : (pow(x, 1 - law->exponent) - 1) * law->power;
}

double pd_law_mass(const struct pd_law *law, uint64_t lo, uint64_t hi) {
  if (law->mass_before != NULL)
    return law->mass_before[(hi + PD_LAW_BLOCK - 1) / PD_LAW_BLOCK] -
           law->mass_before[lo / PD_LAW_BLOCK];
  assert(law->multiplier == 1);
  double width = (double)(hi - lo);
  if (law->exponent == 0) return width;
  if (width < (double)lo / 1024) /* a difference of integrals would lose its digits */
    return width * pow((double)lo + width / 2 + 1, -law->exponent);
  return mass_below(law, (double)hi + 1) - mass_below(law, (double)lo + 1);
}

uint64_t pd_law_draw(const struct pd_law *law, uint64_t bits) {
  if (law->exponent == 0) {
    uint64_t high = bits >> 32, low = bits & UINT32_MAX; /* bits * dim / 2^64 */
    uint64_t dim_high = law->dim >> 32, dim_low = law->dim & UINT32_MAX;
    uint64_t middle = high * dim_low + (low * dim_low >> 32);
    uint64_t other = low * dim_high + (middle & UINT32_MAX);
    return high * dim_high + (middle >> 32) + (other >> 32);
  }
  double u = (double)(bits >> 11) * 0x1p-53;
  double x = law->power == 0 ? exp(u * law->span) : pow(1 + u * law->span, law->power);
  uint64_t rank = x < 1 ? 0 : (uint64_t)x - 1;
  if (rank >= law->dim) rank = law->dim - 1;
  return law->multiplier == 1 ? rank : rank * law->multiplier % law->dim;
}

/* ---- the binomial distribution -----------------------------------------------------------------
 */

/* Gaps between successes are geometric. */
static uint64_t binomial_by_gaps(struct pd_draws *draws, uint64_t n, double p) {
  double log_failure = log1p(-p), at = 0;
  for (uint64_t successes = 0;; ++successes) {
    at += floor(log1p(-pd_draw(draws)) / log_failure) + 1;
    if (at > (double)n) return successes;
  }
}

uint64_t pd_draw_binomial(struct pd_draws *draws, uint64_t n, double p) {
  if (n == 0 || !(p > 0)) return 0;
  if (p >= 1) return n;
  if (n <= FEW_TRIALS) {
    uint64_t successes = 0;
    for (uint64_t trial = 0; trial < n; ++trial)
      successes += pd_draw(draws) < p;
    return successes;
  }
  if (p > 0.5) return n - pd_draw_binomial(draws, n, 1 - p);
  double mean = (double)n * p;
  if (mean < FEW_SUCCESSES) return binomial_by_gaps(draws, n, p);
  /* Close to normal: the plan needs right proportions, not a perfect third moment. */
  double normal = pd_random_normal(draws->seed, ~draws->stream, draws->counter++);
  double value = round(mean + sqrt(mean * (1 - p)) * normal);
  if (value <= 0) return 0;
  return value >= (double)n ? n : (uint64_t)value;
}
