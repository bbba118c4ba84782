/* The updater: where it starts, and the model that it has come to. */
#include "algorithms/updater.h"
#include "algorithms/model_start.h"
#include "algorithms/nonnegative.h"
#include <math.h>
#include <string.h>

void polyad_update_options_init(polyad_update_options *options) {
  *options = (polyad_update_options){.kind = POLYAD_KIND_AUTO, .forget = 1, .rounds = 1};
}

static polyad_status check_forget(polyad_context *context, double forget) {
  if (forget > 0 && forget <= 1) return POLYAD_OK;
  return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                 "a forgetting factor of %g found; expected one above 0 and at most 1", forget);
}

static polyad_status updater_check_options(polyad_context *context, const polyad_ktensor *model,
                                           const polyad_update_options *options) {
  PD_EXPECT(context, model->order >= 2 && options->mode >= 0 && options->mode < model->order,
            "mode %d of a model with %d modes is to grow; expected %d to %d of two or more",
            pd_shown_mode(context, options->mode), model->order, pd_shown_mode(context, 0),
            pd_shown_mode(context, model->order - 1));
  PD_TRY(pd_nonnegative_check(context, options->nonnegative_modes, model->order));
  PD_EXPECT(context, options->rounds >= 1, "%d rounds found; expected at least 1", options->rounds);
  return check_forget(context, options->forget);
}

/* P_n = A_n Q_n: the sums of a tensor that is the model. */
static polyad_status start_sums(polyad_updater *updater) {
  const struct pd_double_model *model = &updater->model;
  uint64_t rank = model->rank;
  double *gram[POLYAD_MAX_ORDER] = {NULL}, *grown = NULL;
  PD_TRY(PD_NEW(updater->context, pd_mul_saturated(rank, rank), &grown));
  polyad_status status = POLYAD_OK;
  for (int n = 0; n < model->order; ++n) {
    struct pd_updated_mode *sums = &updater->sums[n];
    gram[n] = grown;
    if (n != updater->options.mode) {
      PD_TRY_CLEANUP(PD_NEW(updater->context, pd_mul_saturated(model->rows[n], rank), &sums->p));
      PD_TRY_CLEANUP(PD_NEW(updater->context, pd_mul_saturated(rank, rank), &sums->q));
      PD_TRY_CLEANUP(PD_NEW(updater->context, pd_mul_saturated(rank, rank), &sums->gram));
      gram[n] = sums->gram;
    }
    pd_double_moments(updater->kind, model->rows[n], rank, model->factor[n], gram[n]);
  }
  for (int n = 0; n < model->order; ++n) {
    struct pd_updated_mode *sums = &updater->sums[n];
    if (n == updater->options.mode) continue;
    pd_double_system(updater->kind, model, (const double *const *)gram, n, -1, sums->q);
    memset(sums->p, 0, model->rows[n] * rank * sizeof *sums->p);
    for (uint64_t i = 0; i < model->rows[n]; ++i)
      for (uint64_t s = 0; s < rank; ++s)
        for (uint64_t r = 0; r < rank; ++r)
          sums->p[i * rank + r] += model->factor[n][i * rank + s] * sums->q[s * rank + r];
  }
cleanup:
  pd_free(updater->context, grown);
  return status;
}

static polyad_status check_signs(const polyad_updater *updater) {
  const struct pd_double_model *model = &updater->model;
  for (int n = 0; n < model->order; ++n) {
    if (!pd_updater_keeps_signs(updater, n)) continue;
    for (uint64_t k = 0; k < model->rows[n] * model->rank; ++k)
      if (model->factor[n][k] < 0)
        return pd_fail(updater->context, POLYAD_NUMERICAL,
                       "the model has a negative number in mode %d; expected none in a mode that "
                       "is to stay nonnegative",
                       pd_shown_mode(updater->context, n));
  }
  return POLYAD_OK;
}

static polyad_status updater_start(polyad_updater *updater, const polyad_ktensor *model) {
  PD_TRY(pd_double_model_create(updater->context, model, NULL, &updater->model));
  PD_TRY(pd_model_kind(updater->context, &updater->model, &updater->kind));
  PD_TRY(check_signs(updater));
  updater->room = model->dims[updater->options.mode];
  PD_TRY(PD_NEW_ZERO(updater->context, updater->room, &updater->clock));
  return start_sums(updater);
}

polyad_status pd_updater_start(polyad_context *context, const polyad_ktensor *model,
                               const polyad_update_options *options, polyad_updater **updater) {
  polyad_updater *made;
  PD_TRY(updater_check_options(context, model, options));
  PD_TRY(PD_NEW_ZERO(context, 1, &made));
  made->context = context;
  made->options = *options;
  made->kind = options->kind;
  made->type = model->type;
  polyad_status status = updater_start(made, model);
  if (status == POLYAD_OK)
    *updater = made;
  else
    polyad_updater_destroy(made);
  return status;
}

polyad_status polyad_updater_create(polyad_context *context, const polyad_ktensor *model,
                                    const polyad_update_options *options,
                                    polyad_updater **updater) {
  PD_ENTER(context);
  PD_EXPECT(context, model != NULL && options != NULL && updater != NULL,
            "model, options or updater is NULL");
  *updater = NULL;
  return pd_updater_start(context, model, options, updater);
}

void polyad_updater_destroy(polyad_updater *updater) {
  if (updater == NULL) return;
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    PD_FREE(updater->context, updater->sums[n].p, updater->sums[n].q, updater->sums[n].gram);
  }
  pd_double_model_clear(updater->context, &updater->model);
  PD_FREE(updater->context, updater->clock, updater);
}

bool pd_updater_keeps_signs(const polyad_updater *updater, int mode) {
  return updater->kind == POLYAD_KIND_NONNEGATIVE ||
         pd_nonnegative_in(updater->options.nonnegative_modes, mode);
}

uint64_t polyad_updater_rows(const polyad_updater *updater) {
  return updater->model.rows[updater->options.mode];
}

polyad_status polyad_updater_set_forget(polyad_context *context, polyad_updater *updater,
                                        double forget) {
  PD_ENTER(context);
  PD_EXPECT(context, updater != NULL, "the updater is NULL");
  PD_TRY(check_forget(context, forget));
  updater->options.forget = forget;
  return POLYAD_OK;
}

/* The model as polyad_updater_model() makes it. */
static polyad_status updater_copy_model(polyad_context *context, const polyad_updater *updater,
                                        polyad_ktensor **model) {
  const struct pd_double_model *from = &updater->model;
  PD_TRY(polyad_ktensor_create(context, from->order, from->rows, from->rank, updater->type, model));
  polyad_ktensor *made = *model;
  bool finite = true;
  for (uint64_t r = 0; r < from->rank; ++r)
    pd_model_set(made, made->weights, r, from->weight[r]);
  for (int n = 0; n < from->order; ++n)
    for (uint64_t k = 0; k < from->rows[n] * from->rank; ++k) {
      pd_model_set(made, made->factor[n], k, from->factor[n][k]);
      finite = finite && isfinite(pd_model_number(made, made->factor[n], k));
    }
  if (finite) return POLYAD_OK;
  polyad_ktensor_destroy(made);
  *model = NULL;
  return pd_fail(context, POLYAD_NUMERICAL, "a row is too large for single precision");
}

polyad_status polyad_updater_model(polyad_context *context, const polyad_updater *updater,
                                   polyad_ktensor **model) {
  PD_ENTER(context);
  PD_EXPECT(context, updater != NULL && model != NULL, "updater or model is NULL");
  *model = NULL;
  return updater_copy_model(context, updater, model);
}
