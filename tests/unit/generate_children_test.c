/* Numbers of children: the moments of their law and their exact division; and the choice of
 * distinct indices. */
#include "harness.h"

#include "tensor/generate_children.h"
#include "tensor/generate_pick.h"
#include <math.h>
#include <stdlib.h>

enum { DRAWS = 200000 };

/* Mean and spread of many draws against what the law was made for. */
static void laws_have_their_moments(void **state) {
  (void)state;
  static const struct {
    double mean, cv;
    uint64_t most;
    double expected_cv;
  } cases[] = {{1.4, 0.53, 11, 0.53},
               {227.9, 0.892, 7117, 0.892},
               {4.78, 1.02, 36, 1.02},
               {88.7, 2.77, 25031, 2.77},
               {528, 0.185, 1358, 0.185},
               {1.0086, 0.0894, 6, 0.0926}, /* of 1 and 2 only: the least spread of this mean */
               {23, 1, 24, 0.2039},         /* of 1 and 24 only: the most, sqrt(22 * 1) / 23 */
               {24, 1, 24, 0},
               {1, 1, 100, 0}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    struct pd_children law = pd_children_law(cases[c].mean, cases[c].cv, cases[c].most);
    double sum = 0, squares = 0;
    for (uint64_t j = 0; j < DRAWS; ++j) {
      uint64_t children = 1 + pd_children_draw(&law, 7, c, j);
      assert_true(children <= cases[c].most);
      sum += (double)children;
      squares += (double)children * (double)children;
    }
    double mean = sum / DRAWS, cv = sqrt(fmax(0, squares / DRAWS - mean * mean)) / mean;
    /* five standard errors of the mean; the spread of a long tail varies more */
    assert_true(fabs(mean - cases[c].mean) <= 5 * cases[c].cv * mean / sqrt(DRAWS));
    assert_true(fabs(cv - cases[c].expected_cv) <= 0.05 * cases[c].expected_cv + 1e-9);
  }
}

static void check_division(uint64_t *extra, const uint64_t *own, uint64_t count, uint64_t each,
                           uint64_t total) {
  pd_children_divide(extra, own, count, each, total);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    assert_true(extra[i] <= each * (own == NULL ? 1 : own[i]));
    sum += extra[i];
  }
  assert_true(sum == total);
}

static void divisions_are_exact(void **state) {
  (void)state;
  uint64_t extra[6] = {10, 0, 30, 5, 5, 50};
  check_division(extra, NULL, 6, 1000, 1000);
  assert_true(extra[0] == 100 && extra[1] == 0 && extra[2] == 300 && extra[5] == 500);
  check_division(extra, NULL, 6, 1000, 7); /* fewer than there were */
  uint64_t none[4] = {0};
  check_division(none, NULL, 4, 3, 12); /* all that there is room for */
  uint64_t last[3] = {0, 0, 9};
  check_division(last, NULL, 3, 4, 11); /* the last has no room: the first take more */
  uint64_t grouped[3] = {1, 1, 100}, own[3] = {5, 1, 2};
  check_division(grouped, own, 3, 6, 30);
  check_division(grouped, own, 3, 6, 0);
  uint64_t single[1] = {0};
  check_division(single, NULL, 1, 9, 9);
}

static struct pd_pick_mode mode_of(uint64_t dim, uint64_t ranks, double skew) {
  struct pd_law scattered;
  pd_law_init(dim, skew, &scattered);
  struct pd_pick_mode mode = {.dim = dim,
                              .multiplier = scattered.multiplier,
                              .inverse = scattered.inverse,
                              .index_bits = 64};
  pd_law_init(ranks, skew, &mode.law);
  mode.law.multiplier = mode.law.inverse = 1;
  return mode;
}

/* Few and many of the ranks, all of them, one: distinct, ascending, the forced ones among them. */
static void choices_are_distinct(void **state) {
  (void)state;
  static const struct {
    uint64_t dim, ranks, count, forced, forced_count;
    double skew;
  } cases[] = {{1000, 1000, 1, 0, 0, 0.8},   {1000, 1000, 1, 77, 1, 0.8},
               {1000, 400, 90, 5, 10, 3},    {1000, 400, 101, 390, 10, 3},
               {1000, 400, 399, 0, 399, 3},  {24, 24, 24, 3, 2, 0.4},
               {1000, 1000, 250, 0, 250, 8}, {5000000, 4000000, 30000, 0, 7, 1},
               {1, 1, 1, 0, 1, 0.5},         {2, 2, 1, 1, 1, 0}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    struct pd_pick_mode mode = mode_of(cases[c].dim, cases[c].ranks, cases[c].skew);
    struct pd_pick_source source = {.seed = 3, .own = c, .shared = 99, .share = 0.5};
    uint64_t count = cases[c].count, *list = calloc(count, sizeof *list), found = 0;
    uint64_t *work = calloc(pd_pick_words(&mode, count), sizeof *work);
    pd_pick(&mode, &source, cases[c].forced, cases[c].forced_count, count, list, work);
    for (uint64_t k = 0; k < count; ++k) {
      uint64_t rank = pd_pick_rank(&mode, list[k]);
      assert_true(list[k] < cases[c].dim && rank < cases[c].ranks);
      assert_true(k == 0 || list[k] > list[k - 1]);
      found += rank >= cases[c].forced && rank - cases[c].forced < cases[c].forced_count;
    }
    assert_true(found == cases[c].forced_count);
    free(work);
    free(list);
  }
}

/* A sure share gives the same choice; no share another one; popular ranks are chosen more often. */
static void choices_follow_their_streams(void **state) {
  (void)state;
  struct pd_pick_mode mode = mode_of(100000, 100000, 0.9);
  enum { COUNT = 200 };
  uint64_t first[COUNT], second[COUNT], work[COUNT], same = 0, low = 0;
  for (int share = 0; share <= 1; ++share) {
    struct pd_pick_source source = {.own = 1, .shared = 5, .share = share};
    pd_pick(&mode, &source, 0, 0, COUNT, first, work);
    source.own = 2;
    pd_pick(&mode, &source, 0, 0, COUNT, second, work);
    same = 0;
    for (int k = 0, j = 0; k < COUNT && j < COUNT;) {
      same += first[k] == second[j];
      bool step = first[k] <= second[j];
      j += first[k] >= second[j];
      k += step;
    }
    assert_true(share == 0 ? same < COUNT / 2 : same > COUNT * 9 / 10); /* but for repeats */
    for (int k = 0; k < COUNT; ++k)
      low += pd_pick_rank(&mode, first[k]) < 1000;
  }
  assert_true(low > COUNT / 2); /* of 2 * COUNT; one in a hundred without skew */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(laws_have_their_moments),
      cmocka_unit_test(divisions_are_exact),
      cmocka_unit_test(choices_are_distinct),
      cmocka_unit_test(choices_follow_their_streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
