/* The memory of a run of Tucker decomposition, and the list of what iterations go on from. */
#include "algorithms/tucker_state.h"
#include "linalg/linalg.h"
#include <math.h>
#include <stdio.h>

/* LAPACK counts the memory of its largest matrix in 32 bits. */
enum { MOST_LAPACK_ROWS = 32000 };

uint64_t pd_tucker_bytes(polyad_context *context, const polyad_plan *plan, const uint64_t *ranks,
                         enum pd_svd_method method) {
  struct pd_svd_size sizes[POLYAD_MAX_ORDER];
  uint64_t total = pd_ttensor_bytes(plan->order, plan->dims, ranks, plan->type), chain = 0, bytes;
  for (int n = 0; n < plan->order; ++n) {
    uint64_t columns = 1;
    for (int m = 0; m < plan->order; ++m)
      if (m != n) columns = pd_mul_saturated(columns, ranks[m]);
    if (columns == UINT64_MAX || pd_plan_ttmc_bytes(context, plan, ranks, n, &bytes) != POLYAD_OK ||
        (method == PD_SVD_EXACT && columns > MOST_LAPACK_ROWS &&
         plan->dims[n] > MOST_LAPACK_ROWS)) {
      pd_begin(context);
      return UINT64_MAX;
    }
    sizes[n] = (struct pd_svd_size){plan->dims[n], columns, ranks[n]};
    if (bytes > chain) chain = bytes;
  }
  const struct pd_svd *svd = plan->device->linalg->svd;
  total = pd_add_saturated(total, chain);
  return pd_add_saturated(total, svd->bytes(plan->order, sizes, method, polyad_threads(context)));
}

/* Bytes of every part, each refused by its name when it alone passes the limit. */
static polyad_status tucker_state_check_memory(struct pd_tucker *t) {
  const polyad_plan *plan = t->plan;
  const uint64_t *ranks = t->options->ranks;
  uint64_t model = pd_ttensor_bytes(t->order, plan->dims, ranks, plan->type), bytes;
  for (int n = 0; n < t->order; ++n)
    PD_TRY(pd_plan_ttmc_bytes(t->context, plan, ranks, n, &bytes));
  PD_TRY(pd_memory_check(t->context, model, "a Tucker model of these ranks"));
  enum pd_svd_method method = (enum pd_svd_method)t->options->svd;
  bytes = pd_tucker_bytes(t->context, plan, ranks, method);
  if (t->options->run.starts > 1) bytes = pd_add_saturated(bytes, model);
  return pd_memory_check(t->context, bytes, "a Tucker decomposition of these ranks");
}

static polyad_status tucker_state_create_matrices(struct pd_tucker *t) {
  polyad_context *context = t->context;
  const polyad_plan *plan = t->plan;
  const uint64_t *ranks = t->options->ranks;
  uint64_t most = 0;
  for (int n = 0; n < t->order; ++n) {
    uint64_t numbers = pd_mul_saturated(plan->dims[n], t->columns[n]);
    if (numbers > most) most = numbers;
    PD_TRY(pd_matrix_over_host(context, t->device, plan->type, plan->dims[n], ranks[n],
                               t->model->factor[n], &t->factor[n]));
    t->factor_list[n] = &t->factor[n];
  }
  int last = t->order - 1;
  PD_TRY(pd_matrix_create(context, t->device, plan->type, most, 1, &t->chain));
  return pd_matrix_create(context, t->device, plan->type, ranks[last], t->columns[last], &t->core);
}

static polyad_status tucker_state_fill(struct pd_tucker *t) {
  polyad_context *context = t->context;
  const polyad_plan *plan = t->plan;
  const uint64_t *ranks = t->options->ranks;
  enum pd_svd_method method = (enum pd_svd_method)t->options->svd;
  struct pd_svd_size sizes[POLYAD_MAX_ORDER];
  for (int n = 0; n < t->order; ++n) {
    PD_TRY(polyad_ttmc_columns(context, plan, ranks, n, &t->columns[n]));
    sizes[n] = (struct pd_svd_size){plan->dims[n], t->columns[n], ranks[n]};
    if (t->columns[n] > t->run.columns) t->run.columns = t->columns[n];
  }
  PD_TRY(tucker_state_check_memory(t));
  PD_TRY(polyad_ttensor_create(context, t->order, plan->dims, ranks, plan->type, &t->model));
  PD_TRY(polyad_ttmc_workspace_create(context, plan, ranks, &t->workspace));
  PD_TRY(t->svd->create(context, t->device, t->order, sizes, method, &t->work));
  PD_TRY(tucker_state_create_matrices(t));
  t->share_error = pd_tucker_share_error(t);
  return pd_run_open(&t->run);
}

polyad_status pd_tucker_create(polyad_context *context, const polyad_plan *plan,
                               const polyad_tucker_options *options, double started,
                               struct pd_tucker **out) {
  struct pd_tucker *t = NULL;
  *out = NULL;
  if (plan->device->linalg->svd == NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED, "device %s has no singular vectors",
                   plan->device->kind);
  PD_TRY(PD_NEW_ZERO(context, 1, &t));
  t->context = context;
  t->plan = plan;
  t->options = options;
  t->device = plan->device;
  t->svd = plan->device->linalg->svd;
  t->order = plan->order;
  t->norm_squared =
      ldexp(plan->norm_square_scaled, 2 * (plan->norm_exponent - plan->value_exponent));
  t->hosvd.mode = -1;
  t->run = (struct pd_run){.context = context,
                           .plan = plan,
                           .method = &pd_tucker_method,
                           .state = t,
                           .options = &options->run,
                           .order = plan->order,
                           .started = started};
  polyad_status status = tucker_state_fill(t);
  if (status != POLYAD_OK) {
    pd_tucker_destroy(t);
    return status;
  }
  *out = t;
  return POLYAD_OK;
}

void pd_tucker_destroy(struct pd_tucker *t) {
  if (t == NULL) return;
  for (int n = 0; n < t->order; ++n)
    if (t->factor[n].data != NULL) pd_matrix_destroy(t->context, &t->factor[n]);
  if (t->chain.data != NULL) pd_matrix_destroy(t->context, &t->chain);
  if (t->core.data != NULL) pd_matrix_destroy(t->context, &t->core);
  if (t->work != NULL) t->svd->destroy(t->context, t->work);
  polyad_workspace_destroy(t->workspace);
  polyad_ttensor_destroy(t->model);
  polyad_tensor_destroy(t->nonzeros);
  pd_run_clear(&t->run);
  pd_free(t->context, t);
}

polyad_status pd_tucker_save(void *state, struct pd_archive *archive) {
  struct pd_tucker *t = state;
  for (int n = 0; n < t->order; ++n) {
    char name[32];
    snprintf(name, sizeof name, "rank of mode %d", pd_shown_mode(t->context, n));
    PD_TRY(pd_archive_option(archive, name, (double)t->options->ranks[n]));
  }
  PD_TRY(pd_archive_option(archive, "singular vectors by way", (double)t->options->svd));
  PD_TRY(pd_archive_real(archive, &t->fit));
  PD_TRY(pd_archive_real(archive, &t->fit_error));
  PD_TRY(pd_archive_real(archive, &t->fit_error_before));
  PD_TRY(pd_archive_matrix(archive, "core", &t->core, NULL));
  for (int n = 0; n < t->order; ++n) {
    PD_TRY(pd_archive_matrix(archive, "factors", &t->factor[n], t->model->factor[n]));
    pd_matrix_touch(&t->factor[n]);
  }
  return POLYAD_OK;
}
