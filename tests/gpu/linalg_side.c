#include "gpu/linalg_side.h"
#include "harness.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

double linalg_side_noise(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*state >> 40) / (double)(1 << 24);
}

void linalg_side_matrix(struct linalg_side *side, struct pd_matrix *matrix, polyad_type type,
                        uint64_t rows, uint64_t columns, const double *from) {
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

void linalg_side_make(struct linalg_side *side, const char *device, polyad_type type, uint64_t rows,
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
      a[i * rank + r] =
          r >= rank - missing ? a[i * rank] : linalg_side_noise(&state) + (i == r ? diagonal : 0);
  for (size_t i = 0; i < base; ++i)
    for (size_t r = 0; r < rank; ++r)
      for (size_t s = 0; s < rank; ++s)
        v[r * rank + s] += a[i * rank + r] * a[i * rank + s];
  for (size_t k = 0; k < tall; ++k)
    m[k] = (double)(float)(linalg_side_noise(&state) - 0.25);
  /* Right-hand sides in the range of v: with a singular v they make the answer well-defined. */
  for (size_t i = 0; missing > 0 && i < rows; ++i)
    for (size_t r = rank - missing; r < rank; ++r)
      m[i * rank + r] = m[i * rank];
  for (size_t k = 0; k < tall; ++k)
    x[k] = (double)(float)linalg_side_noise(&state);
  for (size_t r = 0; r < rank; ++r)
    lambda[r] = 0.5 + linalg_side_noise(&state);
  assert_int_equal(polyad_context_create(&side->context), POLYAD_OK);
  assert_int_equal(polyad_set_device(side->context, device), POLYAD_OK);
  assert_int_equal(pd_device_of(side->context, &side->device), POLYAD_OK);
  assert_int_equal(
      side->device->linalg->work_create(side->context, side->device, rank, &side->work), POLYAD_OK);
  linalg_side_matrix(side, &side->x, type, rows, rank, x);
  linalg_side_matrix(side, &side->m, type, rows, rank, m);
  linalg_side_matrix(side, &side->other, type, rows, rank, m);
  linalg_side_matrix(side, &side->v, POLYAD_F64, rank, rank, v);
  linalg_side_matrix(side, &side->lambda, POLYAD_F64, 1, rank, lambda);
  linalg_side_matrix(side, &side->gram, POLYAD_F64, rank, rank, v);
  linalg_side_matrix(side, &side->slices, POLYAD_F64, rows, 1,
                     m); /* the kernels take numbers of any sign */
  for (size_t r = 0; r < rank; ++r)
    lambda[r] *= 1 + 40 * lambda[r];
  linalg_side_matrix(side, &side->peak, POLYAD_F64, 1, rank, lambda);
  free(a);
  free(v);
  free(x);
  free(m);
  free(lambda);
}

void linalg_side_free(struct linalg_side *side) {
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

struct pd_norm linalg_side_norm_of(const struct linalg_side *side, int count,
                                   const struct pd_matrix *const *grams, bool spreads) {
  return (struct pd_norm){side->work, count, grams, &side->peak, &side->lambda, spreads, false};
}

struct pd_update linalg_side_update_of(struct linalg_side *side, double damp,
                                       const struct pd_matrix *before, const struct pd_matrix *m,
                                       struct pd_matrix *x, enum pd_scaling scaling,
                                       const struct pd_matrix *const *grams) {
  return (struct pd_update){.work = side->work,
                            .grams = grams,
                            .count = 1,
                            .skip = -1,
                            .v = &side->v,
                            .prepared = side->prepared,
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

polyad_status linalg_side_update(struct linalg_side *side, double damp,
                                 const struct pd_matrix *before, const struct pd_matrix *m,
                                 struct pd_matrix *x, enum pd_scaling scaling) {
  const struct pd_linalg *linalg = side->device->linalg;
  const struct pd_matrix *grams[2] = {&side->v, &side->gram};
  const struct pd_update update = linalg_side_update_of(side, damp, before, m, x, scaling, grams);
  const struct pd_norm norm = linalg_side_norm_of(side, 2, grams, true);
  polyad_status status = m != NULL ? linalg->update_rows_nonnegative(side->context, 1, &update)
                                   : linalg->update_rows(side->context, 1, &update);
  if (status == POLYAD_OK) status = linalg->update_finish(side->context, 1, &update);
  if (status == POLYAD_OK) status = linalg->model_norm(side->context, 1, &norm);
  return status;
}

double *linalg_side_to_doubles(struct linalg_side *side, const struct pd_matrix *matrix) {
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

void linalg_side_compare(struct linalg_side *cpu, const struct pd_matrix *a,
                         struct linalg_side *gpu, const struct pd_matrix *b, double bound,
                         const char *what) {
  double *left = linalg_side_to_doubles(cpu, a), *right = linalg_side_to_doubles(gpu, b), scale = 0,
         worst = 0;
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
