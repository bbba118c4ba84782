/* Several starts whose models are all wanted: a call for each of them, numbered as in one call of
 * all, so that the models are the same; of their reports that of the best start remains. */
#include "algorithms/starts_kept.h"
#include "algorithms/model_start.h"
#include "algorithms/run_options.h"
#include <math.h>
#include <string.h>

struct kept {
  polyad_ktensor **model; /* of every start */
  polyad_start *start;    /* how it ended */
  int count, best;
  double seconds_init, seconds_iterations;
  polyad_run_info info; /* of the best */
};

/* Takes over what a start has made. */
static void take_start(struct kept *kept, polyad_run_info *info) {
  int k = kept->count++;
  kept->start[k] = info->starts[0];
  kept->seconds_init += info->seconds_init;
  kept->seconds_iterations += info->seconds_iterations;
  if (k > 0 && !(kept->start[k].objective > kept->start[kept->best].objective)) return;
  polyad_run_info before = kept->info;
  kept->info = *info;
  *info = before; /* the caller clears it */
  kept->best = k;
}

/* Calls for the starts until one of them ends them all. */
static polyad_status call_each(polyad_context *context, const polyad_plan *plan,
                               pd_decompose_function decompose, void *options,
                               const polyad_run_options *all, struct kept *kept) {
  polyad_run_options *run = options;
  double began = pd_seconds();
  run->starts = 1;
  run->keep_starts = 0;
  for (bool end = false; kept->count < all->starts && !end;) {
    polyad_run_info info = {0};
    int k = kept->count;
    run->first_start = all->first_start + k;
    if (all->max_seconds > 0)
      run->max_seconds = fmax(all->max_seconds - (pd_seconds() - began), 1e-9);
    polyad_status status = decompose(context, plan, options, &kept->model[k], &info);
    if (status == POLYAD_CANCELLED && k > 0) { /* before it had a model: others have */
      pd_begin(context);
      return POLYAD_OK;
    }
    PD_TRY(status);
    end = info.reason == POLYAD_REASON_CANCELLED || info.reason == POLYAD_REASON_MAX_SECONDS;
    take_start(kept, &info);
    polyad_run_info_clear(&info);
  }
  return POLYAD_OK;
}

/* What was found becomes the report of one run. */
static void starts_hand_over(struct kept *kept, double seconds, polyad_run_info *info) {
  polyad_start *own = kept->info.starts;
  if (info == NULL) return;
  polyad_run_info_clear(info);
  *info = kept->info;
  kept->info = (polyad_run_info){.starts = own, .start_count = 1};
  info->seconds = seconds;
  info->seconds_init = kept->seconds_init;
  info->seconds_iterations = kept->seconds_iterations;
  info->best_restart = kept->best;
  info->start_count = kept->count;
  info->starts = kept->start;
  info->models = kept->model;
  kept->start = NULL;
  kept->model = NULL;
}

polyad_status pd_starts_kept(polyad_context *context, const polyad_plan *plan,
                             pd_decompose_function decompose, const void *options, size_t size,
                             polyad_ktensor **model, polyad_run_info *info) {
  const polyad_run_options *all = options;
  struct kept kept = {.best = 0};
  void *own = NULL;
  double began = pd_seconds();
  polyad_status status = POLYAD_OK;
  *model = NULL;
  PD_TRY(pd_run_options_check(context, all, 0)); /* each call sees one start only */
  uint64_t starts = (uint64_t)all->starts;
  PD_TRY_CLEANUP(pd_alloc(context, 1, size, &own));
  memcpy(own, options, size);
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, starts, &kept.model));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, starts, &kept.start));
  PD_TRY_CLEANUP(call_each(context, plan, decompose, own, all, &kept));
  if (kept.model[kept.best] != NULL) /* member 0 of a team has it */
    PD_TRY_CLEANUP(pd_model_copy(context, kept.model[kept.best], model));
  starts_hand_over(&kept, pd_seconds() - began, info);
cleanup:
  if (status != POLYAD_OK) {
    polyad_ktensor_destroy(*model);
    *model = NULL;
  }
  for (int k = 0; kept.model != NULL && k < kept.count; ++k)
    polyad_ktensor_destroy(kept.model[k]);
  PD_FREE(context, kept.model, kept.start, own);
  polyad_run_info_clear(&kept.info);
  return status;
}
