/* A storage goes to a device and back and is what it was: every format that moves, on a device that
 * is the host with a memory of its own. The host keeps no array, and failures leave nothing. */
#include "formats/storage.h"
#include "harness.h"
#include "plan/plan.h"
#include "unit/built_cases.h"
#include "unit/same_storage.h"
#include <stdio.h>
#include <string.h>

/* What is built for such a device, and the tensor. */
struct setting {
  polyad_context *context;
  struct pd_device_functions functions;
  struct pd_device device;
  const struct polyad_format *format;
  struct problem problem;
  polyad_tensor *tensor;
  struct pd_traits traits;
  struct pd_request request;
};

/* Devices need not give memory without bytes. */
static polyad_status allocate_some(polyad_context *context, const struct pd_device *device,
                                   uint64_t bytes, void **data) {
  assert_true(bytes > 0);
  return pd_cpu_device.functions->allocate(context, device, bytes, data);
}

static void set_up(const struct polyad_format *format, const char *variant,
                   const struct mttkrp_case *from, polyad_type type, struct setting *s) {
  *s = (struct setting){.functions = *pd_cpu_device.functions,
                        .device = pd_cpu_device,
                        .format = format,
                        .request = {.variant = variant, .rank = 8, .precision = type}};
  assert_int_equal(polyad_context_create(&s->context), POLYAD_OK);
  s->functions.host_memory = false;
  s->functions.allocate = allocate_some;
  s->device.kind = "far";
  s->device.functions = &s->functions;
  problem_make(from, 1, 3, &s->problem);
  s->tensor = problem_polyad(s->context, &s->problem, type);
  s->request.threads = 2;
  s->request.device = &s->device;
  assert_int_equal(pd_traits_compute(s->context, s->tensor, &s->traits), POLYAD_OK);
  s->request.traits = &s->traits;
}

static void tear_down(struct setting *s) {
  polyad_tensor_destroy(s->tensor);
  problem_free(&s->problem);
  assert_int_equal(polyad_memory_in_use(s->context), 0);
  polyad_context_destroy(s->context);
}

static void must(const struct setting *s, polyad_status status, const char *what) {
  if (status != POLYAD_OK)
    fail_msg("%s, %s, %s: %s", s->format->name, s->problem.from->name, what,
             polyad_last_error(s->context));
}

static void build(struct setting *s, void **storage) {
  must(s, pd_storage_build(s->context, s->format, s->tensor, false, &s->request, storage), "build");
}

static bool can_hold(const struct setting *s) {
  char reason[PD_REASON_BYTES];
  return s->tensor->order >= s->format->min_order && s->tensor->order <= s->format->max_order &&
         s->format->supports(&s->traits, &s->request, reason);
}

/* ---- there and back ---------------------------------------------------------------------------
 */

static void same_nonzeros(struct setting *s, const void *storage) {
  polyad_tensor *back = NULL;
  must(s, pd_storage_expand(s->context, s->format, storage, s->tensor, &back), "expand");
  assert_true(polyad_tensor_hash(back) == polyad_tensor_hash(s->tensor));
  polyad_tensor_destroy(back);
}

static void there_and_back(struct setting *s) {
  void *storage, *wanted, *far, *back;
  build(s, &wanted);
  build(s, &storage);
  uint64_t with = polyad_memory_in_use(s->context), stored = pd_storage_bytes(s->format, storage);
  pd_storage_shed(s->context, s->format, storage);
  assert_true(pd_storage_bytes(s->format, storage) == stored);
  if (strcmp(s->request.variant, "stream") != 0 && stored > 1 << 20)
    assert_true(with - polyad_memory_in_use(s->context) > stored / 2);
  must(s, pd_storage_put(s->context, s->format, &s->device, wanted, &far), "put");
  for (int whole = 0; whole < 2; ++whole) {
    must(s, pd_storage_bring(s->context, s->format, &s->device, far, whole != 0, &back), "bring");
    if (whole != 0) {
      assert_same_storage(s->problem.from->name, s->format, back, wanted);
      must(s, s->format->check(s->context, back), "check");
    }
    same_nonzeros(s, back);
    pd_storage_free(s->context, s->format, back);
  }
  pd_storage_release(s->context, s->format, &s->device, far);
  pd_storage_free(s->context, s->format, wanted);
  pd_storage_free(s->context, s->format, storage);
}

static void each_variant(const struct polyad_format *format, const struct mttkrp_case *from,
                         polyad_type type, int *moved) {
  char variants[256], *rest = variants;
  snprintf(variants, sizeof variants, "%s", format->variants);
  for (char *variant; (variant = strtok_r(rest, " ", &rest)) != NULL;) {
    struct setting s;
    set_up(format, variant, from, type, &s);
    if (can_hold(&s)) {
      there_and_back(&s);
      ++*moved;
    }
    tear_down(&s);
  }
}

static void test_there_and_back(void **state) {
  (void)state;
  for (int f = 0; f < pd_format_count(); ++f) {
    const struct polyad_format *format = pd_format_at(f);
    int moved = 0;
    for (size_t c = 0; c < built_case_count; ++c) {
      if (TEST_SANITIZED && (c + 2 * (size_t)f) % 4 > 1) continue;
      each_variant(format, &built_cases[c], c % 2 == 0 ? POLYAD_F32 : POLYAD_F64, &moved);
    }
    if (moved < (TEST_SANITIZED ? 3 : 5))
      fail_msg("%s has moved in %d cases only", format->name, moved);
  }
}

/* A tensor without nonzeros has arrays of no bytes. */
static void test_empty(void **state) {
  (void)state;
  static const struct mttkrp_case empty = {"empty", 3, {5, 6, 7}, 0, SHAPE_UNIFORM, false};
  int moved = 0;
  for (int f = 0; f < pd_format_count(); ++f)
    each_variant(pd_format_at(f), &empty, POLYAD_F64, &moved);
  assert_true(moved > 10);
}

/* ---- too little memory ------------------------------------------------------------------------
 */

/* Whether either way succeeds within `room` bytes beyond what is in use. */
static bool moves_within(struct setting *s, const void *storage, const void *far, uint64_t room) {
  uint64_t held = polyad_memory_in_use(s->context);
  void *made = NULL;
  must(s, polyad_set_memory_limit(s->context, held + room), "limit");
  polyad_status status =
      far == NULL ? pd_storage_put(s->context, s->format, &s->device, storage, &made)
                  : pd_storage_bring(s->context, s->format, &s->device, far, true, &made);
  if (status == POLYAD_OK && far == NULL)
    pd_storage_release(s->context, s->format, &s->device, made);
  else if (status == POLYAD_OK)
    pd_storage_free(s->context, s->format, made);
  else
    assert_null(made);
  assert_true(polyad_memory_in_use(s->context) == held);
  must(s, polyad_set_memory_limit(s->context, UINT64_MAX), "limit");
  return status == POLYAD_OK;
}

/* With more and more memory every allocation is once the first that fails. */
static void test_memory_limits(void **state) {
  (void)state;
  for (int f = 0; f < pd_format_count(); ++f) {
    struct setting s;
    void *storage, *far;
    set_up(pd_format_at(f), "auto", &built_cases[10], POLYAD_F64, &s);
    if (!can_hold(&s)) {
      tear_down(&s);
      continue;
    }
    build(&s, &storage);
    must(&s, pd_storage_put(s.context, s.format, &s.device, storage, &far), "put");
    uint64_t step = pd_storage_bytes(s.format, storage) / 64 + 4096;
    for (int way = 0; way < 2; ++way) {
      int failures = 0;
      for (uint64_t room = 0; !moves_within(&s, storage, way == 0 ? NULL : far, room); room += step)
        assert_true(++failures < 1000);
      assert_true(failures > 3);
    }
    pd_storage_release(s.context, s.format, &s.device, far);
    pd_storage_free(s.context, s.format, storage);
    tear_down(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_there_and_back),
                                     cmocka_unit_test(test_empty),
                                     cmocka_unit_test(test_memory_limits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
