/* The memory of a CP-ALS run, the way of its factors between host and device, and the list of what
 * iterations go on from. */
#include "algorithms/als_state.h"
#include "core/numbers.h"
#include <math.h>

/* A mode too long for its factor is named: it is what a user can change. Runs whose products are
 * `shared` make none ahead. */
static polyad_status als_state_check_memory(polyad_context *context, const polyad_plan *plan,
                                            const polyad_cp_als_options *options, bool shared) {
  uint64_t stride = pd_factor_stride(plan->device, plan->type, options->rank);
  uint64_t row = pd_mul_saturated(stride, pd_type_bytes(plan->type)), total = 0;
  uint64_t limit = polyad_memory_limit(context);
  for (int n = 0; n < plan->order; ++n) {
    uint64_t bytes = pd_mul_saturated(plan->dims[n], row);
    total = pd_add_saturated(total, bytes);
    char need[32], have[32];
    if (bytes > limit)
      return pd_fail(context, POLYAD_MEMORY_LIMIT,
                     "mode %d has length %llu: its factor of rank %llu needs %s (%llu bytes), the "
                     "memory limit is %s",
                     pd_shown_mode(context, n), (unsigned long long)plan->dims[n],
                     (unsigned long long)options->rank, pd_bytes_text(need, bytes),
                     (unsigned long long)bytes, pd_bytes_text(have, limit));
  }
  total = pd_mul_saturated(total, 2); /* spares */
  if (plan->compute != POLYAD_COMPUTE_NATIVE && plan->device->linalg->round != NULL)
    total = pd_add_saturated(total, pd_mul_saturated(plan->dims[plan->order - 1], row));
  total = pd_add_saturated(total, pd_als_half_bytes(plan, options));
  if (options->nonnegative || options->nonnegative_modes != 0)
    total = pd_add_saturated(total, pd_mul_saturated(pd_longest(plan->order, plan->dims), row));
  if (options->run.starts > 1) total = pd_mul_saturated(total, 2);
  if (!shared) total = pd_add_saturated(total, pd_als_ahead_bytes(plan, options));
  total = pd_add_saturated(
      total, plan->device->linalg->work_bytes(options->rank, polyad_threads(context)));
  if (plan->part != NULL && pd_team_rank(pd_plan_team(plan)) == 0) /* the whole model, at the end */
    for (int n = 0; n < plan->order; ++n)
      total = pd_add_saturated(total, pd_mul_saturated(pd_plan_length(plan, n), row));
  return pd_memory_check(context, total, "the factors and their rank x rank matrices");
}

static polyad_status als_state_create_matrices(struct pd_als *als) {
  polyad_context *context = als->context;
  const polyad_plan *plan = als->plan;
  uint64_t rank = als->options->rank;
  for (int n = 0; n < als->order; ++n) {
    PD_TRY(pd_matrix_over_host(context, als->device, plan->type, plan->dims[n], rank,
                               als->model->factor[n], &als->factor[n]));
    PD_TRY(pd_factor_create(context, als->device, plan->type, plan->dims[n], rank, &als->spare[n]));
    PD_TRY(pd_matrix_create(context, als->device, POLYAD_F64, rank, rank, &als->gram[n]));
    PD_TRY(pd_matrix_create(context, als->device, POLYAD_F64, 1, rank, &als->peak[n]));
    als->factor_list[n] = &als->factor[n];
    als->gram_list[n] = &als->gram[n];
  }
  if (pd_als_rounds(als)) {
    int last = als->order - 1;
    PD_TRY(
        pd_factor_create(context, als->device, plan->type, plan->dims[last], rank, &als->rounded));
    als->factor_list[last] = &als->rounded;
  }
  PD_TRY(pd_matrix_create(context, als->device, POLYAD_F64, 1, rank, &als->lambda));
  PD_TRY(pd_matrix_create(context, als->device, POLYAD_F64, 1, rank, &als->lambda_before));
  PD_TRY(pd_matrix_create(context, als->device, POLYAD_F64, rank, rank, &als->v));
  if (als->nonnegative == 0) return POLYAD_OK;
  return pd_factor_create(context, als->device, plan->type, pd_longest(plan->order, plan->dims),
                          rank, &als->m);
}

/* A row of a team's MTTKRP is added up from what its members have. */
polyad_status pd_als_find_sum_depth(struct pd_als *als) {
  polyad_team *team = pd_plan_team(als->plan);
  als->sum_depth = (double)pd_plan_sum_depth(als->plan, als->workspace, als->order - 1);
  PD_TRY(pd_team_max(als->context, team, 1, &als->sum_depth));
  als->sum_depth += pd_team_size(team) - 1;
  return POLYAD_OK;
}

static polyad_status als_state_fill(struct pd_als *als, bool shared) {
  polyad_context *context = als->context;
  const polyad_cp_als_options *options = als->options;
  uint64_t rank = options->rank, square = pd_mul_saturated(rank, rank);
  uint64_t host = pd_add_saturated(rank, pd_mul_saturated((uint64_t)als->order, square));
  /* Arrays that are not the factors' memory need no zeros: a whole model is written into them
     before anybody reads them. */
  PD_TRY(pd_ktensor_create(context, als->order, als->plan->dims, options->rank, als->plan->type,
                           als->device->functions->host_memory, &als->model));
  if (!shared) PD_TRY(polyad_workspace_create(context, als->plan, options->rank, &als->workspace));
  PD_TRY(als->linalg->work_create(context, als->device, options->rank, &als->work));
  if (pd_plan_team(als->plan) != NULL)
    PD_TRY(als->linalg->join(context, als->work, pd_plan_team(als->plan)));
  if (!shared) PD_TRY(pd_als_find_sum_depth(als));
  PD_TRY(PD_NEW_ZERO(context, host, &als->host_lambda));
  PD_TRY(als_state_create_matrices(als));
  PD_TRY(pd_als_half_create(als));
  if (!shared) PD_TRY(pd_als_ahead_create(als));
  return pd_run_open(&als->run);
}

polyad_status pd_als_create(polyad_context *context, const polyad_plan *plan,
                            const polyad_cp_als_options *options, bool shared,
                            struct pd_als **out) {
  struct pd_als *als = NULL;
  *out = NULL;
  PD_TRY(als_state_check_memory(context, plan, options, shared));
  PD_TRY(PD_NEW_ZERO(context, 1, &als));
  als->context = context;
  als->plan = plan;
  als->options = options;
  als->fell_to = NAN;
  als->caution = 1;
  als->fit.clipped = NAN;
  als->device = plan->device;
  als->linalg = plan->device->linalg;
  als->order = plan->order;
  als->nonnegative =
      pd_nonnegative_modes(options->nonnegative, options->nonnegative_modes, plan->order);
  als->norm_squared =
      ldexp(plan->norm_square_scaled, 2 * (plan->norm_exponent - plan->value_exponent));
  als->run = (struct pd_run){.context = context,
                             .plan = plan,
                             .method = &pd_als_method,
                             .state = als,
                             .options = &options->run,
                             .columns = options->rank,
                             .order = plan->order,
                             .started = pd_seconds()};
  polyad_status status = als_state_fill(als, shared);
  if (status != POLYAD_OK) {
    pd_als_destroy(als);
    return status;
  }
  *out = als;
  return POLYAD_OK;
}

void pd_als_destroy(struct pd_als *als) {
  if (als == NULL) return;
  polyad_context *context = als->context;
  pd_als_half_destroy(als);
  for (int n = 0; n < als->order; ++n) {
    pd_matrix_destroy(context, &als->factor[n]);
    pd_matrix_destroy(context, &als->spare[n]);
    pd_matrix_destroy(context, &als->gram[n]);
    pd_matrix_destroy(context, &als->peak[n]);
  }
  pd_matrix_destroy(context, &als->rounded);
  pd_matrix_destroy(context, &als->lambda);
  pd_matrix_destroy(context, &als->lambda_before);
  pd_matrix_destroy(context, &als->v);
  pd_matrix_destroy(context, &als->m);
  pd_matrix_destroy(context, &als->slices);
  pd_matrix_destroy(context, &als->first);
  if (als->work != NULL) als->linalg->work_destroy(context, als->work);
  polyad_workspace_destroy(als->workspace);
  polyad_ktensor_destroy(als->model);
  polyad_ktensor_destroy(als->whole);
  pd_free(context, als->host_lambda);
  pd_run_clear(&als->run);
  pd_list_destroy(context, als->list);
  pd_als_forget_records(als);
  pd_free(context, als);
}

void pd_als_forget_records(struct pd_als *als) {
  for (int k = 0; k < 4; ++k) {
    void **record = &als->record[k / 2][k % 2].iteration;
    if (*record != NULL) als->device->functions->record_release(als->context, als->device, *record);
    *record = NULL;
  }
}

polyad_status pd_als_put_weights(struct pd_als *als) {
  for (uint64_t r = 0; r < als->model->rank; ++r)
    als->host_lambda[r] = pd_load(als->model->type, als->model->weights, r);
  return pd_matrix_from_host(als->context, &als->lambda, als->host_lambda);
}

polyad_status pd_als_put_model(struct pd_als *als) {
  polyad_context *context = als->context;
  PD_TRY(pd_als_put_weights(als));
  for (int n = 0; n < als->order; ++n) {
    PD_TRY(pd_matrix_from_host(context, &als->factor[n], als->model->factor[n]));
    pd_matrix_touch(&als->factor[n]);
  }
  return POLYAD_OK;
}

polyad_status pd_als_take_factors(struct pd_als *als) {
  for (int n = 0; n < als->order; ++n) {
    pd_matrix_touch(&als->factor[n]);
    PD_TRY(pd_als_take_factor(als, n));
  }
  return POLYAD_OK;
}

polyad_status pd_als_take_factor(struct pd_als *als, int n) {
  struct pd_matrix *read =
      pd_als_rounds(als) && n == als->order - 1 ? &als->rounded : &als->factor[n];
  pd_matrix_touch(read);
  if (pd_als_rounds(als))
    PD_TRY(als->linalg->round(als->context, als->work, als->plan->compute, &als->factor[n], read));
  struct pd_matrix own = pd_plan_own(als->plan, n, read);
  return als->linalg->gram(als->context, als->work, &own, &als->gram[n], &als->peak[n]);
}

/* Counters grow on the device. A fetch after a product was made ahead tells what its solve has
 * added, which may turn out unused; one of scalars that were sent before it does not. */
void pd_als_count_solves(struct pd_als *als, const double scalar[PD_SCALARS]) {
  struct pd_als_solves *solves = als->ahead && !als->sent ? &als->late : &als->solves;
  solves->fallbacks += (uint64_t)scalar[PD_SCALAR_FALLBACKS];
  solves->damped += (uint64_t)scalar[PD_SCALAR_DAMPED];
  if (scalar[PD_SCALAR_FALLBACKS] > 0) solves->kept = scalar[PD_SCALAR_KEPT];
  als->sent = false;
}

polyad_status pd_als_fetch(struct pd_als *als, double scalar[PD_SCALARS]) {
  PD_TRY(als->linalg->fetch(als->context, 1, &als->work, (double(*)[PD_SCALARS])scalar));
  pd_als_count_solves(als, scalar);
  return pd_team_broadcast(als->context, pd_plan_team(als->plan), 0, scalar,
                           PD_SCALARS * sizeof *scalar);
}

static void exchange(struct pd_matrix *a, struct pd_matrix *b) {
  struct pd_matrix kept = *a;
  *a = *b;
  *b = kept;
}

void pd_als_exchange(struct pd_als *als, int n) {
  exchange(&als->factor[n], &als->spare[n]);
  if (n == 0) exchange(&als->lambda, &als->lambda_before);
  pd_matrix_touch(&als->factor[n]);
  if (n == als->order - 1) pd_matrix_touch(&als->rounded);
}

polyad_status pd_als_go_back(struct pd_als *als) {
  PD_TRY(pd_als_ahead_drop(als));
  als->fit.clipped = NAN;
  for (int n = 0; n < als->order; ++n) {
    pd_als_exchange(als, n);
    PD_TRY(pd_als_take_factor(als, n));
  }
  ++als->exchanges;
  return POLYAD_OK;
}

/* Where factors lie in the model's own arrays, the arrays follow the exchange. */
static void adopt(struct pd_als *als, int n) {
  if (!als->device->functions->host_memory || als->factor[n].borrowed) return;
  als->model->factor[n] = als->factor[n].data;
  als->factor[n].borrowed = true;
  als->spare[n].borrowed = false;
}

polyad_status pd_als_download_weights(struct pd_als *als) {
  PD_TRY(pd_matrix_to_host(als->context, &als->lambda, als->host_lambda));
  for (uint64_t r = 0; r < als->model->rank; ++r)
    pd_store(als->model->type, als->model->weights, r, als->host_lambda[r]);
  return POLYAD_OK;
}

polyad_status pd_als_download(struct pd_als *als) {
  polyad_context *context = als->context;
  for (int n = 0; n < als->order; ++n) {
    adopt(als, n);
    PD_TRY(pd_matrix_to_host(context, &als->factor[n], als->model->factor[n]));
  }
  return POLYAD_OK;
}

/* ---- the list for checkpoints ------------------------------------------------------------- */

static polyad_status save_numbers(struct pd_als *als, struct pd_archive *archive) {
  uint64_t from = (uint64_t)als->fit.from;
  double *const numbers[] = {&als->solves.kept,  &als->caution,   &als->fit.fit,
                             &als->fit.residual, &als->fit.bound, &als->fit.norms,
                             &als->fit.peaks,    &als->fell_to};
  PD_TRY(pd_archive_count(archive, &als->solves.fallbacks));
  PD_TRY(pd_archive_count(archive, &als->solves.damped));
  PD_TRY(pd_archive_count(archive, &from));
  als->fit.from = from == POLYAD_FIT_RESIDUAL ? POLYAD_FIT_RESIDUAL : POLYAD_FIT_FORMULA;
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; ++k)
    PD_TRY(pd_archive_real(archive, numbers[k]));
  return POLYAD_OK;
}

/* What an archive does not hold. Gram matrices stay those of the archive where these are needed to
 * go on to the same bits. */
static polyad_status take_loaded(struct pd_als *als) {
  als->fit.clipped = NAN;
  for (int n = 0; n < als->order; ++n) {
    struct pd_matrix own = pd_plan_own(als->plan, n, &als->factor[n]);
    if (pd_als_rounds(als))
      PD_TRY(pd_als_take_factor(als, n));
    else
      PD_TRY(als->linalg->gram(als->context, als->work, &own, &als->v, &als->peak[n]));
  }
  return POLYAD_OK;
}

polyad_status pd_als_save(void *state, struct pd_archive *archive) {
  struct pd_als *als = state;
  PD_TRY(pd_archive_option(archive, "rank", (double)als->options->rank));
  /* Half rows and nonnegative factors exclude each other. */
  PD_TRY(pd_nonnegative_archive(archive, als->nonnegative, als->order, als->options->half_rows));
  PD_TRY(pd_archive_option(archive, "ridge", als->options->ridge));
  PD_TRY(save_numbers(als, archive));
  PD_TRY(pd_archive_matrix(archive, "weights", &als->lambda, als->host_lambda));
  for (int n = 0; n < als->order; ++n)
    PD_TRY(pd_archive_matrix(archive, "Gram matrices", &als->gram[n], pd_als_host_gram(als, n)));
  for (int n = 0; n < als->order; ++n) {
    adopt(als, n);
    PD_TRY(pd_archive_factor(archive, "factors", n, &als->factor[n], als->model->factor[n]));
    pd_matrix_touch(&als->factor[n]);
  }
  return archive->task == PD_ARCHIVE_LOAD ? take_loaded(als) : POLYAD_OK;
}
