/* A time with a zone behind it (Z, +01:00) is an instant. One without is what a clock showed, which
 * is no instant in the hour that clocks left out in spring, and two in the hour that came twice in
 * autumn. */
#include "io/delimited_zone.h"
#include <stdio.h>
#include <string.h>

/* Seconds from the first day of year 1 to that of 1970. */
static const int64_t year_1970 = INT64_C(62135596800);

polyad_status pd_clocks_open(polyad_context *context, const char *text, struct pd_clocks *clocks) {
  *clocks = (struct pd_clocks){0};
  if (text == NULL || text[0] == '\0') return POLYAD_OK;
  const char *colon = strchr(text, ':');
  size_t from = colon != NULL ? (size_t)(colon - text) : strlen(text);
  const char *to = colon != NULL ? colon + 1 : text;
  clocks->given = true;
  if (from >= 8 && memcmp(text + from - 8, "=earlier", 8) == 0) {
    clocks->twice = PD_CLOCKS_EARLIER;
    from -= 8;
  } else if (from >= 6 && memcmp(text + from - 6, "=later", 6) == 0) {
    clocks->twice = PD_CLOCKS_LATER;
    from -= 6;
  }
  size_t to_length = colon != NULL ? strlen(to) : from;
  clocks->has_from = from > 0;
  clocks->same = from == to_length && memcmp(text, to, from) == 0;
  polyad_status status = POLYAD_OK;
  if (clocks->has_from) status = pd_zone_open(context, text, from, &clocks->from);
  if (status == POLYAD_OK) status = pd_zone_open(context, to, to_length, &clocks->to);
  if (status != POLYAD_OK) pd_clocks_close(clocks);
  return status;
}

void pd_clocks_close(struct pd_clocks *clocks) {
  pd_zone_close(&clocks->from);
  pd_zone_close(&clocks->to);
  *clocks = (struct pd_clocks){0};
}

static bool delimited_zone_fail(char *why, const char *text) {
  if (why != NULL) snprintf(why, PD_CLOCKS_WHY, "%s", text);
  return false;
}

static bool show(struct pd_time *time, int64_t number, const struct pd_zone *zone) {
  int64_t local = number + year_1970 + pd_zone_offset(zone, number);
  return pd_time_from_number(local, time);
}

static bool fail_twice(const struct pd_clocks *clocks, const int64_t instant[2], char *why) {
  struct pd_time one, two;
  if (why == NULL || !show(&one, instant[0], &clocks->to) || !show(&two, instant[1], &clocks->to))
    return false;
  snprintf(
      why, PD_CLOCKS_WHY,
      "came twice when clocks were set back: %04d-%02d-%02d %02d:%02d or %04d-%02d-%02d "
      "%02d:%02d where it is wanted; expected one reading: add =earlier or =later to the first "
      "time zone",
      one.year, one.month, one.day, one.seconds / 3600, one.seconds / 60 % 60, two.year, two.month,
      two.day, two.seconds / 3600, two.seconds / 60 % 60);
  return false;
}

bool pd_clocks_move(const struct pd_clocks *clocks, struct pd_time *time, char *why) {
  if (!clocks->given || !time->timed) return true;
  int64_t local = pd_time_number(time) - year_1970, instant[2];
  if (time->zoned) {
    instant[0] = local - time->east;
  } else if (!clocks->has_from) {
    return delimited_zone_fail(
        why, "has no time zone; expected one behind it, such as Z or +01:00, or a first time "
             "zone for such times");
  } else if (clocks->same) {
    return true;
  } else {
    int count = pd_zone_instants(&clocks->from, local, instant);
    if (count == 0)
      return delimited_zone_fail(
          why, "was left out when clocks were set forward; expected a time that clocks of "
               "the first time zone showed");
    if (count == 2 && clocks->twice == PD_CLOCKS_ASK) return fail_twice(clocks, instant, why);
    if (count == 2 && clocks->twice == PD_CLOCKS_LATER) instant[0] = instant[1];
  }
  return show(time, instant[0], &clocks->to) ||
         delimited_zone_fail(why,
                             "is outside of the years 1 to 9999 in the time zone that is wanted");
}
