/* What a caller hears of runs that are parts of longer work: each new stage at once, else no more
 * than twenty calls a second. */
#include "core/context_internal.h"
#include "core/nested_progress.h"
#include "harness.h"

#include <polyad/polyad.h>
#include <stdio.h>
#include <string.h>

struct heard {
  int calls;
  char stage[80];
  double fit;
};

static int hear(void *user, const polyad_progress *progress) {
  struct heard *heard = user;
  ++heard->calls;
  snprintf(heard->stage, sizeof heard->stage, "%s", progress->stage);
  heard->fit = progress->fit;
  return heard->calls == 1000 ? 7 : 0;
}

static void test_stages_are_told(void **state) {
  (void)state;
  polyad_context *context;
  struct heard heard = {.calls = 0};
  struct pd_nested_progress nested;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  polyad_set_progress(context, hear, &heard);
  pd_nested_progress_begin(&nested, context);
  double started = pd_seconds();
  for (int stage = 0; stage < 5; ++stage) {
    int before = heard.calls;
    snprintf(nested.stage, sizeof nested.stage, "rank %d", stage);
    polyad_progress progress = {.fit = stage};
    assert_int_equal(context->progress(context->progress_user, &progress), 0);
    assert_int_equal(heard.calls, before + 1);
    assert_string_equal(heard.stage, nested.stage);
    assert_true(heard.fit == stage);
    for (int k = 0; k < 2000; ++k)
      assert_int_equal(context->progress(context->progress_user, &progress), 0);
  }
  /* The clock may be slow: five stages, and twenty calls for each second that has passed. */
  assert_true(heard.calls <= 5 + 20 * (pd_seconds() - started));
  heard.calls = 999;
  strcpy(nested.stage, "the last one");
  assert_int_equal(context->progress(context->progress_user, &(polyad_progress){.fit = 1}), 7);
  pd_nested_progress_end(&nested);
  assert_true(context->progress == hear && context->progress_user == &heard);
  polyad_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_stages_are_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
