/* Tail probabilities of Poisson variables. The probability of x itself comes from its saddle-point
 * form, in which nothing cancels (C. Loader, Fast and accurate computation of binomial
 * probabilities, 2000), and the tail away from the mean is that times a sum of falling terms. The
 * other tail is 1 minus it, at least about a third. Of large counts the sum would have as many
 * terms as ten standard deviations have counts, without end where x + 1 is x; there the tails come
 * from the uniform expansion of the incomplete gamma function (N. Temme, The asymptotic expansion
 * of the incomplete gamma functions, SIAM Journal on Mathematical Analysis, 1979). */
#include "algorithms/poisson_tail.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>

static const double pi = 3.14159265358979323846;

/* log(x!) minus Stirling's formula. */
static double stirling_error(double x) {
  if (x < 16) return lgamma(x + 1) - (x + 0.5) * log(x) + x - 0.5 * log(2 * pi);
  double s = 1 / (x * x);
  return (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680 - s / 1188)))) / x;
}

double pd_poisson_deviance(double x, double rate) {
  if (x == 0) return rate;
  if (rate == 0) return INFINITY;
  double d = x - rate, ratio = 0.5 * d / (0.5 * x + 0.5 * rate); /* the sum may overflow */
  if (fabs(ratio) > 0.1) return x * log(x / rate) - d;
  /* x log(x / rate) = 2 x (v + v^3/3 + v^5/5 + ...) with v = (x - rate) / (x + rate) */
  double sum = d * ratio, term = x * ratio * 2;
  for (int k = 3; k < 60; k += 2) {
    term *= ratio * ratio;
    double next = sum + term / k;
    if (next == sum) break;
    sum = next;
  }
  return sum;
}

/* Counts from which the expansion is exact to rounding: terms that are left out are 1e-16 of it. */
static const double large = 1e6;

/* P(X >= a), or of `lower` P(X < a), for a > `large`. With eta^2 / 2 = deviance / a the tail is
 * that of the normal distribution at eta sqrt(a) and its density times a series in eta and 1 / a.
 * Where eta is not small the density is 0. */
static double large_tail(double a, double rate, bool lower) {
  double deviance = pd_poisson_deviance(a, rate), density = exp(-deviance) / sqrt(2 * pi * a);
  double side = rate < a ? -1 : 1, eta = side * sqrt(2 * deviance / a);
  double normal = 0.5 * erfc((lower ? side : -side) * sqrt(deviance));
  if (density == 0) return normal;
  double c0 = 1.0 / 2835 + eta * (-139.0 / 777600 + eta / 25515);
  c0 = -1.0 / 3 + eta * (1.0 / 12 + eta * (-2.0 / 135 + eta * (1.0 / 864 + eta * c0)));
  double c1 = -1.0 / 540 + eta * (-1.0 / 288 + eta / 378);
  double rest = density * (c0 + c1 / a);
  return lower ? normal + rest : normal - rest;
}

static double probability(double x, double rate) {
  if (x == 0) return exp(-rate);
  return exp(-stirling_error(x) - pd_poisson_deviance(x, rate)) / sqrt(2 * pi * x);
}

/* Sums to their full precision: terms fall faster and faster. */
static double above(double x, double rate) {
  double sum = 1, term = 1;
  if (x > large) return large_tail(x, rate, false);
  for (double k = 1; term > DBL_EPSILON / 4 * sum; ++k) {
    term *= rate / (x + k);
    sum += term;
  }
  return probability(x, rate) * sum;
}

static double below(double x, double rate) {
  double sum = 1, term = 1;
  if (x > large) return large_tail(x + 1, rate, true);
  for (double k = x; k > 0 && term > DBL_EPSILON / 4 * sum; --k) {
    term *= k / rate;
    sum += term;
  }
  return probability(x, rate) * sum;
}

double pd_poisson_upper(double x, double rate) {
  if (x == 0) return 1;
  if (rate == 0) return 0;
  return fmin(1, x > rate ? above(x, rate) : 1 - below(x - 1, rate));
}

double pd_poisson_lower(double x, double rate) {
  if (rate == 0) return 1;
  return fmin(1, x < rate ? below(x, rate) : 1 - above(x + 1, rate));
}

double pd_poisson_upper_stored(double x, double rate) {
  if (x <= 1) return 1;
  if (rate == 0) return 0;
  return fmin(1, pd_poisson_upper(x, rate) / -expm1(-rate));
}

/* Where the rate is small the tail is large, and 1 minus the other one is exact; elsewhere the
 * probability of 0 is little of it. */
double pd_poisson_lower_stored(double x, double rate) {
  if (rate == 0) return 1;
  double stored = -expm1(-rate);
  if (rate < 1) return fmax(0, 1 - pd_poisson_upper(x + 1, rate) / stored);
  return fmin(1, fmax(0, (pd_poisson_lower(x, rate) - exp(-rate)) / stored));
}
