/* Tensors from dense arrays: the nonzeros are those that coordinates and values of all cells give,
 * for every order, layout, type and number of threads; faults are named by their cell. */
#include "core/random.h"
#include "tensor_fixture.h"
#include <math.h>

enum { MOST = 1 << 17 };

/* A cell's value: zero in two of three cells. */
static double number(uint64_t cell) {
  uint64_t random = pd_random_u64(3, 1, cell);
  return random % 3 != 0 ? 0 : (double)(int64_t)(random >> 40) - 8e6;
}

struct array {
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  int64_t strides[POLYAD_MAX_ORDER];
  uint64_t cells;
  char *memory, *first;
};

/* Lays an array out: row-major, column-major, or with gaps and all modes backwards. */
static void lay_out(int layout, polyad_type type, struct array *array) {
  int64_t item = type == POLYAD_F32 ? 4 : 8, step = layout == 2 ? 3 * item : item, offset = 0;
  array->cells = pd_cells(array->order, array->dims);
  for (int k = 0; k < array->order; ++k) {
    int n = layout == 1 ? k : array->order - 1 - k;
    array->strides[n] = layout == 2 ? -step : step;
    if (layout == 2) offset += step * (int64_t)(array->dims[n] - 1);
    step *= (int64_t)array->dims[n];
  }
  array->memory = malloc((size_t)step + 1);
  array->first = array->memory + offset + 1; /* at an odd address */
  uint64_t at[POLYAD_MAX_ORDER] = {0};
  for (uint64_t cell = 0; cell < array->cells; ++cell) {
    char *place = array->first;
    for (int n = 0; n < array->order; ++n)
      place += (int64_t)at[n] * array->strides[n];
    double wide = number(cell);
    float narrow = (float)wide;
    memcpy(place, type == POLYAD_F32 ? (void *)&narrow : (void *)&wide, (size_t)item);
    if (cell + 1 < array->cells) pd_next_cell(array->order, array->dims, at);
  }
}

/* The tensor of all cells given as coordinates. */
static polyad_tensor *expected(const struct array *array, polyad_type type, polyad_zeros zeros) {
  int64_t *index = malloc(array->cells * (size_t)array->order * sizeof *index);
  double *values = malloc(array->cells * sizeof *values);
  uint64_t at[POLYAD_MAX_ORDER] = {0};
  for (uint64_t cell = 0; cell < array->cells; ++cell) {
    for (int n = 0; n < array->order; ++n)
      index[cell * (uint64_t)array->order + (uint64_t)n] = (int64_t)at[n];
    values[cell] = number(cell);
    if (cell + 1 < array->cells) pd_next_cell(array->order, array->dims, at);
  }
  polyad_tensor_input input = rows(array->order, array->cells, index, values);
  input.dims = array->dims;
  input.type = type;
  input.zeros = zeros;
  polyad_tensor *tensor = create(&input);
  free(index);
  free(values);
  return tensor;
}

static polyad_dense_input input_of(const struct array *array, polyad_type cells, polyad_type type) {
  polyad_dense_input input;
  polyad_dense_input_init(&input);
  input.order = array->order;
  input.dims = array->dims;
  input.cell_type = cells;
  input.cells = array->first;
  input.strides = array->strides;
  input.type = type;
  return input;
}

static void every_layout_gives_the_nonzeros(void **state) {
  (void)state;
  static const struct array shapes[] = {
      {.order = 1, .dims = {50000}},
      {.order = 2, .dims = {1, 7}},
      {.order = 3, .dims = {60, 1, 700}},
      {.order = 4, .dims = {9, 11, 13, 1}},
      {.order = 8, .dims = {3, 2, 4, 2, 3, 2, 5, 2}},
      {.order = POLYAD_MAX_ORDER, .dims = {2, 1, 2, 1, 2, 1, 1, 2, 1, 2, 1, 2, 1, 2, 2, 2}},
  };
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
    for (int k = 0; k < 12; ++k) {
      struct array array = shapes[s];
      polyad_type cells = k % 2 ? POLYAD_F32 : POLYAD_F64,
                  type = k / 2 % 2 ? POLYAD_F32 : POLYAD_F64;
      assert_int_equal(polyad_set_threads(context, 1 + k % 3), POLYAD_OK);
      lay_out(k / 4, cells, &array);
      assert_true(array.cells <= MOST);
      for (int keep = 0; keep < 2; ++keep) {
        polyad_dense_input input = input_of(&array, cells, type);
        input.zeros = keep ? POLYAD_ZEROS_KEEP : POLYAD_ZEROS_DROP;
        polyad_tensor *known = expected(&array, type, input.zeros), *tensor;
        assert_int_equal(polyad_tensor_create_dense(context, &input, &tensor), POLYAD_OK);
        assert_int_equal(pd_tensor_check(context, tensor), POLYAD_OK);
        assert_true(polyad_tensor_hash(tensor) == polyad_tensor_hash(known));
        assert_int_equal(polyad_tensor_zeros_kept(tensor), polyad_tensor_zeros_kept(known));
        assert_int_equal(polyad_tensor_type(tensor), type);
        polyad_tensor_destroy(tensor);
        polyad_tensor_destroy(known);
      }
      free(array.memory);
    }
}

static void rows_need_no_strides(void **state) {
  (void)state;
  static const uint64_t dims[2] = {2, 3};
  static const double cells[6] = {0, 5, 0, -0.0, 0, 7};
  polyad_dense_input input;
  polyad_dense_input_init(&input);
  input.order = 2;
  input.dims = dims;
  input.cells = cells;
  polyad_tensor *tensor;
  assert_int_equal(polyad_tensor_create_dense(context, &input, &tensor), POLYAD_OK);
  assert_int_equal(polyad_tensor_nnz(tensor), 2);
  assert_int_equal(pd_tensor_index(tensor, 0, 1), 1);
  assert_int_equal(pd_tensor_index(tensor, 1, 1), 2);
  assert_true(pd_tensor_value(tensor, 1) == 7);
  assert_int_equal(polyad_tensor_zeros_dropped(tensor), 0);
  polyad_tensor_destroy(tensor);
}

static void bad_arrays_are_named(void **state) {
  (void)state;
  static uint64_t dims[3] = {30, 40, 50};
  static double cells[30 * 40 * 50];
  polyad_dense_input good;
  polyad_dense_input_init(&good);
  good.order = 3;
  good.dims = dims;
  good.cells = cells;
  polyad_tensor *x;
  cells[(7 * 40 + 39) * 50 + 2] = NAN;
  cells[(29 * 40 + 1) * 50 + 1] = INFINITY;
  expect_error(polyad_tensor_create_dense(context, &good, &x), POLYAD_INVALID_ARGUMENT,
               "cell (7, 39, 2) (counted from 0) has value nan; expected a finite number");
  cells[(7 * 40 + 39) * 50 + 2] = 0;
  expect_error(polyad_tensor_create_dense(context, &good, &x), POLYAD_INVALID_ARGUMENT,
               "cell (29, 1, 1) (counted from 0) has value inf");
  cells[(29 * 40 + 1) * 50 + 1] = 1e39;
  polyad_dense_input input = good;
  input.type = POLYAD_F32;
  expect_error(polyad_tensor_create_dense(context, &input, &x), POLYAD_NUMERICAL,
               "cell (29, 1, 1) (counted from 0) has value 9.9999999999999994e+38");
  input.type = (polyad_type)2;
  expect_error(polyad_tensor_create_dense(context, &input, &x), POLYAD_INVALID_ARGUMENT, "type 2");
  input = good;
  input.cell_type = (polyad_type)3;
  expect_error(polyad_tensor_create_dense(context, &input, &x), POLYAD_INVALID_ARGUMENT, "type 3");
  input = good;
  input.order = POLYAD_MAX_ORDER + 1;
  expect_error(polyad_tensor_create_dense(context, &input, &x), POLYAD_INVALID_ARGUMENT,
               "order 17");
  input = good;
  input.zeros = (polyad_zeros)2;
  expect_error(polyad_tensor_create_dense(context, &input, &x), POLYAD_INVALID_ARGUMENT,
               "policy 2");
  input = good;
  input.cells = NULL;
  expect_error(polyad_tensor_create_dense(context, &input, &x), POLYAD_INVALID_ARGUMENT,
               "no cells");
  static const uint64_t empty[3] = {2, 0, 2}, vast[3] = {1 << 20, 1 << 20, 1 << 20};
  input = good;
  input.dims = empty;
  expect_error(polyad_tensor_create_dense(context, &input, &x), POLYAD_INVALID_ARGUMENT,
               "length 0");
  input.dims = vast;
  expect_error(polyad_tensor_create_dense(context, &input, &x), POLYAD_OVERFLOW, "2^60");
  expect_error(polyad_tensor_create_dense(context, &good, NULL), POLYAD_INVALID_ARGUMENT, "NULL");
}

static polyad_status make_one(polyad_context *limited, void *data) {
  polyad_tensor *tensor;
  PD_TRY(polyad_tensor_create_dense(limited, data, &tensor));
  polyad_tensor_destroy(tensor);
  return POLYAD_OK;
}

static void running_out_of_memory_leaves_nothing(void **state) {
  (void)state;
  struct array array = {.order = 3, .dims = {20, 30, 40}};
  lay_out(0, POLYAD_F64, &array);
  polyad_dense_input input = input_of(&array, POLYAD_F64, POLYAD_F64);
  assert_true(sweep_failures(make_one, &input, 2) >= 5);
  free(array.memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(every_layout_gives_the_nonzeros),
      TEST(rows_need_no_strides),
      TEST(bad_arrays_are_named),
      TEST(running_out_of_memory_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
