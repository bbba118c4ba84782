/* Plans: options, choice, explanation, memory, ownership, tuning, registry. */
#include "contexts.h"
#include "formats/csf/csf_layout.h"
#include "formats/flycoo/flycoo_layout.h"
#include "inputs.h"
#include "plan/choose.h"
#include "plan/plan.h"
#include "unit/failing_allocator.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NNZ = 3000 };

/* A tensor of 20 x 30 x 25 with three fibers of index in common; value p + 1. */
static polyad_status try_tensor(polyad_context *context, polyad_type type, polyad_tensor **tensor) {
  static uint32_t index[3][NNZ];
  static double value[NNZ];
  static const uint64_t dims[3] = {20, 30, 25};
  for (uint32_t p = 0; p < NNZ; ++p) {
    index[0][p] = p * 7 % 20;
    index[1][p] = p / 7 % 30;
    index[2][p] = p * 13 % 25;
    value[p] = p % 9 + 1;
  }
  polyad_tensor_input input = input_of_columns(3, dims, NNZ, POLYAD_U32, index, NNZ, value);
  input.type = type;
  return polyad_tensor_create(context, &input, tensor);
}

static polyad_tensor *make_tensor(polyad_context *context, polyad_type type) {
  polyad_tensor *tensor = NULL;
  assert_int_equal(try_tensor(context, type, &tensor), POLYAD_OK);
  return tensor;
}

/* What a plan is made from, with the default options, and the plan, which is NULL until a test
 * makes it. */
struct setting {
  polyad_context *context;
  polyad_tensor *tensor;
  polyad_plan_options options;
  polyad_plan *plan;
};

/* A context of two threads on the CPU; tests fill in the rest. */
static struct setting bare(void) {
  struct setting s = {.context = cpu_context(2)};
  polyad_plan_options_init(&s.options);
  return s;
}

static struct setting start(polyad_type type) {
  struct setting s = bare();
  s.tensor = make_tensor(s.context, type);
  return s;
}

static polyad_status make(struct setting *s) {
  return polyad_plan_create(s->context, s->tensor, &s->options, &s->plan);
}

static void drop_plan(struct setting *s) {
  polyad_plan_destroy(s->plan);
  s->plan = NULL;
}

static void end(struct setting *s) {
  polyad_plan_destroy(s->plan);
  polyad_tensor_destroy(s->tensor);
  context_end(s->context);
}

static void test_bad_options(void **state) {
  (void)state;
  struct setting s = start(POLYAD_F64);
  s.options.format = "cfs";
  assert_int_equal(make(&s), POLYAD_INVALID_ARGUMENT);
  assert_non_null(strstr(polyad_last_error(s.context), "cfs"));
  s.options.format = "csf";
  s.options.variant = "three";
  assert_int_equal(make(&s), POLYAD_UNSUPPORTED);
  assert_non_null(strstr(polyad_last_error(s.context), "auto one two all"));
  s.options.variant = "";
  assert_int_equal(make(&s), POLYAD_UNSUPPORTED);
  s.options.variant = "auto";
  s.options.rank = 0;
  assert_int_equal(make(&s), POLYAD_INVALID_ARGUMENT);
  s.options.rank = 1;
  s.options.precision = (polyad_type)7;
  assert_int_equal(make(&s), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_plan_create(s.context, s.tensor, NULL, &s.plan), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_plan_create(s.context, NULL, &s.options, &s.plan),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_plan_create(NULL, s.tensor, &s.options, &s.plan),
                   POLYAD_INVALID_ARGUMENT);
  assert_null(s.plan);
  end(&s);
}

/* Parameters of the format's text reach the storage. */
static void test_parameters(void **state) {
  (void)state;
  static const struct {
    const char *format;
    int partitions, columns;
  } table[] = {{"flycoo", 2, 32},
               {"flycoo:kappa=82:block-columns=1", 82, 1},
               {"flycoo:paper:block-columns=64", 2, 64},
               {"flycoo:block-columns=3:kappa=1048576", 1048576, 3}};
  struct setting s = start(POLYAD_F64);
  for (size_t c = 0; c < sizeof table / sizeof *table; ++c) {
    s.options.format = table[c].format;
    assert_int_equal(polyad_format_check(s.context, table[c].format), POLYAD_OK);
    assert_int_equal(make(&s), POLYAD_OK);
    const struct pd_flycoo *storage = s.plan->storage;
    assert_int_equal(storage->partitions, table[c].partitions);
    assert_int_equal(storage->columns, table[c].columns);
    assert_int_equal(storage->sorted, strstr(table[c].format, "paper") == NULL);
    assert_string_equal(polyad_plan_format(s.plan), "flycoo");
    drop_plan(&s);
  }
  end(&s);
}

/* What is wrong with a text is said, and what is allowed. */
static void test_wrong_format_texts(void **state) {
  (void)state;
  static const struct {
    const char *format, *variant, *says;
  } table[] = {
      {"none", "auto", "expected auto, coo, csf"},
      {"", "auto", "format '' found"},
      {"a-name-that-is-longer-than-any-format-has", "auto", "expected auto"},
      {"flycoo:kappa=0", "auto", "'kappa=0' found; expected an integer from 1 to 1048576"},
      {"flycoo:kappa=1048577", "auto", "from 1 to 1048576"},
      {"flycoo:kappa=99999999999999999999", "auto", "from 1 to 1048576"},
      {"flycoo:kappa=-1", "auto", "expected an integer"},
      {"flycoo:kappa=1.5", "auto", "expected an integer"},
      {"flycoo:kappa=", "auto", "expected an integer"},
      {"flycoo:kappa=two", "auto", "expected an integer"},
      {"flycoo:paper:block-columns=65", "auto", "from 1 to 64"},
      {"flycoo:kapp=2", "auto", "expected a parameter of flycoo: kappa=N or block-columns=N"},
      {"flycoo:paper:kappa", "auto", "kappa=N"},
      {"flycoo:kappa=2:kappa=2", "auto", "has been given before"},
      {"flycoo:paper:paper", "auto", "kappa=N"},
      {"flycoo:", "auto", "variant '' found"},
      {"flycoo:kappa=2:", "auto", "'' found"},
      {"csf:one:rank=2", "auto", "format csf has no parameters"},
      {"auto:kappa=2", "auto", "format auto has no parameters"},
      {"hls:tile-threshold=4098", "auto", "from 1 to 4097"},
      {"blco:order-for-mode=17", "auto", "from 1 to 16"},
      {"hicoo:block=1", "auto", "expected an integer from 2 to 256"},
      {"hicoo:block=512", "auto", "expected an integer from 2 to 256"},
      {"csf:one", "two", "expected one variant"}};
  struct setting s = start(POLYAD_F64);
  for (size_t c = 0; c < sizeof table / sizeof *table; ++c) {
    bool alone = strcmp(table[c].variant, "auto") == 0;
    s.options.format = table[c].format;
    s.options.variant = table[c].variant;
    assert_int_equal(make(&s), POLYAD_INVALID_ARGUMENT);
    assert_null(s.plan);
    if (strstr(polyad_last_error(s.context), table[c].says) == NULL)
      fail_msg("%s: %s", table[c].format, polyad_last_error(s.context));
    assert_int_equal(polyad_format_check(s.context, table[c].format),
                     alone ? POLYAD_INVALID_ARGUMENT : POLYAD_OK);
  }
  end(&s);
}

static polyad_status check_value(polyad_context *context, const char *format, const char *name,
                                 int value) {
  char text[128];
  snprintf(text, sizeof text, "%s:%s=%d", format, name, value);
  return polyad_format_check(context, text);
}

/* Every parameter of every format is described, and its limits are those of the text. */
static void test_described_parameters(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_format_description format;
  int count = 0;
  for (int f = 0; polyad_format_describe(f, &format) == POLYAD_OK; ++f) {
    polyad_format_parameter about;
    for (int k = 0; k < format.parameters; ++k, ++count) {
      assert_int_equal(polyad_format_parameter_describe(f, k, &about), POLYAD_OK);
      assert_true(about.name[0] != '\0' && about.help[0] != '\0');
      assert_true(about.least >= 1 && about.least < about.most);
      assert_true(about.usual == 0 || (about.usual >= about.least && about.usual <= about.most));
      for (int value = about.least - 1; value <= about.least; ++value)
        assert_int_equal(check_value(context, format.name, about.name, value),
                         value < about.least ? POLYAD_INVALID_ARGUMENT : POLYAD_OK);
      for (int value = about.most; value <= about.most + 1; ++value)
        assert_int_equal(check_value(context, format.name, about.name, value),
                         value > about.most ? POLYAD_INVALID_ARGUMENT : POLYAD_OK);
    }
    assert_int_equal(polyad_format_parameter_describe(f, format.parameters, &about),
                     POLYAD_INVALID_ARGUMENT);
    assert_int_equal(polyad_format_parameter_describe(f, -1, &about), POLYAD_INVALID_ARGUMENT);
    assert_true(format.parameters <= PD_PARAMETERS_MAX);
  }
  assert_true(count >= 5);
  assert_int_equal(polyad_format_parameter_describe(-1, 0, NULL), POLYAD_INVALID_ARGUMENT);
  context_end(context);
}

static void test_facts(void **state) {
  (void)state;
  struct setting s = start(POLYAD_F64);
  assert_int_equal(make(&s), POLYAD_OK);
  assert_int_equal(polyad_plan_order(s.plan), 3);
  assert_int_equal(polyad_plan_dims(s.plan)[1], 30);
  assert_int_equal(polyad_plan_nnz(s.plan), polyad_tensor_nnz(s.tensor));
  assert_int_equal(polyad_plan_type(s.plan), POLYAD_F64);
  assert_string_equal(polyad_plan_device(s.plan), "cpu");
  assert_true(fabs(polyad_plan_norm(s.plan) - polyad_tensor_norm(s.tensor)) <=
              4e-16 * polyad_tensor_norm(s.tensor));
  /* The explanation names the choice first and every other format with a reason. */
  const char *text = polyad_plan_explanation(s.plan);
  assert_int_equal(strncmp(text, polyad_plan_format(s.plan), strlen(polyad_plan_format(s.plan))),
                   0);
  for (int f = 0; f < pd_format_count(); ++f)
    assert_non_null(strstr(text, pd_format_at(f)->name));
  polyad_plan_destroy(NULL);
  end(&s);
}

/* The estimate bounds what is stored, and building stays within what was announced. */
static void test_bytes(void **state) {
  (void)state;
  static const char *const chosen[][2] = {{"coo", "auto"}, {"coo", "plain"}, {"coo", "tiled"},
                                          {"csf", "one"},  {"csf", "two"},   {"csf", "all"}};
  for (size_t c = 0; c < sizeof chosen / sizeof *chosen; ++c) {
    struct setting s = start(POLYAD_F32);
    s.options.format = chosen[c][0];
    s.options.variant = chosen[c][1];
    s.options.precision = POLYAD_F32;
    uint64_t estimate = 0;
    assert_int_equal(polyad_format_estimate_bytes(s.context, s.tensor, &s.options, &estimate),
                     POLYAD_OK);
    assert_int_equal(make(&s), POLYAD_OK);
    assert_true(polyad_plan_bytes(s.plan) <= estimate);
    assert_true(estimate <= 2 * polyad_plan_bytes(s.plan));
    end(&s);
  }
}

/* A tensor whose nonzero p has index p in every mode. */
static polyad_tensor *make_diagonal(polyad_context *context, int order, uint32_t length) {
  static uint32_t index[256];
  static double value[256];
  uint64_t dims[POLYAD_MAX_ORDER];
  polyad_tensor *tensor = NULL;
  for (uint32_t p = 0; p < length; ++p) {
    index[p] = p;
    value[p] = 1;
  }
  for (int n = 0; n < order; ++n)
    dims[n] = length;
  polyad_tensor_input input = /* one column, which all modes share */
      input_of_columns(order, dims, length, POLYAD_U32, index, 0, value);
  assert_int_equal(polyad_tensor_create(context, &input, &tensor), POLYAD_OK);
  return tensor;
}

/* Where all counts are known exactly the estimate is what is stored: of a diagonal, with few modes
 * and with as many as there may be. */
static void test_exact_bytes(void **state) {
  (void)state;
  static const struct {
    const char *format, *variant;
    int order;
  } table[] = {{"csf", "one", 2},
               {"csf", "all", 3},
               {"csf", "one", POLYAD_MAX_ORDER},
               {"alto", "auto", 2},
               {"alto", "auto", POLYAD_MAX_ORDER}};
  for (size_t c = 0; c < sizeof table / sizeof *table; ++c) {
    struct setting s = bare();
    s.tensor = make_diagonal(s.context, table[c].order, 256);
    uint64_t estimate = 0;
    s.options.format = table[c].format;
    s.options.variant = table[c].variant;
    assert_int_equal(polyad_format_estimate_bytes(s.context, s.tensor, &s.options, &estimate),
                     POLYAD_OK);
    assert_int_equal(make(&s), POLYAD_OK);
    if (estimate != polyad_plan_bytes(s.plan))
      fail_msg("%s/%s of %d modes: %llu bytes estimated, %llu stored", table[c].format,
               table[c].variant, table[c].order, (unsigned long long)estimate,
               (unsigned long long)polyad_plan_bytes(s.plan));
    end(&s);
  }
}

static void test_memory_limit(void **state) {
  (void)state;
  struct setting s = start(POLYAD_F64);
  uint64_t before = polyad_memory_in_use(s.context);
  assert_int_equal(polyad_set_memory_limit(s.context, before + 100000), POLYAD_OK);
  assert_int_equal(make(&s), POLYAD_MEMORY_LIMIT);
  assert_non_null(strstr(polyad_last_error(s.context), "building format"));
  assert_int_equal(polyad_memory_in_use(s.context), before);
  end(&s);
}

static void test_take_consumes(void **state) {
  (void)state;
  struct setting s = start(POLYAD_F64);
  s.options.format = "nonsense";
  assert_int_equal(polyad_plan_create_take(s.context, &s.tensor, &s.options, &s.plan),
                   POLYAD_INVALID_ARGUMENT);
  assert_null(s.tensor);
  assert_int_equal(polyad_memory_in_use(s.context), 0);
  s.tensor = make_tensor(s.context, POLYAD_F32); /* of another type than the plan */
  s.options.format = "auto";
  assert_int_equal(polyad_plan_create_take(s.context, &s.tensor, &s.options, &s.plan), POLYAD_OK);
  assert_null(s.tensor);
  assert_int_equal(polyad_plan_type(s.plan), POLYAD_F64);
  end(&s);
}

static void test_tuning_measures(void **state) {
  (void)state;
  struct setting s = start(POLYAD_F64);
  s.options.tune = 1;
  assert_int_equal(make(&s), POLYAD_OK);
  assert_non_null(strstr(polyad_plan_explanation(s.plan), "measured"));
  assert_null(strstr(polyad_plan_explanation(s.plan), "estimated"));
  assert_int_equal(pd_plan_check(s.context, s.plan), POLYAD_OK);
  end(&s);
}

/* Seconds that the explanation gives for a format: of MTTKRP, or of Phi. */
static double estimate_of(polyad_context *context, const polyad_tensor *tensor, const char *format,
                          polyad_kernel kernel) {
  polyad_plan_options options;
  polyad_plan *plan = NULL;
  double seconds = 0;
  polyad_plan_options_init(&options);
  options.format = format;
  options.kernel = kernel;
  options.sweeps = INFINITY;
  assert_int_equal(polyad_plan_create(context, tensor, &options, &plan), POLYAD_OK);
  const char *text = strstr(polyad_plan_explanation(plan), "estimated ");
  assert_non_null(text);
  assert_int_equal(sscanf(text, "estimated %lf s", &seconds), 1);
  assert_int_equal(strstr(text, "is Phi in all modes") != NULL, kernel == POLYAD_KERNEL_PHI);
  polyad_plan_destroy(plan);
  return seconds;
}

/* Which of two formats is taken: one that is slow to build and fast to run, and the other way
 * round. */
static int taken(double sweeps) {
  const struct pd_candidate candidates[] = {
      {.supported = true, .fits = true, .seconds = 1, .building = 10},
      {.supported = true, .fits = true, .seconds = 2, .building = 1}};
  int choice = -1;
  assert_int_equal(pd_candidates_choose(NULL, candidates, 2, sweeps, &choice), POLYAD_OK);
  return choice;
}

static void test_building_counts_against_sweeps(void **state) {
  (void)state;
  assert_int_equal(taken(1), 1);  /* 11 against 3 */
  assert_int_equal(taken(8), 1);  /* 18 against 17 */
  assert_int_equal(taken(10), 0); /* 20 against 21 */
  assert_int_equal(taken(0), 0);  /* building does not count */
}

static void test_explanation_has_the_sum(void **state) {
  (void)state;
  struct setting s = start(POLYAD_F64);
  s.options.format = "coo";
  s.options.sweeps = 4;
  assert_int_equal(make(&s), POLYAD_OK);
  double build = 0, sweeps = 0, each = 0, all = 0;
  const char *text = strstr(polyad_plan_explanation(s.plan), "estimated ");
  assert_non_null(text);
  assert_int_equal(sscanf(text, "estimated %lf s to build and %lf sweeps of %lf s: %lf s", &build,
                          &sweeps, &each, &all),
                   4);
  assert_true(build > 0 && each > 0 && sweeps == 4);
  /* Two digits are told of each number: a rounding of at most 5 % of it. */
  assert_true(fabs(build + sweeps * each - all) <= 0.05 * (build + sweeps * each + all));
  drop_plan(&s);
  s.options.sweeps = -1;
  assert_int_equal(make(&s), POLYAD_INVALID_ARGUMENT);
  end(&s);
}

/* What is expected of a plan for so many components, columns side by side, and sweeps. */
static void expected_of(polyad_kernel kernel, uint64_t rank, uint64_t columns, double sweeps,
                        char text[200]) {
  struct setting s = start(POLYAD_F64);
  s.options.format = "coo";
  s.options.kernel = kernel;
  s.options.rank = rank;
  s.options.columns = columns;
  s.options.sweeps = sweeps;
  assert_int_equal(make(&s), POLYAD_OK);
  const char *found = strstr(polyad_plan_explanation(s.plan), "estimated ");
  assert_non_null(found);
  snprintf(text, 200, "%.199s", found);
  end(&s);
}

/* Twelve sweeps of rank 8, side by side in 48 columns, are two of these. */
static void test_columns_side_by_side(void **state) {
  (void)state;
  char shared[200], wide[200], alone[200];
  expected_of(POLYAD_KERNEL_MTTKRP, 8, 480, 12, shared);
  expected_of(POLYAD_KERNEL_MTTKRP, 48, 0, 2, wide);
  expected_of(POLYAD_KERNEL_MTTKRP, 8, 8, 12, alone);
  assert_string_equal(shared, wide);
  assert_string_not_equal(shared, alone);
  expected_of(POLYAD_KERNEL_PHI, 8, 480, 12, shared);
  expected_of(POLYAD_KERNEL_PHI, 8, 0, 12, alone);
  assert_string_equal(shared, alone);
}

/* A tensor of 30 x 30 x 30 cells of which every `apart`-th is a nonzero. */
static polyad_tensor *every_cell(polyad_context *context, uint64_t apart) {
  enum { DIM = 30, CELLS = DIM * DIM * DIM };
  static const uint64_t dims[3] = {DIM, DIM, DIM};
  static uint64_t index[3][CELLS];
  static double values[CELLS];
  uint64_t count = 0;
  for (uint64_t cell = 0; cell < CELLS; cell += apart, ++count) {
    index[0][count] = cell / DIM / DIM;
    index[1][count] = cell / DIM % DIM;
    index[2][count] = cell % DIM;
    values[count] = 1 + (double)(cell % 7);
  }
  polyad_tensor_input input = input_of_columns(3, dims, count, POLYAD_U64, index, CELLS, values);
  polyad_tensor *tensor = NULL;
  assert_int_equal(polyad_tensor_create(context, &input, &tensor), POLYAD_OK);
  return tensor;
}

/* Full arrays are stored with all their cells, others are not, and large empty ones cannot be. */
static void test_full_tensors_are_dense(void **state) {
  (void)state;
  for (uint64_t apart = 1; apart <= 50; apart += 49) {
    struct setting s = bare();
    s.tensor = every_cell(s.context, apart);
    s.options.rank = 8;
    assert_int_equal(make(&s), POLYAD_OK);
    assert_int_equal(strcmp(polyad_plan_format(s.plan), "dense") == 0, apart == 1);
    end(&s);
  }
}

static void test_sweeps_of_a_run(void **state) {
  (void)state;
  polyad_run_options run = {.starts = 3, .max_iterations = 50, .tolerance = 0};
  assert_true(polyad_expected_sweeps(&run, POLYAD_KERNEL_MTTKRP) == 150);
  run.tolerance = 1e-4;
  assert_true(polyad_expected_sweeps(&run, POLYAD_KERNEL_MTTKRP) == 3 * POLYAD_SWEEPS_USUAL);
  assert_true(polyad_expected_sweeps(&run, POLYAD_KERNEL_PHI) == 27 * POLYAD_SWEEPS_USUAL);
  run.tolerance = 1e-12;
  assert_true(polyad_expected_sweeps(&run, POLYAD_KERNEL_TTMC) == 150);
  run.max_iterations = 0; /* first factors need no sweep, and a plan is made for one */
  assert_true(polyad_expected_sweeps(&run, POLYAD_KERNEL_MTTKRP) == 3);
}

static void test_phi_has_an_estimate_of_its_own(void **state) {
  (void)state;
  static const char *const formats[] = {"coo", "alto", "modecopy"};
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = make_tensor(context, POLYAD_F64);
  for (int f = 0; f < 3; ++f) {
    double ratio = estimate_of(context, tensor, formats[f], POLYAD_KERNEL_PHI) /
                   estimate_of(context, tensor, formats[f], POLYAD_KERNEL_MTTKRP);
    double expected = pd_kernels_find(formats[f], "cpu")->phi_over_mttkrp;
    assert_true(expected > 1);
    assert_true(ratio > 0.9 * expected && ratio < 1.1 * expected); /* two digits are printed */
  }
  /* No partial rows of twotree serve a second mode, and no fiber of csf shares the weights. */
  static const char *const shared[] = {"twotree", "csf"};
  for (int f = 0; f < 2; ++f) {
    double twice = estimate_of(context, tensor, shared[f], POLYAD_KERNEL_PHI) /
                   estimate_of(context, tensor, shared[f], POLYAD_KERNEL_MTTKRP);
    assert_true(twice > pd_kernels_find("coo", "cpu")->phi_over_mttkrp * 0.9);
  }
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* Facts of generated tensors on which one and two trees were timed
 * (bench/results/cpu/csf_trees.txt): a leaf that fits into a cache is written for nothing, a long
 * one of short fibers is not. */
static void test_trees_of_csf(void **state) {
  (void)state;
  static const struct {
    int order;
    uint64_t nnz, dims[5], fibers[5];
    int trees; /* the faster number, at both ranks */
  } measured[] = {
      {4, 992847, {183, 24, 1140, 1717}, {122085, 306907, 522088, 207779}, 1},
      {4, 930483, {2482, 2862, 14036, 17}, {924208, 513778, 1776, 930483}, 1},
      {3, 1537588, {12092, 9184, 28818}, {1032085, 1265009, 6747}, 1},
      {4, 1066135, {6186, 24, 77, 32}, {58637, 897149, 573572, 741364}, 1},
      {5, 1040878, {165427, 11374, 2, 100, 89}, {536846, 1040663, 1040878, 1040878, 1040878}, 2},
  };
  for (size_t t = 0; t < sizeof measured / sizeof *measured; ++t)
    for (uint64_t rank = 16; rank <= 32; rank += 16)
      for (int wide = 0; wide < 2; ++wide) {
        struct pd_traits traits = {.order = measured[t].order, .nnz = measured[t].nnz};
        const struct pd_request request = {.variant = "auto",
                                           .kernel = POLYAD_KERNEL_MTTKRP,
                                           .precision = wide ? POLYAD_F64 : POLYAD_F32,
                                           .rank = rank,
                                           .threads = 1};
        struct pd_csf_shape shape;
        for (int n = 0; n < traits.order; ++n) {
          traits.dims[n] = traits.nonempty[n] = measured[t].dims[n];
          traits.fibers[n] = measured[t].fibers[n];
        }
        pd_csf_choose(&traits, &request, &shape);
        assert_int_equal(shape.trees, measured[t].trees);
      }
}

static void test_mttkrp_arguments(void **state) {
  (void)state;
  struct setting s = start(POLYAD_F64);
  polyad_plan *other = NULL;
  polyad_workspace *workspace = NULL;
  assert_int_equal(make(&s), POLYAD_OK);
  assert_int_equal(polyad_plan_create(s.context, s.tensor, &s.options, &other), POLYAD_OK);
  assert_int_equal(polyad_workspace_create(s.context, s.plan, 0, &workspace),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_workspace_create(s.context, s.plan, 2, &workspace), POLYAD_OK);
  static double a[60], out[60];
  const void *factors[3] = {a, a, a}, *missing[3] = {a, NULL, a};
  assert_int_equal(polyad_mttkrp(s.context, s.plan, workspace, 3, factors, out),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_mttkrp(s.context, s.plan, workspace, -1, factors, out),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_mttkrp(s.context, s.plan, workspace, 0, missing, out),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_mttkrp(s.context, s.plan, workspace, 1, missing, out), POLYAD_OK);
  assert_int_equal(polyad_mttkrp(s.context, other, workspace, 0, factors, out), POLYAD_MISMATCH);
  polyad_workspace_destroy(workspace);
  polyad_workspace_destroy(NULL);
  polyad_plan_destroy(other);
  end(&s);
}

static void test_format_list(void **state) {
  (void)state;
  polyad_format_description about;
  bool coo = false, csf = false;
  for (int f = 0; f < polyad_format_count(); ++f) {
    assert_int_equal(polyad_format_describe(f, &about), POLYAD_OK);
    assert_true(strlen(about.name) > 0 && strlen(about.summary) > 0 && strlen(about.paper) > 0);
    assert_int_equal(strncmp(about.variants, "auto", 4), 0);
    coo |= strcmp(about.name, "coo") == 0 && strstr(about.devices, "cpu") != NULL;
    csf |= strcmp(about.name, "csf") == 0 && strstr(about.devices, "cpu") != NULL;
  }
  assert_true(coo && csf);
  assert_int_equal(polyad_format_describe(-1, &about), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_format_describe(polyad_format_count(), &about), POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_format_describe(0, NULL), POLYAD_INVALID_ARGUMENT);
}

/* Slices are counted exactly; fibers to a few percent. */
static void test_traits(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = make_tensor(context, POLYAD_F64);
  struct pd_traits traits;
  assert_int_equal(pd_traits_compute(context, tensor, &traits), POLYAD_OK);
  for (int n = 0; n < 3; ++n) {
    uint64_t slices = 0, fullest = 0, fibers = 0;
    static uint64_t count[32];
    static bool seen[32][32];
    memset(count, 0, sizeof count);
    memset(seen, 0, sizeof seen);
    for (uint64_t p = 0; p < tensor->nnz; ++p) {
      ++count[pd_tensor_index(tensor, n, p)];
      bool *fiber = &seen[pd_tensor_index(tensor, n == 0 ? 1 : 0, p)]
                         [pd_tensor_index(tensor, n == 2 ? 1 : 2, p)];
      fibers += !*fiber;
      *fiber = true;
    }
    for (int i = 0; i < 32; ++i) {
      slices += count[i] > 0;
      if (count[i] > fullest) fullest = count[i];
    }
    assert_int_equal(traits.nonempty[n], slices);
    assert_int_equal(traits.slice_max[n], fullest);
    assert_true(fabs((double)traits.fibers[n] - (double)fibers) <= 0.1 * (double)fibers);
  }
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* Modes of 2^31 and more are stored and checked; a workspace for them is refused by its bytes. */
static void test_huge_modes(void **state) {
  (void)state;
  static const char *const chosen[][2] = {{"coo", "auto"}, {"coo", "plain"}, {"coo", "tiled"},
                                          {"csf", "one"},  {"csf", "two"},   {"csf", "all"}};
  static const uint64_t dims[3] = {UINT64_C(1) << 40, (UINT64_C(1) << 31) + 5, 7};
  static const uint64_t index[3][4] = {{(UINT64_C(1) << 40) - 1, 0, UINT64_C(1) << 33, 5},
                                       {0, (UINT64_C(1) << 31) + 4, 77, 77},
                                       {6, 0, 3, 3}};
  for (size_t c = 0; c < sizeof chosen / sizeof *chosen; ++c) {
    struct setting s = bare();
    polyad_tensor_input input = input_of_columns(3, dims, 4, POLYAD_U64, index, 4, NULL);
    polyad_tensor *back = NULL;
    polyad_workspace *workspace = NULL;
    s.options.format = chosen[c][0];
    s.options.variant = chosen[c][1];
    assert_int_equal(polyad_tensor_create(s.context, &input, &s.tensor), POLYAD_OK);
    assert_int_equal(make(&s), POLYAD_OK);
    assert_int_equal(pd_plan_check(s.context, s.plan), POLYAD_OK);
    assert_int_equal(pd_plan_expand(s.context, s.plan, &back), POLYAD_OK);
    assert_int_equal(polyad_tensor_hash(back), polyad_tensor_hash(s.tensor));
    if (strcmp(chosen[c][1], "one") == 0) {
      assert_int_equal(polyad_workspace_create(s.context, s.plan, 16, &workspace),
                       POLYAD_MEMORY_LIMIT);
      assert_non_null(strstr(polyad_last_error(s.context), "a workspace: "));
    }
    polyad_tensor_destroy(back);
    end(&s);
  }
}

/* Every allocation fails in turn. */
static polyad_status plan_and_run(polyad_context *context, void *data) {
  polyad_tensor *tensor = NULL;
  polyad_plan *plan = NULL;
  polyad_workspace *workspace = NULL;
  polyad_status status = try_tensor(context, POLYAD_F64, &tensor);
  if (status == POLYAD_OK) status = polyad_plan_create(context, tensor, data, &plan);
  if (status == POLYAD_OK) status = polyad_workspace_create(context, plan, 3, &workspace);
  static double a[90], out[90];
  const void *factors[3] = {a, a, a};
  for (int n = 0; n < 3 && status == POLYAD_OK; ++n)
    status = polyad_mttkrp(context, plan, workspace, n, factors, out);
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  return status;
}

static void test_failing_allocations(void **state) {
  (void)state;
  static const char *const chosen[][2] = {{"coo", "plain"}, {"coo", "tiled"}, {"csf", "two"}};
  for (size_t c = 0; c < sizeof chosen / sizeof *chosen; ++c) {
    polyad_plan_options options;
    polyad_plan_options_init(&options);
    options.format = chosen[c][0];
    options.variant = chosen[c][1];
    options.rank = 3;
    assert_true(sweep_failures(plan_and_run, &options, 2) > 10);
  }
}

static void test_cancel_ends_planning(void **state) {
  (void)state;
  struct setting s = start(POLYAD_F64);
  polyad_cancel(s.context);
  assert_int_equal(make(&s), POLYAD_CANCELLED);
  assert_null(s.plan);
  polyad_clear_cancel(s.context);
  assert_int_equal(make(&s), POLYAD_OK);
  end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bad_options),
      cmocka_unit_test(test_parameters),
      cmocka_unit_test(test_wrong_format_texts),
      cmocka_unit_test(test_described_parameters),
      cmocka_unit_test(test_facts),
      cmocka_unit_test(test_bytes),
      cmocka_unit_test(test_exact_bytes),
      cmocka_unit_test(test_memory_limit),
      cmocka_unit_test(test_take_consumes),
      cmocka_unit_test(test_tuning_measures),
      cmocka_unit_test(test_building_counts_against_sweeps),
      cmocka_unit_test(test_explanation_has_the_sum),
      cmocka_unit_test(test_full_tensors_are_dense),
      cmocka_unit_test(test_sweeps_of_a_run),
      cmocka_unit_test(test_phi_has_an_estimate_of_its_own),
      cmocka_unit_test(test_trees_of_csf),
      cmocka_unit_test(test_mttkrp_arguments),
      cmocka_unit_test(test_format_list),
      cmocka_unit_test(test_traits),
      cmocka_unit_test(test_columns_side_by_side),
      cmocka_unit_test(test_failing_allocations),
      cmocka_unit_test(test_huge_modes),
      cmocka_unit_test(test_cancel_ends_planning),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
