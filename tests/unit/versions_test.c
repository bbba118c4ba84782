/* What workspaces keep of factors counts only for factors of the same version: after a factor has
 * changed, every format's results are those of a workspace that has seen nothing before. */
#include "contexts.h"
#include "formats/format.h"
#include "harness.h"
#include "inputs.h"

#include <math.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <string.h>

enum { ORDER = 4, RANK = 5, NNZ = 3000, LONGEST = 90, SWEEPS = 3 };
static const double EPSILON = 1e-10;
/* Short modes, so that pairs of them become tables. */
static const uint64_t DIMS[ORDER] = {6, LONGEST, 5, 7};

struct problem {
  polyad_context *context;
  polyad_plan *plan;
  polyad_workspace *workspace;
  double factor[ORDER][LONGEST * RANK];
  const void *pointer[ORDER];
  uint64_t version[ORDER];
};

static uint64_t next(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static void fill(struct problem *p, int mode, uint64_t seed) {
  for (uint64_t k = 0; k < DIMS[mode] * RANK; ++k)
    p->factor[mode][k] = 0.25 + (double)(next(&seed) % 1000) / 1000;
  p->pointer[mode] = p->factor[mode];
}

static polyad_tensor *counts(polyad_context *context) {
  static uint32_t index[ORDER][NNZ];
  static double value[NNZ];
  uint64_t state = 7;
  polyad_tensor *tensor = NULL;
  for (int k = 0; k < NNZ; ++k) {
    value[k] = (double)(1 + next(&state) % 5);
    for (int n = 0; n < ORDER; ++n)
      index[n][k] = (uint32_t)(next(&state) % DIMS[n]);
  }
  polyad_tensor_input input = input_of_columns(ORDER, DIMS, NNZ, POLYAD_U32, index, NNZ, value);
  assert_int_equal(polyad_tensor_create(context, &input, &tensor), POLYAD_OK);
  return tensor;
}

static bool open_problem(struct problem *p, const char *format, const char *variant) {
  polyad_plan_options options;
  memset(p, 0, sizeof *p);
  p->context = cpu_context(1);
  polyad_tensor *tensor = counts(p->context);
  polyad_plan_options_init(&options);
  options.format = format;
  options.variant = variant;
  options.rank = RANK;
  polyad_status status = polyad_plan_create(p->context, tensor, &options, &p->plan);
  polyad_tensor_destroy(tensor);
  if (status == POLYAD_UNSUPPORTED) return false;
  assert_int_equal(status, POLYAD_OK);
  assert_int_equal(polyad_workspace_create(p->context, p->plan, RANK, &p->workspace), POLYAD_OK);
  for (int n = 0; n < ORDER; ++n) {
    fill(p, n, 100 + (uint64_t)n);
    p->version[n] = 1;
  }
  return true;
}

static void close_problem(struct problem *p) {
  polyad_workspace_destroy(p->workspace);
  polyad_plan_destroy(p->plan);
  assert_int_equal(polyad_memory_in_use(p->context), 0);
  polyad_context_destroy(p->context);
}

static void change(struct problem *p, int mode, uint64_t seed) {
  fill(p, mode, seed);
  ++p->version[mode];
}

/* A call on the workspace with its versions against one on a workspace of its own without. */
static void compare(struct problem *p, bool phi, int mode) {
  double out[LONGEST * RANK], exact[LONGEST * RANK];
  polyad_workspace *fresh = NULL;
  assert_int_equal(polyad_workspace_create(p->context, p->plan, RANK, &fresh), POLYAD_OK);
  polyad_workspace_set_versions(p->workspace, p->version);
  for (int which = 0; which < 2; ++which) {
    polyad_workspace *workspace = which == 0 ? p->workspace : fresh;
    double *to = which == 0 ? out : exact;
    assert_int_equal(phi ? polyad_phi(p->context, p->plan, workspace, mode, p->pointer, EPSILON, to)
                         : polyad_mttkrp(p->context, p->plan, workspace, mode, p->pointer, to),
                     POLYAD_OK);
  }
  for (uint64_t k = 0; k < DIMS[mode] * RANK; ++k)
    if (!(fabs(out[k] - exact[k]) <= 1e-12 * fabs(exact[k])))
      fail_msg("%s (%s), %s of mode %d, entry %d: %.17g found; expected %.17g",
               polyad_plan_format(p->plan), polyad_plan_variant(p->plan), phi ? "Phi" : "MTTKRP",
               mode, (int)k, out[k], exact[k]);
  polyad_workspace_destroy(fresh);
}

/* Sweeps in which each mode's factor changes after its kernel, as in algorithms; then every factor
 * changes before every mode. */
static void sweep(struct problem *p, bool phi) {
  uint64_t seed = 1000;
  for (int k = 0; k < SWEEPS; ++k)
    for (int n = 0; n < ORDER; ++n) {
      compare(p, phi, n);
      compare(p, phi, n);
      change(p, n, ++seed);
    }
  for (int n = 0; n < ORDER; ++n)
    for (int changed = 0; changed < ORDER; ++changed) {
      compare(p, phi, n);
      change(p, changed, ++seed);
      compare(p, phi, n);
    }
}

static void each_variant(void (*visit)(const char *format, const char *variant, bool phi)) {
  int visited = 0;
  for (int f = 0; f < pd_format_count(); ++f) {
    const struct polyad_format *format = pd_format_at(f);
    const struct polyad_kernels *kernels = pd_kernels_find(format->name, "cpu");
    if (kernels == NULL || pd_walk_of(kernels, PD_OPS_MTTKRP) == NULL) continue;
    char variants[PD_REASON_BYTES], *rest = variants;
    snprintf(variants, sizeof variants, "%s", format->variants);
    for (char *v = strtok_r(variants, " ", &rest); v != NULL; v = strtok_r(NULL, " ", &rest)) {
      visit(format->name, v, pd_walk_of(kernels, PD_OPS_GRADIENT) != NULL);
      ++visited;
    }
  }
  assert_true(visited > 0);
}

static void visit_changes(const char *format, const char *variant, bool phi) {
  struct problem p;
  if (open_problem(&p, format, variant)) {
    sweep(&p, false);
    for (int n = 0; phi && n < ORDER; ++n) {
      polyad_status status = polyad_pi(p.context, p.plan, p.workspace, n, p.pointer);
      if (status != POLYAD_OK) assert_int_equal(status, POLYAD_UNSUPPORTED);
      sweep(&p, true);
    }
  }
  close_problem(&p);
}

static void test_changed_factors_count(void **state) {
  (void)state;
  each_variant(visit_changes);
}

/* Rows of Pi that were stored serve while the versions say so, and only then. */
static void visit_stored(const char *format, const char *variant, bool phi) {
  struct problem p;
  double before[LONGEST * RANK], after[LONGEST * RANK];
  bool stores = strcmp(format, "portable") != 0 || strcmp(variant, "stored") == 0;
  const struct polyad_kernels *kernels = pd_kernels_find(format, "cpu");
  if (!phi || pd_walk_of(kernels, PD_OPS_PI) == NULL || !stores) return;
  assert_true(open_problem(&p, format, variant));
  polyad_workspace_set_versions(p.workspace, p.version);
  assert_int_equal(polyad_pi(p.context, p.plan, p.workspace, 1, p.pointer), POLYAD_OK);
  assert_int_equal(polyad_phi(p.context, p.plan, p.workspace, 1, p.pointer, EPSILON, before),
                   POLYAD_OK);
  fill(&p, 0, 77); /* without a new version */
  assert_int_equal(polyad_phi(p.context, p.plan, p.workspace, 1, p.pointer, EPSILON, after),
                   POLYAD_OK);
  assert_memory_equal(before, after, sizeof(double) * DIMS[1] * RANK);
  ++p.version[0];
  compare(&p, true, 1);
  fill(&p, 2, 78);
  polyad_workspace_set_versions(p.workspace, NULL);
  memset(p.version, 0, sizeof p.version);
  compare(&p, true, 1);
  close_problem(&p);
}

static void test_stored_rows_serve_their_versions(void **state) {
  (void)state;
  each_variant(visit_stored);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_changed_factors_count),
      cmocka_unit_test(test_stored_rows_serve_their_versions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
