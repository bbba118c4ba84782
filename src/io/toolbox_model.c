/* Tensor Toolbox text: reading ktensor and matrix, and ttensor, which the Toolbox has no text of:
 * the word ttensor, the number of modes and their lengths, then the core as a "tensor" (first mode
 * fastest) and one "matrix" per mode, each with its header. */
#include "core/numbers.h"
#include "io/formats.h"
#include "io/scanner.h"
#include "io/toolbox_parts.h"
#include "tensor/tensor.h"
#include <math.h>
#include <string.h>

/* Factors of more cells than this cannot be meant; it keeps products of sizes in 64 bits. */
static const uint64_t most_cells = UINT64_C(1) << 56;

static const uint64_t first_room = 4096;

static polyad_status fail_float(struct pd_scanner *s) {
  char quoted[PD_QUOTE_BYTES];
  return pd_fail_at(s->context, POLYAD_PARSE, pd_input_path(s->input), s->word_line, s->word_column,
                    "%s; expected a magnitude of at most 3.4e38, a float's largest",
                    pd_quote(quoted, s->word, s->length));
}

/* Reads `count` numbers into a new array. It grows with what has come: a header's sizes are not
 * believed before the numbers are there. */
static polyad_status toolbox_model_read_values(struct pd_scanner *s, const char *what,
                                               uint64_t count, polyad_type type, void **values) {
  uint64_t room = 0;
  for (uint64_t k = 0; k < count; ++k) {
    double value;
    PD_TRY(pd_scanner_number(s, what, &value));
    if (k == room) {
      room = room == 0 ? first_room : 2 * room;
      if (room > count) room = count;
      PD_TRY(pd_realloc(s->context, room, pd_type_bytes(type), values));
    }
    if (type == POLYAD_F64)
      ((double *)*values)[k] = value;
    else if (isfinite((float)value))
      ((float *)*values)[k] = (float)value;
    else
      return fail_float(s);
  }
  return POLYAD_OK;
}

/* The header of a matrix; where `rows_expected` is not 0, both sizes must be as expected. */
static polyad_status read_matrix_header(struct pd_scanner *s, uint64_t rows_expected,
                                        uint64_t columns_expected, uint64_t *rows,
                                        uint64_t *columns) {
  uint64_t two;
  PD_TRY(pd_scanner_expect(s, "matrix"));
  PD_TRY(pd_scanner_integer(s, "the number of dimensions of a matrix", 2, 2, &two));
  bool known = rows_expected > 0;
  PD_TRY(pd_scanner_integer(s, "the rows of a matrix", known ? rows_expected : 1,
                            known ? rows_expected : most_cells, rows));
  return pd_scanner_integer(s, "the columns of a matrix", known ? columns_expected : 1,
                            known ? columns_expected : most_cells / *rows, columns);
}

uint64_t pd_toolbox_core_place(const struct pd_model *model, uint64_t k) {
  uint64_t at = 0, stride = 1, index[POLYAD_MAX_ORDER];
  for (int n = 0; n < model->order; ++n) {
    index[n] = k % model->ranks[n];
    k /= model->ranks[n];
  }
  for (int n = model->order - 1; n >= 0; --n) {
    at += index[n] * stride;
    stride *= model->ranks[n];
  }
  return at;
}

/* One rank for all modes. */
static polyad_status read_rank(struct pd_scanner *s, struct pd_model *found) {
  uint64_t longest = pd_longest(found->order, found->dims);
  PD_TRY(pd_scanner_integer(s, "the rank", 1, most_cells / longest, &found->entries));
  for (int n = 0; n < found->order; ++n)
    found->ranks[n] = found->entries;
  return POLYAD_OK;
}

static polyad_status read_core_sizes(struct pd_scanner *s, struct pd_model *found) {
  uint64_t modes = (uint64_t)found->order;
  PD_TRY(pd_scanner_expect(s, "tensor"));
  PD_TRY(pd_scanner_integer(s, "the number of modes of the core", modes, modes, &modes));
  found->entries = 1;
  for (int n = 0; n < found->order; ++n) {
    uint64_t most = most_cells / found->entries;
    if (most > most_cells / found->dims[n]) most = most_cells / found->dims[n];
    PD_TRY(pd_scanner_integer(s, "the length of a mode of the core", 1, most, &found->ranks[n]));
    found->entries *= found->ranks[n];
  }
  return POLYAD_OK;
}

static polyad_status read_sizes(struct pd_scanner *s, struct pd_model *found) {
  uint64_t order;
  PD_TRY(pd_scanner_expect(s, found->tucker ? "ttensor, the first word of a Tucker model"
                                            : "ktensor, the first word of a CP model"));
  PD_TRY(pd_scanner_integer(s, "the number of modes", 1, POLYAD_MAX_ORDER, &order));
  found->order = (int)order;
  for (int n = 0; n < found->order; ++n)
    PD_TRY(pd_scanner_integer(s, "the length of a mode", 1, most_cells, &found->dims[n]));
  return found->tucker ? read_core_sizes(s, found) : read_rank(s, found);
}

/* From the first word to the end of the file. */
static polyad_status read_arrays(struct pd_scanner *s, struct pd_model *found) {
  PD_TRY(read_sizes(s, found));
  PD_TRY(toolbox_model_read_values(s, found->tucker ? "an entry of the core" : "a weight",
                                   found->entries, found->type, &found->first));
  for (int n = 0; n < found->order; ++n) {
    uint64_t rows, columns;
    PD_TRY(read_matrix_header(s, found->dims[n], found->ranks[n], &rows, &columns));
    PD_TRY(toolbox_model_read_values(s, "an entry of a factor", rows * columns, found->type,
                                     &found->factor[n]));
  }
  return pd_scanner_end(s);
}

static polyad_status toolbox_model_assemble(polyad_context *context, const struct pd_model *found,
                                            struct pd_model_read *model) {
  struct pd_model to;
  size_t size = pd_type_bytes(found->type);
  PD_TRY(pd_model_make(context, found->order, found->dims, found->ranks, model, &to));
  for (uint64_t k = 0; k < found->entries; ++k)
    pd_store(to.type, to.first, found->tucker ? pd_toolbox_core_place(found, k) : k,
             pd_load(found->type, found->first, k));
  for (int n = 0; n < found->order; ++n)
    memcpy(to.factor[n], found->factor[n], (size_t)(found->dims[n] * found->ranks[n]) * size);
  return POLYAD_OK;
}

polyad_status pd_toolbox_read_model(polyad_context *context, struct pd_input *input,
                                    struct pd_model_read *model) {
  struct pd_model found = {.tucker = model->wanted == POLYAD_CONTENTS_TTENSOR, .type = model->type};
  struct pd_scanner *scanner = NULL;
  PD_TRY(pd_scanner_create(context, input, &scanner));
  polyad_status status = read_arrays(scanner, &found);
  if (status == POLYAD_OK) status = toolbox_model_assemble(context, &found, model);
  pd_scanner_destroy(scanner);
  pd_free(context, found.first);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(context, found.factor[n]);
  return status;
}

polyad_status polyad_matrix_read(polyad_context *context, const char *path, uint64_t *rows,
                                 uint64_t *columns, double **values) {
  PD_ENTER(context);
  PD_EXPECT(context, path != NULL && rows != NULL && columns != NULL && values != NULL,
            "path, rows, columns or values is NULL");
  *values = NULL;
  struct pd_input *input = NULL;
  struct pd_scanner *scanner = NULL;
  void *made = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_input_open(context, path, &input));
  PD_TRY_CLEANUP(pd_scanner_create(context, input, &scanner));
  PD_TRY_CLEANUP(read_matrix_header(scanner, 0, 0, rows, columns));
  PD_TRY_CLEANUP(
      toolbox_model_read_values(scanner, "an entry", *rows * *columns, POLYAD_F64, &made));
  PD_TRY_CLEANUP(pd_scanner_end(scanner));
  *values = made;
  made = NULL;
cleanup:
  pd_free(context, made);
  pd_scanner_destroy(scanner);
  pd_input_close(input);
  return status;
}

void polyad_free(polyad_context *context, void *array) { pd_free(context, array); }
