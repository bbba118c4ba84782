/* Losses of generalized CP: f(x, m) of a value x and its model m, summed over all cells of a
 * tensor, those without nonzeros too (Hong, Kolda and Duersch 2020). With the gain of a nonzero
 *
 *   g(x, m) = f(0, m) - f(x, m),
 *
 * which is 0 for x = 0, the sum over all cells is the sum of f(0, m) over the whole grid minus the
 * sum of g over the nonzeros. The nonzeros' part is an operation (op.h); the grid's does not depend
 * on the values (grid.h). Every loss here is such that g is x times a function of m alone, so that
 * a power of two taken out of the values comes out of the sum.
 *
 * A loss is a file in losses/ with four expressions, and a line in each list below. The C compiler,
 * CUDA's, HIP's and OpenCL's all read them: GAIN and SLOPE (g and its derivative in m) where the
 * kernels are, ZERO and ZERO_SLOPE (f(0, m) and its derivative) on the host. A loss whose gain is
 * not linear in m has a fifth, CURVATURE: minus g's second derivative, at least 0. All but SLOPE
 * get doubles. `least` is the least model that is divided by. A model that is not a number stays
 * so. */
#ifndef PD_ENGINE_LOSS_H
#define PD_ENGINE_LOSS_H

/* NaN compares false: it is kept. */
#define PD_AT_LEAST(m, least) ((m) < (least) ? (least) : (m))

#include "engine/losses/bernoulli_logit.h"
#include "engine/losses/gaussian.h"
#include "engine/losses/poisson.h"

/* Numbers rather than an enum: every language compares them alike. */
#define PD_LOSS_POISSON 0
#define PD_LOSS_BERNOULLI_LOGIT 1
#define PD_LOSS_GAUSSIAN 2

#define PD_LOSS_GAIN(kind, x, m)                                                                   \
  ((kind) == PD_LOSS_POISSON           ? PD_POISSON_GAIN(x, m)                                     \
   : (kind) == PD_LOSS_BERNOULLI_LOGIT ? PD_BERNOULLI_LOGIT_GAIN(x, m)                             \
                                       : PD_GAUSSIAN_GAIN(x, m))
#define PD_LOSS_SLOPE(kind, x, m, least)                                                           \
  ((kind) == PD_LOSS_POISSON           ? PD_POISSON_SLOPE(x, m, least)                             \
   : (kind) == PD_LOSS_BERNOULLI_LOGIT ? PD_BERNOULLI_LOGIT_SLOPE(x, m, least)                     \
                                       : PD_GAUSSIAN_SLOPE(x, m, least))
#define PD_LOSS_CURVATURE(kind, x, m, least)                                                       \
  ((kind) == PD_LOSS_POISSON ? PD_POISSON_CURVATURE(x, m, least) : 0)
#define PD_LOSS_ZERO(kind, m)                                                                      \
  ((kind) == PD_LOSS_POISSON           ? PD_POISSON_ZERO(m)                                        \
   : (kind) == PD_LOSS_BERNOULLI_LOGIT ? PD_BERNOULLI_LOGIT_ZERO(m)                                \
                                       : PD_GAUSSIAN_ZERO(m))
#define PD_LOSS_ZERO_SLOPE(kind, m)                                                                \
  ((kind) == PD_LOSS_POISSON           ? PD_POISSON_ZERO_SLOPE(m)                                  \
   : (kind) == PD_LOSS_BERNOULLI_LOGIT ? PD_BERNOULLI_LOGIT_ZERO_SLOPE(m)                          \
                                       : PD_GAUSSIAN_ZERO_SLOPE(m))

#endif
