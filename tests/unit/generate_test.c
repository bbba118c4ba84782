/* Generators: exact numbers of distinct nonzeros, laws, published tensors, known models. */
#include "context_fixture.h"

#include "failing_allocator.h"
#include "tensor/generate.h"
#include "tensor/ktensor.h"
#include "tensor/tensor.h"
#include <float.h>
#include <math.h>
#include <polyad/polyad.h>
#include <stdlib.h>
#include <string.h>

static polyad_generate_options options_of(int order, const uint64_t *dims, uint64_t nnz) {
  polyad_generate_options options;
  polyad_generate_options_init(&options);
  options.order = order;
  options.nnz = nnz;
  memcpy(options.dims, dims, (size_t)order * sizeof *dims);
  return options;
}

/* Generates, checks what holds for every tensor, and that no cell repeats. */
static polyad_tensor *generate(const polyad_generate_options *options, polyad_ktensor **truth) {
  polyad_tensor *x;
  polyad_status status = polyad_generate(context, options, &x, truth);
  if (status != POLYAD_OK) fail_msg("%s", polyad_last_error(context));
  assert_int_equal(pd_tensor_check(context, x), POLYAD_OK);
  assert_int_equal(polyad_tensor_repeats_merged(x), 0);
  assert_int_equal(polyad_tensor_zeros_dropped(x), 0);
  return x;
}

struct shape {
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  double skew, cluster;
};

#define HUGE_DIM ((uint64_t)INT64_MAX)
static const struct shape shapes[] = {
    {1, {1}, 1, 0, 0},
    {1, {1000}, 1000, 1, 0},
    {1, {5000}, 2500, 0.7, 0},
    {1, {HUGE_DIM}, 3000, 0, 0},
    {1, {HUGE_DIM}, 3000, 0.9, 0},
    {2, {300, 200}, 60000, 1.2, 0.5}, /* every cell */
    {2, {300, 200}, 59999, 1.2, 0.5},
    {2, {2, 1000000}, 900000, 0.5, 0}, /* slices of more than a leaf */
    {2, {1, 1}, 1, 0, 0},
    {3, {50, 60, 70}, 40000, 0, 0},
    {3, {50, 60, 70}, 40000, 1.5, 0.6}, /* the law alone cannot find so many cells */
    {3, {100000, 3, 80000}, 200000, 0.8, 0.3},
    {3, {HUGE_DIM, HUGE_DIM, HUGE_DIM}, 20000, 0.5, 0.2},
    {4, {200000000, 4, 5, 6}, 50000, 1, 0.4}, /* too long to scatter */
    {5, {15, 1, 7, 100, 9}, 12345, 0.3, 0.5},
    {16, {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, 30000, 0.4, 0.3},
    {16,
     {1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20,
      1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20},
     20000,
     0.2,
     0.3}};

static void nonzeros_are_exact_and_distinct(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof shapes / sizeof *shapes; ++c) {
    polyad_generate_options options = options_of(shapes[c].order, shapes[c].dims, shapes[c].nnz);
    for (int n = 0; n < options.order; ++n)
      options.skew[n] = shapes[c].skew;
    options.cluster = shapes[c].cluster;
    options.type = c % 2 == 0 ? POLYAD_F32 : POLYAD_F64;
    uint64_t hash = 0;
    for (int threads = 1; threads <= 4; threads += 3) {
      assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
      polyad_tensor *x = generate(&options, NULL);
      assert_int_equal(polyad_tensor_nnz(x), shapes[c].nnz);
      assert_memory_equal(polyad_tensor_dims(x), shapes[c].dims,
                          (size_t)options.order * sizeof(uint64_t));
      for (uint64_t p = 0; p < polyad_tensor_nnz(x); ++p) {
        double value = pd_tensor_value(x, p);
        assert_true(value >= 1 && value <= 9 && value == floor(value));
      }
      if (threads == 1) hash = polyad_tensor_hash(x);
      assert_true(hash == polyad_tensor_hash(x));
      polyad_tensor_destroy(x);
    }
    if (shapes[c].dims[0] <= 2) continue;
    polyad_set_seed(context, 1);
    polyad_tensor *other = generate(&options, NULL);
    assert_true(hash != polyad_tensor_hash(other));
    polyad_tensor_destroy(other);
    polyad_set_seed(context, 0);
  }
}

static polyad_tensor_statistics statistics_of(const polyad_generate_options *options) {
  polyad_tensor *x = generate(options, NULL);
  polyad_tensor_statistics statistics;
  assert_int_equal(polyad_tensor_statistics_compute(context, x, &statistics), POLYAD_OK);
  polyad_tensor_destroy(x);
  return statistics;
}

/* Uniform: each mode's slices deviate as Poisson counts do. Skewed: the fullest slice holds the
 * share that the law gives its heaviest index. Clustered: fibers hold several nonzeros. */
static void laws_are_followed(void **state) {
  (void)state;
  const uint64_t dims[] = {1000, 800, 60000};
  polyad_generate_options options = options_of(3, dims, 300000);
  polyad_tensor_statistics uniform = statistics_of(&options);
  for (int n = 0; n < 3; ++n) {
    double poisson = sqrt(uniform.slice_mean[n]);
    assert_true(fabs(uniform.slice_deviation[n] / poisson - 1) < 0.2);
  }
  options.skew[0] = options.skew[1] = options.skew[2] = 0.8;
  polyad_tensor_statistics skewed = statistics_of(&options);
  for (int n = 0; n < 2; ++n) {
    double share = (pow(2, 0.2) - 1) / (pow((double)dims[n] + 1, 0.2) - 1);
    double heaviest = (double)skewed.slice_max[n] / 300000;
    assert_true(heaviest > 0.7 * share && heaviest < 1.3 * share);
    assert_true(skewed.slice_deviation[n] > 3 * uniform.slice_deviation[n]);
  }
  options.cluster = 0.75;
  polyad_tensor_statistics clustered = statistics_of(&options);
  double length = 300000 / (double)clustered.fibers[2];
  double plain = 300000 / (double)skewed.fibers[2];
  assert_true(length > 2 * plain); /* 1 / (1 - 0.75) at best */
}

/* Any run of leaves gives the same nonzeros as the whole. */
static void leaves_make_the_whole(void **state) {
  (void)state;
  const uint64_t dims[] = {700, HUGE_DIM, 30};
  polyad_generate_options cases[2] = {options_of(3, dims, 400000)};
  cases[0].skew[1] = 0.5;
  polyad_generate_options_init(&cases[1]);
  cases[1].like = "book";
  for (int c = 0; c < 2; ++c) {
    polyad_tensor *x = generate(&cases[c], NULL);
    struct pd_generator *generator;
    assert_int_equal(pd_generator_create(context, &cases[c], &generator), POLYAD_OK);
    uint64_t leaves = pd_generator_leaves(generator);
    assert_true(leaves > 5);
    assert_int_equal(pd_generator_order(generator), 3);
    assert_true(pd_generator_begin(generator, leaves) == pd_generator_nnz(generator));
    assert_true(pd_generator_nnz(generator) == x->nnz);
    for (uint64_t first = 0; first < leaves; first += 4) {
      uint64_t last = first + 4 < leaves ? first + 4 : leaves;
      uint64_t begin = pd_generator_begin(generator, first);
      uint64_t count = pd_generator_begin(generator, last) - begin;
      void *index[3], *values = malloc(count * 8 + 1);
      for (int n = 0; n < 3; ++n)
        index[n] = malloc(count * 8 + 1);
      assert_int_equal(pd_generator_fill(context, generator, first, last, index, values),
                       POLYAD_OK);
      for (int n = 0; n < 3; ++n) {
        size_t bytes = (size_t)x->index_bytes[n];
        assert_memory_equal(index[n], (char *)x->index[n] + begin * bytes, count * bytes);
        free(index[n]);
      }
      assert_memory_equal(values, (double *)x->values + begin, count * 8);
      free(values);
    }
    pd_generator_destroy(context, generator);
    pd_generator_destroy(context, NULL);
    polyad_tensor_destroy(x);
  }
}

static void published_tensors_have_their_size(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int order;
    uint64_t dims[5];
    uint64_t nnz;
  } table[] = {{"amazon", 3, {15200000, 43500000, 7800}, 233100000},
               {"delicious", 4, {532924, 17262471, 2480308, 1443}, 140126181},
               {"music", 3, {23343790, 23344784, 166}, 99546551},
               {"nell-1", 3, {2902330, 2143368, 25495389}, 143599552},
               {"twitch", 5, {15500000, 6200000, 783900, 6100, 6100}, 474700000},
               {"vast", 5, {165427, 11374, 2, 100, 89}, 26021945},
               {"chicago", 4, {6186, 24, 77, 32}, 5330673},
               {"enron", 4, {6066, 5699, 244268, 1176}, 54202099},
               {"nips", 4, {2482, 2862, 14036, 17}, 3101609},
               {"uber", 4, {183, 24, 1140, 1717}, 3309490},
               {"nell-2", 3, {12092, 9184, 28818}, 76879419},
               {"lbnl-network", 5, {1605, 4198, 1631, 4209, 868131}, 1698825},
               {"vast-3d", 3, {165427, 11374, 2}, 26021854},
               {"chicago-geo", 5, {6185, 24, 380, 395, 32}, 6327011},
               {"delicious-3d", 3, {532924, 17262471, 2480308}, 140126181},
               {"flickr-3d", 3, {319686, 28153045, 1607191}, 112890310},
               {"flickr", 4, {319686, 28153045, 1607191, 731}, 112890310},
               {"darpa", 3, {22476, 22476, 23776223}, 28436033},
               {"freebase", 3, {38954435, 38955429, 532}, 139920771},
               {"reddit", 3, {8211298, 176962, 8116559}, 4687474081},
               {"patents", 3, {46, 239172, 239172}, 3596640708},
               {"movies", 3, {1238, 5665, 1078}, 11440996},
               {"art", 3, {669, 379, 251}, 63066},
               {"book", 3, {364, 104, 227}, 93866},
               {"g1", 3, {480, 875, 749}, 10685223},
               {"g2", 3, {480, 875, 749}, 10806566},
               {"g3", 3, {480, 875, 749}, 10638476}};
  int count = (int)(sizeof table / sizeof *table);
  for (int k = 0; k < count; ++k) {
    assert_string_equal(polyad_generate_like_name(k), table[k].name);
    polyad_generate_options options;
    polyad_generate_options_init(&options);
    options.like = table[k].name;
    double whole = (double)table[k].nnz;
    options.scale = whole > 6e6 ? 100000 / whole : 1; /* the large ones in part */
    polyad_tensor *x = generate(&options, NULL);
    assert_int_equal(polyad_tensor_order(x), table[k].order);
    assert_memory_equal(polyad_tensor_dims(x), table[k].dims,
                        (size_t)table[k].order * sizeof(uint64_t));
    assert_int_equal(polyad_tensor_nnz(x), whole > 6e6 ? 100000 : table[k].nnz);
    polyad_tensor_destroy(x);
  }
  assert_null(polyad_generate_like_name(count));
  assert_null(polyad_generate_like_name(-1));
}

/* Rows of the paper's Table IV in MiB: thresholds 82, 78, 61, 41, and tiles only; `index_bits` of
 * one nonzero as its column for single nonzeros implies; the dense share at threshold 78 that the
 * generator's table derives from them. */
static const struct tile_case {
  const char *name;
  double index_bits, hybrid[4], tiles_only, dense_share;
} tile_cases[] = {{"movies", 32, {49.63, 49.88, 51.58, 55.48}, 175.25, 0.716},
                  {"art", 24, {0.25, 0.25, 0.27, 0.29}, 0.87, 0.718},
                  {"book", 24, {0.39, 0.39, 0.41, 0.45}, 1.04, 0.778},
                  {"g1", 24, {37.95, 38.11, 38.98, 40.45}, 48.23, 0.949},
                  {"g2", 24, {38.09, 38.26, 39.17, 40.61}, 48.35, 0.949},
                  {"g3", 24, {37.83, 38.00, 38.87, 40.40}, 48.23, 0.947}};

static bool within(double value, double expected, double share) {
  return fabs(value - expected) <= share * expected;
}

static void check_tiles(const struct tile_case *expected) {
  static const uint64_t thresholds[] = {82, 78, 61, 41};
  polyad_generate_options options;
  polyad_generate_options_init(&options);
  options.like = expected->name;
  options.type = POLYAD_F32;
  polyad_tensor *x = generate(&options, NULL);
  uint64_t grid[3], tile_bits = 4096, tiles = 0;
  for (int n = 0; n < 3; ++n) {
    grid[n] = (x->dims[n] + 15) / 16;
    tile_bits += (uint64_t)pd_index_bits(grid[n]);
  }
  uint64_t cells = grid[0] * grid[1] * grid[2], *count = calloc(cells, sizeof *count);
  for (uint64_t p = 0; p < x->nnz; ++p)
    ++count[(pd_tensor_index(x, 0, p) / 16 * grid[1] + pd_tensor_index(x, 1, p) / 16) * grid[2] +
            pd_tensor_index(x, 2, p) / 16];
  for (uint64_t t = 0; t < cells; ++t)
    tiles += count[t] != 0;
  double mib = 8.0 * 1024 * 1024, values = 16 * (double)x->nnz;
  assert_true(
      within(((double)tiles * (double)tile_bits + values) / mib, expected->tiles_only, 0.02));
  for (int k = 0; k < 4; ++k) {
    uint64_t dense = 0, dense_tiles = 0;
    for (uint64_t t = 0; t < cells; ++t)
      if (count[t] >= thresholds[k]) {
        dense += count[t];
        ++dense_tiles;
      }
    double bits = values + expected->index_bits * (double)(x->nnz - dense) +
                  (double)tile_bits * (double)dense_tiles;
    assert_true(within(bits / mib, expected->hybrid[k], 0.03));
    if (thresholds[k] == 78)
      assert_true(within((double)dense / (double)x->nnz, expected->dense_share, 0.05));
  }
  free(count);
  polyad_tensor_destroy(x);
}

static void tiles_are_as_published(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof tile_cases / sizeof *tile_cases; ++c)
    check_tiles(&tile_cases[c]);
}

static void tiles_may_be_scaled(void **state) {
  (void)state;
  static const double scales[] = {1e-9, 0.01, 0.5, 8, 90}; /* at last most cells of the tensor */
  for (int c = 0; c < 5; ++c) {
    polyad_generate_options options;
    polyad_generate_options_init(&options);
    options.like = "book";
    options.scale = scales[c];
    polyad_tensor *x = generate(&options, NULL);
    double expected = round(93866 * scales[c]);
    assert_true((double)polyad_tensor_nnz(x) == (expected < 1 ? 1 : expected));
    polyad_tensor_destroy(x);
  }
}

static double fit_of(const polyad_ktensor *truth, const polyad_tensor *x) {
  double fit;
  assert_int_equal(polyad_ktensor_fit(context, truth, x, &fit), POLYAD_OK);
  return fit;
}

/* Without noise the model explains the tensor but for the few cells that were too many; with
 * noise the residual is the noise. */
static void known_models_are_there(void **state) {
  (void)state;
  static const struct shape cases[] = {{3, {60, 50, 40}, 20000, 0, 0},
                                       {3, {9, 8, 7}, 504, 0, 0}, /* every cell */
                                       {2, {1000, 3}, 1500, 0, 0},
                                       {4, {30, 1, 40, 50}, 7777, 0, 0}};
  for (int c = 0; c < 4; ++c)
    for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
      polyad_generate_options options = options_of(cases[c].order, cases[c].dims, cases[c].nnz);
      options.rank = 4;
      options.type = (polyad_type)type;
      polyad_ktensor *truth;
      polyad_tensor *x = generate(&options, &truth);
      assert_int_equal(polyad_tensor_nnz(x), cases[c].nnz);
      assert_int_equal(polyad_ktensor_rank(truth), 4);
      double eps = type == POLYAD_F32 ? FLT_EPSILON : DBL_EPSILON;
      assert_true(fit_of(truth, x) >= (c == 1 ? 1 - 8 * eps : 0.999));
      uint64_t hash = polyad_tensor_hash(x);
      polyad_tensor_destroy(x);
      polyad_ktensor_destroy(truth);
      assert_int_equal(polyad_set_threads(context, 1), POLYAD_OK);
      x = generate(&options, NULL);
      assert_true(hash == polyad_tensor_hash(x));
      polyad_tensor_destroy(x);
      options.noise = 0.25;
      x = generate(&options, &truth);
      assert_int_equal(polyad_tensor_nnz(x), cases[c].nnz);
      assert_true(fabs(fit_of(truth, x) - (1 - 0.25 / sqrt(1 + 0.25 * 0.25))) < 0.03);
      polyad_tensor_destroy(x);
      polyad_ktensor_destroy(truth);
      assert_int_equal(polyad_set_threads(context, 3), POLYAD_OK);
    }
}

static void poisson_counts_follow_the_model(void **state) {
  (void)state;
  const uint64_t dims[] = {40, 30, 20};
  polyad_generate_options options = options_of(3, dims, 12000);
  options.rank = 3;
  options.poisson = 1;
  polyad_ktensor *truth;
  polyad_tensor *x = generate(&options, &truth);
  assert_int_equal(polyad_tensor_nnz(x), 12000);
  double events = 0, weights = 0, expected = 0, deviation = 0;
  for (uint64_t p = 0; p < 12000; ++p) {
    double value = pd_tensor_value(x, p);
    assert_true(value >= 1 && value == floor(value));
    events += value;
  }
  for (uint64_t r = 0; r < 3; ++r)
    weights += ((double *)truth->weights)[r];
  assert_true(within(weights, events, 16 * DBL_EPSILON));
  /* Slices of mode 0 against their means: chi-squared with 40 degrees of freedom. */
  double *slice = calloc(40, 8);
  for (uint64_t p = 0; p < 12000; ++p)
    slice[pd_tensor_index(x, 0, p)] += pd_tensor_value(x, p);
  for (uint64_t i = 0; i < 40; ++i) {
    double mean = 0;
    for (uint64_t r = 0; r < 3; ++r)
      mean += ((double *)truth->weights)[r] * ((double *)truth->factor[0])[i * 3 + r];
    expected += mean;
    deviation += (slice[i] - mean) * (slice[i] - mean) / mean;
  }
  assert_true(within(expected, events, 64 * DBL_EPSILON));
  assert_true(deviation < 40 + 5 * sqrt(2 * 40));
  free(slice);
  polyad_tensor_destroy(x);
  polyad_ktensor_destroy(truth);
  options.nnz = 24000; /* the last cells are hit too rarely */
  polyad_tensor *none;
  expect_error(polyad_generate(context, &options, &none, NULL), POLYAD_INVALID_ARGUMENT,
               "fewer nonzeros");
}

static void bad_options_are_named(void **state) {
  (void)state;
  const uint64_t dims[] = {10, 20};
  polyad_generate_options good = options_of(2, dims, 50), options;
  polyad_tensor *x;
#define EXPECT(change, part)                                                                       \
  do {                                                                                             \
    options = good;                                                                                \
    change;                                                                                        \
    expect_error(polyad_generate(context, &options, &x, NULL), POLYAD_INVALID_ARGUMENT, part);     \
    assert_null(x);                                                                                \
  } while (0)
  EXPECT(options.nnz = 201, "201 nonzeros; expected at most the 200 cells");
  EXPECT(options.nnz = 0, "0 nonzeros");
  EXPECT(options.order = 0, "order 0");
  EXPECT(options.order = 17, "order 17");
  EXPECT(options.dims[1] = 0, "mode 1 has length 0");
  EXPECT(options.dims[1] = UINT64_MAX, "mode 1");
  EXPECT(options.skew[1] = -1, "skew -1 of mode 1");
  EXPECT(options.skew[1] = NAN, "skew nan");
  EXPECT(options.cluster = 1, "cluster 1");
  EXPECT(options.cluster = -0.5, "cluster -0.5");
  EXPECT(options.type = (polyad_type)7, "type 7");
  EXPECT(options.noise = 0.1, "need a rank");
  EXPECT(options.poisson = 1, "need a rank");
  EXPECT((options.rank = 2, options.noise = -1), "noise -1");
  EXPECT((options.rank = 2, options.noise = 1, options.poisson = 1), "their own noise");
  EXPECT((options.rank = 2, options.skew[1] = 1), "skew or cluster found with a rank");
  EXPECT((options.rank = 2, options.cluster = 0.5), "skew or cluster found with a rank");
  EXPECT((options.like = "uber", options.skew[1] = 1), "skew or cluster found with like");
  EXPECT((options.like = "uber", options.cluster = 0.5), "skew or cluster found with like");
  EXPECT(options.like = "netflix", "'netflix'; expected amazon, delicious");
  EXPECT((options.like = "uber", options.scale = 0), "scale 0 of uber");
  EXPECT((options.like = "uber", options.scale = NAN), "scale nan");
  EXPECT((options.like = "uber", options.scale = 1e30), "scale 1e+30");
  EXPECT((options.like = "art", options.scale = 1e4), "cells");
  expect_error(polyad_generate(context, NULL, &x, NULL), POLYAD_INVALID_ARGUMENT, "NULL");
  expect_error(polyad_generate(context, &good, NULL, NULL), POLYAD_INVALID_ARGUMENT, "NULL");
  options = good;
  options.rank = 1;
  struct pd_generator *generator;
  pd_begin(context);
  expect_error(pd_generator_create(context, &options, &generator), POLYAD_UNSUPPORTED, "whole");
}

static void limits_and_cancelling_are_obeyed(void **state) {
  (void)state;
  polyad_generate_options options;
  polyad_generate_options_init(&options);
  options.like = "uber";
  polyad_tensor *x;
  polyad_cancel(context);
  assert_int_equal(polyad_generate(context, &options, &x, NULL), POLYAD_CANCELLED);
  const uint64_t small[] = {30, 20, 10};
  for (int poisson = 0; poisson < 2; ++poisson) {
    polyad_generate_options known = options_of(3, small, 500);
    known.rank = 2;
    known.poisson = poisson;
    assert_int_equal(polyad_generate(context, &known, &x, NULL), POLYAD_CANCELLED);
  }
  polyad_clear_cancel(context);
  assert_int_equal(polyad_set_memory_limit(context, 16 << 20), POLYAD_OK);
  expect_error(polyad_generate(context, &options, &x, NULL), POLYAD_MEMORY_LIMIT,
               "the generated tensor");
}

static polyad_status make(polyad_context *failing, void *data) {
  polyad_tensor *x = NULL;
  polyad_ktensor *truth = NULL;
  polyad_status status = polyad_generate(failing, data, &x, &truth);
  polyad_tensor_destroy(x);
  polyad_ktensor_destroy(truth);
  return status;
}

static void allocations_may_fail(void **state) {
  (void)state;
  const uint64_t dims[] = {30, 20, 10};
  polyad_generate_options options = options_of(3, dims, 500);
  options.skew[0] = 1;
  assert_true(sweep_failures(make, &options, 2) > 6);
  options.skew[0] = 0;
  options.rank = 2;
  assert_true(sweep_failures(make, &options, 2) > 10);
  options.poisson = 1;
  assert_true(sweep_failures(make, &options, 2) > 10);
  polyad_generate_options_init(&options);
  options.like = "art";
  assert_true(sweep_failures(make, &options, 2) > 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(nonzeros_are_exact_and_distinct),
      TEST(laws_are_followed),
      TEST(leaves_make_the_whole),
      TEST(published_tensors_have_their_size),
      TEST(tiles_are_as_published),
      TEST(tiles_may_be_scaled),
      TEST(known_models_are_there),
      TEST(poisson_counts_follow_the_model),
      TEST(bad_options_are_named),
      TEST(limits_and_cancelling_are_obeyed),
      TEST(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
