/* The sums that fits are made of, <X, M>, ||X||^2, ||M||^2 and those over the nonzeros, on small
 * tensors of all kinds against sums in binary128: as functions of tensors and models give them, and
 * as CP-ALS finds them from MTTKRP, Gram matrices and a plan's nonzeros. */
#include "contexts.h"
#include "core/numbers.h"
#include "drawn.h"
#include "harness.h"
#include "linalg/linalg.h"
#include "oracle/inner_oracle.h"
#include "plan/plan.h"
#include "property/mttkrp_case.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t drawn;

/* One case, as the library has it. */
struct setting {
  polyad_context *context;
  polyad_type type;
  struct problem problem;
  double weight[64];
  polyad_tensor *tensor;
  polyad_ktensor *model;
  polyad_plan *plan;
  struct oracle_fit fit;
  char what[128];
};

static long double gamma_of(double roundings) { return oracle_gamma(roundings, DBL_EPSILON / 2); }

static void within(const struct setting *s, const char *name, double found, long double exact,
                   long double bound) {
  if (!(fabsl((long double)found - exact) <= bound))
    fail_msg("%s, %s: %.17g, expected %.17Lg within %.3Lg", s->what, name, found, exact, bound);
}

/* Lists each coordinate once, but for those whose values add up to zero, which no tensor holds;
 * coarse values add up exactly. */
static void merge_repeats(struct problem *problem) {
  size_t order = (size_t)problem->from->order, kept = 0;
  for (size_t p = 0; p < problem->entries; ++p) {
    const uint64_t *index = problem->index + p * order;
    size_t q = 0;
    while (q < kept && memcmp(problem->index + q * order, index, order * sizeof *index) != 0)
      ++q;
    if (q == kept) {
      memmove(problem->index + kept * order, index, order * sizeof *index);
      problem->value[kept++] = problem->value[p];
    } else {
      problem->value[q] += problem->value[p];
    }
  }
  problem->entries = 0;
  for (size_t q = 0; q < kept; ++q) {
    if (problem->value[q] == 0) continue;
    memmove(problem->index + problem->entries * order, problem->index + q * order,
            order * sizeof *problem->index);
    problem->value[problem->entries++] = problem->value[q];
  }
}

static polyad_ktensor *model_of(struct setting *s) {
  const struct mttkrp_case *from = s->problem.from;
  size_t rank = s->problem.rank;
  polyad_ktensor *model;
  assert_int_equal(
      polyad_ktensor_create(s->context, from->order, from->dims, rank, s->type, &model), POLYAD_OK);
  for (size_t r = 0; r < rank; ++r) {
    s->weight[r] = (r % 3 == 1 ? -1 : 1) * (1 + (double)(r * 5 % 7) / 8);
    pd_store(s->type, polyad_ktensor_weights(model), r, s->weight[r]);
  }
  for (int n = 0; n < from->order; ++n)
    for (size_t k = 0; k < (size_t)from->dims[n] * rank; ++k)
      pd_store(s->type, polyad_ktensor_factor(model, n), k, s->problem.factor[n][k]);
  return model;
}

/* ---- functions of tensors and models -------------------------------------------------------- */

/* The longest chain of roundings: products, the rank's sum, and over the nonzeros or rows; 256
 * parts are added up (tensor/ktensor_fit.c). */
static double chain(const struct setting *s, double terms) {
  return terms + (double)s->problem.rank + s->problem.from->order + 256 + 8;
}

static double most_rows(const struct setting *s) {
  double most = 0;
  for (int n = 0; n < s->problem.from->order; ++n)
    most = fmax(most, (double)s->problem.from->dims[n]);
  return most;
}

static void check_functions(struct setting *s) {
  double inner, norm, rank = (double)s->problem.rank;
  const struct oracle_fit *fit = &s->fit;
  assert_int_equal(polyad_ktensor_innerprod(s->context, s->model, s->tensor, &inner), POLYAD_OK);
  assert_int_equal(polyad_ktensor_norm(s->context, s->model, &norm), POLYAD_OK);
  long double data = chain(s, (double)s->problem.entries);
  within(s, "<X, M>", inner, fit->inner.exact, gamma_of((double)data) * fit->inner.magnitude);
  within(s, "||X||", polyad_tensor_norm(s->tensor), sqrtl(fit->data.exact),
         gamma_of((double)data) * sqrtl(fit->data.exact));
  /* Squared with one rounding more, and of the root. */
  double gram = s->problem.from->order * (most_rows(s) + 2) + rank * rank;
  within(s, "||M||^2", norm * norm, fit->model.exact,
         gamma_of(chain(s, gram)) * fit->model.magnitude + gamma_of(4) * fit->model.exact);
}

/* ---- what CP-ALS computes ------------------------------------------------------------------- */

/* Matrices of an iteration. */
struct iteration {
  struct pd_linalg_work *work;
  struct pd_matrix factor[POLYAD_MAX_ORDER], gram[POLYAD_MAX_ORDER], m, lambda, peak;
  const struct pd_matrix *factors[POLYAD_MAX_ORDER], *grams[POLYAD_MAX_ORDER];
};

static void matrix_of(const struct setting *s, polyad_type type, uint64_t rows, const double *from,
                      struct pd_matrix *to) {
  size_t rank = s->problem.rank;
  assert_int_equal(pd_matrix_create(s->context, &pd_cpu_device, type, rows, rank, to), POLYAD_OK);
  for (uint64_t i = 0; from != NULL && i < rows; ++i)
    for (size_t r = 0; r < rank; ++r)
      pd_store(type, to->data, i * to->stride + r, from[i * rank + r]);
}

static void begin(const struct setting *s, struct iteration *it) {
  const struct mttkrp_case *from = s->problem.from;
  size_t rank = s->problem.rank;
  assert_int_equal(pd_cpu_linalg.work_create(s->context, &pd_cpu_device, rank, &it->work), 0);
  matrix_of(s, POLYAD_F64, 1, s->weight, &it->lambda);
  matrix_of(s, POLYAD_F64, 1, NULL, &it->peak);
  matrix_of(s, s->type, from->dims[from->order - 1], NULL, &it->m);
  for (int n = 0; n < from->order; ++n) {
    matrix_of(s, s->type, from->dims[n], s->problem.factor[n], &it->factor[n]);
    matrix_of(s, POLYAD_F64, rank, NULL, &it->gram[n]);
    it->factors[n] = &it->factor[n];
    it->grams[n] = &it->gram[n];
    assert_int_equal(
        pd_cpu_linalg.gram(s->context, it->work, &it->factor[n], &it->gram[n], &it->peak),
        POLYAD_OK);
  }
}

static void end(const struct setting *s, struct iteration *it) {
  for (int n = 0; n < s->problem.from->order; ++n) {
    pd_matrix_destroy(s->context, &it->factor[n]);
    pd_matrix_destroy(s->context, &it->gram[n]);
  }
  pd_matrix_destroy(s->context, &it->m);
  pd_matrix_destroy(s->context, &it->lambda);
  pd_matrix_destroy(s->context, &it->peak);
  pd_cpu_linalg.work_destroy(s->context, it->work);
}

/* All scalars of an iteration: the last mode's MTTKRP, its inner product with the factor, the
 * model's norm, and the sums over the plan's nonzeros. */
static void iterate(const struct setting *s, struct iteration *it, double *scalar) {
  polyad_workspace *workspace;
  struct pd_plan_nonzeros opened;
  int last = s->problem.from->order - 1;
  const struct pd_call call = {
      .op = PD_MTTKRP, .mode = last, .factors = it->factors, .out = &it->m};
  const struct pd_norm norm = {.work = it->work,
                               .count = last + 1,
                               .grams = it->grams,
                               .peak = &it->peak,
                               .lambda = &it->lambda};
  assert_int_equal(polyad_workspace_create(s->context, s->plan, s->problem.rank, &workspace), 0);
  assert_int_equal(pd_plan_run(s->context, s->plan, workspace, &call), POLYAD_OK);
  assert_int_equal(
      pd_cpu_linalg.weighted_inner(s->context, it->work, &it->m, &it->factor[last], &it->lambda),
      POLYAD_OK);
  assert_int_equal(pd_cpu_linalg.model_norm(s->context, 1, &norm), POLYAD_OK);
  assert_int_equal(pd_plan_nonzeros_open(s->context, s->plan, &opened), POLYAD_OK);
  assert_int_equal(
      pd_cpu_linalg.residual(s->context, it->work, &opened.all, NULL, it->factors, &it->lambda),
      POLYAD_OK);
  double(*scalars)[PD_SCALARS] = (double(*)[PD_SCALARS])scalar;
  assert_int_equal(pd_cpu_linalg.fetch(s->context, 1, &it->work, scalars), POLYAD_OK);
  pd_plan_nonzeros_close(s->context, s->plan, &opened);
  polyad_workspace_destroy(workspace);
}

static void check_iteration(const struct setting *s) {
  struct iteration it;
  double scalar[PD_SCALARS], order = s->problem.from->order, rank = (double)s->problem.rank;
  double nnz = (double)s->problem.entries;
  const struct oracle_fit *fit = &s->fit;
  begin(s, &it);
  iterate(s, &it, scalar);
  /* MTTKRP's roundings as tests of it count them, of a sum of all nonzeros at most. */
  long double product = gamma_of(2 * order + nnz + most_rows(s) + rank + 8);
  if (s->type == POLYAD_F32)
    product += oracle_gamma(2 * order + fmin(nnz, 256) + 2, FLT_EPSILON / 2);
  within(s, "CP-ALS's <X, M>", scalar[PD_SCALAR_INNER], fit->inner.exact,
         product * fit->inner.magnitude);
  double gram = order * (most_rows(s) + 2) + rank * rank;
  within(s, "CP-ALS's ||M||^2", scalar[PD_SCALAR_MODEL], fit->model.exact,
         gamma_of(chain(s, gram)) * fit->model.magnitude);
  within(s, "the sum of (x - m)^2", scalar[PD_SCALAR_RESIDUAL], fit->missed.exact,
         fit->missed_slope + gamma_of(chain(s, nnz)) * fit->missed.exact);
  within(s, "the sum of m^2", scalar[PD_SCALAR_COVERED], fit->covered.exact,
         fit->covered_slope + gamma_of(chain(s, nnz)) * fit->covered.exact);
  end(s, &it);
}

/* ---- drawn cases ---------------------------------------------------------------------------- */

static void compare(struct setting *s, const char *format, const char *variant) {
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = format;
  options.variant = variant;
  options.rank = s->problem.rank;
  options.precision = s->type;
  polyad_status status = polyad_plan_create(s->context, s->tensor, &options, &s->plan);
  if (status != POLYAD_OK) fail_msg("%s: %s", s->what, polyad_last_error(s->context));
  merge_repeats(&s->problem);
  assert_true(s->problem.entries == polyad_tensor_nnz(s->tensor));
  if (planted) s->problem.value[0] *= 1 + 0x1p-30;
  struct oracle_tensor tensor = problem_tensor(&s->problem);
  long double unit = gamma_of((double)s->problem.rank + s->problem.from->order + 4);
  oracle_fit_sums(&tensor, s->problem.rank, s->weight, (const double *const *)s->problem.factor,
                  unit, &s->fit);
  check_functions(s);
  check_iteration(s);
  ++compared;
  polyad_plan_destroy(s->plan);
}

static void drawn_case(const char *format, const char *variant) {
  static const size_t ranks[] = {1, 3, 16, 9, 1, 3, 16, 33};
  static const int threads[] = {1, 2, 3, 7};
  const struct polyad_format *about = pd_format_find(format);
  struct mttkrp_case from;
  property_draw_case(drawn, &from);
  if (from.order < about->min_order || from.order > about->max_order) return;
  if (strcmp(format, "dense") == 0) return; /* refuses what is almost empty */
  struct setting s = {.type = drawn % 2 ? POLYAD_F32 : POLYAD_F64};
  snprintf(s.what, sizeof s.what, "%s/%s %s, drawn case %llu", format, variant,
           s.type == POLYAD_F32 ? "f32" : "f64", (unsigned long long)drawn);
  s.context = cpu_context(threads[drawn / 8 % 4]);
  problem_make(&from, ranks[drawn / 2 % 8], drawn, &s.problem);
  problem_coarsen(&s.problem);
  s.tensor = problem_polyad(s.context, &s.problem, s.type);
  s.model = model_of(&s);
  compare(&s, format, variant);
  polyad_ktensor_destroy(s.model);
  polyad_tensor_destroy(s.tensor);
  problem_free(&s.problem);
  assert_int_equal(polyad_memory_in_use(s.context), 0);
  polyad_context_destroy(s.context);
}

static void test_drawn_cases(void **state) {
  (void)state;
  for (drawn = 0; compared < drawn_count; ++drawn)
    property_one_variant("cpu", PD_OPS_MTTKRP, drawn, drawn_case);
  if (!planted) record_figures("drawn_inner", 1, (struct figure[]){{"tensors", (long)compared}});
}

/* usage: drawn COUNT [planted] */
int main(int count, char **arguments) {
  return drawn_asked(count, arguments) ? run_drawn(test_drawn_cases) : 2;
}
