/* The state of polyad_cp_complete(), for its files alone. Observations and factors lie on the
 * plan's device, and stay there; the host sees sums. All numbers are double, whatever the plan's
 * type: the model gets the plan's type at the end. */
#ifndef PD_COMPLETE_STATE_H
#define PD_COMPLETE_STATE_H

#include "algorithms/method.h"
#include "algorithms/nonnegative.h"
#include "algorithms/observations.h"
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
  const struct pd_completion *steps; /* the device's */
  struct pd_completion_work *work;
  int order;
  uint32_t nonnegative;       /* the modes whose components stay so: see nonnegative.h */
  struct pd_completed fitted; /* ridges are of scaled values */
  int exponent; /* values of observations are the plan's times 2^-exponent, minus the mean: their
                   root mean square is about one */
  double mean;  /* 0 without biases */
  double norm_squared;                        /* of the observations with their mean, scaled */
  double held_norm_squared;                   /* of the validation set; 1 where it is zero */
  struct pd_observations *seen;               /* of the fit, without their mean */
  struct pd_observations *held;               /* of validation; NULL: none */
  bool signs;                                 /* some values of `seen` are negative */
  uint64_t empty[POLYAD_MAX_ORDER];           /* rows without an observation */
  struct pd_matrix best[POLYAD_MAX_ORDER];    /* of the lowest validation error, where there is a
                                                 validation set */
  struct pd_matrix before[POLYAD_MAX_ORDER];  /* SGD: before the epoch */
  struct pd_matrix squares[POLYAD_MAX_ORDER]; /* SGD: sums of squared gradients of every row's
                                                 components, and of its bias */
  int threads;
  struct pd_complete_blocks *blocks;
  struct pd_complete_score now;
  double objective_before;         /* infinite at first */
  double best_validation;          /* infinite at first */
  uint64_t best_iteration, since;  /* iterations since then */
  double rate;                     /* SGD */
  bool undone;                     /* SGD: the last epoch */
  bool revived;                    /* components that were zero, in this iteration */
  uint64_t fallbacks;              /* systems that had to be regularised */
  double *found[POLYAD_MAX_ORDER]; /* the factors of the end, in the host's memory */
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

/** Measures the current factors: c->now.
 *  @return POLYAD_NUMERICAL when they are not finite */
polyad_status pd_complete_measure(struct pd_complete *c);

/** Before an iteration of ALS or CCD++: gives components that nonnegativity has made zero new
 * columns where it is time to, and says so in c->revived. */
polyad_status pd_complete_revive(struct pd_complete *c);

/** One iteration: new factors, measured. `seconds` gets those of each mode. */
polyad_status pd_complete_iterate(struct pd_complete *c, double *seconds);
/** The same by SGD: an epoch. One that does not lower the objective is undone. */
polyad_status pd_complete_iterate_sgd(struct pd_complete *c, double *seconds);

polyad_status pd_complete_blocks_create(struct pd_complete *c);
void pd_complete_blocks_destroy(struct pd_complete *c);

/** The model in its normal form and the plan's type, its fit, and words about it. */
polyad_status pd_complete_finish(void *state, polyad_run_info *info);

#endif
