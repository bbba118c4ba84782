/* Who owns which rows: by all threads what one thread finds, beside a plain loop over the rows, and
 * in the parts of whole plans. */
#include "als_fixture.h"
#include "contexts.h"
#include "core/random.h"
#include "plan/members.h"
#include "plan/part_making.h"
#include "team_parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t drawn(uint64_t counter) { return pd_random_u64(7, 1, counter); }

/* ---- owners of a list of keys ---------------------------------------------------------------- */

enum { ROWS = 300000, MEMBERS_MOST = 9 };

/* Rows that nobody has, one, some or all have: of every thousand half that few have. */
static uint64_t make_keys(int members, unsigned few, uint64_t *keys) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < ROWS; ++i) {
    uint64_t word = drawn(i);
    for (int k = 0; k < members; ++k)
      if ((word >> (6 * k) & 63) < (i % 1000 < 500 ? few : 48))
        keys[count++] = i * (uint64_t)members + (uint64_t)k;
  }
  return count;
}

/* As the rule says it: rows of one member first; then the member with the fewest, and of several
 * such ones the first, takes each in turn. */
static void plain_owners(const uint64_t *keys, uint64_t count, int members, uint32_t *owner) {
  uint64_t load[MEMBERS_MOST] = {0};
  for (int shared = 0; shared < 2; ++shared)
    for (uint64_t j = 0, end; j < count; j = end) {
      uint64_t row = keys[j] / (uint64_t)members;
      for (end = j; end < count && keys[end] / (uint64_t)members == row; ++end)
        ;
      if ((end - j > 1) != shared) continue;
      uint32_t best = UINT32_MAX;
      for (uint64_t k = j; k < end; ++k) {
        uint32_t one = (uint32_t)(keys[k] % (uint64_t)members);
        if (best == UINT32_MAX || load[one] < load[best]) best = one;
      }
      ++load[best];
      for (uint64_t k = j; k < end; ++k)
        owner[k] = best;
    }
}

/* Of rows that all members have, each gets what its weight says, and its own rows count. */
static void owners_by_weight(void **state) {
  (void)state;
  enum { MEMBERS = 3, SHARED = 8000, ALONE = 1000 };
  static const double weight[MEMBERS] = {0.7, 0.2, 0.1};
  uint64_t *keys = malloc((SHARED * MEMBERS + ALONE) * sizeof *keys), load[MEMBERS], count = 0;
  uint32_t *owner = malloc((SHARED * MEMBERS + ALONE) * sizeof *owner);
  assert_true(keys != NULL && owner != NULL);
  for (uint64_t i = 0; i < SHARED + ALONE; ++i)
    for (uint64_t k = 0; k < (i < SHARED ? MEMBERS : 1); ++k)
      keys[count++] = i * MEMBERS + k;
  polyad_context *context = cpu_context(2);
  pd_part_settle(context, keys, count, MEMBERS, weight, load, owner);
  for (int k = 0; k < MEMBERS; ++k)
    assert_true(fabs((double)load[k] - weight[k] * (SHARED + ALONE)) <= MEMBERS);
  polyad_context_destroy(context);
  free(owner);
  free(keys);
}

static void owners_of_keys(void **state) {
  (void)state;
  static const int members[] = {1, 2, 3, 7, 9}, threads[] = {1, 2, 5};
  uint64_t *keys = malloc((uint64_t)ROWS * MEMBERS_MOST * sizeof *keys), load[MEMBERS_MOST];
  uint32_t *wanted = malloc((uint64_t)ROWS * MEMBERS_MOST * sizeof *wanted);
  uint32_t *found = malloc((uint64_t)ROWS * MEMBERS_MOST * sizeof *found);
  assert_true(keys != NULL && wanted != NULL && found != NULL);
  for (size_t m = 0; m < sizeof members / sizeof *members; ++m)
    for (unsigned few = 0; few < 20; few += 6) {
      uint64_t count = make_keys(members[m], few, keys);
      plain_owners(keys, count, members[m], wanted);
      for (size_t t = 0; t < sizeof threads / sizeof *threads; ++t) {
        polyad_context *context = cpu_context(threads[t]);
        memset(found, 0xff, count * sizeof *found);
        pd_part_settle(context, keys, count, members[m], NULL, load, found);
        if (memcmp(found, wanted, count * sizeof *found) != 0)
          fail_msg("%d members, %d threads: other owners", members[m], threads[t]);
        polyad_context_destroy(context);
      }
    }
  free(found);
  free(wanted);
  free(keys);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void lists_of_marks(void **state) {
  (void)state;
  unsigned char *mark = malloc(ROWS);
  assert_non_null(mark);
  for (uint64_t i = 0; i < ROWS; ++i)
    mark[i] = i % 4096 < 3000 && drawn(i) % 3 == 0;
  for (int threads = 1; threads <= 4; ++threads)
    for (unsigned char wanted = 0; wanted < 2; ++wanted) {
      polyad_context *context = cpu_context(threads);
      uint64_t *list, count, next = 0;
      ALS_OK(context, pd_part_list(context, mark, ROWS, wanted, 10, &list, &count));
      for (uint64_t i = 0; i < ROWS; ++i)
        if (mark[i] == wanted) assert_true(next < count && list[next++] == i + 10);
      assert_int_equal(next, count);
      pd_free(context, list);
      ALS_OK(context, pd_part_list(context, mark, 0, wanted, 10, &list, &count));
      assert_int_equal(count, 0);
      pd_free(context, list);
      context_end(context);
    }
  free(mark);
}

/* ---- whole plans ----------------------------------------------------------------------------- */

/* The same rows, owners and readers, and the same nonzeros. */
static void compare_members(const polyad_plan *a, const polyad_plan *b, const char *devices) {
  assert_int_equal(pd_members_count(a), pd_members_count(b));
  for (int k = 0; k < pd_members_count(a); ++k) {
    const char *different = part_difference(pd_members_plan(a, k), pd_members_plan(b, k));
    if (different != NULL) fail_msg("%s, member %d: %s differ", devices, k, different);
  }
}

static polyad_plan *members_plan(polyad_context *context, const polyad_tensor *tensor) {
  polyad_plan_options options;
  polyad_plan *plan;
  polyad_plan_options_init(&options);
  options.rank = 2;
  options.format = "coo";
  ALS_OK(context, polyad_plan_create(context, tensor, &options, &plan));
  return plan;
}

/* Modes long enough for several threads in every step, with rows that nobody has. */
static void parts_of_threads(void **state) {
  (void)state;
  static const char *const lists[] = {"cpu,cpu,cpu", "cpu,cpu,cpu,cpu,cpu,cpu"};
  static const uint64_t dims[3] = {900000, 700000, 300};
  polyad_context *maker = cpu_context(1);
  polyad_tensor *tensor = als_random_tensor(maker, 3, dims, 500000, 3, 0);
  for (size_t l = 0; l < sizeof lists / sizeof *lists; ++l) {
    polyad_context *one = cpu_context(1), *many = cpu_context(12);
    ALS_OK(one, polyad_set_device(one, lists[l]));
    ALS_OK(many, polyad_set_device(many, lists[l]));
    polyad_plan *wanted = members_plan(one, tensor), *found = members_plan(many, tensor);
    compare_members(wanted, found, lists[l]);
    polyad_plan_destroy(found);
    polyad_plan_destroy(wanted);
    context_end(many);
    context_end(one);
  }
  polyad_tensor_destroy(tensor);
  context_end(maker);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(owners_of_keys),
      cmocka_unit_test(owners_by_weight),
      cmocka_unit_test(lists_of_marks),
      cmocka_unit_test(parts_of_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
