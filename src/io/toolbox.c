/* Tensor Toolbox text: reading sptensor, ktensor and matrix. */
#include "io/formats.h"
#include "io/number.h"
#include "io/scanner.h"
#include "tensor/ktensor.h"
#include <float.h>
#include <math.h>
#include <string.h>

static const char *const words[] = {"sptensor", "ktensor", "ttensor", "tensor", "matrix"};

/* Length of the known word that the data begins with, as a word of its own; 0 when none. */
static size_t known_word(const unsigned char *data, size_t size) {
  for (size_t k = 0; k < sizeof words / sizeof *words; ++k) {
    size_t length = strlen(words[k]);
    if (size >= length && memcmp(data, words[k], length) == 0 &&
        (size == length || data[length] <= ' '))
      return length;
  }
  return 0;
}

polyad_status pd_toolbox_recognise(struct pd_input *input, bool *is_toolbox) {
  const unsigned char *data;
  size_t size;
  PD_TRY(pd_input_peek(input, &data, &size));
  *is_toolbox = known_word(data, size) > 0;
  return POLYAD_OK;
}

/* The header in the first bytes of the input. */
struct header {
  polyad_context *context;
  const char *path;
  const char *begin, *p, *end;
  uint64_t line;
};

/* The next line, as [*text, *stop). */
static polyad_status next_line(struct header *h, const char *expected, const char **text,
                               const char **stop) {
  ++h->line;
  if (h->p >= h->end)
    return pd_fail_at(h->context, POLYAD_PARSE, h->path, h->line, 0,
                      "the file ends here; expected %s", expected);
  const char *line_end = memchr(h->p, '\n', (size_t)(h->end - h->p));
  *text = h->p;
  *stop = line_end == NULL ? h->end : line_end;
  h->p = line_end == NULL ? h->end : line_end + 1;
  while (*stop > *text && ((*stop)[-1] == '\r' || (*stop)[-1] == ' ' || (*stop)[-1] == '\t'))
    --*stop;
  while (*text < *stop && (**text == ' ' || **text == '\t'))
    ++*text;
  return POLYAD_OK;
}

static polyad_status header_integers(struct header *h, const char *what, int count, uint64_t least,
                                     uint64_t most, uint64_t *values) {
  const char *text, *stop;
  char quoted[PD_QUOTE_BYTES];
  PD_TRY(next_line(h, what, &text, &stop));
  const char *p = text, *line = text;
  int found = 0;
  while (p < stop) {
    const char *token = p;
    while (p < stop && *p != ' ' && *p != '\t')
      ++p;
    uint64_t value = 0;
    if (pd_parse_index(token, p, &value) != PD_NUMBER_OK || value < least || value > most)
      return pd_fail_at(h->context, POLYAD_PARSE, h->path, h->line, (uint64_t)(token - line) + 1,
                        "%s; expected %s: integers from %llu to %llu",
                        pd_quote(quoted, token, (size_t)(p - token)), what,
                        (unsigned long long)least, (unsigned long long)most);
    if (found < count) values[found] = value;
    ++found;
    while (p < stop && (*p == ' ' || *p == '\t'))
      ++p;
  }
  if (found != count)
    return pd_fail_at(h->context, POLYAD_PARSE, h->path, h->line, 1,
                      "%d numbers; expected %s: %d of them", found, what, count);
  return POLYAD_OK;
}

static polyad_status header_word(struct header *h) {
  const char *text, *stop;
  char quoted[PD_QUOTE_BYTES];
  PD_TRY(next_line(h, "the word sptensor", &text, &stop));
  size_t length = (size_t)(stop - text);
  if (length == 8 && memcmp(text, "sptensor", 8) == 0) return POLYAD_OK;
  if (known_word((const unsigned char *)text, length) == length && length > 0)
    return pd_fail_at(h->context, POLYAD_PARSE, h->path, 1, 1,
                      "a %.*s; expected a sparse tensor (sptensor)", (int)length, text);
  return pd_fail_at(h->context, POLYAD_PARSE, h->path, 1, 1,
                    "%s; expected one of sptensor, ktensor, ttensor, tensor, matrix",
                    pd_quote(quoted, text, length));
}

polyad_status pd_toolbox_read(polyad_context *context, struct pd_input *input,
                              const polyad_read_options *options, polyad_tensor **tensor) {
  const unsigned char *data;
  size_t size;
  PD_TRY(pd_input_peek(input, &data, &size));
  const char *begin = (const char *)data;
  size_t mark = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  struct header h = {.context = context,
                     .path = pd_input_path(input),
                     .begin = begin,
                     .p = begin + mark,
                     .end = begin + size};
  if (size == 0)
    return pd_fail_at(context, POLYAD_PARSE, h.path, 0, 0,
                      "file is empty; expected Tensor Toolbox text");
  uint64_t order, nnz, dims[POLYAD_MAX_ORDER];
  PD_TRY(header_word(&h));
  PD_TRY(header_integers(&h, "the number of modes", 1, 1, POLYAD_MAX_ORDER, &order));
  PD_TRY(header_integers(&h, "the length of each mode", (int)order, 1, (uint64_t)INT64_MAX, dims));
  PD_TRY(header_integers(&h, "the number of nonzeros", 1, 0, (uint64_t)INT64_MAX, &nnz));
  if (options->order > 0 && options->order != (int)order)
    return pd_fail_at(context, POLYAD_MISMATCH, h.path, 2, 1,
                      "%llu modes; expected %d, as the given dims have", (unsigned long long)order,
                      options->order);
  polyad_read_options body = *options;
  if (options->order == 0) memcpy(body.dims, dims, sizeof dims);
  body.order = (int)order;
  pd_input_skip(input, (size_t)(h.p - begin));
  return pd_tns_read_body(context, input, &body, nnz, h.line, tensor);
}

/* Factors of more cells than this cannot be meant; it keeps products of sizes in 64 bits. */
static const uint64_t most_cells = UINT64_C(1) << 56;

static polyad_status read_values(struct pd_scanner *s, const char *what, uint64_t count,
                                 polyad_type type, void *values) {
  for (uint64_t k = 0; k < count; ++k) {
    double value;
    PD_TRY(pd_scanner_number(s, what, &value));
    if (type == POLYAD_F64) {
      ((double *)values)[k] = value;
    } else if (fabs(value) <= (double)FLT_MAX) {
      ((float *)values)[k] = (float)value;
    } else {
      return pd_fail_at(s->context, POLYAD_PARSE, pd_input_path(s->input), s->word_line,
                        s->word_column,
                        "a number that overflows single precision; expected a "
                        "magnitude of at most 3.4e38");
    }
  }
  return POLYAD_OK;
}

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

/* The sizes that a header declares are believed only as far as the file could hold them: a
 * number takes two bytes of text at least. For a pipe nothing is known. */
static polyad_status read_ktensor_body(struct pd_scanner *s, polyad_type type,
                                       polyad_ktensor **ktensor) {
  uint64_t order, rank, dims[POLYAD_MAX_ORDER];
  PD_TRY(pd_scanner_expect(s, "ktensor"));
  PD_TRY(pd_scanner_integer(s, "the number of modes", 1, POLYAD_MAX_ORDER, &order));
  for (uint64_t n = 0; n < order; ++n)
    PD_TRY(pd_scanner_integer(s, "the length of a mode", 1, most_cells, &dims[n]));
  PD_TRY(pd_scanner_integer(s, "the rank", 1, most_cells, &rank));
  for (uint64_t n = 0; n < order; ++n)
    if (rank > most_cells / dims[n])
      return pd_fail_at(s->context, POLYAD_PARSE, pd_input_path(s->input), s->word_line,
                        s->word_column, "a factor of %llu x %llu is too large",
                        (unsigned long long)dims[n], (unsigned long long)rank);
  uint64_t declared = 0, possible = pd_input_size_bound(s->input);
  for (uint64_t n = 0; n < order; ++n)
    declared = pd_add_saturated(declared, dims[n] * rank);
  if (declared > possible)
    return pd_fail_at(s->context, POLYAD_PARSE, pd_input_path(s->input), s->word_line,
                      s->word_column,
                      "the header declares %llu numbers; expected at most %llu, which is what the "
                      "file can hold",
                      (unsigned long long)declared, (unsigned long long)possible);
  PD_TRY(polyad_ktensor_create(s->context, (int)order, dims, rank, type, ktensor));
  PD_TRY(read_values(s, "a weight", rank, type, (*ktensor)->weights));
  for (uint64_t n = 0; n < order; ++n) {
    uint64_t rows, columns;
    PD_TRY(read_matrix_header(s, dims[n], rank, &rows, &columns));
    PD_TRY(read_values(s, "an entry of a factor", rows * columns, type, (*ktensor)->factor[n]));
  }
  return pd_scanner_end(s);
}

polyad_status polyad_ktensor_read(polyad_context *context, const char *path, polyad_type type,
                                  polyad_ktensor **ktensor) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (ktensor != NULL) *ktensor = NULL;
  if (path == NULL || ktensor == NULL || (type != POLYAD_F32 && type != POLYAD_F64))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "path or ktensor is NULL, or the type is unknown");
  struct pd_input *input = NULL;
  struct pd_scanner *scanner = NULL;
  polyad_ktensor *made = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_input_open(context, path, &input));
  PD_TRY_CLEANUP(pd_scanner_create(context, input, &scanner));
  PD_TRY_CLEANUP(read_ktensor_body(scanner, type, &made));
  *ktensor = made;
  made = NULL;
cleanup:
  polyad_ktensor_destroy(made);
  pd_scanner_destroy(scanner);
  pd_input_close(input);
  return status;
}

polyad_status polyad_matrix_read(polyad_context *context, const char *path, uint64_t *rows,
                                 uint64_t *columns, double **values) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (path == NULL || rows == NULL || columns == NULL || values == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "path, rows, columns or values is NULL");
  *values = NULL;
  struct pd_input *input = NULL;
  struct pd_scanner *scanner = NULL;
  double *made = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_input_open(context, path, &input));
  PD_TRY_CLEANUP(pd_scanner_create(context, input, &scanner));
  PD_TRY_CLEANUP(read_matrix_header(scanner, 0, 0, rows, columns));
  if (*rows * *columns > pd_input_size_bound(input)) {
    status = pd_fail_at(context, POLYAD_PARSE, path, scanner->word_line, scanner->word_column,
                        "the header declares more numbers than the file can hold");
    goto cleanup;
  }
  PD_TRY_CLEANUP(PD_NEW(context, *rows * *columns, &made));
  PD_TRY_CLEANUP(read_values(scanner, "an entry", *rows * *columns, POLYAD_F64, made));
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
