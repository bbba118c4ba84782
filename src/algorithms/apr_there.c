/* PDNR and PQNR on a device: see apr_there.h. A format whose kernels keep each row's nonzeros
 * together describes them (pd_walk::rows), and they are read from the plan's storage; then only
 * where rows begin and end is looked for. From other storages the nonzeros are brought to the host
 * once, as observations of a completion are, and the device puts them in the order of every mode.
 */
#include "algorithms/apr_there.h"
#include "algorithms/observations.h"
#include "device/row_list.h"

struct pd_apr_there {
  const struct pd_newton *steps;
  struct pd_newton_work *work;
  polyad_workspace *chain; /* of the walk that describes rows; NULL: `sorted` has them */
  struct pd_observations *sorted;
  struct pd_row_list list[POLYAD_MAX_ORDER];
  uint64_t *places[POLYAD_MAX_ORDER]; /* with chain: dims firsts, and behind them as many ends */
  double *logarithms;                 /* dims of the last mode, on the device */
};

static struct pd_newton_options newton_options(const struct pd_apr *apr) {
  const polyad_cp_apr_options *options = apr->options;
  bool newton = options->method == POLYAD_APR_PDNR;
  uint64_t longest = 0;
  for (int n = 0; n < apr->order; ++n)
    if (apr->plan->longest_row[n] > longest) longest = apr->plan->longest_row[n];
  return (struct pd_newton_options){.rank = (int)options->rank,
                                    .newton = newton,
                                    .most = pd_apr_row_most(apr),
                                    .memory = options->memory,
                                    .tolerance =
                                        newton ? apr->row_tolerance : options->run.tolerance,
                                    .epsilon = options->epsilon,
                                    .active_tolerance = options->active_tolerance,
                                    .damping = options->damping,
                                    .longest = longest};
}

/* ---- the nonzeros ------------------------------------------------------------------------- */

static const struct pd_walk *walk_with_rows(const polyad_plan *plan) {
  const struct pd_walk *walk = pd_walk_of(plan->kernels, PD_OPS_TTMC);
  return walk != NULL && walk->rows != NULL ? walk : NULL;
}

/* Lists of the plan's storage; false in *found where a mode's rows do not stand together. */
static polyad_status describe_rows(struct pd_apr *apr, struct pd_apr_there *there, bool *found) {
  const polyad_plan *plan = apr->plan;
  const struct pd_walk *walk = walk_with_rows(plan);
  uint64_t ranks[POLYAD_MAX_ORDER];
  *found = walk != NULL;
  if (walk == NULL) return POLYAD_OK;
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    ranks[n] = 1; /* no chain is run */
  PD_TRY(pd_workspace_create(apr->context, plan, PD_OPS_TTMC, ranks, &there->chain));
  for (int n = 0; n < apr->order && *found; ++n) {
    *found = walk->rows(there->chain->scratch, n, &there->list[n]);
    there->list[n].type = plan->type;
  }
  return POLYAD_OK;
}

static polyad_status find_places(struct pd_apr *apr, struct pd_apr_there *there, int mode) {
  uint64_t rows = apr->plan->dims[mode], *places;
  uint64_t bytes = pd_mul_saturated(pd_mul_saturated(rows, 2), sizeof *places);
  PD_TRY(apr->device->functions->allocate(apr->context, apr->device, bytes,
                                          (void **)&there->places[mode]));
  places = there->places[mode];
  there->list[mode].first = places;
  there->list[mode].end = places + rows;
  return there->steps->find_rows(apr->context, apr->device, &there->list[mode], rows, places,
                                 places + rows);
}

static void take_observed(const struct pd_observations *o, int mode, struct pd_row_list *list) {
  const struct pd_observed_rows *rows = &o->rows[mode];
  *list = (struct pd_row_list){.nnz = o->count,
                               .value_at = rows->place,
                               .values = o->value,
                               .type = POLYAD_F64,
                               .first = rows->start,
                               .end = rows->start + 1};
  for (int n = 0; n < o->order; ++n) {
    if (n == mode) continue;
    list->column_mode[list->columns] = n;
    list->column[list->columns++] =
        (struct pd_row_plane){.plane = rows->index[n], .mask = UINT32_MAX};
  }
}

static polyad_status apr_there_sort_rows(struct pd_apr *apr, struct pd_apr_there *there) {
  const struct pd_completion *steps = apr->linalg->completion;
  polyad_tensor *tensor = NULL;
  PD_TRY(pd_plan_expand(apr->context, apr->plan, &tensor));
  polyad_status status = pd_observations_create(apr->context, tensor, NULL, 0, &there->sorted);
  polyad_tensor_destroy(tensor);
  PD_TRY(status);
  PD_TRY(pd_observations_find_rows(there->sorted, steps));
  PD_TRY(pd_observations_send(apr->device, &there->sorted));
  PD_TRY(pd_observations_sort(there->sorted, steps));
  for (int n = 0; n < apr->order; ++n)
    take_observed(there->sorted, n, &there->list[n]);
  return POLYAD_OK;
}

static polyad_status open_rows(struct pd_apr *apr, struct pd_apr_there *there) {
  bool found;
  PD_TRY(describe_rows(apr, there, &found));
  for (int n = 0; n < apr->order && found; ++n)
    PD_TRY(find_places(apr, there, n));
  if (found) return POLYAD_OK;
  polyad_workspace_destroy(there->chain);
  there->chain = NULL;
  return apr_there_sort_rows(apr, there);
}

/* ---- making ------------------------------------------------------------------------------- */

uint64_t pd_apr_there_bytes(const struct pd_apr *apr) {
  const struct pd_newton_options options = newton_options(apr);
  const polyad_plan *plan = apr->plan;
  uint64_t bytes = apr->linalg->newton->work_bytes(apr->device, &options), rows = 0;
  for (int n = 0; n < apr->order; ++n)
    rows = pd_add_saturated(rows, plan->dims[n]);
  bytes = pd_add_saturated(bytes, pd_mul_saturated(rows, 2 * sizeof(uint64_t)));
  if (walk_with_rows(plan) != NULL) return bytes;
  return pd_add_saturated(bytes, pd_observations_bytes(apr->order, plan->nnz, false));
}

static polyad_status there_fill(struct pd_apr *apr, struct pd_apr_there *there) {
  const struct pd_newton_options options = newton_options(apr);
  uint64_t rows = apr->plan->dims[apr->order - 1];
  there->steps = apr->linalg->newton;
  PD_TRY(open_rows(apr, there));
  PD_TRY(apr->device->functions->allocate(apr->context, apr->device,
                                          pd_mul_saturated(rows, sizeof(double)),
                                          (void **)&there->logarithms));
  return there->steps->work_create(apr->context, apr->device, &options, &there->work);
}

polyad_status pd_apr_there_create(struct pd_apr *apr, struct pd_apr_there **out) {
  struct pd_apr_there *there = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(apr->context, 1, &there));
  *out = there; /* freed with the run, also after a failure */
  return there_fill(apr, there);
}

void pd_apr_there_destroy(const struct pd_apr *apr, struct pd_apr_there *there) {
  if (there == NULL) return;
  const struct pd_device_functions *functions = apr->device->functions;
  if (there->work != NULL) there->steps->work_destroy(apr->context, there->work);
  functions->release(apr->context, apr->device, there->logarithms);
  for (int n = 0; n < apr->order; ++n)
    functions->release(apr->context, apr->device, there->places[n]);
  polyad_workspace_destroy(there->chain);
  pd_observations_destroy(there->sorted);
  pd_free(apr->context, there);
}

polyad_status pd_apr_there_solve(struct pd_apr *apr, struct pd_apr_there *there, int mode,
                                 double *logarithms, struct pd_newton_found *found) {
  const struct pd_newton_options options = newton_options(apr);
  bool last = mode == apr->order - 1;
  const struct pd_newton_mode job = {.list = &there->list[mode],
                                     .factors = apr->factor_list,
                                     .rows = &apr->factor[mode],
                                     .logarithms = last ? there->logarithms : NULL};
  PD_TRY(there->steps->solve(apr->context, there->work, &options, &job, found));
  if (!last) return POLYAD_OK;
  return apr->device->functions->copy_out(apr->context, apr->device, logarithms, there->logarithms,
                                          apr->plan->dims[mode] * sizeof *logarithms);
}
