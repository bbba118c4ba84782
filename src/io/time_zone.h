/* Time zones of the system: what clocks showed at an instant, by the files of the tz database
 * (TZif, RFC 8536). Instants are seconds since the first day of 1970, in UTC. */
#ifndef PD_TIME_ZONE_H
#define PD_TIME_ZONE_H

#include "core/core.h"

/** A day and time of every year at which clocks change. */
struct pd_zone_change {
  enum { PD_ZONE_MONTH, PD_ZONE_JULIAN, PD_ZONE_DAY } kind;
  int month, week, day; /* M month.week.day; or the day of the year, from 1 without 29 February */
  int32_t seconds;      /* from midnight, by the clock that ends */
};

struct pd_zone {
  polyad_context *context;
  size_t changes;
  int64_t *at;     /* instants at which clocks changed */
  int32_t *offset; /* seconds east of UTC: before the first change, and from each on */
  /* after the last change: */
  bool has_rule, has_summer;
  int32_t standard, summer; /* seconds east of UTC */
  struct pd_zone_change begin, end;
};

/** Opens the zone of that name, such as Europe/Berlin. */
polyad_status pd_zone_open(polyad_context *context, const char *name, size_t length,
                           struct pd_zone *zone);
void pd_zone_close(struct pd_zone *zone);

/** Seconds east of UTC that clocks showed at an instant. */
int32_t pd_zone_offset(const struct pd_zone *zone, int64_t instant);

/** The instants at which clocks showed a local time, given as an instant in UTC would be: none
 *  where it was left out, two, the earlier first, where it came twice. Returns how many. */
int pd_zone_instants(const struct pd_zone *zone, int64_t local, int64_t instant[2]);

#endif
