#define _GNU_SOURCE /* strcasestr */
#include "report_axis.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { COLUMNS_MOST = 400, TEXT_BYTES = 48 };

const char *cli_axis_label(const struct cli_axis *axis, uint64_t index, char room[24],
                           size_t *length) {
  const char *label =
      axis->outline == NULL ? NULL : polyad_tensor_label(axis->outline, axis->mode, index, length);
  if (label != NULL) return label;
  *length = (size_t)snprintf(room, 24, "%llu", (unsigned long long)index + 1);
  return room;
}

/* A finite decimal number, all of the text. */
static bool read_number(const char *text, double *value) {
  char *end;
  if (*text == '\0' || strspn(text, "0123456789+-.eE") != strlen(text)) return false;
  *value = strtod(text, &end);
  return *end == '\0' && isfinite(*value);
}

/* Digits of a fixed count within bounds. */
static bool read_digits(const char **text, int count, int least, int most, int *value) {
  *value = 0;
  for (int k = 0; k < count; ++k, ++*text) {
    if (!isdigit((unsigned char)**text)) return false;
    *value = 10 * *value + (**text - '0');
  }
  return *value >= least && *value <= most;
}

/* HH:MM or HH:MM:SS (with or without a fraction, and Z) in days; all of the text. */
static bool read_time_of_day(const char *text, double *days) {
  int hour, minute, second = 0;
  double fraction = 0;
  if (!read_digits(&text, 2, 0, 24, &hour) || *text++ != ':') return false;
  if (!read_digits(&text, 2, 0, 59, &minute)) return false;
  if (*text == ':') {
    ++text;
    if (!read_digits(&text, 2, 0, 60, &second)) return false;
    if (*text == '.') {
      char *end;
      fraction = strtod(text, &end);
      text = end;
    }
  }
  if (*text == 'Z') ++text;
  *days = (hour + (minute + (second + fraction) / 60.0) / 60.0) / 24.0;
  return *text == '\0';
}

/* Days since 1970-01-01 in the Gregorian calendar (H. Hinnant's algorithm): years begin in March,
 * so that the day that some of them lack is their last. */
static double days_from_civil(int year, int month, int day) {
  int y = month <= 2 ? year - 1 : year, era = (y >= 0 ? y : y - 399) / 400;
  int of_era = y - era * 400;
  int of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  int days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
  return days;
}

/* YYYY-MM-DD, YYYY-MM-DDTHH:MM..., YYYY-MM or YYYY-Www, in days. */
static bool read_date(const char *text, double *days) {
  int year, month, day = 1;
  double time = 0;
  if (!read_digits(&text, 4, 0, 9999, &year) || *text++ != '-') return false;
  if (*text == 'W') {
    ++text;
    if (!read_digits(&text, 2, 1, 53, &month) || *text != '\0') return false;
    *days = days_from_civil(year, 1, 4) + 7.0 * (month - 1); /* week 1 has the fourth of January */
    return true;
  }
  if (!read_digits(&text, 2, 1, 12, &month)) return false;
  if (*text == '-') {
    ++text;
    if (!read_digits(&text, 2, 1, 31, &day)) return false;
    if (*text == 'T' || *text == ' ') {
      if (!read_time_of_day(text + 1, &time)) return false;
      text += strlen(text);
    }
  }
  *days = days_from_civil(year, month, day) + time;
  return *text == '\0';
}

/* A name or its first three letters, as a number from 0. */
static bool read_name(const char *text, const char *const *names, int count, double *value) {
  for (int k = 0; k < count; ++k)
    if (strcasecmp(text, names[k]) == 0 ||
        (strlen(text) == 3 && strncasecmp(text, names[k], 3) == 0)) {
      *value = k;
      return true;
    }
  return false;
}

static bool read_weekday(const char *text, double *value) {
  static const char *const names[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                      "Friday", "Saturday", "Sunday"};
  return read_name(text, names, 7, value);
}

static bool read_month(const char *text, double *value) {
  static const char *const names[] = {"January",   "February", "March",    "April",
                                      "May",       "June",     "July",     "August",
                                      "September", "October",  "November", "December"};
  return read_name(text, names, 12, value);
}

static bool is_latitude(double degrees) { return fabs(degrees) <= 90; }
static bool is_longitude(double degrees) { return fabs(degrees) <= 360; }

/* "40.71,-74.00", also with blanks, a semicolon, or parentheses around it. */
static bool read_place(const char *text, double *north, double *east) {
  char *end;
  text += strspn(text, " (");
  if (strspn(text, "+-.0123456789") == 0) return false;
  *north = strtod(text, &end);
  size_t gap = strspn(end, " ,;");
  if (end == text || gap == 0 || strspn(end + gap, "+-.0123456789") == 0) return false;
  text = end + gap;
  *east = strtod(text, &end);
  end += strspn(end, " )");
  return *end == '\0' && is_latitude(*north) && is_longitude(*east);
}

/* A label as a string; false when it is too long to be a number or a time, or has a NUL. */
static bool copy_label(const struct cli_axis *axis, uint64_t index, char text[TEXT_BYTES]) {
  size_t length;
  char room[24];
  const char *label = cli_axis_label(axis, index, room, &length);
  if (length >= TEXT_BYTES || length == 0) return false;
  memcpy(text, label, length);
  text[length] = '\0';
  return strlen(text) == length;
}

/* Places of all indices by one way of reading them; false when a label is none such. */
static bool read_all(struct cli_axis *axis, bool (*read)(const char *, double *)) {
  char text[TEXT_BYTES];
  for (uint64_t i = 0; i < axis->length; ++i)
    if (!copy_label(axis, i, text) || !read(text, &axis->at[i])) return false;
  return true;
}

static bool read_places(struct cli_axis *axis, double *east) {
  char text[TEXT_BYTES];
  for (uint64_t i = 0; i < axis->length; ++i)
    if (!copy_label(axis, i, text) || !read_place(text, &axis->at[i], &east[i])) return false;
  return true;
}

static bool all_whole(const struct cli_axis *axis) {
  for (uint64_t i = 0; i < axis->length; ++i)
    if (axis->at[i] != floor(axis->at[i])) return false;
  return true;
}

/* Whether a mode's name says that its whole numbers are times. */
static bool is_time_name(const char *name) {
  static const char *const words[] = {"hour", "day",  "week", "month",  "quarter",
                                      "year", "date", "time", "minute", "second"};
  for (size_t k = 0; name != NULL && k < sizeof words / sizeof *words; ++k)
    if (strcasestr(name, words[k]) != NULL) return true;
  return false;
}

static enum cli_axis_kind kind_of(struct cli_axis *axis) {
  if (read_all(axis, read_number)) {
    axis->is_number = true;
    if (!all_whole(axis) || is_time_name(polyad_tensor_mode_name(axis->outline, axis->mode)))
      return CLI_AXIS_LINE;
    return axis->length <= COLUMNS_MOST ? CLI_AXIS_COLUMNS : CLI_AXIS_NAMES;
  }
  bool (*const times[])(const char *, double *) = {read_date, read_time_of_day, read_weekday,
                                                   read_month};
  for (size_t k = 0; k < sizeof times / sizeof *times; ++k)
    if (read_all(axis, times[k])) return CLI_AXIS_LINE;
  return CLI_AXIS_NAMES;
}

/* What compare() looks up; qsort() has no argument for it. */
struct placed {
  double at;
  uint64_t index;
};

static int compare(const void *a, const void *b) {
  const struct placed *x = a, *y = b;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static bool sort_places(struct cli_axis *axis) {
  struct placed *places = malloc(axis->length * sizeof *places);
  axis->sorted = malloc(axis->length * sizeof *axis->sorted);
  bool fine = places != NULL && axis->sorted != NULL;
  for (uint64_t i = 0; fine && i < axis->length; ++i)
    places[i] = (struct placed){axis->at[i], i};
  if (fine) qsort(places, axis->length, sizeof *places, compare);
  for (uint64_t i = 0; fine && i < axis->length; ++i)
    axis->sorted[i] = places[i].index;
  free(places);
  return fine;
}

bool cli_axis_make(struct cli_axis *axis, const polyad_tensor *outline, int mode, uint64_t length) {
  *axis = (struct cli_axis){.mode = mode, .length = length, .outline = outline};
  if (outline == NULL || length == 0 || polyad_tensor_label(outline, mode, 0, NULL) == NULL)
    return true;
  axis->at = malloc(length * sizeof *axis->at);
  double *east = malloc(length * sizeof *east);
  bool fine = axis->at != NULL && east != NULL;
  if (fine) {
    axis->kind = kind_of(axis);
    if (axis->kind == CLI_AXIS_NAMES && !axis->is_number && read_places(axis, east)) {
      axis->kind = CLI_AXIS_PLACES;
      axis->east = east;
      east = NULL;
    }
    if (axis->kind == CLI_AXIS_LINE || axis->kind == CLI_AXIS_COLUMNS) fine = sort_places(axis);
  }
  free(east);
  if (!fine) cli_axis_free(axis);
  return fine;
}

void cli_axis_free(struct cli_axis *axis) {
  free(axis->at);
  free(axis->east);
  free(axis->sorted);
  *axis = (struct cli_axis){0};
}

/* Where one of the words stands as a word of its own in a mode's name; -1: nowhere. */
static int word_at(const char *name, const char *const *words, int count) {
  for (int k = 0; k < count; ++k)
    for (const char *at = name; (at = strcasestr(at, words[k])) != NULL; ++at) {
      unsigned char after = (unsigned char)at[strlen(words[k])];
      bool begins = at == name || !isalpha((unsigned char)at[-1]);
      if (begins && !isalpha(after)) return (int)(at - name);
    }
  return -1;
}

static bool all_within(const struct cli_axis *axis, bool (*is_degree)(double)) {
  for (uint64_t i = 0; i < axis->length; ++i)
    if (!is_degree(axis->at[i])) return false;
  return true;
}

bool cli_axis_is_map(const struct cli_axis *north, const struct cli_axis *east) {
  static const char *const latitude[] = {"latitude", "lat"};
  static const char *const longitude[] = {"longitude", "lon", "lng", "long"};
  if (!north->is_number || !east->is_number) return false;
  const char *names[] = {polyad_tensor_mode_name(north->outline, north->mode),
                         polyad_tensor_mode_name(east->outline, east->mode)};
  if (names[0] == NULL || names[1] == NULL) return false;
  int before = word_at(names[0], latitude, 2);
  if (before < 0 || word_at(names[1], longitude, 4) != before) return false;
  return strncasecmp(names[0], names[1], (size_t)before) == 0 && all_within(north, is_latitude) &&
         all_within(east, is_longitude);
}
