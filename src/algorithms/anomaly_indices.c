/* Anomalies of slices and of indices. A slice's sum and the sum of the model over its cells, absent
 * ones included, take one pass over the nonzeros and the column sums of the factors; so does its
 * squared residual, with Gram matrices in place of sums. An index of counts has the p-value of
 * Simes over its cells. */
#include "algorithms/anomalies.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The indices of the chosen modes, one mode after the other. */
struct units {
  int mode[POLYAD_MAX_ORDER], mode_count;
  uint64_t start[POLYAD_MAX_ORDER + 1];
  double *value, *expected; /* of each unit; indices of no counts: mean squared residual, none */
  double *p, *score;        /* of each unit that is judged by its cells */
  double *magnitude; /* of each unit: of a slice the sum of the magnitudes of what its sums add up;
                        of an index that of its cells' squares, over all its cells */
  double *numbers;   /* scratch: of the longest mode */
  int exponent;      /* mean squared residuals are in units of 4^exponent */
};

static void choose_modes(const struct pd_anomalies *a, struct units *units) {
  int given = a->options->mode_count;
  units->mode_count = given == 0 ? a->tensor->order : given;
  for (int k = 0; k < units->mode_count; ++k) {
    units->mode[k] = given == 0 ? k : a->options->modes[k];
    units->start[k + 1] = units->start[k] + a->tensor->dims[units->mode[k]];
  }
}

static uint64_t unit_count(const struct units *units) { return units->start[units->mode_count]; }

/* ---- sums ----------------------------------------------------------------------------------- */

/* Sum of the model over the slice of index i of mode n, from the column sums of the other factors;
 * of the magnitudes of its terms where these are a->magnitude. */
static double slice_sum(const struct pd_anomalies *a, int n, uint64_t i, const double *sum) {
  uint64_t rank = a->model.rank;
  double total = 0;
  for (uint64_t r = 0; r < rank; ++r) {
    double product = a->model.weight[r] * a->model.factor[n][i * rank + r];
    for (int m = 0; m < a->model.order; ++m)
      if (m != n) product *= sum[(uint64_t)m * rank + r];
    total += sum == a->magnitude ? fabs(product) : product;
  }
  return total;
}

/* Counts are judged by their probabilities, so that magnitudes, which bound rounding, are summed of
 * other values alone. */
static polyad_status anomaly_indices_find_sums(struct pd_anomalies *a, struct units *units) {
  for (int k = 0; k < units->mode_count; ++k) {
    int n = units->mode[k];
    double *value = units->value + units->start[k];
    double *magnitude = units->magnitude + units->start[k];
    PD_TRY(pd_stage_tick(&a->stage));
    for (uint64_t p = 0; p < a->tensor->nnz; ++p) {
      uint64_t i = pd_tensor_index(a->tensor, n, p);
      value[i] += pd_tensor_value(a->tensor, p);
      if (!a->counts) magnitude[i] += fabs(pd_tensor_value(a->tensor, p));
    }
    for (uint64_t i = 0; i < a->tensor->dims[n]; ++i) {
      units->expected[units->start[k] + i] = slice_sum(a, n, i, a->sum);
      if (!a->counts) magnitude[i] += slice_sum(a, n, i, a->magnitude);
    }
  }
  for (uint64_t u = 0; u < unit_count(units); ++u)
    if (!isfinite(units->value[u]) || !isfinite(units->expected[u])) return pd_anomaly_overflow(a);
  return POLYAD_OK;
}

/* ---- squared residuals ---------------------------------------------------------------------- */

/* Keeps the model at the nonzeros, which two passes want. */
static polyad_status keep_expected(struct pd_anomalies *a) {
  double *expected;
  if (a->expected != NULL) return POLYAD_OK;
  PD_TRY(PD_NEW(a->context, a->tensor->nnz, &expected));
  polyad_status status = POLYAD_OK;
  for (uint64_t p = 0; p < a->tensor->nnz; ++p) {
    if (p % 4096 == 0) PD_TRY_CLEANUP(pd_stage_tick(&a->stage));
    expected[p] = pd_anomaly_expected(a, p);
  }
  a->expected = expected;
  return POLYAD_OK;
cleanup:
  pd_free(a->context, expected);
  return status;
}

/* The exponent of 2 in whose units squares are taken: that of the largest value, of the data or of
 * the model at its nonzeros. */
static int find_exponent(const struct pd_anomalies *a) {
  double largest = 0;
  int exponent;
  for (uint64_t p = 0; p < a->tensor->nnz; ++p)
    largest =
        fmax(largest, fmax(fabs(pd_tensor_value(a->tensor, p)), fabs(pd_anomaly_expected(a, p))));
  (void)frexp(largest, &exponent);
  return exponent;
}

/* The sum of m^2 over the absent cells of an index: that over all its `cells`, row' V row, less
 * that over the `stored` ones. A difference that rounding alone may have left counts as 0. The
 * terms are the stored cells, the products with V and the `rows` of all factors, which the Gram
 * matrices in V sum. */
static double absent_squares(uint64_t rank, const double *row, const double *v, double cells,
                             double rows, double stored, double stored_squares) {
  double squares = 0, size = stored_squares;
  if (stored == cells) return 0;
  for (uint64_t r = 0; r < rank; ++r) {
    for (uint64_t s = 0; s < rank; ++s) {
      double part = row[r] * v[r * rank + s] * row[s];
      squares += part;
      size += fabs(part);
    }
  }
  squares -= stored_squares;
  double terms = stored + (double)rank * (double)rank + rows;
  return squares > pd_anomaly_rounding(terms, size) ? squares : 0;
}

/* Of every unit the sum of (x - m)^2 over its stored cells, their number, and their sum of m^2. */
static polyad_status square_stored(struct pd_anomalies *a, struct units *units, double *stored,
                                   double *squares) {
  for (uint64_t p = 0; p < a->tensor->nnz; ++p) {
    if (p % 4096 == 0) PD_TRY(pd_stage_tick(&a->stage));
    double m = ldexp(pd_anomaly_expected(a, p), -units->exponent);
    double x = ldexp(pd_tensor_value(a->tensor, p), -units->exponent), residual = x - m;
    for (int k = 0; k < units->mode_count; ++k) {
      uint64_t u = units->start[k] + pd_tensor_index(a->tensor, units->mode[k], p);
      units->value[u] += residual * residual;
      stored[u] += 1;
      squares[u] += m * m;
      units->magnitude[u] += x * x + m * m;
    }
  }
  return POLYAD_OK;
}

/* value[] = the mean over the slice's cells of (x - m)^2, in units of 4^exponent: of stored cells
 * one by one, since x^2 - 2 x m + m^2 cancels where the model is close. */
static polyad_status find_squares(struct pd_anomalies *a, struct units *units) {
  uint64_t rank = a->model.rank;
  struct pd_double_model scaled = a->model;
  double *v = NULL, *stored = NULL, *squares = NULL, cells = 1, rows = 0;
  polyad_status status = POLYAD_OK;
  PD_TRY(keep_expected(a));
  units->exponent = find_exponent(a);
  scaled.weight = NULL;
  PD_TRY_CLEANUP(PD_NEW(a->context, pd_mul_saturated(rank, rank), &v));
  PD_TRY_CLEANUP(PD_NEW(a->context, rank, &scaled.weight));
  PD_TRY_CLEANUP(PD_NEW_ZERO(a->context, unit_count(units), &stored));
  PD_TRY_CLEANUP(PD_NEW_ZERO(a->context, unit_count(units), &squares));
  PD_TRY_CLEANUP(square_stored(a, units, stored, squares));
  for (uint64_t r = 0; r < rank; ++r)
    scaled.weight[r] = ldexp(a->model.weight[r], -units->exponent);
  for (int n = 0; n < a->tensor->order; ++n) {
    cells *= (double)a->tensor->dims[n];
    rows += (double)a->tensor->dims[n];
  }
  for (int k = 0; k < units->mode_count; ++k) {
    int n = units->mode[k];
    double each = cells / (double)a->tensor->dims[n];
    pd_double_normal(&scaled, (const double *const *)a->gram, n, -1, v);
    for (uint64_t i = 0; i < a->tensor->dims[n]; ++i) {
      uint64_t u = units->start[k] + i;
      units->value[u] +=
          absent_squares(rank, a->model.factor[n] + i * rank, v, each, rows, stored[u], squares[u]);
      units->value[u] /= each;
      units->magnitude[u] /= each;
    }
  }
cleanup:
  PD_FREE(a->context, v, scaled.weight, stored, squares);
  return status;
}

/* ---- cells of an index ---------------------------------------------------------------------- */

/* Probabilities that are too small for a double are all 0: then the larger score comes first. */
static int by_p(const void *a, const void *b) {
  const struct pd_test *x = a, *y = b;
  if (x->p != y->p) return x->p < y->p ? -1 : 1;
  return fabs(x->size) > fabs(y->size) ? -1 : fabs(x->size) < fabs(y->size);
}

/* Simes: the least over k of K p_(k) / k. Cells that are not listed have p = 1. */
static void anomaly_indices_combine(uint64_t count, struct pd_test *cells, double tested, double *p,
                                    double *score) {
  *p = 1;
  *score = 0;
  qsort(cells, (size_t)count, sizeof *cells, by_p);
  for (uint64_t k = 0; k < count; ++k)
    *p = fmin(*p, cells[k].p * (tested / (double)(k + 1)));
  if (count > 0) *score = cells[0].size;
}

static polyad_status combine_mode(struct pd_anomalies *a, struct units *units, int k,
                                  const struct pd_test *cell) {
  const polyad_tensor *tensor = a->tensor;
  int n = units->mode[k];
  uint64_t dim = tensor->dims[n], *start = NULL;
  struct pd_test *sorted = NULL;
  double whole = 1;
  polyad_status status = POLYAD_OK;
  for (int m = 0; m < tensor->order; ++m)
    if (m != n) whole *= (double)tensor->dims[m];
  PD_TRY_CLEANUP(PD_NEW_ZERO(a->context, pd_add_saturated(dim, 2), &start));
  PD_TRY_CLEANUP(PD_NEW(a->context, tensor->nnz, &sorted));
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    ++start[pd_tensor_index(tensor, n, p) + 2];
  for (uint64_t i = 0; i < dim; ++i)
    start[i + 2] += start[i + 1];
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    sorted[start[pd_tensor_index(tensor, n, p) + 1]++] = cell[p];
  for (uint64_t i = 0; i < dim; ++i) {
    if (i % 1024 == 0) PD_TRY_CLEANUP(pd_stage_tick(&a->stage));
    uint64_t count = start[i + 1] - start[i], unit = units->start[k] + i;
    anomaly_indices_combine(count, sorted + start[i],
                            a->options->cells == POLYAD_TESTED_STORED ? (double)count : whole,
                            &units->p[unit], &units->score[unit]);
  }
cleanup:
  PD_FREE(a->context, start, sorted);
  return status;
}

static polyad_status combine_cells(struct pd_anomalies *a, struct units *units) {
  struct pd_test *cell;
  uint64_t nnz = a->tensor->nnz;
  polyad_status status = POLYAD_OK;
  PD_TRY(PD_NEW(a->context, nnz, &cell));
  for (uint64_t p = 0; p < nnz; ++p) {
    polyad_anomaly row = {.value = pd_tensor_value(a->tensor, p),
                          .expected = pd_anomaly_expected(a, p)};
    if (p % 4096 == 0) PD_TRY_CLEANUP(pd_stage_tick(&a->stage));
    pd_anomaly_judge_count(a, a->stored, &row);
    cell[p] = (struct pd_test){row.p, row.score, p};
  }
  for (int k = 0; k < units->mode_count; ++k)
    PD_TRY_CLEANUP(combine_mode(a, units, k, cell));
cleanup:
  pd_free(a->context, cell);
  return status;
}

/* ---- judging -------------------------------------------------------------------------------- */

/* What rounding in double may leave of the numbers of mode k. */
static double rounding_of_units(const struct pd_anomalies *a, const struct units *units, int k) {
  double terms = (double)a->model.rank, largest = 0;
  if (a->options->unit == POLYAD_ANOMALY_INDEX) { /* cube roots of mean squares */
    double cell = ldexp(pd_anomaly_rounding(a->model.order + terms, a->size), -units->exponent);
    return cbrt(cell * cell);
  }
  terms += (double)a->tensor->nnz;
  for (int n = 0; n < a->tensor->order; ++n)
    terms += (double)a->tensor->dims[n];
  for (uint64_t u = units->start[k]; u < units->start[k + 1]; ++u)
    largest = fmax(largest, units->magnitude[u]);
  return pd_anomaly_rounding(terms, largest);
}

/* What rounding to float32 may leave of the number of a unit. */
static double narrow_rounding(const struct pd_anomalies *a, const struct units *units, uint64_t u) {
  return a->options->unit == POLYAD_ANOMALY_INDEX
             ? cbrt(a->narrow * a->narrow * units->magnitude[u])
             : a->narrow * units->magnitude[u];
}

/* Robust units of one mode, of what `number` says of a unit; leaves the scores in units->score. */
static void standardize(const struct pd_anomalies *a, const struct units *units, int k,
                        double (*number)(double, double)) {
  uint64_t first = units->start[k], count = units->start[k + 1] - first;
  double center, scale, rounding = rounding_of_units(a, units, k);
  for (uint64_t i = 0; i < count; ++i)
    units->numbers[i] = number(units->value[first + i], units->expected[first + i]);
  pd_robust_scale(count, units->numbers, rounding, &center, &scale);
  for (uint64_t i = first; i < first + count; ++i)
    units->score[i] = scale == 0 ? 0
                                 : (number(units->value[i], units->expected[i]) - center) /
                                       fmax(scale, narrow_rounding(a, units, i));
}

static double anomaly_indices_difference(double value, double expected) { return value - expected; }
/* Mean squares are nearly normal after a cube root (E. B. Wilson and M. M. Hilferty, PNAS 17,
 * 1931). */
static double cube_root(double value, double expected) {
  (void)expected;
  return cbrt(value);
}

static polyad_anomaly judge_unit(const struct pd_anomalies *a, const struct units *units,
                                 uint64_t unit) {
  int k = 0;
  while (unit >= units->start[k + 1])
    ++k;
  bool index = a->options->unit == POLYAD_ANOMALY_INDEX;
  polyad_anomaly row = {
      .mode = units->mode[k], .value = units->value[unit], .expected = units->expected[unit]};
  row.index[row.mode] = unit - units->start[k];
  if (a->counts && !index) {
    pd_anomaly_judge_count(a, false, &row);
  } else if (a->counts) {
    row.score = units->score[unit];
    row.p = units->p[unit];
    row.p_upper = row.p_lower = NAN;
  } else {
    pd_anomaly_judge_residual(a, units->score[unit], &row);
    if (index) row.p = row.p_upper;
    if (index) row.value = ldexp(sqrt(row.value), units->exponent);
  }
  return row;
}

static polyad_status anomaly_indices_measure(struct pd_anomalies *a, struct units *units) {
  bool index = a->options->unit == POLYAD_ANOMALY_INDEX;
  if (a->counts || !index) PD_TRY(anomaly_indices_find_sums(a, units));
  if (a->counts) return index ? combine_cells(a, units) : POLYAD_OK;
  if (index) PD_TRY(find_squares(a, units));
  for (int k = 0; k < units->mode_count; ++k) {
    uint64_t first = units->start[k], count = units->start[k + 1] - first;
    PD_TRY(pd_stage_tick(&a->stage));
    standardize(a, units, k, index ? cube_root : anomaly_indices_difference);
    if (!index) continue;
    double center, scale;
    memcpy(units->numbers, units->value + first, count * sizeof *units->numbers);
    pd_robust_scale(count, units->numbers, 0, &center, &scale);
    for (uint64_t i = first; i < first + count; ++i)
      units->expected[i] = ldexp(sqrt(center), units->exponent);
  }
  return POLYAD_OK;
}

static polyad_status rank_units(struct pd_anomalies *a, const struct units *units) {
  uint64_t count = unit_count(units);
  struct pd_test *tests = NULL;
  double *q = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(a->context, count, &tests));
  PD_TRY_CLEANUP(PD_NEW(a->context, count, &q));
  for (uint64_t u = 0; u < count; ++u) {
    if (u % 1024 == 0) PD_TRY_CLEANUP(pd_stage_tick(&a->stage));
    polyad_anomaly row = judge_unit(a, units, u);
    tests[u] = (struct pd_test){row.p, fabs(row.score), u};
  }
  PD_TRY_CLEANUP(pd_anomaly_rank(a, count, tests, (double)count, q));
  for (uint64_t k = 0; k < a->result->row_count; ++k) {
    a->result->rows[k] = judge_unit(a, units, tests[k].unit);
    a->result->rows[k].q = q[k];
  }
cleanup:
  PD_FREE(a->context, tests, q);
  return status;
}

polyad_status pd_anomalies_of_indices(struct pd_anomalies *a) {
  struct units units = {.mode_count = 0};
  uint64_t longest = 0;
  polyad_status status = POLYAD_OK;
  choose_modes(a, &units);
  uint64_t count = unit_count(&units);
  for (int k = 0; k < units.mode_count; ++k)
    if (a->tensor->dims[units.mode[k]] > longest) longest = a->tensor->dims[units.mode[k]];
  PD_TRY_CLEANUP(PD_NEW_ZERO(a->context, count, &units.value));
  PD_TRY_CLEANUP(PD_NEW_ZERO(a->context, count, &units.expected));
  PD_TRY_CLEANUP(PD_NEW_ZERO(a->context, count, &units.magnitude));
  PD_TRY_CLEANUP(PD_NEW_ZERO(a->context, count, &units.p));
  PD_TRY_CLEANUP(PD_NEW_ZERO(a->context, count, &units.score));
  PD_TRY_CLEANUP(PD_NEW(a->context, longest, &units.numbers));
  PD_TRY_CLEANUP(anomaly_indices_measure(a, &units));
  status = rank_units(a, &units);
cleanup:
  PD_FREE(a->context, units.value, units.expected, units.p, units.score, units.magnitude,
          units.numbers);
  return status;
}
