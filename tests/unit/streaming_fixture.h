/* What the tests of streamed tensors share: a tensor of counts with empty and full slices, plans of
 * it in memory, and MTTKRP and Phi in all modes with what compares them. */
#ifndef UNIT_STREAMING_FIXTURE_H
#define UNIT_STREAMING_FIXTURE_H

#include "contexts.h"
#include "core/numbers.h"
#include "core/random.h"
#include "inputs.h"
#include "plan/plan.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OK(context, call)                                                                          \
  do {                                                                                             \
    polyad_status ok_status_ = (call);                                                             \
    if (ok_status_ != POLYAD_OK) fail_msg("%s", polyad_last_error(context));                       \
  } while (0)

static const double EPSILON = 1e-10; /* of Phi */

/* A file of this process in the working directory. */
static inline const char *path_of(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "streaming.%ld.%s", (long)getpid(), name);
  return path;
}

/* Counts times `scale`; slice 4 of the last mode has most of them; empty slices at both ends of the
 * long modes and within them. */
static inline polyad_tensor *tensor_of(polyad_context *context, int order, uint64_t nnz,
                                       double scale) {
  static const uint64_t dims[POLYAD_MAX_ORDER] = {41, 60, 7, 33, 11};
  polyad_tensor *tensor = NULL;
  double *value = malloc(nnz * sizeof *value);
  uint64_t *index = malloc(nnz * (uint64_t)order * sizeof *index);
  assert_true(value != NULL && index != NULL);
  for (uint64_t k = 0; k < nnz; ++k) {
    value[k] = scale * (double)(1 + pd_random_u64(3, 99, k) % 4);
    for (int n = 0; n < order; ++n) {
      uint64_t inner = dims[n] > 20 ? dims[n] - 6 : dims[n];
      uint64_t i = pd_random_u64(3, (uint64_t)n, k) % inner + (dims[n] > 20 ? 3 : 0);
      if (n == order - 1 && k % 3 != 0) i = 4;
      if (dims[n] > 20 && i % 5 == 2) ++i;
      index[k * (uint64_t)order + (uint64_t)n] = i;
    }
  }
  polyad_tensor_input input = input_of_rows(order, dims, nnz, POLYAD_U64, index, value);
  OK(context, polyad_tensor_create(context, &input, &tensor));
  free(value);
  free(index);
  return tensor;
}

static inline polyad_plan_options options_of(polyad_type type, uint64_t rank,
                                             polyad_kernel kernel) {
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.rank = rank;
  options.precision = type;
  options.kernel = kernel;
  return options;
}

static inline polyad_plan *memory_of(polyad_context *context, const polyad_tensor *tensor,
                                     polyad_type type, uint64_t rank) {
  polyad_plan *plan = NULL;
  polyad_plan_options options = options_of(type, rank, POLYAD_KERNEL_PHI);
  options.format = "coo"; /* which has every kernel */
  OK(context, polyad_plan_create(context, tensor, &options, &plan));
  return plan;
}

/* ---- kernels ----------------------------------------------------------------------------------
 */

struct results {
  void *mttkrp[POLYAD_MAX_ORDER], *phi[POLYAD_MAX_ORDER];
};

static inline void *factor_of(polyad_type type, uint64_t count, uint64_t seed) {
  void *array = malloc(count * pd_type_bytes(type));
  assert_non_null(array);
  for (uint64_t k = 0; k < count; ++k)
    pd_store(type, array, k, 0.1 + (double)(pd_random_u64(11, seed, k) % 1000) / 1000);
  return array;
}

static inline polyad_status compute(polyad_context *context, const polyad_plan *plan, uint64_t rank,
                                    struct results *results) {
  int order = polyad_plan_order(plan);
  polyad_type type = polyad_plan_type(plan);
  void *factor[POLYAD_MAX_ORDER] = {NULL};
  polyad_workspace *workspace = NULL;
  *results = (struct results){{NULL}, {NULL}};
  for (int n = 0; n < order; ++n)
    factor[n] = factor_of(type, polyad_plan_dims(plan)[n] * rank, (uint64_t)n);
  polyad_status status = polyad_workspace_create(context, plan, rank, &workspace);
  for (int n = 0; n < order && status == POLYAD_OK; ++n) {
    uint64_t count = polyad_plan_dims(plan)[n] * rank;
    const void *const *factors = (const void *const *)factor;
    results->mttkrp[n] = factor_of(type, count, 77); /* to be overwritten */
    results->phi[n] = factor_of(type, count, 78);
    status = polyad_mttkrp(context, plan, workspace, n, factors, results->mttkrp[n]);
    if (status == POLYAD_OK)
      status = polyad_phi(context, plan, workspace, n, factors, EPSILON, results->phi[n]);
  }
  polyad_workspace_destroy(workspace);
  for (int n = 0; n < order; ++n)
    free(factor[n]);
  return status;
}

static inline void results_free(struct results *results) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    free(results->mttkrp[n]);
    free(results->phi[n]);
  }
}

/* All terms are positive: sums differ by a rounding for each addition at most, and the two sides
 * have fewer than `depth` each. */
static inline void compare(const polyad_plan *plan, uint64_t rank, void *const *got,
                           void *const *expected) {
  polyad_type type = polyad_plan_type(plan);
  double unit = type == POLYAD_F32 ? 0x1p-24 : 0x1p-53;
  for (int n = 0; n < polyad_plan_order(plan); ++n)
    for (uint64_t k = 0; k < polyad_plan_dims(plan)[n] * rank; ++k) {
      double a = pd_load(type, got[n], k), b = pd_load(type, expected[n], k);
      double depth = (double)plan->longest_row[n] + 4 * (double)rank + 8 * polyad_plan_order(plan);
      if (!(fabs(a - b) <= 2 * depth * unit * fabs(b)))
        fail_msg("mode %d, entry %llu: %.17g found; expected %.17g", n, (unsigned long long)k, a,
                 b);
    }
}

static inline void same_bits(const polyad_plan *plan, uint64_t rank, const struct results *a,
                             const struct results *b) {
  for (int n = 0; n < polyad_plan_order(plan); ++n) {
    size_t bytes = (size_t)polyad_plan_dims(plan)[n] * rank * pd_type_bytes(polyad_plan_type(plan));
    assert_memory_equal(a->mttkrp[n], b->mttkrp[n], bytes);
    assert_memory_equal(a->phi[n], b->phi[n], bytes);
  }
}

/* ---- decompositions ---------------------------------------------------------------------------
 */

/* Six iterations of CP-ALS, never ended by a tolerance. `nonnegative`: 0 no mode, 1 all modes, 2
 * mode 1 alone. */
static inline polyad_status decompose(polyad_context *context, const polyad_plan *plan,
                                      uint64_t rank, int nonnegative, polyad_ktensor **model,
                                      polyad_run_info *info) {
  polyad_cp_als_options options;
  polyad_cp_als_options_init(&options);
  options.rank = rank;
  options.run.max_iterations = 6;
  options.run.tolerance = 0;
  options.nonnegative = nonnegative == 1;
  options.nonnegative_modes = nonnegative == 2 ? 1 << 1 : 0;
  return polyad_cp_als(context, plan, &options, model, info);
}

/* Both runs had one start: their models differ by what roundings of MTTKRP grow to in so few
 * iterations. */
static inline void check_model(polyad_context *context, const polyad_ktensor *a,
                               const polyad_ktensor *b, double tolerance) {
  double score = 0;
  OK(context, polyad_ktensor_score(context, a, b, 1, &score, NULL));
  if (!(score > 1 - tolerance)) fail_msg("a factor match score of %.17g", score);
}

#endif
