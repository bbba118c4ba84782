/* The state of polyad_cp_complete(), for its files alone. All numbers are double, whatever the
 * plan's type: the model gets the plan's type at the end. */
#ifndef PD_COMPLETE_STATE_H
#define PD_COMPLETE_STATE_H

#include "algorithms/method.h"
#include "algorithms/observations.h"
#include "algorithms/row_system.h"
#include "plan/plan.h"
#include "tensor/ktensor.h"
#include <polyad/completion.h>

struct pd_complete_blocks; /* complete_sgd.c: the order of SGD's steps */

/** What is known of the current factors. */
struct pd_complete_score {
  double loss;       /* sum of w e^2 over the observations of the fit */
  double objective;  /* with the ridges' terms */
  double validation; /* root of the mean of w e^2 of the validation set; NaN without one */
};

struct pd_complete {
  polyad_context *context;
  const polyad_plan *plan;
  const polyad_cp_complete_options *options;
  int order;
  size_t rank;    /* components */
  size_t columns; /* numbers of a factor's row: components and, with biases, the row's bias */
  int exponent;   /* values of observations are the plan's times 2^-exponent, minus the mean: their
                     root mean square is about one */
  double mean;    /* 0 without biases */
  double ridge, bias_ridge;     /* of scaled values */
  double norm_squared;          /* of the observations with their mean, scaled */
  double held_norm_squared;     /* of the validation set; 1 where it is zero */
  struct pd_observations *seen; /* of the fit, without their mean */
  struct pd_observations *held; /* of validation; NULL: none */
  struct pd_matrix factor[POLYAD_MAX_ORDER];
  struct pd_matrix best[POLYAD_MAX_ORDER];    /* of the lowest validation error, where there is a
                                                 validation set */
  struct pd_matrix before[POLYAD_MAX_ORDER];  /* SGD: before the epoch */
  struct pd_matrix squares[POLYAD_MAX_ORDER]; /* SGD: sums of squared gradients of every row's
                                                 components, and of its bias */
  int threads;
  struct pd_row_system *system; /* one for each thread */
  double *sums;                 /* partial sums of pieces of rows */
  double *partial;              /* partial sums of losses */
  double *residual;             /* CCD: e of each observation */
  bool residual_stands;         /* it is of the current factors */
  double *columns_of_one;       /* CCD: a column of every factor */
  struct pd_complete_blocks *blocks;
  struct pd_complete_score now;
  double objective_before;        /* infinite at first */
  double best_validation;         /* infinite at first */
  uint64_t best_iteration, since; /* iterations since then */
  double rate;                    /* SGD */
  bool undone;                    /* SGD: the last epoch */
  uint64_t fallbacks;             /* systems that had to be regularised */
  polyad_ktensor *model;
  struct pd_run run;
};

extern const struct pd_method pd_complete_methods[];

polyad_status pd_complete_create(polyad_context *context, const polyad_plan *plan,
                                 const polyad_cp_complete_options *options,
                                 struct pd_complete **complete);
void pd_complete_destroy(struct pd_complete *complete);
/** The numbers that iterations go on from: pd_method::save. */
polyad_status pd_complete_save(void *state, struct pd_archive *archive);

static inline double *pd_complete_row(const struct pd_complete *c, int mode, uint64_t i) {
  return (double *)c->factor[mode].data + i * c->columns;
}
static inline double *pd_complete_best_row(const struct pd_complete *c, int mode, uint64_t i) {
  return (double *)(c->held != NULL ? c->best : c->factor)[mode].data + i * c->columns;
}
static inline bool pd_complete_has_biases(const struct pd_complete *c) {
  return c->columns > c->rank;
}
/** Ridge of a row's components, and of its bias, where it has `count` observations. */
static inline double pd_complete_ridge(const struct pd_complete *c, bool bias, uint64_t count) {
  double ridge = bias ? c->bias_ridge : c->ridge;
  return c->options->ridge_by_count ? ridge * (double)count : ridge;
}
static inline double pd_complete_weight(const struct pd_observations *o, uint64_t q) {
  return o->weight != NULL ? o->weight[q] : 1;
}

/** product = elementwise product of the rows of other modes at observation p of the mode's order;
 *  returns the sum of the other modes' biases. */
double pd_complete_multiply(const struct pd_complete *c, int mode, uint64_t p, double *product);

/** Sum of w e^2 over observations; e[q] gets the residuals where it is not NULL. */
double pd_complete_loss(const struct pd_complete *c, const struct pd_observations *o, double *e);
/** Measures the current factors: c->now.
 *  @return POLYAD_NUMERICAL when they are not finite */
polyad_status pd_complete_measure(struct pd_complete *c);
/** Partial sums that pd_complete_measure() needs room for. */
uint64_t pd_complete_partials(const struct pd_complete *c);

/** One iteration by each method: new factors, not measured yet. `seconds` gets those of each mode.
 */
polyad_status pd_complete_iterate_als(struct pd_complete *c, double *seconds);
polyad_status pd_complete_iterate_ccd(struct pd_complete *c, double *seconds);
/** An epoch; measures too. One that does not lower the objective is undone. */
polyad_status pd_complete_iterate_sgd(struct pd_complete *c, double *seconds);

polyad_status pd_complete_blocks_create(struct pd_complete *c);
void pd_complete_blocks_destroy(struct pd_complete *c);

/** The model in its normal form and the plan's type, its fit, and words about it. */
polyad_status pd_complete_finish(void *state, polyad_run_info *info);

#endif
