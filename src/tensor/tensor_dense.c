/* A tensor from a dense array: its nonzeros in row-major order, which is the order of a tensor's.
 * They are counted in parts of the array's lines (a line is what lies along the last mode), and
 * then written, each part behind those before it. */
#include "tensor/tensor_input.h"
#include "tensor/tensor_merge.h"
#include <math.h>

enum { DENSE_GRAIN = 1 << 14 };

void polyad_dense_input_init(polyad_dense_input *input) {
  *input = (polyad_dense_input){.cell_type = POLYAD_F64, .type = POLYAD_F64};
}

/* The caller's array and what it becomes. */
struct cells {
  const polyad_dense_input *input;
  int64_t stride[POLYAD_MAX_ORDER];
  uint64_t lines, length;
  int parts;
  uint64_t *first; /* of each part, and of what would lie behind the last: first nonzero */
  void *index[POLYAD_MAX_ORDER], *values;
};

static polyad_status check_dense_input(polyad_context *context, const polyad_dense_input *input) {
  PD_EXPECT(context, input->order >= 1 && input->order <= POLYAD_MAX_ORDER,
            "order %d; expected 1 to %d", input->order, POLYAD_MAX_ORDER);
  PD_EXPECT(context, input->dims != NULL && input->cells != NULL, "a dense array has no %s",
            input->dims == NULL ? "dims" : "cells");
  if ((unsigned)input->cell_type > POLYAD_F64 || (unsigned)input->type > POLYAD_F64)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "value type %d is unknown",
                   (unsigned)input->type > POLYAD_F64 ? (int)input->type : (int)input->cell_type);
  if ((unsigned)input->zeros > POLYAD_ZEROS_KEEP)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "zeros policy %d is unknown",
                   (int)input->zeros);
  for (int n = 0; n < input->order; ++n)
    PD_EXPECT(context, input->dims[n] != 0, "mode %d has length 0; expected at least 1",
              pd_shown_mode(context, n));
  if (pd_cells(input->order, input->dims) > INT64_MAX / sizeof(double))
    return pd_fail(context, POLYAD_OVERFLOW, "a dense array has 2^60 cells or more");
  return POLYAD_OK;
}

static void set_strides(struct cells *cells) {
  const polyad_dense_input *input = cells->input;
  int64_t bytes = (int64_t)pd_type_bytes(input->cell_type);
  for (int n = input->order - 1; n >= 0; --n) {
    cells->stride[n] = input->strides == NULL ? bytes : input->strides[n];
    bytes *= (int64_t)input->dims[n];
  }
}

/* Where a line begins; `coordinate` becomes that of its first cell. */
static const char *line_start(const struct cells *cells, uint64_t line, uint64_t *coordinate) {
  int last = cells->input->order - 1;
  int64_t offset = 0;
  coordinate[last] = 0;
  for (int n = last - 1; n >= 0; --n) {
    coordinate[n] = line % cells->input->dims[n];
    offset += (int64_t)coordinate[n] * cells->stride[n];
    line /= cells->input->dims[n];
  }
  return (const char *)cells->input->cells + offset;
}

/* A cell of a line as the tensor keeps it. */
static inline double cell_value(const struct cells *cells, const char *line, uint64_t i) {
  const polyad_dense_input *input = cells->input;
  double value =
      pd_input_value(line + (int64_t)i * cells->stride[input->order - 1], input->cell_type);
  return input->type == POLYAD_F32 ? (double)(float)value : value;
}

/* Counts a part's nonzeros; returns its first cell that is not finite, numbered through the array,
 * or UINT64_MAX. */
static uint64_t count_in_lines(const struct cells *cells, int part, uint64_t *count,
                               uint64_t *underflows) {
  uint64_t coordinate[POLYAD_MAX_ORDER], nonzeros = 0;
  uint64_t end = pd_part_begin(cells->lines, part + 1, cells->parts);
  bool all = cells->input->zeros == POLYAD_ZEROS_KEEP;
  for (uint64_t line = pd_part_begin(cells->lines, part, cells->parts); line < end; ++line) {
    const char *start = line_start(cells, line, coordinate);
    for (uint64_t i = 0; i < cells->length; ++i) {
      double value = cell_value(cells, start, i);
      if (!isfinite(value)) return line * cells->length + i;
      nonzeros += all || value != 0;
      if (value == 0)
        *underflows += pd_input_value(start + (int64_t)i * cells->stride[cells->input->order - 1],
                                      cells->input->cell_type) != 0;
    }
  }
  *count = nonzeros;
  return UINT64_MAX;
}

static void write_lines(const struct cells *cells, int part) {
  const polyad_dense_input *input = cells->input;
  uint64_t coordinate[POLYAD_MAX_ORDER], p = cells->first[part];
  uint64_t end = pd_part_begin(cells->lines, part + 1, cells->parts);
  bool all = input->zeros == POLYAD_ZEROS_KEEP;
  int last = input->order - 1;
  for (uint64_t line = pd_part_begin(cells->lines, part, cells->parts); line < end; ++line) {
    const char *start = line_start(cells, line, coordinate);
    for (uint64_t i = 0; i < cells->length; ++i) {
      double value = cell_value(cells, start, i);
      if (!all && value == 0) continue;
      coordinate[last] = i;
      for (int n = 0; n <= last; ++n)
        pd_id_put(cells->index[n], pd_index_bytes(input->dims[n]), p, coordinate[n]);
      if (input->type == POLYAD_F32)
        ((float *)cells->values)[p] = (float)value;
      else
        ((double *)cells->values)[p] = value;
      ++p;
    }
  }
}

static polyad_status fail_cell(polyad_context *context, const struct cells *cells, uint64_t cell) {
  const polyad_dense_input *input = cells->input;
  uint64_t coordinate[POLYAD_MAX_ORDER];
  char text[PD_COORDINATE_BYTES];
  const char *start = line_start(cells, cell / cells->length, coordinate);
  int64_t i = (int64_t)(cell % cells->length);
  double value = pd_input_value(start + i * cells->stride[input->order - 1], input->cell_type);
  coordinate[input->order - 1] = (uint64_t)i;
  int base = pd_shown_mode(context, 0);
  for (int n = 0; n < input->order; ++n)
    coordinate[n] += (uint64_t)(base - 1); /* the text counts from 1 */
  (void)pd_coordinate_text(text, input->order, coordinate);
  if (isfinite(value))
    return pd_fail(context, POLYAD_NUMERICAL,
                   "cell %s (counted from %d) has value %.17g, which does not fit float32; "
                   "expected at most 3.4e38 in magnitude, or float64",
                   text, base, value);
  return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                 "cell %s (counted from %d) has value %g; expected a finite number", text, base,
                 value);
}

/* The first nonzero of each part. */
static polyad_status count_dense_nonzeros(polyad_context *context, struct cells *cells) {
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)cells->parts + 1, &cells->first));
  uint64_t bad = UINT64_MAX, underflows = 0;
#pragma omp parallel for num_threads(cells->parts) schedule(static, 1)                             \
    reduction(min : bad) reduction(+ : underflows)
  for (int part = 0; part < cells->parts; ++part) {
    uint64_t small = 0, found = count_in_lines(cells, part, &cells->first[part + 1], &small);
    underflows += small;
    if (found < bad) bad = found;
  }
  if (bad != UINT64_MAX) return fail_cell(context, cells, bad);
  pd_warn_of_underflow(context, NULL, 0, underflows);
  for (int part = 0; part < cells->parts; ++part)
    cells->first[part + 1] += cells->first[part];
  return POLYAD_OK;
}

static polyad_status take_dense_nonzeros(polyad_context *context, struct cells *cells) {
  const polyad_dense_input *input = cells->input;
  uint64_t nnz = cells->first[cells->parts];
  for (int n = 0; n < input->order; ++n)
    PD_TRY(pd_alloc(context, nnz, (size_t)pd_index_bytes(input->dims[n]), &cells->index[n]));
  PD_TRY(pd_alloc(context, nnz, pd_type_bytes(input->type), &cells->values));
#pragma omp parallel for num_threads(cells->parts) schedule(static, 1)
  for (int part = 0; part < cells->parts; ++part)
    write_lines(cells, part);
  return POLYAD_OK;
}

polyad_status polyad_tensor_create_dense(polyad_context *context, const polyad_dense_input *input,
                                         polyad_tensor **tensor) {
  PD_ENTER(context);
  PD_EXPECT(context, tensor != NULL && input != NULL, "input or tensor is NULL");
  *tensor = NULL;
  PD_TRY(check_dense_input(context, input));
  struct cells cells = {.input = input, .length = input->dims[input->order - 1]};
  cells.lines = pd_cells(input->order - 1, input->dims);
  cells.parts = pd_threads_for(context, cells.lines * cells.length, DENSE_GRAIN);
  set_strides(&cells);
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(count_dense_nonzeros(context, &cells));
  PD_TRY_CLEANUP(take_dense_nonzeros(context, &cells));
  status = pd_tensor_create_take(context, input->order, input->dims, cells.first[cells.parts],
                                 input->type, cells.index, &cells.values, POLYAD_DUPLICATES_SUM,
                                 input->zeros, tensor);

cleanup:
  pd_free(context, cells.first);
  for (int n = 0; n < input->order; ++n)
    pd_free(context, cells.index[n]);
  pd_free(context, cells.values);
  return status;
}
