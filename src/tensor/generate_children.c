/* Numbers of children. The law's two parameters are found by bisection: mu so that the mean is
 * right for a given sigma, sigma so that the spread is. Integrals over the normal variable behind a
 * lognormal one are sums by the midpoint rule. */
#include "tensor/generate_children.h"
#include "core/core.h"
#include "core/random.h"
#include <math.h>

enum { POINTS = 256, MEAN_STEPS = 40, SPREAD_STEPS = 24 };
static const double REACH = 8;       /* deviations of the normal variable that are integrated */
static const double WIDEST = 12;     /* largest sigma tried */
static const double LOWEST_MU = -60; /* exp(-60): no children but the first */

struct moments {
  double mean, square;
};

/* Weight of point k of the midpoint rule, and the cut lognormal variable there. */
static double point(const struct pd_children *law, int k, double *y) {
  double z = -REACH + (k + 0.5) * 2 * REACH / POINTS;
  *y = fmin(exp(law->mu + law->sigma * z), law->most);
  return exp(-z * z / 2);
}

/* Moments of the law. A number y that is rounded at random has the square y^2 + f (1 - f), f being
 * its fraction. */
static struct moments moments_of(const struct pd_children *law) {
  double weights = 0, y;
  struct moments sum = {0, 0};
  for (int k = 0; k < POINTS; ++k) {
    double weight = point(law, k, &y), fraction = y - floor(y);
    weights += weight;
    sum.mean += weight * y;
    sum.square += weight * (y * y + fraction * (1 - fraction));
  }
  return (struct moments){sum.mean / weights, sum.square / weights};
}

/* Chances of all numbers, where there are few. */
static void tabulate(struct pd_children *law) {
  double weights = 0, y;
  if (law->most >= PD_CHILDREN_FEW) return;
  for (int k = 0; k < POINTS; ++k) {
    double weight = point(law, k, &y), fraction = y - floor(y);
    weights += weight;
    law->at_most[(int)y] += weight * (1 - fraction);
    if (fraction > 0) law->at_most[(int)y + 1] += weight * fraction;
  }
  double below = 0;
  for (int e = 0; e <= (int)law->most; ++e)
    law->at_most[e] = below += law->at_most[e] / weights;
  law->at_most[(int)law->most] = 2; /* whatever is drawn */
}

/* Sets mu for this sigma so that the mean is right; returns the square's mean. */
static double settle_mean(struct pd_children *law, double sigma, double mean) {
  double low = LOWEST_MU, high = log(law->most) + REACH * sigma;
  law->sigma = sigma;
  for (int step = 0; step < MEAN_STEPS; ++step) {
    law->mu = (low + high) / 2;
    if (moments_of(law).mean < mean)
      low = law->mu;
    else
      high = law->mu;
  }
  return moments_of(law).square;
}

static void generate_children_settle(struct pd_children *law, double mean, double square) {
  double low = 0, high = WIDEST;
  for (int step = 0; step < SPREAD_STEPS; ++step) {
    double middle = (low + high) / 2;
    if (settle_mean(law, middle, mean) < square)
      low = middle;
    else
      high = middle;
  }
}

struct pd_children pd_children_law(double mean, double cv, uint64_t most) {
  struct pd_children law = {.mu = LOWEST_MU, .most = (double)(most - 1)};
  double extra = mean - 1, square = cv * mean * cv * mean + extra * extra;
  if (extra >= law.most) law.mu = log(law.most) + 1; /* always the most */
  if (extra > 0 && extra < law.most) generate_children_settle(&law, extra, square);
  tabulate(&law);
  return law;
}

uint64_t pd_children_draw(const struct pd_children *law, uint64_t seed, uint64_t stream,
                          uint64_t counter) {
  if (law->most < PD_CHILDREN_FEW) {
    double u = pd_random_uniform(seed, stream, counter);
    uint64_t extra = 0;
    while (u >= law->at_most[extra])
      ++extra;
    return extra;
  }
  double normal = pd_random_normal(seed, stream, counter);
  double y = fmin(exp(law->mu + law->sigma * normal), law->most), whole = floor(y);
  return (uint64_t)whole + (pd_random_uniform(seed, ~stream, counter) < y - whole);
}

void pd_children_divide(uint64_t *extra, const uint64_t *own, uint64_t count, uint64_t each,
                        uint64_t total) {
  double sum = 0, below = 0;
  for (uint64_t i = 0; i < count; ++i)
    sum += (double)extra[i];
  bool none = sum == 0; /* nothing to go by: all alike */
  double ratio = (double)total / (none ? (double)count : sum);
  uint64_t given = 0;
  for (uint64_t i = 0; i < count; ++i) {
    below += none ? 1 : (double)extra[i];
    double mark = floor(below * ratio);
    uint64_t goal = i + 1 == count || mark >= (double)total ? total : (uint64_t)mark;
    uint64_t room = own == NULL ? each : pd_mul_saturated(each, own[i]);
    uint64_t share = goal > given ? goal - given : 0;
    extra[i] = share < room ? share : room;
    given += extra[i];
  }
  for (uint64_t i = 0; i < count && given < total; ++i) { /* what the last ones had no room for */
    uint64_t room = (own == NULL ? each : pd_mul_saturated(each, own[i])) - extra[i];
    uint64_t more = total - given < room ? total - given : room;
    extra[i] += more;
    given += more;
  }
}
