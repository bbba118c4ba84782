/* Reads delimited text: each label of a column becomes an index of its mode. */
#include "core/numbers.h"
#include "io/coordinates.h"
#include "io/delimited_amounts.h"
#include "io/delimited_block.h"
#include "io/delimited_filter.h"
#include "io/formats.h"
#include <time.h>
#include <unistd.h>

enum {
  CHUNK_ROWS = 4096,       /* fewest */
  BLOCK_LEAST = 256 << 10, /* bytes worth several threads */
  BLOCK_BYTES = 1 << 20    /* for each of them */
};

struct reader {
  polyad_context *context;
  const polyad_read_options *options;
  struct pd_input *input;
  struct pd_rows rows;
  struct pd_columns_plan plan;
  struct pd_filter filter;
  struct pd_dictionary dictionary[POLYAD_MAX_ORDER];
  struct pd_coordinates coordinates;
  struct pd_block block;
  uint64_t underflows;   /* values of single rows that became zero */
  uint64_t single_until; /* byte of the input: rows before it are taken one by one */
};

static polyad_status delimited_read_fail_field(struct reader *r, const struct pd_field *field,
                                               const char *what) {
  char quoted[PD_QUOTE_BYTES];
  return pd_rows_fail(&r->rows, POLYAD_PARSE, field->text, "%s %s",
                      pd_quote(quoted, field->text, field->length), what);
}

static polyad_status parse_number(struct reader *r, const struct pd_field *field, double *value) {
  char why[PD_WRITTEN_WHY];
  struct pd_written_number number;
  if (!pd_written_number_read(r->plan.numbers, field->text, field->length, &number, why))
    return delimited_read_fail_field(r, field, why);
  if (number.currency != 0 && r->plan.currency != 0 && number.currency != r->plan.currency)
    return delimited_read_fail_field(
        r, field, "is in another currency than the rows before; expected one currency");
  if (number.currency != 0) r->plan.currency = number.currency;
  *value = number.value;
  double kept = r->options->type == POLYAD_F32 ? (double)(float)*value : *value;
  r->underflows += number.underflow || (r->options->type == POLYAD_F32 && pd_becomes_zero(*value));
  if (!isfinite(kept))
    return delimited_read_fail_field(r, field, "is too large; expected a finite number");
  return POLYAD_OK;
}

static polyad_status delimited_read_take_label(struct reader *r, int mode, uint32_t *number) {
  const struct pd_mode_column *column = &r->plan.mode[mode];
  struct pd_field field = r->rows.field[column->column];
  if (column->grid == PD_GRID_NONE) {
    PD_TRY(pd_rows_plain(&r->rows, &field));
    return pd_dictionary_number(&r->dictionary[mode], field.text, field.length, number);
  }
  char label[32], why[PD_GRID_WHY];
  size_t length;
  PD_TRY(pd_rows_plain(&r->rows, &field));
  if (!pd_grid_label(&r->plan, mode, field.text, field.length, label, &length, why))
    return delimited_read_fail_field(r, &r->rows.field[column->column], why);
  return pd_dictionary_number(&r->dictionary[mode], label, length, number);
}

static polyad_status delimited_read_take_row(struct reader *r) {
  struct pd_rows *rows = &r->rows;
  if (rows->fields != r->plan.count) {
    size_t at = rows->fields < r->plan.count ? rows->fields - 1 : r->plan.count;
    return pd_rows_fail(rows, POLYAD_PARSE, rows->field[at].text,
                        "%zu fields; expected %zu, as in the header", rows->fields, r->plan.count);
  }
  bool taken = true;
  if (pd_filter_asks(&r->filter)) PD_TRY(pd_filter_row(&r->filter, rows, &taken));
  if (!taken) return POLYAD_OK;
  struct pd_coordinates_chunk *chunk = r->coordinates.last;
  if (chunk == NULL || chunk->count == chunk->room)
    PD_TRY(pd_coordinates_room(&r->coordinates, CHUNK_ROWS, &chunk));
  double value = 1;
  for (int n = 0; n < r->plan.order; ++n)
    PD_TRY(delimited_read_take_label(r, n, (uint32_t *)chunk->index[n] + chunk->count));
  if (r->plan.value != SIZE_MAX) PD_TRY(parse_number(r, &rows->field[r->plan.value], &value));
  pd_store(r->options->type, chunk->values, chunk->count, value);
  pd_coordinates_add(&r->coordinates, 1);
  return POLYAD_OK;
}

/* A number nobody can foresee; results do not depend on it. */
static uint64_t hash_seed(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)now.tv_sec ^
         (uint64_t)getpid() << 40 ^ (uint64_t)(uintptr_t)&now;
}

/* A table in a zip archive, as some sites hand them out. */
static polyad_status delimited_read_check_head(struct reader *r) {
  const unsigned char *head;
  size_t size;
  if (pd_input_peek(r->input, &head, &size) != POLYAD_OK || !pd_npz_recognise(head, size))
    return POLYAD_OK;
  return pd_fail_at(
      r->context, POLYAD_UNSUPPORTED, pd_input_path(r->input), 0, 0,
      "data compressed by zip; expected plain text, gzip or zstd: decompress it first");
}

static polyad_status delimited_read_take_header(struct reader *r) {
  bool found;
  PD_TRY(pd_rows_next(&r->rows, &found));
  if (!found)
    return pd_fail_at(r->context, POLYAD_PARSE, pd_input_path(r->input), 0, 0,
                      "file is empty; expected a header and rows");
  PD_TRY(pd_columns_plan_make(r->context, &r->rows, r->options, &r->plan));
  PD_TRY(pd_filter_make(r->context, &r->rows, r->options, &r->plan, &r->filter));
  r->coordinates = (struct pd_coordinates){.context = r->context,
                                           .order = r->plan.order,
                                           .type = r->options->type,
                                           .index_bytes = sizeof(uint32_t)};
  uint64_t seed = hash_seed();
  for (int n = 0; n < r->plan.order; ++n)
    PD_TRY(pd_dictionary_open(r->context, seed, &r->dictionary[n]));
  r->block = (struct pd_block){.context = r->context,
                               .plan = &r->plan,
                               .dictionary = r->dictionary,
                               .coordinates = &r->coordinates,
                               .delimiter = r->rows.delimiter};
  return pd_block_open(&r->block);
}

/* Takes whole blocks of rows as long as that can be done. */
static polyad_status delimited_read_take_blocks(struct reader *r, int threads) {
  struct pd_rows *rows = &r->rows;
  while (rows->before + rows->begin >= r->single_until) {
    /* A file that fits the first buffer needs no larger one. */
    size_t room = rows->end == rows->capacity ? ((size_t)threads + 1) * BLOCK_BYTES : 0;
    if (rows->end - rows->begin < BLOCK_LEAST && !rows->at_end) PD_TRY(pd_rows_fill(rows, room));
    const char *begin = rows->buffer + rows->begin, *end = rows->buffer + rows->end;
    while (end > begin && end[-1] != '\n')
      --end;
    uint64_t lines = 0;
    bool taken = false;
    if (end - begin >= BLOCK_LEAST) PD_TRY(pd_block_take(&r->block, begin, end, &lines, &taken));
    if (!taken) {
      r->single_until = rows->before + (uint64_t)(end - rows->buffer) + 1;
      break;
    }
    rows->lines += lines;
    rows->begin = (size_t)(end - rows->buffer);
  }
  return POLYAD_OK;
}

static polyad_status delimited_read_take_rows(struct reader *r) {
  int threads = polyad_threads(r->context);
  if (threads > PD_BLOCK_THREADS) threads = PD_BLOCK_THREADS;
  for (;;) {
    bool found;
    /* Rows that may be left out are looked at one by one. */
    if (threads > 1 && !pd_filter_asks(&r->filter)) PD_TRY(delimited_read_take_blocks(r, threads));
    PD_TRY(pd_rows_next(&r->rows, &found));
    if (!found) break;
    PD_TRY(delimited_read_take_row(r));
  }
  if (r->filter.skipped > 0)
    pd_log(r->context, POLYAD_LOG_WARNING, "%s: rows skipped that lack a label or value: %llu",
           pd_input_path(r->input), (unsigned long long)r->filter.skipped);
  if (r->coordinates.count == 0)
    return pd_fail_at(r->context, POLYAD_PARSE, pd_input_path(r->input), 0, 0,
                      pd_filter_asks(&r->filter)
                          ? "no row is left; expected rows that meet the conditions"
                          : "a header and no rows; expected rows below it");
  return POLYAD_OK;
}

/* Labels were numbered as they came; now they are sorted. */
static polyad_status delimited_read_sort_mode(struct reader *r, int mode) {
  uint32_t *place;
  PD_TRY(PD_NEW(r->context, r->dictionary[mode].labels.count, &place));
  polyad_status status = pd_dictionary_sort(&r->dictionary[mode], place);
  for (struct pd_coordinates_chunk *chunk = r->coordinates.first;
       chunk != NULL && status == POLYAD_OK; chunk = chunk->next) {
    uint32_t *index = chunk->index[mode];
    for (uint64_t p = 0; p < chunk->count; ++p)
      index[p] = place[index[p]];
  }
  pd_free(r->context, place);
  return status;
}

/* The dims given are a demand: another tensor than the one asked for is an error. */
static polyad_status delimited_read_check_dims(struct reader *r, const uint64_t *dims) {
  const polyad_read_options *options = r->options;
  if (options->order == 0) return POLYAD_OK;
  if (options->order != r->plan.order)
    return pd_fail_at(r->context, POLYAD_MISMATCH, pd_input_path(r->input), 0, 0,
                      "%d columns are modes; expected %d, as the dims given", r->plan.order,
                      options->order);
  for (int n = 0; n < options->order; ++n)
    if (options->dims[n] != dims[n])
      return pd_fail_at(r->context, POLYAD_MISMATCH, pd_input_path(r->input), 0, 0,
                        "mode %d has %llu labels; expected %llu, as given", n + 1,
                        (unsigned long long)dims[n], (unsigned long long)options->dims[n]);
  return POLYAD_OK;
}

static polyad_status delimited_read_finish(struct reader *r, polyad_tensor **tensor) {
  uint64_t dims[POLYAD_MAX_ORDER];
  for (int n = 0; n < r->plan.order; ++n) {
    PD_TRY(delimited_read_sort_mode(r, n));
    dims[n] = r->dictionary[n].labels.count;
  }
  PD_TRY(delimited_read_check_dims(r, dims));
  if (r->plan.value == SIZE_MAX)
    pd_warn_of_amounts(r->context, pd_input_path(r->input), r->options, r->plan.order, r->plan.name,
                       r->dictionary);
  pd_warn_of_underflow(r->context, pd_input_path(r->input), 0, r->underflows + r->block.underflows);
  PD_TRY(pd_coordinates_finish(&r->coordinates, dims, r->options->duplicates, r->options->zeros,
                               tensor));
  for (int n = 0; n < r->plan.order; ++n) {
    pd_tensor_take_labels(*tensor, n, &r->dictionary[n].labels);
    (*tensor)->mode_name[n] = r->plan.name[n];
    r->plan.name[n] = NULL;
  }
  return POLYAD_OK;
}

static void delimited_read_clear(struct reader *r) {
  pd_rows_close(&r->rows);
  pd_columns_plan_clear(r->context, &r->plan);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_dictionary_close(&r->dictionary[n]);
  if (r->block.context != NULL) pd_block_close(&r->block);
  pd_coordinates_clear(&r->coordinates);
  pd_input_close(r->input);
  pd_free(r->context, r);
}

polyad_status pd_delimited_read(polyad_context *context, const char *path, struct pd_input *input,
                                const polyad_read_options *options, polyad_tensor **tensor) {
  char delimiter = options->delimiter;
  (void)input; /* only the name tells this format: nothing was opened */
  if (delimiter == 0) delimiter = pd_has_extension(path, ".tsv") ? '\t' : ',';
  struct reader *r;
  *tensor = NULL;
  PD_EXPECT(context, delimiter != '"' && delimiter != '\n' && delimiter != '\r',
            "a quote or line end as delimiter; expected ',', a tab or another byte");
  PD_TRY(PD_NEW_ZERO(context, 1, &r));
  r->context = context;
  r->options = options;
  r->coordinates.context = context;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_input_open(context, path, &r->input));
  PD_TRY_CLEANUP(delimited_read_check_head(r));
  PD_TRY_CLEANUP(pd_rows_open(context, r->input, delimiter, &r->rows));
  PD_TRY_CLEANUP(delimited_read_take_header(r));
  PD_TRY_CLEANUP(delimited_read_take_rows(r));
  PD_TRY_CLEANUP(delimited_read_finish(r, tensor));

cleanup:
  delimited_read_clear(r);
  return status;
}
