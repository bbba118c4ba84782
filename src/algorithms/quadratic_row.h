/* Rows a of a factor that minimise a quadratic function a V a^T / 2 - b a^T, with V (R x R)
 * symmetric and positive semidefinite: some entries may be held at given values, and the others may
 * have to be at least 0. */
#ifndef PD_QUADRATIC_ROW_H
#define PD_QUADRATIC_ROW_H

#include "core/core.h"

/** One V, and the scratch memory of the thread that solves with it. */
struct pd_quadratic {
  size_t rank;
  bool nonnegative;
  double *v;       /* R x R, with a diagonal of ones */
  double *scale;   /* what variables were multiplied by for that; 0: the variable stays 0 */
  double *lower;   /* factor of the chosen rows and columns of v */
  double *inverse; /* reciprocals of its diagonal; 0: depends on those before */
  double *right, *value, *trial;
  bool *wait;          /* variables that cannot become positive now */
  size_t *chosen;      /* variables that are solved for */
  size_t chosen_count; /* lower belongs to them; 0: to none */
};

/** Memory for solving with matrices of this size; freed with pd_quadratic_clear(). */
polyad_status pd_quadratic_create(polyad_context *context, uint64_t rank, bool nonnegative,
                                  struct pd_quadratic *quadratic);
void pd_quadratic_clear(polyad_context *context, struct pd_quadratic *quadratic);

/** Sets V (row major). */
void pd_quadratic_set(struct pd_quadratic *quadratic, const double *v);

/** Finds the entries of `a` that are not held. Where V does not tell components apart, the first of
 *  them that depends linearly on those before is 0.
 *  @param held  R flags; NULL: none is held */
void pd_quadratic_solve(struct pd_quadratic *quadratic, const double *b, const bool *held,
                        double *a);

/** Solves for `count` rows, spread over the context's threads.
 *  @param held  count x R flags; NULL: none is held */
polyad_status pd_quadratic_rows(polyad_context *context, uint64_t rank, bool nonnegative,
                                const double *v, uint64_t count, const double *b, const bool *held,
                                double *a);

#endif
