/* Higher-order orthogonal iteration on a dense core: what it says it keeps is what its vectors
 * keep, computed anew here. */
#include "harness.h"

#include "algorithms/core_iterate.h"
#include "core/random.h"
#include <math.h>
#include <polyad/polyad.h>

enum { MOST_CELLS = 120 };

/* The share that the orthonormal vectors keep: the sum of squares of the core times all of them. */
static double kept(const struct pd_core *core, const struct pd_core_model *model) {
  double sum = 0;
  uint64_t all = 1, ranks = 1;
  for (int n = 0; n < core->order; ++n) {
    all *= core->dims[n];
    ranks *= model->ranks[n];
  }
  for (uint64_t r = 0; r < ranks; ++r) {
    double cell = 0;
    for (uint64_t k = 0; k < all; ++k) {
      double product = core->data[k];
      uint64_t at = k, column = r;
      for (int n = core->order - 1; n >= 0; --n) {
        product *=
            model->vectors[n][at % core->dims[n] * model->columns[n] + column % model->ranks[n]];
        at /= core->dims[n];
        column /= model->ranks[n];
      }
      cell += product;
    }
    sum += cell * cell;
  }
  return sum;
}

static void check(struct pd_core core, const uint64_t *ranks) {
  static double data[MOST_CELLS];
  polyad_context *context;
  struct pd_core_work work = {0};
  struct pd_core_model model = {0};
  uint64_t cells = 1;
  double total = 0;
  for (int n = 0; n < core.order; ++n)
    cells *= core.dims[n];
  assert_true(cells <= MOST_CELLS);
  for (uint64_t k = 0; k < cells; ++k) {
    data[k] = pd_random_uniform(7, (uint64_t)core.order, k) - 0.4;
    total += data[k] * data[k];
  }
  for (uint64_t k = 0; k < cells; ++k)
    data[k] /= sqrt(total);
  core.data = data;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  struct pd_stage stage = pd_stage_begin(context, "iterating");
  assert_int_equal(pd_core_work_create(context, &core, &work), POLYAD_OK);
  assert_int_equal(pd_core_model_create(context, &core, ranks, &model), POLYAD_OK);
  double before = kept(&core, &model);
  assert_int_equal(pd_core_iterate(&stage, &work, 1, &model), POLYAD_OK);
  assert_true(fabs(kept(&core, &model) - model.share) <= 1e-13);
  assert_true(model.share >= before - 1e-13 && model.share <= 1 + 1e-13);
  pd_core_model_clear(context, &model);
  pd_core_work_clear(context, &work);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

static void the_share_is_what_is_kept(void **state) {
  (void)state;
  check((struct pd_core){.order = 1, .dims = {9}}, (const uint64_t[]){1});
  check((struct pd_core){.order = 2, .dims = {7, 5}}, (const uint64_t[]){2, 2});
  check((struct pd_core){.order = 3, .dims = {6, 5, 4}}, (const uint64_t[]){2, 3, 1});
  check((struct pd_core){.order = 3, .dims = {6, 5, 4}}, (const uint64_t[]){6, 5, 4});
  check((struct pd_core){.order = 4, .dims = {3, 4, 2, 5}}, (const uint64_t[]){1, 2, 2, 3});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_share_is_what_is_kept)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
