/* Projection of new data onto a model: with all factors but that of mode n held fast, the best rows
 * of mode n are
 *
 *   A_n = (MTTKRP_n diag(lambda)) V_n^-1,
 *
 * V_n the elementwise product of lambda lambda^T and of A_m^T A_m of all other modes m, so that a
 * sum over the nonzeros and an R x R system are all that new data cost, whatever the model was made
 * of. Nonnegative rows and rows of counts replace the solve (quadratic_row.c, poisson_row.c).
 * Several modes take turns. */
#include "algorithms/double_model.h"
#include "algorithms/model_start.h"
#include "algorithms/poisson_row.h"
#include "algorithms/run_options.h"
#include "core/random.h"
#include "plan/plan.h"
#include <math.h>
#include <polyad/project.h>
#include <stdio.h>
#include <string.h>

enum { ROW_ITERATIONS = 200 };

struct projection {
  struct pd_stage stage;
  polyad_context *context;
  const polyad_ktensor *model;
  const polyad_tensor *tensor;
  const polyad_project_options *options;
  polyad_model_kind kind;
  bool projected[POLYAD_MAX_ORDER];
  struct pd_double_model now;   /* rows: the tensor's dims */
  bool *held[POLYAD_MAX_ORDER]; /* rows x R; NULL: nothing is fixed in the mode */
  double *gram[POLYAD_MAX_ORDER], *v, *right, *before;
  int exponent; /* now.weight and the tensor in `right` are 2^-exponent times what was given */
  polyad_plan *plan;
  polyad_workspace *workspace;
  uint64_t unfinished; /* rows of counts */
};

void polyad_project_options_init(polyad_project_options *options) {
  *options = (polyad_project_options){
      .mode_count = 1, .kind = POLYAD_KIND_AUTO, .max_iterations = 1000, .tolerance = 1e-10};
}

/* ---- checks --------------------------------------------------------------------------------- */

static polyad_status check_modes(struct projection *p) {
  polyad_context *context = p->context;
  const polyad_project_options *options = p->options;
  int order = p->model->order;
  PD_EXPECT(context, order > 1,
            "a model of one mode found; expected one of at least 2, since projecting replaces some "
            "modes and keeps others");
  PD_EXPECT(context, options->mode_count >= 1 && options->mode_count < order,
            "%d modes to project found; expected 1 to %d of a model of order %d",
            options->mode_count, order - 1, order);
  for (int k = 0; k < options->mode_count; ++k) {
    int mode = options->modes[k];
    PD_EXPECT(context, mode >= 0 && mode < order && !p->projected[mode],
              "mode %d to project found; expected different ones from %d to %d",
              pd_shown_mode(context, mode), pd_shown_mode(context, 0),
              pd_shown_mode(context, order - 1));
    p->projected[mode] = true;
  }
  polyad_run_options run = pd_run_options_default(options->max_iterations);
  run.tolerance = options->tolerance;
  return pd_run_options_check(context, &run, 1);
}

static polyad_status project_check_dims(const struct projection *p) {
  unsigned projected = 0;
  for (int n = 0; n < p->model->order; ++n)
    projected |= (unsigned)p->projected[n] << n;
  return pd_model_check_shape(p->context, p->model->order, p->model->dims, p->tensor, projected,
                              "the same of a mode that is not projected");
}

/* ---- start ---------------------------------------------------------------------------------- */

/* Rows of several modes begin random, uniform in [0, 1). */
static polyad_status make_rows(struct projection *p) {
  uint64_t rank = p->model->rank;
  for (int k = 0; k < p->options->mode_count; ++k) {
    int n = p->options->modes[k];
    uint64_t count = p->tensor->dims[n] * rank;
    p->now.rows[n] = p->tensor->dims[n];
    PD_TRY(PD_NEW(p->context, count, &p->now.factor[n]));
    for (uint64_t i = 0; i < count; ++i)
      p->now.factor[n][i] = pd_random_uniform(polyad_seed(p->context), (uint64_t)n, i);
  }
  return POLYAD_OK;
}

static polyad_status check_fixed(const struct projection *p, const polyad_fixed_entry *entry) {
  polyad_context *context = p->context;
  PD_EXPECT(context, entry->mode >= 0 && entry->mode < p->model->order && p->projected[entry->mode],
            "an entry is fixed in mode %d; expected one of the projected modes",
            pd_shown_mode(context, entry->mode));
  PD_EXPECT(context, entry->component < p->model->rank,
            "an entry is fixed in component %llu; the model has %llu",
            (unsigned long long)pd_shown(context, entry->component),
            (unsigned long long)p->model->rank);
  PD_EXPECT(context,
            entry->index == POLYAD_EVERY_INDEX || entry->index < p->tensor->dims[entry->mode],
            "an entry is fixed in row %llu of mode %d, which has %llu rows",
            (unsigned long long)pd_shown(context, entry->index),
            pd_shown_mode(context, entry->mode), (unsigned long long)p->tensor->dims[entry->mode]);
  if (!isfinite(entry->value) || (entry->value < 0 && p->kind != POLYAD_KIND_SIGNED))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "an entry is fixed at %g; expected a finite number%s", entry->value,
                   p->kind == POLYAD_KIND_SIGNED ? "" : ", at least 0");
  return POLYAD_OK;
}

static polyad_status fix_entries(struct projection *p) {
  uint64_t rank = p->model->rank;
  for (uint64_t k = 0; k < p->options->fixed_count; ++k) {
    const polyad_fixed_entry *entry = &p->options->fixed[k];
    PD_TRY(check_fixed(p, entry));
    int n = entry->mode;
    bool every = entry->index == POLYAD_EVERY_INDEX;
    uint64_t first = every ? 0 : entry->index, last = every ? p->tensor->dims[n] : first + 1;
    if (p->held[n] == NULL)
      PD_TRY(PD_NEW_ZERO(p->context, pd_mul_saturated(p->tensor->dims[n], rank), &p->held[n]));
    for (uint64_t i = first; i < last; ++i) {
      p->held[n][i * rank + entry->component] = true;
      p->now.factor[n][i * rank + entry->component] = entry->value;
    }
  }
  return POLYAD_OK;
}

static polyad_status project_make_plan(struct projection *p) {
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.rank = p->model->rank;
  options.precision = POLYAD_F64;
  options.sweeps = 1;
  PD_TRY(polyad_plan_create(p->context, p->tensor, &options, &p->plan));
  return polyad_workspace_create(p->context, p->plan, p->model->rank, &p->workspace);
}

/* Weights whose squares would leave the range are brought near one, and the tensor with them, by a
 * power of two: the rows are the same. */
static void scale_weights(struct projection *p) {
  double most = 0;
  for (uint64_t r = 0; r < p->model->rank; ++r)
    most = fmax(most, fabs(p->now.weight[r]));
  if (!(most > 0x1p400) && !(most < 0x1p-400)) return;
  (void)frexp(most, &p->exponent);
  for (uint64_t r = 0; r < p->model->rank; ++r)
    p->now.weight[r] = ldexp(p->now.weight[r], -p->exponent);
}

/* Factors that get new rows are not in p->now, but tell what kind the model is. */
static bool has_negative_rows(const struct projection *p) {
  for (int n = 0; n < p->model->order; ++n)
    for (uint64_t k = 0; p->projected[n] && k < p->model->dims[n] * p->model->rank; ++k)
      if (pd_model_number(p->model, p->model->factor[n], k) < 0) return true;
  return false;
}

static polyad_status project_start(struct projection *p) {
  uint64_t rank = p->model->rank, longest = 0;
  PD_TRY(pd_double_model_create(p->context, p->model, p->projected, &p->now));
  p->kind = p->options->kind;
  if (p->kind == POLYAD_KIND_NONNEGATIVE) p->now.negative = false; /* of the rows alone */
  if (p->kind == POLYAD_KIND_AUTO && has_negative_rows(p)) p->kind = POLYAD_KIND_SIGNED;
  PD_TRY(pd_model_kind(p->context, &p->now, &p->kind));
  if (p->kind == POLYAD_KIND_POISSON) PD_TRY(pd_poisson_check(p->context, p->tensor));
  PD_TRY(make_rows(p));
  PD_TRY(fix_entries(p));
  for (int n = 0; n < p->model->order; ++n) {
    if (p->projected[n] && p->tensor->dims[n] > longest) longest = p->tensor->dims[n];
    PD_TRY(PD_NEW(p->context, pd_mul_saturated(rank, rank), &p->gram[n]));
    pd_double_gram(p->now.rows[n], rank, p->now.factor[n], p->gram[n]);
  }
  PD_TRY(PD_NEW(p->context, pd_mul_saturated(rank, rank), &p->v));
  PD_TRY(PD_NEW(p->context, pd_mul_saturated(longest, rank), &p->before));
  if (p->kind == POLYAD_KIND_POISSON) return POLYAD_OK;
  scale_weights(p);
  PD_TRY(PD_NEW(p->context, pd_mul_saturated(longest, rank), &p->right));
  return project_make_plan(p);
}

/* ---- rounds --------------------------------------------------------------------------------- */

static polyad_status solve_counts(struct projection *p, int mode) {
  struct pd_poisson_rows rows = {.tensor = p->tensor,
                                 .mode = mode,
                                 .rank = p->model->rank,
                                 .factor = (const double *const *)p->now.factor,
                                 .weight = p->now.weight,
                                 .held = p->held[mode],
                                 .max_iterations = ROW_ITERATIONS};
  polyad_status status = pd_poisson_rows(&p->stage, &rows, p->now.factor[mode]);
  p->unfinished = rows.unfinished;
  return status;
}

static polyad_status solve_squares(struct projection *p, int mode) {
  uint64_t rank = p->model->rank, count = p->tensor->dims[mode];
  PD_TRY(polyad_mttkrp(p->context, p->plan, p->workspace, mode, (const void *const *)p->now.factor,
                       p->right));
  for (uint64_t i = 0; i < count; ++i)
    for (uint64_t r = 0; r < rank; ++r)
      p->right[i * rank + r] *= p->now.weight[r];
  for (uint64_t k = 0; p->exponent != 0 && k < count * rank; ++k)
    p->right[k] = ldexp(p->right[k], -p->exponent);
  pd_double_normal(&p->now, (const double *const *)p->gram, mode, -1, p->v);
  return pd_quadratic_rows(p->context, rank, p->kind == POLYAD_KIND_NONNEGATIVE, p->v, count,
                           p->right, p->held[mode], p->now.factor[mode]);
}

/* Solves for one mode; *changed grows to the largest change of its entries. */
static polyad_status project_solve_mode(struct projection *p, int mode, double *changed) {
  uint64_t rank = p->model->rank, numbers = p->tensor->dims[mode] * rank;
  double *a = p->now.factor[mode], most = 0, change = 0;
  PD_TRY(pd_stage_tick(&p->stage));
  memcpy(p->before, a, numbers * sizeof *a);
  PD_TRY(p->kind == POLYAD_KIND_POISSON ? solve_counts(p, mode) : solve_squares(p, mode));
  for (uint64_t k = 0; k < numbers; ++k) {
    if (!isfinite(a[k]))
      return pd_fail(p->context, POLYAD_NUMERICAL,
                     "the rows of mode %d overflow; scale the tensor's values",
                     pd_shown_mode(p->context, mode));
    most = fmax(most, fabs(a[k]));
    change = fmax(change, fabs(a[k] - p->before[k]));
  }
  if (most > 0) *changed = fmax(*changed, change / most);
  pd_double_gram(p->tensor->dims[mode], rank, a, p->gram[mode]);
  return POLYAD_OK;
}

static double root_mean_square(uint64_t rows, uint64_t rank, const double *a, uint64_t r) {
  double most = 0, sum = 0;
  for (uint64_t i = 0; i < rows; ++i)
    most = fmax(most, fabs(a[i * rank + r]));
  for (uint64_t i = 0; most > 0 && i < rows; ++i)
    sum += (a[i * rank + r] / most) * (a[i * rank + r] / most);
  return most * sqrt(sum / (double)rows);
}

static bool is_fixed(const struct projection *p, uint64_t r) {
  for (uint64_t k = 0; k < p->options->fixed_count; ++k)
    if (p->options->fixed[k].component == r) return true;
  return false;
}

/* Of several modes only the product of the rows is determined: those after the first get the size
 * of the model's. The first mode takes what is left. */
static polyad_status settle_scale(struct projection *p) {
  uint64_t rank = p->model->rank;
  struct pd_double_model whole;
  PD_TRY(pd_double_model_create(p->context, p->model, NULL, &whole));
  int first = p->options->modes[0];
  for (int k = 1; k < p->options->mode_count; ++k) {
    int n = p->options->modes[k];
    for (uint64_t r = 0; r < rank; ++r) {
      double size = root_mean_square(p->now.rows[n], rank, p->now.factor[n], r);
      double wanted = root_mean_square(whole.rows[n], rank, whole.factor[n], r);
      if (size == 0 || wanted == 0 || is_fixed(p, r)) continue;
      for (uint64_t i = 0; i < p->now.rows[n]; ++i)
        p->now.factor[n][i * rank + r] *= wanted / size;
      for (uint64_t i = 0; i < p->now.rows[first]; ++i)
        p->now.factor[first][i * rank + r] *= size / wanted;
    }
  }
  pd_double_model_clear(p->context, &whole);
  return POLYAD_OK;
}

static polyad_status project_iterate(struct projection *p, polyad_project_info *info) {
  int modes = p->options->mode_count;
  while (info->iterations < (modes == 1 ? 1 : p->options->max_iterations) && !info->converged) {
    double changed = 0;
    for (int k = 0; k < modes; ++k)
      PD_TRY(project_solve_mode(p, p->options->modes[k], &changed));
    ++info->iterations;
    info->converged = modes == 1 || changed <= p->options->tolerance;
  }
  if (p->unfinished > 0) info->converged = 0;
  return modes == 1 ? POLYAD_OK : settle_scale(p);
}

/* ---- result --------------------------------------------------------------------------------- */

static polyad_status hand_over(struct projection *p, polyad_ktensor **projected) {
  const polyad_ktensor *model = p->model;
  PD_TRY(polyad_ktensor_create(p->context, model->order, p->tensor->dims, model->rank, model->type,
                               projected));
  polyad_ktensor *made = *projected;
  size_t bytes = model->type == POLYAD_F64 ? sizeof(double) : sizeof(float);
  memcpy(made->weights, model->weights, model->rank * bytes);
  for (int n = 0; n < model->order; ++n) {
    uint64_t numbers = made->dims[n] * model->rank;
    if (!p->projected[n]) pd_copy(p->context, made->factor[n], model->factor[n], numbers * bytes);
    for (uint64_t k = 0; p->projected[n] && k < numbers; ++k) {
      pd_model_set(made, made->factor[n], k, p->now.factor[n][k]);
      if (!isfinite(pd_model_number(made, made->factor[n], k)))
        return pd_fail(p->context, POLYAD_NUMERICAL, "a row is too large for single precision");
    }
  }
  return POLYAD_OK;
}

static polyad_status project_run(struct projection *p, polyad_ktensor **projected,
                                 polyad_project_info *info) {
  PD_TRY(check_modes(p));
  PD_TRY(project_check_dims(p));
  PD_TRY(project_start(p));
  info->kind = p->kind;
  PD_TRY(project_iterate(p, info));
  PD_TRY(hand_over(p, projected));
  info->fit = NAN;
  if (polyad_tensor_norm(p->tensor) > 0)
    PD_TRY(polyad_ktensor_fit(p->context, *projected, p->tensor, &info->fit));
  return POLYAD_OK;
}

static void project_clear(struct projection *p) {
  polyad_workspace_destroy(p->workspace);
  polyad_plan_destroy(p->plan);
  pd_double_model_clear(p->context, &p->now);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    PD_FREE(p->context, p->held[n], p->gram[n]);
  }
  PD_FREE(p->context, p->v, p->right, p->before);
}

polyad_status polyad_project(polyad_context *context, const polyad_ktensor *model,
                             const polyad_tensor *tensor, const polyad_project_options *options,
                             polyad_ktensor **projected, polyad_project_info *info) {
  PD_ENTER(context);
  if (model == NULL || tensor == NULL || options == NULL || projected == NULL ||
      (options->fixed_count > 0 && options->fixed == NULL))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "model, tensor, options, fixed entries or projected is NULL");
  *projected = NULL;
  struct projection p = {.stage = pd_stage_begin(context, "projection"),
                         .context = context,
                         .model = model,
                         .tensor = tensor,
                         .options = options};
  polyad_project_info found = {.converged = 0};
  polyad_status status = project_run(&p, projected, &found);
  snprintf(found.device, sizeof found.device, "%s",
           p.plan != NULL ? polyad_plan_device(p.plan) : "cpu");
  project_clear(&p);
  if (status != POLYAD_OK) {
    polyad_ktensor_destroy(*projected);
    *projected = NULL;
    return status;
  }
  found.seconds = pd_seconds() - p.stage.started;
  if (info != NULL) *info = found;
  return POLYAD_OK;
}
