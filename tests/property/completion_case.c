#include "completion_case.h"
#include "algorithms/observations.h"
#include "core/random.h"
#include "harness.h"
#include "linalg/linalg.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OK(call)                                                                                   \
  do {                                                                                             \
    if ((call) != POLYAD_OK) fail_msg("%s: %s", #call, polyad_last_error(s->context));             \
  } while (0)

struct setting {
  polyad_context *context;
  const char *name;
  const struct pd_device *device;
  const struct pd_completion *steps;
  struct pd_completion_work *work;
  struct completion_variant variant;
  struct pd_observations *plain, *sent; /* in the host's memory and on the device */
  struct pd_completed fitted;           /* on the device */
  double *factor[POLYAD_MAX_ORDER];     /* in the host's memory */
};

/* ---- making -----------------------------------------------------------------------------------
 */

static polyad_tensor *make_weights(polyad_context *context, const polyad_tensor *tensor) {
  polyad_tensor *weights;
  assert_int_equal(polyad_tensor_convert(context, tensor, POLYAD_F64, &weights), POLYAD_OK);
  for (uint64_t q = 0; q < weights->nnz; ++q)
    ((double *)weights->values)[q] = (double)(pd_random_u64(9, 9, q) % 4) / 2;
  return weights;
}

static void make_observations(struct setting *s, const struct mttkrp_case *from, size_t rank) {
  struct problem problem;
  problem_make(from, rank, 17, &problem);
  polyad_tensor *tensor = problem_polyad(s->context, &problem, POLYAD_F64);
  polyad_tensor *weights = s->variant.weights ? make_weights(s->context, tensor) : NULL;
  struct pd_observations **const made[] = {&s->plain, &s->sent};
  for (int k = 0; k < 2; ++k) {
    OK(pd_observations_create(s->context, tensor, weights, 0, made[k]));
    OK(pd_observations_find_rows(*made[k], s->steps));
  }
  OK(pd_observations_send(s->device, &s->sent));
  OK(pd_observations_sort(s->plain, &pd_cpu_completion));
  OK(pd_observations_sort(s->sent, s->steps));
  polyad_tensor_destroy(weights);
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
}

/* Coordinate descent gets the larger ridge, with which it needs few sweeps. */
static void make_factors(struct setting *s, size_t rank) {
  s->fitted = (struct pd_completed){.order = s->plain->order,
                                    .rank = rank,
                                    .columns = rank + s->variant.biases,
                                    .ridge = s->variant.nonnegative ? 100 : 0.75,
                                    .bias_ridge = 0.5,
                                    .ridge_by_count = s->variant.by_count,
                                    .nonnegative = s->variant.nonnegative ? UINT32_MAX : 0};
  for (int n = 0; n < s->fitted.order; ++n) {
    uint64_t rows = s->plain->dims[n], count = rows * s->fitted.columns;
    s->factor[n] = malloc(count * sizeof(double));
    assert_non_null(s->factor[n]);
    for (uint64_t k = 0; k < count; ++k)
      s->factor[n][k] = (pd_random_uniform(3, (uint64_t)n, k) - 0.25) / sqrt((double)rank);
    OK(pd_matrix_create(s->context, s->device, POLYAD_F64, rows, s->fitted.columns,
                        &s->fitted.factor[n]));
    OK(pd_matrix_from_host(s->context, &s->fitted.factor[n], s->factor[n]));
  }
}

static void setting_begin(struct setting *s, const struct mttkrp_case *from, size_t rank) {
  s->name = from->name;
  OK(pd_device_of(s->context, &s->device));
  s->steps = s->device->linalg->completion;
  assert_non_null(s->steps);
  make_observations(s, from, rank);
  make_factors(s, rank);
  const struct pd_completion_job job = {.device = s->device,
                                        .seen = s->sent,
                                        .held = s->sent,
                                        .columns = s->fitted.columns,
                                        .threads = 2,
                                        .rows = true,
                                        .components = true};
  OK(s->steps->work_create(s->context, &job, &s->work));
}

static void setting_end(struct setting *s) {
  s->steps->work_destroy(s->context, s->work);
  for (int n = 0; n < s->fitted.order; ++n) {
    pd_matrix_destroy(s->context, &s->fitted.factor[n]);
    free(s->factor[n]);
  }
  pd_observations_destroy(s->plain);
  pd_observations_destroy(s->sent);
}

static void bring_factor(struct setting *s, int mode) {
  OK(pd_matrix_to_host(s->context, &s->fitted.factor[mode], s->factor[mode]));
}

/* ---- definitions ------------------------------------------------------------------------------
 */

/* Entry r of h at an observation. */
static long double product_but(const struct setting *s, uint64_t q, int mode, size_t r) {
  long double product = 1;
  for (int n = 0; n < s->fitted.order && r < s->fitted.rank; ++n)
    if (n != mode) product *= s->factor[n][s->plain->cell[n][q] * s->fitted.columns + r];
  return product;
}

/* What the model misses at an observation; *size gets the magnitudes of what was added up. */
static long double missed_at(const struct setting *s, uint64_t q, long double *size) {
  long double missed = s->plain->value[q];
  *size = fabsl(missed);
  for (size_t r = 0; r < s->fitted.rank; ++r) {
    long double term = product_but(s, q, -1, r);
    missed -= term;
    *size += fabsl(term);
  }
  for (int n = 0; n < s->fitted.order && s->variant.biases; ++n) {
    long double bias = s->factor[n][s->plain->cell[n][q] * s->fitted.columns + s->fitted.rank];
    missed -= bias;
    *size += fabsl(bias);
  }
  return missed;
}

/* Of one row: half the objective's derivatives, their magnitudes, and the diagonal of the normal
 * equations. */
struct slopes {
  long double *slope, *magnitude, *diagonal;
};

static void add_observation(const struct setting *s, uint64_t q, int mode, struct slopes *to) {
  long double size, missed = missed_at(s, q, &size), weight = pd_observed_weight(s->plain, q);
  for (size_t r = 0; r < s->fitted.columns; ++r) {
    long double h = product_but(s, q, mode, r);
    to->slope[r] -= weight * h * missed;
    to->magnitude[r] += weight * fabsl(h) * size;
    to->diagonal[r] += weight * h * h;
  }
}

static void define_slopes(const struct setting *s, int mode, uint64_t i, struct slopes *to) {
  const struct pd_observed_rows *rows = &s->plain->rows[mode];
  size_t columns = s->fitted.columns;
  for (size_t r = 0; r < columns; ++r) {
    long double x = s->factor[mode][i * columns + r];
    long double ridge =
        pd_completed_ridge(&s->fitted, r == s->fitted.rank, pd_observed_count(rows, i));
    to->slope[r] = ridge * x;
    to->magnitude[r] = fabsl(ridge * x);
    to->diagonal[r] = ridge;
  }
  for (uint64_t p = rows->start[i]; p < rows->start[i + 1]; ++p)
    add_observation(s, pd_observed_place(rows, p), mode, to);
}

/* An entry at its bound may have a slope above zero. */
static void check_slope(const struct setting *s, int mode, uint64_t i, size_t r, long double slope,
                        long double bound) {
  bool free = !s->fitted.nonnegative || r == s->fitted.rank;
  double x = s->factor[mode][i * s->fitted.columns + r];
  if (!free && x < 0)
    fail_msg("%s: mode %d, row %zu, entry %zu is %g", s->name, mode, (size_t)i, r, x);
  if (!free && x == 0 && slope > 0) return;
  if (!(fabsl(slope) <= bound))
    fail_msg("%s, rank %zu: mode %d, row %zu, entry %zu has slope %Lg, expected 0 within %Lg",
             s->name, s->fitted.rank, mode, (size_t)i, r, slope, bound);
}

/* Cholesky's method solves equations whose entry (r, s) is wrong by gamma(3 R + 1) of the root of
 * the diagonal's entries r and s (Higham 2002, theorem 10.4), and sums are wrong by roundings of
 * their terms. Coordinate descent ends when no entry moves by more than 4 roundings of the largest.
 */
static void check_row(const struct setting *s, int mode, uint64_t i, struct slopes *slopes) {
  size_t columns = s->fitted.columns;
  uint64_t count = pd_observed_count(&s->plain->rows[mode], i);
  const double *x = s->factor[mode] + i * columns;
  long double weighted = 0, most = 0, sum = 0;
  define_slopes(s, mode, i, slopes);
  for (size_t r = 0; r < columns; ++r) {
    if (count == 0) assert_true(x[r] == 0);
    weighted += sqrtl(slopes->diagonal[r]) * fabsl((long double)x[r]);
    sum += sqrtl(slopes->diagonal[r]);
    most = fmaxl(most, fabsl((long double)x[r]));
  }
  if (s->fitted.nonnegative) weighted += sum * most;
  long double unit = oracle_gamma(2 * (long double)(count + 4 * columns) + 16, DBL_EPSILON);
  for (size_t r = 0; r < columns; ++r)
    check_slope(s, mode, i, r, slopes->slope[r],
                unit * (slopes->magnitude[r] + sqrtl(slopes->diagonal[r]) * weighted));
}

static void check_rows(struct setting *s, int mode, struct slopes *slopes) {
  OK(s->steps->solve_rows(s->context, s->work, &s->fitted, mode));
  bring_factor(s, mode);
  for (uint64_t i = 0; i < s->plain->dims[mode]; ++i)
    check_row(s, mode, i, slopes);
}

/* Of the last mode, after which no other of the component's entries moves. Residuals have been
 * kept through every component before. */
static void check_component(struct setting *s, size_t component, struct slopes *slopes) {
  int last = s->fitted.order - 1;
  long double roundings = 8 * (long double)s->fitted.columns * (s->fitted.order + 3);
  OK(s->steps->solve_component(s->context, s->work, &s->fitted, component));
  for (int n = 0; n < s->fitted.order; ++n)
    bring_factor(s, n);
  for (uint64_t i = 0; i < s->plain->dims[last]; ++i) {
    uint64_t count = pd_observed_count(&s->plain->rows[last], i);
    define_slopes(s, last, i, slopes);
    if (count == 0) continue;
    check_slope(s, last, i, component, slopes->slope[component],
                oracle_gamma(roundings + 2 * (long double)count, DBL_EPSILON) *
                        slopes->magnitude[component] * (long double)s->fitted.columns +
                    DBL_MIN);
  }
}

static void close_to(const struct setting *s, const char *what, double found, long double exact,
                     long double bound) {
  if (!(fabsl((long double)found - exact) <= bound))
    fail_msg("%s, rank %zu: %s %.17g, expected %.17Lg within %.3Lg", s->name, s->fitted.rank, what,
             found, exact, bound);
}

static void check_sums(struct setting *s) {
  static const double shift = 0.375;
  struct pd_completion_sums sums;
  double compared[2];
  long double loss = 0, sizes = 0, penalty = 0, shifted = 0, shifted_sizes = 0;
  for (uint64_t q = 0; q < s->plain->count; ++q) {
    long double size, missed = missed_at(s, q, &size), weight = pd_observed_weight(s->plain, q);
    long double value = s->plain->value[q];
    loss += weight * missed * missed;
    sizes += weight * size * size;
    size += fabsl(value + shift) - fabsl(value) + 2 * shift;
    shifted += weight * (missed + shift) * (missed + shift);
    shifted_sizes += weight * size * size;
  }
  for (int n = 0; n < s->fitted.order; ++n)
    for (uint64_t i = 0; i < s->plain->dims[n]; ++i)
      for (size_t r = 0; r < s->fitted.columns; ++r) {
        long double x = s->factor[n][i * s->fitted.columns + r];
        uint64_t count = pd_observed_count(&s->plain->rows[n], i);
        penalty += pd_completed_ridge(&s->fitted, r == s->fitted.rank, count) * x * x;
      }
  long double unit =
      oracle_gamma((long double)(s->plain->count + 4 * s->fitted.columns) + 64, DBL_EPSILON);
  OK(s->steps->measure(s->context, s->work, &s->fitted, &sums));
  close_to(s, "loss", sums.loss, loss, unit * sizes);
  close_to(s, "loss of validation", sums.held, loss, unit * sizes);
  close_to(s, "penalty", sums.penalty, penalty,
           oracle_gamma(64 + 70000.0L + (long double)s->fitted.columns, DBL_EPSILON) * penalty);
  OK(s->steps->compare(s->context, s->work, &s->fitted, s->sent, shift, compared));
  close_to(s, "shifted loss", compared[0], shifted, unit * shifted_sizes);
  close_to(s, "magnitudes", compared[1], shifted_sizes, unit * shifted_sizes);
}

void completion_check(polyad_context *context, const struct mttkrp_case *from, size_t rank,
                      struct completion_variant variant) {
  struct setting setting = {.context = context, .variant = variant}, *s = &setting;
  setting_begin(s, from, rank);
  long double *room = calloc(3 * s->fitted.columns, sizeof *room);
  assert_non_null(room);
  struct slopes slopes = {room, room + s->fitted.columns, room + 2 * s->fitted.columns};
  check_sums(s);
  for (int n = 0; n < s->fitted.order; ++n)
    check_rows(s, n, &slopes);
  s->steps->forget(s->work);
  size_t step = s->fitted.columns > 9 ? s->fitted.columns / 3 : 1;
  for (size_t r = 0; r < s->fitted.columns; ++r)
    if (r % step == 0 || r + 1 == s->fitted.columns) check_component(s, r, &slopes);
  check_sums(s);
  free(room);
  setting_end(s);
}
