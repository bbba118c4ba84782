/* Threads format a batch of numbers each, which are then written in order, until all are done. */
#include "io/number_rows.h"
#include "core/numbers.h"
#include "io/number.h"
#include <assert.h>
#include <string.h>

enum { BATCH = 1 << 16, STYLE_BYTES = 7, NUMBER_ROOM = PD_NUMBER_TEXT + 3 * STYLE_BYTES };

const struct pd_row_style pd_plain_rows = {"", " ", "", "\n"};

/* The texts of a style with their lengths. */
struct style {
  const char *text[4]; /* before, between, after, rows */
  size_t length[4];
};
enum { BEFORE, BETWEEN, AFTER, ROWS };

static struct style measured(const struct pd_row_style *style) {
  struct style out = {{style->before, style->between, style->after, style->rows}, {0}};
  for (int k = 0; k < 4; ++k) {
    out.length[k] = strlen(out.text[k]);
    assert(out.length[k] <= STYLE_BYTES);
  }
  return out;
}

static char *number_rows_put(char *at, const struct style *style, int which) {
  memcpy(at, style->text[which], style->length[which]);
  return at + style->length[which];
}

/* Formats numbers [begin, end) of all rows. Returns the length. */
static size_t format(const void *values, polyad_type type, uint64_t begin, uint64_t end,
                     uint64_t columns, const struct style *style, char *text) {
  char *at = text;
  uint64_t column = begin % columns;
  for (uint64_t k = begin; k < end; ++k) {
    if (column == 0 && k > 0) at = number_rows_put(at, style, ROWS);
    at = number_rows_put(at, style, column == 0 ? BEFORE : BETWEEN);
    double value = pd_load(type, values, k);
    at += pd_format_number(at, value, type == POLYAD_F32);
    if (++column == columns) {
      at = number_rows_put(at, style, AFTER);
      column = 0;
    }
  }
  return (size_t)(at - text);
}

polyad_status pd_rows_write(polyad_context *context, struct pd_output *output, polyad_type type,
                            const void *values, uint64_t rows, uint64_t columns,
                            const struct pd_row_style *style) {
  uint64_t count = rows * columns, batch = count < BATCH ? count : BATCH;
  int threads = pd_threads_for(context, count, BATCH / 4);
  struct style texts = measured(style);
  char *text = NULL;
  size_t *length = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)threads * batch * NUMBER_ROOM, &text));
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)threads, &length));
  for (uint64_t first = 0; first < count; first += (uint64_t)threads * batch) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
      uint64_t begin = first + (uint64_t)t * batch, end = begin + batch;
      if (end > count) end = count;
      length[t] = begin < end ? format(values, type, begin, end, columns, &texts,
                                       text + (size_t)t * batch * NUMBER_ROOM)
                              : 0;
    }
    for (int t = 0; t < threads; ++t)
      PD_TRY_CLEANUP(pd_output_write(output, text + (size_t)t * batch * NUMBER_ROOM, length[t]));
  }
cleanup:
  pd_free(context, text);
  pd_free(context, length);
  return status;
}
