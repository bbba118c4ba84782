/* Dates and times of delimited text, and the labels that are made of them. */
#ifndef PD_DELIMITED_TIME_H
#define PD_DELIMITED_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What a time becomes. Hours and weekdays come round again; the others go on. */
enum pd_time_unit {
  PD_TIME_HOUR,    /* 00 to 23 */
  PD_TIME_WEEKDAY, /* "1 Monday" to "7 Sunday" */
  PD_TIME_DATE,    /* 2024-03-09 */
  PD_TIME_WEEK,    /* 2024-W10 (ISO 8601) */
  PD_TIME_MONTH    /* 2024-03 */
};

/** How 3/4/2024 is meant. */
enum pd_date_order { PD_DATE_UNKNOWN, PD_DATE_DAY_FIRST, PD_DATE_MONTH_FIRST };

/** A time as it is written: on the clock of its own time zone, or on that which was asked for. */
struct pd_time {
  int year, month, day; /* year 1 to 9999, month and day from 1 */
  bool timed;           /* a time of day was given */
  int seconds;          /* of the day; a leap second counts as the one before */
  bool zoned;           /* a zone was given, */
  int east;             /* which is so many seconds ahead of UTC */
};

enum pd_time_result {
  PD_TIME_OK,
  PD_TIME_MALFORMED, /* no date of a form that is known, or none of the calendar */
  PD_TIME_AMBIGUOUS  /* day and month could be either; `other` is the second reading */
};

/** Reads all of a text: 2024-03-09, 2024/03/09, 20240309, 9.3.2024 (day first), 3/9/2024 or
 * 3-9-2024 (day or month first: as `order` says, or as only one of both can be); behind it, after a
 * blank or a T, a time of day: 17:05, 17:05:30.25, 5:05 PM, with a zone (Z, UTC, +01:00). Where it
 * is ambiguous `time` is the reading with the day first, `other` with the month first. */
enum pd_time_result pd_time_parse(const char *text, size_t length, enum pd_date_order order,
                                  struct pd_time *time, struct pd_time *other);

/** Label of a time, with an end mark. False for an hour of what has no time of day. */
bool pd_time_label(const struct pd_time *time, enum pd_time_unit unit, char out[32],
                   size_t *length);

/** Seconds since the first day of year 1, to compare times by. */
int64_t pd_time_number(const struct pd_time *time);
/** The time of such a number; false outside of the years 1 to 9999. */
bool pd_time_from_number(int64_t number, struct pd_time *time);

#endif
