/* What the parts of the search for anomalies share. */
#ifndef PD_ANOMALIES_H
#define PD_ANOMALIES_H

#include "algorithms/double_model.h"
#include "core/stage.h"
#include "tensor/tensor.h"
#include <polyad/anomalies.h>

struct pd_anomalies {
  struct pd_stage stage;
  polyad_context *context;
  const polyad_tensor *tensor;
  const polyad_anomaly_options *options;
  bool counts;
  bool stored; /* counts: p-values are conditional on being stored */
  struct pd_double_model model;
  double *gram[POLYAD_MAX_ORDER]; /* R x R */
  double *sum;                    /* order x R: column sums */
  double *expected;               /* of each nonzero, where a device has computed it; else NULL */
  double *magnitude;              /* order x R: column sums of magnitudes */
  double size;   /* no number of the tensor is larger, nor the sum of the magnitudes of a model
                    value's terms */
  double narrow; /* of other values than counts: what rounding to float32 may leave, over the sum of
                    the magnitudes; 0: tensor and model are in double precision */
  polyad_anomaly_result *result;
};

/** A test: place in the sorted list of all. */
struct pd_test {
  double p, size; /* size: of the score, which orders equal p */
  uint64_t unit;  /* nonzero, or index counted on from mode to mode */
};

/** Value of the model at nonzero k. */
double pd_anomaly_expected(const struct pd_anomalies *a, uint64_t k);
/** Fills in score and p-values of a count, or of a residual in robust units. */
void pd_anomaly_judge_count(const struct pd_anomalies *a, bool stored, polyad_anomaly *row);
void pd_anomaly_judge_residual(const struct pd_anomalies *a, double z, polyad_anomaly *row);

/** Fails because numbers are too large. */
polyad_status pd_anomaly_overflow(const struct pd_anomalies *a);

/** What rounding may leave of a difference of sums of `terms` terms whose sizes add up to `size`.
 */
double pd_anomaly_rounding(double terms, double size);

/** Median, and 1.4826 times the median absolute deviation (where that is 0, 1.2533 times the mean
 *  one), of `count` numbers, which are reordered. A scale above 0 is at least `rounding`, which
 *  alone would be anomalies otherwise. */
void pd_robust_scale(uint64_t count, double *numbers, double rounding, double *center,
                     double *scale);

/** Sorts the tests, controls the false-discovery rate, and makes room for the rows that are asked
 *  for; q of each goes to q[]. `tested`: number of tests, those that are not listed have p = 1. */
polyad_status pd_anomaly_rank(struct pd_anomalies *a, uint64_t count, struct pd_test *tests,
                              double tested, double *q);

/** The rows of slices and of indices. */
polyad_status pd_anomalies_of_indices(struct pd_anomalies *a);

#endif
