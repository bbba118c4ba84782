/* Anomalies: entries of a tensor that its model does not expect. A count has the probability, in a
 * Poisson distribution with the model's value as its mean, of a count at least as far out; any
 * other value has its residual, in units of the residuals' robust scale, and the tail of the normal
 * distribution. Those tests stay of which the expected share of false ones is below the level asked
 * for (Benjamini and Hochberg 1995). This file judges cells, anomaly_indices.c slices and indices.
 */
#include "algorithms/anomalies.h"
#include "algorithms/model_values.h"
#include "algorithms/poisson_tail.h"
#include "core/median.h"
#include "core/threads.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 18 };

void polyad_anomaly_options_init(polyad_anomaly_options *options) {
  *options = (polyad_anomaly_options){.kind = POLYAD_KIND_AUTO, .fdr = 0.05};
}

void polyad_anomaly_result_clear(polyad_anomaly_result *result) {
  if (result == NULL) return;
  pd_free(NULL, result->rows);
  *result = (polyad_anomaly_result){.rows = NULL};
}

/* ---- one value ------------------------------------------------------------------------------ */

double pd_anomaly_expected(const struct pd_anomalies *a, uint64_t k) {
  const struct pd_double_model *model = &a->model;
  double sum = 0;
  if (a->expected != NULL) return a->expected[k];
  for (uint64_t r = 0; r < model->rank; ++r) {
    double product = model->weight[r];
    for (int n = 0; n < model->order; ++n)
      product *= model->factor[n][pd_tensor_index(a->tensor, n, k) * model->rank + r];
    sum += product;
  }
  return sum;
}

static void choose_tail(polyad_tail tail, polyad_anomaly *row) {
  row->p = tail == POLYAD_TAIL_UPPER   ? row->p_upper
           : tail == POLYAD_TAIL_LOWER ? row->p_lower
                                       : fmin(1, 2 * fmin(row->p_upper, row->p_lower));
}

void pd_anomaly_judge_count(const struct pd_anomalies *a, bool stored, polyad_anomaly *row) {
  double x = row->value, rate = row->expected;
  row->score = copysign(sqrt(2 * fmax(0, pd_poisson_deviance(x, rate))), x - rate);
  row->p_upper = stored ? pd_poisson_upper_stored(x, rate) : pd_poisson_upper(x, rate);
  row->p_lower = stored ? pd_poisson_lower_stored(x, rate) : pd_poisson_lower(x, rate);
  choose_tail(a->options->tail, row);
}

void pd_anomaly_judge_residual(const struct pd_anomalies *a, double z, polyad_anomaly *row) {
  row->score = z;
  row->p_upper = 0.5 * erfc(z / sqrt(2.0));
  row->p_lower = 0.5 * erfc(-z / sqrt(2.0));
  choose_tail(a->options->tail, row);
}

/* ---- robust scale --------------------------------------------------------------------------- */

/* Errors of sums of k terms hardly ever exceed lambda sqrt(k) u times the sum of sizes, with u half
 * of DBL_EPSILON and lambda about 8 (N. Higham and T. Mary, A new approach to probabilistic
 * rounding error analysis, SIAM Journal on Scientific Computing, 2019); it is 16 for the two sums.
 */
double pd_anomaly_rounding(double terms, double size) {
  return 8 * DBL_EPSILON * sqrt(terms) * size;
}

void pd_robust_scale(uint64_t count, double *numbers, double rounding, double *center,
                     double *scale) {
  double mean = 0;
  *center = *scale = 0;
  if (count == 0) return;
  *center = pd_median(count, numbers);
  for (uint64_t k = 0; k < count; ++k) {
    numbers[k] = fabs(numbers[k] - *center);
    mean += numbers[k] / (double)count;
  }
  *scale = 1.4826 * pd_median(count, numbers);
  if (*scale == 0) *scale = 1.2533 * mean;
  if (*scale > 0) *scale = fmax(*scale, rounding);
}

/* ---- false discoveries ---------------------------------------------------------------------- */

static int oddest_first(const void *a, const void *b) {
  const struct pd_test *x = a, *y = b;
  if (x->p != y->p) return x->p < y->p ? -1 : 1;
  if (x->size != y->size) return x->size > y->size ? -1 : 1;
  return x->unit < y->unit ? -1 : x->unit > y->unit;
}

polyad_status pd_anomaly_rank(struct pd_anomalies *a, uint64_t count, struct pd_test *tests,
                              double tested, double *q) {
  polyad_anomaly_result *result = a->result;
  double least = 1;
  PD_TRY(pd_stage_tick(&a->stage));
  qsort(tests, (size_t)count, sizeof *tests, oddest_first);
  PD_TRY(pd_stage_tick(&a->stage));
  for (uint64_t k = count; k-- > 0;) {
    least = fmin(least, tests[k].p * (tested / (double)(k + 1)));
    q[k] = least;
  }
  result->tested = tested;
  while (result->found < count && q[result->found] <= a->options->fdr)
    ++result->found;
  uint64_t top = a->options->top;
  result->row_count = top == 0 ? result->found : top < count ? top : count;
  return PD_NEW_ZERO(a->context, result->row_count, &result->rows);
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* A cell's value and the terms of the model's, in magnitudes. */
static double cell_magnitude(const struct pd_anomalies *a, uint64_t k) {
  const struct pd_double_model *model = &a->model;
  double sum = fabs(pd_tensor_value(a->tensor, k));
  for (uint64_t r = 0; r < model->rank; ++r) {
    double product = model->weight[r];
    for (int n = 0; n < model->order; ++n)
      product *= model->factor[n][pd_tensor_index(a->tensor, n, k) * model->rank + r];
    sum += fabs(product);
  }
  return sum;
}

/* A residual in robust units. */
static double cell_score(const struct pd_anomalies *a, uint64_t k, double residual) {
  double scale = a->result->scale;
  if (scale == 0) return 0;
  if (a->narrow > 0) scale = fmax(scale, a->narrow * cell_magnitude(a, k));
  return (residual - a->result->center) / scale;
}

static polyad_anomaly judge_cell(const struct pd_anomalies *a, uint64_t k) {
  polyad_anomaly row = {
      .mode = -1, .value = pd_tensor_value(a->tensor, k), .expected = pd_anomaly_expected(a, k)};
  for (int n = 0; n < a->tensor->order; ++n)
    row.index[n] = pd_tensor_index(a->tensor, n, k);
  if (a->counts)
    pd_anomaly_judge_count(a, a->stored, &row);
  else
    pd_anomaly_judge_residual(a, cell_score(a, k, row.value - row.expected), &row);
  return row;
}

static polyad_status test_cells(struct pd_anomalies *a, struct pd_test *tests) {
  uint64_t nnz = a->tensor->nnz;
  int threads = pd_kernel_threads(a->context, nnz, a->model.rank + 16);
  for (uint64_t first = 0; first < nnz; first += BLOCK) {
    uint64_t last = nnz - first < BLOCK ? nnz : first + BLOCK;
    PD_TRY(pd_stage_tick(&a->stage));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1024)
    for (uint64_t k = first; k < last; ++k) {
      polyad_anomaly row = judge_cell(a, k);
      tests[k] = (struct pd_test){row.p, fabs(row.score), k};
    }
  }
  return POLYAD_OK;
}

static polyad_status scale_cells(struct pd_anomalies *a) {
  uint64_t nnz = a->tensor->nnz;
  double *residual;
  PD_TRY(PD_NEW(a->context, nnz, &residual));
  int threads = pd_kernel_threads(a->context, nnz, a->model.rank);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t k = 0; k < nnz; ++k)
    residual[k] = pd_tensor_value(a->tensor, k) - pd_anomaly_expected(a, k);
  polyad_status status = pd_stage_tick(&a->stage);
  double rounding = pd_anomaly_rounding(a->model.order + (double)a->model.rank, a->size);
  if (status == POLYAD_OK)
    pd_robust_scale(nnz, residual, rounding, &a->result->center, &a->result->scale);
  pd_free(a->context, residual);
  return status;
}

static polyad_status find_cells(struct pd_anomalies *a) {
  uint64_t nnz = a->tensor->nnz;
  struct pd_test *tests = NULL;
  double *q = NULL, tested = (double)nnz;
  polyad_status status = POLYAD_OK;
  if (!a->counts) PD_TRY(scale_cells(a));
  if (a->counts && a->options->cells == POLYAD_TESTED_ALL) {
    tested = 1;
    for (int n = 0; n < a->tensor->order; ++n)
      tested *= (double)a->tensor->dims[n];
  }
  PD_TRY_CLEANUP(PD_NEW(a->context, nnz, &tests));
  PD_TRY_CLEANUP(PD_NEW(a->context, nnz, &q));
  PD_TRY_CLEANUP(test_cells(a, tests));
  PD_TRY_CLEANUP(pd_anomaly_rank(a, nnz, tests, tested, q));
  for (uint64_t k = 0; k < a->result->row_count; ++k) {
    a->result->rows[k] = judge_cell(a, tests[k].unit);
    a->result->rows[k].q = q[k];
  }
cleanup:
  PD_FREE(a->context, tests, q);
  return status;
}

/* ---- the public function -------------------------------------------------------------------- */

static polyad_status anomalies_check_options(polyad_context *context, int order,
                                             const polyad_anomaly_options *options) {
  unsigned seen = 0;
  PD_EXPECT(context, options->fdr > 0 && options->fdr < 1,
            "a false-discovery rate of %g found; expected one above 0 and below 1", options->fdr);
  PD_EXPECT(context,
            options->unit >= POLYAD_ANOMALY_CELL && options->unit <= POLYAD_ANOMALY_INDEX &&
                options->tail >= POLYAD_TAIL_BOTH && options->tail <= POLYAD_TAIL_LOWER &&
                options->cells >= POLYAD_TESTED_ALL && options->cells <= POLYAD_TESTED_STORED &&
                options->mode_count >= 0 && options->mode_count <= order,
            "unit %d, tail %d, cells %d, %d modes: one of them is unknown", (int)options->unit,
            (int)options->tail, (int)options->cells, options->mode_count);
  for (int k = 0; k < options->mode_count; ++k) {
    int mode = options->modes[k];
    if (mode < 0 || mode >= order || (seen >> mode & 1) != 0)
      return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                     "mode %d found; expected different ones from %d to %d",
                     pd_shown_mode(context, mode), pd_shown_mode(context, 0),
                     pd_shown_mode(context, order - 1));
    seen |= 1U << mode;
  }
  return POLYAD_OK;
}

/* The first value that is no count; nnz: there is none. */
static uint64_t first_no_count(const polyad_tensor *tensor) {
  for (uint64_t k = 0; k < tensor->nnz; ++k) {
    double x = pd_tensor_value(tensor, k);
    if (!(x >= 0 && x == floor(x))) return k;
  }
  return tensor->nnz;
}

static polyad_status choose_kind(struct pd_anomalies *a) {
  polyad_model_kind kind = a->options->kind;
  uint64_t bad = first_no_count(a->tensor);
  if (kind == POLYAD_KIND_AUTO && !a->model.negative && bad == a->tensor->nnz)
    kind = POLYAD_KIND_POISSON;
  PD_TRY(pd_model_kind(a->context, &a->model, &kind));
  a->result->kind = kind;
  a->counts = kind == POLYAD_KIND_POISSON;
  a->stored = a->counts && a->options->cells == POLYAD_TESTED_STORED &&
              a->tensor->zeros != POLYAD_ZEROS_KEEP;
  if (!a->counts || bad == a->tensor->nnz) return POLYAD_OK;
  return pd_fail(a->context, POLYAD_NUMERICAL,
                 "nonzero %llu is %g; expected a count: a whole number of at least 0",
                 (unsigned long long)pd_shown(a->context, bad), pd_tensor_value(a->tensor, bad));
}

static polyad_status find_expected(struct pd_anomalies *a) {
  const struct pd_device *device;
  snprintf(a->result->device, sizeof a->result->device, "cpu");
  if (a->options->unit == POLYAD_ANOMALY_SLICE) return POLYAD_OK; /* sums alone */
  PD_TRY(pd_values_device(a->context, a->tensor, &device, a->result->device));
  if (device == NULL) return POLYAD_OK;
  PD_TRY(PD_NEW(a->context, a->tensor->nnz, &a->expected));
  return pd_values_on_device(a->context, device, &a->model, a->tensor, a->expected);
}

polyad_status pd_anomaly_overflow(const struct pd_anomalies *a) {
  return pd_fail(a->context, POLYAD_NUMERICAL,
                 "values of the model or their sums overflow a double; scale the values of the "
                 "tensor and the weights of the model");
}

/* a->magnitude, and a->size from the largest entries of the columns. */
static polyad_status find_sizes(struct pd_anomalies *a) {
  uint64_t rank = a->model.rank;
  double *largest, *product;
  PD_TRY(PD_NEW_ZERO(a->context, pd_mul_saturated((uint64_t)a->model.order, rank), &a->magnitude));
  PD_TRY(PD_NEW(a->context, pd_mul_saturated(2, rank), &largest));
  product = largest + rank;
  for (uint64_t r = 0; r < rank; ++r)
    product[r] = fabs(a->model.weight[r]);
  for (int n = 0; n < a->model.order; ++n) {
    const double *row = a->model.factor[n];
    double *sum = a->magnitude + (uint64_t)n * rank;
    memset(largest, 0, rank * sizeof *largest);
    for (uint64_t i = 0; i < a->model.rows[n]; ++i, row += rank)
      for (uint64_t r = 0; r < rank; ++r) {
        largest[r] = fmax(largest[r], fabs(row[r]));
        sum[r] += fabs(row[r]);
      }
    for (uint64_t r = 0; r < rank; ++r)
      product[r] *= largest[r];
  }
  for (uint64_t r = 0; r < rank; ++r)
    a->size += product[r];
  double size = a->size;
  int threads = pd_kernel_threads(a->context, a->tensor->nnz, 1);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : size)
  for (uint64_t k = 0; k < a->tensor->nnz; ++k)
    size = fmax(size, fabs(pd_tensor_value(a->tensor, k)));
  a->size = size;
  pd_free(a->context, largest);
  return POLYAD_OK;
}

static polyad_status anomalies_find(struct pd_anomalies *a, const polyad_ktensor *model) {
  uint64_t rank = model->rank;
  a->result->center = a->result->scale = NAN;
  PD_TRY(anomalies_check_options(a->context, model->order, a->options));
  PD_TRY(pd_model_check_shape(a->context, model->order, model->dims, a->tensor, 0, "the same"));
  PD_TRY(pd_double_model_create(a->context, model, NULL, &a->model));
  PD_TRY(choose_kind(a));
  PD_TRY(find_sizes(a));
  if (!isfinite(a->size)) return pd_anomaly_overflow(a);
  /* Each number has been rounded once, whatever was added up: bounds as pd_anomaly_rounding()'s. */
  if (!a->counts && (a->tensor->type == POLYAD_F32 || model->type == POLYAD_F32))
    a->narrow = 8 * (double)FLT_EPSILON * sqrt(model->order + 1.0);
  PD_TRY(find_expected(a));
  if (a->options->unit == POLYAD_ANOMALY_CELL) return find_cells(a);
  PD_TRY(PD_NEW(a->context, pd_mul_saturated((uint64_t)model->order, rank), &a->sum));
  pd_double_column_sums(&a->model, a->sum);
  for (int n = 0; n < model->order; ++n) {
    PD_TRY(PD_NEW(a->context, pd_mul_saturated(rank, rank), &a->gram[n]));
    pd_double_gram(a->model.rows[n], rank, a->model.factor[n], a->gram[n]);
  }
  return pd_anomalies_of_indices(a);
}

polyad_status polyad_anomalies(polyad_context *context, const polyad_ktensor *model,
                               const polyad_tensor *tensor, const polyad_anomaly_options *options,
                               polyad_anomaly_result *result) {
  PD_ENTER(context);
  PD_EXPECT(context, model != NULL && tensor != NULL && options != NULL && result != NULL,
            "model, tensor, options or result is NULL");
  polyad_anomaly_result_clear(result);
  struct pd_anomalies a = {.stage = pd_stage_begin(context, "search for anomalies"),
                           .context = context,
                           .tensor = tensor,
                           .options = options,
                           .result = result};
  polyad_status status = anomalies_find(&a, model);
  pd_double_model_clear(context, &a.model);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(context, a.gram[n]);
  PD_FREE(context, a.sum, a.expected, a.magnitude);
  result->seconds = pd_seconds() - a.stage.started;
  if (status != POLYAD_OK) polyad_anomaly_result_clear(result);
  return status;
}
