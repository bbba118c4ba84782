/* The residual that the CPU sums from the nonzeros of a storage, against sums in wider precision:
 * every type, instruction set, ranks beside the widths of vectors, orders 1 to 8, and nonzeros
 * whose indices change in every mode or in one only. */
#include "harness.h"

#include "core/isa.h"
#include "core/random.h"
#include "device/device.h"
#include "linalg/linalg.h"
#include <float.h>
#include <math.h>
#include <polyad/polyad.h>

#define OK(call) assert_int_equal(call, POLYAD_OK)

enum { NNZ = 1500, ROWS = 40 };

/* Nonzeros that are computed where they are asked for. Those of `fibers` keep all indices but one
 * for a while. */
struct made {
  int order, leaf;
  bool fibers;
};

static uint64_t index_of(const struct made *made, int n, uint64_t p) {
  uint64_t which = made->fibers && n != made->leaf ? p / 7 : p;
  return (uint64_t)(ROWS * pd_random_uniform(11, (uint64_t)n, which));
}

static double value_of(uint64_t p) { return 4 * pd_random_uniform(12, 0, p) - 1; }

static void decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk) {
  const struct made *made = storage;
  for (int k = 0; k < count; ++k) {
    for (int n = 0; n < made->order; ++n)
      chunk->index[n][k] = index_of(made, n, first + (uint64_t)k);
    chunk->value[k] = value_of(first + (uint64_t)k);
  }
}

static double entry(const struct pd_matrix *a, uint64_t i, uint64_t r) {
  uint64_t k = i * a->stride + r;
  return a->type == POLYAD_F64 ? ((const double *)a->data)[k] : (double)((const float *)a->data)[k];
}

static void fill(struct pd_matrix *a, uint64_t seed) {
  for (uint64_t i = 0; i < a->rows; ++i)
    for (uint64_t r = 0; r < a->columns; ++r) {
      double x = 2 * pd_random_uniform(seed, r, i) - 0.7;
      if (a->type == POLYAD_F64)
        ((double *)a->data)[i * a->stride + r] = x;
      else
        ((float *)a->data)[i * a->stride + r] = (float)x;
    }
}

/* Both sums, and what any order of summing may round off: `extra` is the error of a value of the
 * model, as it counts in either. */
struct sums {
  long double missed, covered, missed_extra, covered_extra;
};

static struct sums wide_sums(const struct made *made, const struct pd_matrix *factor,
                             const struct pd_matrix *lambda) {
  struct sums sums = {0};
  uint64_t rank = lambda->columns;
  for (uint64_t p = 0; p < NNZ; ++p) {
    long double model = 0, magnitude = 0, x = value_of(p);
    for (uint64_t r = 0; r < rank; ++r) {
      long double product = entry(lambda, 0, r);
      for (int n = 0; n < made->order; ++n)
        product *= entry(&factor[n], index_of(made, n, p), r);
      model += product;
      magnitude += fabsl(product);
    }
    long double error = magnitude * DBL_EPSILON * (long double)(rank + 8);
    sums.missed += (x - model) * (x - model);
    sums.covered += model * model;
    sums.missed_extra += 2 * fabsl(x - model) * error + error * error;
    sums.covered_extra += 2 * fabsl(model) * error + error * error;
  }
  sums.missed_extra += NNZ * DBL_EPSILON * sums.missed;
  sums.covered_extra += NNZ * DBL_EPSILON * sums.covered;
  return sums;
}

static void check(polyad_type type, size_t rank, struct made made, int threads) {
  polyad_context *context;
  struct pd_linalg_work *work;
  struct pd_matrix factor[POLYAD_MAX_ORDER], lambda;
  const struct pd_matrix *list[POLYAD_MAX_ORDER];
  double scalar[PD_SCALARS];
  struct pd_nonzeros nonzeros = {
      .order = made.order, .nnz = NNZ, .type = type, .storage = &made, .decode = decode};
  OK(polyad_context_create(&context));
  OK(polyad_set_threads(context, threads));
  OK(pd_cpu_linalg.work_create(context, &pd_cpu_device, rank, &work));
  OK(pd_matrix_create(context, &pd_cpu_device, POLYAD_F64, 1, rank, &lambda));
  fill(&lambda, 5);
  for (int n = 0; n < made.order; ++n) {
    OK(pd_matrix_create(context, &pd_cpu_device, type, ROWS, rank, &factor[n]));
    fill(&factor[n], 6 + (uint64_t)n);
    list[n] = &factor[n];
  }
  OK(pd_cpu_linalg.residual(context, work, &nonzeros, NULL, list, &lambda));
  OK(pd_cpu_linalg.fetch(context, 1, &work, &scalar));
  struct sums wide = wide_sums(&made, factor, &lambda);
  if (!(fabsl(scalar[PD_SCALAR_RESIDUAL] - wide.missed) <= wide.missed_extra &&
        fabsl(scalar[PD_SCALAR_COVERED] - wide.covered) <= wide.covered_extra))
    fail_msg("order %d, rank %zu: %.17g and %.17g, not %.17Lg and %.17Lg", made.order, rank,
             scalar[PD_SCALAR_RESIDUAL], scalar[PD_SCALAR_COVERED], wide.missed, wide.covered);
  for (int n = 0; n < made.order; ++n)
    pd_matrix_destroy(context, &factor[n]);
  pd_matrix_destroy(context, &lambda);
  pd_cpu_linalg.work_destroy(context, work);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

static void sums_are_those_of_wider_precision(void **state) {
  (void)state;
  static const size_t ranks[] = {1, 2, 5, 8, 13, 16, 17, 31, 32, 33, 40};
  for (int isa = 0; isa < PD_ISA_COUNT && pd_isa_available((enum pd_isa)isa); ++isa) {
    pd_isa_force((enum pd_isa)isa);
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; ++k)
      for (int order = 1; order <= 8; ++order) {
        struct made made = {.order = order, .leaf = (int)k % order, .fibers = order % 2 == 1};
        check(k % 2 == 0 ? POLYAD_F32 : POLYAD_F64, ranks[k], made, 1 + order % 2);
        check(k % 2 == 0 ? POLYAD_F64 : POLYAD_F32, ranks[k], made, 2);
      }
  }
  pd_isa_force(PD_ISA_COUNT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_are_those_of_wider_precision),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
