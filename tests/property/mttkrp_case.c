#include "property/mttkrp_case.h"
#include "harness.h"

#include "core/numbers.h"
#include "formats/format.h"
#include "inputs.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t next(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static double number(uint64_t *state) {
  float x = (float)(next(state) >> 41) / (float)(1 << 23) + 0.25F;
  return next(state) & 1 ? (double)x : -(double)x;
}

static void draw(const struct mttkrp_case *from, size_t p, const uint64_t *before, uint64_t *state,
                 uint64_t *index) {
  bool heavy = from->shape == SHAPE_HEAVY && next(state) % 10 != 0;
  bool along = from->shape == SHAPE_FIBERS && p > 0 && next(state) % 8 != 0;
  int pivot = (int)(next(state) % (uint64_t)from->order);
  for (int n = 0; n < from->order; ++n) {
    index[n] = next(state) % from->dims[n];
    if (heavy && n != pivot) index[n] = from->dims[n] / 2;
    if (along && n < from->order - 1) index[n] = before[n];
    if (from->shape == SHAPE_DIAGONAL) index[n] = p % from->dims[n];
  }
}

void problem_make(const struct mttkrp_case *from, size_t rank, uint64_t seed,
                  struct problem *problem) {
  size_t order = (size_t)from->order, most = 2 * from->nnz + 1;
  *problem = (struct problem){.from = from, .rank = rank};
  problem->index = calloc(most * order, sizeof *problem->index);
  problem->value = calloc(most, sizeof *problem->value);
  assert_true(problem->index != NULL && problem->value != NULL);
  for (size_t p = 0; p < from->nnz; ++p) {
    uint64_t *index = problem->index + problem->entries * order;
    draw(from, p, index - (problem->entries > 0 ? order : 0), &seed, index);
    problem->value[problem->entries++] = number(&seed);
    if (!from->repeats || p % 3 != 0) continue;
    memcpy(index + order, index, order * sizeof *index);
    problem->value[problem->entries++] = number(&seed);
  }
  for (int n = 0; n < from->order; ++n) {
    size_t count = (size_t)from->dims[n] * rank;
    problem->factor[n] = malloc(count * sizeof(double));
    assert_non_null(problem->factor[n]);
    for (size_t k = 0; k < count; ++k)
      problem->factor[n][k] = number(&seed);
  }
}

void problem_free(struct problem *problem) {
  free(problem->index);
  free(problem->value);
  for (int n = 0; n < problem->from->order; ++n)
    free(problem->factor[n]);
  problem_forget_answers(problem);
}

void problem_forget_answers(struct problem *problem) {
  for (int n = 0; n < problem->from->order; ++n) {
    free(problem->answer[n].exact);
    free(problem->answer[n].magnitude);
    free(problem->answer[n].terms);
    problem->answer[n] = (struct answer){0};
  }
}

struct oracle_tensor problem_tensor(const struct problem *problem) {
  return (struct oracle_tensor){.order = problem->from->order,
                                .dims = problem->from->dims,
                                .nnz = problem->entries,
                                .index = problem->index,
                                .value = problem->value};
}

/* ---- a mode that is longer for the library --------------------------------------------------- */

static uint64_t length_of(const struct problem *problem, int mode) {
  bool longer = problem->length > 0 && mode == problem->long_mode;
  return longer ? problem->length : problem->from->dims[mode];
}

void problem_lengthen(struct problem *problem, uint64_t seed) {
  if (next(&seed) % 5 > 0) return;
  problem->long_mode = (int)(next(&seed) % (uint64_t)problem->from->order);
  problem->length = (UINT64_C(1) << (14 + next(&seed) % 18)) - next(&seed) % 3;
}

/* From the first index to the last, in even steps. */
static uint64_t place_of(const struct problem *problem, int mode, uint64_t i) {
  uint64_t length = length_of(problem, mode), rows = problem->from->dims[mode];
  return i == rows - 1 ? length - 1 : i * (length / rows);
}

bool problem_is_too_long(polyad_context *context, const struct problem *problem,
                         polyad_status status) {
  if (status == POLYAD_OK) return false;
  if (status != POLYAD_MEMORY_LIMIT || problem->length == 0)
    fail_msg("%s", polyad_last_error(context));
  return true;
}

static size_t matrix_bytes(const struct problem *problem, int mode, size_t columns,
                           polyad_type type) {
  return (size_t)length_of(problem, mode) * columns * (type == POLYAD_F32 ? 4 : 8) + 1;
}

void *problem_matrix(const struct problem *problem, int mode, const double *from, size_t columns,
                     polyad_type type) {
  size_t bytes = matrix_bytes(problem, mode, columns, type);
  void *matrix =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert_true(matrix != MAP_FAILED);
  if (from == NULL) memset(matrix, 0xFF, bytes);
  for (uint64_t i = 0; from != NULL && i < problem->from->dims[mode]; ++i)
    for (size_t r = 0; r < columns; ++r)
      pd_store(type, matrix, place_of(problem, mode, i) * columns + r, from[i * columns + r]);
  return matrix;
}

void problem_matrix_free(const struct problem *problem, int mode, size_t columns, polyad_type type,
                         const void *matrix) {
  if (matrix != NULL) munmap((void *)matrix, matrix_bytes(problem, mode, columns, type));
}

void problem_matrix_read(const struct problem *problem, int mode, size_t columns, polyad_type type,
                         const void *matrix, double *to) {
  uint64_t row = 0;
  for (uint64_t i = 0; i < length_of(problem, mode); ++i) {
    bool known = i == place_of(problem, mode, row);
    for (size_t r = 0; r < columns; ++r) {
      double number = pd_load(type, matrix, i * columns + r);
      if (known)
        to[row * columns + r] = number;
      else if (number != 0)
        fail_msg("row %llu of %llu has no nonzero, and column %zu is %g", (unsigned long long)i,
                 (unsigned long long)length_of(problem, mode), r, number);
    }
    row += known;
  }
}

bool problem_has_room(const struct problem *problem, int mode, size_t columns) {
  return matrix_bytes(problem, mode, columns, POLYAD_F64) <= (size_t)1 << 22;
}

polyad_tensor *problem_polyad(polyad_context *context, const struct problem *problem,
                              polyad_type type) {
  int order = problem->from->order;
  size_t words = (size_t)order * problem->entries;
  uint64_t dims[POLYAD_MAX_ORDER], *index = malloc((words + 1) * sizeof *index);
  assert_non_null(index);
  if (problem->length > 0)
    assert_int_equal(polyad_set_memory_limit(context, UINT64_C(1) << 29), POLYAD_OK);
  for (size_t k = 0; k < words; ++k)
    index[k] = place_of(problem, (int)(k % (size_t)order), problem->index[k]);
  for (int n = 0; n < order; ++n)
    dims[n] = length_of(problem, n);
  polyad_tensor_input input =
      input_of_rows(order, dims, problem->entries, POLYAD_U64, index, problem->value);
  input.type = type;
  polyad_tensor *tensor = NULL;
  if (polyad_tensor_create(context, &input, &tensor) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  free(index);
  return tensor;
}

void problem_mttkrp(polyad_context *context, const polyad_plan *plan, polyad_workspace *workspace,
                    const struct problem *problem, int mode, double *out) {
  int order = problem->from->order;
  size_t rank = problem->rank;
  polyad_type type = polyad_plan_type(plan);
  const void *factors[POLYAD_MAX_ORDER] = {NULL};
  for (int n = 0; n < order; ++n)
    if (n != mode) factors[n] = problem_matrix(problem, n, problem->factor[n], rank, type);
  void *result = problem_matrix(problem, mode, NULL, rank, type);
  if (polyad_mttkrp(context, plan, workspace, mode, factors, result) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  problem_matrix_read(problem, mode, rank, type, result, out);
  problem_matrix_free(problem, mode, rank, type, result);
  for (int n = 0; n < order; ++n)
    problem_matrix_free(problem, n, rank, type, factors[n]);
}

/* Roundings on the way to one entry: of repeats when they are merged (to the tensor's type), of
 * the products (order - 1, and once more where a partial sum is multiplied again at each level of
 * a tree), and of the sums: one after the other in float64; in float32 at most 256 before they go
 * into float64, at every level of a tree, and one to write the result. */
static long double bound_of(const struct problem *problem, polyad_type type, size_t terms) {
  long double order = problem->from->order, repeats = problem->from->repeats ? 1 : 0;
  long double wide = oracle_gamma(2 * order + (long double)terms + 2, DBL_EPSILON / 2);
  if (type == POLYAD_F64) return wide;
  long double run = terms < 256 ? (long double)terms : 256;
  return wide + oracle_gamma(2 * order + repeats + run + 1, FLT_EPSILON / 2);
}

/* The oracle's answer takes longer than what it checks: it is found once for all formats. */
static const struct answer *answer_of(struct problem *problem, int mode) {
  struct answer *answer = &problem->answer[mode];
  if (answer->exact != NULL) return answer;
  size_t rows = (size_t)problem->from->dims[mode], count = rows * problem->rank;
  answer->exact = malloc((count + 1) * sizeof *answer->exact);
  answer->magnitude = malloc((count + 1) * sizeof *answer->magnitude);
  answer->terms = malloc((rows + 1) * sizeof *answer->terms);
  assert_true(answer->exact != NULL && answer->magnitude != NULL && answer->terms != NULL);
  struct oracle_tensor tensor = problem_tensor(problem);
  oracle_mttkrp(&tensor, mode, problem->rank, (const double *const *)problem->factor, answer->exact,
                answer->magnitude, answer->terms);
  return answer;
}

static void compare_mode(polyad_context *context, const polyad_plan *plan,
                         polyad_workspace *workspace, struct problem *problem, int mode,
                         const char *what) {
  size_t rank = problem->rank, rows = (size_t)problem->from->dims[mode];
  if (!problem_has_room(problem, mode, rank)) return;
  double *out = malloc((rows * rank + 1) * sizeof *out);
  assert_non_null(out);
  const struct answer *answer = answer_of(problem, mode);
  problem_mttkrp(context, plan, workspace, problem, mode, out);
  for (size_t row = 0; row < rows; ++row) {
    long double unit = bound_of(problem, polyad_plan_type(plan), answer->terms[row]);
    for (size_t k = row * rank; k < (row + 1) * rank; ++k)
      if (!(fabsl((long double)out[k] - answer->exact[k]) <= answer->magnitude[k] * unit))
        fail_msg("%s, case %s, mode %d of %d, rank %zu, row %zu column %zu: %.17g, expected %.17Lg "
                 "within %.3Lg",
                 what, problem->from->name, mode, problem->from->order, rank, row, k % rank, out[k],
                 answer->exact[k], answer->magnitude[k] * unit);
  }
  free(out);
}

bool problem_compare(polyad_context *context, const polyad_plan *plan, struct problem *problem,
                     const char *what) {
  polyad_workspace *workspace = NULL;
  polyad_status status = polyad_workspace_create(context, plan, problem->rank, &workspace);
  if (problem_is_too_long(context, problem, status)) return false;
  for (int n = 0; n < problem->from->order; ++n)
    compare_mode(context, plan, workspace, problem, n, what);
  polyad_workspace_destroy(workspace);
  return true;
}

void *problem_in_type(const double *from, size_t count, polyad_type type) {
  void *copy = malloc(count * sizeof(double) + 1);
  assert_non_null(copy);
  for (size_t k = 0; k < count; ++k)
    pd_store(type, copy, k, from[k]);
  return copy;
}

int property_each_variant(const char *device, uint64_t ops,
                          void (*visit)(const char *format, const char *variant)) {
  int visited = 0;
  for (int f = 0; f < pd_format_count(); ++f) {
    const struct polyad_format *format = pd_format_at(f);
    const struct polyad_kernels *kernels = pd_kernels_find(format->name, device);
    if (kernels == NULL || pd_walk_of(kernels, ops) == NULL) continue;
    char variants[PD_REASON_BYTES], *rest = variants;
    snprintf(variants, sizeof variants, "%s",
             kernels->variants != NULL ? kernels->variants : format->variants);
    for (char *v = strtok_r(variants, " ", &rest); v != NULL; v = strtok_r(NULL, " ", &rest)) {
      visit(format->name, v);
      ++visited;
    }
  }
  return visited;
}

static uint64_t variants_to_pass; /* before the one that is visited */
static void (*visit_one)(const char *format, const char *variant);

static void pass_variant(const char *format, const char *variant) {
  if (variants_to_pass-- == 0) visit_one(format, variant);
}

static void count_variant(const char *format, const char *variant) { (void)format, (void)variant; }

void property_one_variant(const char *device, uint64_t ops, uint64_t which,
                          void (*visit)(const char *format, const char *variant)) {
  int count = property_each_variant(device, ops, count_variant);
  assert_true(count > 0);
  variants_to_pass = which % (uint64_t)count;
  visit_one = visit;
  property_each_variant(device, ops, pass_variant);
}

void property_draw_case(uint64_t seed, struct mttkrp_case *from) {
  enum { NNZ_MOST = 190 }; /* and a third of them twice */
  *from = (struct mttkrp_case){.name = "drawn"};
  from->order = 1 + (int)(next(&seed) % 8);
  uint64_t bits = from->order <= 3 ? 13 : 7;
  for (int n = 0; n < from->order; ++n)
    from->dims[n] = 1 + next(&seed) % (UINT64_C(1) << next(&seed) % (bits + 1));
  from->nnz = (size_t)(1 + next(&seed) % (1 + next(&seed) % NNZ_MOST));
  from->shape = (enum shape)(next(&seed) % 4);
  from->repeats = next(&seed) % 3 == 0;
}

void problem_coarsen(struct problem *problem) {
  for (size_t p = 0; p < problem->entries; ++p)
    problem->value[p] = rint(64 * problem->value[p]) / 64;
}
