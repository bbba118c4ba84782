/* All starts of one rank: random ones, and one that grows the best model of the rank before by
 * random components, so that a component which random starts seldom find is kept from rank to rank.
 * The best start is iterated on: starts are compared after few iterations, but the core consistency
 * and predictions are those of a model that has settled. */
#include "algorithms/rank_fit.h"
#include "algorithms/model_start.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* How long a start may take. */
struct effort {
  int max_iterations;
  double tolerance;
};

static const int more_iterations = 4;
static const double less_tolerance = 0.01;

/* ---- one start ------------------------------------------------------------------------------ */

static double seconds_left(const struct pd_rank_job *job) {
  if (job->options->max_seconds <= 0) return 0;
  return fmax(job->options->max_seconds - (pd_seconds() - job->started), 1e-9);
}

static polyad_status run_als(struct pd_rank_job *job, const polyad_plan *plan,
                             const polyad_ktensor *initial, const struct effort *effort,
                             polyad_ktensor **model, polyad_run_info *info) {
  polyad_cp_als_options options;
  polyad_cp_als_options_init(&options);
  options.rank = initial->rank;
  options.run.max_iterations = effort->max_iterations;
  options.run.tolerance = effort->tolerance;
  options.run.max_seconds = seconds_left(job);
  options.nonnegative = job->options->algorithm == POLYAD_ALGORITHM_NONNEGATIVE;
  options.init = POLYAD_INIT_MODEL;
  options.initial = initial;
  return polyad_cp_als(job->context, plan, &options, model, info);
}

static polyad_status run_apr(struct pd_rank_job *job, const polyad_plan *plan,
                             const polyad_ktensor *initial, const struct effort *effort,
                             polyad_ktensor **model, polyad_run_info *info) {
  polyad_cp_apr_options options;
  polyad_cp_apr_options_init(&options);
  options.rank = initial->rank;
  options.method = job->options->algorithm == POLYAD_ALGORITHM_APR_PDNR   ? POLYAD_APR_PDNR
                   : job->options->algorithm == POLYAD_ALGORITHM_APR_PQNR ? POLYAD_APR_PQNR
                                                                          : POLYAD_APR_MU;
  options.run.max_iterations = effort->max_iterations;
  options.run.tolerance = effort->tolerance;
  options.run.max_seconds = seconds_left(job);
  options.init = POLYAD_INIT_MODEL;
  options.initial = initial;
  return polyad_cp_apr(job->context, plan, &options, model, info);
}

static polyad_status rank_fit_run_start(struct pd_rank_job *job, const polyad_plan *plan,
                                        const polyad_ktensor *initial, const struct effort *effort,
                                        polyad_ktensor **model, double *objective) {
  polyad_run_info info = {0};
  bool apr = pd_rank_is_apr(job->options);
  polyad_status status = apr ? run_apr(job, plan, initial, effort, model, &info)
                             : run_als(job, plan, initial, effort, model, &info);
  *objective = apr ? info.log_likelihood : info.fit;
  if (status == POLYAD_OK) {
    job->cancelled = job->cancelled || info.reason == POLYAD_REASON_CANCELLED;
    job->out_of_time = job->out_of_time || info.reason == POLYAD_REASON_MAX_SECONDS;
  }
  polyad_run_info_clear(&info);
  return status;
}

/* ---- first models --------------------------------------------------------------------------- */

/* Least squares takes no weights from a first model: they go into the first factor, relative to
 * the largest one. */
static void spread_weights(polyad_ktensor *model) {
  double most = 0;
  for (uint64_t r = 0; r < model->rank; ++r)
    most = fmax(most, fabs(pd_model_number(model, model->weights, r)));
  for (uint64_t r = 0; r < model->rank; ++r) {
    double weight = most > 0 ? pd_model_number(model, model->weights, r) / most : 1;
    for (uint64_t i = 0; i < model->dims[0]; ++i) {
      uint64_t k = i * model->rank + r;
      pd_model_set(model, model->factor[0], k,
                   pd_model_number(model, model->factor[0], k) * weight);
    }
  }
  pd_model_unit_weights(model);
}

/* Overwrites the first components of a model by those of another; the rest get their mean weight.
 */
static void take_components(const polyad_ktensor *from, polyad_ktensor *to) {
  double sum = 0;
  for (uint64_t r = 0; r < from->rank; ++r)
    sum += fabs(pd_model_number(from, from->weights, r));
  for (uint64_t r = 0; r < to->rank; ++r)
    pd_model_set(to, to->weights, r,
                 r < from->rank ? pd_model_number(from, from->weights, r)
                                : sum / (double)from->rank);
  for (int n = 0; n < to->order; ++n)
    for (uint64_t i = 0; i < to->dims[n]; ++i)
      for (uint64_t r = 0; r < from->rank; ++r)
        pd_model_set(to, to->factor[n], i * to->rank + r,
                     pd_model_number(from, from->factor[n], i * from->rank + r));
}

/* A start from a model of the same or a smaller rank. */
static polyad_status start_from(struct pd_rank_job *job, const polyad_plan *plan,
                                const polyad_ktensor *from, uint64_t rank, int stream,
                                const struct effort *effort, polyad_ktensor **model,
                                double *objective) {
  polyad_ktensor *initial = NULL;
  bool apr = pd_rank_is_apr(job->options);
  PD_TRY(polyad_ktensor_create(job->context, plan->order, plan->dims, rank, plan->type, &initial));
  if (rank > from->rank) {
    pd_model_fill_random(job->context, NULL, stream, initial);
    polyad_ktensor_normalize(initial, apr ? POLYAD_NORM_1 : POLYAD_NORM_2);
  }
  take_components(from, initial);
  if (!apr) spread_weights(initial);
  polyad_status status = rank_fit_run_start(job, plan, initial, effort, model, objective);
  polyad_ktensor_destroy(initial);
  return status;
}

polyad_status pd_rank_copy_model(polyad_context *context, const polyad_ktensor *from,
                                 polyad_ktensor **copy) {
  PD_TRY(polyad_ktensor_create(context, from->order, from->dims, from->rank, from->type, copy));
  size_t row = (size_t)from->rank * pd_type_bytes(from->type);
  memcpy((*copy)->weights, from->weights, row);
  for (int n = 0; n < from->order; ++n)
    memcpy((*copy)->factor[n], from->factor[n], row * (size_t)from->dims[n]);
  return POLYAD_OK;
}

/* ---- all starts ----------------------------------------------------------------------------- */

static void keep_better(struct pd_rank_models *models, polyad_ktensor **model, double objective) {
  if (models->best == NULL || objective > models->best_objective) {
    polyad_ktensor_destroy(models->best);
    models->best = *model;
    models->best_objective = objective;
    *model = NULL;
  }
  polyad_ktensor_destroy(*model);
  *model = NULL;
}

static polyad_status fit_random(struct pd_rank_job *job, const char *name, const polyad_plan *plan,
                                uint64_t rank, int starts, const struct effort *effort,
                                struct pd_rank_models *models) {
  polyad_ktensor *initial = NULL, *copy = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(
      polyad_ktensor_create(job->context, plan->order, plan->dims, rank, plan->type, &initial));
  for (int k = 0; k < starts && !pd_rank_ends(job); ++k) {
    snprintf(job->progress.stage, sizeof job->progress.stage, "%srank %llu, start %d of %d", name,
             (unsigned long long)rank, k + 1, starts);
    pd_model_unit_weights(initial);
    pd_model_fill_random(job->context, NULL, k, initial);
    PD_TRY_CLEANUP(
        rank_fit_run_start(job, plan, initial, effort, &models->start[k], &models->objective[k]));
    ++models->count;
    if (models->best != NULL && !(models->objective[k] > models->best_objective)) continue;
    PD_TRY_CLEANUP(pd_rank_copy_model(job->context, models->start[k], &copy));
    models->best_start = k;
    keep_better(models, &copy, models->objective[k]);
  }
cleanup:
  polyad_ktensor_destroy(copy);
  polyad_ktensor_destroy(initial);
  return status;
}

polyad_status pd_rank_fit(struct pd_rank_job *job, const char *name, const polyad_plan *plan,
                          uint64_t rank, int starts, const polyad_ktensor *previous,
                          struct pd_rank_models *models) {
  const polyad_rank_options *options = job->options;
  struct effort effort = {options->max_iterations, options->tolerance};
  struct effort last = {options->max_iterations > INT32_MAX / more_iterations
                            ? INT32_MAX
                            : options->max_iterations * more_iterations,
                        options->tolerance * less_tolerance};
  polyad_ktensor *model = NULL;
  double objective;
  *models = (struct pd_rank_models){.best_objective = -INFINITY};
  PD_TRY(PD_NEW_ZERO(job->context, (uint64_t)starts, &models->start));
  PD_TRY(PD_NEW_ZERO(job->context, (uint64_t)starts, &models->objective));
  PD_TRY(fit_random(job, name, plan, rank, starts, &effort, models));
  if (previous != NULL && !pd_rank_ends(job)) {
    PD_TRY(start_from(job, plan, previous, rank, starts, &effort, &model, &objective));
    if (objective > models->best_objective) models->best_start = starts;
    keep_better(models, &model, objective);
  }
  if (pd_rank_is_apr(options) || pd_rank_ends(job) || models->best == NULL) return POLYAD_OK;
  PD_TRY(start_from(job, plan, models->best, rank, 0, &last, &model, &objective));
  keep_better(models, &model, objective);
  return POLYAD_OK;
}

void pd_rank_models_clear(polyad_context *context, struct pd_rank_models *models) {
  for (int k = 0; models->start != NULL && k < models->count; ++k)
    polyad_ktensor_destroy(models->start[k]);
  pd_free(context, models->start);
  pd_free(context, models->objective);
  polyad_ktensor_destroy(models->best);
  *models = (struct pd_rank_models){.count = 0};
}
