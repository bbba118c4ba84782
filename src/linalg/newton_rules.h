/* The numbers and small rules of PDNR and PQNR (Hansen, Plantenga and Kolda 2015) that the CPU's
 * rows and those of devices share. */
#ifndef PD_NEWTON_RULES_H
#define PD_NEWTON_RULES_H

#ifdef __CUDACC__
#define PD_NEWTON_RULE static __host__ __device__ inline
#else
#define PD_NEWTON_RULE static inline
#endif

/** Steps 1, 1/2, 1/4, ... that a search along a direction tries at most. */
enum { PD_NEWTON_STEPS = 10 };

/** Whether a step decreases the objective by enough (Armijo's rule); `slope` is the decrease that
 *  the gradient promises, at most 0. */
PD_NEWTON_RULE int pd_newton_enough(double before, double after, double slope) {
  return after <= before + 1e-4 * slope;
}

/** Whether the entries of a row add up to so little that its models would be lost. */
PD_NEWTON_RULE int pd_newton_vanishes(double sum) { return sum < 1e-7; }

/** The damping of the next Newton step, from what the last one has gained (`before` - `unit`) and
 *  what the quadratic model had predicted (negative). */
PD_NEWTON_RULE double pd_newton_damping(double mu, double before, double unit, double predicted) {
  if (predicted == 0) return 10 * mu;
  double ratio = (before - unit) / -predicted;
  if (ratio < 0.25) return 3.5 * mu;
  return ratio > 0.75 ? mu * (2.0 / 7.0) : mu;
}

#endif
