/* Singular vectors and the Tucker decomposition on the CPU: properties that hold whatever the
 * numbers. */
#include "harness.h"

#include "algorithms/tucker_state.h"
#include "core/random.h"
#include "linalg/linalg.h"
#include "linalg/symmetric.h"
#include <float.h>
#include <math.h>
#include <polyad/polyad.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static polyad_context *context;

static int set_up(void **state) {
  (void)state;
  return polyad_context_create(&context) != POLYAD_OK ||
         polyad_set_device(context, "cpu") != POLYAD_OK ||
         polyad_set_threads(context, 3) != POLYAD_OK;
}

static int tear_down(void **state) {
  (void)state;
  uint64_t left = polyad_memory_in_use(context);
  polyad_context_destroy(context);
  return left != 0;
}

/* Y = sum of s_k a_k b_k^T with nearly orthogonal random a_k, b_k; s_k falls by `ratio`. */
static void fill(struct pd_matrix *y, uint64_t terms, double ratio) {
  double scale = 1;
  double *data = y->data;
  for (uint64_t k = 0; k < terms; ++k, scale *= ratio)
    for (uint64_t i = 0; i < y->rows; ++i)
      for (uint64_t p = 0; p < y->columns; ++p)
        data[i * y->columns + p] += scale * pd_random_normal(1, 2 * k, i) *
                                    pd_random_normal(1, 2 * k + 1, p) /
                                    sqrt((double)(y->rows * y->columns));
}

static double inner(const struct pd_matrix *u, uint64_t r, uint64_t s) {
  double sum = 0;
  const double *data = u->data;
  for (uint64_t i = 0; i < u->rows; ++i)
    sum += data[i * u->columns + r] * data[i * u->columns + s];
  return sum;
}

static double square(const struct pd_matrix *m) {
  double sum = 0;
  for (uint64_t k = 0; k < m->rows * m->columns; ++k)
    sum += ((const double *)m->data)[k] * ((const double *)m->data)[k];
  return sum;
}

/* The sum of the `count` largest squares of singular values, by one-sided Jacobi rotations. */
static double best_square(const struct pd_matrix *y, uint64_t count) {
  bool wide = y->columns > y->rows; /* its transpose has the same singular values */
  size_t n = (size_t)(wide ? y->rows : y->columns), m = (size_t)(wide ? y->columns : y->rows);
  double *a = malloc(n * m * sizeof *a), *squares = calloc(n, sizeof *squares), best = 0;
  const double *data = y->data;
  for (size_t c = 0; c < n; ++c)
    for (size_t i = 0; i < m; ++i)
      a[c * m + i] = wide ? data[c * m + i] : data[i * n + c];
  for (int sweep = 0; sweep < 40; ++sweep)
    for (size_t c = 0; c < n; ++c)
      for (size_t d = c + 1; d < n; ++d) {
        double cc = 0, dd = 0, cd = 0;
        for (size_t i = 0; i < m; ++i) {
          cc += a[c * m + i] * a[c * m + i];
          dd += a[d * m + i] * a[d * m + i];
          cd += a[c * m + i] * a[d * m + i];
        }
        if (fabs(cd) <= 1e-300) continue;
        double tau = (dd - cc) / (2 * cd);
        double t = copysign(1, tau) / (fabs(tau) + sqrt(1 + tau * tau));
        double cosine = 1 / sqrt(1 + t * t), sine = t * cosine;
        for (size_t i = 0; i < m; ++i) {
          double x = a[c * m + i], z = a[d * m + i];
          a[c * m + i] = cosine * x - sine * z;
          a[d * m + i] = sine * x + cosine * z;
        }
      }
  for (size_t c = 0; c < n; ++c)
    for (size_t i = 0; i < m; ++i)
      squares[c] += a[c * m + i] * a[c * m + i];
  for (uint64_t k = 0; k < count && k < n; ++k) {
    size_t largest = 0;
    for (size_t c = 1; c < n; ++c)
      if (squares[c] > squares[largest]) largest = c;
    best += squares[largest];
    squares[largest] = -1;
  }
  free(a);
  free(squares);
  return best;
}

/* Vectors are orthonormal and keep as much of Y as its terms allow. */
static void check_vectors(struct pd_svd_size size, uint64_t terms, double ratio,
                          enum pd_svd_method method) {
  struct pd_matrix y, u, core;
  struct pd_svd_work *work;
  double kept;
  assert_int_equal(
      pd_matrix_create(context, &pd_cpu_device, POLYAD_F64, size.rows, size.columns, &y),
      POLYAD_OK);
  assert_int_equal(pd_matrix_create(context, &pd_cpu_device, POLYAD_F64, size.rows, size.count, &u),
                   POLYAD_OK);
  assert_int_equal(
      pd_matrix_create(context, &pd_cpu_device, POLYAD_F64, size.count, size.columns, &core),
      POLYAD_OK);
  fill(&y, terms, ratio);
  assert_int_equal(pd_cpu_svd.create(context, &pd_cpu_device, 1, &size, method, &work), POLYAD_OK);
  if (pd_cpu_svd.leading(context, work, &y, &u) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  for (uint64_t r = 0; r < size.count; ++r)
    for (uint64_t s = 0; s <= r; ++s)
      assert_true(fabs(inner(&u, r, s) - (r == s)) < 1e-13 * (double)size.count);
  assert_int_equal(pd_cpu_svd.project(context, work, &u, &y, &core), POLYAD_OK);
  assert_int_equal(pd_cpu_svd.sum_of_squares(context, work, &core, &kept), POLYAD_OK);
  /* The randomized way loses a little of what is left out anyway. */
  double total = square(&y), best = best_square(&y, size.count);
  double lost = method == PD_SVD_EXACT ? 0 : 0.01 * (total - best);
  if (!(kept <= best + 1e-13 * total && kept >= best - lost - 1e-13 * total))
    fail_msg("%llu x %llu, %llu vectors, method %d: %.17g of %.17g kept",
             (unsigned long long)y.rows, (unsigned long long)y.columns,
             (unsigned long long)size.count, (int)method, kept, best);
  pd_cpu_svd.destroy(context, work);
  pd_matrix_destroy(context, &y);
  pd_matrix_destroy(context, &u);
  pd_matrix_destroy(context, &core);
}

static void test_vectors(void **state) {
  (void)state;
  const struct pd_svd_size sizes[] = {{200, 20, 5}, {20, 200, 5}, {33, 33, 7}, {64, 1, 1},
                                      {1, 64, 1},   {40, 6, 6},   {90, 90, 2}};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k)
    for (int method = 0; method < 2; ++method) {
      check_vectors(sizes[k], 12, 0.3, (enum pd_svd_method)method);
      check_vectors(sizes[k], 2, 1e-5, (enum pd_svd_method)method); /* fewer terms than vectors */
    }
}

/* More vectors are wanted than there are: the rest are orthonormal all the same. */
static void test_more_than_there_are(void **state) {
  (void)state;
  const struct pd_svd_size sizes[] = {{30, 4, 9}, {5, 3, 5}, {9, 1, 9}};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k)
    for (int method = 0; method < 2; ++method) {
      check_vectors(sizes[k], 3, 0.5, (enum pd_svd_method)method);
      check_vectors(sizes[k], 0, 1, (enum pd_svd_method)method); /* a zero matrix */
    }
}

/* ---- eigenvectors by products -------------------------------------------------------------- */

enum { ROWS = 1500 };

/* A = D + 2 w w^T / ||w||^2 with D diagonal: five eigenvalues 7, then a slowly falling spectrum. */
static double diagonal(uint64_t i) { return i < 5 ? 7 : 5 / (1 + (double)i / ROWS); }

static polyad_status times(void *user, const double *x, double *y) {
  ++*(int *)user;
  double inner[PD_SYMMETRIC_BLOCK] = {0};
  for (uint64_t i = 0; i < ROWS; ++i)
    for (int c = 0; c < PD_SYMMETRIC_BLOCK; ++c)
      inner[c] += x[i * PD_SYMMETRIC_BLOCK + (uint64_t)c];
  for (uint64_t i = 0; i < ROWS; ++i)
    for (int c = 0; c < PD_SYMMETRIC_BLOCK; ++c)
      y[i * PD_SYMMETRIC_BLOCK + (uint64_t)c] =
          diagonal(i) * x[i * PD_SYMMETRIC_BLOCK + (uint64_t)c] + 2.0 / ROWS * inner[c];
  return POLYAD_OK;
}

static void test_eigenvectors_by_products(void **state) {
  (void)state;
  enum { WANTED = 9 };
  static double values[WANTED], vectors[ROWS * WANTED], dense[ROWS * ROWS], all[ROWS * WANTED];
  double expected[WANTED];
  int products = 0;
  struct pd_stage stage = pd_stage_begin(context, "testing");
  const struct pd_symmetric_operator a = {.user = &products, .rows = ROWS, .apply = times};
  struct pd_symmetric_search search = {.wanted = WANTED, .tolerance = 1e-9, .most_products = 2000};
  if (pd_symmetric_krylov(&stage, &a, &search, values, vectors) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  assert_int_equal(search.products, products);
  assert_true(search.residual <= 1e-9);
  for (uint64_t i = 0; i < ROWS; ++i)
    for (uint64_t j = 0; j <= i; ++j)
      dense[i * ROWS + j] = 2.0 / ROWS + (i == j ? diagonal(i) : 0);
  assert_int_equal(pd_symmetric_leading(&stage, ROWS, dense, WANTED, expected, all), POLYAD_OK);
  for (int r = 0; r < WANTED; ++r) { /* a residual bounds the distance to an eigenvalue */
    assert_true(fabs(values[r] - expected[r]) <= 1e-9 * expected[0]);
    for (int q = 0; q <= r; ++q) {
      double sum = 0;
      for (uint64_t i = 0; i < ROWS; ++i)
        sum += vectors[i * WANTED + (uint64_t)r] * vectors[i * WANTED + (uint64_t)q];
      /* Each product and restart adds the rounding of LAPACK's vectors, of at most 56 rows. */
      if (!(fabs(sum - (q == r)) < 56 * DBL_EPSILON * search.products))
        fail_msg("vectors %d and %d: inner product %.17g", r, q, sum);
    }
  }
  /* Too few products: the residual tells. */
  search.most_products = 4;
  assert_int_equal(pd_symmetric_krylov(&stage, &a, &search, values, vectors), POLYAD_OK);
  assert_true(search.products == 4 && search.residual > 1e-9);
  polyad_cancel(context);
  assert_int_equal(pd_symmetric_krylov(&stage, &a, &search, values, vectors), POLYAD_CANCELLED);
  assert_int_equal(pd_symmetric_krylov(&stage, &a, &search, values, vectors), POLYAD_CANCELLED);
  polyad_clear_cancel(context);
}

/* ---- the decomposition ---------------------------------------------------------------------- */

static polyad_tensor *tensor_of(int order, const uint64_t *dims, uint64_t nnz) {
  polyad_generate_options options;
  polyad_generate_options_init(&options);
  options.order = order;
  memcpy(options.dims, dims, (size_t)order * sizeof *dims);
  options.nnz = nnz;
  polyad_tensor *tensor = NULL;
  if (polyad_generate(context, &options, &tensor, NULL) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  return tensor;
}

static polyad_plan *plan_of(const polyad_tensor *tensor, const char *format) {
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = format;
  options.kernel = POLYAD_KERNEL_TTMC;
  polyad_plan *plan = NULL;
  if (polyad_plan_create(context, tensor, &options, &plan) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  return plan;
}

static int calls;

static int count_and_end(void *user, const polyad_progress *progress) {
  ++calls;
  return progress->iteration >= *(const int *)user;
}

static void test_run(void **state) {
  (void)state;
  const uint64_t dims[] = {40, 30, 25};
  polyad_tensor *tensor = tensor_of(3, dims, 3000);
  polyad_plan *plan = plan_of(tensor, "auto");
  polyad_tucker_options options;
  polyad_tucker_options_init(&options);
  options.ranks[0] = 5;
  options.ranks[1] = 4;
  options.ranks[2] = 3;
  options.run.tolerance = 0;
  options.run.max_iterations = 9;
  polyad_ttensor *model[2];
  polyad_run_info info = {0};
  for (int k = 0; k < 2; ++k)
    if (polyad_tucker(context, plan, &options, &model[k], &info) != POLYAD_OK)
      fail_msg("%s", polyad_last_error(context));
  assert_int_equal(info.iterations, 9);
  assert_int_equal(info.trace_rows, 9);
  for (int k = 1; k < 9; ++k) /* the fit never falls */
    assert_true(info.trace[k].fit + info.trace[k].fit_bound >=
                info.trace[k - 1].fit - info.trace[k - 1].fit_bound);
  assert_memory_equal(polyad_ttensor_core(model[0]), polyad_ttensor_core(model[1]), 60 * 8);
  double fit;
  assert_int_equal(polyad_ttensor_fit(context, model[0], tensor, &fit), POLYAD_OK);
  assert_true(fabs(fit - info.fit) < 1e-13);

  int last = 4; /* the caller ends the run: the model so far is good */
  polyad_set_progress(context, count_and_end, &last);
  polyad_ttensor *early;
  calls = 0;
  assert_int_equal(polyad_tucker(context, plan, &options, &early, &info), POLYAD_OK);
  polyad_set_progress(context, NULL, NULL);
  assert_int_equal(calls, 4);
  assert_int_equal(info.iterations, 4);
  assert_int_equal(info.reason, POLYAD_REASON_CANCELLED);
  assert_int_equal(polyad_ttensor_fit(context, early, tensor, &fit), POLYAD_OK);
  assert_true(fabs(fit - info.fit) < 1e-13);
  polyad_ttensor_destroy(early);
  polyad_ttensor_destroy(model[0]);
  polyad_ttensor_destroy(model[1]);
  polyad_run_info_clear(&info);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
}

static void test_refused(void **state) {
  (void)state;
  const uint64_t dims[] = {40, 30, 25};
  polyad_tensor *tensor = tensor_of(3, dims, 500);
  polyad_plan *plan = plan_of(tensor, "coo");
  polyad_tucker_options options;
  polyad_ttensor *model;
  polyad_tucker_options_init(&options);
  assert_int_equal(polyad_tucker(context, plan, &options, &model, NULL), POLYAD_INVALID_ARGUMENT);
  for (int n = 0; n < 3; ++n)
    options.ranks[n] = dims[n];
  options.run.max_iterations = 0; /* random factors are not orthonormal */
  options.run.starts = 2;
  assert_int_equal(polyad_tucker(context, plan, &options, &model, NULL), POLYAD_INVALID_ARGUMENT);
  options.run.starts = 1;
  options.init = POLYAD_INIT_RANDOM;
  assert_int_equal(polyad_tucker(context, plan, &options, &model, NULL), POLYAD_INVALID_ARGUMENT);
  options.init = POLYAD_INIT_HOSVD;
  options.run.max_iterations = 1;
  assert_int_equal(polyad_set_memory_limit(context, polyad_memory_in_use(context) + 200000),
                   POLYAD_OK);
  assert_int_equal(polyad_tucker(context, plan, &options, &model, NULL), POLYAD_MEMORY_LIMIT);
  assert_non_null(strstr(polyad_last_error(context), "bytes"));
  assert_null(model);
  uint64_t ranks[3];
  assert_int_equal(polyad_tucker_ranks(context, plan, 0, ranks), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_tucker_ranks(context, plan, 1.5, ranks), POLYAD_INVALID_ARGUMENT);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
}

/* Values far out of the ordinary give the same model, scaled. */
static void test_scale(void **state) {
  (void)state;
  const uint64_t dims[] = {20, 15, 10};
  double fits[3];
  for (int k = 0; k < 3; ++k) {
    polyad_tensor *tensor = tensor_of(3, dims, 400);
    double *values = (double *)(uintptr_t)polyad_tensor_values(tensor), largest = 0;
    for (uint64_t p = 0; p < polyad_tensor_nnz(tensor); ++p)
      values[p] = ldexp(values[p], k == 0 ? 0 : k == 1 ? 900 : -900);
    polyad_plan *plan = plan_of(tensor, "csf");
    polyad_tucker_options options;
    polyad_tucker_options_init(&options);
    for (int n = 0; n < 3; ++n)
      options.ranks[n] = 2;
    polyad_ttensor *model;
    polyad_run_info info = {0};
    if (polyad_tucker(context, plan, &options, &model, &info) != POLYAD_OK)
      fail_msg("%s", polyad_last_error(context));
    fits[k] = info.fit;
    for (int r = 0; r < 8; ++r)
      largest = fmax(largest, fabs(((double *)polyad_ttensor_core(model))[r]));
    int exponent;
    (void)frexp(largest, &exponent);
    assert_true(k == 0 || abs(exponent) > 800);
    polyad_ttensor_destroy(model);
    polyad_run_info_clear(&info);
    polyad_plan_destroy(plan);
    polyad_tensor_destroy(tensor);
  }
  assert_true(fits[0] == fits[1] && fits[0] == fits[2]); /* the scales are powers of two */
}

/* However small, a fall of the fit beyond its rounding ends no run. */
static void test_convergence(void **state) {
  (void)state;
  polyad_tucker_options options = {.run.tolerance = 1e-4};
  struct pd_tucker tucker = {
      .options = &options, .fit_error = 1e-9, .fit_error_before = 1e-9, .share_error = 1e-9};
  const struct {
    double change;
    bool converged;
  } cases[] = {{NAN, false},  {1e-3, false},  {9e-5, true},   {0, true},
               {-1e-9, true}, {-4e-9, false}, {-9e-5, false}, {-1e-3, false}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    tucker.run.change = cases[k].change;
    assert_int_equal(pd_tucker_converged(&tucker), cases[k].converged);
  }
  options.run.tolerance = 0;
  tucker.run.change = 0;
  assert_false(pd_tucker_converged(&tucker));
}

/* Cancelled inside an iteration, factors that are not done stay as they were: the run has a model,
 * and the same fit again is no convergence. */
static void test_cancelled_iteration(void **state) {
  (void)state;
  const uint64_t dims[] = {40, 30, 25}, ranks[] = {3, 2, 4};
  polyad_tensor *tensor = tensor_of(3, dims, 3000);
  polyad_plan *plan = plan_of(tensor, "coo");
  polyad_tucker_options options;
  struct pd_tucker *tucker;
  polyad_trace_row row = pd_run_row(), again = pd_run_row();
  double seconds[3];
  polyad_tucker_options_init(&options);
  memcpy(options.ranks, ranks, sizeof ranks);
  options.init = POLYAD_INIT_RANDOM;
  assert_int_equal(pd_tucker_create(context, plan, &options, pd_seconds(), &tucker), POLYAD_OK);
  assert_int_equal(pd_tucker_start(tucker, 0), POLYAD_OK);
  polyad_cancel(context);
  assert_int_equal(pd_tucker_iterate(tucker, &row, seconds), POLYAD_CANCELLED);
  polyad_clear_cancel(context);
  assert_int_equal(pd_tucker_iterate(tucker, &row, seconds), POLYAD_OK);
  tucker->run.iteration = 1;
  polyad_cancel(context);
  assert_int_equal(pd_tucker_iterate(tucker, &again, seconds), POLYAD_OK);
  polyad_clear_cancel(context);
  assert_true(tucker->cut_short && fabs(again.fit - row.fit) <= row.fit_bound + again.fit_bound);
  tucker->run.change = 0;
  assert_false(pd_tucker_converged(tucker));
  tucker->run.iteration = 2;
  assert_int_equal(pd_tucker_iterate(tucker, &again, seconds), POLYAD_OK);
  assert_true(!tucker->cut_short && again.fit >= row.fit - row.fit_bound);
  pd_tucker_destroy(tucker);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
}

static double seconds_of(clockid_t which) {
  struct timespec now;
  clock_gettime(which, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static volatile double cancelled_at, cancelled_at_clock;

static void cancel_it(int signal) {
  (void)signal;
  polyad_cancel(context);
  cancelled_at = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  cancelled_at_clock = seconds_of(CLOCK_MONOTONIC);
}

#ifdef __SANITIZE_ADDRESS__
enum { SECONDS_TO_END = 6 }; /* its checks slow loops down */
#else
enum { SECONDS_TO_END = 2 };
#endif

/* A large decomposition that is cancelled `after` seconds ends soon: by the clock or in processor
 * time, whichever is less, since other tests may share the processors and LAPACK may use many of
 * them at once. */
static void cancel_vectors(struct pd_svd_size size, double after) {
  struct pd_matrix y, u;
  struct pd_svd_work *work;
  struct itimerval timer = {
      .it_value = {.tv_sec = (long)after, .tv_usec = (long)(1e6 * (after - floor(after)))}};
  assert_int_equal(
      pd_matrix_create(context, &pd_cpu_device, POLYAD_F64, size.rows, size.columns, &y),
      POLYAD_OK);
  assert_int_equal(pd_matrix_create(context, &pd_cpu_device, POLYAD_F64, size.rows, size.count, &u),
                   POLYAD_OK);
  for (uint64_t k = 0; k < size.rows * size.columns; ++k)
    ((double *)y.data)[k] = (double)(k * 2654435761 % 4093) / 4093;
  assert_int_equal(pd_cpu_svd.create(context, &pd_cpu_device, 1, &size, PD_SVD_EXACT, &work),
                   POLYAD_OK);
  cancelled_at = 0;
  assert_true(signal(SIGPROF, cancel_it) != SIG_ERR);
  assert_int_equal(setitimer(ITIMER_PROF, &timer, NULL), 0);
  polyad_status status = pd_cpu_svd.leading(context, work, &y, &u);
  double seconds = fmin(seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cancelled_at,
                        seconds_of(CLOCK_MONOTONIC) - cancelled_at_clock);
  assert_int_equal(setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL), 0);
  polyad_clear_cancel(context);
  if (cancelled_at > 0) {
    assert_true(status == POLYAD_CANCELLED || status == POLYAD_OK); /* the end may be near */
    if (seconds > SECONDS_TO_END) fail_msg("%.3g s after %.3g s", seconds, after);
  }
  pd_cpu_svd.destroy(context, work);
  pd_matrix_destroy(context, &y);
  pd_matrix_destroy(context, &u);
}

static void test_large_vectors_are_cancelled(void **state) {
  (void)state;
  const struct pd_svd_size tall = {5000, 1300, 10}, wide = {1300, 5000, 10};
  assert_int_equal(polyad_set_threads(context, 1), POLYAD_OK);
  cancel_vectors(tall, 0.1);
  cancel_vectors(wide, 0.4);
  cancel_vectors(tall, 0.6);
}

/* As many modes as a tensor may have: nothing lies behind the last one. */
static void test_most_modes(void **state) {
  (void)state;
  uint64_t dims[POLYAD_MAX_ORDER], ranks[POLYAD_MAX_ORDER];
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    dims[n] = 2;
  polyad_tensor *tensor = tensor_of(POLYAD_MAX_ORDER, dims, 30);
  polyad_plan *plan = plan_of(tensor, "coo");
  assert_int_equal(polyad_tucker_ranks(context, plan, 0.3, ranks), POLYAD_OK);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    assert_true(ranks[n] >= 1 && ranks[n] <= 2);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
}

/* Cancelled before its first iteration a run has no model. */
static void test_cancelled_start(void **state) {
  (void)state;
  const uint64_t dims[] = {40, 30, 25};
  polyad_tensor *tensor = tensor_of(3, dims, 3000);
  polyad_plan *plan = plan_of(tensor, "coo");
  polyad_tucker_options options;
  polyad_ttensor *model;
  uint64_t ranks[3];
  polyad_tucker_options_init(&options);
  options.energy = 0.5;
  polyad_cancel(context);
  assert_int_equal(polyad_tucker(context, plan, &options, &model, NULL), POLYAD_CANCELLED);
  assert_null(model);
  assert_int_equal(polyad_tucker_ranks(context, plan, 0.5, ranks), POLYAD_CANCELLED);
  assert_non_null(strstr(polyad_last_error(context), "choosing ranks was cancelled"));
  polyad_clear_cancel(context);
  options.init = POLYAD_INIT_RANDOM; /* ranks come with their own start */
  assert_int_equal(polyad_tucker(context, plan, &options, &model, NULL), POLYAD_INVALID_ARGUMENT);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_vectors, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_more_than_there_are, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_eigenvectors_by_products, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_run, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_convergence, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_cancelled_iteration, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_large_vectors_are_cancelled, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_most_modes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_cancelled_start, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_scale, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
