/* Higher-order orthogonal iteration, written once for every format and device. Every mode in turn
 * gets the leading left singular vectors of the tensor multiplied by all other factors (the chain,
 * as a matrix with a row per index of the mode); the last chain, multiplied by its factor too, is
 * the core (Kolda and Bader 2009, figure 4.4). Before: first factors. After: the model on the host,
 * with signs fixed. */
#include "algorithms/hosvd.h"
#include "algorithms/tucker_state.h"
#include "core/numbers.h"
#include "core/random.h"
#include "linalg/cpu_dense.h"
#include "tensor/tensor.h"
#include <math.h>
#include <string.h>

/* ---- first factors -------------------------------------------------------------------------- */

/* Uniform in [0, 1): entry (i, r) of mode n is number i * R_n + r of the stream of this mode and
 * start. */
static void tucker_iterate_fill_random(struct pd_tucker *t, int start, int n) {
  uint64_t seed = polyad_seed(t->context), count = t->model->dims[n] * t->model->ranks[n];
  uint64_t stream = (uint64_t)start * POLYAD_MAX_ORDER + (uint64_t)n;
  for (uint64_t k = 0; k < count; ++k)
    pd_store(t->model->type, t->model->factor[n], k, pd_random_uniform(seed, stream, k));
}

static polyad_status tucker_iterate_check_initial(struct pd_tucker *t,
                                                  const polyad_ttensor *initial) {
  PD_EXPECT(t->context, initial != NULL, "no initial model is given");
  if (initial->order != t->order)
    return pd_fail(t->context, POLYAD_MISMATCH,
                   "the initial model has %d modes; expected %d, as the tensor has", initial->order,
                   t->order);
  for (int n = 0; n < t->order; ++n)
    if (initial->dims[n] != t->model->dims[n] || initial->ranks[n] != t->model->ranks[n])
      return pd_fail(t->context, POLYAD_MISMATCH,
                     "the factor of mode %d of the initial model is %llu x %llu; expected %llu x "
                     "%llu",
                     pd_shown_mode(t->context, n), (unsigned long long)initial->dims[n],
                     (unsigned long long)initial->ranks[n], (unsigned long long)t->model->dims[n],
                     (unsigned long long)t->model->ranks[n]);
  return POLYAD_OK;
}

static polyad_status copy_initial(struct pd_tucker *t) {
  const polyad_ttensor *initial = t->options->initial;
  PD_TRY(tucker_iterate_check_initial(t, initial));
  for (int n = 0; n < t->order; ++n)
    for (uint64_t k = 0; k < initial->dims[n] * initial->ranks[n]; ++k) {
      double value = pd_load(initial->type, initial->factor[n], k);
      if (!isfinite(value))
        return pd_fail(t->context, POLYAD_NUMERICAL,
                       "the initial factor of mode %d has an entry that is not finite in row %llu",
                       pd_shown_mode(t->context, n),
                       (unsigned long long)pd_shown(t->context, k / initial->ranks[n]));
      pd_store(t->model->type, t->model->factor[n], k, value);
    }
  return POLYAD_OK;
}

/* Where an unfolding has a smaller rank than its factor, the HOSVD leaves columns out; orthonormal
 * ones take their place, as without iterations the factors are those of the model. */
static polyad_status start_with_hosvd(struct pd_tucker *t) {
  polyad_ttensor *model = t->model;
  for (int n = 0; n < t->order; ++n)
    memset(model->factor[n], 0, model->dims[n] * model->ranks[n] * pd_type_bytes(model->type));
  PD_TRY(pd_hosvd(t->context, t->plan, t->options->ranks, model->type, model->factor, &t->hosvd));
  for (int n = 0; n < t->order; ++n) {
    struct pd_matrix factor = {.device = &pd_cpu_device,
                               .type = model->type,
                               .rows = model->dims[n],
                               .columns = model->ranks[n],
                               .stride = model->ranks[n],
                               .data = model->factor[n]};
    pd_dense_complete(&factor, factor.columns);
  }
  return POLYAD_OK;
}

/* Later starts of several differ only if they are random. */
polyad_status pd_tucker_start(void *state, int start) {
  struct pd_tucker *t = state;
  const struct pd_rank_search *found = start == 0 ? t->found : NULL;
  if (t->options->init == POLYAD_INIT_MODEL) {
    PD_TRY(copy_initial(t));
  } else if (found != NULL) {
    for (int n = 0; n < t->order; ++n)
      pd_hosvd_store(t->model->dims[n], found->ranks[n], found->factor[n], found->ranks[n],
                     found->ranks[n], t->model->type, t->model->factor[n]);
  } else if (t->options->init == POLYAD_INIT_HOSVD && start == 0) {
    PD_TRY(start_with_hosvd(t));
  } else {
    for (int n = 0; n < t->order; ++n)
      tucker_iterate_fill_random(t, start, n);
  }
  for (int n = 0; n < t->order; ++n) {
    PD_TRY(pd_matrix_from_host(t->context, &t->factor[n], t->model->factor[n]));
    pd_matrix_touch(&t->factor[n]);
  }
  return POLYAD_OK;
}

/* ---- iterations ----------------------------------------------------------------------------- */

/* The chain of mode n: the tensor times every other factor, in the room of the longest one. */
static polyad_status tucker_run_chain(struct pd_tucker *t, int n, struct pd_matrix *chain) {
  *chain = t->chain;
  chain->rows = t->plan->dims[n];
  chain->columns = chain->stride = t->columns[n];
  const struct pd_call call = {.op = PD_TTMC, .mode = n, .factors = t->factor_list, .out = chain};
  return pd_plan_run(t->context, t->plan, t->workspace, &call);
}

static polyad_status tucker_find_core(struct pd_tucker *t, const struct pd_matrix *last_chain) {
  return t->svd->project(t->context, t->work, &t->factor[t->order - 1], last_chain, &t->core);
}

static polyad_status tucker_find_fit(struct pd_tucker *t, polyad_trace_row *row) {
  PD_TRY(pd_tucker_fit(t, row));
  t->fit = row->fit;
  t->residual = row->residual;
  return POLYAD_OK;
}

/* A factor's new columns. Where the caller cancels in the midst of it the factor stays, and so do
 * those after it: the core of the factors as they are then ends the iteration. In the first one
 * they need not be orthonormal, and there is no model yet. */
static polyad_status update_factor(struct pd_tucker *t, int n, const struct pd_matrix *chain) {
  polyad_status status = t->svd->leading(t->context, t->work, chain, &t->factor[n]);
  t->cut_short = status == POLYAD_CANCELLED && t->run.iteration > 0;
  if (t->cut_short)
    pd_begin(t->context);
  else
    pd_matrix_touch(&t->factor[n]);
  return t->cut_short ? POLYAD_OK : status;
}

/* Every factor once; the last chain also gives the core. */
static polyad_status tucker_iterate_update_all(struct pd_tucker *t, double *seconds) {
  t->cut_short = false;
  for (int n = 0; n < t->order; ++n) {
    struct pd_matrix chain;
    double begin = pd_seconds();
    seconds[n] = 0;
    if (t->cut_short && n < t->order - 1) continue;
    PD_TRY(tucker_run_chain(t, n, &chain));
    seconds[n] = pd_seconds() - begin;
    if (!t->cut_short) PD_TRY(update_factor(t, n, &chain));
    if (n == t->order - 1) PD_TRY(tucker_find_core(t, &chain));
  }
  return POLYAD_OK;
}

polyad_status pd_tucker_iterate(void *state, polyad_trace_row *row, double *kernel_seconds) {
  struct pd_tucker *t = state;
  PD_TRY(tucker_iterate_update_all(t, kernel_seconds));
  return tucker_find_fit(t, row);
}

polyad_status pd_tucker_guess(void *state) {
  struct pd_tucker *t = state;
  struct pd_matrix chain;
  polyad_trace_row row = pd_run_row();
  PD_TRY(tucker_run_chain(t, t->order - 1, &chain));
  PD_TRY(tucker_find_core(t, &chain));
  return tucker_find_fit(t, &row);
}

/* ---- the result ----------------------------------------------------------------------------- */

/* The core arrives unfolded along the last mode. `rounded`: the norm of what entries too small for
 * all their digits have lost, before they are scaled. */
static polyad_status download_core(struct pd_tucker *t, int exponent, double *rounded) {
  polyad_ttensor *model = t->model;
  double lost = 0;
  void *unfolded;
  uint64_t rank = t->core.rows, columns = t->core.columns;
  PD_TRY(pd_alloc(t->context, model->core_size, pd_type_bytes(model->type), &unfolded));
  polyad_status status = pd_matrix_to_host(t->context, &t->core, unfolded);
  for (uint64_t k = 0; k < model->core_size && status == POLYAD_OK; ++k) {
    uint64_t to = k % columns * rank + k / columns;
    double value = pd_load(model->type, unfolded, k);
    pd_store(model->type, model->core, to, ldexp(value, exponent));
    double scaled = pd_load(model->type, model->core, to);
    double error = value - ldexp(scaled, -exponent);
    lost += error * error;
    if (!isfinite(scaled))
      status = pd_fail(t->context, POLYAD_NUMERICAL,
                       "an entry of the core is too large for %s; scale the tensor's values",
                       model->type == POLYAD_F64 ? "double precision" : "single precision");
  }
  pd_free(t->context, unfolded);
  *rounded = sqrt(lost);
  return status;
}

static bool is_turned(const polyad_ttensor *model, int n, uint64_t r) {
  double largest = 0;
  for (uint64_t i = 0; i < model->dims[n]; ++i) {
    double value = pd_load(model->type, model->factor[n], i * model->ranks[n] + r);
    if (fabs(value) > fabs(largest)) largest = value;
  }
  return largest < 0;
}

/* Turns a column and the slice of the core that belongs to it. */
static void turn(polyad_ttensor *model, int n, uint64_t r) {
  uint64_t rank = model->ranks[n], inner = 1;
  for (int m = n + 1; m < model->order; ++m)
    inner *= model->ranks[m];
  for (uint64_t i = 0; i < model->dims[n]; ++i)
    pd_store(model->type, model->factor[n], i * rank + r,
             -pd_load(model->type, model->factor[n], i * rank + r));
  for (uint64_t k = 0; k < model->core_size; ++k)
    if (k / inner % rank == r)
      pd_store(model->type, model->core, k, -pd_load(model->type, model->core, k));
}

polyad_status pd_tucker_download(struct pd_tucker *t, int exponent, double *rounded) {
  for (int n = 0; n < t->order; ++n)
    PD_TRY(pd_matrix_to_host(t->context, &t->factor[n], t->model->factor[n]));
  return download_core(t, exponent, rounded);
}

polyad_status pd_tucker_finish_model(struct pd_tucker *t, double *rounded) {
  PD_TRY(pd_tucker_download(t, t->plan->value_exponent, rounded));
  for (int n = 0; n < t->order; ++n)
    for (uint64_t r = 0; r < t->model->ranks[n]; ++r)
      if (is_turned(t->model, n, r)) turn(t->model, n, r);
  return POLYAD_OK;
}
