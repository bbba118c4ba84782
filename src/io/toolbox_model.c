/* Tensor Toolbox text: reading ktensor and matrix. */
#include "io/formats.h"
#include "io/number.h"
#include "io/scanner.h"
#include "io/toolbox_parts.h"
#include "tensor/ktensor.h"
#include <math.h>
#include <string.h>

static const uint64_t most_cells = PD_TOOLBOX_CELLS;

static const uint64_t first_room = 4096;

static polyad_status fail_float(struct pd_scanner *s) {
  char quoted[PD_QUOTE_BYTES];
  return pd_fail_at(s->context, POLYAD_PARSE, pd_input_path(s->input), s->word_line, s->word_column,
                    "%s; expected a magnitude of at most 3.4e38, a float's largest",
                    pd_quote(quoted, s->word, s->length));
}

polyad_status pd_toolbox_read_values(struct pd_scanner *s, const char *what, uint64_t count,
                                     polyad_type type, void **values) {
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

polyad_status pd_toolbox_read_matrix_header(struct pd_scanner *s, uint64_t rows_expected,
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

/* What a ktensor file holds. */
struct parts {
  uint64_t order, rank, dims[POLYAD_MAX_ORDER];
  void *weights, *factor[POLYAD_MAX_ORDER];
};

static void free_parts(polyad_context *context, struct parts *parts) {
  pd_free(context, parts->weights);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(context, parts->factor[n]);
}

static polyad_status read_ktensor_header(struct pd_scanner *s, struct parts *parts) {
  PD_TRY(pd_scanner_expect(s, "ktensor"));
  PD_TRY(pd_scanner_integer(s, "the number of modes", 1, POLYAD_MAX_ORDER, &parts->order));
  uint64_t longest = 1;
  for (uint64_t n = 0; n < parts->order; ++n) {
    PD_TRY(pd_scanner_integer(s, "the length of a mode", 1, most_cells, &parts->dims[n]));
    if (parts->dims[n] > longest) longest = parts->dims[n];
  }
  return pd_scanner_integer(s, "the rank", 1, most_cells / longest, &parts->rank);
}

static polyad_status read_parts(struct pd_scanner *s, polyad_type type, struct parts *parts) {
  PD_TRY(read_ktensor_header(s, parts));
  PD_TRY(pd_toolbox_read_values(s, "a weight", parts->rank, type, &parts->weights));
  for (uint64_t n = 0; n < parts->order; ++n) {
    uint64_t rows, columns;
    PD_TRY(pd_toolbox_read_matrix_header(s, parts->dims[n], parts->rank, &rows, &columns));
    PD_TRY(
        pd_toolbox_read_values(s, "an entry of a factor", rows * columns, type, &parts->factor[n]));
  }
  return pd_scanner_end(s);
}

static polyad_status toolbox_model_assemble(polyad_context *context, polyad_type type,
                                            const struct parts *parts, polyad_ktensor **ktensor) {
  size_t size = pd_type_bytes(type), rank = (size_t)parts->rank;
  PD_TRY(
      polyad_ktensor_create(context, (int)parts->order, parts->dims, parts->rank, type, ktensor));
  memcpy((*ktensor)->weights, parts->weights, rank * size);
  for (uint64_t n = 0; n < parts->order; ++n)
    memcpy((*ktensor)->factor[n], parts->factor[n], (size_t)parts->dims[n] * rank * size);
  return POLYAD_OK;
}

/* Reads a whole ktensor or ttensor, from its first word to the end of the file. */
static polyad_status toolbox_read_ktensor(struct pd_scanner *scanner, polyad_type type,
                                          polyad_ktensor **ktensor) {
  struct parts parts = {0};
  polyad_status status = read_parts(scanner, type, &parts);
  if (status == POLYAD_OK) status = toolbox_model_assemble(scanner->context, type, &parts, ktensor);
  free_parts(scanner->context, &parts);
  return status;
}

polyad_status pd_toolbox_read_model(polyad_context *context, struct pd_input *input,
                                    struct pd_model_read *model) {
  struct pd_scanner *scanner = NULL;
  PD_TRY(pd_scanner_create(context, input, &scanner));
  polyad_status status = model->wanted == POLYAD_CONTENTS_KTENSOR
                             ? toolbox_read_ktensor(scanner, model->type, &model->ktensor)
                             : pd_toolbox_read_ttensor(scanner, model->type, &model->ttensor);
  pd_scanner_destroy(scanner);
  return status;
}

polyad_status polyad_matrix_read(polyad_context *context, const char *path, uint64_t *rows,
                                 uint64_t *columns, double **values) {
  PD_ENTER(context);
  if (path == NULL || rows == NULL || columns == NULL || values == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "path, rows, columns or values is NULL");
  *values = NULL;
  struct pd_input *input = NULL;
  struct pd_scanner *scanner = NULL;
  void *made = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_input_open(context, path, &input));
  PD_TRY_CLEANUP(pd_scanner_create(context, input, &scanner));
  PD_TRY_CLEANUP(pd_toolbox_read_matrix_header(scanner, 0, 0, rows, columns));
  PD_TRY_CLEANUP(pd_toolbox_read_values(scanner, "an entry", *rows * *columns, POLYAD_F64, &made));
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
