/* A file of the tz database lists the instants at which clocks changed, and ends with a rule for
 * all later years, such as CET-1CEST,M3.5.0,M10.5.0/3. An instant between two listed ones has the
 * offset of the earlier; one behind the last has that of the rule. The clock's way back, from what
 * it showed to the instant, tries the offsets of a day before and a day after: clocks do not change
 * twice in between. */
#include "io/time_zone.h"
#include "io/input.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, HEADER = 44, DAY = 86400 };

static polyad_status fail_zone_file(struct pd_zone *zone, const char *path, const char *what) {
  return pd_fail_at(zone->context, POLYAD_PARSE, path, 0, 0,
                    "%s; expected a time zone of the tz database (TZif, version 2 or later)", what);
}

/* ---- the rule for later years ------------------------------------------------------------------
 */

static bool take_number(const char **at, int least, int most, int *value) {
  char *end;
  if (**at < '0' || **at > '9') return false;
  long found = strtol(*at, &end, 10);
  if (end - *at > 3 || found < least || found > most) return false;
  *value = (int)found;
  *at = end;
  return true;
}

/* [+-]h[:mm[:ss]] in seconds. */
static bool take_clock(const char **at, int32_t *seconds) {
  int hours, minutes = 0, rest = 0;
  bool negative = **at == '-';
  *at += **at == '-' || **at == '+';
  if (!take_number(at, 0, 167, &hours)) return false;
  if (**at == ':' && (++*at, !take_number(at, 0, 59, &minutes))) return false;
  if (**at == ':' && (++*at, !take_number(at, 0, 59, &rest))) return false;
  *seconds = 3600 * hours + 60 * minutes + rest;
  if (negative) *seconds = -*seconds;
  return true;
}

/* Letters, or anything between < and >. */
static bool take_abbreviation(const char **at) {
  const char *begin = *at;
  if (**at == '<') {
    *at = strchr(*at, '>');
    if (*at == NULL) return false;
    ++*at;
    return true;
  }
  while ((**at >= 'A' && **at <= 'Z') || (**at >= 'a' && **at <= 'z'))
    ++*at;
  return *at - begin >= 3;
}

static bool take_change(const char **at, struct pd_zone_change *change) {
  *change = (struct pd_zone_change){.seconds = 7200};
  if (**at != ',') return false;
  ++*at;
  if (**at == 'M') {
    ++*at;
    if (!take_number(at, 1, 12, &change->month) || *(*at)++ != '.' ||
        !take_number(at, 1, 5, &change->week) || *(*at)++ != '.' ||
        !take_number(at, 0, 6, &change->day))
      return false;
  } else {
    change->kind = **at == 'J' ? PD_ZONE_JULIAN : PD_ZONE_DAY;
    *at += **at == 'J';
    if (!take_number(at, change->kind == PD_ZONE_JULIAN, 365, &change->day)) return false;
  }
  if (**at != '/') return true;
  ++*at;
  return take_clock(at, &change->seconds);
}

/* Offsets of POSIX count west of UTC. */
static bool parse_rule(const char *text, struct pd_zone *zone) {
  int32_t west;
  zone->has_rule = text[0] != '\0';
  if (!zone->has_rule) return true;
  if (!take_abbreviation(&text) || !take_clock(&text, &west)) return false;
  zone->standard = -west;
  zone->has_summer = *text != '\0';
  if (!zone->has_summer) return true;
  if (!take_abbreviation(&text)) return false;
  zone->summer = zone->standard + 3600;
  if (*text != ',') {
    if (!take_clock(&text, &west)) return false;
    zone->summer = -west;
  }
  return take_change(&text, &zone->begin) && take_change(&text, &zone->end) && *text == '\0';
}

/* ---- the calendar ------------------------------------------------------------------------------
 */

static bool has_leap_day(int64_t year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days from the first day of 1970 to that of a year. */
static int64_t days_to_year(int64_t year) {
  int64_t y = year - 1;
  return 365 * (year - 1970) + y / 4 - y / 100 + y / 400 - 477;
}

/* The year of an instant: the guess is at most one too far. */
static int64_t year_of(int64_t instant) {
  int64_t days = instant / DAY - (instant % DAY < 0), year = 1970 + days * 400 / 146097;
  while (days_to_year(year) > days)
    --year;
  while (days_to_year(year + 1) <= days)
    ++year;
  return year;
}

/* The local time of a change in a year. */
static int64_t change_in(const struct pd_zone_change *change, int64_t year) {
  static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
  int64_t first = days_to_year(year), day = first + change->day;
  bool leap = has_leap_day(year);
  if (change->kind == PD_ZONE_JULIAN) {
    day = first + change->day - 1 + (leap && change->day >= 60);
  } else if (change->kind == PD_ZONE_MONTH) {
    int64_t begin = first + before[change->month - 1] + (leap && change->month > 2);
    int64_t end = first + before[change->month] + (leap && change->month > 1);
    int64_t weekday = ((begin + 4) % 7 + 7) % 7; /* 1 January 1970 was a Thursday */
    day = begin + (change->day - weekday + 7) % 7 + 7 * (change->week - 1);
    while (day >= end)
      day -= 7;
  }
  return day * DAY + change->seconds;
}

static int32_t rule_offset(const struct pd_zone *zone, int64_t instant) {
  if (!zone->has_summer) return zone->standard;
  int64_t year = year_of(instant + zone->standard);
  int64_t begin = change_in(&zone->begin, year) - zone->standard;
  int64_t end = change_in(&zone->end, year) - zone->summer;
  bool summer = begin < end ? instant >= begin && instant < end : instant >= begin || instant < end;
  return summer ? zone->summer : zone->standard;
}

/* ---- the file ----------------------------------------------------------------------------------
 */

static int64_t big_endian(const unsigned char *bytes, int count) {
  uint64_t value = bytes[0] >= 128 ? UINT64_MAX : 0;
  for (int k = 0; k < count; ++k)
    value = value << 8 | bytes[k];
  return (int64_t)value;
}

/* Numbers of the header, in their order. */
enum { UTC_FLAGS, WALL_FLAGS, LEAPS, TIMES, TYPES, CHARACTERS, COUNTS };

static bool take_header(const unsigned char *data, size_t size, int64_t count[COUNTS]) {
  if (size < HEADER || memcmp(data, "TZif", 4) != 0) return false;
  for (int k = 0; k < COUNTS; ++k) {
    count[k] = big_endian(data + 20 + 4 * k, 4);
    if (count[k] < 0 || count[k] > MOST_BYTES) return false;
  }
  return true;
}

static int64_t block_bytes(const int64_t count[COUNTS], int time_bytes) {
  return count[TIMES] * (time_bytes + 1) + count[TYPES] * 6 + count[CHARACTERS] +
         count[LEAPS] * (time_bytes + 4) + count[WALL_FLAGS] + count[UTC_FLAGS];
}

/* The block of 64-bit times, which begins at `data`. */
static polyad_status zone_take_block(struct pd_zone *zone, const char *path,
                                     const unsigned char *data, const int64_t count[COUNTS]) {
  size_t times = (size_t)count[TIMES];
  const unsigned char *types = data + 8 * times, *offsets = types + times;
  if (count[TYPES] < 1 || count[TYPES] > 256) return fail_zone_file(zone, path, "no offsets");
  PD_TRY(PD_NEW(zone->context, times + 1, &zone->at));
  PD_TRY(PD_NEW(zone->context, times + 1, &zone->offset));
  zone->changes = times;
  zone->offset[0] = (int32_t)big_endian(offsets, 4);
  for (size_t k = 0; k < times; ++k) {
    if (types[k] >= count[TYPES]) return fail_zone_file(zone, path, "an offset out of range");
    zone->at[k] = big_endian(data + 8 * k, 8);
    zone->offset[k + 1] = (int32_t)big_endian(offsets + 6 * types[k], 4);
    if (k > 0 && zone->at[k] <= zone->at[k - 1])
      return fail_zone_file(zone, path, "times that do not rise");
    if (zone->offset[k + 1] < -2 * DAY || zone->offset[k + 1] > 2 * DAY)
      return fail_zone_file(zone, path, "an offset of more than two days");
  }
  return POLYAD_OK;
}

static polyad_status take_file(struct pd_zone *zone, const char *path, unsigned char *data,
                               size_t size) {
  int64_t count[COUNTS];
  if (!take_header(data, size, count) || data[4] < '2')
    return fail_zone_file(zone, path, "another kind of file");
  size_t second = HEADER + (size_t)block_bytes(count, 4);
  if (second >= size || !take_header(data + second, size - second, count))
    return fail_zone_file(zone, path, "the file is cut off");
  size_t block = second + HEADER, footer = block + (size_t)block_bytes(count, 8);
  unsigned char *end = footer < size ? memchr(data + footer + 1, '\n', size - footer - 1) : NULL;
  if (end == NULL || data[footer] != '\n') return fail_zone_file(zone, path, "the file is cut off");
  *end = '\0';
  PD_TRY(zone_take_block(zone, path, data + block, count));
  if (!parse_rule((const char *)data + footer + 1, zone))
    return fail_zone_file(zone, path, "a rule that is no POSIX time zone");
  return POLYAD_OK;
}

/* ---- names -------------------------------------------------------------------------------------
 */

/* Path of the zone's file; false for what cannot be a name. */
static bool zone_path(const char *name, size_t length, char *path, size_t size) {
  const char *folder = getenv("TZDIR");
  if (folder == NULL || folder[0] == '\0') folder = "/usr/share/zoneinfo";
  for (size_t k = 0; k < length; ++k) {
    char c = name[k];
    bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!letter && c != '_' && c != '+' && c != '-' && (c != '/' || k == 0)) return false;
  }
  int written = snprintf(path, size, "%s/%.*s", folder, (int)length, name);
  return length > 0 && written > 0 && (size_t)written < size && access(path, R_OK) == 0;
}

polyad_status pd_zone_open(polyad_context *context, const char *name, size_t length,
                           struct pd_zone *zone) {
  char path[1024], quoted[PD_QUOTE_BYTES];
  struct pd_input *input = NULL;
  unsigned char *data = NULL;
  size_t size;
  polyad_status status = POLYAD_OK;
  *zone = (struct pd_zone){.context = context};
  PD_EXPECT(context, length <= 100 && zone_path(name, length, path, sizeof path),
            "time zone %s is not known; expected one of the system's tz database (package "
            "tzdata), such as Europe/Berlin, America/New_York or UTC",
            pd_quote(quoted, name, length));
  PD_TRY_CLEANUP(pd_input_open(context, path, &input));
  PD_TRY_CLEANUP(PD_NEW(context, MOST_BYTES, &data));
  if (pd_input_read(input, data, MOST_BYTES, &size) != POLYAD_OK) {
    status = pd_input_error(input, 0);
    goto cleanup;
  }
  PD_TRY_CLEANUP(take_file(zone, path, data, size));

cleanup:
  pd_free(context, data);
  pd_input_close(input);
  if (status != POLYAD_OK) pd_zone_close(zone);
  return status;
}

void pd_zone_close(struct pd_zone *zone) {
  if (zone->context == NULL) return;
  PD_FREE(zone->context, zone->at, zone->offset);
  *zone = (struct pd_zone){0};
}

/* ---- clocks ------------------------------------------------------------------------------------
 */

int32_t pd_zone_offset(const struct pd_zone *zone, int64_t instant) {
  size_t low = 0, high = zone->changes; /* changes before `low` are not after the instant */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (zone->at[middle] <= instant)
      low = middle + 1;
    else
      high = middle;
  }
  return low == zone->changes && zone->has_rule ? rule_offset(zone, instant) : zone->offset[low];
}

int pd_zone_instants(const struct pd_zone *zone, int64_t local, int64_t instant[2]) {
  int64_t one = local - pd_zone_offset(zone, local - DAY);
  int64_t other = local - pd_zone_offset(zone, local + DAY);
  int64_t first = one < other ? one : other, last = one < other ? other : one;
  int count = 0;
  if (pd_zone_offset(zone, first) == local - first) instant[count++] = first;
  if (last > first && pd_zone_offset(zone, last) == local - last) instant[count++] = last;
  return count;
}
