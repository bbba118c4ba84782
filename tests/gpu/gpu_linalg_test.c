/* The GPU's dense algebra against the CPU's. */
#include "core/random.h"
#include "gpu/gpu_context.h"
#include "gpu/linalg_side.h"
#include "harness.h"
#include "rounded_matrix.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

enum operation { UPDATE, DAMPED, NONNEGATIVE, WEIGHTED, OPERATIONS };

static const double damping = 1e-3;

static void run(struct linalg_side *side, enum operation operation, enum pd_scaling scaling,
                double scalars[PD_SCALARS]) {
  const struct pd_linalg *linalg = side->device->linalg;
  polyad_context *context = side->context;
  const struct pd_matrix *grams[3] = {&side->gram, &side->gram, &side->v};
  const struct pd_update damped =
      linalg_side_update_of(side, damping, NULL, NULL, &side->m, scaling, grams);
  const struct pd_norm norm = linalg_side_norm_of(side, 3, grams, false);
  polyad_status status = POLYAD_OK;
  switch (operation) {
  case UPDATE: /* m, solved in place; v as it is */
    status = linalg_side_update(side, 0, NULL, NULL, &side->m, scaling);
    break;
  case DAMPED: /* from x, where v does not do without; v made anew beside what may come between */
    status = linalg->prepare(context, 1, &damped);
    side->prepared = true;
    if (status == POLYAD_OK)
      status = linalg_side_update(side, damping, &side->x, NULL, &side->m, scaling);
    side->prepared = false;
    break;
  case NONNEGATIVE: /* from what x holds */
    status = linalg_side_update(side, 0, &side->x, &side->m, &side->other, scaling);
    break;
  default:
    status = linalg->weighted_inner(context, side->work, &side->m, &side->x, &side->lambda);
    if (status == POLYAD_OK) /* the product goes to v, which may only be the matrix left out */
      status = linalg->hadamard(context, side->work, 3, grams, 2, 0.25, &side->v);
    if (status == POLYAD_OK)
      status = linalg->gram(context, side->work, &side->x, &side->gram, &side->peak);
    if (status == POLYAD_OK) status = linalg->model_norm(context, 1, &norm);
    if (status == POLYAD_OK)
      status =
          linalg->spread(context, side->work, &side->slices, &side->x, 3, grams, &side->lambda);
  }
  if (status != POLYAD_OK) fail_msg("%s", polyad_last_error(context));
  if (linalg->fetch(context, 1, &side->work, (double(*)[PD_SCALARS])scalars) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
}

/* Both solve to backward error R eps, so they differ by that times v's condition number, which the
 * strong diagonal keeps below (R + 10)^2; float results are rounded once more each. */
static void compare(polyad_type type, uint64_t rows, uint64_t rank, uint64_t missing,
                    enum operation operation, enum pd_scaling scaling) {
  struct linalg_side cpu, gpu;
  double of_cpu[PD_SCALARS], of_gpu[PD_SCALARS];
  linalg_side_make(&cpu, "cpu", type, rows, rank, missing);
  linalg_side_make(&gpu, "cuda", type, rows, rank, missing);
  run(&cpu, operation, scaling, of_cpu);
  run(&gpu, operation, scaling, of_gpu);
  double r = (double)rank, unit = 8 * r * (r + 10) * (r + 10) * DBL_EPSILON;
  if (operation == DAMPED && missing > 0) unit = 8 * r * r / damping * DBL_EPSILON;
  double bound = unit + (type == POLYAD_F32 ? 4 * FLT_EPSILON : 0);
  linalg_side_compare(&cpu, &cpu.m, &gpu, &gpu.m, bound, "m");
  linalg_side_compare(&cpu, &cpu.x, &gpu, &gpu.x, bound, "x");
  linalg_side_compare(&cpu, &cpu.other, &gpu, &gpu.other, bound, "result of HALS");
  linalg_side_compare(&cpu, &cpu.peak, &gpu, &gpu.peak, bound, "peak");
  linalg_side_compare(&cpu, &cpu.v, &gpu, &gpu.v, bound, "v");
  linalg_side_compare(&cpu, &cpu.lambda, &gpu, &gpu.lambda, bound, "lambda");
  linalg_side_compare(&cpu, &cpu.gram, &gpu, &gpu.gram, 2 * bound, "gram");
  double terms = sqrt((double)rows * r);
  assert_true(fabs(of_cpu[PD_SCALAR_INNER] - of_gpu[PD_SCALAR_INNER]) <=
              bound * terms * (fabs(of_cpu[PD_SCALAR_INNER]) + terms));
  /* What their terms add up to at most: slices are numbers below one of either sign. */
  static const int sums[] = {PD_SCALAR_MODEL, PD_SCALAR_NORMS, PD_SCALAR_PEAKS, PD_SCALAR_SPREAD};
  double norms = of_cpu[PD_SCALAR_NORMS], peaks = of_cpu[PD_SCALAR_PEAKS];
  const double most[] = {norms * norms, norms, peaks, peaks * (double)rows};
  for (size_t k = 0; k < sizeof sums / sizeof *sums; ++k)
    if (!(fabs(of_cpu[sums[k]] - of_gpu[sums[k]]) <= 8 * bound * most[k]))
      fail_msg("operation %d, rank %llu, scalar %d: %.17g on the CPU, %.17g on the GPU", operation,
               (unsigned long long)rank, sums[k], of_cpu[sums[k]], of_gpu[sums[k]]);
  assert_true(of_cpu[PD_SCALAR_FALLBACKS] == of_gpu[PD_SCALAR_FALLBACKS]);
  assert_true(of_cpu[PD_SCALAR_DAMPED] == of_gpu[PD_SCALAR_DAMPED]);
  assert_true(of_gpu[PD_SCALAR_DAMPED] == (operation == DAMPED && missing > 0 ? 1 : 0));
  if (missing > 0 && operation == UPDATE) {
    assert_true(of_gpu[PD_SCALAR_FALLBACKS] == 1);
    assert_true(of_gpu[PD_SCALAR_KEPT] == (double)(rank - missing));
  }
  linalg_side_free(&cpu);
  linalg_side_free(&gpu);
}

static void test_operations(void **state) {
  (void)state;
  static const uint64_t ranks[] = {1,  2,  5,  7,  8,  9,  13,  16,  20,  24,
                                   25, 31, 32, 33, 64, 97, 100, 128, 129, 200};
  for (size_t k = 0; k < sizeof ranks / sizeof *ranks; ++k)
    for (int operation = 0; operation < OPERATIONS; ++operation)
      for (int type = 0; type < 2; ++type) {
        /* Rows of less than a block, of several, and of more than there are blocks. */
        static const uint64_t counts[] = {1, 7, 977, 3000, 40001};
        uint64_t rows = ranks[k] > 100 ? 300 : counts[(k + (size_t)type) % 5];
        compare((polyad_type)type, rows, ranks[k], 0, (enum operation)operation,
                (k + (size_t)operation) % 2 == 0 ? PD_SCALE_NORM_2 : PD_SCALE_AS_BEFORE);
      }
}

/* Columns that hardly overlap, and a sweep that leaves nothing of one of them: every device counts
 * one component without weight. */
static void clipped_column(const char *device, uint64_t rows, uint64_t rank) {
  struct linalg_side side;
  double scalars[PD_SCALARS];
  linalg_side_make(&side, device, POLYAD_F64, rows, rank, 0);
  double *m = linalg_side_to_doubles(&side, &side.m), *v = linalg_side_to_doubles(&side, &side.v);
  for (size_t i = 0; i < rows; ++i)
    m[i * rank + rank / 2] = -1e9;
  for (size_t e = 0; e < rank * rank; ++e)
    v[e] = e % (rank + 1) == 0 ? 2 : 0.01;
  assert_int_equal(pd_matrix_from_host(side.context, &side.m, m), POLYAD_OK);
  assert_int_equal(pd_matrix_from_host(side.context, &side.v, v), POLYAD_OK);
  run(&side, NONNEGATIVE, PD_SCALE_NORM_2, scalars);
  assert_true(scalars[PD_SCALAR_CLIPPED] == 1);
  free(m);
  free(v);
  linalg_side_free(&side);
}

static void test_clipped(void **state) {
  (void)state;
  static const uint64_t ranks[] = {5, 32, 40};
  for (int k = 0; k < 3; ++k)
    for (int there = 0; there < 2; ++there) {
      clipped_column(there == 0 ? "cpu" : "cuda", 300, ranks[k]);
      clipped_column(there == 0 ? "cpu" : "cuda", 9001, ranks[k]);
    }
}

/* Scaling by powers of two rounds nothing: the Gram matrix, which is scaled apart from the factor,
 * is that of the entries as they are stored. */
static void test_exact_scaling(void **state) {
  (void)state;
  static const uint64_t ranks[] = {1, 11, 16, 32, 33, 150};
  for (size_t k = 0; k < sizeof ranks / sizeof *ranks; ++k) {
    struct linalg_side gpu;
    double scalars[PD_SCALARS];
    size_t rank = ranks[k];
    linalg_side_make(&gpu, "cuda", POLYAD_F32, 400, rank, 0);
    run(&gpu, UPDATE, PD_SCALE_AS_BEFORE, scalars);
    double *x = linalg_side_to_doubles(&gpu, &gpu.m),
           *gram = linalg_side_to_doubles(&gpu, &gpu.gram);
    double *lambda = linalg_side_to_doubles(&gpu, &gpu.lambda),
           *peak = linalg_side_to_doubles(&gpu, &gpu.peak);
    for (size_t r = 0; r < rank; ++r) {
      int exponent;
      double largest = 0;
      for (size_t i = 0; i < 400; ++i)
        largest = fmax(largest, fabs(x[i * rank + r]));
      assert_true(peak[r] == largest);
      assert_true(frexp(lambda[r], &exponent) == 0.5);
      for (size_t s = 0; s < rank; ++s) {
        double sum = 0, magnitude = 0;
        for (size_t i = 0; i < 400; ++i) {
          sum += x[i * rank + r] * x[i * rank + s];
          magnitude += fabs(x[i * rank + r] * x[i * rank + s]);
        }
        assert_true(fabs(gram[r * rank + s] - sum) <= 800 * DBL_EPSILON * magnitude);
      }
    }
    free(x);
    free(gram);
    free(lambda);
    free(peak);
    linalg_side_free(&gpu);
  }
}

static void test_rank_deficient(void **state) {
  (void)state;
  static const uint64_t ranks[] = {2, 9, 32, 40, 150};
  for (size_t k = 0; k < sizeof ranks / sizeof *ranks; ++k)
    for (int operation = UPDATE; operation <= DAMPED; ++operation)
      for (int type = 0; type < 2; ++type)
        if (operation == DAMPED || type == POLYAD_F64)
          compare((polyad_type)type, 200, ranks[k], 1 + k, (enum operation)operation,
                  PD_SCALE_NORM_2);
}

/* More columns than a row in shared memory has; rows of less than a piece, and of several. */
static void test_wide(void **state) {
  (void)state;
  for (int operation = 0; operation < OPERATIONS; ++operation) {
    compare(POLYAD_F64, 300, 1025, 0, (enum operation)operation, PD_SCALE_AS_BEFORE);
    compare(POLYAD_F32, 4200, 1111, 0, (enum operation)operation, PD_SCALE_NORM_2);
  }
  for (int operation = UPDATE; operation <= DAMPED; ++operation)
    compare(POLYAD_F64, 200, 1025, 3, (enum operation)operation, PD_SCALE_NORM_2);
}

/* Nonzeros on the diagonal and off it, one coordinate of every mode after the other. */
static void decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk) {
  const struct pd_nonzeros *nonzeros = storage;
  for (int p = 0; p < count; ++p) {
    uint64_t rest = (first + (uint64_t)p) * 7 + 3;
    chunk->value[p] = (double)(float)(1 + sin((double)rest));
    for (int n = 0; n < nonzeros->order; ++n) {
      chunk->index[n][p] = rest % nonzeros->dims[n];
      rest = rest / nonzeros->dims[n] * 5 + rest % 11;
    }
  }
}

/* RESIDUAL and COVERED of one device. */
static void residual(const char *device, polyad_type type, int order, uint64_t nnz, uint64_t rank,
                     double scalars[PD_SCALARS]) {
  static const uint64_t dims[] = {40, 7, 1, 90, 13, 3, 5, 2};
  struct linalg_side side;
  struct pd_nonzeros nonzeros = {
      .order = order, .nnz = nnz, .type = type, .storage = &nonzeros, .decode = decode};
  struct pd_matrix factor[8];
  const struct pd_matrix *factors[8];
  struct pd_list *list = NULL;
  uint64_t state = 99;
  linalg_side_make(&side, device, type, 2, rank, 0);
  const struct pd_linalg *linalg = side.device->linalg;
  for (int n = 0; n < order; ++n) {
    double numbers[90 * 40];
    nonzeros.dims[n] = dims[n];
    for (uint64_t k = 0; k < dims[n] * rank; ++k)
      numbers[k] = linalg_side_noise(&state) - 0.4;
    linalg_side_matrix(&side, &factor[n], type, dims[n], rank, numbers);
    factors[n] = &factor[n];
  }
  if (linalg->residual_reads_list)
    assert_int_equal(pd_list_create(side.context, side.device, &nonzeros, &list), POLYAD_OK);
  assert_int_equal(
      linalg->residual(side.context, side.work, &nonzeros, list, factors, &side.lambda), POLYAD_OK);
  assert_int_equal(linalg->fetch(side.context, 1, &side.work, (double(*)[PD_SCALARS])scalars),
                   POLYAD_OK);
  pd_list_destroy(side.context, list);
  for (int n = 0; n < order; ++n)
    pd_matrix_destroy(side.context, &factor[n]);
  linalg_side_free(&side);
}

/* Both in double: apart by roundings of sums of rank and of nnz terms. */
static void test_residual(void **state) {
  (void)state;
  static const uint64_t ranks[] = {1, 3, 16, 32, 33, 40}, counts[] = {1, 31, 4099, 300001};
  for (int order = 1; order <= 8; ++order)
    for (int k = 0; k < 6; ++k)
      for (int type = 0; type < 2; ++type) {
        double cpu[PD_SCALARS], gpu[PD_SCALARS];
        uint64_t nnz = counts[(order + k) % 4];
        residual("cpu", (polyad_type)type, order, nnz, ranks[k], cpu);
        residual("cuda", (polyad_type)type, order, nnz, ranks[k], gpu);
        double bound = 8 * DBL_EPSILON * ((double)ranks[k] + sqrt((double)nnz) + order);
        for (int which = PD_SCALAR_RESIDUAL; which <= PD_SCALAR_COVERED; ++which)
          if (!(fabs(cpu[which] - gpu[which]) <= bound * (cpu[PD_SCALAR_RESIDUAL] + cpu[which])))
            fail_msg("order %d, rank %llu, %llu nonzeros: %.17g on the CPU, %.17g on the GPU",
                     order, (unsigned long long)ranks[k], (unsigned long long)nnz, cpu[which],
                     gpu[which]);
      }
}

/* An update, the model's norm and the sums of a residual, told what follows or not. */
static void norm_and_sums(bool told, double scalars[PD_SCALARS]) {
  struct linalg_side side;
  struct pd_nonzeros nonzeros = {.order = 1,
                                 .dims = {40001},
                                 .nnz = 100000,
                                 .type = POLYAD_F64,
                                 .storage = &nonzeros,
                                 .decode = decode};
  struct pd_list *list = NULL;
  linalg_side_make(&side, "cuda", POLYAD_F64, 40001, 16, 0);
  const struct pd_linalg *linalg = side.device->linalg;
  const struct pd_matrix *grams[2] = {&side.v, &side.gram}, *factor = &side.m;
  const struct pd_update update =
      linalg_side_update_of(&side, 0, NULL, NULL, &side.m, PD_SCALE_AS_BEFORE, grams);
  struct pd_norm norm = linalg_side_norm_of(&side, 2, grams, true);
  norm.sums_follow = told;
  assert_int_equal(pd_list_create(side.context, side.device, &nonzeros, &list), POLYAD_OK);
  assert_int_equal(linalg->update_rows(side.context, 1, &update), POLYAD_OK);
  assert_int_equal(linalg->update_finish(side.context, 1, &update), POLYAD_OK);
  assert_int_equal(linalg->model_norm(side.context, 1, &norm), POLYAD_OK);
  assert_int_equal(
      linalg->residual(side.context, side.work, &nonzeros, list, &factor, &side.lambda), POLYAD_OK);
  assert_int_equal(linalg->fetch(side.context, 1, &side.work, (double(*)[PD_SCALARS])scalars),
                   POLYAD_OK);
  pd_list_destroy(side.context, list);
  linalg_side_free(&side);
}

/* The sums wait for the update, and the host for both, whichever ends first. */
static void test_norm_beside_sums(void **state) {
  (void)state;
  double apart[PD_SCALARS] = {0}, beside[PD_SCALARS] = {0};
  norm_and_sums(false, apart);
  norm_and_sums(true, beside);
  assert_memory_equal(apart, beside, sizeof apart);
  assert_true(apart[PD_SCALAR_MODEL] > 0 && apart[PD_SCALAR_COVERED] > 0);
}

/* v with a least pivot of about 10^-k beside its diagonal: two columns that nearly agree. m = x v
 * with entries of x below one, as in an iteration that changes little: its part in the direction
 * that v nearly loses is small. Of any other m the solution is so large that no loss shows. */
static void nearly_collinear(struct linalg_side *side, int k, bool small, double *v, double *m) {
  size_t rank = (size_t)side->v.rows, rows = (size_t)side->m.rows;
  uint64_t state = 77;
  double *x = malloc(rows * rank * sizeof *x);
  assert_non_null(x);
  for (size_t e = 0; e < rows * rank; ++e)
    x[e] = linalg_side_noise(&state) - 0.25;
  for (size_t r = 0; r < rank; ++r)
    for (size_t c = 0; c < rank; ++c)
      v[r * rank + c] = r == c ? 1 : r + c == 1 ? 1 - 0.5 * pow(10, -k) : 0.25;
  for (size_t i = 0; i < rows; ++i)
    for (size_t c = 0; c < rank; ++c) {
      double sum = 0;
      for (size_t r = 0; r < rank; ++r)
        sum += x[i * rank + r] * v[r * rank + c];
      m[i * rank + c] = small ? sum : x[i * rank + c];
    }
  free(x);
  assert_int_equal(pd_matrix_from_host(side->context, &side->v, v), POLYAD_OK);
  assert_int_equal(pd_matrix_from_host(side->context, &side->m, m), POLYAD_OK);
}

/* Of x from m = x v: the largest entry of m - x v over the largest sum of |x| |v|. */
static double loss_of_solving(uint64_t columns, int k, bool small) {
  struct linalg_side side;
  linalg_side_make(&side, "cuda", POLYAD_F64, 7, columns, 0);
  size_t rank = (size_t)columns, rows = 7;
  double *v = malloc(rank * rank * sizeof *v), *m = malloc(rows * rank * sizeof *m), worst = 0,
         most = 0, scalars[PD_SCALARS];
  assert_true(v != NULL && m != NULL);
  nearly_collinear(&side, k, small, v, m);
  assert_int_equal(linalg_side_update(&side, 0, NULL, NULL, &side.m, PD_SCALE_NORM_2), POLYAD_OK);
  assert_int_equal(
      side.device->linalg->fetch(side.context, 1, &side.work, (double(*)[PD_SCALARS])scalars),
      POLYAD_OK);
  assert_true(scalars[PD_SCALAR_FALLBACKS] == 0);
  double *x = linalg_side_to_doubles(&side, &side.m),
         *lambda = linalg_side_to_doubles(&side, &side.lambda);
  for (size_t i = 0; i < rows; ++i)
    for (size_t c = 0; c < rank; ++c) {
      long double sum = m[i * rank + c], size = 0;
      for (size_t r = 0; r < rank; ++r) {
        long double term = (long double)x[i * rank + r] * lambda[r] * v[r * rank + c];
        sum -= term;
        size += fabsl(term);
      }
      worst = fmax(worst, (double)fabsl(sum));
      most = fmax(most, (double)size);
    }
  free(v);
  free(m);
  free(x);
  free(lambda);
  linalg_side_free(&side);
  return worst / most;
}

/* Solving loses nothing where the inverse alone would: the residual m - x v is rounding error of
 * x v, as substitution's is (30 R u, LAPACK's measure), not that times the condition number of v.
 * Pivots of 10^-5 are above the limit below which rows are refined: an error of eps times that
 * number is allowed for. The ranks are those of the ways to multiply and to invert. */
static void check_solving(uint64_t columns, int k, bool small) {
  double limit = 30 * (double)columns * DBL_EPSILON * (k <= 5 ? pow(10, k) : 1);
  double loss = loss_of_solving(columns, k, small);
  if (!(loss <= limit))
    fail_msg("rank %llu, gap 1e-%d: %.3g, at most %.3g expected (m of a small x: %d)",
             (unsigned long long)columns, k, loss, limit, small);
}

static void test_ill_conditioned(void **state) {
  (void)state;
  static const uint64_t chosen[] = {3, 17, 32, 33, 128, 130, 400, 1025};
  for (size_t n = 0; n < sizeof chosen / sizeof *chosen; ++n)
    for (int k = 1; k <= 10; k += chosen[n] > 128 ? 4 : 1)
      for (int small = 0; small <= 1; ++small)
        check_solving(chosen[n], k, small != 0);
}

/* What compute-sanitizer has the time for. */
static void test_refined(void **state) {
  (void)state;
  static const uint64_t chosen[] = {17, 33, 130};
  for (size_t n = 0; n < sizeof chosen / sizeof *chosen; ++n)
    check_solving(chosen[n], 9, true);
}

enum { TOGETHER = 40 };

static enum pd_scaling scaling_of(int run) {
  return run % 3 == 0 ? PD_SCALE_NORM_2 : PD_SCALE_AS_BEFORE;
}

/* The damped updates of several runs, each call made once for all. */
static void run_at_once(struct linalg_side *side, double (*scalars)[PD_SCALARS]) {
  const struct pd_linalg *linalg = side[0].device->linalg;
  polyad_context *context = side[0].context;
  const struct pd_matrix *grams[TOGETHER][2];
  struct pd_update updates[TOGETHER];
  struct pd_norm norms[TOGETHER];
  struct pd_linalg_work *works[TOGETHER];
  for (int k = 0; k < TOGETHER; ++k) {
    grams[k][0] = &side[k].gram;
    updates[k] = linalg_side_update_of(&side[k], damping, &side[k].x, NULL, &side[k].m,
                                       scaling_of(k), grams[k]);
    works[k] = side[k].work;
  }
  assert_int_equal(linalg->prepare(context, TOGETHER, updates), POLYAD_OK);
  for (int k = 0; k < TOGETHER; ++k)
    updates[k].prepared = true;
  assert_int_equal(linalg->update_rows(context, TOGETHER, updates), POLYAD_OK);
  assert_int_equal(linalg->update_finish(context, TOGETHER, updates), POLYAD_OK);
  for (int k = 0; k < TOGETHER; ++k) {
    grams[k][0] = &side[k].v;
    grams[k][1] = &side[k].gram;
    norms[k] = linalg_side_norm_of(&side[k], 2, grams[k], true);
  }
  assert_int_equal(linalg->model_norm(context, TOGETHER, norms), POLYAD_OK);
  assert_int_equal(linalg->fetch(context, TOGETHER, works, scalars), POLYAD_OK);
}

/* Runs that share their launches have the bits of runs alone, whatever ranks are among them. */
static void test_runs_at_once(void **state) {
  (void)state;
  static struct linalg_side side[TOGETHER], alone;
  static double scalars[TOGETHER][PD_SCALARS];
  for (polyad_type type = POLYAD_F32; type <= POLYAD_F64; ++type) {
    for (int k = 0; k < TOGETHER; ++k)
      linalg_side_make(&side[k], "cuda", type, 1033, 1 + (uint64_t)(k * k) % 137,
                       k % 5 == 4 ? 2 : 0);
    run_at_once(side, scalars);
    for (int k = 0; k < TOGETHER; ++k) {
      double wanted[PD_SCALARS];
      linalg_side_make(&alone, "cuda", type, 1033, side[k].x.columns, k % 5 == 4 ? 2 : 0);
      run(&alone, DAMPED, scaling_of(k), wanted);
      assert_memory_equal(scalars[k], wanted, sizeof wanted);
      linalg_side_compare(&alone, &alone.m, &side[k], &side[k].m, 0, "x of several");
      linalg_side_compare(&alone, &alone.gram, &side[k], &side[k].gram, 0,
                          "Gram matrix of several");
      linalg_side_compare(&alone, &alone.lambda, &side[k], &side[k].lambda, 0,
                          "weights of several");
      linalg_side_compare(&alone, &alone.peak, &side[k], &side[k].peak, 0, "peaks of several");
      linalg_side_free(&alone);
      linalg_side_free(&side[k]);
    }
  }
}

/* Bits of the rows that are no multiple of three, and not among the last sixteen whole ones. */
static bool is_used(uint64_t row, uint64_t rows) {
  return row % 3 != 0 && (row < rows / 16 * 16 - 16 || row >= rows / 16 * 16);
}

/* An update from an MTTKRP that is another matrix, and has rows that hold nothing, is the update in
 * place of one that has zeros there. */
static void compare_unused(polyad_type type, uint64_t rows, uint64_t rank) {
  struct linalg_side whole, part;
  struct pd_matrix bits;
  linalg_side_make(&whole, "cuda", type, rows, rank, 0);
  linalg_side_make(&part, "cuda", type, rows, rank, 0);
  double *m = linalg_side_to_doubles(&whole, &whole.m);
  uint32_t *used = calloc(rows / 32 + 1, sizeof *used);
  assert_true(m != NULL && used != NULL);
  for (uint64_t i = 0; i < rows; ++i)
    for (uint64_t r = 0; r < rank; ++r)
      if (is_used(i, rows))
        used[i / 32] |= 1u << i % 32;
      else
        m[i * rank + r] = 0;
  pd_matrix_destroy(whole.context, &whole.m);
  linalg_side_matrix(&whole, &whole.m, type, rows, rank, m);
  for (uint64_t k = 0; k < rows * rank; ++k)
    if (!is_used(k / rank, rows)) m[k] = NAN;
  pd_matrix_destroy(part.context, &part.other);
  linalg_side_matrix(&part, &part.other, type, rows, rank, m);
  assert_int_equal(pd_matrix_create(part.context, part.device, POLYAD_F32, 1, rows / 32 + 1, &bits),
                   POLYAD_OK);
  assert_int_equal(pd_matrix_from_host(part.context, &bits, used), POLYAD_OK);
  part.other.used = bits.data;
  const struct pd_update update =
      linalg_side_update_of(&part, damping, NULL, &part.other, &part.x, PD_SCALE_AS_BEFORE, NULL);
  assert_int_equal(linalg_side_update(&whole, damping, NULL, NULL, &whole.m, PD_SCALE_AS_BEFORE),
                   POLYAD_OK);
  assert_int_equal(part.device->linalg->update_rows(part.context, 1, &update), POLYAD_OK);
  assert_int_equal(part.device->linalg->update_finish(part.context, 1, &update), POLYAD_OK);
  linalg_side_compare(&whole, &whole.m, &part, &part.x, 0, "x");
  linalg_side_compare(&whole, &whole.gram, &part, &part.gram, 0, "Gram matrix");
  linalg_side_compare(&whole, &whole.peak, &part, &part.peak, 0, "peaks");
  linalg_side_compare(&whole, &whole.lambda, &part, &part.lambda, 0, "weights");
  pd_matrix_destroy(part.context, &bits);
  linalg_side_free(&whole);
  linalg_side_free(&part);
  free(used);
  free(m);
}

static void test_unused_rows(void **state) {
  (void)state;
  static const uint64_t ranks[] = {1, 6, 8, 13, 16, 17, 24, 31, 32};
  static const uint64_t rows[] = {3, 32, 33, 500, 70001};
  for (size_t k = 0; k < sizeof ranks / sizeof *ranks; ++k)
    for (size_t l = 0; l < sizeof rows / sizeof *rows; ++l)
      compare_unused(k % 2 == 0 ? POLYAD_F32 : POLYAD_F64, rows[l], ranks[k]);
}

/* Columns go to columns; those of others stay. */
static void test_copied_columns(void **state) {
  (void)state;
  for (polyad_type type = POLYAD_F32; type <= POLYAD_F64; ++type) {
    struct linalg_side cpu, gpu;
    struct linalg_side *const both[2] = {&cpu, &gpu};
    linalg_side_make(&cpu, "cpu", type, 1001, 17, 0);
    linalg_side_make(&gpu, "cuda", type, 1001, 17, 0);
    for (int s = 0; s < 2; ++s) {
      struct pd_column_copy copies[TOGETHER];
      for (int k = 0; k < 17; ++k) /* every column, in another order; some to both matrices */
        copies[k] = (struct pd_column_copy){.from = &both[s]->x,
                                            .to = k % 2 == 0 ? &both[s]->m : &both[s]->other,
                                            .first_from = (uint64_t)(k * 5 % 17),
                                            .first_to = (uint64_t)k,
                                            .columns = 1};
      copies[17] = (struct pd_column_copy){&both[s]->x, &both[s]->m, 3, 1, 6};
      assert_int_equal(
          both[s]->device->linalg->copy_columns(both[s]->context, both[s]->device, 17, copies),
          POLYAD_OK);
      assert_int_equal(
          both[s]->device->linalg->copy_columns(both[s]->context, both[s]->device, 1, &copies[17]),
          POLYAD_OK);
    }
    linalg_side_compare(&cpu, &cpu.m, &gpu, &gpu.m, 0, "copied columns");
    linalg_side_compare(&cpu, &cpu.other, &gpu, &gpu.other, 0, "copied columns");
    linalg_side_free(&cpu);
    linalg_side_free(&gpu);
  }
}

/* Compute types keep of a number what they keep on the host. */
static void test_rounding(void **state) {
  (void)state;
  for (int type = 0; type < 2; ++type)
    for (int compute = POLYAD_COMPUTE_F16; compute <= POLYAD_COMPUTE_TF32; ++compute) {
      struct linalg_side cpu, gpu;
      linalg_side_make(&cpu, "cpu", (polyad_type)type, 1001, 7, 0);
      linalg_side_make(&gpu, "cuda", (polyad_type)type, 1001, 7, 0);
      rounding_of_matrix((polyad_compute)compute, &cpu.m, &cpu.x);
      assert_int_equal(
          gpu.device->linalg->round(gpu.context, gpu.work, (polyad_compute)compute, &gpu.m, &gpu.x),
          POLYAD_OK);
      linalg_side_compare(&cpu, &cpu.x, &gpu, &gpu.x, 0, "rounded");
      linalg_side_free(&cpu);
      linalg_side_free(&gpu);
    }
}

/* The device's random numbers are the host's, to the last bit. */
static void test_random(void **state) {
  (void)state;
  static const uint64_t ranks[] = {1, 3, 32, 45};
  for (polyad_type type = POLYAD_F32; type <= POLYAD_F64; ++type)
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; ++k) {
      struct linalg_side side;
      linalg_side_make(&side, "cuda", type, 1033, ranks[k], 0);
      assert_int_equal(side.device->linalg->random(side.context, side.work, 5, 18, &side.x),
                       POLYAD_OK);
      double *numbers = linalg_side_to_doubles(&side, &side.x);
      for (uint64_t p = 0; p < 1033 * ranks[k]; ++p) {
        double wanted = pd_random_uniform(5, 18, p);
        if (type == POLYAD_F32) wanted = (double)(float)wanted;
        assert_true(numbers[p] == wanted);
      }
      free(numbers);
      linalg_side_free(&side);
    }
}

/* A matrix with a NaN is an error, not an answer. */
static void test_not_finite(void **state) {
  (void)state;
  struct linalg_side side;
  double scalars[PD_SCALARS], bad[9] = {1, 0, 0, 0, NAN, 0, 0, 0, 1};
  linalg_side_make(&side, "cuda", POLYAD_F64, 10, 3, 0);
  const struct pd_linalg *linalg = side.device->linalg;
  assert_int_equal(pd_matrix_from_host(side.context, &side.v, bad), POLYAD_OK);
  assert_int_equal(linalg_side_update(&side, 0, NULL, NULL, &side.m, PD_SCALE_NORM_2), POLYAD_OK);
  assert_int_equal(linalg->fetch(side.context, 1, &side.work, &scalars), POLYAD_NUMERICAL);
  linalg_side_free(&side);
}

/* Columns of a matrix on the GPU against those of its copy on the host: norms, also of numbers
 * whose squares pass the range, and the first of several entries of largest magnitude. */
static void columns_match(struct linalg_side *side, void *copy) {
  const struct pd_linalg *linalg = side->device->linalg;
  const struct pd_matrix *x = &side->m;
  for (uint64_t first = 0; first < x->columns; first += PD_COLUMN_CHUNK) {
    uint64_t rest = x->columns - first;
    struct pd_columns columns = {.context = side->context,
                                 .matrix = copy,
                                 .type = x->type,
                                 .rows = x->rows,
                                 .stride = x->columns,
                                 .first = first,
                                 .count = rest < PD_COLUMN_CHUNK ? (int)rest : PD_COLUMN_CHUNK};
    double expected[PD_COLUMN_CHUNK], peaks[PD_COLUMN_CHUNK];
    double norm[PD_COLUMN_CHUNK], peak[PD_COLUMN_CHUNK];
    int exponent[PD_COLUMN_CHUNK];
    pd_columns_norm(&columns, false, expected, exponent, peaks);
    assert_int_equal(linalg->column_norms(side->context, side->work, x, first, columns.count,
                                          exponent, norm, peak),
                     POLYAD_OK);
    for (int c = 0; c < columns.count; ++c) {
      assert_true(peak[c] == peaks[c]);
      assert_true(fabs(norm[c] - expected[c]) <= 1e-13 * expected[c]);
    }
  }
}

/* Entry k of a matrix of either type. */
static double entry_of(const void *matrix, polyad_type type, size_t k) {
  return type == POLYAD_F32 ? (double)((const float *)matrix)[k] : ((const double *)matrix)[k];
}

/* Columns moved and scaled, the same bits as on the host. */
static void forms_match(struct linalg_side *side, const void *copy, void *formed) {
  const struct pd_matrix *x = &side->m;
  size_t rank = (size_t)x->columns, rows = (size_t)x->rows;
  struct pd_column_form *form = malloc(rank * sizeof *form);
  assert_non_null(form);
  for (size_t k = 0; k < rank; ++k)
    form[k] = (struct pd_column_form){rank - 1 - k, k % 2 ? 0x1p-20 : 1, 0x1p3,
                                      k % 3 == 0   ? 3
                                      : k % 3 == 1 ? -2
                                                   : -7};
  assert_int_equal(side->device->linalg->form_columns(side->context, side->work, form, x, &side->x),
                   POLYAD_OK);
  assert_int_equal(pd_matrix_to_host(side->context, &side->x, formed), POLYAD_OK);
  for (size_t i = 0; i < rows; ++i)
    for (size_t k = 0; k < rank; ++k) {
      const struct pd_column_form *of = &form[k];
      double value = entry_of(copy, x->type, i * rank + of->place) * of->one * of->other;
      double expected = value / of->divisor, found = entry_of(formed, x->type, i * rank + k);
      assert_true(found == (x->type == POLYAD_F32 ? (double)(float)expected : expected));
    }
  free(form);
}

/* Ties of either sign, a column of zeros and, in double, magnitudes near both ends of the range. */
static void spread_out(struct linalg_side *side, void *copy) {
  size_t rank = (size_t)side->m.columns, rows = (size_t)side->m.rows;
  uint64_t state = 3;
  for (size_t i = 0; i < rows; ++i)
    for (size_t r = 0; r < rank; ++r) {
      double value = floor(9 * linalg_side_noise(&state)) - 4;
      if (r % 5 == 1) value = 0;
      if (side->m.type == POLYAD_F32)
        ((float *)copy)[i * rank + r] = (float)value;
      else
        ((double *)copy)[i * rank + r] = value * (r % 7 == 2 ? 1e300 : r % 7 == 4 ? 1e-310 : 1);
    }
  assert_int_equal(pd_matrix_from_host(side->context, &side->m, copy), POLYAD_OK);
}

static void test_normal_forms(void **state) {
  (void)state;
  static const uint64_t ranks[] = {1, 5, 32, 33, 70, 1100}, rows[] = {1, 37, 5000};
  for (size_t k = 0; k < sizeof ranks / sizeof *ranks; ++k)
    for (size_t j = 0; j < sizeof rows / sizeof *rows; ++j)
      for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
        struct linalg_side side;
        if (ranks[k] > 100 && rows[j] > 100) continue;
        linalg_side_make(&side, "cuda", (polyad_type)type, rows[j], ranks[k], 0);
        void *copy = malloc((size_t)(rows[j] * ranks[k]) * 8),
             *formed = malloc((size_t)(rows[j] * ranks[k]) * 8);
        assert_true(copy != NULL && formed != NULL);
        spread_out(&side, copy);
        columns_match(&side, copy);
        forms_match(&side, copy, formed);
        free(copy);
        free(formed);
        linalg_side_free(&side);
      }
}

GPU_TESTS(cmocka_unit_test(test_normal_forms), cmocka_unit_test(test_operations),
          cmocka_unit_test(test_clipped), cmocka_unit_test(test_exact_scaling),
          cmocka_unit_test(test_runs_at_once), cmocka_unit_test(test_copied_columns),
          cmocka_unit_test(test_unused_rows), cmocka_unit_test(test_rank_deficient),
          cmocka_unit_test(test_wide), cmocka_unit_test(test_rounding),
          cmocka_unit_test(test_random), cmocka_unit_test(test_not_finite),
          cmocka_unit_test(test_residual), cmocka_unit_test(test_norm_beside_sums),
          cmocka_unit_test(test_ill_conditioned), cmocka_unit_test(test_refined))
