/* What tuning measured is kept in a file: found again, and never a reason to fail. */
#include "harness.h"

#include "contexts.h"
#include "inputs.h"
#include "plan/choose.h"
#include "plan/plan.h"
#include "plan/tune_cache.h"
#include "plan/tune_recall.h"
#include <math.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/polyad-tune-XXXXXX";
static char file[64];
static int ignored; /* messages that a cache was not used */

static void count_ignored(void *user, polyad_log_level level, const char *message) {
  (void)user;
  (void)level;
  ignored += strstr(message, "is not used") != NULL || strstr(message, "is not kept") != NULL;
}

static polyad_context *make_context(void) {
  polyad_context *context = cpu_context(2);
  polyad_set_log(context, POLYAD_LOG_INFO, count_ignored, NULL);
  ignored = 0;
  return context;
}

static void end(polyad_context *context) {
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

static size_t contents(char *text, size_t size) {
  FILE *from = fopen(file, "rb");
  assert_non_null(from);
  size_t length = fread(text, 1, size, from);
  fclose(from);
  return length;
}

static void put(const char *text, size_t length) {
  FILE *to = fopen(file, "wb");
  assert_non_null(to);
  assert_int_equal(fwrite(text, 1, length, to), length);
  assert_int_equal(fclose(to), 0);
}

static void finds_what_was_stored(void **state) {
  (void)state;
  char text[PD_TUNE_TEXT_BYTES];
  polyad_context *context = make_context();
  (void)unlink(file);
  assert_false(pd_tune_cache_find(context, file, "a", text));
  assert_int_equal(ignored, 0); /* a missing file is nothing to talk about */
  pd_tune_cache_store(context, file, "a", "first");
  pd_tune_cache_store(context, file, "b", "second");
  pd_tune_cache_store(context, file, "a", "third");
  assert_true(pd_tune_cache_find(context, file, "a", text));
  assert_string_equal(text, "third");
  assert_true(pd_tune_cache_find(context, file, "b", text));
  assert_string_equal(text, "second");
  assert_false(pd_tune_cache_find(context, file, "c", text));
  assert_int_equal(ignored, 0);
  end(context);
}

static void the_oldest_give_way(void **state) {
  (void)state;
  char text[PD_TUNE_TEXT_BYTES], key[16];
  polyad_context *context = make_context();
  (void)unlink(file);
  for (int k = 0; k < PD_TUNE_ENTRIES + 10; ++k) {
    snprintf(key, sizeof key, "%d", k);
    pd_tune_cache_store(context, file, key, key);
  }
  for (int k = 0; k < PD_TUNE_ENTRIES + 10; ++k) {
    snprintf(key, sizeof key, "%d", k);
    assert_int_equal(pd_tune_cache_find(context, file, key, text), k >= 10);
  }
  end(context);
}

/* Every byte flipped, every length cut: nothing is found, nothing fails, and the next store makes
 * a file that is whole. */
static void damage_is_ignored(void **state) {
  (void)state;
  static char whole[4096], broken[4096];
  char text[PD_TUNE_TEXT_BYTES];
  polyad_context *context = make_context();
  (void)unlink(file);
  pd_tune_cache_store(context, file, "a", "value");
  size_t length = contents(whole, sizeof whole);
  assert_true(length > 40 && length < sizeof whole);
  for (size_t k = 0; k < length; ++k) {
    memcpy(broken, whole, length);
    broken[k] ^= 1;
    put(broken, length);
    assert_false(pd_tune_cache_find(context, file, "a", text));
    put(whole, k);
    assert_false(pd_tune_cache_find(context, file, "a", text));
  }
  assert_int_equal(ignored, 2 * length);
  pd_tune_cache_store(context, file, "b", "new");
  assert_true(pd_tune_cache_find(context, file, "b", text));
  end(context);
}

static void other_things_are_left_alone(void **state) {
  (void)state;
  char text[PD_TUNE_TEXT_BYTES];
  polyad_context *context = make_context();
  pd_tune_cache_store(context, folder, "a", "value"); /* a directory */
  assert_false(pd_tune_cache_find(context, folder, "a", text));
  assert_false(pd_tune_cache_find(context, "/dev/zero", "a", text));
  pd_tune_cache_store(context, "/proc/nowhere/tune", "a", "value");
  assert_true(ignored >= 4);
  assert_string_equal(polyad_last_error(context), "");
  end(context);
}

static polyad_tensor *make_tensor(polyad_context *context, uint64_t shift) {
  uint32_t index[3][60];
  double value[60];
  uint64_t dims[3] = {6, 5, 4};
  polyad_tensor *tensor;
  for (uint32_t p = 0; p < 60; ++p) {
    index[0][p] = p % 6;
    index[1][p] = p / 6 % 5;
    index[2][p] = p / 30 + (uint32_t)shift;
    value[p] = p + 1;
  }
  polyad_tensor_input input = input_of_columns(3, dims, 60, POLYAD_U32, index, 60, value);
  assert_int_equal(polyad_tensor_create(context, &input, &tensor), POLYAD_OK);
  return tensor;
}

static void make_plan(polyad_context *context, uint64_t shift, uint64_t rank, polyad_kernel kernel,
                      char *explanation) {
  polyad_tensor *tensor = make_tensor(context, shift);
  polyad_plan_options options;
  polyad_plan *plan;
  polyad_plan_options_init(&options);
  options.tune = 1;
  options.rank = rank;
  options.kernel = kernel;
  options.tune_cache = file;
  assert_int_equal(polyad_plan_create(context, tensor, &options, &plan), POLYAD_OK);
  snprintf(explanation, PD_EXPLANATION_BYTES, "%s", polyad_plan_explanation(plan));
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
}

static int entries(void) {
  static char text[1 << 16];
  int lines = -1;
  for (size_t length = contents(text, sizeof text), k = 0; k < length; ++k)
    lines += text[k] == '\n';
  return lines;
}

/* Seconds as measured stand in the explanation: the same twice only when they were not measured
 * again. */
static void plans_remember(void **state) {
  (void)state;
  static char first[PD_EXPLANATION_BYTES], again[PD_EXPLANATION_BYTES];
  polyad_context *context = make_context();
  (void)unlink(file);
  make_plan(context, 0, 4, POLYAD_KERNEL_MTTKRP, first);
  assert_non_null(strstr(first, "measured"));
  assert_int_equal(entries(), 1);
  make_plan(context, 0, 4, POLYAD_KERNEL_MTTKRP, again);
  assert_string_equal(first, again);
  assert_int_equal(entries(), 1);
  make_plan(context, 1, 4, POLYAD_KERNEL_MTTKRP, again); /* another tensor */
  assert_int_equal(entries(), 2);
  make_plan(context, 0, 5, POLYAD_KERNEL_MTTKRP, again); /* another rank */
  assert_int_equal(entries(), 3);
  make_plan(context, 0, 4, POLYAD_KERNEL_PHI, again);
  assert_non_null(strstr(again, "a sweep is Phi in all modes"));
  assert_int_equal(entries(), 4);
  assert_int_equal(polyad_set_threads(context, 1), POLYAD_OK);
  make_plan(context, 0, 4, POLYAD_KERNEL_MTTKRP, again); /* other threads */
  assert_int_equal(entries(), 5);
  assert_int_equal(ignored, 0);
  end(context);
}

/* Nothing takes no time, or less than none: such an entry is not believed. */
static void impossible_times_are_not_recalled(void **state) {
  (void)state;
  static const double seconds[] = {0.5, INFINITY, 0, -1, NAN};
  polyad_context *context = make_context();
  polyad_tensor *tensor = make_tensor(context, 0);
  const struct pd_request request = {
      .device = &pd_cpu_device, .variant = "auto", .rank = 4, .precision = POLYAD_F64};
  for (size_t k = 0; k < sizeof seconds / sizeof *seconds; ++k) {
    struct pd_candidate one = {.format = pd_format_find("coo"), .fits = true, .supported = true};
    snprintf(one.variant, sizeof one.variant, "auto");
    one.seconds = seconds[k];
    (void)unlink(file);
    pd_candidates_remember(context, file, tensor, &request, &one, 1);
    one.seconds = 1;
    assert_int_equal(pd_candidates_recall(context, file, tensor, &request, &one, 1), k < 2);
    assert_true(one.seconds == (k < 2 ? seconds[k] : 1));
  }
  polyad_tensor_destroy(tensor);
  end(context);
}

/* A value that was kept for a parameter is what tuned plans then take, but for one that is given.
 */
static void values_of_parameters_are_kept(void **state) {
  (void)state;
  int value = 0;
  polyad_context *context = make_context();
  polyad_tensor *tensor = make_tensor(context, 0);
  polyad_plan *plan = NULL;
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = "hls";
  options.tune_cache = file;
  (void)unlink(file);
  assert_int_equal(polyad_tune_cache_value(context, &options, "tile-threshold", &value), POLYAD_OK);
  assert_int_equal(value, 0);
  assert_int_equal(polyad_tune_cache_keep(context, &options, "tile-threshold", 33), POLYAD_OK);
  assert_int_equal(polyad_tune_cache_value(context, &options, "tile-threshold", &value), POLYAD_OK);
  assert_int_equal(value, 33);
  static const struct {
    int tune;
    const char *format, *says;
  } table[] = {{0, "hls", "(threshold 78)"},
               {1, "hls", "(threshold 33)"},
               {1, "hls:tile-threshold=9", "(threshold 9)"},
               {1, "hls", "(threshold 33)"}};
  for (size_t k = 0; k < sizeof table / sizeof *table; ++k) {
    options.tune = table[k].tune;
    options.format = table[k].format;
    assert_int_equal(polyad_plan_create(context, tensor, &options, &plan), POLYAD_OK);
    assert_non_null(strstr(polyad_plan_variant(plan), table[k].says));
    polyad_plan_destroy(plan);
  }
  /* What tuning measured before another value was kept is not taken any more. */
  options.format = "hls";
  assert_int_equal(polyad_tune_cache_keep(context, &options, "tile-threshold", 34), POLYAD_OK);
  assert_int_equal(polyad_plan_create(context, tensor, &options, &plan), POLYAD_OK);
  assert_non_null(strstr(polyad_plan_variant(plan), "(threshold 34)"));
  polyad_plan_destroy(plan);
  options.precision = POLYAD_F32; /* other plans */
  assert_int_equal(polyad_tune_cache_value(context, &options, "tile-threshold", &value), POLYAD_OK);
  assert_int_equal(value, 0);
  assert_int_equal(polyad_set_threads(context, 1), POLYAD_OK); /* another machine */
  options.precision = POLYAD_F64;
  assert_int_equal(polyad_tune_cache_value(context, &options, "tile-threshold", &value), POLYAD_OK);
  assert_int_equal(value, 0);
  polyad_tensor_destroy(tensor);
  end(context);
}

static void wrong_values_are_refused(void **state) {
  (void)state;
  polyad_context *context = make_context();
  polyad_plan_options options;
  int value;
  polyad_plan_options_init(&options);
  options.format = "hls";
  options.tune_cache = file;
  static const struct {
    const char *format, *name;
    int value;
  } table[] = {{"hls", "tile-threshold", 0}, {"hls", "tile-threshold", 4098},
               {"hls", "kappa", 3},          {"hls", NULL, 3},
               {"auto", "kappa", 3},         {"csf", "kappa", 3},
               {"flycoo", "kappa", 3} /* is not tuned */};
  for (size_t k = 0; k < sizeof table / sizeof *table; ++k) {
    options.format = table[k].format;
    assert_int_equal(polyad_tune_cache_keep(context, &options, table[k].name, table[k].value),
                     POLYAD_INVALID_ARGUMENT);
  }
  options.format = "hls";
  assert_int_equal(polyad_tune_cache_value(context, &options, "tile-threshold", NULL),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_tune_cache_value(context, NULL, "tile-threshold", &value),
                   POLYAD_INVALID_ARGUMENT);
  options.tune_cache = NULL;
  assert_int_equal(polyad_tune_cache_keep(context, &options, "tile-threshold", 8),
                   POLYAD_INVALID_ARGUMENT);
  end(context);
}

static void the_user_has_a_place(void **state) {
  (void)state;
  char path[128], expected[128];
  assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
  assert_true(polyad_tune_cache_path(path, sizeof path));
  snprintf(expected, sizeof expected, "%s/polyad/tune", folder);
  assert_string_equal(path, expected);
  assert_false(polyad_tune_cache_path(path, strlen(expected)));
  assert_string_equal(path, "");
  assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0); /* counts as not set */
  assert_int_equal(setenv("HOME", folder, 1), 0);
  assert_true(polyad_tune_cache_path(path, sizeof path));
  snprintf(expected, sizeof expected, "%s/.cache/polyad/tune", folder);
  assert_string_equal(path, expected);
  assert_int_equal(setenv("HOME", "/proc/nowhere", 1), 0);
  assert_false(polyad_tune_cache_path(path, sizeof path));
  assert_int_equal(unsetenv("HOME"), 0);
  assert_false(polyad_tune_cache_path(path, sizeof path));
  snprintf(path, sizeof path, "%s/.cache/polyad", folder);
  (void)rmdir(path);
  snprintf(path, sizeof path, "%s/.cache", folder);
  (void)rmdir(path);
  snprintf(path, sizeof path, "%s/polyad", folder);
  (void)rmdir(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_what_was_stored),
      cmocka_unit_test(the_oldest_give_way),
      cmocka_unit_test(damage_is_ignored),
      cmocka_unit_test(other_things_are_left_alone),
      cmocka_unit_test(plans_remember),
      cmocka_unit_test(values_of_parameters_are_kept),
      cmocka_unit_test(impossible_times_are_not_recalled),
      cmocka_unit_test(wrong_values_are_refused),
      cmocka_unit_test(the_user_has_a_place),
  };
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(file, sizeof file, "%s/tune", folder);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  (void)unlink(file);
  (void)rmdir(folder);
  return failed;
}
