/* Several starts of CP-ALS on one device, side by side (als_together.h). Of their models the
 * best is kept, of equal ones that of the first start, and what its run reports; of the others, how
 * they ended. */
#include "algorithms/als_together.h"
#include "algorithms/method.h"
#include "algorithms/model_start.h"

struct restarts {
  polyad_context *context;
  struct pd_als_task *task;
  polyad_start *start;  /* how each of them ended */
  int begun;            /* starts that have ended: all that began */
  int best;             /* -1: none has ended yet */
  polyad_run_info info; /* of the best */
};

static void als_restarts_note(void *user, int task, polyad_run_info *info) {
  struct restarts *r = user;
  r->start[task] = (polyad_start){
      .objective = info->fit, .iterations = info->iterations, .reason = info->reason};
  ++r->begun;
  bool better =
      r->best < 0 || info->fit > r->info.fit || (info->fit == r->info.fit && task < r->best);
  int worse = better ? r->best : task;
  if (worse >= 0 && !r->task[worse].options.run.keep_starts) {
    polyad_ktensor_destroy(r->task[worse].model);
    r->task[worse].model = NULL;
  }
  if (!better) return;
  polyad_run_info before = r->info;
  r->info = *info;
  *info = before; /* the caller clears it */
  r->best = task;
}

static polyad_status run_all_starts(struct restarts *r, const polyad_plan *plan,
                                    const polyad_cp_als_options *options) {
  int starts = options->run.starts;
  uint64_t columns = options->rank * (uint64_t)starts;
  double began = pd_seconds();
  struct pd_als_tasks tasks = {
      .task = r->task, .count = starts, .ended = als_restarts_note, .user = r};
  for (int k = 0; k < starts; ++k) {
    r->task[k] = (struct pd_als_task){.options = *options, .start = k};
    r->task[k].options.run.starts = 1;
  }
  int threads =
      pd_run_threads(r->context, plan, columns < PD_SHARED_COLUMNS ? columns : PD_SHARED_COLUMNS);
  PD_TRY(pd_als_together(r->context, plan, &tasks));
  r->info.threads = threads;
  r->info.seconds = pd_seconds() - began;
  r->info.seconds_init = tasks.seconds_init;
  r->info.seconds_iterations = r->info.seconds - tasks.seconds_init;
  r->info.best_restart = r->best;
  r->info.start_count = r->begun;
  r->info.starts = r->start;
  r->start = NULL;
  return POLYAD_OK;
}

/* The models of all starts, that of the best as a copy, become part of the report. */
static polyad_status keep_models(struct restarts *r) {
  polyad_ktensor **models;
  PD_TRY(PD_NEW_ZERO(r->context, (uint64_t)r->begun, &models));
  r->info.models = models;
  PD_TRY(pd_model_copy(r->context, r->task[r->best].model, &models[r->best]));
  for (int k = 0; k < r->begun; ++k) {
    if (k == r->best) continue;
    models[k] = r->task[k].model;
    r->task[k].model = NULL;
  }
  return POLYAD_OK;
}

polyad_status pd_als_restarts(polyad_context *context, const polyad_plan *plan,
                              const polyad_cp_als_options *options, polyad_ktensor **model,
                              polyad_run_info *info) {
  struct restarts r = {.context = context, .best = -1};
  uint64_t starts = (uint64_t)options->run.starts;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, starts, &r.task));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, starts, &r.start));
  PD_TRY_CLEANUP(run_all_starts(&r, plan, options));
  if (options->run.keep_starts) PD_TRY_CLEANUP(keep_models(&r));
  *model = r.task[r.best].model;
  r.task[r.best].model = NULL;
  if (info != NULL) {
    polyad_run_info_clear(info);
    *info = r.info;
    r.info = (polyad_run_info){0};
  }
cleanup:
  for (uint64_t k = 0; r.task != NULL && k < starts; ++k)
    polyad_ktensor_destroy(r.task[k].model);
  PD_FREE(context, r.task, r.start);
  polyad_run_info_clear(&r.info);
  return status;
}
