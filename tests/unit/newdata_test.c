/* Projection, updates, anomalies and ranking: every failed allocation is an error that leaves
 * nothing behind and no updater changed; cancelling ends each; calls that mean nothing are refused.
 * Their numbers are compared with dense computations in python/tests/test_newdata.py. */
#include "algorithms/poisson_row.h"
#include "als_fixture.h"
#include "failing_allocator.h"
#include "inputs.h"
#include "tensor/tensor.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint64_t dims[] = {6, 5, 4};
static const uint64_t more_dims[] = {8, 5, 4};

static polyad_tensor *counts(polyad_context *context) {
  return als_random_tensor(context, 3, more_dims, 60, 1, 1);
}

static void set_modes(polyad_project_options *options, int count) {
  polyad_project_options_init(options);
  options->mode_count = count;
  for (int k = 0; k < count; ++k)
    options->modes[k] = 2 * k;
}

/* ---- ranking -------------------------------------------------------------------------------- */

/* One group of four cells, predicted 4, 3, 2 and 1: gains below 1 count, and the best order is that
 * of the values. */
static void ranking_by_hand(void **state) {
  (void)state;
  static const uint64_t lengths[] = {1, 4};
  static const uint32_t index[2][4] = {{0, 0, 0, 0}, {0, 1, 2, 3}};
  static const double values[] = {0, 0.5, 0, 0.25};
  polyad_context *context = cpu_context(1);
  polyad_tensor_input input = input_of_columns(2, lengths, 4, POLYAD_U32, index, 4, values);
  polyad_tensor *tensor;
  polyad_prediction_score score;
  input.zeros = POLYAD_ZEROS_KEEP;
  ALS_OK(context, polyad_tensor_create(context, &input, &tensor));
  polyad_ktensor *model = als_random_model(context, 2, lengths, 1, 1, 1);
  *(double *)polyad_ktensor_weights(model) = 1;
  ((double *)polyad_ktensor_factor(model, 0))[0] = 1;
  for (int j = 0; j < 4; ++j)
    ((double *)polyad_ktensor_factor(model, 1))[j] = 4 - j;
  ALS_OK(context, polyad_ktensor_predict(context, model, tensor, NULL, 1, 2, &score));
  assert_int_equal(score.groups, 1);
  assert_true(score.hit_rate == 0.5 && score.auc == 0.25);
  double found = 0.5 / log2(3), best = 0.5 + 0.25 / log2(3);
  assert_true(fabs(score.ndcg - found / best) <= 8 * DBL_EPSILON);
  polyad_ktensor_destroy(model);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- memory --------------------------------------------------------------------------------- */

struct wanted {
  polyad_model_kind kind;
  int modes;
  polyad_anomaly_unit unit;
  const polyad_tensor *tensor;
  const polyad_ktensor *model; /* of dims more_dims */
  const polyad_ktensor *part;  /* of dims dims */
  const polyad_tensor *labels; /* of part's mode 0; NULL: none */
};

static polyad_status project(polyad_context *context, void *data) {
  const struct wanted *wanted = data;
  polyad_project_options options;
  polyad_fixed_entry fixed = {0, 1, POLYAD_EVERY_INDEX, 0.5};
  polyad_ktensor *projected;
  set_modes(&options, wanted->modes);
  options.kind = wanted->kind;
  options.fixed = &fixed;
  options.fixed_count = 1;
  options.max_iterations = 3;
  polyad_status status =
      polyad_project(context, wanted->part, wanted->tensor, &options, &projected, NULL);
  if (status != POLYAD_OK) assert_null(projected);
  polyad_ktensor_destroy(projected);
  return status;
}

static polyad_status match(polyad_context *context, void *data) {
  const struct wanted *wanted = data;
  polyad_match_options options;
  polyad_tensor *matched;
  polyad_match_options_init(&options);
  options.rule[0] = POLYAD_MATCH_EXTEND;
  polyad_status status = polyad_tensor_match(context, wanted->part, wanted->labels, wanted->tensor,
                                             &options, NULL, &matched);
  polyad_tensor_destroy(matched);
  return status;
}

static polyad_status find(polyad_context *context, void *data) {
  const struct wanted *wanted = data;
  polyad_anomaly_options options;
  polyad_anomaly_result result = {.rows = NULL};
  polyad_anomaly_options_init(&options);
  options.kind = wanted->kind;
  options.unit = wanted->unit;
  options.top = 5;
  polyad_status status =
      polyad_anomalies(context, wanted->model, wanted->tensor, &options, &result);
  assert_int_equal(result.row_count, status == POLYAD_OK ? 5 : 0);
  polyad_anomaly_result_clear(&result);
  return status;
}

/* Makes an updater, adds slices (some to rows that are there), keeps its sums and goes on. */
static polyad_status update(polyad_context *context, void *data) {
  const struct wanted *wanted = data;
  const uint64_t rows[] = {5, POLYAD_NEW_ROW, POLYAD_NEW_ROW, 2, 0, 1, POLYAD_NEW_ROW, 3};
  polyad_update_options options;
  polyad_updater *updater = NULL, *again = NULL;
  polyad_ktensor *model = NULL;
  polyad_update_options_init(&options);
  options.kind = wanted->kind;
  char path[64];
  snprintf(path, sizeof path, "newdata_test_%ld.ptm", (long)getpid());
  polyad_status status = polyad_updater_create(context, wanted->part, &options, &updater);
  if (status == POLYAD_OK) {
    polyad_update_info info;
    status = polyad_updater_add(context, updater, wanted->tensor, rows, &info);
    assert_int_equal(polyad_updater_rows(updater), status == POLYAD_OK ? 9 : 6);
  }
  if (status == POLYAD_OK) status = polyad_updater_model(context, updater, &model);
  if (status == POLYAD_OK) status = polyad_updater_write(context, updater, model, path);
  if (status == POLYAD_OK) status = polyad_updater_read(context, path, model, &options, &again);
  (void)remove(path);
  polyad_ktensor_destroy(model);
  polyad_updater_destroy(again);
  polyad_updater_destroy(updater);
  return status;
}

static void test_memory(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = counts(context);
  polyad_ktensor *part = als_random_model(context, 3, dims, 2, 1, 1);
  polyad_ktensor *model = als_random_model(context, 3, more_dims, 2, 1, 1);
  struct wanted wanted = {.tensor = tensor, .model = model, .part = part};
  const polyad_model_kind kinds[] = {POLYAD_KIND_SIGNED, POLYAD_KIND_NONNEGATIVE,
                                     POLYAD_KIND_POISSON};
  assert_true(sweep_failures(match, &wanted, 2) > 3);
  const char *const new_labels[] = {"c", "x", "a", "b", "y", "z", "f", "e"};
  const char *const old_labels[] = {"a", "b", "c", "d", "e", "f"};
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = 3;
  input.dims = dims;
  polyad_tensor *labels;
  ALS_OK(context, polyad_tensor_create(context, &input, &labels));
  ALS_OK(context, polyad_tensor_set_labels(context, labels, 0, "day", old_labels));
  ALS_OK(context, polyad_tensor_set_labels(context, tensor, 0, "day", new_labels));
  wanted.labels = labels;
  assert_true(sweep_failures(match, &wanted, 2) > 8);
  for (int k = 0; k < 3; ++k) {
    wanted.kind = kinds[k];
    for (wanted.modes = 1; wanted.modes <= 2; ++wanted.modes)
      assert_true(sweep_failures(project, &wanted, 2) > 10);
    for (int unit = 0; k != 1 && unit < 3; ++unit) {
      wanted.unit = (polyad_anomaly_unit)unit;
      assert_true(sweep_failures(find, &wanted, 2) > 5);
    }
    assert_true(sweep_failures(update, &wanted, 2) > 20);
  }
  polyad_tensor_destroy(labels);
  polyad_ktensor_destroy(part);
  polyad_ktensor_destroy(model);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* One allocation of an addition fails, whichever: the updater is as it was, to the last bit, and
 * adds as if nothing had happened. */
static void test_failed_addition_changes_nothing(void **state) {
  (void)state;
  struct failing_allocator failing = {1, 0, true};
  polyad_allocator allocator = {failing_allocate, failing_release, &failing};
  polyad_context *context;
  atomic_store(&failing.until_failure, 1L << 40);
  assert_int_equal(polyad_context_create_with_allocator(&allocator, &context), POLYAD_OK);
  assert_int_equal(polyad_set_threads(context, 2), POLYAD_OK);
  polyad_tensor *tensor = counts(context);
  polyad_ktensor *part = als_random_model(context, 3, dims, 2, 1, 1), *before, *after;
  polyad_update_options options;
  polyad_update_options_init(&options);
  polyad_updater *updater;
  ALS_OK(context, polyad_updater_create(context, part, &options, &updater));
  ALS_OK(context, polyad_updater_model(context, updater, &before));
  polyad_status status = POLYAD_OUT_OF_MEMORY;
  for (long n = 0; status != POLYAD_OK; ++n) {
    atomic_store(&failing.until_failure, n);
    status = polyad_updater_add(context, updater, tensor, NULL, NULL);
    atomic_store(&failing.until_failure, 1L << 40);
    if (status == POLYAD_OK) break;
    ALS_OK(context, polyad_updater_model(context, updater, &after));
    assert_true(als_same_model(before, after));
    polyad_ktensor_destroy(after);
  }
  assert_int_equal(polyad_updater_rows(updater), 14);
  polyad_updater_destroy(updater);
  polyad_ktensor_destroy(before);
  polyad_ktensor_destroy(part);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- labels --------------------------------------------------------------------------------- */

/* Rows go to those of their labels; new labels follow in the order in which they stand. */
static void labels_find_their_rows(void **state) {
  (void)state;
  static const char *const new_labels[] = {"c", "x", "a", "b", "y", "z", "f", "e"};
  static const char *const old_labels[] = {"a", "b", "c", "d", "e", "f"};
  static const uint64_t expected[] = {2, 6, 0, 1, 7, 8, 5, 4};
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = counts(context), *labels, *matched;
  polyad_ktensor *part = als_random_model(context, 3, dims, 2, 1, 1);
  polyad_tensor_input input;
  polyad_match_options options;
  polyad_tensor_input_init(&input);
  input.order = 3;
  input.dims = dims;
  ALS_OK(context, polyad_tensor_create(context, &input, &labels));
  ALS_OK(context, polyad_tensor_set_labels(context, labels, 0, "day", old_labels));
  ALS_OK(context, polyad_tensor_set_labels(context, tensor, 0, "day", new_labels));
  polyad_match_options_init(&options);
  options.rule[0] = POLYAD_MATCH_EXTEND;
  ALS_OK(context, polyad_tensor_match(context, part, labels, tensor, &options, NULL, &matched));
  assert_int_equal(polyad_tensor_dims(matched)[0], 9);
  assert_int_equal(matched->nnz, tensor->nnz);
  for (uint64_t q = 0; q < tensor->nnz; ++q) {
    int found = 0;
    for (uint64_t p = 0; p < matched->nnz; ++p)
      found += pd_tensor_index(matched, 0, p) == expected[pd_tensor_index(tensor, 0, q)] &&
               pd_tensor_index(matched, 1, p) == pd_tensor_index(tensor, 1, q) &&
               pd_tensor_index(matched, 2, p) == pd_tensor_index(tensor, 2, q) &&
               pd_tensor_value(matched, p) == pd_tensor_value(tensor, q);
    assert_int_equal(found, 1);
  }
  polyad_tensor *without_model;
  ALS_OK(context,
         polyad_tensor_match(context, NULL, labels, tensor, &options, NULL, &without_model));
  assert_int_equal(polyad_tensor_hash(without_model), polyad_tensor_hash(matched));
  polyad_tensor_destroy(without_model);
  assert_int_equal(polyad_tensor_match(context, NULL, NULL, tensor, &options, NULL, &without_model),
                   POLYAD_INVALID_ARGUMENT);
  polyad_tensor_destroy(matched);
  polyad_tensor_destroy(labels);
  polyad_ktensor_destroy(part);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* A tensor without nonzeros of the lengths `dims` with labels of mode 0. */
static polyad_tensor *labelled(polyad_context *context, const char *const *names) {
  polyad_tensor_input input;
  polyad_tensor *labels;
  polyad_tensor_input_init(&input);
  input.order = 3;
  input.dims = dims;
  ALS_OK(context, polyad_tensor_create(context, &input, &labels));
  ALS_OK(context, polyad_tensor_set_labels(context, labels, 0, "day", names));
  return labels;
}

/* Names decide where both have some; otherwise, and where they are the same, nothing is made. */
static void names_decide_where_both_have_some(void **state) {
  (void)state;
  static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
  static const char *const turned[] = {"c", "x", "a", "b", "y", "z", "f", "e"};
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = counts(context), *same = labelled(context, names), *matched;
  polyad_tensor *labels = labelled(context, names);
  uint64_t skipped = 7, left_out = 0;
  ALS_OK(context, polyad_tensor_match_labels(context, labels, same, POLYAD_UNSEEN_ERROR, &skipped,
                                             &matched));
  assert_null(matched);
  ALS_OK(context, polyad_tensor_match_labels(context, labels, tensor, POLYAD_UNSEEN_ERROR, &skipped,
                                             &matched));
  assert_null(matched); /* the tensor has no labels, and more rows */
  ALS_OK(context,
         polyad_tensor_match_labels(context, NULL, labels, POLYAD_UNSEEN_ERROR, NULL, &matched));
  assert_null(matched);
  assert_int_equal(skipped, 0);
  ALS_OK(context, polyad_tensor_set_labels(context, tensor, 0, "day", turned));
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    left_out += strchr("xyz", turned[pd_tensor_index(tensor, 0, p)][0]) != NULL;
  assert_true(left_out > 0 && left_out < tensor->nnz);
  assert_int_equal(
      polyad_tensor_match_labels(context, labels, tensor, POLYAD_UNSEEN_ERROR, NULL, &matched),
      POLYAD_MISMATCH);
  assert_non_null(strstr(polyad_last_error(context), "indices that the model lacks: 'x'"));
  ALS_OK(context, polyad_tensor_match_labels(context, labels, tensor, POLYAD_UNSEEN_SKIP, &skipped,
                                             &matched));
  assert_int_equal(skipped, left_out);
  assert_int_equal(matched->nnz, tensor->nnz - left_out);
  for (uint64_t p = 0; p < matched->nnz; ++p)
    assert_true(pd_tensor_index(matched, 0, p) < 6);
  assert_string_equal(polyad_tensor_label(matched, 0, 0, NULL), "a");
  polyad_tensor_destroy(matched);
  /* A mode that only one of them has names of is refused, once names count at all. */
  ALS_OK(context, polyad_tensor_set_labels(context, labels, 1, "hour", names));
  ALS_OK(context,
         polyad_tensor_match_labels(context, labels, same, POLYAD_UNSEEN_SKIP, NULL, &matched));
  assert_null(matched);
  assert_int_equal(
      polyad_tensor_match_labels(context, labels, tensor, POLYAD_UNSEEN_SKIP, NULL, &matched),
      POLYAD_MISMATCH);
  assert_non_null(strstr(polyad_last_error(context),
                         "mode 1 has labels in the model only (the first is 'a') and none in the "
                         "tensor"));
  assert_int_equal(
      polyad_tensor_match_labels(context, tensor, labels, POLYAD_UNSEEN_ERROR, NULL, &matched),
      POLYAD_MISMATCH);
  assert_non_null(strstr(polyad_last_error(context),
                         "mode 1 has labels in the tensor only (the first is 'a') and none in the "
                         "other tensor"));
  assert_int_equal(
      polyad_tensor_match_labels(context, labels, NULL, POLYAD_UNSEEN_SKIP, NULL, &matched),
      POLYAD_INVALID_ARGUMENT);
  polyad_tensor_destroy(labels);
  polyad_tensor_destroy(same);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* Rows follow their labels, of both kinds of models; a call that fails moves nothing. */
static void rows_follow_their_labels(void **state) {
  (void)state;
  static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
  static const char *const turned[] = {"f", "b", "a", "c", "e", "d"};
  static const char *const twice[] = {"f", "b", "a", "f", "e", "d"};
  static const char *const others[] = {"f", "b", "a", "x", "e", "d"};
  static const uint64_t from[] = {5, 1, 0, 2, 4, 3}, ranks[] = {2, 2, 2};
  polyad_context *context = cpu_context(1);
  polyad_tensor *own = labelled(context, names), *wanted = labelled(context, turned);
  polyad_ktensor *model = als_random_model(context, 3, dims, 2, 1, 1);
  polyad_ktensor *before = als_random_model(context, 3, dims, 2, 1, 1);
  polyad_ttensor *tucker;
  for (int k = 0; k < 2; ++k) {
    polyad_tensor *wrong = labelled(context, k == 0 ? twice : others);
    assert_int_equal(polyad_ktensor_match_labels(context, wrong, own, model), POLYAD_MISMATCH);
    assert_non_null(strstr(polyad_last_error(context),
                           k == 0 ? "label 'f' twice" : "label 'x' that the model lacks"));
    polyad_tensor_destroy(wrong);
  }
  ALS_OK(context, polyad_ktensor_match_labels(context, own, own, model));
  ALS_OK(context, polyad_ktensor_match_labels(context, NULL, own, model));
  ALS_OK(context, polyad_ktensor_match_labels(context, wanted, NULL, model));
  assert_true(als_same_model(before, model));
  ALS_OK(context, polyad_ktensor_match_labels(context, wanted, own, model));
  ALS_OK(context, polyad_ttensor_create(context, 3, dims, ranks, POLYAD_F64, &tucker));
  for (int k = 0; k < 12; ++k)
    ((double *)polyad_ttensor_factor(tucker, 0))[k] = k;
  ALS_OK(context, polyad_ttensor_match_labels(context, wanted, own, tucker));
  for (int n = 0; n < 3; ++n)
    for (uint64_t k = 0; k < dims[n] * 2; ++k) {
      uint64_t at = n == 0 ? from[k / 2] * 2 + k % 2 : k;
      assert_true(((double *)polyad_ktensor_factor(model, n))[k] ==
                  ((double *)polyad_ktensor_factor(before, n))[at]);
      if (n == 0) assert_true(((double *)polyad_ttensor_factor(tucker, 0))[k] == (double)at);
    }
  assert_int_equal(polyad_ktensor_match_labels(context, wanted, own, NULL),
                   POLYAD_INVALID_ARGUMENT);
  assert_int_equal(polyad_ttensor_match_labels(context, wanted, own, NULL),
                   POLYAD_INVALID_ARGUMENT);
  polyad_ttensor_destroy(tucker);
  polyad_ktensor_destroy(model);
  polyad_ktensor_destroy(before);
  polyad_tensor_destroy(own);
  polyad_tensor_destroy(wanted);
  context_end(context);
}

/* ---- rates of counts --------------------------------------------------------------------------
 */

/* The value that component r has at a cell. */
static double part_of(polyad_ktensor *model, const uint64_t *at, uint64_t r) {
  uint64_t rank = polyad_ktensor_rank(model);
  double value = ((const double *)polyad_ktensor_weights(model))[r];
  for (int n = 0; n < 3; ++n)
    value *= ((const double *)polyad_ktensor_factor(model, n))[at[n] * rank + r];
  return value;
}

/* Where a row's likelihood is greatest, what each component has in the row in all is the sum over
 * the row's counts x of x times the component's share of the model there. */
static void rows_of_rates_are_optimal(void **state) {
  (void)state;
  enum { RANK = 3 };
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = counts(context);
  polyad_ktensor *part = als_random_model(context, 3, dims, RANK, 1, 1), *projected;
  polyad_project_options options;
  set_modes(&options, 1);
  options.kind = POLYAD_KIND_POISSON;
  ALS_OK(context, polyad_project(context, part, tensor, &options, &projected, NULL));
  double whole[8][RANK] = {{0}}, shared[8][RANK] = {{0}}, counted[8] = {0};
  for (uint64_t i = 0; i < more_dims[0]; ++i)
    for (uint64_t cell = 0; cell < more_dims[1] * more_dims[2]; ++cell)
      for (uint64_t r = 0; r < RANK; ++r)
        whole[i][r] +=
            part_of(projected, (uint64_t[]){i, cell / more_dims[2], cell % more_dims[2]}, r);
  for (uint64_t q = 0; q < tensor->nnz; ++q) {
    double model = 0, x = pd_tensor_value(tensor, q);
    uint64_t at[3];
    for (int n = 0; n < 3; ++n)
      at[n] = pd_tensor_index(tensor, n, q);
    for (uint64_t r = 0; r < RANK; ++r)
      model += part_of(projected, at, r);
    counted[at[0]] += x;
    for (uint64_t r = 0; r < RANK; ++r)
      shared[at[0]][r] += x * part_of(projected, at, r) / model;
  }
  for (uint64_t i = 0; i < more_dims[0]; ++i)
    for (uint64_t r = 0; r < RANK; ++r)
      assert_true(fabs(whole[i][r] - shared[i][r]) <= 1e-6 * counted[i]);
  polyad_ktensor_destroy(projected);
  polyad_ktensor_destroy(part);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* Counts of a row of which it is known which component they belong to move that component up; a row
 * without any count is found at once, and is 0. The first row maximises its likelihood: the
 * derivatives vanish. */
static void known_counts_are_the_components(void **state) {
  (void)state;
  enum { ROWS = 3, RANK = 2 };
  polyad_context *context = cpu_context(1);
  static const uint64_t at[2][2] = {{0, 1}, {1, 0}}, lengths[] = {ROWS, 2};
  static const double values[] = {4, 6}, weight[RANK] = {1, 1};
  static const double factor[] = {0.25, 0.5, 0.75, 0.5};
  static const double known[ROWS * RANK] = {0, 1};
  double a[ROWS * RANK] = {0};
  const double *const factors[] = {NULL, factor};
  polyad_tensor_input input = input_of_columns(2, lengths, 2, POLYAD_U64, at, 2, values);
  polyad_tensor *tensor;
  ALS_OK(context, polyad_tensor_create(context, &input, &tensor));
  struct pd_stage stage = pd_stage_begin(context, "a test");
  struct pd_poisson_rows rows = {.tensor = tensor,
                                 .rank = RANK,
                                 .factor = factors,
                                 .weight = weight,
                                 .known = known,
                                 .max_iterations = 200};
  ALS_OK(context, pd_poisson_rows(&stage, &rows, a));
  assert_int_equal(rows.unfinished, 0);
  for (int r = 0; r < RANK; ++r) {
    double rate = a[0] * factor[2] + a[1] * factor[3];
    double slope = values[0] * factor[2 + r] / rate + (r == 1 ? known[1] / a[1] : 0) - 1;
    assert_true(fabs(slope) <= 8 * 0x1p-53 * (2 + RANK + 3)); /* poisson_row.c's bound, and ours */
    assert_true(a[2 * RANK + r] == 0);
  }
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- cancelling, wrong calls ---------------------------------------------------------------- */

static void test_cancel(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = counts(context);
  polyad_ktensor *part = als_random_model(context, 3, dims, 2, 1, 1);
  polyad_ktensor *model = als_random_model(context, 3, more_dims, 2, 1, 1);
  struct wanted wanted = {.tensor = tensor, .model = model, .part = part, .modes = 1};
  polyad_cancel(context);
  for (int k = POLYAD_KIND_SIGNED; k <= POLYAD_KIND_POISSON; ++k) {
    wanted.kind = (polyad_model_kind)k;
    assert_int_equal(project(context, &wanted), POLYAD_CANCELLED);
  }
  for (int unit = 0; unit < 3; ++unit) {
    wanted.unit = (polyad_anomaly_unit)unit;
    assert_int_equal(find(context, &wanted), POLYAD_CANCELLED);
  }
  wanted.kind = POLYAD_KIND_SIGNED;
  assert_int_equal(update(context, &wanted), POLYAD_CANCELLED);
  polyad_clear_cancel(context);
  assert_int_equal(update(context, &wanted), POLYAD_OK);
  polyad_ktensor_destroy(part);
  polyad_ktensor_destroy(model);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

#ifndef __APPLE__
/* Cancels while tests are sorted, which is the last that takes long. */
static polyad_context *cancelled_by_sorting;
void __real_qsort(void *, size_t, size_t, int (*)(const void *, const void *));
void __wrap_qsort(void *, size_t, size_t, int (*)(const void *, const void *));

void __wrap_qsort(void *rows, size_t count, size_t size, int (*order)(const void *, const void *)) {
  if (cancelled_by_sorting != NULL) polyad_cancel(cancelled_by_sorting);
  __real_qsort(rows, count, size, order);
}

static void cancelling_while_sorting_ends(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = counts(context);
  polyad_ktensor *model = als_random_model(context, 3, more_dims, 2, 1, 1);
  struct wanted wanted = {.tensor = tensor, .model = model, .kind = POLYAD_KIND_POISSON};
  cancelled_by_sorting = context;
  for (int unit = 0; unit < 3; ++unit) {
    wanted.unit = (polyad_anomaly_unit)unit;
    assert_int_equal(find(context, &wanted), POLYAD_CANCELLED);
    polyad_clear_cancel(context);
  }
  cancelled_by_sorting = NULL;
  polyad_ktensor_destroy(model);
  polyad_tensor_destroy(tensor);
  context_end(context);
}
#endif

static void expect(polyad_context *context, polyad_status status, polyad_status expected,
                   const char *part) {
  assert_int_equal(status, expected);
  if (strstr(polyad_last_error(context), part) == NULL)
    fail_msg("'%s' is not in '%s'", part, polyad_last_error(context));
}

static void test_wrong_calls(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = counts(context);
  polyad_ktensor *part = als_random_model(context, 3, dims, 2, 1, 1), *made;
  polyad_project_options project_options;
  set_modes(&project_options, 1);
  project_options.modes[0] = 1; /* mode 0 is longer than the model's then */
  expect(context, polyad_project(context, part, tensor, &project_options, &made, NULL),
         POLYAD_MISMATCH, "mode 0 has length 6 in the model and 8 in the tensor");
  assert_int_equal(polyad_project(NULL, part, tensor, &project_options, &made, NULL),
                   POLYAD_INVALID_ARGUMENT);
  expect(context, polyad_project(context, part, NULL, &project_options, &made, NULL),
         POLYAD_INVALID_ARGUMENT, "NULL");
  project_options.tolerance = INFINITY;
  expect(context, polyad_project(context, part, tensor, &project_options, &made, NULL),
         POLYAD_INVALID_ARGUMENT, "tolerance inf found");
  project_options.max_iterations = 0;
  expect(context, polyad_project(context, part, tensor, &project_options, &made, NULL),
         POLYAD_INVALID_ARGUMENT, "0 iterations found; expected 1 to");

  polyad_update_options update_options;
  polyad_update_options_init(&update_options);
  polyad_updater *updater, *other;
  ALS_OK(context, polyad_updater_create(context, part, &update_options, &updater));
  const uint64_t twice[] = {1, 1, 2, 3, 4, 5, 0, 1}, far[] = {6, 1, 2, 3, 4, 5, 0, 1};
  expect(context, polyad_updater_add(context, updater, tensor, twice, NULL),
         POLYAD_INVALID_ARGUMENT, "two slices belong to one row");
  expect(context, polyad_updater_add(context, updater, tensor, far, NULL), POLYAD_INVALID_ARGUMENT,
         "row 6 found for a slice; the model has 6");
  expect(context, polyad_updater_set_forget(context, updater, 0), POLYAD_INVALID_ARGUMENT,
         "forgetting factor of 0");
  expect(context, polyad_updater_read(context, "absent.ptm", part, &update_options, &other),
         POLYAD_IO, "absent.ptm");
  assert_null(other);
  polyad_updater_destroy(updater);
  polyad_ktensor_destroy(part);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(ranking_by_hand),
                                     cmocka_unit_test(test_memory),
                                     cmocka_unit_test(test_failed_addition_changes_nothing),
                                     cmocka_unit_test(labels_find_their_rows),
                                     cmocka_unit_test(names_decide_where_both_have_some),
                                     cmocka_unit_test(rows_follow_their_labels),
                                     cmocka_unit_test(rows_of_rates_are_optimal),
                                     cmocka_unit_test(known_counts_are_the_components),
                                     cmocka_unit_test(test_cancel),
#ifndef __APPLE__
                                     cmocka_unit_test(cancelling_while_sorting_ends),
#endif
                                     cmocka_unit_test(test_wrong_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
