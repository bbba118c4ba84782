/* A time is read by its form: how many digits the first number has and which sign follows it tell
 * years from days and months. Nothing is guessed from other rows, so that the order of rows and the
 * number of threads do not matter. */
#include "io/delimited_time.h"
#include <stdio.h>
#include <string.h>

/* The text that is not read yet. */
struct cursor {
  const char *at, *end;
};

static bool delimited_time_is_digit(char c) { return c >= '0' && c <= '9'; }

/* Digits as a number; returns how many there are, at most `most`. */
static int delimited_time_take_digits(struct cursor *c, int most, int *value) {
  int count = 0;
  for (*value = 0; c->at < c->end && count < most && delimited_time_is_digit(*c->at); ++count)
    *value = *value * 10 + (*c->at++ - '0');
  return count;
}

static bool take_sign(struct cursor *c, char sign) {
  if (c->at == c->end || *c->at != sign) return false;
  ++c->at;
  return true;
}

static void delimited_time_skip_blanks(struct cursor *c) {
  while (c->at < c->end && *c->at == ' ')
    ++c->at;
}

/* ---- the calendar -----------------------------------------------------------------------------
 */

static bool is_leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

static int month_days(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return days[month - 1] + (month == 2 && is_leap(year));
}

static bool is_date(int year, int month, int day) {
  return year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 &&
         day <= month_days(year, month);
}

/* Days from the first of January to the given date. */
static int day_of_year(int year, int month, int day) {
  int days = day - 1;
  for (int m = 1; m < month; ++m)
    days += month_days(year, m);
  return days;
}

/* Days from 1 January of year 1, a Monday, to the given date. */
static int64_t day_number(int year, int month, int day) {
  int64_t y = year - 1;
  return 365 * y + y / 4 - y / 100 + y / 400 + day_of_year(year, month, day);
}

int64_t pd_time_number(const struct pd_time *time) {
  return 86400 * day_number(time->year, time->month, time->day) + time->seconds;
}

bool pd_time_from_number(int64_t number, struct pd_time *time) {
  if (number < 0 || number >= INT64_C(86400) * 3652059) return false; /* days of 9999 years */
  int64_t days = number / 86400;
  int year = (int)(days * 400 / 146097) + 1, month = 1; /* at most one too small */
  while (day_number(year, 12, 31) < days)
    ++year;
  while (month < 12 && day_number(year, month + 1, 1) <= days)
    ++month;
  *time = (struct pd_time){.year = year,
                           .month = month,
                           .day = (int)(days - day_number(year, month, 1)) + 1,
                           .timed = true,
                           .seconds = (int)(number % 86400)};
  return true;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static bool set_date(struct pd_time *time, int year, int month, int day) {
  time->year = year;
  time->month = month;
  time->day = day;
  return is_date(year, month, day);
}

/* Two numbers of one or two digits, then a year of four, with `sign` between them. */
static bool take_rest_of_date(struct cursor *c, char sign, int *second, int *year) {
  return delimited_time_take_digits(c, 2, second) > 0 && take_sign(c, sign) &&
         delimited_time_take_digits(c, 4, year) == 4 &&
         (c->at == c->end || !delimited_time_is_digit(*c->at));
}

/* A date that begins with a day or a month. */
static enum pd_time_result take_short_date(struct cursor *c, int first, enum pd_date_order order,
                                           struct pd_time *time, struct pd_time *other) {
  int second, year;
  char sign = c->at < c->end ? *c->at++ : '\0';
  if ((sign != '.' && sign != '/' && sign != '-') || !take_rest_of_date(c, sign, &second, &year))
    return PD_TIME_MALFORMED;
  if (sign == '.') order = PD_DATE_DAY_FIRST;
  bool day_first = set_date(time, year, second, first) && order != PD_DATE_MONTH_FIRST;
  bool month_first = set_date(other, year, first, second) && order != PD_DATE_DAY_FIRST;
  if (day_first && month_first && first != second) return PD_TIME_AMBIGUOUS;
  if (!day_first) *time = *other;
  return day_first || month_first ? PD_TIME_OK : PD_TIME_MALFORMED;
}

/* A date that begins with a year: 2024-03-09, 2024/3/9, 20240309. */
static enum pd_time_result take_long_date(struct cursor *c, int year, struct pd_time *time) {
  int month, day;
  char sign = c->at < c->end ? *c->at : '\0';
  if (sign == '-' || sign == '/') {
    ++c->at;
    if (delimited_time_take_digits(c, 2, &month) == 0 || !take_sign(c, sign) ||
        delimited_time_take_digits(c, 2, &day) == 0)
      return PD_TIME_MALFORMED;
  } else if (delimited_time_take_digits(c, 2, &month) != 2 ||
             delimited_time_take_digits(c, 2, &day) != 2) {
    return PD_TIME_MALFORMED;
  }
  return set_date(time, year, month, day) ? PD_TIME_OK : PD_TIME_MALFORMED;
}

/* AM or PM, where it stands there; false when the hour does not suit it. */
static bool take_half(struct cursor *c, int *hour) {
  delimited_time_skip_blanks(c);
  if (c->end - c->at < 2 || (c->at[1] | 32) != 'm') return true;
  int half = c->at[0] | 32;
  if (half != 'a' && half != 'p') return true;
  if (*hour < 1 || *hour > 12) return false;
  *hour = *hour % 12 + (half == 'p' ? 12 : 0);
  c->at += 2;
  return true;
}

/* A time zone, where it stands there: Z, UTC, +01, -0330, +01:00. */
static bool take_zone(struct cursor *c, struct pd_time *time) {
  int hours, minutes = 0;
  delimited_time_skip_blanks(c);
  if (c->at == c->end) return true;
  time->zoned = true;
  if (take_sign(c, 'Z')) return true;
  if (c->end - c->at >= 3 && (memcmp(c->at, "UTC", 3) == 0 || memcmp(c->at, "GMT", 3) == 0)) {
    c->at += 3;
    return true;
  }
  bool west = take_sign(c, '-');
  if (!west && !take_sign(c, '+')) return false;
  if (delimited_time_take_digits(c, 2, &hours) != 2 || hours > 14) return false;
  if (c->at < c->end) {
    (void)take_sign(c, ':');
    if (delimited_time_take_digits(c, 2, &minutes) != 2 || minutes > 59) return false;
  }
  time->east = (west ? -60 : 60) * (60 * hours + minutes);
  return true;
}

/* 17, 17:05, 17:05:30, 17:05:30.25, 5 PM, and a zone behind it. */
static bool take_time_of_day(struct cursor *c, struct pd_time *time) {
  int hour, minute = 0, second = 0, ignored;
  if (delimited_time_take_digits(c, 2, &hour) == 0) return false;
  if (take_sign(c, ':')) {
    if (delimited_time_take_digits(c, 2, &minute) != 2) return false;
    if (take_sign(c, ':') && delimited_time_take_digits(c, 2, &second) != 2) return false;
    if ((take_sign(c, '.') || take_sign(c, ',')) && delimited_time_take_digits(c, 9, &ignored) == 0)
      return false;
  }
  if (!take_half(c, &hour) || !take_zone(c, time)) return false;
  if (hour > 23 || minute > 59 || second > 60) return false;
  time->timed = true;
  time->seconds = 3600 * hour + 60 * minute + (second == 60 ? 59 : second);
  return true;
}

enum pd_time_result pd_time_parse(const char *text, size_t length, enum pd_date_order order,
                                  struct pd_time *time, struct pd_time *other) {
  struct cursor c = {text, text + length};
  int first;
  *time = *other = (struct pd_time){0};
  while (c.end > c.at && c.end[-1] == ' ')
    --c.end;
  delimited_time_skip_blanks(&c);
  int digits = delimited_time_take_digits(&c, 4, &first);
  enum pd_time_result result = digits == 4 ? take_long_date(&c, first, time)
                               : digits == 1 || digits == 2
                                   ? take_short_date(&c, first, order, time, other)
                                   : PD_TIME_MALFORMED;
  if (result == PD_TIME_MALFORMED) return result;
  if (c.at < c.end) {
    if (*c.at != 'T' && *c.at != ' ') return PD_TIME_MALFORMED;
    ++c.at;
    delimited_time_skip_blanks(&c);
    if (!take_time_of_day(&c, time) || c.at != c.end) return PD_TIME_MALFORMED;
  }
  other->timed = time->timed;
  other->seconds = time->seconds;
  other->zoned = time->zoned;
  other->east = time->east;
  return result;
}

/* ---- labels -----------------------------------------------------------------------------------
 */

/* The ISO week of a date is that of the Thursday of its week, and so is the week's year. */
static void week_of(const struct pd_time *time, int *year, int *week) {
  int64_t days = day_number(time->year, time->month, time->day);
  int place = day_of_year(time->year, time->month, time->day) + 3 - (int)(days % 7);
  *year = time->year;
  if (place < 0) {
    --*year;
    place += 365 + is_leap(*year);
  } else if (place >= 365 + is_leap(*year)) {
    place -= 365 + is_leap(*year);
    ++*year;
  }
  *week = place / 7 + 1;
}

bool pd_time_label(const struct pd_time *time, enum pd_time_unit unit, char out[32],
                   size_t *length) {
  static const char *const names[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                      "Friday", "Saturday", "Sunday"};
  int size = 0, year, week, day = (int)(day_number(time->year, time->month, time->day) % 7);
  switch (unit) {
  case PD_TIME_HOUR:
    if (!time->timed) return false;
    size = snprintf(out, 32, "%02d", time->seconds / 3600);
    break;
  case PD_TIME_WEEKDAY:
    size = snprintf(out, 32, "%d %s", day + 1, names[day]);
    break;
  case PD_TIME_DATE:
    size = snprintf(out, 32, "%04d-%02d-%02d", time->year, time->month, time->day);
    break;
  case PD_TIME_WEEK:
    week_of(time, &year, &week);
    size = snprintf(out, 32, "%04d-W%02d", year, week);
    break;
  case PD_TIME_MONTH:
    size = snprintf(out, 32, "%04d-%02d", time->year, time->month);
    break;
  }
  *length = (size_t)size;
  return true;
}
