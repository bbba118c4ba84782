/* The memory of a completion: observations and those held back for validation, factors, scratch
 * memory of the methods; and the list of what iterations go on from. */
#include "algorithms/complete_state.h"
#include "core/threads.h"
#include "linalg/linalg.h"
#include "tensor/tensor_pick.h"
#include <inttypes.h>
#include <math.h>

/* ---- observations --------------------------------------------------------------------------- */

static polyad_status check_validation(polyad_context *context, const polyad_plan *plan,
                                      const polyad_tensor *held) {
  if (held->order != plan->order)
    return pd_fail(context, POLYAD_MISMATCH, "the validation set has %d modes; expected %d",
                   held->order, plan->order);
  PD_EXPECT(context, held->nnz != 0, "the validation set has no entry");
  for (int n = 0; n < plan->order; ++n)
    for (uint64_t q = 0; q < held->nnz; ++q)
      if (pd_tensor_index(held, n, q) >= plan->dims[n])
        return pd_fail(context, POLYAD_MISMATCH,
                       "the validation set has index %" PRIu64
                       " in mode %d; expected %d to %" PRIu64 ", as the tensor",
                       pd_shown(context, pd_tensor_index(held, n, q)), pd_shown_mode(context, n),
                       pd_shown_mode(context, 0), pd_shown(context, plan->dims[n] - 1));
  return POLYAD_OK;
}

/* Fit and validation set from one tensor. */
static polyad_status deal_observations(struct pd_complete *c, const polyad_tensor *whole) {
  polyad_context *context = c->context;
  const polyad_tensor *weights = c->options->weights;
  struct pd_observations **const made[2] = {&c->held, &c->seen};
  polyad_tensor *cells = NULL, *weighed = NULL;
  uint64_t *place[2] = {NULL}, taken[2];
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_deal(context, whole->nnz, 1, &c->options->validation_share, place, taken));
  if (taken[0] == 0 || taken[1] == 0) {
    status = pd_fail(context, POLYAD_INVALID_ARGUMENT,
                     "a validation share of %g leaves %" PRIu64 " of %" PRIu64
                     " observations for validation; expected some, and not all",
                     c->options->validation_share, taken[0], whole->nnz);
    goto cleanup;
  }
  for (int k = 0; k < 2; ++k) {
    PD_TRY_CLEANUP(pd_tensor_pick(context, whole, taken[k], place[k], &cells));
    if (weights != NULL)
      PD_TRY_CLEANUP(pd_tensor_pick(context, weights, taken[k], place[k], &weighed));
    PD_TRY_CLEANUP(pd_observations_create(context, cells, weighed, 0, made[k]));
    polyad_tensor_destroy(cells);
    polyad_tensor_destroy(weighed);
    cells = weighed = NULL;
  }
cleanup:
  polyad_tensor_destroy(cells);
  polyad_tensor_destroy(weighed);
  PD_FREE(context, place[0], place[1]);
  return status;
}

static polyad_status take_observations(struct pd_complete *c) {
  polyad_context *context = c->context;
  const polyad_cp_complete_options *options = c->options;
  polyad_tensor *whole = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY(pd_plan_expand(context, c->plan, &whole));
  if (options->weights != NULL)
    PD_TRY_CLEANUP(pd_observations_check_weights(context, whole, options->weights));
  if (options->validation_share > 0)
    PD_TRY_CLEANUP(deal_observations(c, whole));
  else
    PD_TRY_CLEANUP(pd_observations_create(context, whole, options->weights, 0, &c->seen));
  if (options->validation != NULL) {
    PD_TRY_CLEANUP(check_validation(context, c->plan, options->validation));
    PD_TRY_CLEANUP(pd_observations_create(context, options->validation, NULL,
                                          c->plan->value_exponent, &c->held));
  }
cleanup:
  polyad_tensor_destroy(whole);
  return status;
}

/* Sum of w (x - shift)^2. */
static double complete_state_spread_of(const struct pd_observations *o, double shift) {
  double sum = 0;
  for (uint64_t q = 0; q < o->count; ++q)
    sum += pd_observed_weight(o, q) * ((o->value[q] - shift) * (o->value[q] - shift));
  return sum;
}

static double complete_state_mean_of(const struct pd_observations *o) {
  double sum = 0;
  for (uint64_t q = 0; q < o->count; ++q)
    sum += pd_observed_weight(o, q) * o->value[q];
  return sum / o->weights;
}

static void complete_state_scale(struct pd_observations *o, int exponent, double mean) {
  for (uint64_t q = 0; q < o->count; ++q)
    o->value[q] = ldexp(o->value[q], -exponent) - mean;
}

static const double LARGEST_RIDGE = 1e100;

/* Centres the values, where there are biases, and scales them by a power of two to a root mean
 * square of about one. The ridges are scaled with them: a model of values 2^-e x has factors
 * 2^(-e/N) A, and the objective is 2^(-2e) times that of x. Beside values of about one the largest
 * ridge here leaves nothing of a factor, as any larger one would, and is still finite. */
static polyad_status prepare_values(struct pd_complete *c) {
  struct pd_observations *seen = c->seen;
  if (!(seen->weights > 0))
    return pd_fail(c->context, POLYAD_NUMERICAL, "there is no observation of a weight above 0");
  double mean = c->options->biases ? complete_state_mean_of(seen) : 0;
  double square = complete_state_spread_of(seen, mean) / seen->weights;
  if (!(square > 0)) square = mean * mean;
  if (!(square > 0))
    return pd_fail(c->context, POLYAD_NUMERICAL,
                   "all observations are zero; expected at least one other value");
  (void)frexp(sqrt(square), &c->exponent);
  c->mean = ldexp(mean, -c->exponent);
  complete_state_scale(seen, c->exponent, c->mean);
  c->norm_squared = complete_state_spread_of(seen, -c->mean);
  if (c->held != NULL) {
    complete_state_scale(c->held, c->exponent, c->mean);
    double held = complete_state_spread_of(c->held, -c->mean);
    c->held_norm_squared = held > 0 ? held : 1;
    if (!(c->held->weights > 0))
      return pd_fail(c->context, POLYAD_NUMERICAL,
                     "the validation set has no entry of a weight above 0");
  }
  double total = c->exponent + c->plan->value_exponent;
  if (c->options->ridge > 0)
    c->fitted.ridge = fmin(c->options->ridge * exp2(total * (2.0 / c->order - 2)), LARGEST_RIDGE);
  return POLYAD_OK;
}

/* What is asked of the observations later, when they may lie on another device. */
static void note_observations(struct pd_complete *c) {
  for (uint64_t q = 0; q < c->seen->count && !c->signs; ++q)
    c->signs = c->seen->value[q] < 0;
  for (int n = 0; n < c->order; ++n)
    for (uint64_t i = 0; i < c->plan->dims[n]; ++i)
      c->empty[n] += pd_observed_count(&c->seen->rows[n], i) == 0;
}

/* ---- memory --------------------------------------------------------------------------------- */

static struct pd_completion_job complete_state_job(const struct pd_complete *c) {
  return (struct pd_completion_job){.device = c->plan->device,
                                    .seen = c->seen,
                                    .held = c->held,
                                    .columns = c->fitted.columns,
                                    .threads = c->threads,
                                    .rows = c->options->method == POLYAD_COMPLETE_ALS,
                                    .components = c->options->method == POLYAD_COMPLETE_CCD};
}

static polyad_status complete_state_check_memory(const struct pd_complete *c) {
  struct pd_completion_job job = complete_state_job(c);
  uint64_t row = pd_mul_saturated(c->fitted.columns, sizeof(double)), factors = 0, copies = 1;
  const polyad_cp_complete_options *options = c->options;
  for (int n = 0; n < c->order; ++n)
    factors = pd_add_saturated(factors, pd_mul_saturated(c->plan->dims[n], row));
  copies += options->validation != NULL || options->validation_share > 0;
  copies += options->method == POLYAD_COMPLETE_SGD;
  if (options->run.starts > 1) copies *= 2;
  uint64_t total = pd_mul_saturated(factors, copies);
  total = pd_add_saturated(total,
                           pd_observations_bytes(c->order, c->plan->nnz, options->weights != NULL));
  job.threads = polyad_threads(c->context);
  total = pd_add_saturated(total, c->steps->work_bytes(&job, c->plan->nnz));
  return pd_memory_check(c->context, total, "factors and observations");
}

static polyad_status complete_state_create_matrices(struct pd_complete *c) {
  bool sgd = c->options->method == POLYAD_COMPLETE_SGD;
  struct pd_matrix *const lists[] = {c->fitted.factor, c->held != NULL ? c->best : NULL,
                                     sgd ? c->before : NULL};
  for (size_t k = 0; k < sizeof lists / sizeof *lists; ++k)
    for (int n = 0; n < c->order && lists[k] != NULL; ++n)
      PD_TRY(pd_matrix_create(c->context, c->plan->device, POLYAD_F64, c->plan->dims[n],
                              c->fitted.columns, &lists[k][n]));
  for (int n = 0; n < c->order && sgd; ++n)
    PD_TRY(pd_matrix_create(c->context, c->plan->device, POLYAD_F64, c->plan->dims[n], 2,
                            &c->squares[n]));
  return POLYAD_OK;
}

static polyad_status complete_state_fill(struct pd_complete *c) {
  const struct pd_device *device = c->plan->device;
  PD_TRY(complete_state_check_memory(c));
  PD_TRY(take_observations(c));
  PD_TRY(prepare_values(c));
  PD_TRY(pd_observations_find_rows(c->seen, c->steps));
  note_observations(c);
  uint64_t work = c->fitted.columns;
  if (c->options->method == POLYAD_COMPLETE_ALS) work *= work;
  c->threads = pd_kernel_threads(c->context, c->seen->count, work);
  PD_TRY(pd_observations_send(device, &c->seen));
  PD_TRY(pd_observations_sort(c->seen, c->steps));
  if (c->held != NULL) PD_TRY(pd_observations_send(device, &c->held));
  PD_TRY(complete_state_create_matrices(c));
  struct pd_completion_job job = complete_state_job(c);
  PD_TRY(c->steps->work_create(c->context, &job, &c->work));
  if (c->options->method == POLYAD_COMPLETE_SGD) PD_TRY(pd_complete_blocks_create(c));
  return pd_run_open(&c->run);
}

polyad_status pd_complete_create(polyad_context *context, const polyad_plan *plan,
                                 const polyad_cp_complete_options *options,
                                 struct pd_complete **out) {
  struct pd_complete *c = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &c));
  c->context = context;
  c->plan = plan;
  c->options = options;
  c->order = plan->order;
  c->steps = plan->device->linalg->completion;
  c->nonnegative =
      pd_nonnegative_modes(options->nonnegative, options->nonnegative_modes, plan->order);
  c->fitted = (struct pd_completed){.order = plan->order,
                                    .rank = (size_t)options->rank,
                                    .columns = (size_t)options->rank + (options->biases ? 1 : 0),
                                    .bias_ridge = options->bias_ridge,
                                    .ridge_by_count = options->ridge_by_count != 0,
                                    .nonnegative = c->nonnegative};
  c->run = (struct pd_run){.context = context,
                           .plan = plan,
                           .method = &pd_complete_methods[options->method],
                           .state = c,
                           .options = &options->run,
                           .columns = options->rank,
                           .order = plan->order,
                           .started = pd_seconds()};
  polyad_status status = complete_state_fill(c);
  if (status == POLYAD_OK)
    *out = c;
  else
    pd_complete_destroy(c);
  return status;
}

void pd_complete_destroy(struct pd_complete *c) {
  if (c == NULL) return;
  polyad_context *context = c->context;
  for (int n = 0; n < c->order; ++n) {
    pd_matrix_destroy(context, &c->fitted.factor[n]);
    pd_matrix_destroy(context, &c->best[n]);
    pd_matrix_destroy(context, &c->before[n]);
    pd_matrix_destroy(context, &c->squares[n]);
    pd_free(context, c->found[n]);
  }
  if (c->work != NULL) c->steps->work_destroy(context, c->work);
  pd_complete_blocks_destroy(c);
  pd_observations_destroy(c->seen);
  pd_observations_destroy(c->held);
  polyad_ktensor_destroy(c->model);
  pd_run_clear(&c->run);
  pd_free(context, c);
}

/* ---- the list for checkpoints --------------------------------------------------------------- */

/* Of a hash, as many bits as a double has: it is compared, not used. */
static double digest(const polyad_tensor *tensor) {
  return tensor != NULL ? (double)(polyad_tensor_hash(tensor) >> 11) : -1;
}

static polyad_status complete_state_save_options(struct pd_complete *c,
                                                 struct pd_archive *archive) {
  const polyad_cp_complete_options *options = c->options;
  const struct {
    const char *name;
    double value;
  } list[] = {{"biases", options->biases != 0},
              {"ridge of biases", options->bias_ridge},
              {"learning rate", options->learn_rate},
              {"validation share", options->validation_share},
              {"hash of weights", digest(options->weights)},
              {"hash of validation", digest(options->validation)}};
  PD_TRY(pd_archive_option(archive, "rank", (double)options->rank));
  PD_TRY(pd_archive_option(archive, "ridge", options->ridge));
  PD_TRY(pd_archive_option(archive, "ridge by count", options->ridge_by_count != 0));
  PD_TRY(pd_nonnegative_archive(archive, c->nonnegative, c->order, false));
  for (size_t k = 0; k < sizeof list / sizeof *list; ++k)
    PD_TRY(pd_archive_option(archive, list[k].name, list[k].value));
  return POLYAD_OK;
}

polyad_status pd_complete_save(void *state, struct pd_archive *archive) {
  struct pd_complete *c = state;
  uint64_t undone = c->undone;
  double *const numbers[] = {&c->now.loss,         &c->now.objective,   &c->now.validation,
                             &c->objective_before, &c->best_validation, &c->rate};
  uint64_t *const counts[] = {&c->best_iteration, &c->since, &c->fallbacks, &undone};
  PD_TRY(complete_state_save_options(c, archive));
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; ++k)
    PD_TRY(pd_archive_real(archive, numbers[k]));
  for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k)
    PD_TRY(pd_archive_count(archive, counts[k]));
  c->undone = undone != 0;
  if (archive->task == PD_ARCHIVE_LOAD) c->steps->forget(c->work);
  for (int n = 0; n < c->order; ++n)
    PD_TRY(pd_archive_matrix(archive, "factors", &c->fitted.factor[n], NULL));
  for (int n = 0; n < c->order && c->squares[n].data != NULL; ++n)
    PD_TRY(pd_archive_matrix(archive, "squared gradients", &c->squares[n], NULL));
  for (int n = 0; n < c->order && c->held != NULL; ++n)
    PD_TRY(pd_archive_matrix(archive, "best factors", &c->best[n], NULL));
  return POLYAD_OK;
}
