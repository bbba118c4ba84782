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
 * A loss is a file in losses/ and its line in PD_LOSSES. The C compiler, CUDA's, HIP's and OpenCL's
 * all read the file. It gives the loss a number and, as macros of x, m and `least`:
 *
 *   NAME        its name for users, the enumerator in <polyad/gcp.h> in small letters with hyphens
 *   GAIN        g, evaluated on the device of the kernels
 *   SLOPE       the derivative of g in m, evaluated there, too
 *   CURVATURE   minus the second derivative of g in m, at least 0
 *   ZERO        f(0, m), evaluated on the host
 *   ZERO_SLOPE  the derivative of f(0, m) in m, on the host, too
 *   GRID        how ZERO is summed over the grid: PD_GRID_CELLS, or a closed form
 *   SQUARES     how often x^2, summed over the nonzeros, is added to the whole
 *
 * All but SLOPE get doubles. `least` is the smallest number that is divided by: a smaller
 * denominator counts as `least`. A model that is not a number stays not a number. */
#ifndef PD_ENGINE_LOSS_H
#define PD_ENGINE_LOSS_H

/* NaN compares false: it is kept. */
#define PD_AT_LEAST(m, least) ((m) < (least) ? (least) : (m))

/* Sums of f(0, m) over the grid: cell by cell, or the closed form of m or of m^2. */
#define PD_GRID_CELLS 0
#define PD_GRID_MODELS 1
#define PD_GRID_SQUARES 2

#include "engine/losses/bernoulli_logit.h"
#include "engine/losses/gaussian.h"
#include "engine/losses/poisson.h"

/* The list of all losses. LAST is applied to the one that PD_LOSS_CHOICE() takes without comparing
 * its number, and EACH to all others. */
#define PD_LOSSES(EACH, LAST, what, kind, x, m, least)                                             \
  EACH(POISSON, what, kind, x, m, least)                                                           \
  EACH(BERNOULLI_LOGIT, what, kind, x, m, least)                                                   \
  LAST(GAUSSIAN, what, kind, x, m, least)

/* Macro `what` of the loss that has number `kind`. Numbers rather than an enum: every language
 * compares them alike. */
#define PD_LOSS_CHOICE(what, kind, x, m, least)                                                    \
  (PD_LOSSES(PD_LOSS_ASKED, PD_LOSS_LEFT, what, kind, x, m, least))
#define PD_LOSS_ASKED(NAME, what, kind, x, m, least)                                               \
  (kind) == PD_LOSS_##NAME ? PD_##NAME##_##what(x, m, least):
#define PD_LOSS_LEFT(NAME, what, kind, x, m, least) PD_##NAME##_##what(x, m, least)

#define PD_LOSS_NAME(kind) PD_LOSS_CHOICE(NAME, kind, 0, 0, 0)
#define PD_LOSS_GAIN(kind, x, m) PD_LOSS_CHOICE(GAIN, kind, x, m, 0)
#define PD_LOSS_SLOPE(kind, x, m, least) PD_LOSS_CHOICE(SLOPE, kind, x, m, least)
#define PD_LOSS_CURVATURE(kind, x, m, least) PD_LOSS_CHOICE(CURVATURE, kind, x, m, least)
#define PD_LOSS_ZERO(kind, m) PD_LOSS_CHOICE(ZERO, kind, 0, m, 0)
#define PD_LOSS_ZERO_SLOPE(kind, m) PD_LOSS_CHOICE(ZERO_SLOPE, kind, 0, m, 0)
#define PD_LOSS_GRID(kind) PD_LOSS_CHOICE(GRID, kind, 0, 0, 0)
#define PD_LOSS_SQUARES(kind) PD_LOSS_CHOICE(SQUARES, kind, 0, 0, 0)

#endif
