/* Two modes gathered as one on a GPU: where plans choose tables of the products of their rows,
 * MTTKRP is that of a loop on the host, to rounding, also when factors change, and CP-ALS's fit
 * that of its model. Values and factors are positive, so that no sum cancels. */
#include "core/random.h"
#include "formats/format.h"
#include "formats/modecopy/modecopy_pairs.h"
#include "gpu/gpu_context.h"
#include "harness.h"
#include "unit/als_fixture.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER = 4, NNZ = 4000000, RANK = 20, SEED = 3 };
static const uint64_t dims[ORDER] = {20000, 24, 77, 32};

struct reference {
  double *factor[ORDER], *out[ORDER];
  void *in_type[ORDER];
  double terms[ORDER]; /* the most of a row, about */
};

/* The entries are those of als_random_tensor(), before repeats are merged. */
static void add_entry(struct reference *reference, uint64_t p) {
  const double *row[ORDER];
  uint64_t index[ORDER];
  double value = 1 + (double)(pd_random_u64(SEED, 100, p) % 5);
  for (int n = 0; n < ORDER; ++n) {
    index[n] = pd_random_u64(SEED, (uint64_t)n, p) % dims[n];
    row[n] = reference->factor[n] + index[n] * RANK;
  }
  for (int mode = 0; mode < ORDER; ++mode) {
    double *to = reference->out[mode] + index[mode] * RANK;
    for (int r = 0; r < RANK; ++r) {
      double product = value;
      for (int n = 0; n < ORDER; ++n)
        if (n != mode) product *= row[n][r];
      to[r] += product;
    }
  }
}

static struct reference reference_make(uint64_t seed, polyad_type type) {
  struct reference reference;
  for (int n = 0; n < ORDER; ++n) {
    reference.factor[n] = malloc(dims[n] * RANK * sizeof(double));
    reference.out[n] = calloc(dims[n] * RANK, sizeof(double));
    assert_true(reference.factor[n] != NULL && reference.out[n] != NULL);
    for (uint64_t k = 0; k < dims[n] * RANK; ++k)
      reference.factor[n][k] = (double)(float)(0.5 + pd_random_uniform(seed, (uint64_t)n, k));
    reference.in_type[n] = problem_in_type(reference.factor[n], dims[n] * RANK, type);
    reference.terms[n] = 1.2 * NNZ / (double)dims[n] + 200;
  }
  for (uint64_t p = 0; p < NNZ; ++p)
    add_entry(&reference, p);
  return reference;
}

static void reference_free(struct reference *reference) {
  for (int n = 0; n < ORDER; ++n) {
    free(reference->factor[n]);
    free(reference->out[n]);
    free(reference->in_type[n]);
  }
}

/* See bound_of() of the test of all formats; partial rows add once more, as deep. */
static double bound_of(double terms, polyad_type type) {
  double unit = type == POLYAD_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
  double tree = 512 + 64 + terms / 512 + 8;
  return (ORDER + 3 + 2 * (terms < tree ? terms : tree) + (type == POLYAD_F64 ? terms : 0)) * unit;
}

static void compare(polyad_context *context, const polyad_plan *plan, polyad_workspace *workspace,
                    const struct reference *reference, polyad_type type) {
  for (int mode = 0; mode < ORDER; ++mode) {
    uint64_t count = dims[mode] * RANK;
    void *out = malloc(count * sizeof(double));
    assert_non_null(out);
    ALS_OK(context, polyad_mttkrp(context, plan, workspace, mode,
                                  (const void *const *)reference->in_type, out));
    for (uint64_t k = 0; k < count; ++k) {
      double found = type == POLYAD_F32 ? (double)((float *)out)[k] : ((double *)out)[k];
      double expected = reference->out[mode][k];
      if (!(fabs(found - expected) <= bound_of(reference->terms[mode], type) * expected))
        fail_msg("%s, mode %d, entry %d: %.17g, expected %.17g", plan->format->name, mode, (int)k,
                 found, expected);
    }
    free(out);
  }
}

static void compare_format(const char *format, polyad_type type) {
  polyad_context *context = gpu_context();
  polyad_tensor *tensor = als_random_tensor(context, ORDER, dims, NNZ, SEED, 1);
  polyad_plan *plan = gpu_plan_of(context, tensor, format, RANK, type);
  polyad_workspace *workspace = NULL;
  char text[PD_REASON_BYTES];
  plan->format->describe(plan->storage, 0, text);
  if (strstr(text, "two modes' products") == NULL)
    fail_msg("%s: '%s' found; expected tables", format, text);
  ALS_OK(context, polyad_workspace_create(context, plan, RANK, &workspace));
  for (uint64_t seed = 1; seed <= 2; ++seed) { /* tables follow their factors */
    struct reference reference = reference_make(seed, type);
    compare(context, plan, workspace, &reference, type);
    reference_free(&reference);
  }
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  polyad_context_destroy(context);
}

static void test_products(void **state) {
  (void)state;
  compare_format("modecopy", POLYAD_F32);
  compare_format("modecopy", POLYAD_F64);
  compare_format("twotree", POLYAD_F32);
}

/* Iterations keep tables by the versions of their factors, and are replayed. */
static void test_iterations(void **state) {
  (void)state;
  static const char *const formats[] = {"modecopy", "twotree"};
  polyad_context *context = gpu_context();
  polyad_tensor *tensor = als_random_tensor(context, ORDER, dims, NNZ, SEED, 1);
  for (int k = 0; k < 2; ++k) {
    polyad_plan *plan = gpu_plan_of(context, tensor, formats[k], RANK, POLYAD_F32);
    polyad_cp_als_options options;
    polyad_run_info info = {0};
    polyad_cp_als_options_init(&options);
    options.rank = RANK;
    options.run.max_iterations = 9;
    options.run.tolerance = 0;
    (void)gpu_als_fit(context, plan, tensor, &options, &info);
    polyad_run_info_clear(&info);
    polyad_plan_destroy(plan);
  }
  polyad_tensor_destroy(tensor);
  polyad_context_destroy(context);
}

GPU_TESTS(cmocka_unit_test(test_products), cmocka_unit_test(test_iterations))
