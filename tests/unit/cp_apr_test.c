/* CP-APR against a dense reference of the papers' algorithms, golden values, and what must hold for
 * every result. */
#include "als_fixture.h"
#include "oracle/apr_oracle.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- small tensors of counts --------------------------------------------------------------- */

struct counts {
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t cells;
  double *x; /* dense, the last mode fastest */
  double *factor[POLYAD_MAX_ORDER];
  uint64_t rank;
};

static uint64_t next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  uint64_t x = *state ^ *state >> 33;
  return x * UINT64_C(0xff51afd7ed558ccd) >> 20;
}

static double uniform(uint64_t *state) { return (double)(next(state) % 65536 + 1) / 65537; }

/* Counts from 1 to 6 in about `share` of 8 cells; slice 1 of the first mode and the last slice of
 * the last are empty. */
static struct counts make_counts(int order, const uint64_t *dims, uint64_t rank, unsigned share,
                                 uint64_t seed) {
  struct counts c = {.order = order, .cells = 1, .rank = rank};
  for (int n = 0; n < order; ++n) {
    c.dims[n] = dims[n];
    c.cells *= dims[n];
    c.factor[n] = malloc(dims[n] * rank * sizeof(double));
    for (uint64_t k = 0; k < dims[n] * rank; ++k)
      c.factor[n][k] = uniform(&seed);
  }
  c.x = calloc(c.cells, sizeof(double));
  for (uint64_t cell = 0; cell < c.cells; ++cell) {
    bool empty = (dims[0] > 2 && cell / (c.cells / dims[0]) == 1) ||
                 (dims[order - 1] > 2 && cell % dims[order - 1] == dims[order - 1] - 1);
    uint64_t drawn = next(&seed);
    if (!empty && drawn % 8 < share) c.x[cell] = (double)(drawn / 8 % 6 + 1);
  }
  return c;
}

static void free_counts(struct counts *c) {
  free(c->x);
  for (int n = 0; n < c->order; ++n)
    free(c->factor[n]);
}

static polyad_tensor *tensor_of(polyad_context *context, const struct counts *c) {
  int32_t *index = malloc(c->cells * (uint64_t)c->order * sizeof *index);
  double *value = malloc(c->cells * sizeof *value);
  uint64_t nnz = 0;
  for (uint64_t cell = 0; cell < c->cells; ++cell) {
    if (c->x[cell] == 0) continue;
    uint64_t rest = cell;
    for (int n = c->order - 1; n >= 0; rest /= c->dims[n], --n)
      index[nnz * (uint64_t)c->order + (uint64_t)n] = (int32_t)(rest % c->dims[n]);
    value[nnz++] = c->x[cell];
  }
  polyad_tensor *tensor = als_tensor(context, c->order, c->dims, nnz, index, value);
  free(index);
  free(value);
  return tensor;
}

/* One thread but where threads are what is tested: tiny runs wait for others longer than they
 * compute. */
static int threads = 1;

struct run {
  polyad_context *context;
  polyad_plan *plan;
  polyad_ktensor *initial, *model;
  polyad_cp_apr_options options;
  polyad_run_info info;
};

static struct run start_run(const struct counts *c, polyad_apr_method method, const char *format,
                            polyad_type type) {
  struct run run = {.context = cpu_context(threads)};
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = format;
  options.rank = c->rank;
  options.precision = type;
  polyad_tensor *tensor = tensor_of(run.context, c);
  ALS_OK(run.context, polyad_plan_create(run.context, tensor, &options, &run.plan));
  polyad_tensor_destroy(tensor);
  run.initial =
      als_model(run.context, c->order, c->dims, c->rank, (const double *const *)c->factor);
  polyad_cp_apr_options_init(&run.options);
  run.options.rank = c->rank;
  run.options.method = method;
  run.options.init = POLYAD_INIT_MODEL;
  run.options.initial = run.initial;
  return run;
}

static void go(struct run *run) {
  polyad_ktensor_destroy(run->model);
  run->model = NULL;
  ALS_OK(run->context,
         polyad_cp_apr(run->context, run->plan, &run->options, &run->model, &run->info));
}

static void end_run(struct run *run) {
  polyad_run_info_clear(&run->info);
  polyad_ktensor_destroy(run->model);
  polyad_ktensor_destroy(run->initial);
  polyad_plan_destroy(run->plan);
  context_end(run->context);
}

/* Nonnegative, columns of 1-norm one or zero with weight 0, weights sorted. */
static void check_model(polyad_ktensor *model, double tolerance) {
  uint64_t rank = polyad_ktensor_rank(model);
  const double *weights = polyad_ktensor_weights(model);
  for (uint64_t r = 0; r < rank; ++r) {
    assert_true(isfinite(weights[r]) && weights[r] >= 0);
    if (r > 0) assert_true(weights[r] <= weights[r - 1]);
    for (int n = 0; n < polyad_ktensor_order(model); ++n) {
      const double *factor = polyad_ktensor_factor(model, n);
      double sum = 0;
      for (uint64_t i = 0; i < polyad_ktensor_dims(model)[n]; ++i) {
        assert_true(factor[i * rank + r] >= 0);
        sum += factor[i * rank + r];
      }
      assert_true(fabs(sum - 1) <= tolerance || (sum == 0 && weights[r] == 0));
    }
  }
}

/* ---- agreement with the reference ---------------------------------------------------------- */

static void start_oracle(struct oracle_apr *oracle, char method, const struct counts *c) {
  size_t dims[ORACLE_APR_MODES];
  for (int n = 0; n < c->order; ++n)
    dims[n] = (size_t)c->dims[n];
  oracle_apr_start(oracle, oracle_apr_defaults(method), c->order, dims, (size_t)c->rank, c->x,
                   (const double *const *)c->factor);
}

/* Log-likelihood and violation of every outer iteration within 1e-8. */
static void agree(const struct counts *c, char method, const char *format, int iterations) {
  struct run run = start_run(c,
                             method == 'm'   ? POLYAD_APR_MU
                             : method == 'n' ? POLYAD_APR_PDNR
                                             : POLYAD_APR_PQNR,
                             format, POLYAD_F64);
  run.options.run.max_iterations = iterations;
  go(&run);
  check_model(run.model, 1e-12);
  struct oracle_apr oracle;
  start_oracle(&oracle, method, c);
  for (int i = 0; i < run.info.trace_rows; ++i) {
    const polyad_trace_row *row = &run.info.trace[i];
    oracle_apr_iterate(&oracle);
    double likelihood = (double)oracle.log_likelihood, kkt = (double)oracle.kkt;
    if (!(fabs(row->log_likelihood - likelihood) <= 1e-8 * fmax(1, fabs(likelihood))) ||
        !(fabs(row->kkt_violation - kkt) <= 1e-8 * fmax(1, kkt)))
      fail_msg("method %c, order %d, rank %d, %s, iteration %d: log-likelihood %.15g, violation "
               "%.12g; expected %.15g, %.12g",
               method, c->order, (int)c->rank, format, i + 1, row->log_likelihood,
               row->kkt_violation, likelihood, kkt);
    assert_int_equal(row->inner_iterations, oracle.inner);
  }
  assert_int_equal(run.info.converged, oracle.converged);
  assert_true(run.info.log_likelihood == run.info.trace[run.info.trace_rows - 1].log_likelihood);
  oracle_apr_end(&oracle);
  end_run(&run);
}

static const struct {
  int order;
  uint64_t dims[8], rank;
  unsigned share;
} shapes[] = {
    {3, {6, 5, 4}, 2, 3},
    {3, {7, 4, 5}, 3, 1},
    {4, {4, 3, 5, 4}, 3, 2},
    {5, {3, 4, 2, 3, 4}, 2, 2},
    {3, {9, 8, 7}, 5, 4},
    {6, {3, 2, 3, 2, 3, 3}, 2, 2},
    {7, {3, 2, 2, 2, 2, 2, 3}, 2, 3},
    {8, {3, 2, 2, 2, 2, 2, 2, 3}, 2, 2},
    {2, {9, 8}, 2, 3},
    {3, {6, 5, 4}, 1, 3},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void agree_everywhere(char method, int iterations) {
  for (int k = 0; k < SHAPES; ++k) {
    struct counts c = make_counts(shapes[k].order, shapes[k].dims, shapes[k].rank, shapes[k].share,
                                  (uint64_t)k + 11);
    agree(&c, method, "coo", iterations);
    free_counts(&c);
  }
}

/* As many modes as a tensor may have: nothing lies behind the last one. */
static void test_most_modes(void **state) {
  (void)state;
  enum { NNZ = 40 };
  uint64_t dims[POLYAD_MAX_ORDER];
  polyad_context *context = cpu_context(1);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    dims[n] = 2;
  polyad_tensor *tensor = als_random_tensor(context, POLYAD_MAX_ORDER, dims, NNZ, 8, 1);
  polyad_plan *plan = als_plan(context, tensor, 3, POLYAD_F64);
  for (int method = POLYAD_APR_MU; method <= POLYAD_APR_PQNR; ++method) {
    polyad_cp_apr_options options;
    polyad_ktensor *model;
    polyad_cp_apr_options_init(&options);
    options.rank = 3;
    options.method = (polyad_apr_method)method;
    options.run.max_iterations = 2;
    ALS_OK(context, polyad_cp_apr(context, plan, &options, &model, NULL));
    check_model(model, 1e-12);
    polyad_ktensor_destroy(model);
  }
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static void test_mu_agrees(void **state) {
  (void)state;
  agree_everywhere('m', 40);
}

static void test_pdnr_agrees(void **state) {
  (void)state;
  agree_everywhere('n', 12);
}

static void test_pqnr_agrees(void **state) {
  (void)state;
  agree_everywhere('q', 6);
}

/* Every format that has Phi gives the same iterates. */
static void test_formats_agree(void **state) {
  (void)state;
  static const char *const formats[] = {"auto", "csf", "modecopy", "coo"};
  struct counts c = make_counts(shapes[2].order, shapes[2].dims, 3, 2, 5);
  threads = 3;
  for (size_t f = 0; f < sizeof formats / sizeof *formats; ++f) {
    struct run run = start_run(&c, POLYAD_APR_MU, formats[f], POLYAD_F64);
    run.options.run.max_iterations = 1;
    polyad_status status =
        polyad_cp_apr(run.context, run.plan, &run.options, &run.model, &run.info);
    end_run(&run);
    if (status == POLYAD_OK)
      agree(&c, 'm', formats[f], 15);
    else
      assert_int_equal(status, POLYAD_UNSUPPORTED);
  }
  threads = 1;
  free_counts(&c);
}

/* ---- golden values --------------------------------------------------------------------------- */

static struct counts golden(void) {
  static const uint64_t dims[] = {3, 3, 3};
  static const double a[] = {1, .5, .25, 1, .75, .3}, b[] = {.2, .9, 1, .4, .6, .7},
                      f[] = {.3, .8, .9, .1, .5, 1};
  static const int index[][3] = {{0, 0, 0}, {1, 0, 1}, {0, 1, 2}, {2, 1, 0}, {2, 2, 2}, {1, 2, 1}};
  struct counts c = make_counts(3, dims, 2, 0, 1);
  memcpy(c.factor[0], a, sizeof a);
  memcpy(c.factor[1], b, sizeof b);
  memcpy(c.factor[2], f, sizeof f);
  for (int p = 0; p < 6; ++p)
    c.x[(index[p][0] * 3 + index[p][1]) * 3 + index[p][2]] = p + 1;
  return c;
}

/* MU: a dense code in another language that follows the paper; PDNR: pyttb 1.8.6, which ends there
 * with a violation of 0.006, for its rows are solved to a hundredth of the one before. */
static void test_golden(void **state) {
  (void)state;
  struct counts c = golden();
  struct run run = start_run(&c, POLYAD_APR_MU, "coo", POLYAD_F64);
  go(&run);
  assert_int_equal(run.info.iterations, 4);
  assert_true(run.info.converged);
  assert_true(fabs(run.info.log_likelihood - -3.8803510592566) < 1e-9);
  const double *weights = polyad_ktensor_weights(run.model);
  assert_true(fabs(weights[0] - 13) < 1e-3 && fabs(weights[1] - 8) < 1e-3);
  assert_true(fabs(weights[0] + weights[1] - 21) < 1e-9);
  end_run(&run);
  run = start_run(&c, POLYAD_APR_PDNR, "coo", POLYAD_F64);
  run.options.run.max_iterations = 4;
  go(&run);
  assert_false(run.info.converged);
  assert_true(fabs(run.info.log_likelihood - -3.8805294733892) < 1e-9);
  end_run(&run);
  run = start_run(&c, POLYAD_APR_PDNR, "coo", POLYAD_F64);
  go(&run);
  assert_true(run.info.converged && run.info.kkt_violation <= run.options.run.tolerance);
  assert_true(run.info.log_likelihood > -3.8803511);
  end_run(&run);
  free_counts(&c);
}

/* ---- what holds for every run ---------------------------------------------------------------- */

static void rising(const struct counts *c, polyad_type type) {
  struct run run = start_run(c, POLYAD_APR_MU, "coo", type);
  run.options.run.max_iterations = 60;
  run.options.kappa = 0; /* a shift away from the bound may cost likelihood */
  go(&run);
  double slack = type == POLYAD_F32 ? 1e-5 : 1e-11;
  for (int i = 1; i < run.info.trace_rows; ++i) {
    double before = run.info.trace[i - 1].log_likelihood, now = run.info.trace[i].log_likelihood;
    assert_true(now >= before - slack * fmax(1, fabs(before)));
  }
  double first = run.info.trace[0].kkt_violation;
  assert_true(run.info.kkt_violation < fmax(first, run.options.run.tolerance));
  end_run(&run);
}

static void test_likelihood_rises(void **state) {
  (void)state;
  static const uint64_t ranks[] = {1, 2, 7, 129};
  for (int k = 0; k < 4; ++k) {
    struct counts c = make_counts(3, (const uint64_t[]){12, 9, 10}, ranks[k], 2, (uint64_t)k + 3);
    rising(&c, POLYAD_F64);
    rising(&c, POLYAD_F32);
    free_counts(&c);
  }
}

static void test_all_methods_converge(void **state) {
  (void)state;
  threads = 2;
  struct counts c = make_counts(3, (const uint64_t[]){15, 12, 10}, 4, 2, 8);
  double likelihood[3];
  for (int method = 0; method < 3; ++method) {
    struct run run = start_run(&c, (polyad_apr_method)method, "coo", POLYAD_F64);
    go(&run);
    assert_true(run.info.converged && run.info.kkt_violation < 1e-4);
    assert_int_equal(run.info.reason, POLYAD_REASON_TOLERANCE);
    assert_true(isfinite(run.info.fit) && run.info.fit > 0);
    likelihood[method] = run.info.log_likelihood;
    check_model(run.model, 1e-12);
    end_run(&run);
  }
  /* different local maxima, but none far from another */
  for (int method = 1; method < 3; ++method)
    assert_true(fabs(likelihood[method] - likelihood[0]) < 0.05 * fabs(likelihood[0]));
  threads = 1;
  free_counts(&c);
}

/* The sum of the weights is the sum of the counts, also beside a count of 2^53. */
static void test_large_count(void **state) {
  (void)state;
  struct counts c = make_counts(3, (const uint64_t[]){6, 5, 4}, 2, 3, 4);
  c.x[0] = 0x1p53;
  double sum = 0;
  for (uint64_t k = 0; k < c.cells; ++k)
    sum += c.x[k];
  for (int method = 0; method < 3; ++method) {
    struct run run = start_run(&c, (polyad_apr_method)method, "coo", POLYAD_F64);
    run.options.run.max_iterations = 20;
    go(&run);
    const double *weights = polyad_ktensor_weights(run.model);
    assert_true(isfinite(run.info.log_likelihood));
    if (method == 0) assert_true(fabs(weights[0] + weights[1] - sum) <= 1e-10 * sum);
    check_model(run.model, 1e-12);
    end_run(&run);
  }
  free_counts(&c);
}

/* Rows and columns of zeros in the first model. */
static void test_zeros(void **state) {
  (void)state;
  struct counts c = make_counts(3, (const uint64_t[]){6, 5, 4}, 3, 3, 9);
  for (int r = 0; r < 3; ++r)
    c.factor[0][2 * 3 + r] = 0; /* a row */
  for (int i = 0; i < 5; ++i)
    c.factor[1][i * 3 + 1] = 0; /* a column */
  for (int method = 0; method < 3; ++method) {
    struct run run = start_run(&c, (polyad_apr_method)method, "coo", POLYAD_F64);
    run.options.run.max_iterations = 30;
    go(&run);
    check_model(run.model, 1e-12);
    const double *weights = polyad_ktensor_weights(run.model);
    assert_true(weights[0] > 0);
    end_run(&run);
  }
  free_counts(&c);
}

/* Slices without a count, one in each mode: their rows become zero, and the others agree with the
 * reference. */
static void test_empty_slices(void **state) {
  (void)state;
  static const uint64_t empty[] = {2, 4, 0};
  struct counts c = make_counts(3, (const uint64_t[]){6, 5, 4}, 3, 2, 10);
  for (uint64_t cell = 0; cell < c.cells; ++cell)
    if (cell / 20 == empty[0] || cell / 4 % 5 == empty[1] || cell % 4 == empty[2]) c.x[cell] = 0;
  for (int method = 0; method < 3; ++method) {
    struct run run = start_run(&c, (polyad_apr_method)method, "coo", POLYAD_F64);
    run.options.run.max_iterations = 30;
    go(&run);
    check_model(run.model, 1e-12);
    for (int n = 0; n < 3; ++n) {
      const double *factor = polyad_ktensor_factor(run.model, n);
      for (uint64_t r = 0; r < 3; ++r)
        assert_true(factor[empty[n] * 3 + r] == 0);
    }
    end_run(&run);
    agree(&c, "mnq"[method], "coo", 4);
  }
  free_counts(&c);
}

static void test_negative_value(void **state) {
  (void)state;
  struct counts c = make_counts(3, (const uint64_t[]){6, 5, 4}, 2, 3, 4);
  c.x[(2 * 5 + 3) * 4 + 1] = -2.5;
  c.x[(4 * 5 + 3) * 4 + 1] = -1;
  struct run run = start_run(&c, POLYAD_APR_MU, "coo", POLYAD_F64);
  assert_int_equal(polyad_cp_apr(run.context, run.plan, &run.options, &run.model, &run.info),
                   POLYAD_NUMERICAL);
  assert_non_null(
      strstr(polyad_last_error(run.context),
             "(2, 3, 1) is -2.5; CP-APR expects counts, of at least 0 (indices from 0"));
  assert_null(run.model);
  end_run(&run);
  free_counts(&c);
}

static void refuse(struct run *run, const char *says) {
  polyad_ktensor_destroy(run->model);
  run->model = NULL;
  assert_int_not_equal(polyad_cp_apr(run->context, run->plan, &run->options, &run->model, NULL),
                       POLYAD_OK);
  if (strstr(polyad_last_error(run->context), says) == NULL)
    fail_msg("%s; expected %s", polyad_last_error(run->context), says);
}

static void test_options(void **state) {
  (void)state;
  struct counts c = make_counts(3, (const uint64_t[]){6, 5, 4}, 2, 3, 4);
  struct run run = start_run(&c, POLYAD_APR_MU, "coo", POLYAD_F64);
  polyad_cp_apr_options good = run.options;
#define REFUSE(change, says)                                                                       \
  run.options = good;                                                                              \
  run.options.change;                                                                              \
  refuse(&run, says)
  REFUSE(rank = 0, "rank 0");
  REFUSE(max_inner_iterations = 0, "0 inner iterations");
  REFUSE(epsilon = 0, "epsilon 0");
  REFUSE(run.tolerance = NAN, "tolerance nan");
  REFUSE(run.starts = 0, "0 starts");
  REFUSE(run.max_iterations = -1, "-1 iterations");
  REFUSE(damping = 0, "damping 0");
  REFUSE(memory = 0, "memory of 0");
  REFUSE(init = POLYAD_INIT_HOSVD, "random factors or from a model");
  REFUSE(rank = 3, "rank 2; expected 3");
  run.options = good;
  ((double *)polyad_ktensor_factor(run.initial, 1))[3] = -1;
  refuse(&run, "negative entry -1 in row 1");
  end_run(&run);
  free_counts(&c);
}

static int stop_at_two(void *user, const polyad_progress *progress) {
  (void)user;
  assert_true(isfinite(progress->log_likelihood) && isfinite(progress->kkt_violation));
  return progress->iteration >= 2;
}

static void test_callback_and_evaluation(void **state) {
  (void)state;
  struct counts c = make_counts(3, (const uint64_t[]){9, 8, 7}, 3, 3, 4);
  for (int method = 0; method < 3; ++method) {
    struct run run = start_run(&c, (polyad_apr_method)method, "coo", POLYAD_F64);
    polyad_set_progress(run.context, stop_at_two, NULL);
    run.options.run.tolerance = 1e-12;
    go(&run);
    assert_int_equal(run.info.reason, POLYAD_REASON_CANCELLED);
    assert_int_equal(run.info.iterations, 2);
    double two = run.info.log_likelihood;
    /* the model so far, without iterations: the same log-likelihood */
    polyad_ktensor *so_far = run.model;
    run.model = NULL;
    run.options.initial = so_far;
    run.options.run.max_iterations = 0;
    go(&run);
    /* PDNR and PQNR lift the first entry of rows of zeros to 1e-8 */
    assert_true(fabs(run.info.log_likelihood - two) < (method == 0 ? 1e-10 : 1e-6) * fabs(two));
    polyad_ktensor_destroy(so_far);
    end_run(&run);
  }
  free_counts(&c);
}

static void test_random_starts(void **state) {
  (void)state;
  struct counts c = make_counts(3, (const uint64_t[]){9, 8, 7}, 3, 3, 4);
  struct run run = start_run(&c, POLYAD_APR_MU, "coo", POLYAD_F64);
  run.options.init = POLYAD_INIT_RANDOM;
  run.options.run.max_iterations = 30;
  double best = -INFINITY;
  go(&run);
  double first = run.info.log_likelihood;
  go(&run);
  assert_true(run.info.log_likelihood == first); /* the same seed, the same bits */
  run.options.run.starts = 4;
  go(&run);
  best = run.info.log_likelihood;
  assert_true(best >= first);
  assert_true(run.info.best_restart > 0 || best == first);
  end_run(&run);
  free_counts(&c);
}

/* A run that was saved and went on ends with the bits of one that never stopped. */
static void resumed(const struct counts *c, polyad_apr_method method) {
  char path[] = "/tmp/polyad-apr-XXXXXX", previous[40], lock[40];
  int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  unlink(path);
  snprintf(previous, sizeof previous, "%s.prev", path);
  snprintf(lock, sizeof lock, "%s.lock", path);
  struct run run = start_run(c, method, "coo", POLYAD_F64);
  run.options.run.max_iterations = 9;
  run.options.run.tolerance = 1e-13;
  go(&run);
  polyad_ktensor *whole = run.model;
  run.model = NULL;
  run.options.run.max_iterations = 4;
  run.options.run.checkpoint = path;
  run.options.run.checkpoint_every = 2;
  go(&run);
  run.options.run.checkpoint = NULL;
  run.options.run.resume = path;
  run.options.run.max_iterations = 9;
  go(&run);
  assert_int_equal(run.info.iterations, 9);
  assert_int_equal(run.info.trace_rows, 9);
  assert_true(als_same_model(whole, run.model));
  run.options.kappa = 0.5;
  refuse(&run, "kappa 0.01");
  polyad_ktensor_destroy(whole);
  end_run(&run);
  unlink(path);
  unlink(previous);
  unlink(lock);
}

static void test_checkpoints(void **state) {
  (void)state;
  struct counts c = make_counts(3, (const uint64_t[]){9, 8, 7}, 3, 3, 4);
  for (int method = 0; method < 3; ++method)
    resumed(&c, (polyad_apr_method)method);
  free_counts(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_most_modes),       cmocka_unit_test(test_mu_agrees),
      cmocka_unit_test(test_pdnr_agrees),      cmocka_unit_test(test_pqnr_agrees),
      cmocka_unit_test(test_formats_agree),    cmocka_unit_test(test_golden),
      cmocka_unit_test(test_likelihood_rises), cmocka_unit_test(test_all_methods_converge),
      cmocka_unit_test(test_large_count),      cmocka_unit_test(test_zeros),
      cmocka_unit_test(test_empty_slices),     cmocka_unit_test(test_negative_value),
      cmocka_unit_test(test_options),          cmocka_unit_test(test_callback_and_evaluation),
      cmocka_unit_test(test_random_starts),    cmocka_unit_test(test_checkpoints),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
