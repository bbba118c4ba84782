/* Runs of CP-ALS side by side. Reading a nonzero costs a kernel as much as several columns do, so K
 * runs of rank R are one MTTKRP of K R columns: their factors lie beside each other in one wide
 * matrix for each mode. All else belongs to each run (als_iterate.c): its normal equations are the
 * diagonal blocks of those of the wide factors, its fit and its end are its own. A run that has
 * ended leaves, and the next of the list takes its columns, so that the product stays wide until
 * the list is empty. */
#include "algorithms/als_together.h"
#include "algorithms/als_state.h"
#include "plan/stream.h"
#include <string.h>

_Static_assert((int)PD_SHARED_COLUMNS <= (int)PD_RUNS_AT_ONCE, "runs are at most one per column");

/* A run that is under way. */
struct job {
  struct pd_als *als;
  int task;
  uint64_t column;                   /* its first one in the wide matrices */
  uint64_t packed[POLYAD_MAX_ORDER]; /* versions of the factors that are in the wide matrices */
};

struct together {
  polyad_context *context;
  const polyad_plan *plan;
  struct pd_als_tasks *tasks;
  double started;
  int next; /* task that has not begun */
  int running;
  struct job job[PD_SHARED_COLUMNS];
  uint64_t most; /* columns at once, unless one run alone has more */
  uint64_t width, used;
  struct pd_matrix factor[POLYAD_MAX_ORDER], m;
  const struct pd_matrix *list[POLYAD_MAX_ORDER];
  polyad_workspace *workspace;
  double seconds[POLYAD_MAX_ORDER]; /* of the running iteration's products */
};

/* A streamed plan has promised its memory for the rank of one run. */
bool pd_als_can_share(const polyad_plan *plan) {
  const struct pd_device *device = plan->device;
  bool rounds = plan->compute != POLYAD_COMPUTE_NATIVE && device->linalg->round != NULL;
  return device->linalg->copy_columns != NULL && !rounds && pd_plan_team(plan) == NULL &&
         plan->members == NULL && !pd_plan_streams(plan);
}

/* As many columns as are worth it, in at most a quarter of the memory. */
static uint64_t columns_at_once(polyad_context *context, const polyad_plan *plan) {
  const struct pd_device *device = plan->device;
  uint64_t rows = 0, most = PD_SHARED_COLUMNS, limit = polyad_memory_limit(context);
  if (!device->functions->host_memory) limit = device->functions->memory_available(context, device);
  limit /= 4;
  for (int n = 0; n < plan->order; ++n)
    rows = pd_add_saturated(rows, plan->dims[n]);
  uint64_t column = pd_mul_saturated(5, pd_mul_saturated(rows, pd_type_bytes(plan->type)));
  for (; most > 1; most /= 2) {
    uint64_t ranks[POLYAD_MAX_ORDER], own = 0;
    for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
      ranks[n] = most;
    const struct pd_walk *walk = pd_walk_of(plan->kernels, PD_OPS_MTTKRP);
    if (walk != NULL) own = walk->workspace_bytes(plan->on_device, ranks, polyad_threads(context));
    if (pd_add_saturated(pd_mul_saturated(most, column), own) <= limit) break;
  }
  return most;
}

bool pd_als_gains_together(polyad_context *context, const polyad_plan *plan, uint64_t rank) {
  return pd_als_can_share(plan) && rank <= columns_at_once(context, plan) / 2;
}

/* ---- the wide matrices ---------------------------------------------------------------------- */

/* Brings factors into the wide matrices of all modes but n where others are there. */
static polyad_status pack(struct together *t, int n) {
  struct pd_column_copy copy[PD_SHARED_COLUMNS];
  for (int k = 0; k < t->plan->order; ++k) {
    int count = 0;
    for (struct job *job = t->job; job < t->job + t->running && k != n; ++job) {
      const struct pd_matrix *factor = &job->als->factor[k];
      if (job->packed[k] == factor->version) continue;
      job->packed[k] = factor->version;
      copy[count++] = (struct pd_column_copy){
          .from = factor, .to = &t->factor[k], .first_to = job->column, .columns = factor->columns};
    }
    if (count == 0) continue;
    PD_TRY(t->plan->device->linalg->copy_columns(t->context, t->plan->device, count, copy));
    pd_matrix_touch(&t->factor[k]);
  }
  return POLYAD_OK;
}

/* Gives every run its columns of a product. */
static polyad_status als_together_unpack(struct together *t, const struct pd_matrix *product,
                                         struct pd_matrix *const *m) {
  struct pd_column_copy copy[PD_SHARED_COLUMNS];
  for (int j = 0; j < t->running; ++j)
    copy[j] = (struct pd_column_copy){
        .from = product, .to = m[j], .first_from = t->job[j].column, .columns = m[j]->columns};
  return t->plan->device->linalg->copy_columns(t->context, t->plan->device, t->running, copy);
}

static void clear_matrices(struct together *t) {
  for (int n = 0; n < t->plan->order; ++n)
    pd_matrix_destroy(t->context, &t->factor[n]);
  pd_matrix_destroy(t->context, &t->m);
  polyad_workspace_destroy(t->workspace);
  t->workspace = NULL;
  t->width = 0;
}

static polyad_status make_matrices(struct together *t, uint64_t width) {
  const polyad_plan *plan = t->plan;
  uint64_t longest = pd_longest(plan->order, plan->dims);
  clear_matrices(t);
  for (int n = 0; n < plan->order; ++n) {
    PD_TRY(pd_factor_create(t->context, plan->device, plan->type, plan->dims[n], width,
                            &t->factor[n]));
    t->list[n] = &t->factor[n];
  }
  PD_TRY(pd_factor_create(t->context, plan->device, plan->type, longest, width, &t->m));
  PD_TRY(polyad_workspace_create(t->context, plan, width, &t->workspace));
  t->width = width;
  return POLYAD_OK;
}

/* Gives every run its columns. Columns of nobody are zero. While tasks wait the matrices keep the
 * width that they may need; later they shrink by a quarter or more at a time. */
static polyad_status als_together_lay_out(struct together *t) {
  uint64_t width = t->next < t->tasks->count && t->used < t->most ? t->most : t->used;
  if (width > t->width || width + t->width / 4 <= t->width) PD_TRY(make_matrices(t, width));
  uint64_t column = 0;
  for (int n = 0; n < t->plan->order; ++n)
    PD_TRY(t->plan->device->functions->fill_zero(t->context, t->plan->device, t->factor[n].data,
                                                 t->factor[n].rows * t->factor[n].stride *
                                                     pd_type_bytes(t->plan->type)));
  for (int j = 0; j < t->running; ++j) {
    struct job *job = &t->job[j];
    job->column = column;
    job->als->workspace = t->workspace;
    PD_TRY(pd_als_find_sum_depth(job->als));
    column += job->als->options->rank;
    memset(job->packed, 0, sizeof job->packed);
  }
  return POLYAD_OK;
}

/* ---- runs come and go ----------------------------------------------------------------------- */

static void als_together_forget(struct job *job) {
  if (job->als == NULL) return;
  job->als->workspace = NULL; /* it is not the run's own */
  pd_als_destroy(job->als);
  job->als = NULL;
}

static polyad_status begin_next(struct together *t) {
  double began = pd_seconds();
  struct pd_als_task *task = &t->tasks->task[t->next];
  struct job *job = &t->job[t->running];
  *job = (struct job){.task = t->next};
  PD_TRY(pd_als_check_options(t->context, t->plan, &task->options));
  PD_TRY(pd_als_create(t->context, t->plan, &task->options, true, &job->als));
  ++t->next;
  ++t->running;
  t->used += task->options.rank;
  job->als->run.started = t->started;
  job->als->run.beside = true;
  PD_TRY(pd_run_begin(&job->als->run, task->start));
  t->tasks->seconds_init += pd_seconds() - began;
  return POLYAD_OK;
}

static polyad_status admit(struct together *t) {
  while (t->next < t->tasks->count) {
    uint64_t rank = t->tasks->task[t->next].options.rank;
    if (t->running > 0 && (rank > t->most || t->used > t->most - rank)) break;
    PD_TRY(begin_next(t));
  }
  return POLYAD_OK;
}

/* Hands the model over. */
static polyad_status leave(struct together *t, int j, polyad_reason reason) {
  struct job *job = &t->job[j];
  struct pd_als *als = job->als;
  struct pd_als_task *task = &t->tasks->task[job->task];
  polyad_run_info info = {0};
  polyad_status status = pd_run_report(&als->run, reason, &info);
  if (status == POLYAD_OK) {
    pd_als_method.report(als, &info);
    status = pd_als_method.finish(als, &info);
  }
  if (status == POLYAD_OK) {
    task->model = als->model;
    als->model = NULL;
    task->fit = info.fit;
    task->reason = reason;
    char name[80];
    pd_run_name(&als->run, name);
    pd_log(t->context, POLYAD_LOG_INFO, "%sfit %.10g after %d iterations (%s)", name, info.fit,
           info.iterations, polyad_reason_string(reason));
    if (t->tasks->ended != NULL) t->tasks->ended(t->tasks->user, job->task, &info);
  }
  polyad_run_info_clear(&info);
  t->used -= task->options.rank;
  als_together_forget(job);
  t->job[j] = t->job[--t->running];
  return status;
}

/* ---- an iteration --------------------------------------------------------------------------- */

/* The product of mode n between two marks of the device, or two readings of the host's clock. */
static polyad_status als_together_multiply(struct together *t, int n, struct pd_matrix *m) {
  const struct pd_device *device = t->plan->device;
  const struct pd_call call = {.op = PD_MTTKRP, .mode = n, .factors = t->list, .out = m};
  double begin = pd_seconds();
  if (device->functions->mark != NULL) PD_TRY(device->functions->mark(t->context, device, 2 * n));
  PD_TRY(pd_plan_run(t->context, t->plan, t->workspace, &call));
  if (device->functions->mark != NULL)
    return device->functions->mark(t->context, device, 2 * n + 1);
  t->seconds[n] = pd_seconds() - begin;
  return POLYAD_OK;
}

static polyad_status make_products(void *user, int n, struct pd_matrix *const *m) {
  struct together *t = user;
  struct pd_matrix product = t->m;
  product.rows = t->plan->dims[n];
  PD_TRY(pack(t, n));
  PD_TRY(als_together_multiply(t, n, &product));
  return als_together_unpack(t, &product, m);
}

/* Every run has its columns' share of the products' time. The device has passed its marks. */
static polyad_status share_seconds(struct together *t) {
  const struct pd_device *device = t->plan->device;
  for (int n = 0; n < t->plan->order; ++n) {
    if (device->functions->mark != NULL)
      PD_TRY(device->functions->between(t->context, device, 2 * n, 2 * n + 1, &t->seconds[n]));
    for (int j = 0; j < t->running; ++j) {
      struct pd_als *als = t->job[j].als;
      double share = (double)als->options->rank / (double)t->used;
      pd_run_kernel_seconds(&als->run)[n] = t->seconds[n] * share;
    }
  }
  return POLYAD_OK;
}

/* A run whose fit fell goes on with a product of its own until it has settled. */
static polyad_status complete_alone(struct together *t, struct pd_als *als, polyad_trace_row *row) {
  als->workspace = NULL;
  polyad_status status =
      polyad_workspace_create(t->context, t->plan, als->options->rank, &als->workspace);
  if (status == POLYAD_OK) status = pd_als_complete(als, row, pd_run_kernel_seconds(&als->run));
  polyad_workspace_destroy(als->workspace);
  als->workspace = t->workspace;
  return status;
}

static polyad_status settle(struct together *t, struct job *job, bool *end, polyad_reason *reason) {
  struct pd_als *als = job->als;
  polyad_trace_row row = pd_run_row();
  if (pd_als_fell(als))
    PD_TRY(complete_alone(t, als, &row));
  else
    PD_TRY(pd_als_complete(als, &row, NULL));
  if (t->tasks->announce != NULL) t->tasks->announce(t->tasks->user, job->task);
  return pd_run_settle(&als->run, &row, end, reason);
}

static polyad_status begin_iteration(struct pd_als *als) {
  PD_TRY(pd_run_reserve(&als->run, als->run.iteration + 1));
  return als->nonnegative != 0 && als->run.iteration > 0 ? pd_als_revive(als) : POLYAD_OK;
}

/* The caller wants all runs to end, or time is up: each ends with the model that it has. */
static polyad_status leave_all(struct together *t, polyad_reason reason) {
  while (t->running > 0)
    PD_TRY(leave(t, t->running - 1, reason));
  return POLYAD_OK;
}

/* One iteration of every run, but for what follows from the fits. */
static polyad_status update_all(struct together *t) {
  struct pd_als *als[PD_SHARED_COLUMNS];
  const struct pd_als_products shared = {make_products, t};
  for (int j = 0; j < t->running; ++j) {
    als[j] = t->job[j].als;
    PD_TRY(begin_iteration(als[j]));
  }
  for (int n = 0; n < t->plan->order; ++n)
    PD_TRY(pd_als_update_mode(als, t->running, n, &shared));
  PD_TRY(pd_als_enqueue_fit(als, t->running));
  PD_TRY(pd_als_fetch_fit(als, t->running));
  return share_seconds(t);
}

/* One iteration of every run. `over`: that was the last. */
static polyad_status iterate_all(struct together *t, bool *over, bool *changed) {
  polyad_reason why = POLYAD_REASON_CANCELLED;
  PD_TRY(update_all(t));
  for (int j = 0; j < t->running;) {
    bool end;
    polyad_reason reason;
    PD_TRY(settle(t, &t->job[j], &end, &reason));
    if (!end) {
      ++j;
      continue;
    }
    *changed = true;
    if (reason == POLYAD_REASON_CANCELLED || reason == POLYAD_REASON_MAX_SECONDS) {
      *over = true;
      why = reason;
    }
    PD_TRY(leave(t, j, reason)); /* the last run takes its place, and has yet to be settled */
  }
  return *over ? leave_all(t, why) : POLYAD_OK;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static polyad_status run_all(struct together *t) {
  bool over = false, changed = true;
  while (!over && (t->running > 0 || t->next < t->tasks->count)) {
    if (changed) {
      PD_TRY(admit(t));
      PD_TRY(als_together_lay_out(t));
    }
    changed = false;
    PD_TRY(iterate_all(t, &over, &changed));
  }
  return POLYAD_OK;
}

polyad_status pd_als_together(polyad_context *context, const polyad_plan *plan,
                              struct pd_als_tasks *tasks) {
  struct together *t;
  PD_TRY(PD_NEW_ZERO(context, 1, &t));
  t->context = context;
  t->plan = plan;
  t->tasks = tasks;
  t->started = pd_seconds();
  t->most = columns_at_once(context, plan);
  polyad_status status = run_all(t);
  for (int j = 0; j < t->running; ++j)
    als_together_forget(&t->job[j]);
  clear_matrices(t);
  pd_free(context, t);
  return status;
}
