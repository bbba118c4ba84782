/* Conditions are asked before labels get their numbers, so that a label which only rows left out
 * have is none. */
#include "io/delimited_filter.h"
#include "io/number.h"
#include <string.h>

/* ---- conditions -------------------------------------------------------------------------------
 */

static polyad_status fail_condition(polyad_context *context, const char *text, size_t length) {
  char quoted[PD_QUOTE_BYTES];
  return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                 "condition %s; expected COLUMN=TEXT, COLUMN<BOUND or COLUMN>BOUND (a number or a "
                 "date such as 2024-03-09), with commas between conditions, %d at most",
                 pd_quote(quoted, text, length), PD_FILTER_CONDITIONS);
}

/* A number, or a time as a number, on the clock on which labels are; false when the text is
 * neither.
 */
static bool read_bound(const struct pd_clocks *clocks, const char *text, size_t length, bool *timed,
                       double *bound) {
  struct pd_time time, other;
  *timed = false;
  if (pd_parse_double(text, text + length, bound) != PD_NUMBER_MALFORMED) return true;
  *timed = pd_time_parse(text, length, PD_DATE_UNKNOWN, &time, &other) == PD_TIME_OK &&
           (!time.zoned || pd_clocks_move(clocks, &time, NULL));
  if (*timed) *bound = (double)pd_time_number(&time);
  return *timed;
}

/* The condition [text, end); its column is the longest name that its front is. */
static polyad_status add_condition(polyad_context *context, struct pd_rows *rows, const char *text,
                                   const char *end, struct pd_filter *filter) {
  if (filter->count == PD_FILTER_CONDITIONS)
    return fail_condition(context, text, (size_t)(end - text));
  struct pd_condition *c = &filter->condition[filter->count++];
  const char *first = NULL;
  *c = (struct pd_condition){.column = SIZE_MAX};
  for (const char *p = end; p-- > text;) {
    if (*p != '=' && *p != '<' && *p != '>') continue;
    first = p;
    if (c->column != SIZE_MAX) continue;
    c->column = pd_columns_find(rows, text, (size_t)(p - text));
    c->sign = *p;
    c->text = p + 1;
    c->length = (size_t)(end - c->text);
  }
  if (first == NULL || first == text) return fail_condition(context, text, (size_t)(end - text));
  if (c->column == SIZE_MAX) return pd_columns_fail_missing(rows, text, (size_t)(first - text));
  if (c->sign != '=' &&
      !read_bound(&filter->plan->clocks, c->text, c->length, &c->timed, &c->bound))
    return fail_condition(context, text, (size_t)(end - text));
  return POLYAD_OK;
}

polyad_status pd_filter_make(polyad_context *context, struct pd_rows *rows,
                             const polyad_read_options *options, const struct pd_columns_plan *plan,
                             struct pd_filter *filter) {
  *filter = (struct pd_filter){.missing = options->missing, .plan = plan};
  if (options->where == NULL || options->where[0] == '\0') return POLYAD_OK;
  for (const char *text = options->where; text != NULL;) {
    const char *end = text + strcspn(text, ",");
    PD_TRY(add_condition(context, rows, text, end, filter));
    text = *end == ',' ? end + 1 : NULL;
  }
  return POLYAD_OK;
}

bool pd_filter_asks(const struct pd_filter *filter) {
  return filter->count > 0 || filter->missing != POLYAD_MISSING_KEEP;
}

/* ---- rows -------------------------------------------------------------------------------------
 */

/* What programs write where there is nothing. */
static bool delimited_filter_is_missing(const struct pd_field *field) {
  static const char *const words[] = {"",     "NA",   "N/A",  "NaN",  "nan",
                                      "null", "NULL", "None", "#N/A", "NaT"};
  for (size_t k = 0; k < sizeof words / sizeof *words; ++k)
    if (field->length == strlen(words[k]) && memcmp(field->text, words[k], field->length) == 0)
      return true;
  return false;
}

static polyad_status delimited_filter_fail_field(struct pd_rows *rows, const struct pd_field *field,
                                                 const char *what) {
  char quoted[PD_QUOTE_BYTES];
  return pd_rows_fail(rows, POLYAD_PARSE, field->text, "%s %s",
                      pd_quote(quoted, field->text, field->length), what);
}

static polyad_status ask(struct pd_rows *rows, const struct pd_filter *filter,
                         const struct pd_condition *c, bool *holds) {
  struct pd_field *raw = &rows->field[c->column], field = *raw;
  struct pd_time time, other;
  struct pd_written_number number;
  char why[PD_WRITTEN_WHY];
  double value;
  _Static_assert((int)PD_WRITTEN_WHY >= (int)PD_CLOCKS_WHY, "one buffer for both");
  PD_TRY(pd_rows_plain(rows, &field));
  if (c->sign == '=') {
    *holds = field.length == c->length && memcmp(field.text, c->text, c->length) == 0;
    return POLYAD_OK;
  }
  if (c->timed) {
    if (pd_time_parse(field.text, field.length, PD_DATE_UNKNOWN, &time, &other) != PD_TIME_OK)
      return delimited_filter_fail_field(rows, raw,
                                         "cannot be compared with a date; expected one such as "
                                         "2024-03-09, of which day and month are clear");
    if (!pd_clocks_move(&filter->plan->clocks, &time, why))
      return delimited_filter_fail_field(rows, raw, why);
    value = (double)pd_time_number(&time);
  } else if (pd_written_number_read(filter->plan->numbers, field.text, field.length, &number,
                                    why)) {
    value = number.value;
  } else {
    return delimited_filter_fail_field(rows, raw,
                                       filter->plan->numbers != POLYAD_NUMBERS_PLAIN
                                           ? why
                                           : "cannot be compared with a number; expected a number "
                                             "(missing: skip leaves rows without one out)");
  }
  *holds = c->sign == '<' ? value < c->bound : value > c->bound;
  return POLYAD_OK;
}

/* The first of the columns that are used whose field is missing; SIZE_MAX when none is. */
static size_t find_missing(const struct pd_filter *filter, const struct pd_rows *rows) {
  const struct pd_columns_plan *plan = filter->plan;
  for (int k = 0; k < filter->count; ++k)
    if (delimited_filter_is_missing(&rows->field[filter->condition[k].column]))
      return filter->condition[k].column;
  for (int n = 0; n < plan->order; ++n)
    if (delimited_filter_is_missing(&rows->field[plan->mode[n].column]))
      return plan->mode[n].column;
  return plan->value != SIZE_MAX && delimited_filter_is_missing(&rows->field[plan->value])
             ? plan->value
             : SIZE_MAX;
}

polyad_status pd_filter_row(struct pd_filter *filter, struct pd_rows *rows, bool *taken) {
  *taken = true;
  if (filter->missing != POLYAD_MISSING_KEEP) {
    size_t column = find_missing(filter, rows);
    if (column != SIZE_MAX && filter->missing == POLYAD_MISSING_ERROR)
      return delimited_filter_fail_field(
          rows, &rows->field[column],
          "stands for nothing; expected a label or value in every row, or rows "
          "without one to be skipped");
    if (column != SIZE_MAX) {
      ++filter->skipped;
      *taken = false;
      return POLYAD_OK;
    }
  }
  for (int k = 0; k < filter->count && *taken; ++k)
    PD_TRY(ask(rows, filter, &filter->condition[k], taken));
  return POLYAD_OK;
}
