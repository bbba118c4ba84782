/* The GPU's dense algebra against the CPU's, and CP-ALS on both. */
#include "core/random.h"
#include "gpu/gpu_context.h"
#include "harness.h"
#include "linalg/linalg.h"
#include "oracle/rounding.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The same small problem on one device: x, v, lambda, gram, and the scalars that come out. */
struct side {
  polyad_context *context;
  const struct pd_device *device;
  struct pd_linalg_work *work;
  struct pd_matrix x, m, other, v, lambda, gram, peak, slices;
};

enum operation { UPDATE, DAMPED, NONNEGATIVE, WEIGHTED, OPERATIONS };

static const double damping = 1e-3;

static double noise(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*state >> 40) / (double)(1 << 24);
}

static void fill(struct side *side, struct pd_matrix *matrix, polyad_type type, uint64_t rows,
                 uint64_t columns, const double *from) {
  assert_int_equal(pd_matrix_create(side->context, side->device, type, rows, columns, matrix),
                   POLYAD_OK);
  size_t count = (size_t)(rows * columns);
  float *narrow = malloc(count * sizeof *narrow + 1);
  assert_non_null(narrow);
  for (size_t k = 0; k < count; ++k)
    narrow[k] = (float)from[k];
  assert_int_equal(
      pd_matrix_from_host(side->context, matrix, type == POLYAD_F32 ? (const void *)narrow : from),
      POLYAD_OK);
  /* The copy may still run: it must have its own memory by now. */
  memset(narrow, 0xff, count * sizeof *narrow);
  free(narrow);
}

/* v is a Gram matrix of `rank - missing` independent columns, the others copies of the first. The
 * noise of n columns has singular values of up to sqrt(n / 3) beside that of its mean: 18 for
 * 1,024, which a diagonal of 40 keeps away from zero. */
static void make_side(struct side *side, const char *device, polyad_type type, uint64_t rows,
                      uint64_t rank, uint64_t missing) {
  memset(side, 0, sizeof *side);
  uint64_t state = 12345 + rank;
  double diagonal = rank > 1024 ? 40 : 3;
  size_t square = (size_t)(rank * rank), tall = (size_t)(rows * rank), base = (size_t)rank + 5;
  double *a = malloc(base * rank * sizeof *a), *v = calloc(square, sizeof *v);
  double *x = malloc(tall * sizeof *x), *m = malloc(tall * sizeof *m);
  double *lambda = malloc(rank * sizeof *lambda);
  assert_true(a != NULL && v != NULL && x != NULL && m != NULL && lambda != NULL);
  for (size_t i = 0; i < base; ++i)
    for (size_t r = 0; r < rank; ++r)
      a[i * rank + r] = r >= rank - missing ? a[i * rank] : noise(&state) + (i == r ? diagonal : 0);
  for (size_t i = 0; i < base; ++i)
    for (size_t r = 0; r < rank; ++r)
      for (size_t s = 0; s < rank; ++s)
        v[r * rank + s] += a[i * rank + r] * a[i * rank + s];
  for (size_t k = 0; k < tall; ++k)
    m[k] = (double)(float)(noise(&state) - 0.25);
  /* Right-hand sides in the range of v: with a singular v they make the answer well-defined. */
  for (size_t i = 0; missing > 0 && i < rows; ++i)
    for (size_t r = rank - missing; r < rank; ++r)
      m[i * rank + r] = m[i * rank];
  for (size_t k = 0; k < tall; ++k)
    x[k] = (double)(float)noise(&state);
  for (size_t r = 0; r < rank; ++r)
    lambda[r] = 0.5 + noise(&state);
  assert_int_equal(polyad_context_create(&side->context), POLYAD_OK);
  assert_int_equal(polyad_set_device(side->context, device), POLYAD_OK);
  assert_int_equal(pd_device_of(side->context, &side->device), POLYAD_OK);
  assert_int_equal(
      side->device->linalg->work_create(side->context, side->device, rank, &side->work), POLYAD_OK);
  fill(side, &side->x, type, rows, rank, x);
  fill(side, &side->m, type, rows, rank, m);
  fill(side, &side->other, type, rows, rank, m);
  fill(side, &side->v, POLYAD_F64, rank, rank, v);
  fill(side, &side->lambda, POLYAD_F64, 1, rank, lambda);
  fill(side, &side->gram, POLYAD_F64, rank, rank, v);
  fill(side, &side->slices, POLYAD_F64, rows, 1, m); /* the kernels take numbers of any sign */
  for (size_t r = 0; r < rank; ++r)
    lambda[r] *= 1 + 40 * lambda[r];
  fill(side, &side->peak, POLYAD_F64, 1, rank, lambda);
  free(a);
  free(v);
  free(x);
  free(m);
  free(lambda);
}

static void free_side(struct side *side) {
  pd_matrix_destroy(side->context, &side->x);
  pd_matrix_destroy(side->context, &side->m);
  pd_matrix_destroy(side->context, &side->other);
  pd_matrix_destroy(side->context, &side->v);
  pd_matrix_destroy(side->context, &side->lambda);
  pd_matrix_destroy(side->context, &side->gram);
  pd_matrix_destroy(side->context, &side->slices);
  pd_matrix_destroy(side->context, &side->peak);
  side->device->linalg->work_destroy(side->context, side->work);
  polyad_context_destroy(side->context);
}

static struct pd_norm norm_of(const struct side *side, int count,
                              const struct pd_matrix *const *grams, bool spreads) {
  return (struct pd_norm){side->work, count, grams, &side->peak, &side->lambda, spreads};
}

/* An update of `x`; of HALS where there is an m. Slices count in SPREAD. What v is made from is its
 * Gram matrix alone. */
static struct pd_update update_of(struct side *side, double damp, const struct pd_matrix *before,
                                  const struct pd_matrix *m, struct pd_matrix *x,
                                  enum pd_scaling scaling, const struct pd_matrix *const *grams) {
  return (struct pd_update){.work = side->work,
                            .grams = grams,
                            .count = 1,
                            .skip = -1,
                            .v = &side->v,
                            .damping = damp,
                            .before = before,
                            .weights = &side->lambda,
                            .m = m,
                            .slices = &side->slices,
                            .scaling = scaling,
                            .x = x,
                            .lambda = &side->lambda,
                            .gram = &side->gram,
                            .peak = &side->peak};
}

static polyad_status update(struct side *side, double damp, const struct pd_matrix *before,
                            const struct pd_matrix *m, struct pd_matrix *x,
                            enum pd_scaling scaling) {
  const struct pd_linalg *linalg = side->device->linalg;
  const struct pd_matrix *grams[2] = {&side->v, &side->gram};
  const struct pd_update update = update_of(side, damp, before, m, x, scaling, grams);
  const struct pd_norm norm = norm_of(side, 2, grams, true);
  polyad_status status = m != NULL ? linalg->update_rows_nonnegative(side->context, 1, &update)
                                   : linalg->update_rows(side->context, 1, &update);
  if (status == POLYAD_OK) status = linalg->update_finish(side->context, 1, &update);
  if (status == POLYAD_OK) status = linalg->model_norm(side->context, 1, &norm);
  return status;
}

static void run(struct side *side, enum operation operation, enum pd_scaling scaling,
                double scalars[PD_SCALARS]) {
  const struct pd_linalg *linalg = side->device->linalg;
  polyad_context *context = side->context;
  const struct pd_matrix *grams[3] = {&side->gram, &side->gram, &side->v};
  const struct pd_update damped = update_of(side, damping, NULL, NULL, &side->m, scaling, grams);
  const struct pd_norm norm = norm_of(side, 3, grams, false);
  polyad_status status = POLYAD_OK;
  switch (operation) {
  case UPDATE: /* m, solved in place; v as it is */
    status = update(side, 0, NULL, NULL, &side->m, scaling);
    break;
  case DAMPED: /* from x, where v does not do without; v made anew beside what may come between */
    status = linalg->prepare(context, 1, &damped);
    if (status == POLYAD_OK) status = update(side, damping, &side->x, NULL, &side->m, scaling);
    break;
  case NONNEGATIVE: /* from what x holds */
    status = update(side, 0, &side->x, &side->m, &side->other, scaling);
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

static double *to_doubles(struct side *side, const struct pd_matrix *matrix) {
  size_t count = (size_t)(matrix->rows * matrix->columns);
  void *raw = malloc(count * sizeof(double) + 1);
  double *numbers = malloc(count * sizeof *numbers + 1);
  assert_true(raw != NULL && numbers != NULL);
  assert_int_equal(pd_matrix_to_host(side->context, matrix, raw), POLYAD_OK);
  for (size_t k = 0; k < count; ++k)
    numbers[k] = matrix->type == POLYAD_F32 ? (double)((float *)raw)[k] : ((double *)raw)[k];
  free(raw);
  return numbers;
}

/* Largest difference relative to the largest entry. */
static void compare_matrix(struct side *cpu, const struct pd_matrix *a, struct side *gpu,
                           const struct pd_matrix *b, double bound, const char *what) {
  double *left = to_doubles(cpu, a), *right = to_doubles(gpu, b), scale = 0, worst = 0;
  for (size_t k = 0; k < (size_t)(a->rows * a->columns); ++k) {
    scale = fmax(scale, fabs(left[k]));
    double difference = fabs(left[k] - right[k]);
    worst = difference <= worst ? worst : difference; /* NaN counts as worst */
  }
  if (!(worst <= bound * scale))
    fail_msg("%s, %llu x %llu: differ by %.3g of %.3g, bound %.3g", what,
             (unsigned long long)a->rows, (unsigned long long)a->columns, worst, scale, bound);
  free(left);
  free(right);
}

/* Both solve to backward error R eps, so they differ by that times v's condition number, which the
 * strong diagonal keeps below (R + 10)^2; float results are rounded once more each. */
static void compare(polyad_type type, uint64_t rows, uint64_t rank, uint64_t missing,
                    enum operation operation, enum pd_scaling scaling) {
  struct side cpu, gpu;
  double of_cpu[PD_SCALARS], of_gpu[PD_SCALARS];
  make_side(&cpu, "cpu", type, rows, rank, missing);
  make_side(&gpu, "cuda", type, rows, rank, missing);
  run(&cpu, operation, scaling, of_cpu);
  run(&gpu, operation, scaling, of_gpu);
  double r = (double)rank, unit = 8 * r * (r + 10) * (r + 10) * DBL_EPSILON;
  if (operation == DAMPED && missing > 0) unit = 8 * r * r / damping * DBL_EPSILON;
  double bound = unit + (type == POLYAD_F32 ? 4 * FLT_EPSILON : 0);
  compare_matrix(&cpu, &cpu.m, &gpu, &gpu.m, bound, "m");
  compare_matrix(&cpu, &cpu.x, &gpu, &gpu.x, bound, "x");
  compare_matrix(&cpu, &cpu.other, &gpu, &gpu.other, bound, "result of HALS");
  compare_matrix(&cpu, &cpu.peak, &gpu, &gpu.peak, bound, "peak");
  compare_matrix(&cpu, &cpu.v, &gpu, &gpu.v, bound, "v");
  compare_matrix(&cpu, &cpu.lambda, &gpu, &gpu.lambda, bound, "lambda");
  compare_matrix(&cpu, &cpu.gram, &gpu, &gpu.gram, 2 * bound, "gram");
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
  free_side(&cpu);
  free_side(&gpu);
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

/* Scaling by powers of two rounds nothing: the Gram matrix, which is scaled apart from the factor,
 * is that of the entries as they are stored. */
static void test_exact_scaling(void **state) {
  (void)state;
  static const uint64_t ranks[] = {1, 11, 16, 32, 33, 150};
  for (size_t k = 0; k < sizeof ranks / sizeof *ranks; ++k) {
    struct side gpu;
    double scalars[PD_SCALARS];
    size_t rank = ranks[k];
    make_side(&gpu, "cuda", POLYAD_F32, 400, rank, 0);
    run(&gpu, UPDATE, PD_SCALE_AS_BEFORE, scalars);
    double *x = to_doubles(&gpu, &gpu.m), *gram = to_doubles(&gpu, &gpu.gram);
    double *lambda = to_doubles(&gpu, &gpu.lambda), *peak = to_doubles(&gpu, &gpu.peak);
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
    free_side(&gpu);
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
  struct side side;
  struct pd_nonzeros nonzeros = {
      .order = order, .nnz = nnz, .type = type, .storage = &nonzeros, .decode = decode};
  struct pd_matrix factor[8];
  const struct pd_matrix *factors[8];
  struct pd_list *list = NULL;
  uint64_t state = 99;
  make_side(&side, device, type, 2, rank, 0);
  const struct pd_linalg *linalg = side.device->linalg;
  for (int n = 0; n < order; ++n) {
    double numbers[90 * 40];
    nonzeros.dims[n] = dims[n];
    for (uint64_t k = 0; k < dims[n] * rank; ++k)
      numbers[k] = noise(&state) - 0.4;
    fill(&side, &factor[n], type, dims[n], rank, numbers);
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
  free_side(&side);
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

/* An exact model of rank 3 asked for in rank 10, in float32: normal equations that float32 cannot
 * tell apart. The check around every decomposition judges the reported fit. */
static void test_ill_posed(void **state) {
  (void)state;
  static const char *const formats[] = {"modecopy", "flycoo",   "coo",   "alto",   "blco",
                                        "bcsf",     "hbcsf",    "mmcsf", "hicoo",  "fcoo",
                                        "fwc",      "portable", "hls",   "twotree"};
  static const char *const files[] = {"plant.tns.gz", "plant-noise-1e-5.tns.gz"};
  for (size_t f = 0; f < 2 * sizeof formats / sizeof *formats; ++f)
    for (int rank = 10; rank <= 16; rank += 6) {
      polyad_context *context = NULL;
      polyad_tensor *tensor = NULL;
      polyad_plan *plan = NULL;
      polyad_ktensor *model = NULL;
      polyad_run_info info = {0};
      polyad_plan_options options;
      polyad_cp_als_options als_options;
      char path[1024];
      snprintf(path, sizeof path, "%s/%s", POLYAD_TEST_DATA, files[f % 2]);
      polyad_plan_options_init(&options);
      polyad_cp_als_options_init(&als_options);
      options.format = formats[f / 2];
      options.precision = POLYAD_F32;
      options.rank = als_options.rank = (uint64_t)rank;
      assert_int_equal(polyad_context_create(&context), POLYAD_OK);
      assert_int_equal(polyad_set_device(context, "cuda"), POLYAD_OK);
      assert_int_equal(polyad_tensor_read(context, path, NULL, &tensor), POLYAD_OK);
      if (polyad_plan_create(context, tensor, &options, &plan) != POLYAD_OK ||
          polyad_cp_als(context, plan, &als_options, &model, &info) != POLYAD_OK)
        fail_msg("%s: %s", formats[f / 2], polyad_last_error(context));
      if (!(info.fit > 0.999))
        fail_msg("%s, %s, rank %d: fit %.6f (%s)", formats[f / 2], files[f % 2], rank, info.fit,
                 polyad_reason_string(info.reason));
      polyad_run_info_clear(&info);
      polyad_ktensor_destroy(model);
      polyad_plan_destroy(plan);
      polyad_tensor_destroy(tensor);
      polyad_context_destroy(context);
    }
}

/* v with a least pivot of about 10^-k beside its diagonal: two columns that nearly agree. m = x v
 * with entries of x below one, as in an iteration that changes little: its part in the direction
 * that v nearly loses is small. Of any other m the solution is so large that no loss shows. */
static void nearly_collinear(struct side *side, int k, bool small, double *v, double *m) {
  size_t rank = (size_t)side->v.rows, rows = (size_t)side->m.rows;
  uint64_t state = 77;
  double *x = malloc(rows * rank * sizeof *x);
  assert_non_null(x);
  for (size_t e = 0; e < rows * rank; ++e)
    x[e] = noise(&state) - 0.25;
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
  struct side side;
  make_side(&side, "cuda", POLYAD_F64, 7, columns, 0);
  size_t rank = (size_t)columns, rows = 7;
  double *v = malloc(rank * rank * sizeof *v), *m = malloc(rows * rank * sizeof *m), worst = 0,
         most = 0, scalars[PD_SCALARS];
  assert_true(v != NULL && m != NULL);
  nearly_collinear(&side, k, small, v, m);
  assert_int_equal(update(&side, 0, NULL, NULL, &side.m, PD_SCALE_NORM_2), POLYAD_OK);
  assert_int_equal(
      side.device->linalg->fetch(side.context, 1, &side.work, (double(*)[PD_SCALARS])scalars),
      POLYAD_OK);
  assert_true(scalars[PD_SCALAR_FALLBACKS] == 0);
  double *x = to_doubles(&side, &side.m), *lambda = to_doubles(&side, &side.lambda);
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
  free_side(&side);
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
static void run_at_once(struct side *side, double (*scalars)[PD_SCALARS]) {
  const struct pd_linalg *linalg = side[0].device->linalg;
  polyad_context *context = side[0].context;
  const struct pd_matrix *grams[TOGETHER][2];
  struct pd_update updates[TOGETHER];
  struct pd_norm norms[TOGETHER];
  struct pd_linalg_work *works[TOGETHER];
  for (int k = 0; k < TOGETHER; ++k) {
    grams[k][0] = &side[k].gram;
    updates[k] =
        update_of(&side[k], damping, &side[k].x, NULL, &side[k].m, scaling_of(k), grams[k]);
    works[k] = side[k].work;
  }
  assert_int_equal(linalg->prepare(context, TOGETHER, updates), POLYAD_OK);
  assert_int_equal(linalg->update_rows(context, TOGETHER, updates), POLYAD_OK);
  assert_int_equal(linalg->update_finish(context, TOGETHER, updates), POLYAD_OK);
  for (int k = 0; k < TOGETHER; ++k) {
    grams[k][0] = &side[k].v;
    grams[k][1] = &side[k].gram;
    norms[k] = norm_of(&side[k], 2, grams[k], true);
  }
  assert_int_equal(linalg->model_norm(context, TOGETHER, norms), POLYAD_OK);
  assert_int_equal(linalg->fetch(context, TOGETHER, works, scalars), POLYAD_OK);
}

/* Runs that share their launches have the bits of runs alone, whatever ranks are among them. */
static void test_runs_at_once(void **state) {
  (void)state;
  static struct side side[TOGETHER], alone;
  static double scalars[TOGETHER][PD_SCALARS];
  for (polyad_type type = POLYAD_F32; type <= POLYAD_F64; ++type) {
    for (int k = 0; k < TOGETHER; ++k)
      make_side(&side[k], "cuda", type, 1033, 1 + (uint64_t)(k * k) % 137, k % 5 == 4 ? 2 : 0);
    run_at_once(side, scalars);
    for (int k = 0; k < TOGETHER; ++k) {
      double wanted[PD_SCALARS];
      make_side(&alone, "cuda", type, 1033, side[k].x.columns, k % 5 == 4 ? 2 : 0);
      run(&alone, DAMPED, scaling_of(k), wanted);
      assert_memory_equal(scalars[k], wanted, sizeof wanted);
      compare_matrix(&alone, &alone.m, &side[k], &side[k].m, 0, "x of several");
      compare_matrix(&alone, &alone.gram, &side[k], &side[k].gram, 0, "Gram matrix of several");
      compare_matrix(&alone, &alone.lambda, &side[k], &side[k].lambda, 0, "weights of several");
      compare_matrix(&alone, &alone.peak, &side[k], &side[k].peak, 0, "peaks of several");
      free_side(&alone);
      free_side(&side[k]);
    }
  }
}

/* Columns go to columns; those of others stay. */
static void test_copied_columns(void **state) {
  (void)state;
  for (polyad_type type = POLYAD_F32; type <= POLYAD_F64; ++type) {
    struct side cpu, gpu;
    struct side *const both[2] = {&cpu, &gpu};
    make_side(&cpu, "cpu", type, 1001, 17, 0);
    make_side(&gpu, "cuda", type, 1001, 17, 0);
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
    compare_matrix(&cpu, &cpu.m, &gpu, &gpu.m, 0, "copied columns");
    compare_matrix(&cpu, &cpu.other, &gpu, &gpu.other, 0, "copied columns");
    free_side(&cpu);
    free_side(&gpu);
  }
}

/* Compute types keep of a number what they keep on the host. */
static void test_rounding(void **state) {
  (void)state;
  for (int type = 0; type < 2; ++type)
    for (int compute = POLYAD_COMPUTE_F16; compute <= POLYAD_COMPUTE_TF32; ++compute) {
      struct side cpu, gpu;
      make_side(&cpu, "cpu", (polyad_type)type, 1001, 7, 0);
      make_side(&gpu, "cuda", (polyad_type)type, 1001, 7, 0);
      rounding_of_matrix((polyad_compute)compute, &cpu.m, &cpu.x);
      assert_int_equal(
          gpu.device->linalg->round(gpu.context, gpu.work, (polyad_compute)compute, &gpu.m, &gpu.x),
          POLYAD_OK);
      compare_matrix(&cpu, &cpu.x, &gpu, &gpu.x, 0, "rounded");
      free_side(&cpu);
      free_side(&gpu);
    }
}

/* The device's random numbers are the host's, to the last bit. */
static void test_random(void **state) {
  (void)state;
  static const uint64_t ranks[] = {1, 3, 32, 45};
  for (polyad_type type = POLYAD_F32; type <= POLYAD_F64; ++type)
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; ++k) {
      struct side side;
      make_side(&side, "cuda", type, 1033, ranks[k], 0);
      assert_int_equal(side.device->linalg->random(side.context, side.work, 5, 18, &side.x),
                       POLYAD_OK);
      double *numbers = to_doubles(&side, &side.x);
      for (uint64_t p = 0; p < 1033 * ranks[k]; ++p) {
        double wanted = pd_random_uniform(5, 18, p);
        if (type == POLYAD_F32) wanted = (double)(float)wanted;
        assert_true(numbers[p] == wanted);
      }
      free(numbers);
      free_side(&side);
    }
}

/* A matrix with a NaN is an error, not an answer. */
static void test_not_finite(void **state) {
  (void)state;
  struct side side;
  double scalars[PD_SCALARS], bad[9] = {1, 0, 0, 0, NAN, 0, 0, 0, 1};
  make_side(&side, "cuda", POLYAD_F64, 10, 3, 0);
  const struct pd_linalg *linalg = side.device->linalg;
  assert_int_equal(pd_matrix_from_host(side.context, &side.v, bad), POLYAD_OK);
  assert_int_equal(update(&side, 0, NULL, NULL, &side.m, PD_SCALE_NORM_2), POLYAD_OK);
  assert_int_equal(linalg->fetch(side.context, 1, &side.work, &scalars), POLYAD_NUMERICAL);
  free_side(&side);
}

static const struct mttkrp_case als_case = {"als",        4,    {60, 24, 110, 70}, 20000,
                                            SHAPE_FIBERS, false};

static void als(const char *device, const char *format, const char *variant, size_t rank,
                int nonnegative, polyad_run_info *info) {
  polyad_context *context = NULL;
  polyad_plan_options options;
  polyad_cp_als_options als_options;
  polyad_ktensor *model = NULL;
  struct problem problem;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  assert_int_equal(polyad_set_device(context, device), POLYAD_OK);
  problem_make(&als_case, 1, 3, &problem);
  for (size_t p = 0; p < problem.entries; ++p)
    problem.value[p] = fabs(problem.value[p]);
  polyad_plan_options_init(&options);
  options.format = format;
  options.variant = variant;
  options.rank = rank;
  polyad_plan *plan = gpu_plan(context, &problem, &options);
  polyad_cp_als_options_init(&als_options);
  als_options.rank = rank;
  als_options.run.max_iterations = 20;
  als_options.run.tolerance = 0;
  als_options.nonnegative = nonnegative;
  if (polyad_cp_als(context, plan, &als_options, &model, info) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  problem_free(&problem);
}

/* The residual's error is of second order in that of the factors: 1e-11 is far from both. */
static void compare_runs(const char *format, const char *variant, size_t rank, int nonnegative) {
  polyad_run_info cpu = {0}, gpu = {0};
  als("cpu", "coo", "auto", rank, nonnegative, &cpu);
  als("cuda", format, variant, rank, nonnegative, &gpu);
  assert_int_equal(cpu.trace_rows, gpu.trace_rows);
  for (int i = 0; i < cpu.trace_rows; ++i)
    if (!(fabs(cpu.trace[i].residual - gpu.trace[i].residual) <= 1e-11))
      fail_msg("%s:%s, rank %zu, iteration %d: %.17g on the CPU, %.17g on the GPU", format, variant,
               rank, i + 1, cpu.trace[i].residual, gpu.trace[i].residual);
  polyad_run_info_clear(&cpu);
  polyad_run_info_clear(&gpu);
}

static void test_cp_als(void **state) {
  (void)state;
  static const char *const formats[] = {"modecopy", "flycoo"};
  static const size_t ranks[] = {5, 16, 32};
  for (int f = 0; f < 2; ++f)
    for (int k = 0; k < 3; ++k)
      for (int nonnegative = 0; nonnegative < 2; ++nonnegative)
        compare_runs(formats[f], "auto", ranks[k], nonnegative);
}

/* Every format's kernels are recorded and replayed: what a replay must not do, such as waiting,
 * shows as an error, and what it leaves out as another residual. */
static void test_every_format(void **state) {
  (void)state;
  int count = 0;
  for (int k = 0; k < pd_format_count(); ++k) {
    const struct polyad_format *format = pd_format_at(k);
    const struct polyad_kernels *kernels = pd_kernels_find(format->name, "cuda");
    if (kernels == NULL || pd_walk_of(kernels, PD_OPS_MTTKRP) == NULL) continue;
    compare_runs(format->name, "auto", 16, 0);
    ++count;
  }
  assert_true(count > 8);
  compare_runs("blco", "stream", 16, 0);
  compare_runs("modecopy", "paper", 16, 0);
  compare_runs("flycoo", "no-remap", 16, 0);
}

GPU_TESTS(cmocka_unit_test(test_operations), cmocka_unit_test(test_exact_scaling),
          cmocka_unit_test(test_runs_at_once), cmocka_unit_test(test_copied_columns),
          cmocka_unit_test(test_rank_deficient), cmocka_unit_test(test_wide),
          cmocka_unit_test(test_rounding), cmocka_unit_test(test_random),
          cmocka_unit_test(test_not_finite), cmocka_unit_test(test_residual),
          cmocka_unit_test(test_ill_posed), cmocka_unit_test(test_ill_conditioned),
          cmocka_unit_test(test_refined), cmocka_unit_test(test_cp_als),
          cmocka_unit_test(test_every_format))
