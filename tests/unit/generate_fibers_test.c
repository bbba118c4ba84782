/* Tensors like real ones: as many distinct tuples of modes and non-empty slices as are published,
 * or as a scaled tensor shall have. With the argument "large", the published tensors of more than
 * ten million nonzeros, too. */
#include "context_fixture.h"

#include "failing_allocator.h"
#include "tensor/generate_fibers.h"
#include "tensor/tensor.h"
#include <math.h>
#include <polyad/polyad.h>
#include <stdlib.h>
#include <string.h>

static bool large;

/* As printed by generate_real_tensor_siblings.sh of github.com/sparcityeu/GenTensor (T. Torun,
 * A. Taweel, D. Unat, arXiv 2405.04944), but the names; dims there are those of our names. */
static const struct published {
  const char *name;
  double density, fibers, slices;     /* -d, -f, -s: shares of all */
  double fibers_cv, fibers_imbalance; /* -c, -i: of fibers in a slice */
  double cv, imbalance;               /* -v, -b: of nonzeros in a fiber */
} published[] = {
    {"vast-3d", 6.91494E-03, 1.38299E-02, 1, 0.491576, 4.40365, 0, 0},
    {"darpa", 2.36749E-09, 1.51284E-04, 0.796316, 13.0705, 662.938, 23.081, 4865.32},
    {"delicious-3d", 6.14109E-12, 5.13691E-06, 1, 2.77251, 281.275, 1.39544, 1919.63},
    {"flickr-3d", 7.80441E-12, 3.12807E-06, 1, 3.28995, 282.905, 1.04003, 2379.12},
    {"nell-2", 2.40224E-05, 3.03788E-03, 1, 3.33216, 90.255, 0.891844, 30.2311},
    {"chicago", 1.45720E-02, 3.24257E-01, 0.95277, 0.405524, 1.82383, 0.525842, 6.64913},
    {"enron", 5.45810E-09, 3.70807E-06, 0.00438928, 4.13054, 201.934, 1.81761, 161.91},
    {"flickr", 1.06764E-14, 7.80441E-12, 3.13E-06, 1.04003, 2379.12, 0, 0},
    {"nips", 1.82988E-06, 3.11080E-05, 0.000826777, 0.18507, 1.57142, 0, 0},
    {"uber", 3.84967E-04, 1.38329E-01, 0.999772, 0.237467, 0.623016, 1.02074, 6.53394},
    {"chicago-geo", 8.87395E-06, 2.82242E-04, 0.101218, 0.303041, 7.17115, 0.0783952, 2.97571},
    {"lbnl-network", 4.23071E-14, 8.44184E-10, 2.09E-06, 7.972, 1158.87, 26.1939, 2179.7},
    {"vast", 7.76963E-07, 6.91497E-05, 0.00691494, 0.00182847, 0.999993, 0.000392067, 1},
    {"music", 1.10042E-09, 1.81193E-07, 0.970722, 24.4205, 94004.6, 0.0893693, 4.95151},
    {"freebase", 1.73319E-10, 9.16322E-08, 0.91059, 23.9764, 104494, 0.0785975, 4.96269},
    {"nell-1", 9.05415E-13, 2.79265E-06, 1, 13.6314, 4103.8, 7.49825, 5127.27}};

/* Numbers of children: how many nodes, their sum, sum of squares, largest. */
struct spread {
  double nodes, sum, squares, most, current;
};

static void end_node(struct spread *spread) {
  if (spread->current == 0) return;
  spread->nodes += 1;
  spread->sum += spread->current;
  spread->squares += spread->current * spread->current;
  spread->most = fmax(spread->most, spread->current);
  spread->current = 0;
}

static double cv_of(const struct spread *spread) {
  double mean = spread->sum / spread->nodes;
  return sqrt(fmax(0, spread->squares / spread->nodes - mean * mean)) / mean;
}

/* What one pass over the sorted nonzeros of a generator counts. */
struct census {
  int order;
  uint64_t dims[POLYAD_MAX_ORDER], nnz;
  uint64_t last[POLYAD_MAX_ORDER];
  uint64_t tuples[POLYAD_MAX_ORDER]; /* distinct, of modes 1 to n + 1 */
  struct spread children[POLYAD_MAX_ORDER];
  unsigned char *seen[POLYAD_MAX_ORDER];
  uint64_t slices[POLYAD_MAX_ORDER];
};

/* Nonzeros must ascend: then none repeats. */
static void count_nonzero(struct census *census, const uint64_t *index) {
  int first = 0; /* mode in which it differs from the one before */
  if (census->nnz > 0) {
    while (first < census->order && index[first] == census->last[first])
      ++first;
    assert_true(first < census->order && index[first] > census->last[first]);
  }
  for (int n = 0; n < census->order; ++n) {
    if (n >= first) {
      ++census->tuples[n];
      if (n > first) end_node(&census->children[n]);
      ++census->children[n].current;
    }
    if (!census->seen[n][index[n]]) ++census->slices[n];
    census->seen[n][index[n]] = 1;
    census->last[n] = index[n];
  }
  ++census->nnz;
}

static uint64_t index_at(const struct census *census, void *const *index, int n, uint64_t p) {
  return pd_index_bytes(census->dims[n]) == 4 ? ((const uint32_t *)index[n])[p]
                                              : ((const uint64_t *)index[n])[p];
}

/* Counts a tensor piece by piece. */
static void take_census(const polyad_generate_options *options, struct census *census) {
  struct pd_generator *generator;
  if (pd_generator_create(context, options, &generator) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  *census = (struct census){.order = pd_generator_order(generator)};
  memcpy(census->dims, pd_generator_dims(generator), (size_t)census->order * sizeof(uint64_t));
  for (int n = 0; n < census->order; ++n)
    assert_non_null(census->seen[n] = calloc(census->dims[n], 1));
  uint64_t leaves = pd_generator_leaves(generator), next;
  for (uint64_t leaf = 0; leaf < leaves; leaf = next) {
    uint64_t begin = pd_generator_begin(generator, leaf);
    next = leaf + 1;
    while (next < leaves && pd_generator_begin(generator, next + 1) - begin < 1 << 20)
      ++next;
    uint64_t count = pd_generator_begin(generator, next) - begin, at[POLYAD_MAX_ORDER];
    void *index[POLYAD_MAX_ORDER], *values = malloc(count * sizeof(double));
    for (int n = 0; n < census->order; ++n)
      assert_non_null(index[n] = malloc(count * sizeof(uint64_t)));
    assert_int_equal(pd_generator_fill(context, generator, leaf, next, index, values), POLYAD_OK);
    for (uint64_t p = 0; p < count; ++p) {
      for (int n = 0; n < census->order; ++n)
        at[n] = index_at(census, index, n, p);
      count_nonzero(census, at);
    }
    for (int n = 0; n < census->order; ++n)
      free(index[n]);
    free(values);
  }
  for (int n = 1; n < census->order; ++n)
    end_node(&census->children[n]);
  assert_true(census->nnz == pd_generator_nnz(generator));
  pd_generator_destroy(context, generator);
}

static void end_census(struct census *census) {
  for (int n = 0; n < census->order; ++n)
    free(census->seen[n]);
}

static polyad_generate_options options_like(const char *name, double scale) {
  polyad_generate_options options;
  polyad_generate_options_init(&options);
  options.like = name;
  options.scale = scale;
  return options;
}

static bool within(double value, double expected, double share) {
  return fabs(value - expected) <= share * expected;
}

static void expect_near(const char *name, const char *what, double found, double expected,
                        double share) {
  if (!within(found, expected, share))
    fail_msg("%s of %s: %g found, %g expected", what, name, found, expected);
}

/* Shares are printed with three digits or more. The spread of numbers drawn from a law with a long
 * tail is itself a random number: for those, a factor of two. */
static void check_published(const struct published *real) {
  polyad_generate_options options = options_like(real->name, 1);
  struct census census;
  take_census(&options, &census);
  double cells = 1;
  int last = census.order - 1;
  for (int n = 0; n <= last; ++n)
    cells *= (double)census.dims[n];
  double fibers = cells / (double)census.dims[last];
  double slices = fibers / (double)census.dims[last - 1];
  expect_near(real->name, "nonzeros", (double)census.nnz, real->density * cells, 1e-5);
  expect_near(real->name, "fibers", (double)census.tuples[last - 1], real->fibers * fibers, 0.005);
  expect_near(real->name, "slices", (double)census.tuples[last - 2], real->slices * slices, 0.005);
  const struct spread *in_slice = &census.children[last - 1], *in_fiber = &census.children[last];
  double loose = real->fibers_cv > 2 || real->cv > 2 ? 0.5 : 0.1;
  expect_near(real->name, "cv of fibers", cv_of(in_slice), real->fibers_cv, loose);
  expect_near(real->name, "cv of nonzeros", cv_of(in_fiber), real->cv, loose);
  /* largest values are whole numbers up to the digits printed */
  double most = (1 + real->fibers_imbalance) * in_slice->sum / in_slice->nodes;
  assert_true(in_slice->most <= 1.005 * most + 1);
  most = (1 + real->imbalance) * in_fiber->sum / in_fiber->nodes;
  assert_true(in_fiber->most <= 1.005 * most + 1);
  for (int n = 1; n <= last; ++n)
    assert_true(census.slices[n] == census.dims[n]);
  if (last > 2) assert_true(census.slices[0] == census.dims[0]);
  end_census(&census);
}

static void published_counts_are_met(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof published / sizeof *published; ++k) {
    polyad_generate_options options = options_like(published[k].name, 1), whole;
    struct pd_profiles profiles;
    assert_int_equal(pd_generate_resolve(context, &options, &whole, &profiles), POLYAD_OK);
    bool is_large = whole.nnz > 10000000;
    if (is_large != large) continue;
    if (large) print_message("%s\n", published[k].name);
    check_published(&published[k]);
  }
}

/* Scaled tensors have the counts that they shall have, down to a single nonzero. */
static void scaled_counts_are_met(void **state) {
  (void)state;
  static const double scales[] = {1e-9, 1e-5, 0.003, 2};
  for (size_t k = 0; k < sizeof published / sizeof *published; ++k)
    for (size_t s = 0; s < sizeof scales / sizeof *scales; ++s) {
      polyad_generate_options options = options_like(published[k].name, scales[s]), whole;
      struct pd_profiles profiles;
      if (pd_generate_resolve(context, &options, &whole, &profiles) != POLYAD_OK) fail();
      if (whole.nnz > (options.scale > 1 ? 4000000 : 250000)) continue;
      struct pd_fiber_counts counts =
          pd_fiber_counts(profiles.fibers, whole.order, whole.dims, whole.nnz, options.scale);
      struct census census;
      take_census(&options, &census);
      assert_true(census.nnz == whole.nnz);
      for (int n = 0; n < whole.order; ++n) {
        assert_true(census.tuples[n] == counts.tuples[n]);
        assert_true(census.slices[n] == counts.slices[n]);
      }
      end_census(&census);
    }
}

/* Fibers keep their lengths when a tensor is scaled. */
static void scaling_keeps_fibers(void **state) {
  (void)state;
  polyad_generate_options options = options_like("nell-2", 0.05);
  struct census census;
  take_census(&options, &census);
  assert_true(within((double)census.nnz / (double)census.tuples[1], 76879419.0 / 337365, 0.001));
  assert_true(census.slices[0] == 4217 && census.slices[2] == 28818); /* 337365 * 0.05 / 4 */
  end_census(&census);
}

static uint64_t hash_of(const polyad_generate_options *options) {
  polyad_tensor *x;
  if (polyad_generate(context, options, &x, NULL) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  assert_int_equal(polyad_tensor_repeats_merged(x), 0);
  uint64_t hash = polyad_tensor_hash(x);
  polyad_tensor_destroy(x);
  return hash;
}

static void threads_and_seed(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof published / sizeof *published; ++k) {
    polyad_generate_options options = options_like(published[k].name, 0.0007);
    assert_int_equal(polyad_set_threads(context, 1), POLYAD_OK);
    uint64_t hash = hash_of(&options);
    assert_int_equal(polyad_set_threads(context, 4), POLYAD_OK);
    assert_true(hash == hash_of(&options));
    polyad_set_seed(context, 1);
    assert_true(hash != hash_of(&options));
    polyad_set_seed(context, 0);
  }
}

/* Flat tensors are those that were made before fibers were counted. */
static void flat_tensors_stay(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double scale;
    uint64_t hash;
  } table[] = {{"uber", 0.01, UINT64_C(0x8eb78ef65008a12a)},
               {"nips", 0.02, UINT64_C(0x7a8eb6ad2d95ab70)},
               {"nell-2", 0.0005, UINT64_C(0xd84a9f7697c389c1)},
               {"vast", 0.001, UINT64_C(0xac5f47926356060d)},
               {"book", 1, UINT64_C(0x2051016573c5fb1d)}};
  for (size_t k = 0; k < sizeof table / sizeof *table; ++k) {
    polyad_generate_options options = options_like(table[k].name, table[k].scale);
    options.structure = POLYAD_STRUCTURE_FLAT;
    uint64_t hash = hash_of(&options);
    if (hash != table[k].hash)
      fail_msg("%s has hash %#llx", table[k].name, (unsigned long long)hash);
  }
}

static void structures_are_chosen(void **state) {
  (void)state;
  polyad_tensor *x;
  polyad_generate_options options = options_like("uber", 0.001);
  uint64_t automatic = hash_of(&options);
  options.structure = POLYAD_STRUCTURE_FIBERS;
  assert_true(automatic == hash_of(&options));
  options.structure = POLYAD_STRUCTURE_FLAT;
  assert_true(automatic != hash_of(&options));
  options.structure = (polyad_structure)3;
  expect_error(polyad_generate(context, &options, &x, NULL), POLYAD_INVALID_ARGUMENT,
               "structure 3");
  options = options_like("art", 1);
  uint64_t tiles = hash_of(&options);
  options.structure = POLYAD_STRUCTURE_FLAT;
  assert_true(tiles == hash_of(&options));
  options.structure = POLYAD_STRUCTURE_FIBERS;
  expect_error(polyad_generate(context, &options, &x, NULL), POLYAD_INVALID_ARGUMENT,
               "fibers of art");
  options.like = NULL;
  options.order = 1;
  options.dims[0] = options.nnz = 5;
  expect_error(polyad_generate(context, &options, &x, NULL), POLYAD_INVALID_ARGUMENT,
               "fibers of dims");
  options = options_like("nell-1", 1e9);
  expect_error(polyad_generate(context, &options, &x, NULL), POLYAD_UNSUPPORTED, "expected fewer");
}

/* Words, years and dates come back where the data repeat them: every author of a paper of nips has
 * its words, and a paper has one year. */
static void tuples_have_children_in_common(void **state) {
  (void)state;
  polyad_generate_options options = options_like("nips", 1);
  polyad_tensor *x;
  assert_int_equal(polyad_generate(context, &options, &x, NULL), POLYAD_OK);
  polyad_tensor_statistics statistics;
  assert_int_equal(polyad_tensor_statistics_compute(context, x, &statistics), POLYAD_OK);
  /* A fiber along authors has every author of the paper that has the word: 2.4 on average. */
  double authors = (double)polyad_tensor_nnz(x) / (double)statistics.fibers[1];
  assert_true(authors > 1.8 && authors < 2.5);
  uint64_t *year = calloc(2482, sizeof *year), years = 0;
  for (uint64_t p = 0; p < x->nnz; ++p) {
    uint64_t *seen = &year[pd_tensor_index(x, 0, p)];
    uint64_t bit = UINT64_C(1) << pd_tensor_index(x, 3, p);
    years += (*seen & bit) == 0;
    *seen |= bit;
  }
  assert_true(years < 2482 + 40); /* the years on which no paper would fall are forced */
  free(year);
  polyad_tensor_destroy(x);
}

static polyad_status make(polyad_context *failing, void *data) {
  polyad_tensor *x = NULL;
  polyad_status status = polyad_generate(failing, data, &x, NULL);
  polyad_tensor_destroy(x);
  return status;
}

static void allocations_may_fail(void **state) {
  (void)state;
  polyad_generate_options options = options_like("lbnl-network", 0.001);
  assert_true(sweep_failures(make, &options, 2) > 12);
}

int main(int argc, char **argv) {
  large = argc > 1 && strcmp(argv[1], "large") == 0;
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(published_counts_are_met), /* all that "large" runs */
      TEST(scaled_counts_are_met),    TEST(scaling_keeps_fibers),
      TEST(threads_and_seed),         TEST(flat_tensors_stay),
      TEST(structures_are_chosen),    TEST(tuples_have_children_in_common),
      TEST(allocations_may_fail),
  };
  if (large)
    return cmocka_run_group_tests_name("large", ((const struct CMUnitTest[]){tests[0]}), NULL,
                                       NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
