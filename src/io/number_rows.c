/* Threads take batches of numbers and format them. Each writes its batch when those before are
 * written, while the others format on. */
#include "io/number_rows.h"
#include "core/numbers.h"
#include "io/number.h"
#include <assert.h>
#include <omp.h>
#include <string.h>

enum { BATCH = 1 << 14, STYLE_BYTES = 7, NUMBER_ROOM = PD_NUMBER_TEXT + 3 * STYLE_BYTES };

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
  uint64_t count = rows * columns, batches = (count + BATCH - 1) / BATCH;
  uint64_t room = count < BATCH ? count : BATCH;
  int threads = pd_threads_for(context, count, BATCH);
  struct style texts = measured(style);
  char *text = NULL;
  polyad_status status = POLYAD_OK; /* changes only where threads take turns */
  PD_TRY(PD_NEW(context, pd_mul_saturated(pd_mul_saturated((uint64_t)threads, room), NUMBER_ROOM),
                &text));
#pragma omp parallel for ordered num_threads(threads) schedule(dynamic, 1)
  for (uint64_t k = 0; k < batches; ++k) {
    char *own = text + (size_t)omp_get_thread_num() * room * NUMBER_ROOM;
    uint64_t begin = k * BATCH, end = begin + BATCH < count ? begin + BATCH : count;
    size_t length = format(values, type, begin, end, columns, &texts, own);
#pragma omp ordered
    if (status == POLYAD_OK) status = pd_output_write(output, own, length);
  }
  pd_free(context, text);
  return status;
}
