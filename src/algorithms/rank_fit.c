/* All starts of several ranks. Random starts come first. The best model of each rank is grown by
 * random components into a start of the next one, so that a component which random starts seldom
 * find is kept from rank to rank; a rank whose model that has changed makes the next one grow
 * again. Then the best are iterated on, for starts are compared after few iterations, but the core
 * consistency and predictions are those of a model that has settled. A rank that ends below a
 * smaller one grows from that.
 *
 * Runs of least squares on one device go side by side (als_together.h), those of all ranks in one
 * list; others in turn, rank by rank. */
#include "algorithms/rank_fit.h"
#include "algorithms/als_together.h"
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

/* A run that is to be done: of a random start, or from a first model. */
struct fit {
  uint64_t rank;
  int start;               /* the random start */
  polyad_ktensor *initial; /* NULL: random */
  struct effort effort;
  char stage[64]; /* what the progress function hears */
  polyad_ktensor *model;
  bool cut; /* the end of the scan was that of the run, too */
  double objective;
};

/* What is to be done for a rank after its random starts. */
struct todo {
  bool grow, settle;
  double seen; /* the objective of this rank's model when the next one grew from it */
};

/* The fits of some ranks to one plan. */
struct fitting {
  struct pd_rank_job *job;
  const char *name;
  const polyad_plan *plan;
  int count, starts;
  const polyad_ktensor *previous;
  struct pd_rank_models *models;
  bool together;
  struct fit *fit; /* room for the most that are done at once */
  struct todo *todo;
};

/* ---- runs ----------------------------------------------------------------------------------- */

static double seconds_left(const struct pd_rank_job *job) {
  if (job->options->max_seconds <= 0) return 0;
  return fmax(job->options->max_seconds - (pd_seconds() - job->started), 1e-9);
}

static void note_end(struct pd_rank_job *job, struct fit *fit, polyad_reason reason) {
  fit->cut = reason == POLYAD_REASON_CANCELLED || reason == POLYAD_REASON_MAX_SECONDS;
  job->cancelled = job->cancelled || reason == POLYAD_REASON_CANCELLED;
  job->out_of_time = job->out_of_time || reason == POLYAD_REASON_MAX_SECONDS;
}

static polyad_cp_als_options als_options(const struct pd_rank_job *job, const struct fit *fit) {
  polyad_cp_als_options options;
  polyad_cp_als_options_init(&options);
  options.rank = fit->rank;
  options.run.max_iterations = fit->effort.max_iterations;
  options.run.tolerance = fit->effort.tolerance;
  options.run.max_seconds = seconds_left(job);
  options.nonnegative = job->options->algorithm == POLYAD_ALGORITHM_NONNEGATIVE;
  options.nonnegative_modes = job->options->nonnegative_modes;
  options.init = fit->initial != NULL ? POLYAD_INIT_MODEL : POLYAD_INIT_RANDOM;
  options.initial = fit->initial;
  return options;
}

static polyad_status run_apr(struct pd_rank_job *job, const polyad_plan *plan, struct fit *fit,
                             polyad_run_info *info) {
  polyad_cp_apr_options options;
  polyad_cp_apr_options_init(&options);
  options.rank = fit->rank;
  options.method = job->options->algorithm == POLYAD_ALGORITHM_APR_PDNR   ? POLYAD_APR_PDNR
                   : job->options->algorithm == POLYAD_ALGORITHM_APR_PQNR ? POLYAD_APR_PQNR
                                                                          : POLYAD_APR_MU;
  options.run.max_iterations = fit->effort.max_iterations;
  options.run.tolerance = fit->effort.tolerance;
  options.run.max_seconds = seconds_left(job);
  options.init = POLYAD_INIT_MODEL;
  options.initial = fit->initial;
  return polyad_cp_apr(job->context, plan, &options, &fit->model, info);
}

/* Weights of 1 for a first model. The plan of a tensor of very small values holds them scaled up,
 * by 2^-value_exponent, and weights with them: beside 1e-310 a weight of 1 would be infinite. That
 * of very large values scales weights down, where half of the power keeps them from becoming zero
 * and from overflowing here. */
static void even_weights(const polyad_plan *plan, polyad_ktensor *model) {
  int exponent = plan->value_exponent;
  double weight = ldexp(1, exponent > 0 ? exponent / 2 : exponent);
  for (uint64_t r = 0; r < model->rank; ++r)
    pd_model_set(model, model->weights, r, weight);
}

static void rank_fit_set_stage(struct fitting *f, const struct fit *fit) {
  char *stage = f->job->progress.stage;
  snprintf(stage, sizeof f->job->progress.stage, "%.15s%s", f->name, fit->stage);
}

static polyad_status run_one(struct fitting *f, struct fit *fit) {
  struct pd_rank_job *job = f->job;
  polyad_run_info info = {0};
  bool apr = pd_rank_is_apr(job->options);
  rank_fit_set_stage(f, fit);
  if (fit->initial == NULL) {
    PD_TRY(polyad_ktensor_create(job->context, f->plan->order, f->plan->dims, fit->rank,
                                 f->plan->type, &fit->initial));
    even_weights(f->plan, fit->initial);
    pd_model_fill_random(job->context, NULL, fit->start, fit->initial);
  }
  polyad_cp_als_options options = als_options(job, fit);
  polyad_status status = apr ? run_apr(job, f->plan, fit, &info)
                             : polyad_cp_als(job->context, f->plan, &options, &fit->model, &info);
  fit->objective = apr ? info.log_likelihood : info.fit;
  if (status == POLYAD_OK) note_end(job, fit, info.reason);
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(fit->initial);
  fit->initial = NULL;
  return status;
}

static void rank_fit_announce(void *user, int task) {
  struct fitting *f = user;
  rank_fit_set_stage(f, &f->fit[task]);
}

static polyad_status run_together(struct fitting *f, int count) {
  struct pd_als_task *task;
  if (count == 0) return POLYAD_OK;
  PD_TRY(PD_NEW_ZERO(f->job->context, (uint64_t)count, &task));
  for (int k = 0; k < count; ++k)
    task[k] =
        (struct pd_als_task){.options = als_options(f->job, &f->fit[k]), .start = f->fit[k].start};
  struct pd_als_tasks tasks = {
      .task = task, .count = count, .announce = rank_fit_announce, .user = f};
  polyad_status status = pd_als_together(f->job->context, f->plan, &tasks);
  for (int k = 0; k < count; ++k) {
    f->fit[k].model = task[k].model;
    f->fit[k].objective = task[k].fit;
    if (task[k].model != NULL) note_end(f->job, &f->fit[k], task[k].reason);
  }
  pd_free(f->job->context, task);
  return status;
}

/* Runs the first fits of the room; fits that the end of the scan left undone have no model. */
static polyad_status run_fits(struct fitting *f, int count) {
  polyad_status status = f->together ? run_together(f, count) : POLYAD_OK;
  for (int k = 0; k < count && !f->together && !pd_rank_ends(f->job) && status == POLYAD_OK; ++k)
    status = run_one(f, &f->fit[k]);
  if (status != POLYAD_CANCELLED) return status;
  f->job->cancelled = true; /* while a run had no model yet; others have one */
  pd_begin(f->job->context);
  return POLYAD_OK;
}

static void clear_fits(struct fitting *f, int count) {
  for (int k = 0; k < count; ++k) {
    polyad_ktensor_destroy(f->fit[k].initial);
    polyad_ktensor_destroy(f->fit[k].model);
    f->fit[k] = (struct fit){.model = NULL};
  }
}

/* ---- first models --------------------------------------------------------------------------- */

/* Least squares takes no weights from a first model: they go into the first factor, relative to
 * the largest one. */
static void spread_weights(const polyad_plan *plan, polyad_ktensor *model) {
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
  even_weights(plan, model);
}

/* Overwrites the first components of a model by those of another; the rest get their mean weight.
 */
static void take_components(const polyad_ktensor *from, polyad_ktensor *to) {
  double mean = 0; /* added up by parts: a sum of large weights may overflow */
  for (uint64_t r = 0; r < from->rank; ++r)
    mean += fabs(pd_model_number(from, from->weights, r)) / (double)from->rank;
  for (uint64_t r = 0; r < to->rank; ++r)
    pd_model_set(to, to->weights, r,
                 r < from->rank ? pd_model_number(from, from->weights, r) : mean);
  for (int n = 0; n < to->order; ++n)
    for (uint64_t i = 0; i < to->dims[n]; ++i)
      for (uint64_t r = 0; r < from->rank; ++r)
        pd_model_set(to, to->factor[n], i * to->rank + r,
                     pd_model_number(from, from->factor[n], i * from->rank + r));
}

/* A first model from one of the same or a smaller rank. */
static polyad_status begin_from(struct fitting *f, const polyad_ktensor *from, struct fit *fit) {
  bool apr = pd_rank_is_apr(f->job->options);
  PD_TRY(polyad_ktensor_create(f->job->context, f->plan->order, f->plan->dims, fit->rank,
                               f->plan->type, &fit->initial));
  if (fit->rank > from->rank) {
    pd_model_fill_random(f->job->context, NULL, fit->start, fit->initial);
    polyad_ktensor_normalize(fit->initial, apr ? POLYAD_NORM_1 : POLYAD_NORM_2);
  }
  take_components(from, fit->initial);
  if (!apr) spread_weights(f->plan, fit->initial);
  return POLYAD_OK;
}

/* ---- random starts -------------------------------------------------------------------------- */

/* The random starts of one rank, which are done. Those that were cut short do not count: what they
 * would have come to is not known. */
static polyad_status collect(struct fitting *f, struct fit *fit, struct pd_rank_models *models) {
  for (int s = 0; s < f->starts; ++s) {
    if (fit[s].model == NULL || fit[s].cut) continue;
    models->start[models->count] = fit[s].model;
    models->objective[models->count] = fit[s].objective;
    fit[s].model = NULL;
    if (!(fit[s].objective <= models->best_objective)) {
      models->best_objective = fit[s].objective;
      models->best_start = models->count;
    }
    ++models->count;
  }
  if (models->count == 0) return POLYAD_OK;
  models->highest = models->best_objective;
  return pd_model_copy(f->job->context, models->start[models->best_start], &models->best);
}

static struct effort usual_effort(const struct fitting *f) {
  return (struct effort){f->job->options->max_iterations, f->job->options->tolerance};
}

static polyad_status fit_random(struct fitting *f) {
  int count = f->count * f->starts;
  for (int k = 0; k < count; ++k) {
    struct fit *fit = &f->fit[k];
    fit->rank = f->models[k / f->starts].rank;
    fit->start = k % f->starts;
    fit->effort = usual_effort(f);
    snprintf(fit->stage, sizeof fit->stage, "rank %llu, start %d of %d",
             (unsigned long long)fit->rank, fit->start + 1, f->starts);
  }
  polyad_status status = run_fits(f, count);
  for (int k = 0; k < f->count && status == POLYAD_OK; ++k)
    status = collect(f, &f->fit[k * f->starts], &f->models[k]);
  clear_fits(f, count);
  return status;
}

/* ---- settling and growing ------------------------------------------------------------------- */

/* The model replaces the best if it is better. */
static bool keep_better(struct pd_rank_models *models, struct fit *fit) {
  if (fit->model == NULL || !(fit->objective > models->best_objective)) return false;
  polyad_ktensor_destroy(models->best);
  models->best = fit->model;
  models->best_objective = fit->objective;
  fit->model = NULL;
  return true;
}

static polyad_status begin_settling(struct fitting *f, int k, struct fit *fit) {
  const polyad_rank_options *options = f->job->options;
  bool many = options->max_iterations > INT32_MAX / more_iterations;
  fit->rank = f->models[k].rank;
  fit->effort = (struct effort){many ? INT32_MAX : options->max_iterations * more_iterations,
                                options->tolerance * less_tolerance};
  snprintf(fit->stage, sizeof fit->stage, "rank %llu, best start", (unsigned long long)fit->rank);
  return begin_from(f, f->models[k].best, fit);
}

/* Iterates on the best models until they have settled. */
static polyad_status settle_all(struct fitting *f) {
  int count = 0, done = 0;
  polyad_status status = POLYAD_OK;
  for (int k = 0; k < f->count; ++k)
    if (f->todo[k].settle) PD_TRY_CLEANUP(begin_settling(f, k, &f->fit[count++]));
  PD_TRY_CLEANUP(run_fits(f, count));
  for (int k = 0; k < f->count; ++k) {
    if (!f->todo[k].settle) continue;
    keep_better(&f->models[k], &f->fit[done++]);
    f->todo[k].settle = false;
  }
cleanup:
  clear_fits(f, count);
  return status;
}

static polyad_status begin_growing(struct fitting *f, int k, struct fit *fit) {
  const polyad_ktensor *from = k > 0 ? f->models[k - 1].best : f->previous;
  if (k > 0) f->todo[k - 1].seen = f->models[k - 1].best_objective;
  fit->rank = f->models[k].rank;
  fit->start = f->starts;
  fit->effort = usual_effort(f);
  snprintf(fit->stage, sizeof fit->stage, "rank %llu, grown from rank %llu",
           (unsigned long long)fit->rank, (unsigned long long)from->rank);
  return begin_from(f, from, fit);
}

/* A start from a smaller rank becomes the best, or is kept beside it. */
static void take_grown(struct fitting *f, int k, struct fit *fit) {
  struct pd_rank_models *models = &f->models[k];
  f->todo[k].grow = false;
  polyad_ktensor_destroy(models->grown);
  models->grown = NULL;
  if (keep_better(models, fit)) {
    models->best_start = f->starts;
    f->todo[k].settle = !pd_rank_is_apr(f->job->options);
    return;
  }
  models->grown = fit->model;
  models->grown_objective = fit->objective;
  fit->model = NULL;
}

/* Starts from the models of smaller ranks. */
static polyad_status grow_all(struct fitting *f) {
  int count = 0, done = 0;
  polyad_status status = POLYAD_OK;
  for (int k = 0; k < f->count; ++k)
    if (f->todo[k].grow) PD_TRY_CLEANUP(begin_growing(f, k, &f->fit[count++]));
  PD_TRY_CLEANUP(run_fits(f, count));
  for (int k = 0; k < f->count; ++k)
    if (f->todo[k].grow) take_grown(f, k, &f->fit[done++]);
cleanup:
  clear_fits(f, count);
  return status;
}

/* Marks the ranks whose smaller neighbour has another model than they grew from; false: none. */
static bool any_news(struct fitting *f) {
  bool any = f->todo[0].grow;
  for (int k = 1; k < f->count; ++k) {
    double known = f->todo[k - 1].seen + f->job->options->tolerance;
    f->todo[k].grow = f->models[k - 1].best_objective > known;
    any = any || f->todo[k].grow;
  }
  return any;
}

/* Marks the ranks that a smaller one has overtaken since they grew from it; false: none. Growing
 * again from the same model ends in the same one, which rounding may leave a last digit below it
 * for ever. */
static bool any_overtaken(struct fitting *f) {
  bool any = false;
  for (int k = 1; k < f->count; ++k) {
    double smaller = f->models[k - 1].best_objective;
    f->todo[k].grow = f->models[k].best_objective < smaller && smaller > f->todo[k - 1].seen;
    any = any || f->todo[k].grow;
  }
  return any;
}

/* What the random starts have found improves from rank to rank. */
static polyad_status improve(struct fitting *f) {
  for (int k = 0; k < f->count; ++k)
    f->todo[k] = (struct todo){.settle = !pd_rank_is_apr(f->job->options), .seen = -INFINITY};
  f->todo[0].grow = f->previous != NULL;
  while (!pd_rank_ends(f->job) && any_news(f))
    PD_TRY(grow_all(f));
  for (int k = 0; k < f->count; ++k)
    f->models[k].highest = f->models[k].best_objective;
  while (!pd_rank_ends(f->job)) {
    PD_TRY(settle_all(f));
    if (pd_rank_ends(f->job) || !any_overtaken(f)) break;
    PD_TRY(grow_all(f));
  }
  return POLYAD_OK;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool fits_go_together(const struct pd_rank_job *job, const polyad_plan *plan) {
  return !pd_rank_is_apr(job->options) && pd_als_can_share(plan);
}

int pd_rank_group(const struct pd_rank_job *job, const polyad_plan *plan, const uint64_t *ranks,
                  int count, int starts) {
  /* Nonzeros times columns: seconds. */
  const uint64_t most_work = UINT64_C(1) << (plan->device->functions->host_memory ? 29 : 34);
  uint64_t rows = 0, columns = 0, limit = polyad_memory_limit(job->context) / 8;
  int group = 1;
  if (!fits_go_together(job, plan)) return 1;
  for (int n = 0; n < plan->order; ++n)
    rows = pd_add_saturated(rows, plan->dims[n]);
  uint64_t column = pd_mul_saturated(rows, pd_type_bytes(plan->type));
  for (group = 0; group < count; ++group) {
    columns = pd_add_saturated(columns, pd_mul_saturated(ranks[group], (uint64_t)starts + 3));
    if (pd_mul_saturated(columns, column) > limit) break;
    if (pd_mul_saturated(columns, plan->nnz) > most_work) break;
  }
  return group > 0 ? group : 1;
}

static polyad_status fit_all(struct fitting *f, const uint64_t *ranks) {
  polyad_context *context = f->job->context;
  PD_TRY(PD_NEW_ZERO(context, pd_mul_saturated((uint64_t)f->count, (uint64_t)f->starts), &f->fit));
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)f->count, &f->todo));
  for (int k = 0; k < f->count; ++k) {
    f->models[k].rank = ranks[k];
    f->models[k].best_objective = -INFINITY;
    PD_TRY(PD_NEW_ZERO(context, (uint64_t)f->starts, &f->models[k].start));
    PD_TRY(PD_NEW_ZERO(context, (uint64_t)f->starts, &f->models[k].objective));
  }
  PD_TRY(fit_random(f));
  return pd_rank_ends(f->job) ? POLYAD_OK : improve(f);
}

polyad_status pd_rank_fit(struct pd_rank_job *job, const char *name, const polyad_plan *plan,
                          const uint64_t *ranks, int count, int starts,
                          const polyad_ktensor *previous, struct pd_rank_models *models) {
  struct fitting f = {.job = job,
                      .name = name,
                      .plan = plan,
                      .count = count,
                      .starts = starts,
                      .previous = previous,
                      .models = models,
                      .together = fits_go_together(job, plan)};
  memset(models, 0, (size_t)count * sizeof *models);
  polyad_status status = fit_all(&f, ranks);
  PD_FREE(job->context, f.todo, f.fit);
  return status;
}

void pd_rank_models_clear(polyad_context *context, struct pd_rank_models *models, int count) {
  for (int k = 0; k < count; ++k) {
    for (int s = 0; models[k].start != NULL && s < models[k].count; ++s)
      polyad_ktensor_destroy(models[k].start[s]);
    PD_FREE(context, models[k].start, models[k].objective);
    polyad_ktensor_destroy(models[k].best);
    polyad_ktensor_destroy(models[k].grown);
    models[k] = (struct pd_rank_models){.count = 0};
  }
}
