/* The scan of ranks: what its rows say against single runs, its held-out error against a dense
 * computation, its advice on tensors with and without a rank, its ends. */
#include "als_fixture.h"

#include "algorithms/rank_holdout.h"
#include "algorithms/rank_scan.h"
#include "core/random.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static polyad_context *context;

static int set_up(void **state) {
  (void)state;
  context = cpu_context(2);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  context_end(context);
  return 0;
}

static const uint64_t ranks[] = {1, 2, 3, 4, 5, 6};

static polyad_rank_options options_of(int count) {
  polyad_rank_options options;
  polyad_rank_options_init(&options);
  options.ranks = ranks;
  options.rank_count = count;
  options.starts = 5;
  return options;
}

static polyad_rank_result scan(const polyad_tensor *x, const polyad_rank_options *options) {
  polyad_plan *plan = als_plan(context, x, 6, polyad_tensor_type(x));
  polyad_rank_result result = {0};
  ALS_OK(context, polyad_rank_scan(context, plan, options, &result));
  polyad_plan_destroy(plan);
  return result;
}

/* Every cell of a random model of a rank, with normal noise of this part of its norm. */
static polyad_tensor *planted(const uint64_t *dims, uint64_t rank, uint64_t seed, double noise,
                              int nonnegative) {
  polyad_ktensor *truth = als_random_model(context, 3, dims, rank, seed, nonnegative);
  uint64_t cells = dims[0] * dims[1] * dims[2];
  uint64_t *place = malloc(cells * 3 * sizeof *place);
  int32_t *index = malloc(cells * 3 * sizeof *index);
  double *value = malloc(cells * sizeof *value), norm;
  for (uint64_t cell = 0; cell < cells; ++cell) {
    place[3 * cell] = cell / (dims[1] * dims[2]);
    place[3 * cell + 1] = cell / dims[2] % dims[1];
    place[3 * cell + 2] = cell % dims[2];
    for (int n = 0; n < 3; ++n)
      index[3 * cell + (uint64_t)n] = (int32_t)place[3 * cell + (uint64_t)n];
  }
  ALS_OK(context, polyad_ktensor_values(context, truth, cells, place, value));
  ALS_OK(context, polyad_ktensor_norm(context, truth, &norm));
  for (uint64_t cell = 0; cell < cells; ++cell)
    value[cell] += noise * norm / sqrt((double)cells) * pd_random_normal(seed, 99, cell);
  polyad_tensor *x = als_tensor(context, 3, dims, cells, index, value);
  polyad_ktensor_destroy(truth);
  free(place);
  free(index);
  free(value);
  return x;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Starts are those of polyad_cp_als() with restarts, and a larger rank never fits worse. */
static void starts_are_those_of_restarts(void **state) {
  (void)state;
  const uint64_t dims[] = {11, 9, 8};
  polyad_tensor *x = als_random_tensor(context, 3, dims, 300, 4, 1);
  polyad_plan *plan = als_plan(context, x, 4, POLYAD_F64);
  polyad_rank_options options = options_of(4);
  options.folds = 0;
  polyad_rank_result result = {0};
  ALS_OK(context, polyad_rank_scan(context, plan, &options, &result));
  assert_int_equal(result.row_count, 4);
  for (int k = 0; k < 4; ++k) {
    const polyad_rank_row *row = &result.rows[k];
    polyad_cp_als_options single;
    polyad_cp_als_options_init(&single);
    single.rank = row->rank;
    single.run.starts = options.starts;
    polyad_ktensor *model;
    polyad_run_info info = {0};
    ALS_OK(context, polyad_cp_als(context, plan, &single, &model, &info));
    double fit[5];
    for (int s = 0; s < 5; ++s)
      fit[s] = info.starts[s].objective;
    int below = 0, at = 0;
    for (int s = 0; s < 5; ++s) {
      below += fit[s] < row->fit_median - 1e-12;
      at += fabs(fit[s] - row->fit_median) <= 1e-12;
    }
    assert_true(at >= 1 && below <= 2 && below + at >= 3); /* it is the median */
    assert_true(row->fit_best >= info.fit - 1e-12);
    assert_true(k == 0 || row->fit_best >= result.rows[k - 1].fit_best - 1e-6);
    assert_int_equal(row->starts, 5);
    assert_true(row->stability >= 0 && row->stability <= 1 + 1e-12);
    assert_true(isnan(row->holdout_error) && isnan(row->replicability));
    assert_true(isnan(row->log_likelihood));
    polyad_run_info_clear(&info);
    polyad_ktensor_destroy(model);
  }
  polyad_rank_result_clear(&result);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(x);
}

static void one_start_has_no_stability(void **state) {
  (void)state;
  const uint64_t dims[] = {6, 5, 4};
  polyad_tensor *x = als_random_tensor(context, 3, dims, 60, 4, 1);
  polyad_rank_options options = options_of(1);
  options.starts = 1;
  options.folds = 0;
  polyad_rank_result result = scan(x, &options);
  assert_true(isnan(result.rows[0].stability));
  assert_true(fabs(result.rows[0].core_consistency - 100) < 1e-2);
  polyad_rank_result_clear(&result);
  polyad_tensor_destroy(x);
}

/* ---- held-out errors ------------------------------------------------------------------------ */

/* Cells that are held out of an exact model are predicted exactly, from a model of the training
 * part; and the error of a wrong model is that of the dense prediction. */
static void predicts_exact_models(void **state) {
  (void)state;
  const uint64_t dims[] = {7, 12, 10};
  polyad_ktensor *truth = als_random_model(context, 3, dims, 2, 5, 0);
  polyad_tensor *x = als_tensor_of_model(context, truth);
  struct pd_holdout holdout;
  ALS_OK(context, pd_holdout_split(context, x, 3, &holdout));
  assert_int_equal(holdout.folds, 3);
  assert_int_equal(holdout.mode[0], 1);
  assert_int_equal(holdout.mode[1], 2);
  int counts[3] = {0};
  for (uint64_t i = 0; i < dims[1]; ++i)
    ++counts[holdout.of[0][i]];
  for (int f = 0; f < 3; ++f) {
    double error, match;
    assert_int_equal(counts[f], 4);
    /* Rows of the fold are not looked at: the truth as it is will do. */
    ALS_OK(context, pd_holdout_error(context, &holdout, x, f, truth, &error));
    assert_true(error < 1e-13); /* a difference of sums of squares, rounded */
    ALS_OK(context, pd_holdout_match(context, &holdout, f, truth, truth, &match));
    assert_true(match > 0.1 && match <= 1 + 1e-12);
  }
  pd_holdout_clear(context, &holdout);
  polyad_ktensor_destroy(truth);
  polyad_tensor_destroy(x);
}

static double value_at(const double *dense, const uint64_t *dims, uint64_t i, uint64_t j,
                       uint64_t k) {
  return dense[(i * dims[1] + j) * dims[2] + k];
}

/* Rank one: least squares are quotients of sums, written out over all cells. */
static double dense_error(const double *dense, const uint64_t *dims, const struct pd_holdout *h,
                          int fold, polyad_ktensor *m) {
  const double *a = polyad_ktensor_factor(m, 0), *b = polyad_ktensor_factor(m, 1);
  const double *c = polyad_ktensor_factor(m, 2);
  double weight = ((double *)polyad_ktensor_weights(m))[0]; /* goes into mode 1 */
  double error = 0, squares = 0;
  for (uint64_t j = 0; j < dims[1]; ++j)
    for (uint64_t k = 0; k < dims[2]; ++k) {
      if (h->of[0][j] != fold || h->of[1][k] != fold) continue;
      double up_b = 0, down_b = 0, up_c = 0, down_c = 0;
      for (uint64_t i = 0; i < dims[0]; ++i) {
        for (uint64_t s = 0; s < dims[2]; ++s)
          if (h->of[1][s] != fold) {
            up_b += value_at(dense, dims, i, j, s) * a[i] * c[s];
            down_b += a[i] * a[i] * c[s] * c[s];
          }
        for (uint64_t s = 0; s < dims[1]; ++s)
          if (h->of[0][s] != fold) {
            up_c += value_at(dense, dims, i, s, k) * a[i] * b[s] * weight;
            down_c += a[i] * a[i] * b[s] * b[s] * weight * weight;
          }
      }
      for (uint64_t i = 0; i < dims[0]; ++i) {
        double x = value_at(dense, dims, i, j, k);
        double difference = x - a[i] * up_b / down_b * up_c / down_c;
        error += difference * difference;
        squares += x * x;
      }
    }
  return error / squares;
}

static void error_is_that_of_the_dense_prediction(void **state) {
  (void)state;
  const uint64_t dims[] = {5, 9, 8};
  polyad_tensor *x = als_random_tensor(context, 3, dims, 150, 8, 1);
  polyad_ktensor *m = als_random_model(context, 3, dims, 1, 3, 0);
  double *dense = calloc(dims[0] * dims[1] * dims[2], sizeof *dense);
  ((double *)polyad_ktensor_weights(m))[0] = 3.5; /* what the completed rows have to make up for */
  for (uint64_t p = 0; p < polyad_tensor_nnz(x); ++p) {
    uint64_t at = 0;
    for (int n = 0; n < 3; ++n)
      at = at * dims[n] + ((const uint32_t *)polyad_tensor_indices(x, n))[p];
    dense[at] = ((const double *)polyad_tensor_values(x))[p];
  }
  struct pd_holdout holdout;
  ALS_OK(context, pd_holdout_split(context, x, 4, &holdout));
  for (int f = 0; f < holdout.folds; ++f) {
    double error, expected = dense_error(dense, dims, &holdout, f, m);
    ALS_OK(context, pd_holdout_error(context, &holdout, x, f, m, &error));
    assert_true(fabs(error - expected) <= 1e-11 * (1 + expected));
  }
  pd_holdout_clear(context, &holdout);
  free(dense);
  polyad_ktensor_destroy(m);
  polyad_tensor_destroy(x);
}

static void folds_fit_the_tensor(void **state) {
  (void)state;
  const uint64_t small[] = {9, 5, 5}, tiny[] = {9, 3, 3}, vector[] = {9};
  const uint64_t *const dims[] = {small, tiny, vector};
  const int order[] = {3, 3, 1}, folds[] = {2, 0, 0};
  for (int c = 0; c < 3; ++c) {
    polyad_tensor *x = als_random_tensor(context, order[c], dims[c], 40, 8, 1);
    struct pd_holdout holdout;
    ALS_OK(context, pd_holdout_split(context, x, 4, &holdout));
    assert_int_equal(holdout.folds, folds[c]);
    pd_holdout_clear(context, &holdout);
    polyad_tensor_destroy(x);
  }
}

/* ---- advice --------------------------------------------------------------------------------- */

static void finds_planted_ranks(void **state) {
  (void)state;
  const uint64_t dims[] = {20, 16, 14};
  static const polyad_algorithm algorithm[] = {POLYAD_ALGORITHM_ALS, POLYAD_ALGORITHM_NONNEGATIVE};
  for (uint64_t rank = 2; rank <= 4; ++rank)
    for (int a = 0; a < 2; ++a) {
      polyad_tensor *x = planted(dims, rank, 10 + rank, 0.3 - 0.2 * a, a);
      polyad_rank_options options = options_of(6);
      options.algorithm = algorithm[a];
      polyad_rank_result result = scan(x, &options);
      if (result.recommended != rank) fail_msg("%d: %s", (int)rank, result.reason);
      assert_int_equal(result.folds, 4);
      const polyad_rank_row *row = &result.rows[rank - 1];
      double noise = 0.3 - 0.2 * a; /* what is left is at least the noise */
      assert_true(row->holdout_error > 0.7 * noise * noise / (1 + noise * noise));
      assert_true(row->holdout_error < 3 * noise * noise);
      assert_true(row->core_consistency > 50 && row->replicability > 0.9);
      polyad_rank_result_clear(&result);
      polyad_tensor_destroy(x);
    }
}

static void says_that_noise_has_no_rank(void **state) {
  (void)state;
  const uint64_t dims[] = {20, 18, 16};
  for (uint64_t seed = 0; seed < 2; ++seed) {
    polyad_tensor *x = als_random_tensor(context, 3, dims, 4000, seed, 0);
    for (int folds = 0; folds <= 4; folds += 4) {
      polyad_rank_options options = options_of(4);
      options.folds = folds;
      polyad_rank_result result = scan(x, &options);
      assert_int_equal(result.recommended, 0);
      assert_non_null(strstr(result.reason, "no rank stands out"));
      polyad_rank_result_clear(&result);
    }
    polyad_tensor_destroy(x);
  }
}

/* Rows made by hand, so that every way of choosing is taken. */
static void evidence_advises(const struct pd_rank_evidence *evidence, uint64_t recommended,
                             const char *part) {
  polyad_rank_result result = {0};
  pd_rank_advise(evidence, &result);
  if (result.recommended != recommended || strstr(result.reason, part) == NULL)
    fail_msg("%d: %s", (int)result.recommended, result.reason);
}

static void advises(const polyad_rank_row *rows, int count, const double *error, int folds,
                    uint64_t recommended, const char *part) {
  const struct pd_rank_evidence evidence = {
      .rows = count, .folds = folds, .row = rows, .error = error};
  evidence_advises(&evidence, recommended, part);
}

static void weighs_what_is_known(void **state) {
  (void)state;
  polyad_rank_row rows[3];
  for (int k = 0; k < 3; ++k)
    rows[k] = (polyad_rank_row){.rank = (uint64_t)k + 1,
                                .core_consistency = 100,
                                .stability = 0.99,
                                .replicability = 0.99,
                                .holdout_error = 0.5};
  /* Rank 2 is better than rank 1 in every fold; rank 3 is better by chance. */
  const double error[] = {0.4, 0.6, 0.2, 0.3, 0.19, 0.31};
  rows[1].holdout_error = rows[2].holdout_error = 0.25;
  advises(rows, 3, error, 2, 2, "falls until rank 2");
  rows[1].stability = 0.5; /* alone it is no reason to go down, but worth a word */
  advises(rows, 3, error, 2, 2, "many starts");
  rows[1].core_consistency = -1;
  advises(rows, 3, error, 2, 1, "core consistency is -1");
  rows[1].core_consistency = 60;
  rows[1].replicability = 0.5;
  advises(rows, 3, error, 2, 1, "replicability is 0.50");
  rows[1] = (polyad_rank_row){.rank = 2,
                              .core_consistency = -1e6,
                              .stability = 0.95,
                              .replicability = 0.5,
                              .holdout_error = 0.25};
  advises(rows, 3, error, 2, 2, "starts agree");
  const double none[] = {1.01, 0.99, 1.02, 1, 1, 1.001};
  advises(rows, 3, none, 2, 0, "no rank stands out");
  const double flat[] = {0.5, 0.5, 0.4999, 0.5001, 0.51, 0.5};
  rows[1].holdout_error = rows[2].holdout_error = 0.5;
  advises(rows, 3, flat, 2, 1, "no rank above 1 stands out");
  /* A fold whose test part is empty is left out. */
  const double gap[] = {0.4, 0.6, NAN, 0.2, 0.3, NAN, 0.2, 0.3, NAN};
  rows[1].holdout_error = rows[2].holdout_error = 0.25;
  advises(rows, 3, gap, 3, 2, "falls until rank 2");
  /* Folds that differ very much, as of counts: the standard error alone would take rank 1. */
  const double uneven[] = {0.2, 0.9, 0.19, 0.05, 0.19, 0.05};
  rows[1].holdout_error = rows[2].holdout_error = 0.12;
  rows[0].holdout_error = 0.55;
  advises(rows, 3, uneven, 2, 2, "falls until rank 2");
  rows[2].core_consistency = 10;
  rows[1].core_consistency = 70;
  advises(rows, 3, NULL, 0, 2, "largest with a core consistency of at least 50");
  rows[0].stability = rows[1].stability = rows[2].stability = 0.3;
  advises(rows, 3, NULL, 0, 0, "no rank stands out");
  for (int k = 0; k < 3; ++k)
    rows[k].stability = rows[k].core_consistency = NAN;
  advises(rows, 3, NULL, 0, 0, "nothing but the fit");
  advises(rows, 0, NULL, 0, 0, "no rank was tried");
}

/* Residuals of a rank-3 tensor under white noise, as shares of ||X||^2: the third component
 * takes 1.5 times what the bound allows noise to take, those behind it 0.8 times. Folds cannot tell
 * rank 3 from rank 2. */
static void tells_components_from_white_noise(void **state) {
  (void)state;
  const uint64_t dims[] = {30, 25, 20};
  const double shares[] = {800, 40, 1.5, 0.8, 0.8}, bound = pow(sqrt(30) + sqrt(25) + sqrt(20), 2);
  double error[] = {0.6, 0.7, 0.2, 0.1, 0.19, 0.101, 0.19, 0.102, 0.19, 0.103}, residual = 0.08;
  polyad_rank_row rows[5];
  for (int k = 4; k >= 0; --k) {
    rows[k] = (polyad_rank_row){.rank = (uint64_t)k + 1,
                                .fit_best = 1 - sqrt(residual),
                                .core_consistency = -10,
                                .stability = 0.6,
                                .replicability = 0.5,
                                .holdout_error = (error[2 * k] + error[2 * k + 1]) / 2};
    residual += shares[k] * bound * residual / (15000 - 73. * (k + 1));
  }
  rows[1].stability = 1;
  struct pd_rank_evidence evidence = {
      .rows = 5, .folds = 2, .row = rows, .error = error, .order = 3, .dims = dims};
  evidence_advises(&evidence, 3, "than white noise explains");
  evidence.rows = 4; /* one rank behind it says too little of the noise */
  evidence_advises(&evidence, 2, "falls until rank 2");
  evidence.rows = 5;
  evidence.order = 0; /* fits of another objective */
  evidence_advises(&evidence, 2, "falls until rank 2");
  evidence.order = 3;
  rows[4].fit_best = rows[3].fit_best; /* noise would have given something */
  evidence_advises(&evidence, 2, "falls until rank 2");
  rows[4].fit_best = 1 - 0.9 * (1 - rows[3].fit_best); /* components all along */
  evidence_advises(&evidence, 2, "falls until rank 2");
  rows[4].fit_best = 1 - sqrt(0.08);
  error[4] = 0.21; /* the third component predicts worse */
  evidence_advises(&evidence, 2, "falls until rank 2");
}

/* ---- other algorithms and types ------------------------------------------------------------- */

static void scans_counts(void **state) {
  (void)state;
  const uint64_t dims[] = {14, 12, 10};
  polyad_tensor *x = als_random_tensor(context, 3, dims, 500, 3, 1);
  for (int a = POLYAD_ALGORITHM_APR_MU; a <= POLYAD_ALGORITHM_APR_PQNR; ++a) {
    polyad_rank_options options = options_of(2);
    options.algorithm = (polyad_algorithm)a;
    options.max_iterations = 30;
    options.starts = 2;
    options.folds = 2;
    polyad_plan_options how;
    polyad_plan_options_init(&how);
    how.kernel = POLYAD_KERNEL_PHI;
    polyad_plan *plan;
    ALS_OK(context, polyad_plan_create(context, x, &how, &plan));
    polyad_rank_result result = {0};
    ALS_OK(context, polyad_rank_scan(context, plan, &options, &result));
    for (int k = 0; k < 2; ++k) {
      assert_true(isfinite(result.rows[k].log_likelihood));
      assert_true(result.rows[k].fit_best > 0 && result.rows[k].fit_best < 1);
      assert_true(isfinite(result.rows[k].holdout_error));
    }
    assert_true(result.rows[1].log_likelihood > result.rows[0].log_likelihood);
    polyad_rank_result_clear(&result);
    polyad_plan_destroy(plan);
  }
  polyad_tensor_destroy(x);
}

/* Values so small that a plan scales them: rows say what they say of ordinary ones. */
static void scale_does_not_matter(void **state) {
  (void)state;
  const uint64_t dims[] = {9, 8, 7};
  polyad_ktensor *truth = als_random_model(context, 3, dims, 2, 6, 0);
  double found[2][3];
  for (int c = 0; c < 2; ++c) {
    double *weights = polyad_ktensor_weights(truth);
    weights[0] = weights[1] = c == 0 ? 1 : 0x1p-600;
    polyad_tensor *x = als_tensor_of_model(context, truth);
    polyad_rank_options options = options_of(2);
    polyad_rank_result result = scan(x, &options);
    found[c][0] = result.rows[0].fit_best;
    found[c][1] = result.rows[0].core_consistency;
    found[c][2] = result.rows[1].core_consistency;
    if (result.recommended != 2) fail_msg("%s", result.reason);
    polyad_rank_result_clear(&result);
    polyad_tensor_destroy(x);
  }
  for (int k = 0; k < 3; ++k)
    assert_true(fabs(found[0][k] - found[1][k]) <= 1e-6 * fabs(found[0][k]));
  polyad_ktensor_destroy(truth);
}

/* ---- ends ----------------------------------------------------------------------------------- */

/* Ends a scan when it comes to a stage. */
struct stop {
  const char *at;
  int calls;
};

static int stop_at(void *user, const polyad_progress *progress) {
  struct stop *stop = user;
  ++stop->calls;
  assert_non_null(progress->stage);
  return strncmp(progress->stage, stop->at, strlen(stop->at)) == 0;
}

/* CP-APR goes from rank to rank; the ranks of least squares are fitted at once, and before folds.
 * A rank counts with the starts that have ended by themselves. */
static void keeps_ranks_that_were_done(void **state) {
  (void)state;
  const uint64_t dims[] = {20, 15, 10};
  polyad_tensor *x = als_random_tensor(context, 3, dims, 900, 3, 1);
  struct {
    polyad_algorithm algorithm;
    struct stop stop;
    int rows;
  } cases[] = {{POLYAD_ALGORITHM_APR_MU, {"rank 3", 0}, 2},
               {POLYAD_ALGORITHM_ALS, {"rank 3", 0}, 0},
               {POLYAD_ALGORITHM_ALS, {"rank 3, best start", 0}, 4},
               {POLYAD_ALGORITHM_ALS, {"fold 2 of 4", 0}, 4}};
  for (int c = 0; c < 4; ++c) {
    polyad_rank_options options = options_of(4);
    options.algorithm = cases[c].algorithm;
    options.max_iterations = 5;
    options.starts = 2;
    polyad_set_progress(context, stop_at, &cases[c].stop);
    polyad_plan_options how;
    polyad_plan_options_init(&how);
    if (c == 0) how.kernel = POLYAD_KERNEL_PHI;
    polyad_plan *plan;
    ALS_OK(context, polyad_plan_create(context, x, &how, &plan));
    polyad_rank_result result = {0};
    ALS_OK(context, polyad_rank_scan(context, plan, &options, &result));
    polyad_set_progress(context, NULL, NULL);
    assert_true(result.cancelled && cases[c].stop.calls > 0);
    assert_int_equal(result.row_count, cases[c].rows);
    for (int k = 0; k < result.row_count; ++k) {
      assert_int_equal(result.rows[k].starts, options.starts);
      assert_true(isfinite(result.rows[k].fit_best) && isfinite(result.rows[k].stability));
      assert_true(isnan(result.rows[k].core_consistency) == (c == 2));
    }
    assert_int_equal(result.folds, 0);
    polyad_rank_result_clear(&result);
    polyad_plan_destroy(plan);
  }
  polyad_tensor_destroy(x);
}

/* ---- checkpoints ---------------------------------------------------------------------------- */

/* Bits are equal; what takes time differs. */
static void same_scan(const polyad_rank_result *a, const polyad_rank_result *b) {
  assert_int_equal(a->row_count, b->row_count);
  assert_int_equal(a->folds, b->folds);
  assert_int_equal(a->recommended, b->recommended);
  assert_string_equal(a->reason, b->reason);
  for (int k = 0; k < a->row_count; ++k) {
    polyad_rank_row p = a->rows[k], q = b->rows[k];
    const double one[] = {p.fit_best,  p.fit_median,    p.log_likelihood, p.core_consistency,
                          p.stability, p.replicability, p.holdout_error,  p.holdout_deviation};
    const double other[] = {q.fit_best,  q.fit_median,    q.log_likelihood, q.core_consistency,
                            q.stability, q.replicability, q.holdout_error,  q.holdout_deviation};
    assert_memory_equal(one, other, sizeof one);
    assert_true(p.rank == q.rank && p.starts == q.starts && p.starts_at_best == q.starts_at_best);
  }
}

struct kept {
  char folder[64], path[80], previous[96];
  polyad_tensor *tensor;
  polyad_plan *plan;
  polyad_rank_options options;
};

static void keep(struct kept *kept, polyad_algorithm algorithm, polyad_type type) {
  const uint64_t dims[] = {16, 12, 10};
  snprintf(kept->folder, sizeof kept->folder, "/tmp/polyad-rank-XXXXXX");
  assert_non_null(mkdtemp(kept->folder));
  snprintf(kept->path, sizeof kept->path, "%s/state", kept->folder);
  snprintf(kept->previous, sizeof kept->previous, "%s.prev", kept->path);
  kept->options = options_of(3);
  kept->options.algorithm = algorithm;
  kept->options.starts = 2;
  kept->options.folds = 3;
  kept->options.max_iterations = 8;
  kept->tensor = als_random_tensor(context, 3, dims, 600, 3, 1);
  polyad_plan_options how;
  polyad_plan_options_init(&how);
  how.precision = type;
  if (algorithm == POLYAD_ALGORITHM_APR_MU) how.kernel = POLYAD_KERNEL_PHI;
  ALS_OK(context, polyad_plan_create(context, kept->tensor, &how, &kept->plan));
}

static void unkeep(struct kept *kept) {
  polyad_plan_destroy(kept->plan);
  polyad_tensor_destroy(kept->tensor);
  (void)unlink(kept->path);
  (void)unlink(kept->previous);
  assert_int_equal(rmdir(kept->folder), 0); /* nothing else is left there */
}

/* Scans that end at a stage, and what goes on from them. */
static void goes_on_to_the_same_bits(void **state) {
  (void)state;
  static const char *const stages[] = {"rank 1, start 2",     "rank 3", "fold 1",
                                       "fold 2 of 3, rank 2", "fold 3", "never"};
  for (int c = 0; c < 3; ++c) {
    struct kept kept;
    polyad_rank_result whole = {0}, part = {0};
    keep(&kept, c == 1 ? POLYAD_ALGORITHM_APR_MU : POLYAD_ALGORITHM_ALS,
         c == 2 ? POLYAD_F32 : POLYAD_F64);
    ALS_OK(context, polyad_rank_scan(context, kept.plan, &kept.options, &whole));
    for (int k = 0; k < 6; ++k) {
      struct stop stop = {stages[k], 0};
      kept.options.checkpoint = kept.path;
      polyad_set_progress(context, stop_at, &stop);
      ALS_OK(context, polyad_rank_scan(context, kept.plan, &kept.options, &part));
      assert_int_equal(part.cancelled, k < 5);
      polyad_set_progress(context, NULL, NULL);
      bool saved = access(kept.path, R_OK) == 0;
      assert_true(saved || k == 0 || (k == 1 && c != 1)); /* least squares: all ranks at once */
      if (saved) kept.options.resume = kept.path;
      ALS_OK(context, polyad_rank_scan(context, kept.plan, &kept.options, &part));
      same_scan(&whole, &part);
      assert_true(part.seconds > 0);
      kept.options.resume = NULL;
      (void)unlink(kept.path);
      (void)unlink(kept.previous);
    }
    polyad_rank_result_clear(&whole);
    polyad_rank_result_clear(&part);
    unkeep(&kept);
  }
}

static void is_another(struct kept *kept, const polyad_rank_options *options, const char *part) {
  polyad_rank_result result = {0};
  assert_int_equal(polyad_rank_scan(context, kept->plan, options, &result), POLYAD_MISMATCH);
  if (strstr(polyad_last_error(context), part) == NULL)
    fail_msg("'%s' is not in '%s'", part, polyad_last_error(context));
  assert_null(result.rows);
}

static void refuses_other_checkpoints(void **state) {
  (void)state;
  struct kept kept;
  polyad_rank_result result = {0};
  const uint64_t gap[] = {1, 2, 4};
  keep(&kept, POLYAD_ALGORITHM_ALS, POLYAD_F64);
  kept.options.checkpoint = kept.path;
  ALS_OK(context, polyad_rank_scan(context, kept.plan, &kept.options, &result));
  kept.options.checkpoint = NULL;
  kept.options.resume = kept.path;
  polyad_rank_options other = kept.options;
  other.starts = 3;
  is_another(&kept, &other, "starts 2; expected 3");
  other = kept.options;
  other.ranks = gap;
  is_another(&kept, &other, "rank 3; expected 4");
  other = kept.options;
  other.folds = 0;
  is_another(&kept, &other, "folds 3; expected 0");
  other = kept.options;
  other.algorithm = POLYAD_ALGORITHM_NONNEGATIVE;
  is_another(&kept, &other, "algorithm");
  polyad_set_seed(context, 77);
  is_another(&kept, &kept.options, "seed");
  polyad_rank_result_clear(&result);
  kept.options.resume = kept.folder;
  assert_int_not_equal(polyad_rank_scan(context, kept.plan, &kept.options, &result), POLYAD_OK);
  kept.options.resume = NULL;
  kept.options.checkpoint = "/nowhere/state"; /* known before anything is computed */
  assert_int_equal(polyad_rank_scan(context, kept.plan, &kept.options, &result), POLYAD_IO);
  unkeep(&kept);
}

static void ends_when_time_is_up(void **state) {
  (void)state;
  const uint64_t dims[] = {40, 30, 20};
  polyad_tensor *x = als_random_tensor(context, 3, dims, 8000, 3, 1);
  polyad_plan *plan = als_plan(context, x, 6, POLYAD_F64);
  polyad_rank_options options = options_of(6);
  options.tolerance = 0;
  options.max_iterations = 20;
  polyad_rank_result result = {0};
  options.max_seconds = 1e-9;
  ALS_OK(context, polyad_rank_scan(context, plan, &options, &result));
  assert_true(!result.cancelled && result.out_of_time);
  assert_int_equal(result.row_count, 0);
  assert_int_equal(result.recommended, 0);
  polyad_rank_result_clear(&result);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(x);
}

static void expect(polyad_status status, const char *part) {
  assert_int_equal(status, POLYAD_INVALID_ARGUMENT);
  if (strstr(polyad_last_error(context), part) == NULL)
    fail_msg("'%s' is not in '%s'", part, polyad_last_error(context));
}

static void refuses(void **state) {
  (void)state;
  const uint64_t dims[] = {6, 5, 4}, falling[] = {2, 1}, zero[] = {0};
  polyad_tensor *x = als_random_tensor(context, 3, dims, 30, 1, 0);
  polyad_plan *plan = als_plan(context, x, 6, POLYAD_F64);
  polyad_rank_result result = {0};
  polyad_rank_options good = options_of(2), bad = good;
  assert_int_equal(polyad_rank_scan(NULL, plan, &good, &result), POLYAD_INVALID_ARGUMENT);
  expect(polyad_rank_scan(context, NULL, &good, &result), "NULL");
  expect(polyad_rank_scan(context, plan, NULL, &result), "NULL");
  expect(polyad_rank_scan(context, plan, &good, NULL), "NULL");
  bad.rank_count = 0;
  expect(polyad_rank_scan(context, plan, &bad, &result), "no ranks");
  bad = good;
  bad.ranks = falling;
  expect(polyad_rank_scan(context, plan, &bad, &result), "rank 1 found; expected ascending");
  bad.ranks = zero;
  bad.rank_count = 1;
  expect(polyad_rank_scan(context, plan, &bad, &result), "rank 0 found");
  bad = good;
  bad.starts = 0;
  expect(polyad_rank_scan(context, plan, &bad, &result), "0 starts");
  bad = good;
  bad.folds = 1;
  expect(polyad_rank_scan(context, plan, &bad, &result), "1 folds");
  bad = good;
  bad.max_iterations = 0;
  expect(polyad_rank_scan(context, plan, &bad, &result), "0 iterations found; expected 1 to");
  bad = good;
  bad.tolerance = NAN;
  expect(polyad_rank_scan(context, plan, &bad, &result), "tolerance nan");
  bad.tolerance = INFINITY;
  expect(polyad_rank_scan(context, plan, &bad, &result), "tolerance inf");
  bad = good;
  bad.max_seconds = NAN;
  expect(polyad_rank_scan(context, plan, &bad, &result), "max_seconds nan");
  bad = good;
  bad.algorithm = (polyad_algorithm)9;
  expect(polyad_rank_scan(context, plan, &bad, &result), "algorithm 9");
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(starts_are_those_of_restarts, set_up, tear_down),
      cmocka_unit_test_setup_teardown(one_start_has_no_stability, set_up, tear_down),
      cmocka_unit_test_setup_teardown(predicts_exact_models, set_up, tear_down),
      cmocka_unit_test_setup_teardown(error_is_that_of_the_dense_prediction, set_up, tear_down),
      cmocka_unit_test_setup_teardown(folds_fit_the_tensor, set_up, tear_down),
      cmocka_unit_test_setup_teardown(finds_planted_ranks, set_up, tear_down),
      cmocka_unit_test_setup_teardown(says_that_noise_has_no_rank, set_up, tear_down),
      cmocka_unit_test_setup_teardown(weighs_what_is_known, set_up, tear_down),
      cmocka_unit_test_setup_teardown(tells_components_from_white_noise, set_up, tear_down),
      cmocka_unit_test_setup_teardown(scans_counts, set_up, tear_down),
      cmocka_unit_test_setup_teardown(scale_does_not_matter, set_up, tear_down),
      cmocka_unit_test_setup_teardown(keeps_ranks_that_were_done, set_up, tear_down),
      cmocka_unit_test_setup_teardown(ends_when_time_is_up, set_up, tear_down),
      cmocka_unit_test_setup_teardown(goes_on_to_the_same_bits, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_other_checkpoints, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
