#include "io/delimited_columns.h"
#include "io/number.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DECIMALS = 15 };

static const double power_of_ten[MOST_DECIMALS + 1] = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/* ---- grids ---------------------------------------------------------------------------------- */

static size_t format_decimal(char out[32], int64_t number, int decimals) {
  char digits[24];
  uint64_t magnitude = number < 0 ? -(uint64_t)number : (uint64_t)number;
  int length = snprintf(digits, sizeof digits, "%0*" PRIu64, decimals + 1, magnitude);
  int whole = length - decimals;
  return (size_t)snprintf(out, 32, "%s%.*s%s%s", number < 0 ? "-" : "", whole, digits,
                          decimals > 0 ? "." : "", digits + whole);
}

static void delimited_columns_explain(char *why, const char *text) {
  if (why != NULL) snprintf(why, PD_GRID_WHY, "%s", text);
}

static bool number_label(const struct pd_mode_column *mode, polyad_numbers numbers,
                         const char *text, size_t text_length, char out[32], size_t *length,
                         char *why) {
  struct pd_written_number number_read;
  if (!pd_written_number_read(numbers, text, text_length, &number_read, why)) {
    if (numbers == POLYAD_NUMBERS_PLAIN)
      delimited_columns_explain(why, "is not a finite number; expected one to round or bin");
    return false;
  }
  double scaled = number_read.value * power_of_ten[mode->decimals],
         steps = scaled / (double)mode->step;
  double nearest = round(steps);
  /* 0.3 lies in the bin that begins at 0.3, though 0.3 / 0.1 is a little less than 3. */
  bool on_edge = fabs(steps - nearest) <= 8 * 0x1p-53 * fabs(steps);
  double cell = mode->grid == PD_GRID_ROUND || on_edge ? nearest : floor(steps);
  double number = cell * (double)mode->step;
  if (!(fabs(number) < 0x1p53)) {
    delimited_columns_explain(why, "is too large to round or bin; expected below 2^53 steps");
    return false;
  }
  *length = format_decimal(out, (int64_t)number, mode->decimals);
  return true;
}

static bool time_label(const struct pd_mode_column *mode, const struct pd_clocks *clocks,
                       const char *text, size_t text_length, char out[32], size_t *length,
                       char *why) {
  struct pd_time time, other;
  size_t ignored;
  char one[32], two[32];
  switch (pd_time_parse(text, text_length, mode->date_order, &time, &other)) {
  case PD_TIME_MALFORMED:
    delimited_columns_explain(
        why, mode->date_order == PD_DATE_UNKNOWN
                 ? "is no date; expected one such as 2024-03-09 17:05, 9.3.2024 or 3/9/2024"
                 : "is no date in the order that was given");
    return false;
  case PD_TIME_AMBIGUOUS:
    (void)pd_time_label(&time, PD_TIME_DATE, one, &ignored);
    (void)pd_time_label(&other, PD_TIME_DATE, two, &ignored);
    if (why != NULL)
      snprintf(why, PD_GRID_WHY,
               "is %s or %s; expected an order of day and month: add =dmy or =mdy to the column, "
               "such as NAME:date=dmy",
               one, two);
    return false;
  case PD_TIME_OK:
    break;
  }
  if (!pd_clocks_move(clocks, &time, why)) return false;
  if (pd_time_label(&time, mode->unit, out, length)) return true;
  delimited_columns_explain(why, "has no time of day; expected one, such as 2024-03-09 17:05");
  return false;
}

bool pd_grid_label(const struct pd_columns_plan *plan, int mode, const char *text,
                   size_t text_length, char out[32], size_t *length, char *why) {
  const struct pd_mode_column *column = &plan->mode[mode];
  return column->grid == PD_GRID_TIME
             ? time_label(column, &plan->clocks, text, text_length, out, length, why)
             : number_label(column, plan->numbers, text, text_length, out, length, why);
}

static polyad_status fail_grid(polyad_context *context, const char *text, size_t length) {
  char quoted[PD_QUOTE_BYTES];
  return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                 "column %s; expected NAME, NAME:round=D (D from 0 to 15 decimals), NAME:bin=W (a "
                 "positive width such as 5 or 0.25) or NAME:hour, :weekday, :date, :week, :month "
                 "(of times; also with =dmy or =mdy)",
                 pd_quote(quoted, text, length));
}

/* Digits with at most one point: *step / 10^*decimals. */
static bool parse_width(const char *text, const char *end, struct pd_mode_column *mode) {
  bool point = false, digits = false;
  for (; text < end; ++text) {
    if (*text == '.' && !point) {
      point = true;
      continue;
    }
    if (*text < '0' || *text > '9' || mode->step > INT64_C(100000000000000)) return false;
    mode->step = 10 * mode->step + (*text - '0');
    mode->decimals += point;
    digits = true;
  }
  return digits && mode->step > 0 && mode->decimals <= MOST_DECIMALS;
}

static const char *const time_units[] = {"hour", "weekday", "date", "week", "month"};

/* The unit of times, with the order of day and month where it is given: "hour", "date=dmy". */
static bool parse_unit(const char *text, const char *end, struct pd_mode_column *mode) {
  size_t length = (size_t)(end - text);
  *mode = (struct pd_mode_column){.grid = PD_GRID_TIME};
  if (length > 4 && (memcmp(end - 4, "=dmy", 4) == 0 || memcmp(end - 4, "=mdy", 4) == 0)) {
    mode->date_order = end[-3] == 'd' ? PD_DATE_DAY_FIRST : PD_DATE_MONTH_FIRST;
    length -= 4;
  }
  for (int k = 0; k < (int)(sizeof time_units / sizeof *time_units); ++k)
    if (length == strlen(time_units[k]) && memcmp(text, time_units[k], length) == 0) {
      mode->unit = (enum pd_time_unit)k;
      return true;
    }
  return false;
}

/* Takes ":round=D", ":bin=W" or a unit of times off the end of [text, *end). */
static bool parse_grid(const char *text, const char **end, struct pd_mode_column *mode) {
  const char *colon = *end;
  while (colon > text && *colon != ':')
    --colon;
  size_t length = (size_t)(*end - colon);
  mode->grid = PD_GRID_NONE;
  if (length > 7 && memcmp(colon, ":round=", 7) == 0) {
    uint64_t decimals;
    if (pd_parse_index(colon + 7, *end, &decimals) != PD_NUMBER_OK || decimals > MOST_DECIMALS)
      return false;
    *mode = (struct pd_mode_column){.grid = PD_GRID_ROUND, .decimals = (int)decimals, .step = 1};
    *end = colon;
  } else if (length > 5 && memcmp(colon, ":bin=", 5) == 0) {
    *mode = (struct pd_mode_column){.grid = PD_GRID_BIN};
    if (!parse_width(colon + 5, *end, mode)) return false;
    *end = colon;
  } else if (length > 1 && *colon == ':' && parse_unit(colon + 1, *end, mode)) {
    *end = colon;
  } else {
    mode->grid = PD_GRID_NONE;
  }
  return true;
}

/* ---- columns -------------------------------------------------------------------------------- */

size_t pd_columns_find(struct pd_rows *rows, const char *name, size_t length) {
  for (size_t c = 0; c < rows->fields; ++c) {
    struct pd_field field = rows->field[c];
    if (pd_rows_plain(rows, &field) != POLYAD_OK) return SIZE_MAX;
    if (field.length == length && memcmp(field.text, name, length) == 0) return c;
  }
  return SIZE_MAX;
}

polyad_status pd_columns_fail_missing(struct pd_rows *rows, const char *name, size_t length) {
  char quoted[PD_QUOTE_BYTES], known[160] = "";
  size_t used = 0;
  for (size_t c = 0; c < rows->fields && used < 100; ++c) {
    char one[PD_QUOTE_BYTES];
    pd_quote(one, rows->field[c].text, rows->field[c].length < 20 ? rows->field[c].length : 20);
    int more = snprintf(known + used, sizeof known - used, "%s%s", c > 0 ? ", " : "", one);
    if (more < 0 || (size_t)more >= sizeof known - used) break;
    used += (size_t)more;
  }
  const char *colon = memchr(name, ':', length);
  bool suffix = colon != NULL && pd_columns_find(rows, name, (size_t)(colon - name)) != SIZE_MAX;
  return pd_fail_at(rows->context, POLYAD_INVALID_ARGUMENT, pd_input_path(rows->input), 1, 0,
                    "no column %s; expected one of %s%s", pd_quote(quoted, name, length), known,
                    suffix ? ", which round=D, bin=W, hour, weekday, date, week or month may follow"
                           : "");
}

static bool looks_numeric(const struct pd_field *field) {
  double value;
  return pd_parse_double(field->text, field->text + field->length, &value) != PD_NUMBER_MALFORMED;
}

/* One column whose name looks like several: the delimiter is another one. */
static polyad_status check_delimiter(struct pd_rows *rows) {
  const struct pd_field *field = &rows->field[0];
  for (size_t i = 0; i < field->length && rows->fields == 1; ++i) {
    char found[PD_QUOTE_BYTES], expected[PD_QUOTE_BYTES];
    if (memchr(",;\t|", field->text[i], 4) == NULL || field->text[i] == rows->delimiter) continue;
    return pd_rows_fail(rows, POLYAD_PARSE, field->text + i,
                        "%s between the names; expected %s, or the option for another delimiter",
                        pd_quote(found, field->text + i, 1),
                        pd_quote(expected, &rows->delimiter, 1));
  }
  return POLYAD_OK;
}

static polyad_status check_header(struct pd_rows *rows) {
  PD_TRY(check_delimiter(rows));
  bool numbers = true;
  for (size_t c = 0; c < rows->fields; ++c) {
    const struct pd_field *field = &rows->field[c];
    char quoted[PD_QUOTE_BYTES];
    numbers = numbers && looks_numeric(field);
    if (memchr(field->text, '\r', field->length) != NULL)
      return pd_rows_fail(rows, POLYAD_PARSE, memchr(field->text, '\r', field->length),
                          "line ends of old Macs (CR alone); expected LF or CR LF");
    for (size_t other = 0; other < c && field->length > 0; ++other)
      if (rows->field[other].length == field->length &&
          memcmp(rows->field[other].text, field->text, field->length) == 0)
        return pd_rows_fail(rows, POLYAD_PARSE, field->text,
                            "column name %s occurs twice; expected each name once",
                            pd_quote(quoted, field->text, field->length));
  }
  if (numbers)
    return pd_rows_fail(rows, POLYAD_PARSE, rows->field[0].text,
                        "the first line holds only numbers; expected a header with the names of "
                        "the columns, such as user,item,value");
  return POLYAD_OK;
}

static polyad_status add_mode(polyad_context *context, struct pd_rows *rows, size_t column,
                              struct pd_mode_column grid, struct pd_columns_plan *plan) {
  if (plan->order == POLYAD_MAX_ORDER)
    return pd_fail_at(context, POLYAD_INVALID_ARGUMENT, pd_input_path(rows->input), 1, 0,
                      "more than %d columns would be modes; choose some of the %zu columns",
                      POLYAD_MAX_ORDER, rows->fields);
  struct pd_field field = rows->field[column];
  grid.column = column;
  plan->mode[plan->order] = grid;
  char **name = &plan->name[plan->order++];
  /* A column of times may be several modes: the unit tells them apart. */
  const char *unit = grid.grid == PD_GRID_TIME ? time_units[grid.unit] : "";
  if (field.length == 0) return POLYAD_OK;
  PD_TRY(pd_rows_plain(rows, &field));
  PD_TRY(PD_NEW(context, field.length + strlen(unit) + 2, name));
  memcpy(*name, field.text, field.length);
  snprintf(*name + field.length, strlen(unit) + 2, "%s%s", unit[0] != '\0' ? ":" : "", unit);
  return POLYAD_OK;
}

/* Whether a column is a mode already; of times, a mode of the same unit. */
static bool delimited_columns_is_taken(const struct pd_columns_plan *plan, size_t column,
                                       const struct pd_mode_column *grid) {
  for (int n = 0; n < plan->order; ++n) {
    const struct pd_mode_column *mode = &plan->mode[n];
    bool differs =
        mode->grid == PD_GRID_TIME && grid->grid == PD_GRID_TIME && mode->unit != grid->unit;
    if (mode->column == column && !differs) return true;
  }
  return false;
}

static polyad_status add_chosen(polyad_context *context, struct pd_rows *rows, const char *text,
                                struct pd_columns_plan *plan) {
  for (const char *stop; text != NULL; text = *stop == ',' ? stop + 1 : NULL) {
    struct pd_mode_column grid = {0};
    stop = text + strcspn(text, ",");
    const char *end = stop;
    size_t column = pd_columns_find(rows, text, (size_t)(end - text));
    if (column == SIZE_MAX) {
      if (!parse_grid(text, &end, &grid)) return fail_grid(context, text, (size_t)(stop - text));
      column = pd_columns_find(rows, text, (size_t)(end - text));
    }
    if (column == SIZE_MAX) return pd_columns_fail_missing(rows, text, (size_t)(end - text));
    char quoted[PD_QUOTE_BYTES];
    PD_EXPECT(context, !delimited_columns_is_taken(plan, column, &grid),
              "column %s is chosen twice; expected each column once, or times in "
              "different units",
              pd_quote(quoted, text, (size_t)(end - text)));
    PD_TRY(add_mode(context, rows, column, grid, plan));
  }
  return POLYAD_OK;
}

static bool is_chosen(const struct pd_columns_plan *plan, size_t column) {
  for (int n = 0; n < plan->order; ++n)
    if (plan->mode[n].column == column) return true;
  return false;
}

static polyad_status choose_value(polyad_context *context, struct pd_rows *rows,
                                  const polyad_read_options *options,
                                  struct pd_columns_plan *plan) {
  const char *name = options->value;
  plan->value = SIZE_MAX;
  if (options->pattern || (name != NULL && name[0] == '\0')) return POLYAD_OK;
  size_t column =
      pd_columns_find(rows, name != NULL ? name : "value", name != NULL ? strlen(name) : 5);
  if (name != NULL && column == SIZE_MAX) return pd_columns_fail_missing(rows, name, strlen(name));
  if (column == SIZE_MAX) return POLYAD_OK;
  if (is_chosen(plan, column)) {
    if (name == NULL) return POLYAD_OK;
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "the column of the values is also chosen as a mode; expected one or the other");
  }
  plan->value = column;
  return POLYAD_OK;
}

polyad_status pd_columns_plan_make(polyad_context *context, struct pd_rows *rows,
                                   const polyad_read_options *options,
                                   struct pd_columns_plan *plan) {
  *plan = (struct pd_columns_plan){.count = rows->fields, .numbers = options->numbers};
  PD_TRY(check_header(rows));
  if (options->columns != NULL && options->columns[0] != '\0')
    PD_TRY(add_chosen(context, rows, options->columns, plan));
  PD_TRY(pd_clocks_open(context, options->time_zone, &plan->clocks));
  bool chosen = plan->order > 0;
  PD_TRY(choose_value(context, rows, options, plan));
  for (size_t c = 0; c < plan->count && !chosen; ++c)
    if (c != plan->value) PD_TRY(add_mode(context, rows, c, (struct pd_mode_column){0}, plan));
  if (plan->order == 0)
    return pd_fail_at(context, POLYAD_PARSE, pd_input_path(rows->input), 1, 1,
                      "the only column holds the values; expected columns for the modes too");
  return POLYAD_OK;
}

void pd_columns_plan_clear(polyad_context *context, struct pd_columns_plan *plan) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(context, plan->name[n]);
  pd_clocks_close(&plan->clocks);
}
