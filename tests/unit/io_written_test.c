/* What people write in delimited text: the calendar by counting its days one by one, clocks of time
 * zones against the C library's reading of the same rules, and what is said of numbers. */
#include "harness.h"

#include "io/delimited_number.h"
#include "io/delimited_time.h"
#include "io/time_zone.h"
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { HOUR = 3600, DAY = 24 * HOUR };

/* ---- numbers ---------------------------------------------------------------------------------
 */

static void what_is_no_number_says_which_was_expected(void **state) {
  (void)state;
  static const struct {
    polyad_numbers how;
    const char *text, *says;
  } cases[] = {
      {POLYAD_NUMBERS_POINT, "x", "with a decimal point"},
      {POLYAD_NUMBERS_COMMA, "x", "with a decimal comma"},
      {POLYAD_NUMBERS_GROUPED, "x", "such as 1234.5, 1,234.50, 1.234,50 or $12"},
      {POLYAD_NUMBERS_PLAIN, "1,5", "expected a decimal point, not a comma"},
      {POLYAD_NUMBERS_PLAIN, "x", "is not a finite number"},
      {POLYAD_NUMBERS_GROUPED, "1,234", "is 1234 or 1.234; expected a number of one reading"},
      {POLYAD_NUMBERS_GROUPED, "-1,234", "is -1234 or -1.234"},
      {POLYAD_NUMBERS_GROUPED, "($1,234)", "is -1234 or -1.234"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    struct pd_written_number number;
    char why[PD_WRITTEN_WHY];
    assert_false(
        pd_written_number_read(cases[k].how, cases[k].text, strlen(cases[k].text), &number, why));
    assert_non_null(strstr(why, cases[k].says));
    assert_false(
        pd_written_number_read(cases[k].how, cases[k].text, strlen(cases[k].text), &number, NULL));
  }
}

/* ---- the calendar ----------------------------------------------------------------------------
 */

static int length_of_month(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return days[month - 1] + (leap && month == 2);
}

static void every_day_has_its_number(void **state) {
  (void)state;
  int64_t day = 0;
  for (int year = 1; year <= 9999; ++year)
    for (int month = 1; month <= 12; ++month)
      for (int k = 1; k <= length_of_month(year, month); ++k, ++day) {
        struct pd_time time;
        assert_true(pd_time_from_number(day * DAY + day % DAY, &time));
        if (time.year != year || time.month != month || time.day != k || time.seconds != day % DAY)
          fail_msg("day %lld is %d-%d-%d; expected %d-%d-%d", (long long)day, time.year, time.month,
                   time.day, year, month, k);
        assert_true(pd_time_number(&time) == day * DAY + day % DAY);
      }
  struct pd_time time;
  assert_false(pd_time_from_number(-1, &time));
  assert_false(pd_time_from_number(day * DAY, &time));
}

/* ---- time zones ------------------------------------------------------------------------------
 */

static void write_header(FILE *file) {
  unsigned char header[44] = "TZif2";
  header[39] = 1; /* one offset */
  header[43] = 1; /* one character of its name */
  fwrite(header, 1, sizeof header, file);
}

/* A zone whose clocks follow one rule at all times: its file lists no change. */
static void open_rule(polyad_context *context, const char *rule, struct pd_zone *zone) {
  char folder[] = "/tmp/polyad-zone-XXXXXX", path[64];
  static const unsigned char offset[6] = {0};
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/Rule", folder);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  for (int block = 0; block < 2; ++block) {
    write_header(file);
    fwrite(offset, 1, sizeof offset, file);
    fputc('\0', file);
  }
  fprintf(file, "\n%s\n", rule);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(setenv("TZDIR", folder, 1), 0);
  if (pd_zone_open(context, "Rule", 4, zone) != POLYAD_OK)
    fail_msg("%s: %s", rule, polyad_last_error(context));
  unlink(path);
  rmdir(folder);
}

static int64_t offset_by_libc(int64_t instant) {
  time_t seconds = (time_t)instant;
  struct tm local;
  assert_non_null(localtime_r(&seconds, &local));
  return local.tm_gmtoff;
}

/* Both ways of a clock around an instant: what was shown, and which instants show a local time. */
static void compare_around(const struct pd_zone *zone, const char *rule, int64_t instant) {
  int64_t shown = offset_by_libc(instant), local = instant + HOUR / 2, found[2], expected[2] = {0};
  if (pd_zone_offset(zone, instant) != shown)
    fail_msg("%s: %d at %lld; expected %lld", rule, (int)pd_zone_offset(zone, instant),
             (long long)instant, (long long)shown);
  int count = 0;
  for (int64_t t = local - DAY; t <= local + DAY; t += HOUR / 4)
    if (t + offset_by_libc(t) == local) {
      assert_true(count < 2);
      expected[count++] = t;
    }
  if (pd_zone_instants(zone, local, found) != count)
    fail_msg("%s: not %d instants show %lld", rule, count, (long long)local);
  for (int k = 0; k < count; ++k)
    assert_true(found[k] == expected[k]);
}

/* Instants near every hour at which clocks change, and on other days, in years with and without a
 * leap day. */
static void clocks_follow_their_rule(void **state) {
  (void)state;
  static const char *const rules[] = {
      "CET-1CEST,M3.5.0,M10.5.0/3",      "EST5EDT,M3.2.0,M11.1.0",
      "AEST-10AEDT,M10.1.0,M4.1.0/3",    "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
      "EET-2EEST,J60/1,J305/2",          "AAA3BBB,59/0,300/4",
      "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "<+0545>-5:45"};
  static const int64_t years[] = {0, 2, 30, 33, 130, 230, 430};
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  for (size_t k = 0; k < sizeof rules / sizeof *rules; ++k) {
    struct pd_zone zone;
    open_rule(context, rules[k], &zone);
    assert_int_equal(setenv("TZ", rules[k], 1), 0);
    tzset();
    for (size_t y = 0; y < sizeof years / sizeof *years; ++y) {
      int64_t begin = (years[y] * 1461 / 4 + 366) * DAY;
      for (int64_t instant = begin; instant < begin + 366 * DAY; instant += HOUR / 2)
        if (instant / DAY % 29 == 0 ||
            offset_by_libc(instant - 2 * DAY) != offset_by_libc(instant + 2 * DAY))
          compare_around(&zone, rules[k], instant);
    }
    pd_zone_close(&zone);
  }
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_no_number_says_which_was_expected),
      cmocka_unit_test(every_day_has_its_number),
      cmocka_unit_test(clocks_follow_their_rule),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
