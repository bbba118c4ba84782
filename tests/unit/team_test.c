/* Teams: what their calls promise, what a part of a plan holds, and decompositions by several
 * members beside those by one. */
#include "core/random.h"
#include "device/device_registry.h"
#include "linalg/linalg.h"
#include "oracle/mttkrp_oracle.h"
#include "plan/part.h"
#include "team_fixture.h"
#include "team_methods.h"
#include <float.h>
#include <math.h>
#include <polyad/generate.h>
#include <polyad/scale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int sizes[] = {1, 2, 3, 4, 7};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* ---- sums of what members hold ------------------------------------------------------------- */

enum { SPREAD_ROWS = 200, SPREAD_RANK = 3 };

/* SPREAD of rows of a factor, of which each member has its share. */
static polyad_status spread_of_rows(struct team_member *member) {
  double *found = (double *)member->all->data + member->rank, scalar[1][PD_SCALARS];
  struct pd_linalg_work *work = NULL;
  struct pd_matrix x = {0}, slices = {0}, gram = {0}, lambda = {0};
  const struct pd_matrix *grams[] = {&gram, &gram};
  uint64_t size = (uint64_t)member->all->size, first = SPREAD_ROWS * (uint64_t)member->rank / size;
  uint64_t rows = SPREAD_ROWS * ((uint64_t)member->rank + 1) / size - first;
  polyad_context *context = member->context;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_cpu_linalg.work_create(context, &pd_cpu_device, SPREAD_RANK, &work));
  PD_TRY_CLEANUP(pd_cpu_linalg.join(context, work, member->team));
  PD_TRY_CLEANUP(pd_matrix_create(context, &pd_cpu_device, POLYAD_F64, rows, SPREAD_RANK, &x));
  PD_TRY_CLEANUP(pd_matrix_create(context, &pd_cpu_device, POLYAD_F64, rows, 1, &slices));
  PD_TRY_CLEANUP(
      pd_matrix_create(context, &pd_cpu_device, POLYAD_F64, SPREAD_RANK, SPREAD_RANK, &gram));
  PD_TRY_CLEANUP(pd_matrix_create(context, &pd_cpu_device, POLYAD_F64, 1, SPREAD_RANK, &lambda));
  for (uint64_t i = 0; i < rows; ++i) { /* whole numbers: sums are exact in any order */
    ((double *)slices.data)[i * slices.stride] = (double)(1 + (first + i) % 7);
    for (uint64_t r = 0; r < SPREAD_RANK; ++r)
      ((double *)x.data)[i * x.stride + r] = (double)((first + i + r) % 5);
  }
  for (uint64_t r = 0; r < SPREAD_RANK; ++r) {
    ((double *)lambda.data)[r] = (double)(1 + r);
    ((double *)gram.data)[r * gram.stride + r] = 2;
  }
  PD_TRY_CLEANUP(pd_cpu_linalg.spread(context, work, &slices, &x, 2, grams, &lambda));
  PD_TRY_CLEANUP(pd_cpu_linalg.fetch(context, 1, &work, scalar));
  *found = scalar[0][PD_SCALAR_SPREAD];
cleanup:
  pd_matrix_destroy(context, &x);
  pd_matrix_destroy(context, &slices);
  pd_matrix_destroy(context, &gram);
  pd_matrix_destroy(context, &lambda);
  if (work != NULL) pd_cpu_linalg.work_destroy(context, work);
  return status;
}

static void spreads_are_of_all_members(void **state) {
  (void)state;
  double expected = 0, found[TEAM_MOST];
  for (uint64_t i = 0; i < SPREAD_ROWS; ++i)
    for (uint64_t r = 0; r < SPREAD_RANK; ++r)
      expected += 2 * (double)((1 + r) * (1 + r) * (1 + i % 7) * ((i + r) % 5) * ((i + r) % 5));
  for (int s = 0; s < SIZES; ++s) {
    struct team_case all = {.size = sizes[s], .body = spread_of_rows, .data = found, .failing = -1};
    team_run(&all);
    team_succeeded(&all);
    for (int rank = 0; rank < all.size; ++rank)
      if (fabs(found[rank] - expected) > 8 * DBL_EPSILON * expected)
        fail_msg("member %d of %d: %.17g, expected %.17g", rank, all.size, found[rank], expected);
  }
}

/* ---- calls --------------------------------------------------------------------------------- */

enum { NUMBERS = 10001 };

static double number_of(int rank, int k) {
  return pd_random_normal(3, (uint64_t)rank, (uint64_t)k) * pow(10, k % 7);
}

struct found {
  double sum[TEAM_MOST][NUMBERS], most[TEAM_MOST][NUMBERS];
  unsigned char told[TEAM_MOST][33];
};

static polyad_status call_all(struct team_member *member) {
  struct found *found = member->all->data;
  double *sum = found->sum[member->rank], *most = found->most[member->rank];
  unsigned char *told = found->told[member->rank];
  bool any = member->rank == member->all->size - 1;
  uint64_t count = (UINT64_C(1) << 60) + (uint64_t)member->rank;
  for (int k = 0; k < NUMBERS; ++k)
    sum[k] = most[k] = number_of(member->rank, k);
  memset(told, member->rank, sizeof found->told[0]);
  PD_TRY(pd_team_sum(member->context, member->team, 3, sum));
  PD_TRY(pd_team_sum(member->context, member->team, NUMBERS - 3, sum + 3));
  PD_TRY(pd_team_max(member->context, member->team, NUMBERS, most));
  PD_TRY(pd_team_broadcast(member->context, member->team, member->all->size - 1, told, 33));
  PD_TRY(pd_team_any(member->context, member->team, &any));
  PD_TRY(pd_team_max_count(member->context, member->team, &count));
  return any && count == (UINT64_C(1) << 60) + (uint64_t)member->all->size - 1 ? POLYAD_OK
                                                                               : POLYAD_INTERNAL;
}

/* Sums are those of a loop over the ranks, to the bit, on all members. */
static void calls(void **state) {
  (void)state;
  struct found *found = malloc(sizeof *found);
  assert_non_null(found);
  for (int s = 0; s < SIZES; ++s) {
    struct team_case all = {.size = sizes[s], .body = call_all, .data = found, .failing = -1};
    team_run(&all);
    team_succeeded(&all);
    for (int rank = 0; rank < all.size; ++rank)
      for (int k = 0; k < NUMBERS; ++k) {
        double sum = number_of(0, k), most = sum;
        for (int other = 1; other < all.size; ++other) {
          sum += number_of(other, k);
          most = fmax(most, number_of(other, k));
        }
        assert_true(found->sum[rank][k] == sum && found->most[rank][k] == most);
        assert_int_equal(found->told[rank][k % 33], all.size - 1);
      }
  }
  free(found);
}

static polyad_status fail_alone(struct team_member *member) {
  double number = 1;
  if (member->rank == 2)
    return pd_fail(member->context, POLYAD_IO, "disk %d is full", member->rank);
  PD_TRY(pd_team_sum(member->context, member->team, 1, &number));
  return POLYAD_OK;
}

static polyad_status other_call(struct team_member *member) {
  double number = 1;
  bool truth = true;
  return member->rank == 1 ? pd_team_any(member->context, member->team, &truth)
                           : pd_team_sum(member->context, member->team, 1, &number);
}

/* An error of one is an error of all, with its words; so are different calls. */
static void failures(void **state) {
  (void)state;
  struct team_case alone = {.size = 4, .body = fail_alone, .failing = -1};
  team_run(&alone);
  for (int k = 0; k < 4; ++k) {
    assert_int_equal(alone.member[k].status, POLYAD_IO);
    assert_string_equal(alone.member[k].message,
                        k == 2 ? "disk 2 is full" : "process 2: disk 2 is full");
  }
  struct team_case apart = {.size = 3, .body = other_call, .failing = -1};
  team_run(&apart);
  for (int k = 0; k < 3; ++k) {
    assert_int_equal(apart.member[k].status, POLYAD_INTERNAL);
    assert_non_null(strstr(apart.member[k].message, "different calls"));
    assert_non_null(strstr(apart.member[k].message, "expected all to be started with the same"));
  }
}

/* ---- parts --------------------------------------------------------------------------------- */

/* A tensor and factors as the oracle wants them, and what the members' own rows came to. */
struct products {
  const polyad_tensor *tensor;
  struct oracle_tensor plain;
  const char *format;
  uint64_t rank;
  double *factor[POLYAD_MAX_ORDER], *out[POLYAD_MAX_ORDER];
  int *owners[POLYAD_MAX_ORDER]; /* members that own each row */
  bool spread_fails;
};

/* Rows of the whole factors that a member has; rows of others' come by pd_plan_spread(). */
static polyad_status local_factor(struct team_member *member, const polyad_plan *plan,
                                  polyad_workspace *workspace, int n, struct pd_matrix *matrix) {
  struct products *p = member->all->data;
  double *data;
  PD_TRY(
      pd_matrix_create(member->context, plan->device, POLYAD_F64, plan->dims[n], p->rank, matrix));
  data = matrix->data;
  for (uint64_t i = 0; i < pd_plan_own_rows(plan, n); ++i)
    memcpy(data + i * p->rank, p->factor[n] + pd_plan_index(plan, n, i) * p->rank,
           p->rank * sizeof *data);
  PD_TRY(pd_plan_spread(member->context, plan, workspace, n, matrix));
  for (uint64_t i = 0; i < plan->part->mode[n].held[member->all->size]; ++i)
    if (memcmp(data + i * p->rank, p->factor[n] + pd_plan_index(plan, n, i) * p->rank,
               p->rank * sizeof *data) != 0)
      p->spread_fails = true;
  return POLYAD_OK;
}

static polyad_status multiply(struct team_member *member, polyad_plan *plan,
                              polyad_workspace *workspace, struct pd_matrix *matrix) {
  struct products *p = member->all->data;
  const struct pd_matrix *list[POLYAD_MAX_ORDER];
  struct pd_matrix out;
  for (int n = 0; n < plan->order; ++n) {
    PD_TRY(local_factor(member, plan, workspace, n, &matrix[n]));
    list[n] = &matrix[n];
  }
  for (int n = 0; n < plan->order; ++n) {
    PD_TRY(
        pd_matrix_create(member->context, plan->device, POLYAD_F64, plan->dims[n], p->rank, &out));
    const struct pd_call call = {.op = PD_MTTKRP, .mode = n, .factors = list, .out = &out};
    polyad_status status = pd_plan_run(member->context, plan, workspace, &call);
    for (uint64_t i = 0; i < pd_plan_own_rows(plan, n) && status == POLYAD_OK; ++i) {
      uint64_t row = pd_plan_index(plan, n, i);
      __atomic_fetch_add(&p->owners[n][row], 1, __ATOMIC_RELAXED);
      memcpy(p->out[n] + row * p->rank, (double *)out.data + i * p->rank, p->rank * sizeof(double));
    }
    pd_matrix_destroy(member->context, &out);
    PD_TRY(status);
  }
  return POLYAD_OK;
}

static polyad_status products_body(struct team_member *member) {
  struct products *p = member->all->data;
  polyad_plan *plan = NULL;
  polyad_workspace *workspace = NULL;
  struct pd_matrix matrix[POLYAD_MAX_ORDER] = {{0}};
  polyad_status status =
      team_plan(member, p->tensor, p->format, POLYAD_KERNEL_MTTKRP, p->rank, POLYAD_F64, &plan);
  if (status != POLYAD_OK) return status;
  if (polyad_plan_nnz(plan) != polyad_tensor_nnz(p->tensor)) status = POLYAD_INTERNAL;
  if (status == POLYAD_OK)
    status = polyad_workspace_create(member->context, plan, p->rank, &workspace);
  if (status == POLYAD_OK) status = multiply(member, plan, workspace, matrix);
  for (int n = 0; n < plan->order; ++n)
    pd_matrix_destroy(member->context, &matrix[n]);
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  return status;
}

static void check_mode(const struct products *p, int n, int size) {
  uint64_t rows = p->plain.dims[n], count = rows * p->rank;
  long double *exact = malloc(count * sizeof *exact), *magnitude = malloc(count * sizeof *exact);
  size_t *terms = malloc(rows * sizeof *terms);
  assert_true(exact != NULL && magnitude != NULL && terms != NULL);
  oracle_mttkrp(&p->plain, n, p->rank, (const double *const *)p->factor, exact, magnitude, terms);
  for (uint64_t k = 0; k < count; ++k) {
    long double roundings =
        (long double)(terms[k / p->rank] + (size_t)p->plain.order + (size_t)size);
    long double bound = oracle_gamma(roundings, 0x1p-53L) * magnitude[k];
    if (!(fabsl((long double)p->out[n][k] - exact[k]) <= bound))
      fail_msg("order %d, mode %d, row %d of %d members: %.17g found, %.17Lg expected to %.3Lg",
               p->plain.order, n, (int)(k / p->rank), size, p->out[n][k], exact[k], bound);
  }
  free(exact);
  free(magnitude);
  free(terms);
}

static void check_products(polyad_context *context, int order, const uint64_t *dims, uint64_t nnz,
                           uint64_t rank, int size, const char *format) {
  (void)context;
  polyad_tensor *tensor = als_random_tensor(context, order, dims, nnz, 5, 0);
  uint64_t entries = polyad_tensor_nnz(tensor);
  uint64_t *index = malloc(entries * (uint64_t)order * sizeof *index);
  struct products p = {.tensor = tensor, .format = format, .rank = rank};
  assert_non_null(index);
  for (uint64_t e = 0; e < entries; ++e)
    for (int n = 0; n < order; ++n)
      index[e * (uint64_t)order + (uint64_t)n] = pd_tensor_index(tensor, n, e);
  p.plain = (struct oracle_tensor){order, dims, entries, index, tensor->values};
  for (int n = 0; n < order; ++n) {
    p.factor[n] = malloc(dims[n] * rank * sizeof(double));
    p.out[n] = malloc(dims[n] * rank * sizeof(double));
    p.owners[n] = calloc(dims[n], sizeof(int));
    assert_true(p.factor[n] != NULL && p.out[n] != NULL && p.owners[n] != NULL);
    for (uint64_t k = 0; k < dims[n] * rank; ++k)
      p.factor[n][k] = pd_random_normal(9, (uint64_t)n, k);
  }
  struct team_case all = {.size = size, .body = products_body, .data = &p, .failing = -1};
  team_run(&all);
  team_succeeded(&all);
  assert_false(p.spread_fails);
  for (int n = 0; n < order; ++n) {
    for (uint64_t i = 0; i < dims[n]; ++i)
      assert_int_equal(p.owners[n][i], 1);
    check_mode(&p, n, size);
  }
  for (int n = 0; n < order; ++n) {
    free(p.factor[n]);
    free(p.out[n]);
    free(p.owners[n]);
  }
  free(index);
  polyad_tensor_destroy(tensor);
}

/* MTTKRP by several members against the oracle: every order up to 8, modes of length 1, more
 * members than nonzeros, every row with one owner. */
static void products_of_parts(void **state) {
  (void)state;
  static const uint64_t dims[][8] = {{50},
                                     {40, 31},
                                     {30, 1, 25},
                                     {9, 14, 6, 7},
                                     {5, 4, 3, 6, 1},
                                     {3, 4, 2, 5, 3, 2},
                                     {1, 1, 1, 1, 1, 1, 1},
                                     {2, 3, 2, 3, 2, 3, 2, 3}};
  polyad_context *context = cpu_context(1);
  for (int order = 1; order <= 8; ++order)
    for (int s = 0; s < SIZES; ++s) {
      check_products(context, order, dims[order - 1], 300, 5, sizes[s], "auto");
      check_products(context, order, dims[order - 1], 3, 3, sizes[s], "auto");
    }
  static const char *const formats[] = {"coo", "csf", "alto", "modecopy", "hicoo", "twotree"};
  for (size_t f = 0; f < sizeof formats / sizeof *formats; ++f)
    check_products(context, 3, (const uint64_t[3]){60, 50, 40}, 2000, 7, 4, formats[f]);
  context_end(context);
}

/* Of the grids of a team the one that cuts the long mode moves least; a short mode is not cut. */
static void grids(void **state) {
  (void)state;
  int grid[3];
  pd_part_choose_grid(3, (const uint64_t[3]){1000000, 20, 100}, 10000000, 4, NULL, grid);
  assert_true(grid[0] == 4 && grid[1] == 1 && grid[2] == 1);
  pd_part_choose_grid(3, (const uint64_t[3]){1000, 1000, 1000}, 100000000, 8, NULL, grid);
  assert_true(grid[0] == 2 && grid[1] == 2 && grid[2] == 2);
  pd_part_choose_grid(3, (const uint64_t[3]){2, 2, 3000}, 1000, 6, NULL, grid);
  assert_int_equal(grid[0] * grid[1] * grid[2], 6);
  assert_true(grid[0] <= 2 && grid[1] <= 2);
  /* The longest mode is cut, unless that leaves most nonzeros to one member. */
  double crowding[3 * 3] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  static const uint64_t dims[3] = {1000, 900, 800};
  pd_part_choose_grid(3, dims, 10000000, 2, crowding, grid);
  assert_true(grid[0] == 2 && grid[1] == 1 && grid[2] == 1);
  crowding[2] = 1.2;
  pd_part_choose_grid(3, dims, 10000000, 2, crowding, grid);
  assert_true(grid[0] == 1 && grid[1] == 2 && grid[2] == 1);
}

/* Unequal members cut one mode alone: the longest, unless it has a slice that is too full. */
static void grids_of_unequal_members(void **state) {
  (void)state;
  static const uint64_t dims[3] = {1000, 900, 800};
  double crowding[3 * 5];
  int grid[3];
  for (int k = 0; k < 15; ++k)
    crowding[k] = 1;
  pd_part_choose_mode(3, dims, 10000000, 4, crowding, grid);
  assert_true(grid[0] == 4 && grid[1] == 1 && grid[2] == 1);
  crowding[4] = 1.2;
  pd_part_choose_mode(3, dims, 10000000, 4, crowding, grid);
  assert_true(grid[0] == 1 && grid[1] == 4 && grid[2] == 1);
  pd_part_choose_mode(3, (const uint64_t[3]){2, 3, 30}, 1000, 6, NULL, grid);
  assert_true(grid[0] == 1 && grid[1] == 1 && grid[2] == 6);
}

/* Rows that members of a plan read and do not own. */
struct travel {
  const polyad_tensor *tensor;
  double rows[TEAM_MOST];
  int grid[TEAM_MOST][POLYAD_MAX_ORDER];
};

static polyad_status travel_body(struct team_member *member) {
  struct travel *travel = member->all->data;
  polyad_plan *plan = NULL;
  polyad_team_info about;
  polyad_status status =
      team_plan(member, travel->tensor, "coo", POLYAD_KERNEL_MTTKRP, 2, POLYAD_F64, &plan);
  if (status != POLYAD_OK) return status;
  polyad_plan_team_info(plan, &about);
  memcpy(travel->grid[member->rank], about.grid, sizeof about.grid);
  for (int n = 0; n < plan->order; ++n) {
    const struct pd_part_mode *mode = &plan->part->mode[n];
    travel->rows[member->rank] += (double)(mode->held[member->all->size] - mode->owned);
  }
  polyad_plan_destroy(plan);
  return POLYAD_OK;
}

/* What polyad_scale_predict() counts, beside what members of a team have. */
struct predicted {
  const polyad_tensor *tensor;
  polyad_scale scale;
  polyad_team_info members[TEAM_MOST], found[TEAM_MOST];
  uint64_t sent[TEAM_MOST]; /* rows that travel in an iteration */
};

static polyad_status predicted_body(struct team_member *member) {
  struct predicted *p = member->all->data;
  polyad_plan *plan = NULL;
  polyad_status status =
      team_plan(member, p->tensor, "coo", POLYAD_KERNEL_MTTKRP, 2, POLYAD_F64, &plan);
  if (status != POLYAD_OK) return status;
  polyad_plan_team_info(plan, &p->found[member->rank]);
  for (int n = 0; n < plan->order && plan->part != NULL; ++n) {
    const struct pd_part_mode *mode = &plan->part->mode[n];
    p->sent[member->rank] +=
        mode->held[member->all->size] - mode->owned + mode->lent[member->all->size];
  }
  polyad_plan_destroy(plan);
  return POLYAD_OK;
}

static void check_predicted(polyad_context *context, const polyad_tensor *tensor, int size) {
  enum { RANK = 3 };
  struct predicted p = {.tensor = tensor};
  polyad_scale_options options;
  polyad_scale_options_init(&options);
  options.rank = RANK;
  assert_int_equal(polyad_scale_predict(context, tensor, &options, size, &p.scale, p.members),
                   POLYAD_OK);
  struct team_case all = {.size = size, .body = predicted_body, .data = &p, .failing = -1};
  team_run(&all);
  team_succeeded(&all);
  uint64_t sent = 0, rows = 0;
  for (int k = 0; k < size; ++k) {
    const polyad_team_info *found = &p.found[k], *told = &p.members[k];
    assert_int_equal(told->rank, k);
    assert_int_equal(told->size, size);
    assert_memory_equal(told->grid, found->grid, (size_t)tensor->order * sizeof found->grid[0]);
    assert_int_equal(told->nnz, found->nnz);
    assert_int_equal(told->most_nnz, found->most_nnz);
    assert_int_equal(told->rows_read, found->rows_read);
    assert_int_equal(told->rows_owned, found->rows_owned);
    assert_int_equal(told->bytes_sent, p.sent[k] * RANK * sizeof(double));
    sent += told->bytes_sent;
    rows += told->rows_owned;
  }
  assert_int_equal(p.scale.bytes_sent, sent);
  for (int n = 0; n < tensor->order; ++n)
    rows -= tensor->dims[n];
  assert_int_equal(rows, 0);
}

/* Predictions of what a team has are counts, and exact: every order up to 8, modes of length 1,
 * more members than nonzeros, slices so full that they cannot be cut. */
static void predictions_are_exact(void **state) {
  (void)state;
  static const uint64_t dims[][8] = {{50},
                                     {40, 31},
                                     {30, 1, 25},
                                     {9, 14, 6, 7},
                                     {5, 4, 3, 6, 1},
                                     {3, 4, 2, 5, 3, 2},
                                     {1, 1, 1, 1, 1, 1, 1},
                                     {2, 3, 2, 3, 2, 3, 2, 3}};
  polyad_context *context = cpu_context(1);
  for (int s = 0; s < SIZES; ++s) {
    for (int order = 1; order <= 8; ++order)
      for (uint64_t nnz = 3; nnz <= 3000; nnz *= 31) {
        polyad_tensor *tensor = als_random_tensor(context, order, dims[order - 1], nnz, 5, 0);
        check_predicted(context, tensor, sizes[s]);
        polyad_tensor_destroy(tensor);
      }
    polyad_generate_options generate;
    polyad_tensor *tensor = NULL;
    polyad_generate_options_init(&generate);
    generate.order = 3;
    generate.nnz = 5000;
    memcpy(generate.dims, (const uint64_t[3]){1 << 20, 7, 90000}, 3 * sizeof *generate.dims);
    generate.skew[0] = generate.skew[1] = 2;
    assert_int_equal(polyad_generate(context, &generate, &tensor, NULL), POLYAD_OK);
    check_predicted(context, tensor, sizes[s]);
    polyad_tensor_destroy(tensor);
  }
  context_end(context);
}

/* Times add up as the header says, and what cannot be predicted is refused. */
static void predicted_times(void **state) {
  (void)state;
  static const uint64_t dims[3] = {50, 40, 30};
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = als_random_tensor(context, 3, dims, 2000, 5, 0);
  polyad_scale_options options;
  polyad_scale alone, scale;
  polyad_scale_options_init(&options);
  assert_int_equal(polyad_scale_predict(context, tensor, NULL, 4, &scale, NULL), POLYAD_OK);
  assert_true(scale.seconds == 0 && scale.efficiency == 0 && scale.bytes_sent > 0);
  options.seconds_mttkrp = 3;
  options.seconds_other = 1;
  assert_int_equal(polyad_scale_predict(context, tensor, &options, 1, &alone, NULL), POLYAD_OK);
  assert_true(alone.seconds == 4 && alone.seconds_network == 0 && alone.efficiency == 1);
  assert_true(alone.bytes_sent == 0);
  assert_int_equal(polyad_scale_predict(context, tensor, &options, 4, &scale, NULL), POLYAD_OK);
  assert_true(scale.seconds_compute >= 1 && scale.seconds_compute <= 4);
  assert_true(scale.seconds == scale.seconds_compute + scale.seconds_network);
  assert_true(scale.efficiency == 4 / (4 * scale.seconds) && scale.efficiency < 1);
  polyad_scale slow;
  options.bytes_per_second = 1;
  assert_int_equal(polyad_scale_predict(context, tensor, &options, 4, &slow, NULL), POLYAD_OK);
  assert_true(slow.seconds_network > (double)slow.most_bytes_sent);
  assert_true(slow.seconds_compute == scale.seconds_compute);
  polyad_scale_options_init(&options);
  for (int size = -1; size < 1; ++size)
    assert_int_equal(polyad_scale_predict(context, tensor, &options, size, &scale, NULL),
                     POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_scale_predict(context, tensor, &options, 65537, &scale, NULL),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_scale_predict(context, NULL, &options, 2, &scale, NULL),
                   POLYAD_INVALID_ARGUMENT);
  options.bytes_per_second = NAN;
  assert_int_equal(polyad_scale_predict(context, tensor, &options, 2, &scale, NULL),
                   POLYAD_INVALID_ARGUMENT);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* As many rows travel as the choice of the grid expects, where the nonzeros are few for the rows
 * and where they are many. Numbers of occupied rows deviate by less than the root of their number:
 * six of these deviations are allowed. */
static void travelling_rows(void **state) {
  (void)state;
  static const uint64_t dims[3] = {4000, 3000, 2000};
  polyad_context *context = cpu_context(1);
  for (uint64_t nnz = 1000; nnz <= 100000; nnz *= 10) {
    polyad_tensor *tensor = als_random_tensor(context, 3, dims, nnz, 6, 0);
    for (int s = 1; s < SIZES; ++s) {
      struct travel travel = {.tensor = tensor};
      struct team_case all = {
          .size = sizes[s], .body = travel_body, .data = &travel, .failing = -1};
      team_run(&all);
      team_succeeded(&all);
      double rows = 0;
      for (int k = 0; k < sizes[s]; ++k)
        rows += travel.rows[k];
      double expected = sizes[s] * pd_part_expected_rows(3, dims, nnz, travel.grid[0]);
      if (!(fabs(rows - expected) <= 6 * sqrt(expected + 1)))
        fail_msg("%d members, %d nonzeros: %g rows travel, %g were expected", sizes[s], (int)nnz,
                 rows, expected);
    }
    polyad_tensor_destroy(tensor);
  }
  context_end(context);
}

/* ---- decompositions ------------------------------------------------------------------------ */

struct run {
  const polyad_tensor *tensor;
  enum method method;
  polyad_type precision;
  uint64_t rank;
  int iterations, starts;
  const char *checkpoint, *resume;
  int cancels;           /* the member that cancels in its first iteration; -1: none */
  polyad_ktensor *model; /* member 0's; of a context of the test's */
  polyad_context *context;
  double fit[TEAM_MOST], objective[TEAM_MOST], bound;
  polyad_reason reason[TEAM_MOST];
  char diagnosis[512];
};

static polyad_status decompose_plan(polyad_context *context, const polyad_plan *plan,
                                    const struct run *run, polyad_ktensor **model,
                                    polyad_run_info *info) {
  polyad_run_options common = {.starts = run->starts,
                               .max_iterations = run->iterations,
                               .checkpoint = run->checkpoint,
                               .checkpoint_every = 2,
                               .resume = run->resume};
  return method_decompose(context, plan, run->method, run->rank, &common, model, info);
}

static int stop_at_once(void *user, const polyad_progress *progress) {
  (void)progress;
  (void)user;
  return 1;
}

/* A model of a context that outlives the member's; NULL when there is no memory. */
static polyad_ktensor *copy_model(polyad_context *context, polyad_ktensor *model) {
  polyad_ktensor *copy;
  uint64_t rank = polyad_ktensor_rank(model);
  size_t row = rank * pd_type_bytes(polyad_ktensor_type(model));
  if (polyad_ktensor_create(context, polyad_ktensor_order(model), polyad_ktensor_dims(model), rank,
                            polyad_ktensor_type(model), &copy) != POLYAD_OK)
    return NULL;
  memcpy(polyad_ktensor_weights(copy), polyad_ktensor_weights(model), row);
  for (int n = 0; n < polyad_ktensor_order(model); ++n)
    memcpy(polyad_ktensor_factor(copy, n), polyad_ktensor_factor(model, n),
           row * polyad_ktensor_dims(model)[n]);
  return copy;
}

static polyad_status decompose_body(struct team_member *member) {
  struct run *run = member->all->data;
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  polyad_run_info info = {0};
  if (member->rank == run->cancels) polyad_set_progress(member->context, stop_at_once, NULL);
  polyad_status status = team_plan(member, run->tensor, "auto",
                                   run->method == MU ? POLYAD_KERNEL_PHI : POLYAD_KERNEL_MTTKRP,
                                   run->rank, run->precision, &plan);
  if (status == POLYAD_OK) status = decompose_plan(member->context, plan, run, &model, &info);
  if (status == POLYAD_OK && (model != NULL) != (member->rank == 0)) status = POLYAD_INTERNAL;
  if (status == POLYAD_OK) {
    run->fit[member->rank] = info.fit;
    run->objective[member->rank] = info.starts[info.best_restart].objective;
    run->reason[member->rank] = info.reason;
    if (member->rank == 0) {
      run->bound = info.fit_bound;
      memcpy(run->diagnosis, info.diagnosis, sizeof run->diagnosis);
      if (run->context != NULL) run->model = copy_model(run->context, model);
    }
  }
  polyad_ktensor_destroy(model);
  polyad_run_info_clear(&info);
  polyad_plan_destroy(plan);
  return status;
}

static void run_team(struct run *run, int size) {
  struct team_case all = {.size = size, .body = decompose_body, .data = run, .failing = -1};
  team_run(&all);
  team_succeeded(&all);
}

static double objective_alone(polyad_context *context, struct run *run, polyad_ktensor **model,
                              char *diagnosis) {
  polyad_plan_options options;
  polyad_plan *plan;
  polyad_run_info info = {0};
  polyad_plan_options_init(&options);
  options.rank = run->rank;
  options.precision = run->precision;
  options.kernel = run->method == MU ? POLYAD_KERNEL_PHI : POLYAD_KERNEL_MTTKRP;
  ALS_OK(context, polyad_plan_create(context, run->tensor, &options, &plan));
  ALS_OK(context, decompose_plan(context, plan, run, model, &info));
  double objective = info.starts[info.best_restart].objective;
  memcpy(diagnosis, info.diagnosis, sizeof info.diagnosis);
  polyad_run_info_clear(&info);
  polyad_plan_destroy(plan);
  return objective;
}

/* Members together come to what one comes to, all of them to the same, and twice to the same bits.
 */
static void compare(enum method method, polyad_type precision, int starts) {
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = method_tensor(context, method);
  struct run run = {.tensor = tensor,
                    .method = method,
                    .precision = precision,
                    .rank = 3,
                    .iterations = 6,
                    .starts = starts,
                    .cancels = -1,
                    .context = context};
  polyad_ktensor *alone;
  char diagnosis[512];
  double expected = objective_alone(context, &run, &alone, diagnosis);
  uint64_t nnz = polyad_tensor_nnz(tensor);
  double drift = als_drift(context, alone, nnz, run.iterations);
  /* Sums round differently; that factors do shows in its square only, near the best ones. */
  double unit = 2 * als_sum_error(precision, nnz);
  for (int s = 0; s < SIZES; ++s) {
    run_team(&run, sizes[s]);
    polyad_ktensor *first = run.model;
    for (int k = 0; k < sizes[s]; ++k)
      assert_true(run.objective[k] == run.objective[0]);
    assert_true(fabs(run.objective[0] - expected) <= unit * fmax(1, fabs(expected)));
    assert_true(largest_difference(first, alone) <= drift);
    assert_string_equal(run.diagnosis, diagnosis);
    if (method != MU) {
      double fit;
      ALS_OK(context, polyad_ktensor_fit(context, first, tensor, &fit));
      assert_true(fabs(fit - run.fit[0]) <= run.bound + 1e-14);
    }
    run_team(&run, sizes[s]);
    assert_true(als_same_model(first, run.model));
    polyad_ktensor_destroy(run.model);
    polyad_ktensor_destroy(first);
  }
  polyad_ktensor_destroy(alone);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static void least_squares(void **state) {
  (void)state;
  compare(ALS, POLYAD_F64, 1);
}

static void least_squares_single(void **state) {
  (void)state;
  compare(ALS, POLYAD_F32, 1);
}

static void nonnegative(void **state) {
  (void)state;
  compare(NONNEGATIVE, POLYAD_F64, 2);
}

static void partly_nonnegative(void **state) {
  (void)state;
  compare(PARTLY, POLYAD_F64, 1);
}

static void multiplicative(void **state) {
  (void)state;
  compare(MU, POLYAD_F64, 1);
}

/* A slice with most of the nonzeros, empty slices, a mode of length 1, and members without any
 * nonzero. */
static void hostile_shapes(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  for (int entries = 1; entries <= HOSTILE_NNZ; entries += HOSTILE_NNZ - 1)
    for (int method = ALS; method <= MU; ++method) {
      polyad_tensor *tensor = method_hostile(context, entries);
      struct run run = {.tensor = tensor,
                        .method = (enum method)method,
                        .precision = POLYAD_F64,
                        .rank = 2,
                        .iterations = 3,
                        .starts = 1,
                        .cancels = -1};
      polyad_ktensor *alone;
      char diagnosis[512];
      double expected = objective_alone(context, &run, &alone, diagnosis);
      for (int s = 0; s < SIZES; ++s) {
        run_team(&run, sizes[s]);
        /* Nearly exact fits of a team keep the rounding error that they state. */
        double bound = method == MU ? 0 : run.bound;
        if (!(fabs(run.objective[0] - expected) <= bound + 1e-12 * fmax(1, fabs(expected))))
          fail_msg("method %d, %d nonzeros, %d members: objective %.17g, of one %.17g", method,
                   entries, sizes[s], run.objective[0], expected);
      }
      polyad_ktensor_destroy(alone);
      polyad_tensor_destroy(tensor);
    }
  context_end(context);
}

/* A checkpoint of any number of members is gone on from by any other, and by the same number to the
 * bits of a run that was left alone. */
static void checkpoints(void **state) {
  (void)state;
  char file[64], before[80];
  snprintf(file, sizeof file, "/tmp/polyad_team_%d.state", (int)getpid());
  snprintf(before, sizeof before, "%s.prev", file);
  for (int method = ALS; method <= MU; ++method) {
    polyad_context *context = cpu_context(1);
    polyad_tensor *tensor = method_tensor(context, (enum method)method);
    struct run run = {.tensor = tensor,
                      .method = (enum method)method,
                      .precision = POLYAD_F64,
                      .rank = 3,
                      .iterations = 8,
                      .starts = 1,
                      .cancels = -1,
                      .context = context};
    run_team(&run, 3);
    polyad_ktensor *whole = run.model, *alone;
    run.checkpoint = file;
    run.iterations = 4;
    run_team(&run, 3);
    polyad_ktensor_destroy(run.model);
    run.checkpoint = NULL;
    run.resume = file;
    run.iterations = 8;
    run_team(&run, 3);
    assert_true(als_same_model(whole, run.model));
    polyad_ktensor_destroy(run.model);
    run_team(&run, 2);
    double drift = als_drift(context, whole, polyad_tensor_nnz(tensor), run.iterations);
    assert_true(largest_difference(whole, run.model) <= drift);
    polyad_ktensor_destroy(run.model);
    char diagnosis[512];
    (void)objective_alone(context, &run, &alone, diagnosis);
    assert_true(largest_difference(whole, alone) <= drift);
    polyad_ktensor_destroy(alone);
    polyad_ktensor_destroy(whole);
    polyad_tensor_destroy(tensor);
    (void)unlink(file);
    (void)unlink(before);
    context_end(context);
  }
}

/* One member's wish to end the run ends it for all. */
static void cancelling(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = method_tensor(context, ALS);
  struct run run = {.tensor = tensor,
                    .method = ALS,
                    .precision = POLYAD_F64,
                    .rank = 3,
                    .iterations = 50,
                    .starts = 1,
                    .cancels = 2};
  run_team(&run, 3);
  for (int k = 0; k < 3; ++k)
    assert_int_equal(run.reason[k], POLYAD_REASON_CANCELLED);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* Wherever one member has no memory, all end with that error, and nothing is left. */
static void failing_allocations(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = als_random_tensor(context, 3, (const uint64_t[3]){9, 8, 7}, 60, 1, 0);
  struct run run = {.tensor = tensor,
                    .method = ALS,
                    .precision = POLYAD_F64,
                    .rank = 2,
                    .iterations = 2,
                    .starts = 1,
                    .cancels = -1};
  struct team_case all = {.size = 3, .body = decompose_body, .data = &run, .failing = -1};
  team_run(&all);
  team_succeeded(&all);
  long most = all.allocations[1];
  assert_true(most > 50);
  for (long n = 0; n < most; ++n) {
    all.failing = n;
    all.failing_rank = 1;
    team_run(&all);
    for (int k = 0; k < 3; ++k)
      if (all.member[k].status != POLYAD_OUT_OF_MEMORY)
        fail_msg("allocation %ld of %ld of member 1 fails: member %d has status %d (%s)", n, most,
                 k, (int)all.member[k].status, all.member[k].message);
  }
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- what is refused ------------------------------------------------------------------------ */

static polyad_status refused_body(struct team_member *member) {
  const polyad_tensor *tensor = member->all->data;
  polyad_plan *plan = NULL;
  polyad_tensor *whole = NULL;
  polyad_ktensor *model = NULL;
  polyad_cp_apr_options options;
  polyad_cp_apr_options_init(&options);
  options.rank = 2;
  options.method = POLYAD_APR_PDNR;
  polyad_status status = team_plan(member, tensor, "auto", POLYAD_KERNEL_PHI, 2, POLYAD_F64, &plan);
  if (status == POLYAD_OK && pd_plan_expand(member->context, plan, &whole) != POLYAD_UNSUPPORTED)
    status = POLYAD_INTERNAL;
  if (status == POLYAD_OK) status = polyad_cp_apr(member->context, plan, &options, &model, NULL);
  polyad_plan_destroy(plan);
  return status;
}

static polyad_status two_shapes_body(struct team_member *member) {
  const uint64_t dims[3] = {4, 4, 4};
  const int32_t index[3] = {1, 2, 3};
  polyad_tensor_input input;
  polyad_tensor *share;
  polyad_plan_options options;
  polyad_plan *plan = NULL;
  polyad_tensor_input_init(&input);
  input.order = member->rank == 1 ? 2 : 3;
  input.dims = dims;
  input.nnz = 1;
  for (int n = 0; n < 3; ++n)
    input.index[n] = &index[n];
  PD_TRY(polyad_tensor_create(member->context, &input, &share));
  polyad_plan_options_init(&options);
  options.team = member->team;
  polyad_status status = polyad_plan_create(member->context, share, &options, &plan);
  polyad_tensor_destroy(share);
  polyad_plan_destroy(plan);
  return status;
}

static void refused(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = als_random_tensor(context, 3, (const uint64_t[3]){9, 8, 7}, 60, 1, 1);
  struct team_case all = {.size = 2, .body = refused_body, .data = tensor, .failing = -1};
  team_run(&all);
  for (int k = 0; k < 2; ++k) {
    assert_int_equal(all.member[k].status, POLYAD_UNSUPPORTED);
    assert_non_null(strstr(all.member[k].message, "shared by a team"));
  }
  struct team_case shapes = {.size = 3, .body = two_shapes_body, .failing = -1};
  team_run(&shapes);
  for (int k = 0; k < 3; ++k) {
    assert_int_equal(shapes.member[k].status, POLYAD_MISMATCH);
    assert_non_null(strstr(shapes.member[k].message, "2 to 3 modes"));
  }
  polyad_tensor_destroy(tensor);
  context_end(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spreads_are_of_all_members),
      cmocka_unit_test(calls),
      cmocka_unit_test(failures),
      cmocka_unit_test(grids),
      cmocka_unit_test(grids_of_unequal_members),
      cmocka_unit_test(products_of_parts),
      cmocka_unit_test(travelling_rows),
      cmocka_unit_test(predictions_are_exact),
      cmocka_unit_test(predicted_times),
      cmocka_unit_test(least_squares),
      cmocka_unit_test(least_squares_single),
      cmocka_unit_test(nonnegative),
      cmocka_unit_test(partly_nonnegative),
      cmocka_unit_test(multiplicative),
      cmocka_unit_test(hostile_shapes),
      cmocka_unit_test(checkpoints),
      cmocka_unit_test(cancelling),
      cmocka_unit_test(failing_allocations),
      cmocka_unit_test(refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
