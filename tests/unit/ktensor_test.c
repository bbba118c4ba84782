/* Kruskal tensors: shapes, normal forms, order and signs of components. */
#include "ktensor_fixture.h"
#include "tensor/hash_items.h"

#include <float.h>
#include <omp.h>

static void starts_with_ones_and_zeros(void **state) {
  (void)state;
  const uint64_t dims[] = {2, 3};
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
    polyad_ktensor *m = model(2, dims, 4, (polyad_type)type);
    assert_int_equal(polyad_ktensor_order(m), 2);
    assert_int_equal(polyad_ktensor_rank(m), 4);
    assert_int_equal(polyad_ktensor_type(m), type);
    assert_memory_equal(polyad_ktensor_dims(m), dims, sizeof dims);
    for (uint64_t r = 0; r < 4; ++r)
      assert_true(get(polyad_ktensor_weights(m), m->type, r) == 1);
    for (uint64_t e = 0; e < 12; ++e)
      assert_true(get(polyad_ktensor_factor(m, 1), m->type, e) == 0);
    assert_null(polyad_ktensor_factor(m, 2));
    assert_null(polyad_ktensor_factor(m, -1));
    polyad_ktensor_destroy(m);
  }
  polyad_ktensor_destroy(NULL);
}

/* The largest order leaves no empty place behind the last factor. */
static void factors_end_with_the_last_mode(void **state) {
  (void)state;
  struct failing_allocator guarded = {INT32_MAX, 0, true};
  polyad_allocator allocator = {failing_allocate, failing_release, &guarded};
  polyad_context *own;
  polyad_ktensor *m;
  uint64_t dims[POLYAD_MAX_ORDER];
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    dims[n] = 1;
  assert_int_equal(polyad_context_create_with_allocator(&allocator, &own), POLYAD_OK);
  assert_int_equal(polyad_ktensor_create(own, POLYAD_MAX_ORDER, dims, 1, POLYAD_F64, &m),
                   POLYAD_OK);
  assert_non_null(polyad_ktensor_factor(m, POLYAD_MAX_ORDER - 1));
  assert_null(polyad_ktensor_factor(m, POLYAD_MAX_ORDER));
  polyad_ktensor_destroy(m);
  polyad_context_destroy(own);
}

static void bad_shapes_are_named(void **state) {
  (void)state;
  polyad_ktensor *m;
  uint64_t dims[] = {2, 0, UINT64_C(1) << 62};
  expect_error(polyad_ktensor_create(context, 0, dims, 1, POLYAD_F64, &m), POLYAD_INVALID_ARGUMENT,
               "order 0");
  expect_error(polyad_ktensor_create(context, 17, dims, 1, POLYAD_F64, &m), POLYAD_INVALID_ARGUMENT,
               "order 17");
  expect_error(polyad_ktensor_create(context, 2, dims, 1, POLYAD_F64, &m), POLYAD_INVALID_ARGUMENT,
               "mode 1 has length 0");
  expect_error(polyad_ktensor_create(context, 1, dims, 0, POLYAD_F64, &m), POLYAD_INVALID_ARGUMENT,
               "rank 0");
  expect_error(polyad_ktensor_create(context, 1, dims, 1, (polyad_type)4, &m),
               POLYAD_INVALID_ARGUMENT, "type 4");
  dims[1] = 1;
  expect_error(polyad_ktensor_create(context, 3, dims, 1, POLYAD_F64, &m), POLYAD_MEMORY_LIMIT,
               "a Kruskal tensor: ");
  assert_null(m);
}

static void normalizing_by_hand(void **state) {
  (void)state;
  const uint64_t dims[] = {2, 2};
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
    polyad_ktensor *m = model(2, dims, 3, (polyad_type)type);
    const double first[] = {3, 0, 1, -4, 0, 0}, second[] = {0, 1, 6, 2, 1, 8};
    const double weights[] = {-2, 5, 1};
    for (uint64_t e = 0; e < 6; ++e) {
      set(m->factor[0], m->type, e, first[e]);
      set(m->factor[1], m->type, e, second[e]);
    }
    for (uint64_t r = 0; r < 3; ++r)
      set(m->weights, m->type, r, weights[r]);
    polyad_ktensor_normalize(m, POLYAD_NORM_2);
    const double unit_first[] = {-0.6, 0, 1, 0.8, 0, 0};
    const double unit_second[] = {0, M_SQRT1_2, 0.6, 1, M_SQRT1_2, 0.8};
    const double eps = type == POLYAD_F32 ? FLT_EPSILON : DBL_EPSILON;
    for (uint64_t e = 0; e < 6; ++e) {
      assert_true(fabs(get(m->factor[0], m->type, e) - unit_first[e]) <= eps);
      assert_true(fabs(get(m->factor[1], m->type, e) - unit_second[e]) <= eps);
    }
    const double lengths[] = {20, 0, 10}; /* a zero column takes the weight away */
    for (uint64_t r = 0; r < 3; ++r)
      assert_true(fabs(get(m->weights, m->type, r) - lengths[r]) <= 20 * eps);
    polyad_ktensor_normalize(m, POLYAD_NORM_1);
    assert_true(fabs(get(m->weights, m->type, 0) - 28) <= 28 * 4 * eps);
    assert_true(fabs(get(m->factor[0], m->type, 0) + 3.0 / 7) <= 4 * eps);
    polyad_ktensor_destroy(m);
  }
}

/* Lengths whose squares, and whose product for a while, pass the range of doubles. */
static void normalizing_minds_the_range(void **state) {
  (void)state;
  const uint64_t dims[] = {2, 2, 2, 1};
  polyad_ktensor *m = model(4, dims, 1, POLYAD_F64);
  const double scale[] = {0x1p700, 0x1p600, 0x1p-1073, 0x1p-200};
  for (int n = 0; n < 3; ++n) {
    set(m->factor[n], m->type, 0, 3 * scale[n]);
    set(m->factor[n], m->type, 1, 4 * scale[n]);
  }
  set(m->factor[3], m->type, 0, scale[3]);
  polyad_ktensor_normalize(m, POLYAD_NORM_2);
  assert_true(fabs(get(m->weights, m->type, 0) / (125 * 0x1p27) - 1) <= 16 * DBL_EPSILON);
  for (int n = 0; n < 3; ++n) {
    assert_true(fabs(get(m->factor[n], m->type, 0) - 0.6) <= DBL_EPSILON);
    assert_true(fabs(get(m->factor[n], m->type, 1) - 0.8) <= DBL_EPSILON);
  }
  polyad_ktensor_destroy(m);
}

/* Normal forms change how a model is written, not what it is. */
static void normal_forms_keep_the_model(void **state) {
  (void)state;
  const uint64_t dims[] = {5, 7, 4};
  polyad_ktensor *m = random_model(3, dims, 70, POLYAD_F64, 1); /* more than one chunk of columns */
  uint64_t cells = cells_of(m), coordinate[3];
  long double *before = malloc(cells * sizeof *before);
  for (uint64_t cell = 0; cell < cells; ++cell) {
    cell_coordinate(m, cell, coordinate);
    before[cell] = exact_value(m, coordinate);
  }
  set(m->weights, m->type, 3, -get(m->weights, m->type, 3));
  for (uint64_t i = 0; i < 7; ++i)
    set(m->factor[1], m->type, i * 70 + 3, -get(m->factor[1], m->type, i * 70 + 3));
  polyad_ktensor_normalize(m, POLYAD_NORM_2);
  assert_int_equal(polyad_ktensor_arrange(context, m), POLYAD_OK);
  polyad_ktensor_fix_signs(m);
  for (uint64_t r = 0; r + 1 < 70; ++r)
    assert_true(get(m->weights, m->type, r) >= get(m->weights, m->type, r + 1));
  assert_true(get(m->weights, m->type, 69) > 0);
  for (uint64_t cell = 0; cell < cells; ++cell) {
    cell_coordinate(m, cell, coordinate);
    /* each of 70 terms of at most 2 / 8 carries a dozen roundings */
    assert_true(fabsl(exact_value(m, coordinate) - before[cell]) <= 70 * 12 * DBL_EPSILON / 4);
  }
  free(before);
  polyad_ktensor_destroy(m);
}

static void arranging_is_stable(void **state) {
  (void)state;
  const uint64_t dims[] = {2};
  polyad_ktensor *m = model(1, dims, 6, POLYAD_F32);
  const double weights[] = {2, NAN, 5, 2, 7, NAN};
  for (uint64_t r = 0; r < 6; ++r) {
    set(m->weights, m->type, r, weights[r]);
    set(m->factor[0], m->type, r, (double)r);
    set(m->factor[0], m->type, 6 + r, (double)(10 + r));
  }
  assert_int_equal(polyad_ktensor_arrange(context, m), POLYAD_OK);
  const double order[] = {4, 2, 0, 3, 1, 5};
  for (uint64_t r = 0; r < 6; ++r) {
    assert_true(get(m->factor[0], m->type, r) == order[r]);
    assert_true(get(m->factor[0], m->type, 6 + r) == 10 + order[r]);
  }
  assert_true(get(m->weights, m->type, 0) == 7);
  polyad_ktensor_destroy(m);
  expect_error(polyad_ktensor_arrange(context, NULL), POLYAD_INVALID_ARGUMENT, "NULL");
}

/* Columns whose largest entries have the signs of `signs`, bit n set for a negative mode n. */
static void signs_are_fixed_in_pairs(void **state) {
  (void)state;
  const uint64_t dims[] = {2, 2, 2};
  static const int expected[] = {0, 1, 2, 0, 4, 0, 0, 4};
  polyad_ktensor *m = model(3, dims, 8, POLYAD_F64);
  for (int n = 0; n < 3; ++n)
    for (uint64_t r = 0; r < 8; ++r) {
      double sign = (r >> n & 1) != 0 ? -1 : 1;
      set(m->factor[n], m->type, r, -0.5 * sign);
      set(m->factor[n], m->type, 8 + r, 2 * sign);
    }
  polyad_ktensor_fix_signs(m);
  for (int n = 0; n < 3; ++n)
    for (uint64_t r = 0; r < 8; ++r) {
      double sign = (expected[r] >> n & 1) != 0 ? -1 : 1;
      assert_true(get(m->factor[n], m->type, r) == -0.5 * sign);
      assert_true(get(m->factor[n], m->type, 8 + r) == 2 * sign);
    }
  polyad_ktensor_destroy(m);
}

enum { SHARERS = 3 };

/* One of several threads, which exchange what they found through `all`. */
struct sharer {
  int rank;
  char *all;
};

static polyad_status tell_sharers(void *members, const void *mine, uint64_t bytes, void *all) {
  const struct sharer *sharer = members;
  memcpy(sharer->all + (uint64_t)sharer->rank * bytes, mine, bytes);
#pragma omp barrier
  memcpy(all, sharer->all, SHARERS * bytes);
#pragma omp barrier
  return POLYAD_OK;
}

/* The first member owns the first row of every mode, the second all others and has a copy of the
 * first, the third owns none and has that copy alone. */
static polyad_ktensor *shared_part(const polyad_ktensor *whole, int rank,
                                   struct pd_ktensor_share *share) {
  uint64_t dims[POLYAD_MAX_ORDER], row = whole->rank * pd_type_bytes(whole->type);
  for (int n = 0; n < whole->order; ++n) {
    dims[n] = rank == 1 ? whole->dims[n] : 1;
    share->own[n] = rank == 0 ? 1 : rank == 1 ? whole->dims[n] - 1 : 0;
  }
  polyad_ktensor *part = model(whole->order, dims, whole->rank, whole->type);
  memcpy(part->weights, whole->weights, row);
  for (int n = 0; n < whole->order; ++n) {
    const char *from = whole->factor[n];
    if (rank == 1) memcpy(part->factor[n], from + row, share->own[n] * row);
    memcpy((char *)part->factor[n] + (dims[n] - 1) * row, from, row);
  }
  return part;
}

/* Rows, weights and signs are those of the whole model, but for rounding. A sum of n squares is off
 * by (n - 1) / 2 eps relative to the exact one in whatever order, its square root by half of that
 * and its own rounding, the quotient by one more: two computed ones differ by (n + 3) eps at most.
 * A weight is a product of such norms. Peaks are the same rows'. */
static void compare_part(const polyad_ktensor *part, int rank, const polyad_ktensor *whole,
                         double eps) {
  double of_weights = 1;
  for (int n = 0; n < whole->order; ++n) {
    double bound = ((double)whole->dims[n] + 3) * eps;
    of_weights += (double)whole->dims[n] + 3;
    for (uint64_t i = 0; i < part->dims[n]; ++i)
      for (uint64_t r = 0; r < whole->rank; ++r) {
        uint64_t row = rank == 1 ? (i + 1) % whole->dims[n] : 0;
        double expected = get(whole->factor[n], whole->type, row * whole->rank + r);
        double found = get(part->factor[n], part->type, i * whole->rank + r);
        assert_true(fabs(found - expected) <= bound * fabs(expected));
      }
  }
  for (uint64_t r = 0; r < whole->rank; ++r) {
    double weight = get(whole->weights, whole->type, r);
    assert_true(fabs(get(part->weights, part->type, r) - weight) <= of_weights * eps * weight);
  }
}

/* Columns of three sizes: squares of the large and the small ones pass the range. One is zero. */
static polyad_ktensor *wide_model(polyad_type type) {
  const uint64_t dims[] = {7, 5, 2};
  const int reach = type == POLYAD_F32 ? 90 : 900;
  const int power[] = {reach, -reach, 0};
  polyad_ktensor *m = random_model(3, dims, 70, type, 5); /* more than one chunk of columns */
  set(m->weights, type, 2, -3);
  for (int n = 0; n < 3; ++n)
    for (uint64_t e = 0; e < dims[n] * 70; ++e) {
      int size = (int)(e % 70 % 3) - 1;
      double value = e % 70 == 5 && n == 1 ? 0 : get(m->factor[n], type, e);
      set(m->factor[n], type, e, ldexp(value, size * power[n]));
    }
  return m;
}

static void share_and_compare(polyad_type type, polyad_norm norm) {
  polyad_ktensor *whole = wide_model(type), *part[SHARERS];
  struct sharer sharer[SHARERS];
  struct pd_ktensor_share share[SHARERS];
  polyad_status status[SHARERS];
  char *all = malloc(1 << 20);
  int threads = 0;
  for (int k = 0; k < SHARERS; ++k) {
    sharer[k] = (struct sharer){k, all};
    share[k] =
        (struct pd_ktensor_share){.size = SHARERS, .gather = tell_sharers, .members = &sharer[k]};
    part[k] = shared_part(whole, k, &share[k]);
    status[k] = POLYAD_INTERNAL;
  }
#pragma omp parallel num_threads(SHARERS)
  {
    int k = omp_get_thread_num();
#pragma omp single
    threads = omp_get_num_threads();
    struct pd_component order[70];
    status[k] = norm == POLYAD_NORM_1
                    ? pd_ktensor_normalize_shared(part[k], norm, &share[k])
                    : pd_ktensor_normal_form_shared(context, part[k], NULL, &share[k], order);
  }
  assert_int_equal(threads, SHARERS);
  polyad_ktensor_normalize(whole, norm);
  if (norm == POLYAD_NORM_2) {
    assert_int_equal(polyad_ktensor_arrange(context, whole), POLYAD_OK);
    polyad_ktensor_fix_signs(whole);
  }
  for (int k = 0; k < SHARERS; ++k) {
    assert_int_equal(status[k], POLYAD_OK);
    compare_part(part[k], k, whole, type == POLYAD_F32 ? FLT_EPSILON : DBL_EPSILON);
    polyad_ktensor_destroy(part[k]);
  }
  polyad_ktensor_destroy(whole);
  free(all);
}

static void members_normalize_what_they_share(void **state) {
  (void)state;
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
    share_and_compare((polyad_type)type, POLYAD_NORM_1);
    share_and_compare((polyad_type)type, POLYAD_NORM_2);
  }
}

static polyad_ktensor *copy_of(const polyad_ktensor *model) {
  polyad_ktensor *copy;
  assert_int_equal(
      polyad_ktensor_create(context, model->order, model->dims, model->rank, model->type, &copy),
      POLYAD_OK);
  size_t bytes = pd_type_bytes(model->type) * model->rank;
  memcpy(copy->weights, model->weights, bytes);
  for (int n = 0; n < model->order; ++n)
    memcpy(copy->factor[n], model->factor[n], bytes * model->dims[n]);
  return copy;
}

/* The same bits as the three calls, and the places that components have come from. */
static void two_passes_make_the_normal_form(void **state) {
  (void)state;
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type)
    for (int threads = 1; threads <= 3; threads += 2) {
      polyad_ktensor *model = wide_model((polyad_type)type), *expected = copy_of(model);
      polyad_ktensor *sorted = copy_of(model);
      struct pd_component order[70];
      assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
      assert_int_equal(pd_ktensor_normal_form_shared(context, model, NULL, NULL, order), POLYAD_OK);
      polyad_ktensor_normalize(expected, POLYAD_NORM_2);
      polyad_ktensor_normalize(sorted, POLYAD_NORM_2);
      assert_int_equal(polyad_ktensor_arrange(context, expected), POLYAD_OK);
      polyad_ktensor_fix_signs(expected);
      size_t bytes = pd_type_bytes((polyad_type)type) * 70;
      assert_memory_equal(model->weights, expected->weights, bytes);
      for (int n = 0; n < 3; ++n)
        assert_memory_equal(model->factor[n], expected->factor[n], bytes * model->dims[n]);
      for (uint64_t r = 0; r < 70; ++r)
        assert_true(get(sorted->weights, sorted->type, order[r].place) ==
                    get(model->weights, model->type, r));
      polyad_ktensor_destroy(model);
      polyad_ktensor_destroy(expected);
      polyad_ktensor_destroy(sorted);
    }
}

/* The hash of a model with a factor of several blocks, from its definition; any number of threads
 * finds it, and every entry counts. */
static void long_factors_enter_a_hash_by_blocks(void **state) {
  (void)state;
  enum { ROWS = PD_HASH_BLOCK_ITEMS + 7, RANK = 3 };
  const uint64_t dims[] = {ROWS, 5};
  polyad_ktensor *model = NULL;
  assert_int_equal(polyad_ktensor_create(context, 2, dims, RANK, POLYAD_F32, &model), POLYAD_OK);
  float *factor = polyad_ktensor_factor(model, 0);
  for (size_t k = 0; k < (size_t)ROWS * RANK; ++k)
    factor[k] = (float)(k % 1000);

  struct pd_wide_hash hash;
  const uint64_t head[] = {2, POLYAD_F32, ROWS, 5, RANK}, all = (uint64_t)ROWS * RANK;
  pd_wide_hash_begin(&hash);
  pd_hash_items(&hash, head, 5, sizeof head[0]);
  pd_hash_items(&hash, model->weights, RANK, sizeof(float));
  for (uint64_t begin = 0; begin < all; begin += PD_HASH_BLOCK_ITEMS) {
    uint64_t rest = all - begin, count = rest < PD_HASH_BLOCK_ITEMS ? rest : PD_HASH_BLOCK_ITEMS;
    uint64_t block = pd_hash_block(factor + begin, count, sizeof(float));
    pd_hash_items(&hash, &block, 1, sizeof block);
  }
  pd_hash_items(&hash, model->factor[1], 5 * RANK, sizeof(float));
  uint64_t expected = pd_wide_hash_end(&hash);

  for (int threads = 1; threads <= 3; ++threads) {
    assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
    assert_true(polyad_ktensor_hash(model) == expected);
  }
  factor[all - 1] += 1;
  assert_true(polyad_ktensor_hash(model) != expected);
  polyad_ktensor_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(starts_with_ones_and_zeros),
      TEST(factors_end_with_the_last_mode),
      TEST(bad_shapes_are_named),
      TEST(normalizing_by_hand),
      TEST(normalizing_minds_the_range),
      TEST(normal_forms_keep_the_model),
      TEST(arranging_is_stable),
      TEST(signs_are_fixed_in_pairs),
      TEST(members_normalize_what_they_share),
      TEST(long_factors_enter_a_hash_by_blocks),
      TEST(two_passes_make_the_normal_form),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
