/* The CPU's dense algebra against sums in wider precision, with bounds from rounding-error analysis
 * (Higham, Accuracy and Stability of Numerical Algorithms, 2002). */
#include "harness.h"

#include "core/isa.h"
#include "core/random.h"
#include "core/threads.h"
#include "device/device.h"
#include "linalg/factor_kernels.h"
#include "linalg/linalg.h"
#include <float.h>
#include <math.h>
#include <polyad/polyad.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANK = 40, MOST_ROWS = 5000 };
static const size_t ranks[] = {1, 2, 3, 7, 8, 15, 16, 17, 33, 40};
static const uint64_t row_counts[] = {1, 3, 16, 63, 65, 130, 5000};

struct setting {
  polyad_context *context;
  struct pd_linalg_work *work;
  struct pd_matrix x, m, v, gram, lambda, peak;
};

#define OK(call) assert_int_equal(call, POLYAD_OK)

static void start(struct setting *s, int threads, polyad_type type, uint64_t rows, size_t rank) {
  OK(polyad_context_create(&s->context));
  OK(polyad_set_threads(s->context, threads));
  OK(pd_cpu_linalg.work_create(s->context, &pd_cpu_device, rank, &s->work));
  OK(pd_matrix_create(s->context, &pd_cpu_device, type, rows, rank, &s->x));
  OK(pd_matrix_create(s->context, &pd_cpu_device, type, rows, rank, &s->m));
  OK(pd_matrix_create(s->context, &pd_cpu_device, POLYAD_F64, rank, rank, &s->v));
  OK(pd_matrix_create(s->context, &pd_cpu_device, POLYAD_F64, rank, rank, &s->gram));
  OK(pd_matrix_create(s->context, &pd_cpu_device, POLYAD_F64, 1, rank, &s->lambda));
  OK(pd_matrix_create(s->context, &pd_cpu_device, POLYAD_F64, 1, rank, &s->peak));
}

static void finish(struct setting *s) {
  pd_matrix_destroy(s->context, &s->x);
  pd_matrix_destroy(s->context, &s->m);
  pd_matrix_destroy(s->context, &s->v);
  pd_matrix_destroy(s->context, &s->gram);
  pd_matrix_destroy(s->context, &s->lambda);
  pd_matrix_destroy(s->context, &s->peak);
  pd_cpu_linalg.work_destroy(s->context, s->work);
  assert_int_equal(polyad_memory_in_use(s->context), 0);
  polyad_context_destroy(s->context);
}

/* Both steps of an update; of HALS where there is an m. */
static polyad_status update(struct setting *s, double damping, const struct pd_matrix *before,
                            const struct pd_matrix *m, enum pd_scaling scaling) {
  struct pd_update update = {.work = s->work,
                             .v = &s->v,
                             .damping = damping,
                             .before = before,
                             .weights = &s->lambda,
                             .m = m,
                             .scaling = scaling,
                             .x = &s->x,
                             .lambda = &s->lambda,
                             .gram = &s->gram,
                             .peak = &s->peak};
  polyad_status status = m != NULL ? pd_cpu_linalg.update_rows_nonnegative(s->context, 1, &update)
                                   : pd_cpu_linalg.update_rows(s->context, 1, &update);
  return status != POLYAD_OK ? status : pd_cpu_linalg.update_finish(s->context, 1, &update);
}

static double get(const struct pd_matrix *a, uint64_t i, size_t r) {
  uint64_t k = i * a->stride + r;
  return a->type == POLYAD_F64 ? ((const double *)a->data)[k] : (double)((const float *)a->data)[k];
}

static void set(struct pd_matrix *a, uint64_t i, size_t r, double value) {
  if (a->type == POLYAD_F64)
    ((double *)a->data)[i * a->stride + r] = value;
  else
    ((float *)a->data)[i * a->stride + r] = (float)value;
}

static void fill(struct pd_matrix *a, uint64_t seed, double low) {
  for (uint64_t i = 0; i < a->rows; ++i)
    for (size_t r = 0; r < a->columns; ++r)
      set(a, i, r, low + (1 - low) * pd_random_uniform(seed, r, i));
}

/* v = B^T B / rows + shift I for a random B. */
static void fill_definite(struct pd_matrix *v, double shift) {
  size_t rank = v->columns;
  for (size_t r = 0; r < rank; ++r)
    for (size_t s = 0; s < rank; ++s) {
      double sum = r == s ? shift : 0;
      for (uint64_t k = 0; k < 2 * rank; ++k)
        sum += pd_random_uniform(77, r, k) * pd_random_uniform(77, s, k) / (2.0 * (double)rank);
      set(v, r, s, sum);
    }
}

/* gram = x^T x, within what any order of summation of `rows` products may round off. */
static void check_gram(const struct setting *s, double extra) {
  size_t rank = s->x.columns;
  for (size_t r = 0; r < rank; ++r)
    for (size_t c = 0; c < rank; ++c) {
      long double sum = 0, magnitude = 0;
      for (uint64_t i = 0; i < s->x.rows; ++i) {
        long double product = (long double)get(&s->x, i, r) * get(&s->x, i, c);
        sum += product;
        magnitude += fabsl(product);
      }
      double bound = ((double)s->x.rows + 4) * DBL_EPSILON + extra;
      assert_true(fabsl(get(&s->gram, r, c) - sum) <= bound * magnitude);
    }
}

/* The largest magnitudes are those of the entries as they are stored. */
static void check_peak(const struct setting *s) {
  for (size_t r = 0; r < s->x.columns; ++r) {
    double largest = 0;
    for (uint64_t i = 0; i < s->x.rows; ++i)
      largest = fmax(largest, fabs(get(&s->x, i, r)));
    assert_true(get(&s->peak, 0, r) == largest);
  }
}

static void gram_is_a_sum_of_products(void **state) {
  (void)state;
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type)
    for (size_t q = 0; q < sizeof ranks / sizeof *ranks; ++q)
      for (size_t k = 0; k < sizeof row_counts / sizeof *row_counts; ++k)
        for (int threads = 1; threads <= 3; threads += 2) {
          struct setting s;
          start(&s, threads, (polyad_type)type, row_counts[k], ranks[q]);
          fill(&s.x, 5, -1);
          OK(pd_cpu_linalg.gram(s.context, s.work, &s.x, &s.gram, &s.peak));
          check_gram(&s, 0);
          check_peak(&s);
          finish(&s);
        }
}

/* Checks x lambda v = m row by row: the residual of a backward stable solution, or of a product
 * with an inverse of a well conditioned matrix, is a small multiple of what |x| |v| rounds to. */
static void check_solution(const struct setting *s, double unit) {
  size_t rank = s->x.columns;
  double norm_v = 0;
  for (size_t r = 0; r < rank; ++r)
    for (size_t c = 0; c < rank; ++c)
      norm_v = fmax(norm_v, fabs(get(&s->v, r, c)));
  for (uint64_t i = 0; i < s->x.rows; ++i) {
    double norm_x = 0;
    for (size_t r = 0; r < rank; ++r)
      norm_x += fabs(get(&s->x, i, r) * get(&s->lambda, 0, r));
    for (size_t c = 0; c < rank; ++c) {
      long double product = 0;
      for (size_t r = 0; r < rank; ++r)
        product += (long double)get(&s->x, i, r) * get(&s->lambda, 0, r) * get(&s->v, r, c);
      double bound = 16 * (double)(rank + 1) * unit * norm_x * norm_v * (double)rank;
      assert_true(fabsl(product - get(&s->m, i, c)) <= bound + unit * fabs(get(&s->m, i, c)));
    }
  }
}

static void check_update(int type, uint64_t rows, size_t rank, enum pd_scaling scaling, int threads,
                         double shift) {
  struct setting s;
  double scalar[PD_SCALARS], unit = type == POLYAD_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
  start(&s, threads, (polyad_type)type, rows, rank);
  fill(&s.m, 9, -3);
  memcpy(s.x.data, s.m.data, rows * rank * pd_type_bytes((polyad_type)type));
  fill_definite(&s.v, shift);
  OK(update(&s, 0, NULL, NULL, scaling));
  OK(pd_cpu_linalg.fetch(s.context, 1, &s.work, &scalar));
  assert_true(scalar[PD_SCALAR_FALLBACKS] == 0);
  check_solution(&s, unit);
  /* The Gram matrix was summed before x was scaled and rounded. */
  check_gram(&s, 8 * unit);
  long double inner = 0, magnitude = 0;
  for (uint64_t i = 0; i < rows; ++i)
    for (size_t r = 0; r < rank; ++r) {
      long double product = (long double)get(&s.m, i, r) * get(&s.x, i, r) * get(&s.lambda, 0, r);
      inner += product;
      magnitude += fabsl(product);
    }
  assert_true(fabsl(scalar[PD_SCALAR_INNER] - inner) <= ((double)rows + 16) * unit * magnitude);
  check_peak(&s);
  for (size_t r = 0; r < rank; ++r) {
    long double square = 0;
    for (uint64_t i = 0; i < rows; ++i)
      square += (long double)get(&s.x, i, r) * get(&s.x, i, r);
    assert_true(get(&s.lambda, 0, r) > 0);
    if (scaling == PD_SCALE_NORM_2)
      assert_true(fabsl(sqrtl(square) - 1) <= ((double)rows + 8) * unit);
    else
      assert_true(get(&s.lambda, 0, r) == 1); /* weights before that are zero divide nothing */
  }
  finish(&s);
}

static void update_solves_and_scales(void **state) {
  (void)state;
  static const double shifts[] = {1, 1e-4}; /* well conditioned, and not so well */
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type)
    for (size_t q = 0; q < sizeof ranks / sizeof *ranks; ++q)
      for (size_t k = 0; k < sizeof row_counts / sizeof *row_counts; k += 2)
        for (int c = 0; c < 4; ++c)
          check_update(type, row_counts[k], ranks[q], c < 2 ? PD_SCALE_NORM_2 : PD_SCALE_AS_BEFORE,
                       1 + (int)k % 3, shifts[c % 2]);
}

/* The least power of two that is no less than a number and one. */
static double power_above(double number) {
  double power = 1;
  while (power < number)
    power *= 2;
  return power;
}

/* Scaling by powers of two rounds nothing: the Gram matrix is that of the entries as they are
 * stored, in float too, however the weights of before and the right-hand sides differ in size. The
 * powers follow from the factor and the weights before. */
static void updates_scale_without_rounding(void **state) {
  (void)state;
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type)
    for (size_t q = 0; q < sizeof ranks / sizeof *ranks; ++q)
      for (int scale = -20; scale <= 20; scale += 8) {
        struct setting s;
        start(&s, 2, (polyad_type)type, 300, ranks[q]);
        /* Also equations that are solved by substitution, which divides apart. */
        fill_definite(&s.v, scale % 16 == 4 ? 1e-9 : 1);
        for (size_t r = 0; r < ranks[q]; ++r) {
          set(&s.lambda, 0, r, 1.7 + (double)(r * r));
          set(&s.peak, 0, r, 0.5);
        }
        for (int sweep = 0; sweep < 3; ++sweep) {
          double wanted[MOST_RANK];
          fill(&s.m, 9 + (uint64_t)sweep, -3);
          for (uint64_t i = 0; i < 300; ++i)
            for (size_t r = 0; r < ranks[q]; ++r) {
              set(&s.m, i, r, ldexp(get(&s.m, i, r), scale));
              set(&s.x, i, r, get(&s.m, i, r));
            }
          for (size_t r = 0; r < ranks[q]; ++r)
            wanted[r] = power_above(get(&s.lambda, 0, r) * get(&s.peak, 0, r));
          OK(update(&s, 0, NULL, NULL, PD_SCALE_AS_BEFORE));
          check_solution(&s, type == POLYAD_F64 ? DBL_EPSILON : (double)FLT_EPSILON);
          check_gram(&s, 0);
          check_peak(&s);
          for (size_t r = 0; r < ranks[q]; ++r)
            assert_true(get(&s.lambda, 0, r) == wanted[r]);
        }
        finish(&s);
      }
}

/* Sums are those of fixed blocks of rows: the threads that share them do not show in the bits. */
static void threads_do_not_show_in_updates(void **state) {
  (void)state;
  enum { ROWS = 5000, RANK = 17 };
  struct setting s[2];
  double scalar[2][PD_SCALARS];
  pd_worth_threads_force(1);
  for (int k = 0; k < 2; ++k) {
    struct pd_matrix slices;
    start(&s[k], 1 + 2 * k, POLYAD_F64, ROWS, RANK);
    OK(pd_matrix_create(s[k].context, &pd_cpu_device, POLYAD_F64, ROWS, 1, &slices));
    fill(&s[k].x, 9, -3);
    fill(&slices, 5, 0);
    fill_definite(&s[k].v, 1);
    struct pd_update update = {.work = s[k].work,
                               .v = &s[k].v,
                               .weights = &s[k].lambda,
                               .slices = &slices,
                               .scaling = PD_SCALE_NORM_2,
                               .x = &s[k].x,
                               .lambda = &s[k].lambda,
                               .gram = &s[k].gram,
                               .peak = &s[k].peak};
    const struct pd_matrix *grams[1] = {&s[k].gram};
    OK(pd_cpu_linalg.update_rows(s[k].context, 1, &update));
    OK(pd_cpu_linalg.update_finish(s[k].context, 1, &update));
    const struct pd_norm norm = {s[k].work, 1, grams, &s[k].peak, &s[k].lambda, true, false};
    OK(pd_cpu_linalg.model_norm(s[k].context, 1, &norm));
    OK(pd_cpu_linalg.fetch(s[k].context, 1, &s[k].work, &scalar[k]));
    pd_matrix_destroy(s[k].context, &slices);
  }
  pd_worth_threads_force(0);
  assert_memory_equal(s[0].x.data, s[1].x.data, ROWS * RANK * sizeof(double));
  assert_memory_equal(s[0].gram.data, s[1].gram.data, RANK * RANK * sizeof(double));
  assert_memory_equal(s[0].lambda.data, s[1].lambda.data, RANK * sizeof(double));
  assert_true(scalar[0][PD_SCALAR_INNER] == scalar[1][PD_SCALAR_INNER]);
  assert_true(scalar[0][PD_SCALAR_SPREAD] == scalar[1][PD_SCALAR_SPREAD]);
  assert_true(scalar[0][PD_SCALAR_SPREAD] > 0);
  finish(&s[0]);
  finish(&s[1]);
}

/* Two equal columns in v: the solution of least norm gives both the same. */
static void singular_equations_have_a_least_norm_solution(void **state) {
  (void)state;
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type)
    for (size_t rank = 2; rank <= 17; rank += 5) {
      struct setting s;
      double scalar[PD_SCALARS], unit = type == POLYAD_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
      start(&s, 2, (polyad_type)type, 200, rank);
      fill(&s.m, 9, 0);
      fill_definite(&s.v, 1);
      for (size_t r = 0; r < rank; ++r) { /* column and row 1 as 0 */
        set(&s.v, 1, r, get(&s.v, 0, r));
      }
      for (size_t r = 0; r < rank; ++r)
        set(&s.v, r, 1, get(&s.v, r, 0));
      for (uint64_t i = 0; i < 200; ++i)
        set(&s.m, i, 1, get(&s.m, i, 0));
      memcpy(s.x.data, s.m.data, 200 * rank * pd_type_bytes((polyad_type)type));
      OK(update(&s, 0, NULL, NULL, PD_SCALE_NORM_2));
      OK(pd_cpu_linalg.fetch(s.context, 1, &s.work, &scalar));
      assert_true(scalar[PD_SCALAR_FALLBACKS] == 1);
      assert_true(scalar[PD_SCALAR_KEPT] == (double)rank - 1);
      check_solution(&s, unit);
      check_gram(&s, 8 * unit);
      for (uint64_t i = 0; i < 200; ++i)
        assert_true(fabs(get(&s.x, i, 0) - get(&s.x, i, 1)) <= 1000 * (double)rank * unit);
      OK(pd_cpu_linalg.fetch(s.context, 1, &s.work, &scalar));
      assert_true(scalar[PD_SCALAR_FALLBACKS] == 0); /* counted once */
      finish(&s);
    }
}

static void zero_equations_give_zero(void **state) {
  (void)state;
  struct setting s;
  double scalar[PD_SCALARS];
  start(&s, 2, POLYAD_F64, 100, 5);
  fill(&s.x, 3, 0);
  OK(update(&s, 0, NULL, NULL, PD_SCALE_AS_BEFORE));
  OK(pd_cpu_linalg.fetch(s.context, 1, &s.work, &scalar));
  assert_true(scalar[PD_SCALAR_FALLBACKS] == 1 && scalar[PD_SCALAR_KEPT] == 0);
  for (size_t r = 0; r < 5; ++r) {
    assert_true(get(&s.lambda, 0, r) == 0 && get(&s.gram, r, r) == 0);
    for (uint64_t i = 0; i < 100; ++i)
      assert_true(get(&s.x, i, r) == 0);
  }
  for (size_t r = 0; r < 5; ++r) {
    set(&s.v, r, r, r % 2 == 0 ? NAN : INFINITY);
    assert_int_equal(update(&s, 0, NULL, NULL, PD_SCALE_NORM_2), POLYAD_NUMERICAL);
    assert_non_null(strstr(polyad_last_error(s.context), "numbers that are not finite"));
    set(&s.v, r, r, 0);
  }
  finish(&s);
}

/* f(x) = tr(x v x^T) - 2 tr(m x^T): what an update of one factor minimises. */
static long double objective(const struct setting *s) {
  long double sum = 0;
  for (uint64_t i = 0; i < s->x.rows; ++i)
    for (size_t r = 0; r < s->x.columns; ++r) {
      long double xr = (long double)get(&s->x, i, r) * get(&s->lambda, 0, r);
      sum -= 2 * xr * get(&s->m, i, r);
      for (size_t c = 0; c < s->x.columns; ++c)
        sum += xr * get(&s->v, r, c) * get(&s->x, i, c) * get(&s->lambda, 0, c);
    }
  return sum;
}

static void hals_descends_and_stays_nonnegative(void **state) {
  (void)state;
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type)
    for (size_t q = 0; q < sizeof ranks / sizeof *ranks; ++q) {
      struct setting s;
      struct pd_matrix before_x;
      double unit = type == POLYAD_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
      start(&s, 2, (polyad_type)type, 300, ranks[q]);
      OK(pd_matrix_create(s.context, &pd_cpu_device, (polyad_type)type, 300, ranks[q], &before_x));
      fill(&s.m, 9, -1);
      fill(&s.x, 4, 0);
      fill_definite(&s.v, 0.1);
      for (size_t r = 0; r < ranks[q]; ++r) {
        set(&s.lambda, 0, r, 1 + (double)r);
        set(&s.peak, 0, r, 1);
      }
      long double before = objective(&s);
      for (int sweep = 0; sweep < 10; ++sweep) {
        memcpy(before_x.data, s.x.data, 300 * ranks[q] * pd_type_bytes((polyad_type)type));
        OK(update(&s, 0, &before_x, &s.m, PD_SCALE_AS_BEFORE));
        long double after = objective(&s);
        assert_true(after <= before + 64 * unit * fabsl(before));
        before = after;
        check_gram(&s, 8 * unit);
        for (uint64_t i = 0; i < 300; ++i)
          for (size_t r = 0; r < ranks[q]; ++r)
            assert_true(get(&s.x, i, r) >= 0);
      }
      pd_matrix_destroy(s.context, &before_x);
      finish(&s);
    }
}

/* One sweep of a row by its definition; columns whose diagonal entry is zero stay. */
static void define_sweep(size_t rank, const double *v, const long double *m, long double *row) {
  for (size_t r = 0; r < rank; ++r) {
    if (v[r * rank + r] <= 0) continue;
    long double left = m[r];
    for (size_t c = 0; c < rank; ++c)
      left -= row[c] * v[r * rank + c];
    row[r] += left / v[r * rank + r];
    if (row[r] < 0) row[r] = 0;
  }
}

static double sweep_number(polyad_type type, const void *array, size_t k) {
  return type == POLYAD_F32 ? (double)((const float *)array)[k] : ((const double *)array)[k];
}

/* Rows of zeros that are given zeros, as those without nonzeros are, among them some before the
 * last ones, which fill no group of lanes. */
static void sweep_rows_of(polyad_type type, size_t rows, size_t rank) {
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(type);
  size_t count = rows * rank;
  double v[40 * 40], inner[48] = {0}, *tile = calloc(PD_TILE_ROWS * pd_padded(rank), sizeof *tile);
  void *m = calloc(count, sizeof(double)), *a = calloc(count, sizeof(double));
  long double *exact = calloc(count, sizeof *exact), sum[40] = {0}, scale[40] = {0};
  assert_true(tile != NULL && m != NULL && a != NULL && exact != NULL);
  for (size_t r = 0; r < rank; ++r)
    for (size_t c = 0; c < rank; ++c)
      v[r * rank + c] = r == c ? (r == 5 ? 0 : 2) : 0.25 / (1 + (double)((r + c) % 7));
  for (size_t k = 0; k < count; ++k) {
    bool empty = k / rank % 40 >= 3 && k / rank % 40 < 29;
    double given = empty ? 0 : pd_random_uniform(1, 2, k) - 0.25;
    double before = empty ? 0 : pd_random_uniform(1, 3, k);
    if (type == POLYAD_F32) {
      ((float *)m)[k] = (float)given;
      ((float *)a)[k] = (float)before;
    } else {
      ((double *)m)[k] = given;
      ((double *)a)[k] = before;
    }
    exact[k] = sweep_number(type, a, k);
  }
  for (size_t i = 0; i < rows; ++i) {
    long double given[40];
    for (size_t r = 0; r < rank; ++r)
      given[r] = sweep_number(type, m, i * rank + r);
    define_sweep(rank, v, given, exact + i * rank);
    for (size_t r = 0; r < rank; ++r) {
      sum[r] += given[r] * exact[i * rank + r];
      scale[r] += fabsl(given[r] * exact[i * rank + r]);
    }
  }
  kernels->hals(rows, rank, v, m, a, inner, tile);
  double unit = type == POLYAD_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
  for (size_t k = 0; k < count; ++k)
    assert_true(fabsl(sweep_number(type, a, k) - exact[k]) <= unit * fabsl(exact[k]) + 1e-14);
  for (size_t r = 0; r < rank; ++r)
    assert_true(fabsl(inner[r] - sum[r]) <= 2 * unit * scale[r] + 1e-13 * (double)rows);
  free(tile);
  free(m);
  free(a);
  free(exact);
}

static void hals_is_its_definition(void **state) {
  (void)state;
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type)
    for (size_t q = 0; q < sizeof ranks / sizeof *ranks; ++q)
      for (size_t k = 0; k < sizeof row_counts / sizeof *row_counts; ++k)
        sweep_rows_of((polyad_type)type, (size_t)row_counts[k], ranks[q]);
}

static void small_operations(void **state) {
  (void)state;
  struct setting s;
  double scalar[PD_SCALARS];
  start(&s, 1, POLYAD_F64, 7, 3);
  struct pd_matrix grams[3], product;
  const struct pd_matrix *list[3];
  for (int n = 0; n < 3; ++n) {
    OK(pd_matrix_create(s.context, &pd_cpu_device, POLYAD_F64, 3, 3, &grams[n]));
    fill(&grams[n], (uint64_t)n, 0);
    list[n] = &grams[n];
  }
  OK(pd_matrix_create(s.context, &pd_cpu_device, POLYAD_F64, 3, 3, &product));
  OK(pd_cpu_linalg.hadamard(s.context, s.work, 3, list, 1, 0.5, &product));
  for (size_t r = 0; r < 3; ++r)
    for (size_t c = 0; c < 3; ++c)
      assert_true(get(&product, r, c) ==
                  1.0 * get(&grams[0], r, c) * get(&grams[2], r, c) + (r == c ? 0.5 : 0));
  fill(&s.m, 1, 0);
  fill(&s.x, 2, 0);
  for (size_t r = 0; r < 3; ++r)
    set(&s.lambda, 0, r, 2 + (double)r);
  OK(pd_cpu_linalg.weighted_inner(s.context, s.work, &s.m, &s.x, &s.lambda));
  fill(&s.peak, 8, 0);
  const struct pd_norm norm = {s.work, 3, list, &s.peak, &s.lambda, false, false};
  OK(pd_cpu_linalg.model_norm(s.context, 1, &norm));
  OK(pd_cpu_linalg.fetch(s.context, 1, &s.work, &scalar));
  long double inner = 0, form = 0, peaks = 0;
  for (size_t r = 0; r < 3; ++r) {
    long double others = (long double)get(&grams[0], r, r) * get(&grams[1], r, r);
    peaks += powl(get(&s.lambda, 0, r) * get(&s.peak, 0, r), 2) * others;
    for (uint64_t i = 0; i < 7; ++i)
      inner += (long double)get(&s.lambda, 0, r) * get(&s.m, i, r) * get(&s.x, i, r);
    for (size_t c = 0; c < 3; ++c)
      form += (long double)get(&s.lambda, 0, r) * get(&grams[0], r, c) * get(&grams[1], r, c) *
              get(&grams[2], r, c) * get(&s.lambda, 0, c);
  }
  assert_true(fabsl(scalar[PD_SCALAR_INNER] - inner) <= 24 * DBL_EPSILON * inner);
  assert_true(fabsl(scalar[PD_SCALAR_MODEL] - form) <= 12 * DBL_EPSILON * form);
  assert_true(fabsl(scalar[PD_SCALAR_PEAKS] - peaks) <= 12 * DBL_EPSILON * peaks);
  for (int n = 0; n < 3; ++n)
    pd_matrix_destroy(s.context, &grams[n]);
  pd_matrix_destroy(s.context, &product);
  finish(&s);
}

static void spread_is_a_weighted_sum_of_squares(void **state) {
  (void)state;
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type)
    for (size_t q = 0; q < sizeof ranks / sizeof *ranks; ++q) {
      struct setting s;
      struct pd_matrix slices;
      double scalar[PD_SCALARS];
      size_t rank = ranks[q];
      start(&s, 3, (polyad_type)type, 1000, rank);
      OK(pd_matrix_create(s.context, &pd_cpu_device, POLYAD_F64, 1000, 1, &slices));
      fill(&slices, 3, 0);
      fill(&s.x, 4, -0.5);
      const struct pd_matrix *grams[3] = {&s.v, &s.v, &s.gram};
      fill_definite(&s.v, 1);
      for (size_t r = 0; r < rank; ++r)
        set(&s.lambda, 0, r, r == 1 ? 0 : 1 + (double)r);
      OK(pd_cpu_linalg.spread(s.context, s.work, &slices, &s.x, 3, grams, &s.lambda));
      OK(pd_cpu_linalg.fetch(s.context, 1, &s.work, &scalar));
      long double sum = 0;
      for (size_t r = 0; r < rank; ++r) {
        long double column = 0, weight = get(&s.lambda, 0, r);
        for (uint64_t i = 0; i < 1000; ++i)
          column += (long double)get(&slices, i, 0) * get(&s.x, i, r) * get(&s.x, i, r);
        sum += weight * weight * get(&s.v, r, r) * get(&s.v, r, r) * column;
      }
      assert_true(fabsl(scalar[PD_SCALAR_SPREAD] - sum) <=
                  (1000 + 8 + (double)rank) * DBL_EPSILON * sum);
      pd_matrix_destroy(s.context, &slices);
      finish(&s);
    }
}

/* Every instruction set of this machine computes what the plain kernels compute. */
static void instruction_sets_agree(void **state) {
  (void)state;
  enum { RANK = 19, ROWS = 77 };
  static double w[RANK * 64], m[ROWS * RANK], x[2][ROWS * RANK], inner[2][64], gram[2][64 * 64],
      tile[PD_TILE_ROWS * 64];
  size_t padded = pd_padded(RANK);
  for (size_t k = 0; k < ROWS * RANK; ++k)
    m[k] = pd_random_uniform(1, 1, k) - 0.5;
  for (size_t r = 0; r < RANK; ++r)
    for (size_t c = 0; c < RANK; ++c)
      w[r * padded + c] = pd_random_uniform(2, r, c);
  for (int t = 0; t < PD_ISA_COUNT && pd_isa_available((enum pd_isa)t); ++t) {
    int at = t > 0;
    pd_isa_force((enum pd_isa)t);
    const struct pd_factor_kernels *kernels = pd_factor_kernels_for(POLYAD_F64);
    memset(inner[at], 0, sizeof inner[at]);
    memset(gram[at], 0, sizeof gram[at]);
    kernels->multiply(ROWS, RANK, w, m, x[at], inner[at], tile);
    kernels->gram(ROWS, RANK, x[at], gram[at], tile);
    for (size_t k = 0; k < ROWS * RANK; ++k)
      assert_true(fabs(x[at][k] - x[0][k]) <= 2 * RANK * DBL_EPSILON * RANK);
    for (size_t r = 0; r < RANK; ++r)
      for (size_t c = r; c < RANK; ++c)
        assert_true(fabs(gram[at][r * padded + c] - gram[0][r * padded + c]) <=
                    8 * ROWS * DBL_EPSILON * ROWS * RANK * RANK);
  }
  pd_isa_force(PD_ISA_COUNT);
}

/* Products of rows of up to five factors, and their Gram matrix, against plain loops: every rank
 * around the lengths of vectors, of both types, and nothing behind a row is touched. */
static void check_row_products(polyad_type type, size_t rank, int factors) {
  enum { ROWS = 23, LENGTH = 7, MOST = 36, STRIDE = 48 };
  static double wide[5][LENGTH * MOST], out[ROWS * STRIDE], gram[STRIDE * STRIDE];
  static float narrow[5][LENGTH * MOST];
  static uint32_t index[5][ROWS];
  const struct pd_factor_kernels *kernels = pd_factor_kernels_for(type);
  struct pd_row_lists lists = {.count = factors, .stride = rank};
  for (int k = 0; k < factors; ++k) {
    for (size_t e = 0; e < LENGTH * rank; ++e)
      wide[k][e] = narrow[k][e] = (float)(pd_random_uniform(3, (uint64_t)k, e) - 0.5);
    for (size_t j = 0; j < ROWS; ++j)
      index[k][j] = (uint32_t)(pd_random_u64(4, (uint64_t)k, j) % LENGTH);
    lists.factor[k] = type == POLYAD_F32 ? (const void *)narrow[k] : wide[k];
    lists.index[k] = index[k];
  }
  memset(gram, 0, sizeof gram);
  memset(out, 0, sizeof out);
  kernels->row_products(&lists, ROWS, rank, pd_padded(rank), out);
  kernels->gram_padded(ROWS, rank, out, gram);
  for (size_t j = 0; j < ROWS; ++j)
    for (size_t r = 0; r < pd_padded(rank); ++r) {
      double product = r < rank;
      for (int k = 0; k < factors && r < rank; ++k)
        product *= wide[k][index[k][j] * rank + r];
      assert_true(fabs(out[j * pd_padded(rank) + r] - product) <=
                  factors * DBL_EPSILON * fabs(product));
    }
  for (size_t r = 0; r < rank; ++r)
    for (size_t c = r; c < rank; ++c) {
      double sum = 0, size = 0;
      for (size_t j = 0; j < ROWS; ++j) {
        const double *row = out + j * pd_padded(rank);
        sum += row[r] * row[c];
        size += fabs(row[r] * row[c]);
      }
      assert_true(fabs(gram[r * pd_padded(rank) + c] - sum) <= 2 * ROWS * DBL_EPSILON * size);
    }
}

static void row_products_are_those_of_plain_loops(void **state) {
  (void)state;
  for (int t = 0; t < PD_ISA_COUNT && pd_isa_available((enum pd_isa)t); ++t) {
    pd_isa_force((enum pd_isa)t);
    for (size_t rank = 1; rank <= 36; ++rank)
      for (int factors = 0; factors <= 5; ++factors) {
        check_row_products(POLYAD_F64, rank, factors);
        check_row_products(POLYAD_F32, rank, factors);
      }
  }
  pd_isa_force(PD_ISA_COUNT);
}

/* v has a least pivot of about `gap` beside its diagonal: two columns that nearly agree. */
static void nearly_collinear(struct pd_matrix *v, double gap) {
  for (size_t r = 0; r < 3; ++r)
    for (size_t c = 0; c < 3; ++c)
      set(v, r, c, r == c ? 1 : r + c == 1 ? 1 - 0.5 * gap : 0.25);
}

/* m = x v with x of size one, as in an iteration that changes little: its part in the direction
 * that v nearly loses is small. Of any other m the solution is so large that no loss shows beside
 * it. */
static void right_hand_side_of_a_small_solution(struct setting *s) {
  struct pd_matrix x;
  OK(pd_matrix_create(s->context, &pd_cpu_device, POLYAD_F64, s->m.rows, 3, &x));
  fill(&x, 1, 0);
  for (uint64_t i = 0; i < x.rows; ++i)
    for (size_t r = 0; r < 3; ++r) {
      double sum = 0;
      for (size_t c = 0; c < 3; ++c)
        sum += get(&x, i, c) * get(&s->v, c, r);
      set(&s->m, i, r, sum);
    }
  pd_matrix_destroy(s->context, &x);
}

/* Solves for v with a least pivot of about 10^-k; the residual m - x v over |x| |v|, at worst. */
static double loss_of_solving(int k, bool small) {
  struct setting s;
  double worst = 0, most = 0;
  start(&s, 1, POLYAD_F64, 7, 3);
  nearly_collinear(&s.v, pow(10, -k));
  fill(&s.m, 1, 0);
  if (small) right_hand_side_of_a_small_solution(&s);
  memcpy(s.x.data, s.m.data, s.m.rows * 3 * sizeof(double));
  OK(update(&s, 0, NULL, NULL, PD_SCALE_NORM_2));
  for (uint64_t i = 0; i < s.m.rows; ++i)
    for (size_t r = 0; r < 3; ++r) {
      long double sum = get(&s.m, i, r), size = 0;
      for (size_t c = 0; c < 3; ++c) {
        long double x = (long double)get(&s.x, i, c) * get(&s.lambda, 0, c);
        sum -= x * get(&s.v, c, r);
        size += fabsl(x * get(&s.v, c, r));
      }
      worst = fmax(worst, (double)fabsl(sum));
      most = fmax(most, (double)size);
    }
  finish(&s);
  return worst / most;
}

/* Solving loses nothing where the inverse would: the residual m - x v is rounding error of x v, as
 * substitution's is (30 R u, LAPACK's measure), not that times the condition number of v. Pivots
 * of 10^-5 are above the explicit inverse's limit: its error of eps times that number is allowed
 * for. */
static void ill_conditioned_equations_are_solved(void **state) {
  (void)state;
  for (int small = 0; small <= 1; ++small)
    for (int k = 1; k <= 13; ++k) {
      double limit = 30 * 3 * DBL_EPSILON * (k <= 5 ? pow(10, k) : 1);
      double loss = loss_of_solving(k, small);
      if (!(loss <= limit))
        fail_msg("gap 1e-%d: %.3g, at most %.3g expected (m of a small x: %d)", k, loss, limit,
                 small);
    }
}

/* A damped update obeys its own equations: x (v + damping d) = m + damping before lambda d. */
static void damped_update(void **state) {
  (void)state;
  struct setting s;
  struct pd_matrix before;
  double scalar[PD_SCALARS], weight[3] = {2, 0.5, 3};
  const double damping = 1e-3;
  start(&s, 1, POLYAD_F64, 7, 3);
  OK(pd_matrix_create(s.context, &pd_cpu_device, POLYAD_F64, 7, 3, &before));
  fill(&before, 9, 0);
  fill(&s.m, 1, 0);
  fill(&s.x, 1, 0);
  nearly_collinear(&s.v, 1e-7);
  for (size_t r = 0; r < 3; ++r)
    set(&s.lambda, 0, r, weight[r]);
  OK(update(&s, damping, &before, NULL, PD_SCALE_NORM_2));
  OK(pd_cpu_linalg.fetch(s.context, 1, &s.work, &scalar));
  assert_true(scalar[PD_SCALAR_DAMPED] == 1 && scalar[PD_SCALAR_FALLBACKS] == 0);
  for (uint64_t i = 0; i < 7; ++i)
    for (size_t r = 0; r < 3; ++r) {
      double d = get(&s.v, r, r), left = 0, size = 0;
      for (size_t c = 0; c < 3; ++c) {
        double x = get(&s.x, i, c) * get(&s.lambda, 0, c);
        left += x * (get(&s.v, c, r) + (c == r ? damping * d : 0));
        size += fabs(x);
      }
      double right = get(&s.m, i, r) + damping * get(&before, i, r) * weight[r] * d;
      assert_true(fabs(left - right) <= 30 * 3 * DBL_EPSILON / damping * (size + fabs(right)));
    }
  pd_matrix_destroy(s.context, &before);
  finish(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gram_is_a_sum_of_products),
      cmocka_unit_test(update_solves_and_scales),
      cmocka_unit_test(updates_scale_without_rounding),
      cmocka_unit_test(threads_do_not_show_in_updates),
      cmocka_unit_test(spread_is_a_weighted_sum_of_squares),
      cmocka_unit_test(singular_equations_have_a_least_norm_solution),
      cmocka_unit_test(zero_equations_give_zero),
      cmocka_unit_test(hals_descends_and_stays_nonnegative),
      cmocka_unit_test(hals_is_its_definition),
      cmocka_unit_test(small_operations),
      cmocka_unit_test(ill_conditioned_equations_are_solved),
      cmocka_unit_test(damped_update),
      cmocka_unit_test(instruction_sets_agree),
      cmocka_unit_test(row_products_are_those_of_plain_loops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
