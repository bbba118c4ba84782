/* Format twotree: the iterates of CP-ALS are those of a plain format, partial rows serve every mode
 * of their side, and broken storages are found. */
#include "als_fixture.h"
#include "formats/storage.h"
#include "formats/tables.h"
#include "formats/twotree/twotree_cut.h"
#include "harness.h"
#include "plan/choose.h"
#include "plan/plan.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the tests that run on a GPU, too: given on the command line. */
static const char *kind = "cpu";

static polyad_context *context_on_device(int threads) {
  polyad_context *context = cpu_context(threads);
  ALS_OK(context, polyad_set_device(context, kind));
  return context;
}

static polyad_plan *plan_of(polyad_context *context, const polyad_tensor *tensor,
                            const char *format, uint64_t rank, polyad_type type, int index64) {
  polyad_plan_options options;
  polyad_plan *plan = NULL;
  polyad_plan_options_init(&options);
  options.format = format;
  options.rank = rank;
  options.precision = type;
  options.force_index64 = index64;
  ALS_OK(context, polyad_plan_create(context, tensor, &options, &plan));
  return plan;
}

/* ---- CP-ALS ---------------------------------------------------------------------------------- */

enum { ITERATIONS = 7 }; /* a GPU replays from the fourth or fifth on */

static polyad_ktensor *decompose(polyad_context *context, const polyad_plan *plan,
                                 polyad_ktensor *initial, uint64_t rank) {
  polyad_cp_als_options options;
  polyad_ktensor *model = NULL;
  polyad_cp_als_options_init(&options);
  options.rank = rank;
  options.run.max_iterations = ITERATIONS;
  options.run.tolerance = 0;
  options.init = POLYAD_INIT_MODEL;
  options.initial = initial;
  ALS_OK(context, polyad_cp_als(context, plan, &options, &model, NULL));
  return model;
}

/* An update solves equations whose condition number is some 100 for random factors of few columns,
 * and passes relative errors on times as much: of 2^-53 times the roundings of a row's sum (at most
 * 2 * 192 in the type, see sum_depth), over the iterations' `order` updates each. */
static double tolerance(int order, polyad_type type) {
  double unit = type == POLYAD_F64 ? 0x1p-53 : 0x1p-24;
  return unit * 2 * 192 * 100 * ITERATIONS * order;
}

static double number(polyad_ktensor *model, int mode, uint64_t k, polyad_type type) {
  const void *factor = polyad_ktensor_factor(model, mode);
  return type == POLYAD_F64 ? ((const double *)factor)[k] : (double)((const float *)factor)[k];
}

static void compare_iterates(int order, uint64_t rank, int threads, polyad_type type, int index64) {
  /* Lengths are short and long in turns, one mode has a single slice, others have empty ones. */
  static const uint64_t dims[PD_TWOTREE_MAX_ORDER] = {7, 40, 5, 90, 1, 6, 9, 4};
  polyad_context *context = context_on_device(threads);
  polyad_tensor *tensor = als_random_tensor(context, order, dims, 4000, 11, 1);
  polyad_ktensor *initial = als_random_model(context, order, dims, rank, 5, 0);
  polyad_plan *plan = plan_of(context, tensor, "twotree", rank, type, index64);
  polyad_plan *plain = plan_of(context, tensor, "modecopy", rank, type, index64);
  polyad_ktensor *model = decompose(context, plan, initial, rank);
  polyad_ktensor *expected = decompose(context, plain, initial, rank);
  polyad_ktensor *again = decompose(context, plan, initial, rank);
  assert_true(als_same_model(model, again));
  for (int n = 0; n < order; ++n)
    for (uint64_t k = 0; k < dims[n] * rank; ++k) {
      double found = number(model, n, k, type), wanted = number(expected, n, k, type);
      if (!(fabs(found - wanted) <= tolerance(order, type)))
        fail_msg("order %d, rank %d, %d threads, mode %d, entry %d: %.17g found; expected %.17g",
                 order, (int)rank, threads, n, (int)k, found, wanted);
    }
  polyad_ktensor_destroy(again);
  polyad_ktensor_destroy(expected);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plain);
  polyad_plan_destroy(plan);
  polyad_ktensor_destroy(initial);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static void test_iterates(void **state) {
  (void)state;
  for (int order = 3; order <= PD_TWOTREE_MAX_ORDER; ++order)
    for (int threads = 1; threads <= 4; threads += 3)
      for (uint64_t rank = 1; rank <= 3; rank += 2) {
        compare_iterates(order, rank, threads, POLYAD_F64, 0);
        compare_iterates(order, rank, threads, POLYAD_F64, 1);
      }
  compare_iterates(4, 3, 1, POLYAD_F32, 0);
}

/* ---- building -------------------------------------------------------------------------------- */

/* The plan consumes a copy of the tensor and gives the same nonzeros back. Returns whether a side
 * of several modes is cut into tiles. */
static bool build_and_expand(int order, const uint64_t *dims, uint64_t nnz, int threads,
                             int index64) {
  polyad_context *context = cpu_context(threads);
  polyad_tensor *copy, *back;
  polyad_plan *plan, *kept;
  polyad_plan_options options;
  bool tiled = false;
  polyad_tensor *tensor = als_random_tensor(context, order, dims, nnz, 11, !index64);
  ALS_OK(context, polyad_tensor_convert(context, tensor, POLYAD_F64, &copy));
  polyad_plan_options_init(&options);
  options.format = "twotree";
  options.force_index64 = index64;
  ALS_OK(context, polyad_plan_create(context, tensor, &options, &kept));
  ALS_OK(context, polyad_plan_create_take(context, &copy, &options, &plan));
  ALS_OK(context, plan->format->check(context, plan->storage));
  assert_int_equal(polyad_plan_bytes(plan), polyad_plan_bytes(kept));
  const struct pd_twotree *twotree = plan->storage;
  for (int s = 0; s < twotree->sides; ++s)
    tiled |= twotree->side[s].modes.count > 1 && twotree->side[s].pass.blocks > 0;
  ALS_OK(context, pd_plan_expand(context, plan, &back));
  assert_int_equal(polyad_tensor_hash(back), polyad_tensor_hash(tensor));
  polyad_tensor_destroy(back);
  polyad_plan_destroy(plan);
  polyad_plan_destroy(kept);
  polyad_tensor_destroy(tensor);
  context_end(context);
  return tiled;
}

/* Enough nonzeros for each of four threads to have a part. */
static void build_by_threads(int order, uint64_t length, int threads, int index64) {
  uint64_t dims[PD_TWOTREE_MAX_ORDER];
  for (int n = 0; n < order; ++n)
    dims[n] = n == 1 ? 1 : length + (uint64_t)n;
  (void)build_and_expand(order, dims, 70001, threads, index64);
}

/* Sides whose other factors are long are cut into tiles: they are sorted anew from records. */
static void test_tiled_sides(void **state) {
  (void)state;
  static const uint64_t dims[] = {40, 30, 30000, 30};
  for (int threads = 1; threads <= 4; threads += 3)
    for (int index64 = 0; index64 < 2; ++index64) {
      assert_true(build_and_expand(3, dims, 400000, threads, index64));
      (void)build_and_expand(4, dims, 400000, threads, index64);
    }
}

static void test_built_by_threads(void **state) {
  (void)state;
  for (int threads = 1; threads <= 4; threads += 3) {
    build_by_threads(3, 300, threads, 0);
    build_by_threads(4, 40, threads, 1);
    build_by_threads(5, 12, threads, 0);
    build_by_threads(8, 6, threads, 0);
  }
}

/* ---- partial rows ---------------------------------------------------------------------------- */

enum { ORDER = 4, RANK = 5, LONGEST = 60 };
static const uint64_t DIMS[ORDER] = {8, 60, 9, 50};

static void fill(double *factor, uint64_t count, int seed) {
  for (uint64_t k = 0; k < count; ++k)
    factor[k] = 1 + (double)((k * 7 + (uint64_t)seed) % 11) / 8;
}

/* Whoever leaves a version as it is gets the partial rows of before: they are not made again within
 * a side, nor for a mode whose own factor alone has changed. */
static void test_partial_rows_are_kept(void **state) {
  (void)state;
  polyad_context *context = context_on_device(1);
  polyad_tensor *tensor = als_random_tensor(context, ORDER, DIMS, 3000, 3, 1);
  polyad_plan *plan = plan_of(context, tensor, "twotree", RANK, POLYAD_F64, 0);
  const struct pd_twotree *twotree = plan->storage;
  polyad_workspace *workspace = NULL;
  static double factor[ORDER][LONGEST * RANK], before[LONGEST * RANK], after[LONGEST * RANK];
  const void *pointer[ORDER];
  uint64_t versions[ORDER] = {1, 1, 1, 1};
  ALS_OK(context, polyad_workspace_create(context, plan, RANK, &workspace));
  for (int n = 0; n < ORDER; ++n) {
    fill(factor[n], DIMS[n] * RANK, n);
    pointer[n] = factor[n];
  }
  for (int s = 0; s < twotree->sides; ++s) {
    const struct pd_twotree_modes *modes = &twotree->side[s].modes;
    if (modes->count < 2) continue;
    int mode = modes->mode[0], other = modes->other[0];
    uint64_t bytes = DIMS[mode] * RANK * sizeof(double);
    polyad_workspace_set_versions(workspace, versions);
    ALS_OK(context, polyad_mttkrp(context, plan, workspace, mode, pointer, before));
    fill(factor[other], DIMS[other] * RANK, 70 + s);
    ALS_OK(context, polyad_mttkrp(context, plan, workspace, mode, pointer, after));
    assert_memory_equal(before, after, bytes);
    ++versions[other];
    polyad_workspace_set_versions(workspace, versions);
    ALS_OK(context, polyad_mttkrp(context, plan, workspace, mode, pointer, after));
    assert_memory_not_equal(before, after, bytes);
  }
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- cuts ------------------------------------------------------------------------------------ */

/* Four modes of 10^5 slices, 10^7 nonzeros. `few` modes from `first` on, in the cyclic order, have
 * 10^5 tuples, and so have all parts of them; what holds another mode has a tuple per nonzero. */
static struct pd_traits traits_with_few_tuples(int first, int few) {
  struct pd_traits traits = {.order = ORDER, .nnz = 10000000};
  for (int n = 0; n < ORDER; ++n) {
    traits.dims[n] = traits.nonempty[n] = 100000;
    traits.fibers[n] = few == 3 && (n + 1) % ORDER == first ? 100000 : traits.nnz;
    traits.tuples[n][2] = (n - first + ORDER) % ORDER + 2 <= few ? 100000 : traits.nnz;
  }
  return traits;
}

/* The modes with few tuples share a side; those whose pairs are as many as nonzeros gain nothing
 * by partial rows and stand alone. */
static void test_cuts(void **state) {
  (void)state;
  const struct pd_request request = {.rank = 16, .precision = POLYAD_F64, .threads = 1};
  for (int first = 0; first < ORDER; ++first)
    for (int few = 2; few <= 3; ++few) {
      struct pd_traits traits = traits_with_few_tuples(first, few);
      struct pd_twotree_cut cut;
      pd_twotree_cut_choose(&traits, &request, &cut);
      assert_int_equal(cut.sides, ORDER + 1 - few);
      assert_int_equal(cut.first[0], first);
      assert_int_equal(cut.count[0], few);
      for (int s = 1; s < cut.sides; ++s) {
        assert_int_equal(cut.first[s], (first + few + s - 1) % ORDER);
        assert_int_equal(cut.count[s], 1);
      }
      assert_true(cut.nanoseconds < cut.plain);
    }
}

/* ---- storage --------------------------------------------------------------------------------- */

static void test_broken_storages_are_found(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = als_random_tensor(context, ORDER, DIMS, 3000, 3, 1);
  polyad_plan *plan = plan_of(context, tensor, "twotree", RANK, POLYAD_F64, 0);
  struct pd_twotree *twotree = plan->storage;
  struct pd_twotree_side *side = &twotree->side[0];
  uint32_t *id = side->tuple_id[1], kept = id[1], *start = (uint32_t *)side->list[0].row_start;
  ALS_OK(context, pd_twotree_format.check(context, twotree));
  assert_true(pd_storage_bytes(&pd_twotree_format, twotree) > 0);
  id[1] = id[0] == 0 ? UINT32_MAX : 0;
  assert_int_equal(pd_twotree_format.check(context, twotree), POLYAD_INTERNAL);
  id[1] = kept;
  ++start[1];
  assert_int_equal(pd_twotree_format.check(context, twotree), POLYAD_INTERNAL);
  --start[1];
  --side->pass.nnz;
  assert_int_equal(pd_twotree_format.check(context, twotree), POLYAD_INTERNAL);
  ++side->pass.nnz;
  ALS_OK(context, pd_twotree_format.check(context, twotree));
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* A storage for a GPU, without one. */
static struct pd_twotree *storage_for_gpu(polyad_context *context, polyad_tensor *tensor) {
  static struct pd_device_functions functions;
  static struct pd_device device = {.kind = "cuda", .name = "none", .functions = &functions};
  functions = *pd_cpu_device.functions;
  functions.host_memory = false;
  const struct pd_request request = {.variant = "auto",
                                     .rank = RANK,
                                     .precision = polyad_tensor_type(tensor),
                                     .threads = 2,
                                     .device = &device};
  void *storage;
  ALS_OK(context, pd_storage_build(context, &pd_twotree_format, tensor, false, &request, &storage));
  ALS_OK(context, pd_twotree_format.check(context, storage));
  return storage;
}

/* One sum over copies, by the CPU's kernels of their format. */
static void sum_rows(polyad_context *context, const struct pd_modecopy *copies, int mode,
                     const struct pd_matrix *const *factors, struct pd_matrix *out) {
  const struct pd_walk *walk = pd_walk_of(pd_kernels_find("modecopy", "cpu"), PD_OPS_MTTKRP);
  const struct pd_call call = {.op = PD_MTTKRP, .mode = mode, .factors = factors, .out = out};
  uint64_t ranks[POLYAD_MAX_ORDER];
  void *scratch;
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    ranks[n] = out->columns;
  ALS_OK(context, pd_walk_open(context, walk, &pd_cpu_device, copies, ranks, &scratch));
  ALS_OK(context, walk->run(context, copies, scratch, &call));
  pd_walk_close(scratch);
}

/* The MTTKRP of a mode by the two sums that a GPU does. */
static void sum_side(polyad_context *context, const struct pd_twotree_side *side, int which,
                     const struct pd_matrix *factors, struct pd_matrix *out) {
  const struct pd_matrix *inputs[POLYAD_MAX_ORDER] = {NULL};
  if (side->modes.count == 1) {
    for (int n = 0; n <= side->modes.others; ++n)
      inputs[n] = &factors[n];
    sum_rows(context, &side->nonzeros, side->modes.mode[0], inputs, out);
    return;
  }
  struct pd_matrix rows;
  ALS_OK(context,
         pd_matrix_create(context, &pd_cpu_device, out->type, side->tuples, out->columns, &rows));
  for (int k = 0; k < side->modes.others; ++k)
    inputs[1 + k] = &factors[side->modes.other[k]];
  sum_rows(context, &side->nonzeros, 0, inputs, &rows);
  inputs[0] = &rows;
  for (int k = 0; k < side->modes.count; ++k)
    inputs[1 + k] = &factors[side->modes.mode[k]];
  sum_rows(context, &side->by_tuple, 1 + which, inputs, out);
  pd_matrix_destroy(context, &rows);
}

/* All numbers are positive: a sum of `terms` products of `order` factors differs from another one
 * by two times their number of roundings, times the sum. */
static void compare_sums(polyad_context *context, const polyad_tensor *tensor,
                         const struct pd_twotree *twotree, int mode, int side, int which) {
  struct pd_matrix factors[POLYAD_MAX_ORDER], out;
  const void *pointers[POLYAD_MAX_ORDER];
  polyad_plan *plan = plan_of(context, tensor, "modecopy", RANK, POLYAD_F64, 0);
  polyad_workspace *workspace = NULL;
  uint64_t count = tensor->dims[mode] * RANK;
  double *expected = calloc(count, sizeof *expected);
  assert_non_null(expected);
  for (int n = 0; n < tensor->order; ++n) {
    ALS_OK(context, pd_matrix_create(context, &pd_cpu_device, POLYAD_F64, tensor->dims[n], RANK,
                                     &factors[n]));
    fill(factors[n].data, tensor->dims[n] * RANK, n);
    pointers[n] = factors[n].data;
  }
  ALS_OK(context,
         pd_matrix_create(context, &pd_cpu_device, POLYAD_F64, tensor->dims[mode], RANK, &out));
  sum_side(context, &twotree->side[side], which, factors, &out);
  ALS_OK(context, polyad_workspace_create(context, plan, RANK, &workspace));
  ALS_OK(context, polyad_mttkrp(context, plan, workspace, mode, pointers, expected));
  for (uint64_t k = 0; k < count; ++k) {
    double bound = 0x1p-53 * 2 * (double)(tensor->nnz + 8) * expected[k];
    assert_true(fabs(((double *)out.data)[k] - expected[k]) <= bound);
  }
  for (int n = 0; n < tensor->order; ++n)
    pd_matrix_destroy(context, &factors[n]);
  pd_matrix_destroy(context, &out);
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  free(expected);
}

static void test_storages_for_a_gpu(void **state) {
  (void)state;
  static const uint64_t dims[PD_TWOTREE_MAX_ORDER] = {7, 40, 5, 90, 1, 6, 9, 4};
  polyad_context *context = cpu_context(2);
  for (int order = 3; order <= PD_TWOTREE_MAX_ORDER; ++order) {
    polyad_tensor *tensor = als_random_tensor(context, order, dims, 4000, 11, 1);
    struct pd_twotree *twotree = storage_for_gpu(context, tensor);
    int modes = 0;
    for (int s = 0; s < twotree->sides; ++s)
      for (int k = 0; k < twotree->side[s].modes.count; ++k, ++modes)
        compare_sums(context, tensor, twotree, twotree->side[s].modes.mode[k], s, k);
    assert_int_equal(modes, order);
    pd_storage_free(context, &pd_twotree_format, twotree);
    polyad_tensor_destroy(tensor);
  }
  context_end(context);
}

static void test_broken_storages_for_a_gpu(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = als_random_tensor(context, ORDER, DIMS, 3000, 3, 1);
  struct pd_twotree *twotree = storage_for_gpu(context, tensor);
  struct pd_twotree_side *side = &twotree->side[0];
  uint32_t *id = side->tuple_id[1], kept = id[1];
  id[1] = id[0] == 0 ? UINT32_MAX : 0;
  assert_int_equal(pd_twotree_format.check(context, twotree), POLYAD_INTERNAL);
  id[1] = kept;
  uint32_t *index = side->by_tuple.copy[1].plane[0], packed = index[0];
  index[0] = index[1];
  assert_int_equal(pd_twotree_format.check(context, twotree), POLYAD_INTERNAL);
  index[0] = packed;
  --side->nonzeros.dims[0];
  assert_int_equal(pd_twotree_format.check(context, twotree), POLYAD_INTERNAL);
  ++side->nonzeros.dims[0];
  ALS_OK(context, pd_twotree_format.check(context, twotree));
  pd_storage_shed(context, &pd_twotree_format, twotree);
  assert_true(pd_storage_bytes(&pd_twotree_format, twotree) > sizeof *twotree);
  pd_storage_free(context, &pd_twotree_format, twotree);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* Its estimates rest on tuples that a plan counts for every tensor that it can hold, and no other.
 */
static void test_tuples_are_counted_up_to_the_most_modes(void **state) {
  (void)state;
  static const uint64_t dims[PD_TWOTREE_MAX_ORDER + 1] = {3, 2, 2, 2, 2, 2, 2, 2, 2};
  polyad_context *context = cpu_context(1);
  for (int order = 4; order <= PD_TWOTREE_MAX_ORDER + 1; ++order) {
    polyad_tensor *tensor = als_random_tensor(context, order, dims, 5, 3, 1);
    struct pd_request request = {
        .device = &pd_cpu_device, .rank = 2, .kernel = POLYAD_KERNEL_MTTKRP, .threads = 1};
    struct pd_traits traits;
    ALS_OK(context, pd_candidates_traits(context, tensor, &request, &traits));
    assert_int_equal(traits.tuples[0][2] > 0, order <= PD_TWOTREE_MAX_ORDER);
    polyad_tensor_destroy(tensor);
  }
  context_end(context);
}

static void test_orders_that_it_cannot_hold(void **state) {
  (void)state;
  static const uint64_t dims[9] = {3, 2, 2, 2, 2, 2, 2, 2, 2};
  polyad_context *context = cpu_context(1);
  for (int order = 2; order <= 9; order += 7) {
    polyad_tensor *tensor = als_random_tensor(context, order, dims, 5, 3, 1);
    polyad_plan_options options;
    polyad_plan *plan = NULL;
    polyad_plan_options_init(&options);
    options.format = "twotree";
    assert_int_equal(polyad_plan_create(context, tensor, &options, &plan), POLYAD_UNSUPPORTED);
    assert_non_null(strstr(polyad_last_error(context), "expected 3 to 8"));
    polyad_tensor_destroy(tensor);
  }
  context_end(context);
}

/* Distinct pairs of indices in modes n and n + 1, cyclic, counted one by one. Below 16384 * 2.5
 * numbers are counted linearly: a standard error of 0.3% for 3000 (K.-Y. Whang and others, 1990).
 */
static void test_estimated_tuples(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = als_random_tensor(context, ORDER, DIMS, 3000, 3, 1);
  struct pd_traits traits;
  ALS_OK(context, pd_traits_compute(context, tensor, &traits));
  ALS_OK(context, pd_traits_count_tuples(context, tensor, &(struct pd_request){0}, &traits));
  for (int n = 0; n < ORDER; ++n) {
    static bool seen[LONGEST * LONGEST];
    int next = (n + 1) % ORDER, count = 0;
    memset(seen, 0, sizeof seen);
    for (uint64_t p = 0; p < tensor->nnz; ++p) {
      bool *at =
          &seen[pd_tensor_index(tensor, n, p) * DIMS[next] + pd_tensor_index(tensor, next, p)];
      count += !*at;
      *at = true;
    }
    assert_true(fabs((double)traits.tuples[n][2] - count) <= 5 * 0.003 * count + 1);
    assert_int_equal(traits.tuples[n][1], 0);
    assert_int_equal(traits.tuples[n][3], 0);
  }
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static void test_no_nonzeros(void **state) {
  (void)state;
  polyad_context *context = context_on_device(2);
  polyad_tensor *tensor = als_random_tensor(context, ORDER, DIMS, 0, 3, 1);
  polyad_plan *plan = plan_of(context, tensor, "twotree", RANK, POLYAD_F64, 0);
  polyad_workspace *workspace = NULL;
  static double factor[LONGEST * RANK], out[LONGEST * RANK];
  const void *pointer[ORDER] = {factor, factor, factor, factor};
  ALS_OK(context, plan->format->check(context, plan->storage));
  ALS_OK(context, polyad_workspace_create(context, plan, RANK, &workspace));
  for (int n = 0; n < ORDER; ++n) {
    memset(out, 0xFF, sizeof out);
    ALS_OK(context, polyad_mttkrp(context, plan, workspace, n, pointer, out));
    for (uint64_t k = 0; k < DIMS[n] * RANK; ++k)
      assert_true(out[k] == 0);
  }
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static int test_on_device(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_iterates),
      cmocka_unit_test(test_partial_rows_are_kept),
      cmocka_unit_test(test_no_nonzeros),
  };
  polyad_context *context = NULL;
  if (polyad_context_create(&context) != POLYAD_OK) return 1;
  const char *why = polyad_device_why_not(context, kind);
  bool missing = why[0] != '\0';
  if (missing) fprintf(stderr, "skipped: %s\n", why);
  polyad_context_destroy(context);
  return missing ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int count, char **arguments) {
  if (count > 1) kind = arguments[1];
  if (strcmp(kind, "cpu") != 0) return test_on_device();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_iterates),
      cmocka_unit_test(test_partial_rows_are_kept),
      cmocka_unit_test(test_built_by_threads),
      cmocka_unit_test(test_tiled_sides),
      cmocka_unit_test(test_cuts),
      cmocka_unit_test(test_broken_storages_are_found),
      cmocka_unit_test(test_storages_for_a_gpu),
      cmocka_unit_test(test_broken_storages_for_a_gpu),
      cmocka_unit_test(test_tuples_are_counted_up_to_the_most_modes),
      cmocka_unit_test(test_orders_that_it_cannot_hold),
      cmocka_unit_test(test_estimated_tuples),
      cmocka_unit_test(test_no_nonzeros),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
