/* Several devices of one process that share a plan, beside one device: every decomposition that a
 * team knows, hostile shapes, checkpoints, cancelling, and memory that ends anywhere. The lists of
 * devices are those of the command line; without any, of the CPU or, where this is built as a test
 * of GPUs, of these. */
#include "als_fixture.h"
#include "core/random.h"
#include "counted_threads.h"
#include "failing_allocator.h"
#include "plan/members.h"
#include "plan/part.h"
#include "team_methods.h"
#include "team_parts.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef DEVICE_LISTS
#define DEVICE_LISTS "cpu,cpu,cpu", "cpu,cpu,cpu,cpu,cpu"
#endif

static char *usual_lists[] = {DEVICE_LISTS};
static char **lists = usual_lists;
static int list_count = sizeof usual_lists / sizeof *usual_lists;

struct run {
  const polyad_tensor *tensor;
  enum method method;
  polyad_type precision;
  uint64_t rank;
  int iterations, starts;
  const char *checkpoint, *resume;
  polyad_run_info info;
};

static polyad_context *open_devices(const char *devices) {
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  ALS_OK(context, polyad_set_device(context, devices));
  ALS_OK(context, polyad_set_threads(context, 2));
  return context;
}

/* The first of a list, which is what one device does alone. */
static const char *first_of(const char *devices, char name[32]) {
  snprintf(name, 32, "%.*s", (int)strcspn(devices, ","), devices);
  if (strcmp(name, "cuda:all") == 0) snprintf(name, 32, "cuda");
  return name;
}

/* Devices of two kinds measure their shares, of which one of such small tensors would be none. */
static bool mixed(const char *devices) {
  return strstr(devices, "cpu") != NULL && (strstr(devices, "cuda") || strstr(devices, "opencl"));
}

static double second_share(const char *devices) { return mixed(devices) ? 0.4 : 0; }

/* Format portable, OpenCL's, has no log-likelihood. */
static int methods_of(const char *devices) { return strstr(devices, "opencl") ? MU : PARTLY + 1; }

static polyad_status plan_run(polyad_context *context, const struct run *run, polyad_plan **plan) {
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.rank = run->rank;
  options.precision = run->precision;
  options.kernel = run->method == MU ? POLYAD_KERNEL_PHI : POLYAD_KERNEL_MTTKRP;
  options.second_share = second_share(polyad_device(context));
  return polyad_plan_create(context, run->tensor, &options, plan);
}

static polyad_status run_plan(polyad_context *context, const polyad_plan *plan, struct run *run,
                              polyad_ktensor **model) {
  polyad_run_options common = {.starts = run->starts,
                               .max_iterations = run->iterations,
                               .checkpoint = run->checkpoint,
                               .checkpoint_every = 2,
                               .resume = run->resume};
  return method_decompose(context, plan, run->method, run->rank, &common, model, &run->info);
}

static polyad_status plan_and_run(polyad_context *context, struct run *run,
                                  polyad_ktensor **model) {
  polyad_plan *plan = NULL;
  polyad_status status = plan_run(context, run, &plan);
  polyad_set_seed(context, 5); /* members take what the caller sets after the plan */
  if (status == POLYAD_OK) status = run_plan(context, plan, run, model);
  polyad_plan_destroy(plan);
  return status;
}

/* The objective of a run that succeeds. */
static double objective_of(polyad_context *context, struct run *run, polyad_ktensor **model) {
  *model = NULL;
  polyad_run_info_clear(&run->info);
  ALS_OK(context, plan_and_run(context, run, model));
  assert_non_null(*model);
  return run->info.starts[run->info.best_restart].objective;
}

/* ---- the same as one ------------------------------------------------------------------------ */

static void compare_devices(const char *devices, enum method method, polyad_type precision) {
  char name[32];
  polyad_context *one = open_devices(first_of(devices, name)), *several = open_devices(devices);
  polyad_tensor *tensor = method_tensor(one, method);
  struct run run = {.tensor = tensor,
                    .method = method,
                    .precision = precision,
                    .rank = 3,
                    .iterations = 6,
                    .starts = method == NONNEGATIVE ? 2 : 1};
  polyad_ktensor *alone, *first, *second;
  uint64_t nnz = polyad_tensor_nnz(tensor);
  double expected = objective_of(one, &run, &alone), found = objective_of(several, &run, &first);
  /* Sums round differently; that factors do shows in its square only, near the best ones. */
  if (!(fabs(found - expected) <= 2 * als_sum_error(precision, nnz) * fmax(1, fabs(expected))))
    fail_msg("%s, method %d: objective %.17g, of one device %.17g", devices, method, found,
             expected);
  assert_true(largest_difference(first, alone) <= als_drift(one, alone, nnz, run.iterations));
  if (method != MU) {
    double fit;
    ALS_OK(one, polyad_ktensor_fit(one, first, tensor, &fit));
    /* A plan in float has rounded values: each adds half a unit to the distance from the tensor. */
    double rounded = precision == POLYAD_F32 ? 0x1p-23 : 1e-14;
    assert_true(fabs(fit - run.info.fit) <= run.info.fit_bound + rounded);
  }
  assert_true(objective_of(several, &run, &second) == found);
  assert_true(als_same_model(first, second));
  polyad_ktensor_destroy(second);
  polyad_ktensor_destroy(first);
  polyad_ktensor_destroy(alone);
  polyad_tensor_destroy(tensor);
  polyad_run_info_clear(&run.info);
  context_end(several);
  context_end(one);
}

static void same_as_one(void **state) {
  (void)state;
  for (int k = 0; k < list_count; ++k)
    for (int method = ALS; method < methods_of(lists[k]); ++method) {
      compare_devices(lists[k], (enum method)method, POLYAD_F64);
      compare_devices(lists[k], (enum method)method, POLYAD_F32);
    }
}

/* More members than nonzeros, a slice with most of them, empty slices, a mode of length 1. */
static void hostile_shapes(void **state) {
  (void)state;
  for (int k = 0; k < list_count; ++k) {
    char name[32];
    polyad_context *one = open_devices(first_of(lists[k], name)), *several = open_devices(lists[k]);
    for (int entries = 1; entries <= HOSTILE_NNZ; entries += HOSTILE_NNZ - 1)
      for (int method = ALS; method < methods_of(lists[k]); ++method) {
        polyad_tensor *tensor = method_hostile(one, entries);
        struct run run = {.tensor = tensor,
                          .method = (enum method)method,
                          .precision = POLYAD_F64,
                          .rank = 2,
                          .iterations = 3,
                          .starts = 1};
        polyad_ktensor *alone, *together;
        double expected = objective_of(one, &run, &alone);
        double found = objective_of(several, &run, &together);
        /* Nearly exact fits of a team keep the rounding error that they state. */
        double bound = method == MU ? 0 : run.info.fit_bound;
        if (!(fabs(found - expected) <= bound + 1e-12 * fmax(1, fabs(expected))))
          fail_msg("%s, method %d, %d nonzeros: objective %.17g, of one %.17g", lists[k], method,
                   entries, found, expected);
        polyad_ktensor_destroy(together);
        polyad_ktensor_destroy(alone);
        polyad_tensor_destroy(tensor);
        polyad_run_info_clear(&run.info);
      }
    context_end(several);
    context_end(one);
  }
}

/* ---- shares ---------------------------------------------------------------------------------- */

static polyad_plan *plan_in(polyad_context *context, const polyad_tensor *tensor,
                            const char *format) {
  polyad_plan_options options;
  polyad_plan *plan;
  polyad_plan_options_init(&options);
  options.rank = 3;
  options.format = format;
  ALS_OK(context, polyad_plan_create(context, tensor, &options, &plan));
  return plan;
}

static void compare_shares(polyad_context *context, const polyad_tensor *tensor) {
  polyad_plan *found = plan_in(context, tensor, "modecopy");
  polyad_plan *wanted = plan_in(context, tensor, "fcoo");
  assert_true(found->tensor_hash == wanted->tensor_hash);
  for (int k = 0; k < pd_members_count(found) && found->part != NULL; ++k) {
    const polyad_plan *a = pd_members_plan(found, k), *b = pd_members_plan(wanted, k);
    uint64_t hash[2];
    const char *different = part_difference(a, b);
    if (different != NULL)
      fail_msg("%s, member %d: %s differ", polyad_device(context), k, different);
    ALS_OK(context, part_hash(context, a, &hash[0]));
    ALS_OK(context, part_hash(context, b, &hash[1]));
    assert_true(hash[0] == hash[1]);
  }
  polyad_plan_destroy(wanted);
  polyad_plan_destroy(found);
}

/* Members have the same parts wherever they were shared out and sorted: on devices that build
 * "modecopy", or by the hosts, which build "fcoo". */
static void same_shares(void **state) {
  (void)state;
  static const uint64_t dims[3] = {4000, 70, 900};
  for (int k = 0; k < list_count && !mixed(lists[k]); ++k) {
    polyad_context *several = open_devices(lists[k]);
    polyad_tensor *tensors[] = {method_tensor(several, ALS), method_tensor(several, MU),
                                method_hostile(several, HOSTILE_NNZ), method_hostile(several, 1),
                                als_random_tensor(several, 3, dims, 50000, 3, 0)};
    for (size_t t = 0; t < sizeof tensors / sizeof *tensors; ++t) {
      compare_shares(several, tensors[t]);
      polyad_tensor_destroy(tensors[t]);
    }
    context_end(several);
  }
}

/* ---- what surrounds a run -------------------------------------------------------------------- */

/* A run of several devices goes on alone, one of one device goes on by several, and by the same to
 * the bits of a run that was left alone. */
static void go_on(const char *devices, enum method method, const char *file) {
  char name[32];
  polyad_context *one = open_devices(first_of(devices, name)), *several = open_devices(devices);
  polyad_tensor *tensor = method_tensor(one, method);
  struct run whole = {.tensor = tensor,
                      .method = method,
                      .precision = POLYAD_F64,
                      .rank = 3,
                      .iterations = 8,
                      .starts = 1};
  struct run begun = whole, rest = whole;
  begun.iterations = 4;
  begun.checkpoint = rest.resume = file;
  polyad_ktensor *unbroken, *half, *resumed, *alone, *last;
  (void)objective_of(several, &whole, &unbroken);
  (void)objective_of(several, &begun, &half);
  (void)objective_of(several, &rest, &resumed);
  assert_true(als_same_model(unbroken, resumed));
  (void)objective_of(one, &rest, &alone);
  double drift = als_drift(one, unbroken, polyad_tensor_nnz(tensor), whole.iterations);
  assert_true(largest_difference(unbroken, alone) <= drift);
  polyad_ktensor_destroy(half);
  (void)objective_of(one, &begun, &half);
  (void)objective_of(several, &rest, &last);
  assert_true(largest_difference(unbroken, last) <= drift);
  polyad_ktensor *const models[] = {unbroken, half, resumed, alone, last};
  for (size_t k = 0; k < sizeof models / sizeof *models; ++k)
    polyad_ktensor_destroy(models[k]);
  polyad_tensor_destroy(tensor);
  polyad_run_info_clear(&whole.info);
  polyad_run_info_clear(&begun.info);
  polyad_run_info_clear(&rest.info);
  context_end(several);
  context_end(one);
}

static void checkpoints(void **state) {
  (void)state;
  char file[64], before[80];
  snprintf(file, sizeof file, "/tmp/polyad_members_%d.state", (int)getpid());
  snprintf(before, sizeof before, "%s.prev", file);
  for (int k = 0; k < list_count; ++k)
    for (int method = ALS; method < methods_of(lists[k]); ++method) {
      go_on(lists[k], (enum method)method, file);
      (void)unlink(file);
      (void)unlink(before);
    }
}

static int stop_at_once(void *user, const polyad_progress *progress) {
  (void)user;
  (void)progress;
  return 1;
}

static void cancelling(void **state) {
  (void)state;
  for (int k = 0; k < list_count; ++k) {
    polyad_context *context = open_devices(lists[k]);
    polyad_tensor *tensor = method_tensor(context, ALS);
    struct run run = {.tensor = tensor, .rank = 3, .iterations = 50, .starts = 1};
    polyad_ktensor *model;
    run.precision = POLYAD_F64;
    polyad_set_progress(context, stop_at_once, NULL);
    (void)objective_of(context, &run, &model);
    assert_int_equal(run.info.reason, POLYAD_REASON_CANCELLED);
    assert_int_equal(run.info.iterations, 1);
    polyad_ktensor_destroy(model);
    polyad_cancel(context); /* before the plan */
    model = NULL;
    assert_int_equal(plan_and_run(context, &run, &model), POLYAD_CANCELLED);
    assert_null(model);
    polyad_tensor_destroy(tensor);
    polyad_run_info_clear(&run.info);
    context_end(context);
  }
}

/* Plans and runs where the n-th allocation fails; -1: none does. Returns how many there were. */
static long run_failing(const char *devices, const polyad_tensor *tensor, long n,
                        polyad_status *status) {
  const long enough = 1L << 40;
  struct failing_allocator left = {enough, 0, true};
  polyad_allocator allocator = {failing_allocate, failing_release, &left};
  polyad_context *context;
  polyad_ktensor *model = NULL;
  struct run run = {.tensor = tensor, .rank = 2, .iterations = 2, .starts = 1};
  run.precision = POLYAD_F64;
  assert_int_equal(polyad_context_create_with_allocator(&allocator, &context), POLYAD_OK);
  ALS_OK(context, polyad_set_device(context, devices));
  ALS_OK(context, polyad_set_threads(context, 1));
  atomic_store(&left.until_failure, n < 0 ? enough : n);
  *status = plan_and_run(context, &run, &model);
  long made = enough - atomic_load(&left.until_failure);
  if (*status != POLYAD_OK) {
    assert_null(model);
    if (*status != POLYAD_OUT_OF_MEMORY)
      fail_msg("%s, allocation %ld: %s", devices, n, polyad_last_error(context));
    assert_true(polyad_last_error(context)[0] != '\0');
  }
  polyad_ktensor_destroy(model);
  polyad_run_info_clear(&run.info);
  context_end(context);
  assert_int_equal(atomic_load(&left.live), 0);
  return made;
}

/* Wherever a member has no memory, the run ends with that error, and nothing is left; but that
 * hosts step in for what is done on devices. */
static void failing_allocations(void **state) {
  (void)state;
  polyad_context *maker = cpu_context(1);
  polyad_tensor *tensor = als_random_tensor(maker, 3, (const uint64_t[3]){9, 8, 7}, 60, 1, 0);
  for (int k = 0; k < list_count; ++k) {
    polyad_status status;
    long most = run_failing(lists[k], tensor, -1, &status);
    int failed = 0, runs = 0;
    assert_int_equal(status, POLYAD_OK);
    for (long n = 0; n < most; n += 1 + n / 3, ++runs) {
      (void)run_failing(lists[k], tensor, n, &status);
      failed += status != POLYAD_OK;
    }
    assert_true(2 * failed > runs);
  }
  polyad_tensor_destroy(tensor);
  context_end(maker);
}

/* What a plan tells of its members. */
static void told(void **state) {
  (void)state;
  for (int k = 0; k < list_count; ++k) {
    polyad_context *context = open_devices(lists[k]);
    polyad_tensor *tensor = method_tensor(context, ALS);
    struct run run = {.tensor = tensor, .rank = 3, .iterations = 2, .starts = 1};
    polyad_team_info info, member[16];
    polyad_plan *plan;
    uint64_t nnz = 0, owned = 0, length = 0;
    run.precision = POLYAD_F64;
    ALS_OK(context, plan_run(context, &run, &plan));
    assert_string_equal(polyad_plan_device(plan), polyad_device(context));
    polyad_plan_team_info(plan, &info);
    ALS_OK(context, polyad_plan_team_gather(context, plan, member));
    int commas = 0;
    for (const char *c = polyad_device(context); *c != '\0'; ++c)
      commas += *c == ',';
    assert_int_equal(info.size, commas + 1);
    for (int m = 0; m < info.size; ++m) {
      assert_int_equal(member[m].rank, m);
      nnz += member[m].nnz;
      owned += member[m].rows_owned;
    }
    for (int n = 0; n < 3; ++n)
      length += polyad_plan_dims(plan)[n];
    assert_true(nnz == polyad_tensor_nnz(tensor) && nnz == polyad_plan_nnz(plan));
    assert_int_equal(owned, length);
    polyad_plan_destroy(plan);
    polyad_tensor_destroy(tensor);
    context_end(context);
  }
}

/* One slice with six of ten nonzeros: another mode is cut, and members have equally many. */
static void skewed_slices(void **state) {
  (void)state;
  static const uint64_t dims[3] = {400, 300, 200};
  enum { NNZ = 60000 };
  int32_t *index = malloc(3 * NNZ * sizeof *index);
  double *value = malloc(NNZ * sizeof *value);
  assert_true(index != NULL && value != NULL);
  for (uint64_t p = 0; p < NNZ; ++p) {
    index[3 * p] = p % 10 < 6 ? 7 : (int32_t)(p * 7919 % 400);
    index[3 * p + 1] = (int32_t)(p * 104729 / 3 % 300);
    index[3 * p + 2] = (int32_t)(p / 300 % 200);
    value[p] = 1 + (double)(p % 5);
  }
  for (int k = 0; k < list_count && !mixed(lists[k]); ++k) { /* that slice may be a share */
    polyad_context *context = open_devices(lists[k]);
    polyad_tensor *tensor = als_tensor(context, 3, dims, NNZ, index, value);
    struct run run = {.tensor = tensor, .rank = 3, .precision = POLYAD_F64};
    polyad_team_info info;
    polyad_plan *plan;
    ALS_OK(context, plan_run(context, &run, &plan));
    polyad_plan_team_info(plan, &info);
    if (info.size > 1) assert_int_equal(info.grid[0], 1);
    if ((double)info.most_nnz * info.size > 1.1 * (double)polyad_plan_nnz(plan))
      fail_msg("%s: %d of %d nonzeros are one member's", lists[k], (int)info.most_nnz,
               (int)polyad_plan_nnz(plan));
    polyad_plan_destroy(plan);
    polyad_tensor_destroy(tensor);
    context_end(context);
  }
  free(index);
  free(value);
}

/* ---- threads -------------------------------------------------------------------------------- */

/* Each thread that a plan or a run starts is waited for: one that is not may still read what its
 * caller has freed, and its stack stays taken. */
static void every_thread_is_joined(void **state) {
  (void)state;
  for (int k = 0; k < list_count; ++k) {
    polyad_context *context = open_devices(lists[k]);
    polyad_tensor *tensor = method_tensor(context, ALS);
    struct run run = {.tensor = tensor, .rank = 3, .iterations = 2, .starts = 1};
    polyad_ktensor *model;
    int started = atomic_load(&threads_begun), joined = atomic_load(&threads_ended);
    run.precision = POLYAD_F64;
    (void)objective_of(context, &run, &model);
    int more = atomic_load(&threads_begun) - started;
    if (strchr(polyad_device(context), ',') != NULL) /* there may be one GPU alone */
      assert_true(more >= 2); /* a member, and what hashes the tensor meanwhile */
    assert_int_equal(atomic_load(&threads_ended) - joined, more);
    polyad_ktensor_destroy(model);
    polyad_tensor_destroy(tensor);
    polyad_run_info_clear(&run.info);
    context_end(context);
  }
}

/* What members cannot do together is an error, and waits for nobody. */
static void refused(void **state) {
  (void)state;
  for (int k = 0; k < list_count; ++k) {
    polyad_context *context = open_devices(lists[k]);
    polyad_tensor *tensor = method_tensor(context, ALS), *whole;
    struct run run = {.tensor = tensor, .rank = 3, .precision = POLYAD_F64};
    polyad_plan_options options;
    polyad_plan *plan, *chain;
    ALS_OK(context, plan_run(context, &run, &plan));
    if (strchr(polyad_plan_device(plan), ',') != NULL) { /* there may be one GPU alone */
      double number = 1;
      assert_int_equal(pd_plan_expand(context, plan, &whole), POLYAD_UNSUPPORTED);
      pd_begin(context);
      assert_int_equal(pd_team_sum(context, pd_plan_team(plan), 1, &number), POLYAD_UNSUPPORTED);
      assert_non_null(strstr(polyad_last_error(context), "one device"));
      polyad_plan_options_init(&options);
      options.kernel = POLYAD_KERNEL_TTMC;
      assert_int_equal(polyad_plan_create(context, tensor, &options, &chain), POLYAD_UNSUPPORTED);
      polyad_plan_options_init(&options);
      options.second_share = 0.5; /* of two devices alone */
      if (pd_members_count(plan) > 2)
        assert_int_equal(polyad_plan_create(context, tensor, &options, &chain),
                         POLYAD_INVALID_ARGUMENT);
    }
    polyad_plan_destroy(plan);
    polyad_tensor_destroy(tensor);
    context_end(context);
  }
}

/* Without the device that the lists begin with there is nothing to test: CTest's "skipped". */
static bool device_missing(void) {
  polyad_context *context = NULL;
  if (polyad_context_create(&context) != POLYAD_OK) return false;
  bool missing = polyad_set_device(context, lists[0]) == POLYAD_DEVICE;
  if (missing) fprintf(stderr, "skipped: %s\n", polyad_last_error(context));
  polyad_context_destroy(context);
  return missing;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_as_one),
      cmocka_unit_test(same_shares),
      cmocka_unit_test(hostile_shapes),
      cmocka_unit_test(checkpoints),
      cmocka_unit_test(cancelling),
      cmocka_unit_test(told),
      cmocka_unit_test(refused),
      cmocka_unit_test(every_thread_is_joined),
      cmocka_unit_test(failing_allocations),
      cmocka_unit_test(skewed_slices),
  };
  if (argc > 1 && strncmp(argv[1], "test_", 5) == 0) { /* one of them, for slow tools */
    cmocka_set_test_filter(argv[1] + 5);
    ++argv;
    --argc;
  }
  if (argc > 1) {
    lists = argv + 1;
    list_count = argc - 1;
  }
  return device_missing() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
