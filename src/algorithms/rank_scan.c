/* A scan of ranks: models of all ranks from all starts on one plan, then those of the folds, then
 * the advice. Memory holds the models of the ranks that are fitted at once, and the best of each;
 * a checkpoint keeps what is found whenever such a group of ranks is done. */
#include "algorithms/rank_scan.h"
#include "algorithms/core_consistency.h"
#include "algorithms/model_start.h"
#include "algorithms/nonnegative.h"
#include "algorithms/rank_archive.h"
#include "algorithms/rank_holdout.h"
#include "algorithms/run_options.h"
#include "core/median.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_FOLDS = 64 };

struct scan {
  struct pd_rank_job job;
  const polyad_plan *plan;
  polyad_tensor *tensor;
  struct pd_tree tree;
  struct pd_holdout holdout;
  struct pd_rank_found found;
  struct pd_rank_archive archive;
};

static const polyad_rank_row nothing_known = {.log_likelihood = NAN,
                                              .core_consistency = NAN,
                                              .stability = NAN,
                                              .replicability = NAN,
                                              .holdout_error = NAN,
                                              .holdout_deviation = NAN};

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
  PD_EXPECT(context, o->ranks != NULL && o->rank_count >= 1, "no ranks to try are given");
  for (int k = 0; k < o->rank_count; ++k)
    if (o->ranks[k] < 1 || (k > 0 && o->ranks[k] <= o->ranks[k - 1]))
      return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                     "rank %llu found; expected ascending ranks of at least 1",
                     (unsigned long long)o->ranks[k]);
  return POLYAD_OK;
}

static polyad_status rank_scan_check_options(polyad_context *context, const polyad_rank_options *o,
                                             int order) {
  PD_TRY(check_ranks(context, o));
  PD_EXPECT(
      context, o->algorithm >= POLYAD_ALGORITHM_ALS && o->algorithm <= POLYAD_ALGORITHM_APR_PQNR,
      "algorithm %d found; expected 0 to %d", (int)o->algorithm, (int)POLYAD_ALGORITHM_APR_PQNR);
  PD_TRY(pd_nonnegative_check_algorithm(context, o->nonnegative_modes, o->algorithm));
  PD_TRY(pd_nonnegative_check(context, o->nonnegative_modes, order));
  polyad_run_options run = pd_run_options_default(o->max_iterations);
  run.starts = o->starts;
  run.tolerance = o->tolerance;
  run.max_seconds = o->max_seconds;
  PD_TRY(pd_run_options_check(context, &run, 1));
  PD_EXPECT(context, o->folds >= 0 && o->folds != 1 && o->folds <= MOST_FOLDS,
            "%d folds found; expected 0 or 2 to %d", o->folds, MOST_FOLDS);
  return POLYAD_OK;
}

/* ---- one rank on the whole tensor ----------------------------------------------------------- */

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

/* Whether a start came to the fit of the best one, but for what its tolerance leaves. One that
 * ended in a worse optimum says that this happens, not whether the best model is the only one of
 * its fit. Log-likelihoods have no such measure: all starts count. */
static bool comes_to_best(const struct scan *s, const struct pd_rank_models *models,
                          double objective) {
  const double most_residual = 1.1, tolerances = 10;
  if (pd_rank_is_apr(s->job.options)) return true;
  return 1 - objective <=
         most_residual * (1 - models->highest) + tolerances * s->job.options->tolerance;
}

/* Scores of other starts that came to the best fit, that from a smaller rank among them; where
 * there is none, of all random ones. `scores` has room for all of them. */
static polyad_status find_scores(struct scan *s, const struct pd_rank_models *models,
                                 double *scores, int *count) {
  polyad_context *context = s->job.context;
  int alone = 1;
  for (int all = 0; all < 2 && alone; ++all) {
    for (int k = 0; k < models->count; ++k) {
      if (k == models->best_start) continue;
      if (!all && !comes_to_best(s, models, models->objective[k])) continue;
      PD_TRY(polyad_ktensor_score(context, models->best, models->start[k], 0, &scores[(*count)++],
                                  NULL));
    }
    if (!all && models->grown != NULL && comes_to_best(s, models, models->grown_objective))
      PD_TRY(
          polyad_ktensor_score(context, models->best, models->grown, 0, &scores[(*count)++], NULL));
    alone = *count == 0;
  }
  return POLYAD_OK;
}

static polyad_status find_stability(struct scan *s, const struct pd_rank_models *models,
                                    polyad_rank_row *row, double *scores) {
  int count = 0;
  for (int k = 0; k < models->count; ++k)
    row->starts_at_best += comes_to_best(s, models, models->objective[k]);
  PD_TRY(find_scores(s, models, scores, &count));
  row->stability = pd_median((uint64_t)count, scores);
  return POLYAD_OK;
}

/* A core that does not fit leaves the row without core consistency; so does the end of the scan,
 * for that may take long. */
static polyad_status find_consistency(struct scan *s, const polyad_ktensor *model,
                                      polyad_rank_row *row) {
  polyad_context *context = s->job.context;
  struct pd_stage stage = pd_stage_begin(context, "core consistency");
  if (pd_rank_ends(&s->job)) return POLYAD_OK;
  polyad_status status = pd_core_consistency(&stage, &s->tree, model, &row->core_consistency);
  s->job.cancelled = status == POLYAD_CANCELLED;
  if (status != POLYAD_MEMORY_LIMIT && status != POLYAD_OVERFLOW && status != POLYAD_CANCELLED)
    return status;
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
  if (models->grown != NULL)
    PD_TRY(pd_model_scale_weights(s->job.context, exponent, models->grown));
  return pd_model_scale_weights(s->job.context, exponent, models->best);
}

static polyad_status rank_scan_measure(struct scan *s, struct pd_rank_models *models,
                                       polyad_rank_row *row) {
  double *numbers = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY(scale_models(s, models, -s->plan->value_exponent));
  PD_TRY_CLEANUP(PD_NEW(s->job.context, (uint64_t)models->count + 1, &numbers));
  PD_TRY_CLEANUP(find_fits(s, models, row, numbers));
  row->fit_median = pd_median((uint64_t)models->count, numbers);
  PD_TRY_CLEANUP(find_stability(s, models, row, numbers));
  PD_TRY_CLEANUP(find_consistency(s, models->best, row));
  status = scale_models(s, models, s->plan->value_exponent);
cleanup:
  pd_free(s->job.context, numbers);
  return status;
}

/* The row of a rank whose fits are done; its best model stays. */
static polyad_status scan_rank(struct scan *s, struct pd_rank_models *models, double seconds) {
  double began = pd_seconds();
  struct pd_rank_found *found = &s->found;
  polyad_rank_row row = nothing_known;
  row.rank = models->rank;
  row.starts = models->count;
  PD_TRY(rank_scan_measure(s, models, &row));
  row.seconds = seconds + (pd_seconds() - began);
  found->best[found->done] = models->best;
  models->best = NULL;
  found->rows[found->done++] = row;
  pd_log(s->job.context, POLYAD_LOG_INFO,
         "rank %llu: fit %.6f, core consistency %.4g, stability %.3f", (unsigned long long)row.rank,
         row.fit_best, row.core_consistency, row.stability);
  return POLYAD_OK;
}

/* Ranks that are fitted at once. Where the scan ends in between, those that have starts are kept.
 */
static polyad_status scan_group(struct scan *s, int count) {
  struct pd_rank_models *models;
  const struct pd_rank_found *found = &s->found;
  const uint64_t *ranks = s->job.options->ranks + found->done;
  uint64_t columns = 0;
  double began = pd_seconds();
  PD_TRY(PD_NEW_ZERO(s->job.context, (uint64_t)count, &models));
  polyad_status status = pd_rank_fit(&s->job, "", s->plan, ranks, count, s->job.options->starts,
                                     found->done > 0 ? found->best[found->done - 1] : NULL, models);
  double seconds = pd_seconds() - began;
  for (int k = 0; k < count; ++k)
    columns += ranks[k];
  for (int k = 0; k < count && status == POLYAD_OK && models[k].count > 0; ++k)
    status = scan_rank(s, &models[k], seconds * (double)models[k].rank / (double)columns);
  pd_rank_models_clear(s->job.context, models, count);
  pd_free(s->job.context, models);
  return status;
}

/* ---- the folds ------------------------------------------------------------------------------ */

/* Parts of the data tell of the whole with fewer starts. */
static int fold_starts(const struct scan *s) { return (s->job.options->starts + 2) / 3; }

static polyad_status measure_fold(struct scan *s, int fold, int k, const polyad_ktensor *model) {
  polyad_context *context = s->job.context;
  struct pd_rank_found *found = &s->found;
  int at = k * found->folds + fold;
  PD_TRY(pd_holdout_error(context, &s->holdout, s->tensor, fold, model, &found->error[at]));
  return pd_holdout_match(context, &s->holdout, fold, model, found->best[k], &found->match[at]);
}

/* Fits the next ranks of a fold to the training part, as many as go at once, and measures them. */
static polyad_status scan_fold_group(struct scan *s, const polyad_plan *plan, int count) {
  struct pd_rank_job *job = &s->job;
  struct pd_rank_found *found = &s->found;
  struct pd_rank_models *models;
  double began = pd_seconds();
  int first = found->next;
  char name[40];
  snprintf(name, sizeof name, "fold %d of %d, ", found->fold + 1, found->folds);
  PD_TRY(PD_NEW_ZERO(job->context, (uint64_t)count, &models));
  polyad_status status = pd_rank_fit(job, name, plan, job->options->ranks + first, count,
                                     fold_starts(s), found->previous, models);
  for (int k = 0; k < count && status == POLYAD_OK && !pd_rank_ends(job); ++k)
    status = measure_fold(s, found->fold, first + k, models[k].best);
  polyad_ktensor_destroy(found->previous);
  found->previous = models[count - 1].best;
  models[count - 1].best = NULL;
  pd_rank_models_clear(job->context, models, count);
  pd_free(job->context, models);
  for (int k = first; k < first + count; ++k)
    found->rows[k].seconds += (pd_seconds() - began) / count;
  found->next += count;
  return status;
}

static void end_fold(struct pd_rank_found *found) {
  polyad_ktensor_destroy(found->previous);
  found->previous = NULL;
  found->next = 0;
  ++found->fold;
}

/* The ranks of the running fold. */
static polyad_status scan_fold(struct scan *s) {
  struct pd_rank_job *job = &s->job;
  struct pd_rank_found *found = &s->found;
  int fold = found->fold;
  polyad_plan *plan = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_holdout_plan(job, &s->holdout, s->tensor, fold, &plan));
  if (plan == NULL) end_fold(found);
  while (found->fold == fold) {
    int group = pd_rank_group(job, plan, job->options->ranks + found->next,
                              found->done - found->next, fold_starts(s));
    PD_TRY_CLEANUP(scan_fold_group(s, plan, group));
    if (pd_rank_ends(job)) break;
    if (found->next == found->done) end_fold(found);
    PD_TRY_CLEANUP(pd_rank_archive_save(&s->archive));
  }
cleanup:
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
  struct pd_rank_found *found = &s->found;
  int folds = found->folds;
  double ignored;
  while (found->fold < folds && !pd_rank_ends(&s->job))
    PD_TRY(scan_fold(s));
  for (int k = 0; k < found->done && !pd_rank_ends(&s->job); ++k) {
    polyad_rank_row *row = &found->rows[k];
    rank_scan_mean_of(found->error + k * folds, folds, &row->holdout_error,
                      &row->holdout_deviation);
    rank_scan_mean_of(found->match + k * folds, folds, &row->replicability, &ignored);
  }
  return POLYAD_OK;
}

/* ---- the scan ------------------------------------------------------------------------------- */

/* Room for all that will be found. */
static polyad_status rank_scan_make_room(struct scan *s) {
  polyad_context *context = s->job.context;
  struct pd_rank_found *found = &s->found;
  uint64_t ranks = (uint64_t)s->job.options->rank_count;
  PD_TRY(PD_NEW(context, ranks, &found->rows));
  PD_TRY(PD_NEW_ZERO(context, ranks, &found->best));
  PD_TRY(pd_holdout_split(context, s->tensor, s->job.options->folds, &s->holdout));
  found->folds = s->holdout.folds;
  uint64_t cells = ranks * (uint64_t)found->folds;
  PD_TRY(PD_NEW(context, cells, &found->error));
  PD_TRY(PD_NEW(context, cells, &found->match));
  for (uint64_t k = 0; k < ranks; ++k)
    found->rows[k] = nothing_known;
  for (uint64_t k = 0; k < cells; ++k)
    found->error[k] = found->match[k] = NAN;
  return POLYAD_OK;
}

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

static polyad_status scan_ranks(struct scan *s) {
  const polyad_rank_options *options = s->job.options;
  const struct pd_rank_found *found = &s->found;
  while (found->done < options->rank_count && !pd_rank_ends(&s->job)) {
    int group = pd_rank_group(&s->job, s->plan, options->ranks + found->done,
                              options->rank_count - found->done, options->starts);
    PD_TRY(scan_group(s, group));
    if (!pd_rank_ends(&s->job)) PD_TRY(pd_rank_archive_save(&s->archive));
  }
  return POLYAD_OK;
}

static polyad_status rank_scan_run(struct scan *s) {
  PD_TRY(take_tensor(s));
  PD_TRY(rank_scan_make_room(s));
  PD_TRY(pd_rank_archive_open(&s->archive));
  PD_TRY(excuse(s, scan_ranks(s)));
  if (!pd_rank_ends(&s->job)) PD_TRY(excuse(s, scan_folds(s)));
  if (pd_rank_ends(&s->job)) s->found.folds = 0; /* ranks would differ in their folds */
  return POLYAD_OK;
}

static void rank_scan_report(struct scan *s, polyad_rank_result *result) {
  struct pd_rank_found *found = &s->found;
  polyad_rank_result_clear(result);
  *result = (polyad_rank_result){.row_count = found->done,
                                 .rows = found->rows,
                                 .folds = found->folds,
                                 .modes = {s->holdout.mode[0], s->holdout.mode[1]},
                                 .cancelled = s->job.cancelled,
                                 .out_of_time = s->job.out_of_time,
                                 .seconds = found->seconds + (pd_seconds() - s->job.started)};
  struct pd_rank_evidence evidence = {.rows = found->done,
                                      .folds = found->folds,
                                      .row = found->rows,
                                      .error = found->error,
                                      .order = pd_rank_is_apr(s->job.options) ? 0 : s->plan->order,
                                      .dims = s->plan->dims};
  pd_rank_advise(&evidence, result);
  found->rows = NULL;
}

static void rank_scan_clear(struct scan *s) {
  polyad_context *context = s->job.context;
  struct pd_rank_found *found = &s->found;
  pd_rank_archive_close(&s->archive);
  for (int k = 0; found->best != NULL && k < s->job.options->rank_count; ++k)
    polyad_ktensor_destroy(found->best[k]);
  polyad_ktensor_destroy(found->previous);
  PD_FREE(context, found->best, found->rows, found->error, found->match);
  pd_holdout_clear(context, &s->holdout);
  pd_tree_clear(&s->tree);
  polyad_tensor_destroy(s->tensor);
}

polyad_status polyad_rank_scan(polyad_context *context, const polyad_plan *plan,
                               const polyad_rank_options *options, polyad_rank_result *result) {
  PD_ENTER(context);
  PD_EXPECT(context, plan != NULL && options != NULL && result != NULL,
            "plan, options or result is NULL");
  PD_TRY(rank_scan_check_options(context, options, plan->order));
  struct scan s = {.job = {.context = context, .options = options, .started = pd_seconds()},
                   .plan = plan};
  s.archive = (struct pd_rank_archive){.context = context,
                                       .plan = plan,
                                       .options = options,
                                       .found = &s.found,
                                       .started = s.job.started};
  pd_nested_progress_begin(&s.job.progress, context);
  polyad_status status = rank_scan_run(&s);
  pd_nested_progress_end(&s.job.progress);
  if (status == POLYAD_OK) rank_scan_report(&s, result);
  rank_scan_clear(&s);
  return status;
}
