/* A scan of ranks: models of all ranks from all starts on one plan, then those of the folds, then
 * the advice. Memory holds the models of one rank at a time, and the best of each. */
#include "algorithms/rank_scan.h"
#include "algorithms/core_consistency.h"
#include "algorithms/model_start.h"
#include "algorithms/rank_holdout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FOLDS = 64 };

struct scan {
  struct pd_rank_job job;
  const polyad_plan *plan;
  polyad_tensor *tensor;
  struct pd_tree tree;
  struct pd_holdout holdout;
  polyad_rank_row *rows;
  int done;              /* rows that are complete but for their held-out error */
  polyad_ktensor **best; /* model of each rank */
  double *error;         /* ranks x folds */
  double *match;         /* ranks x folds: replicability */
};

void polyad_rank_options_init(polyad_rank_options *options) {
  *options =
      (polyad_rank_options){.starts = 10, .max_iterations = 50, .tolerance = 1e-4, .folds = 4};
}

void polyad_rank_result_clear(polyad_rank_result *result) {
  if (result == NULL) return;
  pd_free(NULL, result->rows);
  memset(result, 0, sizeof *result);
}

/* ---- checks --------------------------------------------------------------------------------- */

static polyad_status check_ranks(polyad_context *context, const polyad_rank_options *o) {
  if (o->ranks == NULL || o->rank_count < 1)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "no ranks to try are given");
  for (int k = 0; k < o->rank_count; ++k)
    if (o->ranks[k] < 1 || (k > 0 && o->ranks[k] <= o->ranks[k - 1]))
      return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                     "rank %llu found; expected ascending ranks of 1 or more",
                     (unsigned long long)o->ranks[k]);
  return POLYAD_OK;
}

static polyad_status rank_scan_check_options(polyad_context *context,
                                             const polyad_rank_options *o) {
  PD_TRY(check_ranks(context, o));
  if (o->algorithm < POLYAD_ALGORITHM_ALS || o->algorithm > POLYAD_ALGORITHM_APR_PQNR)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "algorithm %d found; expected 0 to %d",
                   (int)o->algorithm, (int)POLYAD_ALGORITHM_APR_PQNR);
  if (o->starts < 1)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "%d starts found; expected 1 or more",
                   o->starts);
  if (o->max_iterations < 1)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "max_iterations %d found; expected 1 or more",
                   o->max_iterations);
  if (!(o->tolerance >= 0) || !(o->max_seconds >= 0))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "tolerance %g and max_seconds %g found; expected 0 or more", o->tolerance,
                   o->max_seconds);
  if (o->folds < 0 || o->folds == 1 || o->folds > MOST_FOLDS)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "%d folds found; expected 0 or 2 to %d",
                   o->folds, MOST_FOLDS);
  return POLYAD_OK;
}

/* ---- one rank on the whole tensor ----------------------------------------------------------- */

static int rank_scan_compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* NaN of none. The numbers are sorted. */
static double rank_scan_median_of(double *numbers, int count) {
  if (count == 0) return NAN;
  qsort(numbers, (size_t)count, sizeof *numbers, rank_scan_compare_doubles);
  return 0.5 * (numbers[(count - 1) / 2] + numbers[count / 2]);
}

/* Fits of CP-APR's models, whose runs know the log-likelihood alone. */
static polyad_status find_fits(struct scan *s, const struct pd_rank_models *models,
                               polyad_rank_row *row, double *fits) {
  if (!pd_rank_is_apr(s->job.options)) {
    memcpy(fits, models->objective, (size_t)models->count * sizeof *fits);
    row->fit_best = models->best_objective;
    return POLYAD_OK;
  }
  row->log_likelihood = models->best_objective;
  for (int k = 0; k < models->count; ++k)
    PD_TRY(polyad_ktensor_fit(s->job.context, models->start[k], s->tensor, &fits[k]));
  return polyad_ktensor_fit(s->job.context, models->best, s->tensor, &row->fit_best);
}

static polyad_status find_stability(struct scan *s, const struct pd_rank_models *models,
                                    polyad_rank_row *row, double *scores) {
  int count = 0;
  for (int k = 0; k < models->count; ++k)
    if (k != models->best_start)
      PD_TRY(polyad_ktensor_score(s->job.context, models->best, models->start[k], 0,
                                  &scores[count++], NULL));
  row->stability = rank_scan_median_of(scores, count);
  return POLYAD_OK;
}

/* A core that does not fit leaves the row without core consistency. */
static polyad_status find_consistency(struct scan *s, const polyad_ktensor *model,
                                      polyad_rank_row *row) {
  polyad_context *context = s->job.context;
  struct pd_stage stage = pd_stage_begin(context, "core consistency");
  polyad_status status = pd_core_consistency(&stage, &s->tree, model, &row->core_consistency);
  if (status != POLYAD_MEMORY_LIMIT && status != POLYAD_OVERFLOW) return status;
  pd_log(context, POLYAD_LOG_INFO, "rank %llu: no core consistency: %s",
         (unsigned long long)row->rank, polyad_last_error(context));
  pd_begin(context);
  row->core_consistency = NAN;
  return POLYAD_OK;
}

/* Multiplies all weights by 2^exponent: to the values of the plan, or back. */
static polyad_status scale_models(struct scan *s, struct pd_rank_models *models, int exponent) {
  for (int k = 0; k < models->count; ++k)
    PD_TRY(pd_model_scale_weights(s->job.context, exponent, models->start[k]));
  return pd_model_scale_weights(s->job.context, exponent, models->best);
}

static polyad_status rank_scan_measure(struct scan *s, struct pd_rank_models *models,
                                       polyad_rank_row *row) {
  double *numbers = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY(scale_models(s, models, -s->plan->value_exponent));
  PD_TRY_CLEANUP(PD_NEW(s->job.context, (uint64_t)models->count, &numbers));
  PD_TRY_CLEANUP(find_fits(s, models, row, numbers));
  row->fit_median = rank_scan_median_of(numbers, models->count);
  PD_TRY_CLEANUP(find_stability(s, models, row, numbers));
  PD_TRY_CLEANUP(find_consistency(s, models->best, row));
  status = scale_models(s, models, s->plan->value_exponent);
cleanup:
  pd_free(s->job.context, numbers);
  return status;
}

static polyad_status scan_rank(struct scan *s, int k) {
  struct pd_rank_models models;
  uint64_t rank = s->job.options->ranks[k];
  double began = pd_seconds();
  polyad_rank_row row = {.rank = rank,
                         .log_likelihood = NAN,
                         .core_consistency = NAN,
                         .stability = NAN,
                         .replicability = NAN,
                         .holdout_error = NAN,
                         .holdout_deviation = NAN};
  polyad_status status = pd_rank_fit(&s->job, "", s->plan, rank, s->job.options->starts,
                                     k > 0 ? s->best[k - 1] : NULL, &models);
  if (status == POLYAD_OK && !pd_rank_ends(&s->job)) {
    row.starts = models.count;
    status = rank_scan_measure(s, &models, &row);
    row.seconds = pd_seconds() - began;
  }
  if (status == POLYAD_OK && !pd_rank_ends(&s->job)) {
    s->best[k] = models.best;
    models.best = NULL;
    s->rows[s->done++] = row;
    pd_log(s->job.context, POLYAD_LOG_INFO,
           "rank %llu: fit %.6f, core consistency %.4g, stability %.3f", (unsigned long long)rank,
           row.fit_best, row.core_consistency, row.stability);
  }
  pd_rank_models_clear(s->job.context, &models);
  return status;
}

/* ---- the folds ------------------------------------------------------------------------------ */

static polyad_status scan_fold(struct scan *s, int fold) {
  struct pd_rank_job *job = &s->job;
  struct pd_rank_models models = {.count = 0};
  polyad_plan *plan = NULL;
  polyad_ktensor *previous = NULL;
  polyad_status status = POLYAD_OK;
  int starts = (job->options->starts + 2) / 3, folds = s->holdout.folds;
  char name[40];
  snprintf(name, sizeof name, "fold %d of %d, ", fold + 1, folds);
  PD_TRY_CLEANUP(pd_holdout_plan(job, &s->holdout, s->tensor, fold, &plan));
  for (int k = 0; plan != NULL && k < s->done; ++k) {
    double began = pd_seconds();
    int at = k * folds + fold;
    PD_TRY_CLEANUP(pd_rank_fit(job, name, plan, s->rows[k].rank, starts, previous, &models));
    if (pd_rank_ends(job)) break;
    PD_TRY_CLEANUP(
        pd_holdout_error(job->context, &s->holdout, s->tensor, fold, models.best, &s->error[at]));
    PD_TRY_CLEANUP(
        pd_holdout_match(job->context, &s->holdout, fold, models.best, s->best[k], &s->match[at]));
    polyad_ktensor_destroy(previous);
    previous = models.best;
    models.best = NULL;
    pd_rank_models_clear(job->context, &models);
    s->rows[k].seconds += pd_seconds() - began;
  }
cleanup:
  pd_rank_models_clear(job->context, &models);
  polyad_ktensor_destroy(previous);
  polyad_plan_destroy(plan);
  return status;
}

/* Mean of the numbers that are known, and its standard error. */
static void rank_scan_mean_of(const double *numbers, int count, double *mean, double *deviation) {
  double sum = 0, squares = 0;
  int known = 0;
  for (int k = 0; k < count; ++k)
    if (!isnan(numbers[k])) {
      sum += numbers[k];
      ++known;
    }
  *mean = known > 0 ? sum / known : NAN;
  for (int k = 0; k < count; ++k)
    if (!isnan(numbers[k])) squares += (numbers[k] - *mean) * (numbers[k] - *mean);
  *deviation = known > 1 ? sqrt(squares / (known - 1) / known) : NAN;
}

static polyad_status scan_folds(struct scan *s) {
  int folds = s->holdout.folds;
  uint64_t cells = (uint64_t)s->done * (uint64_t)folds;
  double ignored;
  PD_TRY(PD_NEW(s->job.context, cells, &s->error));
  PD_TRY(PD_NEW(s->job.context, cells, &s->match));
  for (uint64_t k = 0; k < cells; ++k)
    s->error[k] = s->match[k] = NAN;
  for (int fold = 0; fold < folds && !pd_rank_ends(&s->job); ++fold)
    PD_TRY(scan_fold(s, fold));
  if (pd_rank_ends(&s->job)) s->holdout.folds = 0; /* ranks would differ in their folds */
  for (int k = 0; k < s->done && s->holdout.folds > 0; ++k) {
    polyad_rank_row *row = &s->rows[k];
    rank_scan_mean_of(s->error + k * folds, folds, &row->holdout_error, &row->holdout_deviation);
    rank_scan_mean_of(s->match + k * folds, folds, &row->replicability, &ignored);
  }
  return POLYAD_OK;
}

/* ---- the scan ------------------------------------------------------------------------------- */

/* The tensor with the values of the plan, which are scaled where their squares would overflow. */
static polyad_status take_tensor(struct scan *s) {
  PD_TRY(pd_plan_expand(s->job.context, s->plan, &s->tensor));
  return pd_tree_create(s->job.context, s->tensor, &s->tree);
}

/* A caller's wish to end the scan is no error. */
static polyad_status excuse(struct scan *s, polyad_status status) {
  if (status != POLYAD_CANCELLED) return status;
  s->job.cancelled = true;
  pd_begin(s->job.context);
  return POLYAD_OK;
}

static polyad_status rank_scan_run(struct scan *s) {
  polyad_context *context = s->job.context;
  uint64_t count = (uint64_t)s->job.options->rank_count;
  PD_TRY(PD_NEW_ZERO(context, count, &s->rows));
  PD_TRY(PD_NEW_ZERO(context, count, &s->best));
  PD_TRY(take_tensor(s));
  for (uint64_t k = 0; k < count && !pd_rank_ends(&s->job); ++k)
    PD_TRY(excuse(s, scan_rank(s, (int)k)));
  if (s->done == 0 || pd_rank_ends(&s->job)) return POLYAD_OK;
  PD_TRY(pd_holdout_split(context, s->tensor, s->job.options->folds, &s->holdout));
  return s->holdout.folds == 0 ? POLYAD_OK : excuse(s, scan_folds(s));
}

static void rank_scan_report(struct scan *s, polyad_rank_result *result) {
  polyad_rank_result_clear(result);
  *result = (polyad_rank_result){.row_count = s->done,
                                 .rows = s->rows,
                                 .folds = s->holdout.folds,
                                 .modes = {s->holdout.mode[0], s->holdout.mode[1]},
                                 .cancelled = s->job.cancelled,
                                 .out_of_time = s->job.out_of_time,
                                 .seconds = pd_seconds() - s->job.started};
  struct pd_rank_evidence evidence = {
      .rows = s->done, .folds = s->holdout.folds, .row = s->rows, .error = s->error};
  pd_rank_advise(&evidence, result);
  s->rows = NULL;
}

static void rank_scan_clear(struct scan *s) {
  polyad_context *context = s->job.context;
  for (int k = 0; s->best != NULL && k < s->job.options->rank_count; ++k)
    polyad_ktensor_destroy(s->best[k]);
  pd_free(context, s->best);
  pd_free(context, s->rows);
  pd_free(context, s->error);
  pd_free(context, s->match);
  pd_holdout_clear(context, &s->holdout);
  pd_tree_clear(&s->tree);
  polyad_tensor_destroy(s->tensor);
}

polyad_status polyad_rank_scan(polyad_context *context, const polyad_plan *plan,
                               const polyad_rank_options *options, polyad_rank_result *result) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (plan == NULL || options == NULL || result == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "plan, options or result is NULL");
  PD_TRY(rank_scan_check_options(context, options));
  struct scan s = {.job = {.context = context, .options = options, .started = pd_seconds()},
                   .plan = plan};
  pd_nested_progress_begin(&s.job.progress, context);
  polyad_status status = rank_scan_run(&s);
  pd_nested_progress_end(&s.job.progress);
  if (status == POLYAD_OK) rank_scan_report(&s, result);
  rank_scan_clear(&s);
  return status;
}
