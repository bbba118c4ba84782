/* Adding slices to a model (OnlineCP). Only the slices that are touched are looked at: they become
 * a small tensor of their own, whose rows in the growing mode are numbered afresh. New sums and
 * factors are made beside the old ones and take their place at the end, so that a failure changes
 * nothing.
 *
 * A slice t that was there with row a and gets more data has the row a'. Its earlier data X_t are
 * not known any more; the model says X_t(n) KR(x) = A_n (W_n * (a x^T)), with W_n the elementwise
 * product of the weights' outer product and of the Gram matrices of the modes but n and the growing
 * one. So its part of P_n, which weighs w by now, changes from w X_t(n) KR(a) to (X_t + new)(n)
 * KR(a') by
 *
 *   A_n (W_n * (a (a' - w a)^T)) + MTTKRP_n(new),
 *
 * and Q_n by W_n * (a' a'^T - w a a^T).
 *
 * Models of counts are updated by expectation and maximisation (updater_counts.c): P_n holds the
 * counts that each component is expected to have in each row, Q_n on its diagonal what the rows are
 * multiplied by in the model's sum of all cells. */
#include "algorithms/updater_add.h"
#include "algorithms/poisson_row.h"
#include "core/numbers.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t none = UINT64_MAX;

/* ---- the touched slices --------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static polyad_status updater_add_check(const struct pd_addition *a) {
  const struct pd_double_model *model = &a->updater->model;
  PD_TRY(pd_model_check_shape(a->context, model->order, model->rows, a->tensor, 1U << a->mode,
                              "the same of a mode that does not grow"));
  for (uint64_t i = 0; a->rows != NULL && i < a->tensor->dims[a->mode]; ++i)
    if (a->rows[i] != POLYAD_NEW_ROW && a->rows[i] >= model->rows[a->mode])
      return pd_fail(a->context, POLYAD_INVALID_ARGUMENT,
                     "row %llu found for a slice; the model has %llu",
                     (unsigned long long)pd_shown(a->context, a->rows[i]),
                     (unsigned long long)model->rows[a->mode]);
  return POLYAD_OK;
}

static bool is_new(const struct pd_addition *a, uint64_t i) {
  return a->rows == NULL || a->rows[i] == POLYAD_NEW_ROW;
}

/* Slices that are there count where they have nonzeros; new ones always. */
static polyad_status number_slices(struct pd_addition *a) {
  uint64_t slices = a->tensor->dims[a->mode], next = a->updater->model.rows[a->mode];
  PD_TRY(PD_NEW(a->context, slices, &a->local));
  PD_TRY(PD_NEW(a->context, slices, &a->row));
  for (uint64_t i = 0; i < slices; ++i)
    a->local[i] = none;
  for (uint64_t p = 0; p < a->tensor->nnz; ++p) {
    uint64_t i = pd_tensor_index(a->tensor, a->mode, p);
    if (is_new(a, i) || a->local[i] != none) continue;
    a->row[a->count] = a->rows[i];
    a->local[i] = a->count++;
  }
  a->old_count = a->count;
  for (uint64_t i = 0; i < slices; ++i) {
    if (!is_new(a, i)) continue;
    a->row[a->count] = next++;
    a->local[i] = a->count++;
  }
  return POLYAD_OK;
}

static polyad_status check_repeats(const struct pd_addition *a) {
  uint64_t *sorted = NULL;
  bool repeated = false;
  PD_TRY(PD_NEW(a->context, a->old_count, &sorted));
  memcpy(sorted, a->row, a->old_count * sizeof *sorted);
  qsort(sorted, (size_t)a->old_count, sizeof *sorted, by_number);
  for (uint64_t k = 1; k < a->old_count; ++k)
    repeated = repeated || sorted[k] == sorted[k - 1];
  pd_free(a->context, sorted);
  if (!repeated) return POLYAD_OK;
  return pd_fail(a->context, POLYAD_INVALID_ARGUMENT, "two slices belong to one row");
}

/* The nonzeros with the touched slices' numbers. */
static polyad_status make_touched(struct pd_addition *a) {
  const polyad_tensor *tensor = a->tensor;
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  uint64_t dims[POLYAD_MAX_ORDER], nnz = tensor->nnz;
  polyad_status status = POLYAD_OK;
  for (int n = 0; n < tensor->order; ++n) {
    dims[n] = n == a->mode ? a->count : tensor->dims[n];
    int bytes = pd_index_bytes(dims[n]);
    PD_TRY_CLEANUP(pd_alloc(a->context, nnz, (size_t)bytes, &index[n]));
    if (n != a->mode) pd_copy(a->context, index[n], tensor->index[n], nnz * (uint64_t)bytes);
    for (uint64_t p = 0; n == a->mode && p < nnz; ++p) {
      uint64_t i = a->local[pd_tensor_index(tensor, n, p)];
      pd_id_put(index[n], (int)bytes, p, i);
    }
  }
  PD_TRY_CLEANUP(pd_alloc(a->context, nnz, pd_type_bytes(tensor->type), &values));
  pd_copy(a->context, values, tensor->values, nnz * pd_type_bytes(tensor->type));
  status = pd_tensor_create_take(a->context, tensor->order, dims, nnz, tensor->type, index, &values,
                                 POLYAD_DUPLICATES_SUM, tensor->zeros, &a->touched);
cleanup:
  for (int n = 0; n < tensor->order; ++n)
    pd_free(a->context, index[n]);
  pd_free(a->context, values);
  return status;
}

/* ---- memory --------------------------------------------------------------------------------- */

static polyad_status updater_add_copy(polyad_context *context, uint64_t count, const double *from,
                                      double **to) {
  PD_TRY(PD_NEW(context, count, to));
  memcpy(*to, from, count * sizeof **to);
  return POLYAD_OK;
}

static polyad_status make_next(struct pd_addition *a) {
  const polyad_updater *updater = a->updater;
  uint64_t rank = a->rank, square = rank * rank, longest = 0;
  a->next = (struct pd_double_model){.order = updater->model.order, .rank = rank};
  PD_TRY(updater_add_copy(a->context, rank, updater->model.weight, &a->next.weight));
  for (int n = 0; n < a->next.order; ++n) {
    if (n == a->mode) continue;
    uint64_t numbers = updater->model.rows[n] * rank;
    a->next.rows[n] = updater->model.rows[n];
    if (numbers > longest) longest = numbers;
    PD_TRY(updater_add_copy(a->context, numbers, updater->model.factor[n], &a->next.factor[n]));
    PD_TRY(updater_add_copy(a->context, numbers, updater->sums[n].p, &a->sums[n].p));
    PD_TRY(updater_add_copy(a->context, square, updater->sums[n].q, &a->sums[n].q));
    PD_TRY(updater_add_copy(a->context, square, updater->sums[n].gram, &a->sums[n].gram));
  }
  a->next.rows[a->mode] = a->count;
  PD_TRY(PD_NEW_ZERO(a->context, pd_mul_saturated(a->count, rank), &a->next.factor[a->mode]));
  PD_TRY(PD_NEW(a->context, pd_mul_saturated(a->count, rank), &a->right));
  PD_TRY(PD_NEW(a->context, pd_mul_saturated(a->old_count, rank), &a->before));
  PD_TRY(PD_NEW(a->context, a->old_count, &a->weight));
  PD_TRY(PD_NEW(a->context, square, &a->v));
  PD_TRY(PD_NEW(a->context, square, &a->w));
  PD_TRY(PD_NEW(a->context, square, &a->square));
  return PD_NEW(a->context, longest, &a->product);
}

static polyad_status updater_add_prepare(struct pd_addition *a) {
  const polyad_updater *updater = a->updater;
  uint64_t rank = a->rank;
  PD_TRY(updater_add_check(a));
  if (updater->kind == POLYAD_KIND_POISSON) PD_TRY(pd_poisson_check(a->context, a->tensor));
  PD_TRY(number_slices(a));
  PD_TRY(check_repeats(a));
  if (a->count == 0) return POLYAD_OK;
  PD_TRY(make_touched(a));
  PD_TRY(make_next(a));
  double later = updater->now + log(updater->options.forget);
  for (uint64_t k = 0; k < a->old_count; ++k) {
    memcpy(a->before + k * rank, updater->model.factor[a->mode] + a->row[k] * rank,
           rank * sizeof *a->before);
    a->weight[k] = exp(later - updater->clock[a->row[k]]);
  }
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.rank = rank;
  options.precision = POLYAD_F64;
  if (updater->kind == POLYAD_KIND_POISSON) options.kernel = POLYAD_KERNEL_PHI;
  options.sweeps = 1; /* of the rows of one mode, and of the others where they move */
  PD_TRY(polyad_plan_create(a->context, a->touched, &options, &a->plan));
  return polyad_workspace_create(a->context, a->plan, rank, &a->workspace);
}

/* ---- one round ------------------------------------------------------------------------------ */

/* out = MTTKRP of the new data, with the weights. */
static polyad_status updater_add_multiply(struct pd_addition *a, int mode, double *out) {
  PD_TRY(pd_stage_tick(&a->stage));
  PD_TRY(polyad_mttkrp(a->context, a->plan, a->workspace, mode, (const void *const *)a->next.factor,
                       out));
  for (uint64_t i = 0; i < a->next.rows[mode]; ++i)
    for (uint64_t r = 0; r < a->rank; ++r)
      out[i * a->rank + r] *= a->next.weight[r];
  return POLYAD_OK;
}

void pd_addition_system(const struct pd_addition *a, int mode, int skipped, double *v) {
  const double *gram[POLYAD_MAX_ORDER];
  for (int n = 0; n < a->next.order; ++n)
    gram[n] = a->sums[n].gram;
  pd_double_system(a->updater->kind, &a->next, gram, mode, skipped, v);
}

/* out += rows x matrix, R x R. */
static void add_product(uint64_t count, uint64_t rank, const double *rows, const double *matrix,
                        double *out) {
  for (uint64_t i = 0; i < count; ++i)
    for (uint64_t s = 0; s < rank; ++s)
      for (uint64_t r = 0; r < rank; ++r)
        out[i * rank + r] += rows[i * rank + s] * matrix[s * rank + r];
}

static polyad_status solve_slices(struct pd_addition *a) {
  if (a->updater->kind == POLYAD_KIND_POISSON) return pd_addition_count_slices(a);
  PD_TRY(updater_add_multiply(a, a->mode, a->right));
  pd_addition_system(a, a->mode, -1, a->v);
  add_product(a->old_count, a->rank, a->before, a->v, a->right);
  return pd_quadratic_rows(a->context, a->rank, pd_updater_keeps_signs(a->updater, a->mode), a->v,
                           a->count, a->right, NULL, a->next.factor[a->mode]);
}

/* square[s][r] = sum over the slices that were there of a_s (a'_r - w a_r). Of counts the diagonal
 * of a_r - w a_r: which component the earlier ones belong to is not asked again. */
static void sum_changes(const struct pd_addition *a) {
  uint64_t rank = a->rank;
  bool counts = a->updater->kind == POLYAD_KIND_POISSON;
  memset(a->square, 0, rank * rank * sizeof *a->square);
  for (uint64_t k = 0; k < a->old_count; ++k) {
    const double *old = a->before + k * rank, *row = a->next.factor[a->mode] + k * rank;
    for (uint64_t r = 0; counts && r < rank; ++r)
      a->square[r * rank + r] += old[r] - a->weight[k] * old[r];
    for (uint64_t s = 0; !counts && s < rank; ++s)
      for (uint64_t r = 0; r < rank; ++r)
        a->square[s * rank + r] += old[s] * (row[r] - a->weight[k] * old[r]);
  }
}

/* square = sum over all touched slices of a' a'^T - w a a^T; of counts the diagonal of a' - w a. */
static void updater_add_sum_squares(const struct pd_addition *a) {
  uint64_t rank = a->rank;
  bool counts = a->updater->kind == POLYAD_KIND_POISSON;
  pd_double_moments(a->updater->kind, a->count, rank, a->next.factor[a->mode], a->square);
  for (uint64_t k = 0; k < a->old_count; ++k) {
    const double *old = a->before + k * rank;
    for (uint64_t r = 0; counts && r < rank; ++r)
      a->square[r * rank + r] -= a->weight[k] * old[r];
    for (uint64_t s = 0; !counts && s < rank; ++s)
      for (uint64_t r = 0; r < rank; ++r)
        a->square[s * rank + r] -= a->weight[k] * old[s] * old[r];
  }
}

static polyad_status overflows(const struct pd_addition *a, int mode) {
  return pd_fail(a->context, POLYAD_NUMERICAL,
                 "the sums of mode %d overflow; scale the tensor's values",
                 pd_shown_mode(a->context, mode));
}

/* Whether the values are so small that their squares underflow: rows solved from such sums would be
 * rounding, or zero. */
static bool sums_underflow(const struct pd_addition *a, const double *q) {
  bool counts = a->updater->kind == POLYAD_KIND_POISSON;
  double weight = 0, square = 0;
  for (uint64_t r = 0; r < a->rank; ++r) {
    double diagonal = q[r * a->rank + r];
    weight = fmax(weight, fabs(a->next.weight[r]));
    square = fmax(square, counts ? diagonal * diagonal : diagonal);
  }
  return weight > 0 && square < DBL_MIN / DBL_EPSILON && a->touched->nnz > 0;
}

static polyad_status solve_other(struct pd_addition *a, int n) {
  const struct pd_updated_mode *before = &a->updater->sums[n];
  struct pd_updated_mode *sums = &a->sums[n];
  uint64_t rank = a->rank, rows = a->next.rows[n];
  double forget = a->updater->options.forget;
  bool counts = a->updater->kind == POLYAD_KIND_POISSON;
  PD_TRY(counts ? pd_addition_expect(a, n, a->product) : updater_add_multiply(a, n, a->product));
  for (uint64_t k = 0; k < rows * rank; ++k)
    sums->p[k] = forget * before->p[k] + a->product[k];
  pd_addition_system(a, n, a->mode, a->w);
  sum_changes(a);
  for (uint64_t k = 0; k < rank * rank; ++k)
    a->square[k] *= a->w[k];
  if (a->old_count > 0) add_product(rows, rank, a->next.factor[n], a->square, sums->p);
  updater_add_sum_squares(a);
  for (uint64_t k = 0; k < rank * rank; ++k)
    sums->q[k] = forget * before->q[k] + a->w[k] * a->square[k];
  if (!pd_all_finite(POLYAD_F64, rank * rank, sums->q) ||
      !pd_all_finite(POLYAD_F64, rows * rank, sums->p))
    return overflows(a, n);
  if (sums_underflow(a, sums->q))
    return pd_fail(a->context, POLYAD_NUMERICAL,
                   "the sums of mode %d underflow; scale the tensor's values",
                   pd_shown_mode(a->context, n));
  if (counts)
    pd_addition_divide(a, n);
  else
    PD_TRY(pd_quadratic_rows(a->context, rank, pd_updater_keeps_signs(a->updater, n), sums->q, rows,
                             sums->p, NULL, a->next.factor[n]));
  pd_double_moments(a->updater->kind, rows, rank, a->next.factor[n], sums->gram);
  return pd_all_finite(POLYAD_F64, rank * rank, sums->gram) ? POLYAD_OK : overflows(a, n);
}

static polyad_status updater_add_iterate(struct pd_addition *a) {
  for (int k = 0; k < a->updater->options.rounds; ++k) {
    PD_TRY(solve_slices(a));
    for (int n = 0; n < a->next.order; ++n)
      if (n != a->mode) PD_TRY(solve_other(a, n));
  }
  return POLYAD_OK;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* The fit of the new data with the updated model. */
static polyad_status updater_add_find_fit(const struct pd_addition *a, double *fit) {
  polyad_ktensor *model = NULL;
  *fit = NAN;
  if (a->old_count > 0 || polyad_tensor_norm(a->touched) == 0) return POLYAD_OK;
  PD_TRY(
      polyad_ktensor_create(a->context, a->next.order, a->next.rows, a->rank, POLYAD_F64, &model));
  memcpy(model->weights, a->next.weight, a->rank * sizeof(double));
  for (int n = 0; n < a->next.order; ++n)
    memcpy(model->factor[n], a->next.factor[n], a->next.rows[n] * a->rank * sizeof(double));
  polyad_status status = polyad_ktensor_fit(a->context, model, a->touched, fit);
  polyad_ktensor_destroy(model);
  return status;
}

/* Memory for the new rows, twice as much as there was, so that all growing together takes time
 * proportional to the rows. */
static polyad_status updater_add_make_room(struct pd_addition *a) {
  polyad_updater *updater = a->updater;
  uint64_t needed = updater->model.rows[a->mode] + a->count - a->old_count;
  if (needed <= updater->room) return POLYAD_OK;
  uint64_t room = pd_mul_saturated(2, updater->room);
  if (room < needed) room = needed;
  PD_TRY(pd_realloc(a->context, room, sizeof *updater->clock, (void **)&updater->clock));
  PD_TRY(pd_realloc(a->context, pd_mul_saturated(room, a->rank), sizeof(double),
                    (void **)&updater->model.factor[a->mode]));
  updater->room = room;
  return POLYAD_OK;
}

static void swap(double **a, double **b) {
  double *kept = *a;
  *a = *b;
  *b = kept;
}

static void take_over(struct pd_addition *a) {
  polyad_updater *updater = a->updater;
  for (int n = 0; n < a->next.order; ++n) {
    if (n == a->mode) continue;
    swap(&updater->model.factor[n], &a->next.factor[n]);
    swap(&updater->sums[n].p, &a->sums[n].p);
    swap(&updater->sums[n].q, &a->sums[n].q);
    swap(&updater->sums[n].gram, &a->sums[n].gram);
  }
  updater->now += log(updater->options.forget);
  for (uint64_t k = 0; k < a->count; ++k) {
    memcpy(updater->model.factor[a->mode] + a->row[k] * a->rank,
           a->next.factor[a->mode] + k * a->rank, a->rank * sizeof(double));
    updater->clock[a->row[k]] = updater->now;
  }
  updater->model.rows[a->mode] += a->count - a->old_count;
}

static polyad_status updater_add_run(struct pd_addition *a, polyad_update_info *info) {
  *info = (polyad_update_info){.kind = a->updater->kind, .fit = NAN};
  PD_TRY(updater_add_prepare(a));
  if (a->count == 0) return POLYAD_OK;
  PD_TRY(updater_add_iterate(a));
  PD_TRY(updater_add_find_fit(a, &info->fit));
  PD_TRY(updater_add_make_room(a));
  take_over(a);
  info->appended = a->count - a->old_count;
  info->changed = a->old_count;
  return POLYAD_OK;
}

static void updater_add_clear(struct pd_addition *a) {
  polyad_workspace_destroy(a->workspace);
  polyad_plan_destroy(a->plan);
  polyad_tensor_destroy(a->touched);
  pd_double_model_clear(a->context, &a->next);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    PD_FREE(a->context, a->sums[n].p, a->sums[n].q, a->sums[n].gram);
  }
  void *const arrays[] = {a->local, a->row,    a->right,   a->before, a->v,
                          a->w,     a->square, a->product, a->weight};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k)
    pd_free(a->context, arrays[k]);
}

polyad_status polyad_updater_add(polyad_context *context, polyad_updater *updater,
                                 const polyad_tensor *tensor, const uint64_t *rows,
                                 polyad_update_info *info) {
  PD_ENTER(context);
  PD_EXPECT(context, updater != NULL && tensor != NULL, "updater or tensor is NULL");
  struct pd_addition a = {.stage = pd_stage_begin(context, "update"),
                          .context = context,
                          .updater = updater,
                          .tensor = tensor,
                          .rows = rows,
                          .mode = updater->options.mode,
                          .rank = updater->model.rank};
  polyad_update_info found;
  polyad_status status = updater_add_run(&a, &found);
  snprintf(found.device, sizeof found.device, "%s",
           a.plan != NULL ? polyad_plan_device(a.plan) : "cpu");
  updater_add_clear(&a);
  if (status != POLYAD_OK) return status;
  found.seconds = pd_seconds() - a.stage.started;
  if (info != NULL) *info = found;
  return POLYAD_OK;
}
