/* CP-APR on the GPU: Phi and the log-likelihood against their definitions, the elementwise steps of
 * the multiplicative update against plain loops, the same bits every time. */
#include "gpu/gpu_context.h"
#include "harness.h"
#include "linalg/linalg.h"
#include "oracle/mttkrp_oracle.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct mttkrp_case cases[] = {
    {"one mode", 1, {50}, 30, SHAPE_UNIFORM, false},
    {"matrix", 2, {40, 700}, 900, SHAPE_UNIFORM, false},
    {"one nonzero", 3, {5, 6, 7}, 1, SHAPE_UNIFORM, false},
    {"empty", 3, {5, 6, 7}, 0, SHAPE_UNIFORM, false},
    {"fibers", 3, {30, 40, 300}, 50000, SHAPE_FIBERS, false},
    {"heavy slices", 3, {300, 200, 100}, 60000, SHAPE_HEAVY, false},
    {"long and empty", 3, {70000, 30, 66000}, 2000, SHAPE_UNIFORM, false},
    {"four modes", 4, {25, 24, 110, 170}, 50000, SHAPE_FIBERS, false},
    {"five modes", 5, {12, 11, 2, 10, 9}, 9000, SHAPE_HEAVY, false},
    {"six modes", 6, {6, 5, 7, 4, 8, 3}, 2000, SHAPE_UNIFORM, false},
};
enum { CASES = sizeof cases / sizeof *cases };

static const size_t ranks[] = {1, 7, 16, 32, 33, 64, 128, 200};
enum { RANKS = sizeof ranks / sizeof *ranks };

static const double epsilon = 1e-10;

/* A count tensor without repeats, and factors of which every eleventh row is zero. */
static void make_counts(const struct mttkrp_case *from, size_t rank, polyad_type type,
                        uint64_t seed, struct problem *problem, polyad_context *context) {
  problem_make(from, rank, seed, problem);
  for (size_t p = 0; p < problem->entries; ++p)
    problem->value[p] = ceil(8 * fabs(problem->value[p]) + 0.5);
  polyad_tensor *merged = problem_polyad(context, problem, POLYAD_F64);
  problem->entries = (size_t)polyad_tensor_nnz(merged);
  for (size_t p = 0; p < problem->entries; ++p) {
    problem->value[p] = ((const double *)polyad_tensor_values(merged))[p];
    for (int n = 0; n < from->order; ++n)
      problem->index[p * (size_t)from->order + (size_t)n] =
          ((const uint32_t *)polyad_tensor_indices(merged, n))[p];
  }
  polyad_tensor_destroy(merged);
  for (int n = 0; n < from->order; ++n)
    for (size_t k = 0; k < (size_t)from->dims[n] * rank; ++k) {
      double entry = k / rank % 11 == 7 ? 0 : fabs(problem->factor[n][k]);
      problem->factor[n][k] = type == POLYAD_F32 ? (double)(float)entry : entry;
    }
}

/* Row of Pi times the row of B, column by column; their sum. */
static long double model_at(const struct problem *problem, size_t p, int mode, long double *pi) {
  size_t rank = problem->rank, order = (size_t)problem->from->order;
  long double m = 0;
  for (size_t r = 0; r < rank; ++r) {
    pi[r] = 1;
    for (size_t n = 0; n < order; ++n)
      if ((int)n != mode) pi[r] *= problem->factor[n][problem->index[p * order + n] * rank + r];
    m += pi[r] * problem->factor[mode][problem->index[p * order + (size_t)mode] * rank + r];
  }
  return m;
}

static void define_phi(const struct problem *problem, int mode, long double *phi, size_t *terms) {
  size_t rank = problem->rank, order = (size_t)problem->from->order;
  size_t rows = (size_t)problem->from->dims[mode];
  long double *pi = malloc(rank * sizeof *pi);
  assert_non_null(pi);
  for (size_t k = 0; k < rows * rank; ++k)
    phi[k] = 0;
  memset(terms, 0, rows * sizeof *terms);
  for (size_t p = 0; p < problem->entries; ++p) {
    long double m = model_at(problem, p, mode, pi);
    size_t i = (size_t)problem->index[p * order + (size_t)mode];
    ++terms[i];
    for (size_t r = 0; r < rank; ++r)
      phi[i * rank + r] += problem->value[p] / (m > epsilon ? m : epsilon) * pi[r];
  }
  free(pi);
}

/* A plan, a workspace and the factors on the GPU. */
struct setting {
  polyad_context *context;
  polyad_plan *plan;
  polyad_workspace *workspace;
  struct pd_matrix factor[POLYAD_MAX_ORDER];
  const struct pd_matrix *list[POLYAD_MAX_ORDER];
};

static void *typed(const double *from, size_t count, polyad_type type) {
  double *to = malloc((count + 1) * sizeof *to);
  assert_non_null(to);
  for (size_t k = 0; k < count; ++k)
    if (type == POLYAD_F32)
      ((float *)(void *)to)[k] = (float)from[k];
    else
      to[k] = from[k];
  return to;
}

static double number_at(const void *array, size_t k, polyad_type type) {
  return type == POLYAD_F32 ? (double)((const float *)array)[k] : ((const double *)array)[k];
}

static void upload(polyad_context *context, const struct pd_device *device, polyad_type type,
                   uint64_t rows, uint64_t columns, const double *from, struct pd_matrix *to) {
  void *host = typed(from, (size_t)(rows * columns), type);
  assert_int_equal(pd_matrix_create(context, device, type, rows, columns, to), POLYAD_OK);
  assert_int_equal(pd_matrix_from_host(context, to, host), POLYAD_OK);
  assert_int_equal(device->functions->synchronize(context, device), POLYAD_OK);
  free(host);
}

static void begin(struct setting *setting, const struct problem *problem, polyad_type type) {
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = "modecopy";
  options.rank = problem->rank;
  options.precision = type;
  setting->plan = gpu_plan(setting->context, problem, &options);
  if (polyad_workspace_create(setting->context, setting->plan, problem->rank,
                              &setting->workspace) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(setting->context));
  for (int n = 0; n < problem->from->order; ++n) {
    upload(setting->context, setting->plan->device, type, problem->from->dims[n], problem->rank,
           problem->factor[n], &setting->factor[n]);
    setting->list[n] = &setting->factor[n];
  }
}

static void end(struct setting *setting, const struct problem *problem) {
  for (int n = 0; n < problem->from->order; ++n)
    pd_matrix_destroy(setting->context, &setting->factor[n]);
  polyad_workspace_destroy(setting->workspace);
  polyad_plan_destroy(setting->plan);
}

static void compare_mode(struct setting *setting, const struct problem *problem, int mode) {
  polyad_type type = polyad_plan_type(setting->plan);
  const struct pd_device *device = setting->plan->device;
  size_t rows = (size_t)problem->from->dims[mode], count = rows * problem->rank;
  long double unit = type == POLYAD_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
  long double *exact = malloc(count * sizeof *exact);
  size_t *terms = malloc(rows * sizeof *terms);
  void *found = malloc(count * sizeof(double));
  assert_true(exact != NULL && terms != NULL && found != NULL);
  struct pd_matrix out;
  assert_int_equal(pd_matrix_create(setting->context, device, type, rows, problem->rank, &out),
                   POLYAD_OK);
  memset(found, 0xFF, count * pd_type_bytes(type)); /* NaN where nothing is written */
  assert_int_equal(pd_matrix_from_host(setting->context, &out, found), POLYAD_OK);
  const struct pd_call call = {
      .op = PD_PHI(epsilon), .mode = mode, .factors = setting->list, .out = &out};
  if (pd_plan_run(setting->context, setting->plan, setting->workspace, &call) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(setting->context));
  assert_int_equal(pd_matrix_to_host(setting->context, &out, found), POLYAD_OK);
  define_phi(problem, mode, exact, terms);
  for (size_t k = 0; k < count; ++k) {
    long double roundings = 3 * problem->from->order + (long double)problem->rank +
                            (long double)terms[k / problem->rank] + 8;
    long double bound = exact[k] * oracle_gamma(roundings, unit);
    double value = number_at(found, k, type);
    if (!(fabsl((long double)value - exact[k]) <= bound))
      fail_msg("%s, %s, mode %d, rank %zu, row %zu column %zu: %.17g, expected %.17Lg within %.3Lg",
               problem->from->name, type == POLYAD_F32 ? "f32" : "f64", mode, problem->rank,
               k / problem->rank, k % problem->rank, value, exact[k], bound);
  }
  pd_matrix_destroy(setting->context, &out);
  free(exact);
  free(terms);
  free(found);
}

static double log_likelihood(struct setting *setting, int mode) {
  struct pd_matrix out;
  double found = NAN;
  assert_int_equal(
      pd_matrix_create(setting->context, setting->plan->device, POLYAD_F64, 1, 1, &out), POLYAD_OK);
  const struct pd_call call = {
      .op = PD_LIKELIHOOD, .mode = mode, .factors = setting->list, .out = &out};
  if (pd_plan_run(setting->context, setting->plan, setting->workspace, &call) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(setting->context));
  assert_int_equal(pd_matrix_to_host(setting->context, &out, &found), POLYAD_OK);
  pd_matrix_destroy(setting->context, &out);
  return found;
}

static void compare_likelihood(struct setting *setting, const struct problem *problem, int mode) {
  bool narrow = polyad_plan_type(setting->plan) == POLYAD_F32;
  long double sum = 0, magnitude = 0, counts = 0;
  long double *pi = malloc(problem->rank * sizeof *pi);
  assert_non_null(pi);
  for (size_t p = 0; p < problem->entries; ++p) {
    long double m = model_at(problem, p, mode, pi), part = problem->value[p] * logl(m);
    sum += part;
    magnitude += fabsl(part);
    counts += problem->value[p];
  }
  free(pi);
  double found = log_likelihood(setting, mode);
  if (isinf(sum)) {
    assert_true(isinf(found) && found < 0);
    return;
  }
  long double roundings = 3 * problem->from->order + (long double)problem->rank + 8;
  long double bound = counts * oracle_gamma(roundings, narrow ? FLT_EPSILON / 2 : DBL_EPSILON / 2) +
                      magnitude * oracle_gamma((long double)problem->entries + 8, DBL_EPSILON / 2);
  if (!(fabsl((long double)found - sum) <= bound))
    fail_msg("%s, mode %d, rank %zu: log-likelihood %.17g, expected %.17Lg within %.3Lg",
             problem->from->name, mode, problem->rank, found, sum, bound);
}

static void test_phi(void **state) {
  (void)state;
  for (int c = 0; c < CASES; ++c)
    for (int k = 0; k < RANKS; ++k) {
      polyad_type type = (c + k) % 2 ? POLYAD_F32 : POLYAD_F64;
      struct setting setting = {.context = gpu_context()};
      struct problem problem;
      make_counts(&cases[c], ranks[k], type, (uint64_t)(c + 10 * k), &problem, setting.context);
      begin(&setting, &problem, type);
      for (int mode = 0; mode < cases[c].order; ++mode)
        compare_mode(&setting, &problem, mode);
      compare_likelihood(&setting, &problem, 0);
      end(&setting, &problem);
      problem_free(&problem);
      polyad_context_destroy(setting.context);
    }
}

/* Without zero rows the log-likelihood is finite; whatever mode it goes through, it is the same
 * number, and always the same bits. */
static void test_log_likelihood(void **state) {
  (void)state;
  for (int c = 4; c < CASES; ++c) {
    struct setting setting = {.context = gpu_context()};
    struct problem problem;
    make_counts(&cases[c], ranks[c % RANKS], POLYAD_F64, 3, &problem, setting.context);
    for (int n = 0; n < cases[c].order; ++n)
      for (size_t k = 0; k < (size_t)cases[c].dims[n] * problem.rank; ++k)
        problem.factor[n][k] += 0.125;
    begin(&setting, &problem, POLYAD_F64);
    for (int mode = 0; mode < cases[c].order; ++mode) {
      compare_likelihood(&setting, &problem, mode);
      double first = log_likelihood(&setting, mode), again = log_likelihood(&setting, mode);
      assert_memory_equal(&first, &again, sizeof first);
    }
    end(&setting, &problem);
    problem_free(&problem);
    polyad_context_destroy(setting.context);
  }
}

/* The elementwise steps on matrices of 1000 x rank. */
enum { ROWS = 1000 };

struct steps {
  polyad_context *context;
  const struct pd_device *device;
  const struct pd_linalg *linalg;
  struct pd_linalg_work *work;
  polyad_type type;
  size_t rank;
  double *phi, *b, *lambda;
  struct pd_matrix on_phi, on_b, on_lambda;
};

static void steps_begin(struct steps *steps, polyad_type type, size_t rank) {
  *steps = (struct steps){.context = gpu_context(), .type = type, .rank = rank};
  size_t count = ROWS * rank;
  steps->phi = malloc(count * sizeof(double));
  steps->b = malloc(count * sizeof(double));
  steps->lambda = malloc(rank * sizeof(double));
  assert_true(steps->phi != NULL && steps->b != NULL && steps->lambda != NULL);
  for (size_t k = 0; k < count; ++k) {
    steps->phi[k] = (double)(float)(0.25 + (double)(k * 7919 % 1000) / 800);
    steps->b[k] = k % 13 == 0 ? 0 : (double)(float)((double)(k * 104729 % 997) / 300);
  }
  for (size_t r = 0; r < rank; ++r)
    steps->lambda[r] = 1 + (double)r / 8;
  assert_int_equal(pd_device_of(steps->context, &steps->device), POLYAD_OK);
  steps->linalg = steps->device->linalg;
  assert_int_equal(steps->linalg->work_create(steps->context, steps->device, rank, &steps->work),
                   POLYAD_OK);
  upload(steps->context, steps->device, type, ROWS, rank, steps->phi, &steps->on_phi);
  upload(steps->context, steps->device, type, ROWS, rank, steps->b, &steps->on_b);
  upload(steps->context, steps->device, POLYAD_F64, 1, rank, steps->lambda, &steps->on_lambda);
}

static void steps_end(struct steps *steps) {
  pd_matrix_destroy(steps->context, &steps->on_phi);
  pd_matrix_destroy(steps->context, &steps->on_b);
  pd_matrix_destroy(steps->context, &steps->on_lambda);
  steps->linalg->work_destroy(steps->context, steps->work);
  polyad_context_destroy(steps->context);
  free(steps->phi);
  free(steps->b);
  free(steps->lambda);
}

static void expect_b(struct steps *steps, const double *expected) {
  size_t count = ROWS * steps->rank;
  void *found = malloc(count * sizeof(double));
  assert_non_null(found);
  assert_int_equal(pd_matrix_to_host(steps->context, &steps->on_b, found), POLYAD_OK);
  double unit = steps->type == POLYAD_F32 ? FLT_EPSILON : DBL_EPSILON;
  for (size_t k = 0; k < count; ++k) {
    double value = number_at(found, k, steps->type);
    if (!(fabs(value - expected[k]) <= 2 * unit * fabs(expected[k])))
      fail_msg("entry %zu of rank %zu: %.17g, expected %.17g", k, steps->rank, value, expected[k]);
  }
  free(found);
}

static void test_elementwise_steps(void **state) {
  (void)state;
  static const size_t some[] = {1, 7, 32, 100};
  for (int t = 0; t < 8; ++t) {
    struct steps steps;
    double scalars[PD_SCALARS], most = 0, shifted = 0;
    steps_begin(&steps, t % 2 ? POLYAD_F32 : POLYAD_F64, some[t / 2]);
    size_t count = ROWS * steps.rank;
    for (size_t k = 0; k < count; ++k) {
      double low = 1 - steps.phi[k] < steps.b[k] ? 1 - steps.phi[k] : steps.b[k];
      most = fabs(low) > most ? fabs(low) : most;
    }
    const struct pd_linalg *linalg = steps.linalg;
    polyad_context *context = steps.context;
    assert_int_equal(linalg->kkt(context, steps.work, &steps.on_phi, &steps.on_b), POLYAD_OK);
    assert_int_equal(
        linalg->multiply(context, steps.work, &steps.on_phi, 2 * most, NULL, &steps.on_b),
        POLYAD_OK);
    assert_int_equal(linalg->fetch(context, 1, &steps.work, &scalars), POLYAD_OK);
    assert_true(fabs(scalars[PD_SCALAR_KKT] - most) <= 2 * DBL_EPSILON * most);
    assert_true(scalars[PD_SCALAR_UPDATES] == 0); /* below the tolerance: nothing is done */
    expect_b(&steps, steps.b);
    assert_int_equal(
        linalg->multiply(context, steps.work, &steps.on_phi, most / 2, NULL, &steps.on_b),
        POLYAD_OK);
    for (size_t k = 0; k < count; ++k)
      steps.b[k] *= steps.phi[k];
    assert_int_equal(linalg->fetch(context, 1, &steps.work, &scalars), POLYAD_OK);
    assert_true(scalars[PD_SCALAR_UPDATES] == 1);
    expect_b(&steps, steps.b);
    for (size_t k = 0; k < count; ++k) {
      bool shifts = steps.phi[k] > 1 && steps.b[k] < 1e-3;
      shifted += shifts;
      steps.b[k] = (steps.b[k] + (shifts ? 0.5 : 0)) * steps.lambda[k % steps.rank];
    }
    assert_true(shifted > 0);
    assert_int_equal(
        linalg->weigh(context, steps.work, &steps.on_phi, 0.5, 1e-3, &steps.on_lambda, &steps.on_b),
        POLYAD_OK);
    assert_int_equal(linalg->fetch(context, 1, &steps.work, &scalars), POLYAD_OK);
    assert_true(scalars[PD_SCALAR_SHIFTED] == shifted);
    assert_int_equal(linalg->fetch(context, 1, &steps.work, &scalars), POLYAD_OK);
    assert_true(scalars[PD_SCALAR_SHIFTED] == 0 && scalars[PD_SCALAR_UPDATES] == 0);
    steps_end(&steps);
  }
}

static void test_normalize(void **state) {
  (void)state;
  for (int t = 0; t < 4; ++t) {
    struct steps steps;
    double scalars[PD_SCALARS], mass = 0;
    steps_begin(&steps, t % 2 ? POLYAD_F32 : POLYAD_F64, t < 2 ? 5 : 64);
    double *lambda = calloc(steps.rank, sizeof *lambda);
    assert_non_null(lambda);
    assert_int_equal(steps.linalg->normalize(steps.context, steps.work, PD_SCALE_NORM_1,
                                             &steps.on_b, &steps.on_lambda),
                     POLYAD_OK);
    assert_int_equal(steps.linalg->fetch(steps.context, 1, &steps.work, &scalars), POLYAD_OK);
    assert_int_equal(pd_matrix_to_host(steps.context, &steps.on_lambda, lambda), POLYAD_OK);
    void *found = malloc(ROWS * steps.rank * sizeof(double));
    assert_non_null(found);
    assert_int_equal(pd_matrix_to_host(steps.context, &steps.on_b, found), POLYAD_OK);
    double unit = steps.type == POLYAD_F32 ? FLT_EPSILON : DBL_EPSILON;
    for (size_t r = 0; r < steps.rank; ++r) {
      double norm = 0;
      for (size_t i = 0; i < ROWS; ++i)
        norm += fabs(steps.b[i * steps.rank + r]);
      mass += norm;
      assert_true(fabs(lambda[r] - norm) <= 2 * ROWS * DBL_EPSILON * norm);
      for (size_t i = 0; i < ROWS; ++i) {
        double expected = steps.b[i * steps.rank + r] / norm;
        double value = number_at(found, i * steps.rank + r, steps.type);
        assert_true(fabs(value - expected) <= (2 * unit + 2 * ROWS * DBL_EPSILON) * expected);
      }
    }
    assert_true(fabs(scalars[PD_SCALAR_MASS] - mass) <= 2 * ROWS * DBL_EPSILON * mass);
    free(found);
    free(lambda);
    steps_end(&steps);
  }
}

/* Columns of norm zero stay zero and get lambda 0, whatever the norm. */
static void test_zero_columns(void **state) {
  (void)state;
  static const enum pd_scaling scalings[] = {PD_SCALE_NORM_2, PD_SCALE_MAX_AT_LEAST_1,
                                             PD_SCALE_NORM_1};
  for (int t = 0; t < 6; ++t) {
    struct steps steps;
    steps_begin(&steps, t % 2 ? POLYAD_F32 : POLYAD_F64, 9);
    size_t count = ROWS * steps.rank;
    for (size_t k = 0; k < count; ++k)
      if (k % steps.rank == 4) steps.b[k] = 0;
    pd_matrix_destroy(steps.context, &steps.on_b);
    upload(steps.context, steps.device, steps.type, ROWS, steps.rank, steps.b, &steps.on_b);
    assert_int_equal(steps.linalg->normalize(steps.context, steps.work, scalings[t / 2],
                                             &steps.on_b, &steps.on_lambda),
                     POLYAD_OK);
    double lambda[9];
    void *found = malloc(count * sizeof(double));
    assert_non_null(found);
    assert_int_equal(pd_matrix_to_host(steps.context, &steps.on_lambda, lambda), POLYAD_OK);
    assert_int_equal(pd_matrix_to_host(steps.context, &steps.on_b, found), POLYAD_OK);
    for (size_t r = 0; r < steps.rank; ++r)
      assert_true(r == 4 ? lambda[r] == 0 : lambda[r] > 0);
    for (size_t k = 4; k < count; k += steps.rank)
      assert_true(number_at(found, k, steps.type) == 0);
    free(found);
    steps_end(&steps);
  }
}

int main(int count, char **arguments) {
  int missing = gpu_missing();
  if (missing != 0) return missing;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_phi),
      cmocka_unit_test(test_log_likelihood),
      cmocka_unit_test(test_elementwise_steps),
      cmocka_unit_test(test_normalize),
      cmocka_unit_test(test_zero_columns),
  };
  if (count > 1) cmocka_set_test_filter(arguments[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
