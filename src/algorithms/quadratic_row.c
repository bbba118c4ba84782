/* Rows that minimise a quadratic function. V is scaled to a diagonal of ones, so that what counts
 * as rounding error does not depend on the components' sizes, and factored by Cholesky, where a
 * column whose pivot is rounding error is left out. Nonnegative rows are found by the active-set
 * method of C. L. Lawson and R. J. Hanson (Solving Least Squares Problems, 1974, chapter 23), on
 * the normal equations as R. Bro and S. de Jong do (J. Chemometrics 11, 1997). A row whose
 * unrestricted minimum is nonnegative needs no search. */
#include "algorithms/quadratic_row.h"
#include "core/threads.h"
#include <float.h>
#include <math.h>
#include <string.h>

polyad_status pd_quadratic_create(polyad_context *context, uint64_t rank, bool nonnegative,
                                  struct pd_quadratic *q) {
  uint64_t square = pd_mul_saturated(rank, rank);
  *q = (struct pd_quadratic){.rank = (size_t)rank, .nonnegative = nonnegative};
  polyad_status status = PD_NEW(context, square, &q->v);
  if (status == POLYAD_OK) status = PD_NEW(context, square, &q->lower);
  if (status == POLYAD_OK) status = PD_NEW(context, rank, &q->chosen);
  if (status == POLYAD_OK) status = PD_NEW(context, rank, &q->wait);
  if (status == POLYAD_OK) status = PD_NEW(context, pd_mul_saturated(rank, 5), &q->scale);
  if (status != POLYAD_OK) {
    pd_quadratic_clear(context, q);
    return status;
  }
  q->inverse = q->scale + rank;
  q->right = q->inverse + rank;
  q->value = q->right + rank;
  q->trial = q->value + rank;
  return POLYAD_OK;
}

void pd_quadratic_clear(polyad_context *context, struct pd_quadratic *q) {
  PD_FREE(context, q->v, q->lower, q->chosen, q->wait, q->scale);
  *q = (struct pd_quadratic){0};
}

void pd_quadratic_set(struct pd_quadratic *q, const double *v) {
  size_t rank = q->rank;
  q->chosen_count = 0;
  for (size_t r = 0; r < rank; ++r)
    q->scale[r] = v[r * rank + r] > 0 ? 1 / sqrt(v[r * rank + r]) : 0;
  for (size_t r = 0; r < rank; ++r)
    for (size_t s = 0; s < rank; ++s)
      q->v[r * rank + s] = v[r * rank + s] * q->scale[r] * q->scale[s];
}

/* ---- the chosen variables ------------------------------------------------------------------- */

static void quadratic_row_factor(struct pd_quadratic *q) {
  size_t count = q->chosen_count;
  double least = 8 * (double)q->rank * DBL_EPSILON;
  for (size_t i = 0; i < count; ++i) {
    double *row = q->lower + i * count, square = 1;
    for (size_t j = 0; j < i; ++j) {
      const double *other = q->lower + j * count;
      double sum = q->v[q->chosen[i] * q->rank + q->chosen[j]];
      for (size_t k = 0; k < j; ++k)
        sum -= row[k] * other[k];
      row[j] = sum * q->inverse[j];
      square -= row[j] * row[j];
    }
    q->inverse[i] = square > least ? 1 / sqrt(square) : 0;
  }
}

/* trial[] = the chosen variables' minimum for the right-hand sides in right[]. */
static void quadratic_row_substitute(struct pd_quadratic *q) {
  size_t count = q->chosen_count;
  for (size_t i = 0; i < count; ++i) {
    double sum = q->right[q->chosen[i]];
    for (size_t k = 0; k < i; ++k)
      sum -= q->lower[i * count + k] * q->trial[k];
    q->trial[i] = sum * q->inverse[i];
  }
  for (size_t i = count; i-- > 0;) {
    double sum = q->trial[i];
    for (size_t k = i + 1; k < count; ++k)
      sum -= q->lower[k * count + i] * q->trial[k];
    q->trial[i] = sum * q->inverse[i];
  }
}

/* Chooses all variables that are free; keeps the factor when they are those of the call before. */
static void choose_free(struct pd_quadratic *q, const bool *held) {
  size_t count = 0;
  bool same = true;
  for (size_t r = 0; r < q->rank; ++r) {
    if (q->scale[r] == 0 || (held != NULL && held[r])) continue;
    same = same && count < q->chosen_count && q->chosen[count] == r;
    q->chosen[count++] = r;
  }
  if (same && count == q->chosen_count) return;
  q->chosen_count = count;
  quadratic_row_factor(q);
}

/* ---- nonnegative ---------------------------------------------------------------------------- */

/* The free variable at zero along which the function falls most steeply, beyond rounding; R: none.
 */
static size_t steepest(const struct pd_quadratic *q, const bool *held) {
  size_t rank = q->rank, best = rank;
  double most = 0;
  for (size_t r = 0; r < rank; ++r) {
    if (q->scale[r] == 0 || q->value[r] > 0 || q->wait[r] || (held != NULL && held[r])) continue;
    double slope = q->right[r], size = fabs(q->right[r]);
    for (size_t k = 0; k < rank; ++k) {
      slope -= q->v[r * rank + k] * q->value[k];
      size += fabs(q->v[r * rank + k] * q->value[k]);
    }
    if (slope <= 4 * (double)rank * DBL_EPSILON * size || slope <= most) continue;
    most = slope;
    best = r;
  }
  return best;
}

static void choose_positive(struct pd_quadratic *q, size_t entering) {
  q->chosen_count = 0;
  for (size_t r = 0; r < q->rank; ++r)
    if (q->value[r] > 0 || r == entering) q->chosen[q->chosen_count++] = r;
  quadratic_row_factor(q);
  quadratic_row_substitute(q);
}

/* Goes from value[] towards trial[] as far as no variable becomes negative; false when it was not
 * stopped on the way. */
static bool step_to_bound(struct pd_quadratic *q) {
  double step = 1;
  size_t stopped = q->rank;
  for (size_t i = 0; i < q->chosen_count; ++i) {
    double from = q->value[q->chosen[i]], to = q->trial[i];
    if (to > 0 || from / (from - to) >= step) continue;
    step = from / (from - to);
    stopped = q->chosen[i];
  }
  for (size_t i = 0; i < q->chosen_count; ++i) {
    double *value = &q->value[q->chosen[i]];
    *value = fmax(0, *value + step * (q->trial[i] - *value));
  }
  if (stopped == q->rank) return false;
  q->value[stopped] = 0;
  return true;
}

/* From zero: one variable after the other becomes positive. One that cannot, for rounding, waits
 * until another has; the function falls with every change, so the search ends. */
static void quadratic_row_search(struct pd_quadratic *q, const bool *held) {
  bool *wait = q->wait;
  size_t rank = q->rank, most = 30 * rank + 30;
  memset(wait, 0, rank * sizeof *wait);
  memset(q->value, 0, rank * sizeof *q->value);
  for (size_t k = 0; k < most; ++k) {
    size_t entering = steepest(q, held);
    if (entering == rank) break;
    choose_positive(q, entering);
    size_t place = 0;
    while (q->chosen[place] != entering)
      ++place;
    if (!(q->trial[place] > 0)) {
      wait[entering] = true;
      continue;
    }
    while (step_to_bound(q))
      choose_positive(q, rank);
    memset(wait, 0, rank * sizeof *wait);
  }
  q->chosen_count = 0; /* the next row begins afresh */
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* right[] = the scaled right-hand side, with what held entries contribute taken out. */
static void set_right(struct pd_quadratic *q, const double *b, const bool *held, const double *a) {
  size_t rank = q->rank;
  for (size_t r = 0; r < rank; ++r)
    q->right[r] = b[r] * q->scale[r];
  for (size_t h = 0; held != NULL && h < rank; ++h) {
    if (!held[h] || q->scale[h] == 0) continue;
    for (size_t r = 0; r < rank; ++r)
      q->right[r] -= q->v[r * rank + h] * (a[h] / q->scale[h]);
  }
}

void pd_quadratic_solve(struct pd_quadratic *q, const double *b, const bool *held, double *a) {
  size_t rank = q->rank;
  bool below = false;
  set_right(q, b, held, a);
  choose_free(q, held);
  quadratic_row_substitute(q);
  memset(q->value, 0, rank * sizeof *q->value);
  for (size_t i = 0; i < q->chosen_count; ++i) {
    q->value[q->chosen[i]] = q->trial[i];
    below = below || q->trial[i] < 0;
  }
  if (q->nonnegative && below) quadratic_row_search(q, held);
  for (size_t r = 0; r < rank; ++r)
    if (held == NULL || !held[r]) a[r] = q->value[r] * q->scale[r];
}

polyad_status pd_quadratic_rows(polyad_context *context, uint64_t rank, bool nonnegative,
                                const double *v, uint64_t count, const double *b, const bool *held,
                                double *a) {
  uint64_t work = pd_mul_saturated(count, pd_mul_saturated(rank, rank));
  int threads = pd_worth_threads_dense(polyad_threads(context), work);
  struct pd_quadratic *each;
  polyad_status status = POLYAD_OK;
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)threads, &each));
  for (int t = 0; status == POLYAD_OK && t < threads; ++t)
    status = pd_quadratic_create(context, rank, nonnegative, &each[t]);
  if (status == POLYAD_OK) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
      pd_quadratic_set(&each[t], v);
      for (uint64_t i = pd_part_begin(count, t, threads); i < pd_part_begin(count, t + 1, threads);
           ++i)
        pd_quadratic_solve(&each[t], b + i * rank, held == NULL ? NULL : held + i * rank,
                           a + i * rank);
    }
  }
  for (int t = 0; t < threads; ++t)
    pd_quadratic_clear(context, &each[t]);
  pd_free(context, each);
  return status;
}
