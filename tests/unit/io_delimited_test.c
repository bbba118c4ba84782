/* Delimited text with labels: what is accepted, what is refused and with which words. */
#include "harness.h"

#include "failing_allocator.h"
#include "io/delimited_time.h"
#include "io/formats.h"
#include <inttypes.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static polyad_context *context;

static int set_up(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "io_delimited.%ld", (long)getpid());
  if (polyad_context_create(&context) != POLYAD_OK) return 1;
  return mkdir(folder, 0777) == 0 && chdir(folder) == 0 ? 0 : 1;
}

static int tear_down(void **state) {
  (void)state;
  char command[128];
  if (chdir("..") != 0) return 1;
  uint64_t left = polyad_memory_in_use(context);
  polyad_context_destroy(context);
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command) == 0 && left == 0 ? 0 : 1;
}

static void put(const char *path, const char *text, size_t length) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, length, file), length);
  assert_int_equal(fclose(file), 0);
}

static polyad_tensor *read_file(const char *path, const char *columns, const char *value) {
  polyad_read_options options;
  polyad_read_options_init(&options);
  options.columns = columns;
  options.value = value;
  polyad_tensor *tensor = NULL;
  if (polyad_tensor_read(context, path, &options, &tensor) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  assert_int_equal(pd_tensor_check(context, tensor), POLYAD_OK);
  return tensor;
}

static polyad_tensor *read_text(const char *text, const char *columns, const char *value) {
  put("x.csv", text, strlen(text));
  return read_file("x.csv", columns, value);
}

/* Nonzero p is `labels` (one per mode) with this value. */
static void assert_nonzero(const polyad_tensor *tensor, uint64_t p, const char *const *labels,
                           double value) {
  assert_true(p < tensor->nnz);
  for (int n = 0; n < tensor->order; ++n)
    assert_string_equal(polyad_tensor_label(tensor, n, pd_tensor_index(tensor, n, p), NULL),
                        labels[n]);
  assert_true(pd_tensor_value(tensor, p) == value);
}

static void refused_bytes(const char *text, size_t length, const char *words) {
  polyad_tensor *tensor;
  put("x.csv", text, length);
  polyad_status status = polyad_tensor_read(context, "x.csv", NULL, &tensor);
  const char *message = polyad_last_error(context);
  if (status != POLYAD_PARSE || strstr(message, words) == NULL)
    fail_msg("status %d, '%s'; expected '%s'", (int)status, message, words);
  assert_true(strlen(message) <= 300);
  assert_null(tensor);
}

static void refused(const char *text, const char *words) {
  refused_bytes(text, strlen(text), words);
}

static void refused_options(const char *columns, const char *value, polyad_status status,
                            const char *words) {
  polyad_read_options options;
  polyad_read_options_init(&options);
  options.columns = columns;
  options.value = value;
  polyad_tensor *tensor;
  polyad_status got = polyad_tensor_read(context, "x.csv", &options, &tensor);
  const char *message = polyad_last_error(context);
  if (got != status || strstr(message, words) == NULL)
    fail_msg("status %d, '%s'; expected '%s'", (int)got, message, words);
  assert_true(strlen(message) <= 300);
}

static void labels_are_numbered_in_order(void **state) {
  (void)state;
  polyad_tensor *tensor =
      read_text("hour,city,value\n10,b,1\n9,a,2\n10,a,4\n9.5,b,8\n", NULL, NULL);
  assert_int_equal(tensor->order, 2);
  assert_int_equal(tensor->dims[0], 3);
  assert_int_equal(tensor->dims[1], 2);
  assert_string_equal(tensor->mode_name[0], "hour");
  assert_string_equal(tensor->mode_name[1], "city");
  const char *expected[][2] = {{"9", "a"}, {"9.5", "b"}, {"10", "a"}, {"10", "b"}};
  const double values[] = {2, 8, 4, 1};
  for (uint64_t p = 0; p < 4; ++p)
    assert_nonzero(tensor, p, expected[p], values[p]);
  polyad_tensor_destroy(tensor);
  /* Bytes decide where one label is no number; an empty one comes first among numbers. */
  tensor = read_text("a,value\n10,1\n9,1\nx,1\n", NULL, NULL);
  assert_string_equal(polyad_tensor_label(tensor, 0, 0, NULL), "10");
  polyad_tensor_destroy(tensor);
  tensor = read_text("a,value\n10,1\n-9,1\n,1\n", NULL, NULL);
  assert_string_equal(polyad_tensor_label(tensor, 0, 0, NULL), "");
  assert_string_equal(polyad_tensor_label(tensor, 0, 1, NULL), "-9");
  polyad_tensor_destroy(tensor);
}

static void rows_are_counted_and_merged(void **state) {
  (void)state;
  polyad_tensor *tensor = read_text("a,b\nx,y\nx,y\nx,z\n", NULL, NULL);
  const char *first[] = {"x", "y"}, *second[] = {"x", "z"};
  assert_nonzero(tensor, 0, first, 2);
  assert_nonzero(tensor, 1, second, 1);
  assert_int_equal(tensor->repeats_merged, 1);
  polyad_tensor_destroy(tensor);
  polyad_read_options options;
  polyad_read_options_init(&options);
  options.duplicates = POLYAD_DUPLICATES_ERROR;
  assert_int_equal(polyad_tensor_read(context, "x.csv", &options, &tensor),
                   POLYAD_INVALID_ARGUMENT);
  options.duplicates = POLYAD_DUPLICATES_MAX;
  put("x.csv", "a,b,value\nx,y,3\nx,y,7\nx,y,5\n", 28);
  assert_int_equal(polyad_tensor_read(context, "x.csv", &options, &tensor), POLYAD_OK);
  assert_nonzero(tensor, 0, first, 7);
  polyad_tensor_destroy(tensor);
}

static void columns_are_chosen_and_coarsened(void **state) {
  (void)state;
  const char *text = "lat,lon,note,n\n40.7690,-73.9549,p,1\n40.7301,-74.0,q,2\n-0.001,0.3,r,4\n";
  polyad_tensor *tensor = read_text(text, "lon:bin=0.1,lat:round=1", "n");
  assert_int_equal(tensor->order, 2);
  assert_string_equal(tensor->mode_name[0], "lon");
  const char *expected[][2] = {{"-74.0", "40.7"}, {"-74.0", "40.8"}, {"0.3", "0.0"}};
  const double values[] = {2, 1, 4};
  for (uint64_t p = 0; p < 3; ++p)
    assert_nonzero(tensor, p, expected[p], values[p]);
  polyad_tensor_destroy(tensor);
  tensor = read_text("t,value\n-1,1\n4.9,2\n5,4\n14,8\n", "t:bin=5", NULL);
  assert_int_equal(tensor->nnz, 4);
  assert_string_equal(polyad_tensor_label(tensor, 0, 0, NULL), "-5");
  assert_string_equal(polyad_tensor_label(tensor, 0, 3, NULL), "10");
  polyad_tensor_destroy(tensor);
  /* "value" may be a mode; then rows are counted. */
  tensor = read_text("t,value\n1,2\n1,2\n", "value", NULL);
  assert_int_equal(tensor->order, 1);
  assert_true(pd_tensor_value(tensor, 0) == 2);
  polyad_tensor_destroy(tensor);
  put("x.csv", "t,value\nabc,2\n", 14);
  refused_options("t:round=2", NULL, POLYAD_PARSE,
                  "x.csv:2:1: error: 'abc' is not a finite number");
  refused_options("t:round=16", NULL, POLYAD_INVALID_ARGUMENT, "expected NAME, NAME:round=D");
  refused_options("t:round=-1", NULL, POLYAD_INVALID_ARGUMENT, "expected NAME, NAME:round=D");
  refused_options("t:bin=0", NULL, POLYAD_INVALID_ARGUMENT, "expected NAME, NAME:round=D");
  refused_options("t:bin=1e3", NULL, POLYAD_INVALID_ARGUMENT, "expected NAME, NAME:round=D");
  refused_options("u", NULL, POLYAD_INVALID_ARGUMENT,
                  "no column 'u'; expected one of 't', 'value'");
  refused_options("t,t", NULL, POLYAD_INVALID_ARGUMENT, "chosen twice");
  refused_options("t,", NULL, POLYAD_INVALID_ARGUMENT, "no column ''");
  refused_options(NULL, "weight", POLYAD_INVALID_ARGUMENT, "no column 'weight'");
  refused_options("t,value", "value", POLYAD_INVALID_ARGUMENT, "also chosen as a mode");
}

static void quotes_and_line_ends(void **state) {
  (void)state;
  polyad_tensor *tensor =
      read_text("\"na\"\"me\",b,value\r\n\"x,\"\"y\"\"\",\"two\nlines\",\"1.5\"\r\n\r\nst\"ay,,2",
                NULL, NULL);
  const char *first[] = {"st\"ay", ""}, *second[] = {"x,\"y\"", "two\nlines"};
  assert_string_equal(tensor->mode_name[0], "na\"me");
  assert_int_equal(tensor->nnz, 2);
  assert_nonzero(tensor, 0, first, 2);
  assert_nonzero(tensor, 1, second, 1.5);
  polyad_tensor_destroy(tensor);
  refused("a,value\n\"two\nlines\",x\n", "x.csv:3:8: error: 'x' is not a finite number");
  refused("a,value\nx\n", "x.csv:2:1: error: 1 fields; expected 2");
  refused("a,value\n\"b\"c,1\n", "x.csv:2:4: error: 'c' after the closing quote");
}

static void category_f(void **state) {
  (void)state;
  refused("user,item,value\na,b,1\n\"c,d,2\ne,f,3\n",
          "x.csv:3:1: error: quote is opened but never closed"); /* F02 */
  refused("user,item,value\na,b,1\nc,2\n",
          "x.csv:3:3: error: 2 fields; expected 3, as in the header"); /* F03 */
  refused("user,item,value\na,b,1,2\n", "x.csv:2:7: error: 4 fields; expected 3");
  refused("1,2,3.5\n4,5,6.5\n", "x.csv:1:1: error: the first line holds only numbers"); /* F04 */
  refused("user,user,value\na,b,1\n", "x.csv:1:6: error: column name 'user' occurs twice");
  polyad_tensor *tensor = read_text("\xef\xbb\xbfuser,item,value\na,b,1\n", NULL, NULL); /* F06 */
  assert_string_equal(tensor->mode_name[0], "user");
  polyad_tensor_destroy(tensor);
  refused("user,item,value\na,b,abc\n", "x.csv:2:5: error: 'abc' is not a finite number"); /* F08 */
  static const char *const bad[] = {"nan", "inf", "1e400", "", "0x1", "1,5", "--1"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    char text[64];
    snprintf(text, sizeof text, "user,value\na,\"%s\"\n", bad[i]);
    refused(text, "x.csv:2:4: error: ");
  }
  refused("user;value\na;1\n", "x.csv:1:5: error: ';' between the names; expected ','");
  refused("user\tvalue\na\t1\n", "'\\x09' between the names; expected ','");
  refused("user,item,value\n", "a header and no rows"); /* F17 */
  refused("", "file is empty");
  refused("\n\n", "file is empty");
  refused_bytes("user,item,value\na\0b,c,1\n", 24, "x.csv:2:2: error: NUL byte"); /* F18 */
  refused_bytes("user,item,value\n\"a\0b\",c,1\n", 26, "x.csv:2:3: error: NUL byte");
  refused("user,value\ra,1\rb,2\r", "CR alone");
  refused_bytes("\xff\xfeu\0", 4, "UTF-16");
  refused("value\n1\n", "the only column holds the values");
}

static void labels_that_are_kept_as_they_are(void **state) {
  (void)state;
  polyad_tensor *tensor =
      read_text("../../etc/passwd,x,value\n../../../tmp/p,\"=cmd|' /C calc'!A0\",1\n"
                "a\xff,,2\n",
                NULL, NULL); /* F09 F10 F11 F12 */
  const char *first[] = {"../../../tmp/p", "=cmd|' /C calc'!A0"}, *second[] = {"a\xff", ""};
  assert_string_equal(tensor->mode_name[0], "../../etc/passwd");
  assert_nonzero(tensor, 0, first, 1);
  assert_nonzero(tensor, 1, second, 2);
  assert_int_equal(polyad_tensor_write(context, tensor, "y.tns", POLYAD_FILE_AUTO), POLYAD_OK);
  assert_int_equal(access("y.labels/mode-1-______etc_passwd.map", R_OK), 0);
  polyad_tensor_destroy(tensor);
  put("t.tsv", "user\titem\tvalue\na b\tc\t1\n", 24); /* F16 */
  tensor = read_file("t.tsv", NULL, NULL);
  const char *blank[] = {"a b", "c"};
  assert_nonzero(tensor, 0, blank, 1);
  polyad_tensor_destroy(tensor);
}

static void a_long_label(void **state) {
  (void)state;
  size_t length = 1 << 20; /* F14 */
  char *text = malloc(length + 100);
  assert_non_null(text);
  int at = sprintf(text, "user,item,value\n");
  memset(text + at, 'x', length);
  sprintf(text + at + length, ",b,1\ny,b,2\n");
  polyad_tensor *tensor = read_text(text, NULL, NULL);
  size_t kept;
  assert_non_null(polyad_tensor_label(tensor, 0, 0, &kept));
  assert_int_equal(kept, length);
  polyad_tensor_destroy(tensor);
  free(text);
  /* A row without an end costs bounded memory. */
  length = 64 << 20;
  text = malloc(length);
  assert_non_null(text);
  memset(text, 'x', length);
  memcpy(text, "user,value\n", 11);
  refused_bytes(text, length, "x.csv:2:1: error: row is longer than 16 MiB");
  text[11] = '"';
  refused_bytes(text, length, "x.csv:2:1: error: quote is opened but not closed within 16 MiB");
  assert_true(polyad_memory_peak(context) < 100 << 20);
  free(text);
}

static void many_labels_in_linear_time(void **state) {
  (void)state;
  enum { ROWS = 500000 }; /* F15 */
  FILE *file = fopen("many.csv", "w");
  assert_non_null(file);
  fprintf(file, "user,item,value\n");
  for (int i = 0; i < ROWS; ++i)
    fprintf(file, "u%d,i%d,1\n", i, i);
  assert_int_equal(fclose(file), 0);
  double start = pd_seconds();
  polyad_tensor *tensor = read_file("many.csv", NULL, NULL);
  assert_true(pd_seconds() - start < 60); /* in quadratic time it would be minutes */
  assert_int_equal(tensor->nnz, ROWS);
  assert_int_equal(tensor->dims[1], ROWS);
  polyad_tensor_destroy(tensor);
}

static void assert_equal_tensors(const polyad_tensor *a, const polyad_tensor *b) {
  assert_true(polyad_tensor_hash(a) == polyad_tensor_hash(b));
  for (int n = 0; n < a->order; ++n) {
    assert_int_equal(a->labels[n].count, b->labels[n].count);
    for (uint64_t i = 0; i < a->labels[n].count; ++i)
      assert_string_equal(polyad_tensor_label(a, n, i, NULL), polyad_tensor_label(b, n, i, NULL));
  }
}

static void every_file_format_gives_the_tensor_back(void **state) {
  (void)state;
  static const char *const names[] = {"r.csv", "r.tsv", "r.csv.gz", "r.tsv.zst",
                                      "r.ptn", "r.tns", "r.txt",    "r.tns.gz"};
  const char *text = "a b,\"c,d\",value\n\"x, \"\"y\"\"\",\xc3\xa9\t,1e-310\n' q,10,0.1\n,9,-7\n";
  polyad_tensor *tensor = read_text(text, NULL, NULL);
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    assert_int_equal(polyad_tensor_write(context, tensor, names[i], POLYAD_FILE_AUTO), POLYAD_OK);
    polyad_tensor *back = read_file(names[i], NULL, NULL);
    assert_equal_tensors(tensor, back);
    polyad_tensor_destroy(back);
  }
  polyad_tensor_destroy(tensor);
}

static void headers_are_always_distinct(void **state) {
  (void)state;
  polyad_tensor *tensor = read_text("a,b,c,d,value\n1,2,3,4,5\n", NULL, NULL);
  const char *const names[] = {"mode2", "value", "same", "same"};
  for (int n = 0; n < 4; ++n)
    assert_int_equal(polyad_tensor_set_labels(context, tensor, n, names[n], NULL), POLYAD_OK);
  assert_int_equal(polyad_tensor_write(context, tensor, "h.csv", POLYAD_FILE_AUTO), POLYAD_OK);
  polyad_tensor *back = read_file("h.csv", NULL, NULL);
  const char *const expected[] = {"mode2", "mode2_", "mode3", "mode4"};
  for (int n = 0; n < 4; ++n)
    assert_string_equal(back->mode_name[n], expected[n]);
  polyad_tensor_destroy(back);
  polyad_tensor_destroy(tensor);
  /* Without labels, indices from 1 are written. */
  put("n.tns", "2 7 1.5\n", 8);
  tensor = read_file("n.tns", NULL, NULL);
  assert_int_equal(polyad_tensor_write(context, tensor, "n.csv", POLYAD_FILE_AUTO), POLYAD_OK);
  polyad_tensor_destroy(tensor);
  char line[64];
  FILE *file = fopen("n.csv", "r");
  assert_non_null(file);
  assert_string_equal(fgets(line, sizeof line, file), "mode1,mode2,value\n");
  assert_string_equal(fgets(line, sizeof line, file), "2,7,1.5\n");
  fclose(file);
}

static void too_many_columns(void **state) {
  (void)state;
  const char *text = "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q\n";
  put("x.csv", text, strlen(text));
  refused_options(NULL, NULL, POLYAD_INVALID_ARGUMENT, "more than 16 columns would be modes");
}

/* Labels and rows that meet the ends of the buffer at every place. */
static void rows_cross_the_buffer(void **state) {
  (void)state;
  size_t size = 3 << 20, at = 0;
  char *text = malloc(size);
  assert_non_null(text);
  at += (size_t)sprintf(text, "a,b,value\n");
  double sum = 0;
  for (unsigned i = 0; at < size - 100; ++i) {
    at += (size_t)sprintf(text + at, i % 3 ? "u%u,\"q\"\"%u\",%u\r\n" : "u%u,\"l\n%u\",%u\n",
                          i % 97, i % 89, i % 10);
    sum += i % 10;
  }
  put("big.csv", text, at);
  free(text);
  polyad_tensor *tensor = read_file("big.csv", NULL, NULL);
  assert_int_equal(tensor->dims[0], 97);
  assert_int_equal(tensor->dims[1], 2 * 89);
  double total = 0;
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    total += pd_tensor_value(tensor, p);
  assert_true(total == sum);
  polyad_tensor_destroy(tensor);
}

static void bad_delimiters_and_dims(void **state) {
  (void)state;
  put("x.csv", "a,b\n1,2\n", 8);
  polyad_read_options options;
  polyad_tensor *tensor;
  polyad_read_options_init(&options);
  options.delimiter = '"';
  assert_int_equal(polyad_tensor_read(context, "x.csv", &options, &tensor),
                   POLYAD_INVALID_ARGUMENT);
  options.delimiter = 0;
  options.order = 2;
  options.dims[0] = 1;
  options.dims[1] = 2;
  assert_int_equal(polyad_tensor_read(context, "x.csv", &options, &tensor), POLYAD_MISMATCH);
  assert_non_null(strstr(polyad_last_error(context), "mode 2 has 1 labels; expected 2, as given"));
  options.dims[1] = 1;
  assert_int_equal(polyad_tensor_read(context, "x.csv", &options, &tensor), POLYAD_OK);
  polyad_tensor_destroy(tensor);
}

/* ---- every allocation fails once ------------------------------------------------------------ */

static polyad_status read_and_write(polyad_context *failing, void *data) {
  polyad_tensor *tensor = NULL;
  (void)data;
  polyad_status status = polyad_tensor_read(failing, "x.csv", NULL, &tensor);
  if (status == POLYAD_OK) status = polyad_tensor_write(failing, tensor, "z.csv", POLYAD_FILE_AUTO);
  polyad_tensor_destroy(tensor);
  if (status != POLYAD_OK) assert_int_equal(access("z.csv", F_OK), -1);
  return status;
}

static void no_memory_is_an_error(void **state) {
  (void)state;
  put("x.csv", "a,b:c,value\n\"x\"\"\",1,2\ny,2,3\n", 28);
  assert_true(sweep_single_failures(read_and_write, NULL, 1) > 10);
}

static uint64_t rows_where(const char *where) {
  polyad_read_options options;
  polyad_read_options_init(&options);
  options.columns = "city";
  options.where = where;
  polyad_tensor *tensor;
  if (polyad_tensor_read(context, "x.csv", &options, &tensor) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  double sum = 0;
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    sum += pd_tensor_value(tensor, p);
  polyad_tensor_destroy(tensor);
  return (uint64_t)sum;
}

static void conditions_choose_rows(void **state) {
  (void)state;
  static const char text[] = "city,speed,when\na,2.5,2024-03-09 17:05\nb,10,2024-03-10\n"
                             "a,-1e1,2024-03-09\nc,7,2023-12-31 23:59:59\n";
  put("x.csv", text, strlen(text));
  assert_int_equal(rows_where(NULL), 4);
  assert_int_equal(rows_where("speed>2.5"), 2);
  assert_int_equal(rows_where("speed<10"), 3);
  assert_int_equal(rows_where("speed<10,speed>0"), 2);
  assert_int_equal(rows_where("city=a,speed<0"), 1);
  assert_int_equal(rows_where("when>2024-03-09"), 2);
  assert_int_equal(rows_where("when<2024-03-09"), 1);
  polyad_read_options options;
  polyad_read_options_init(&options);
  options.where = "city<3";
  polyad_tensor *tensor;
  assert_int_equal(polyad_tensor_read(context, "x.csv", &options, &tensor), POLYAD_PARSE);
  assert_non_null(strstr(polyad_last_error(context), "cannot be compared with a number"));
  assert_int_equal(polyad_last_error_record(context).line, 2);
}

static void times_of_day(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int seconds;
  } table[] = {{"2024-03-09 17", 17 * 3600},
               {"2024-03-09 17:05", 17 * 3600 + 300},
               {"2024-03-09T17:05:30", 17 * 3600 + 330},
               {"2024-03-09 17:05:30.25", 17 * 3600 + 330},
               {"2024-03-09 5 PM", 17 * 3600},
               {"2024-03-09 12:01 AM", 60},
               {"2024-03-09 23:59:60Z", 24 * 3600 - 1},
               {"2024-03-09 00:00 +01:00", 0}};
  for (size_t k = 0; k < sizeof table / sizeof *table; ++k) {
    struct pd_time time, other;
    assert_int_equal(
        pd_time_parse(table[k].text, strlen(table[k].text), PD_DATE_UNKNOWN, &time, &other),
        PD_TIME_OK);
    assert_true(time.timed);
    assert_int_equal(time.seconds, table[k].seconds);
  }
}

static void an_empty_file_has_no_place(void **state) {
  (void)state;
  refused("", "file is empty");
  assert_int_equal(polyad_last_error_record(context).line, 0);
  assert_int_equal(polyad_last_error_record(context).column, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(labels_are_numbered_in_order),
      TEST(rows_are_counted_and_merged),
      TEST(columns_are_chosen_and_coarsened),
      TEST(quotes_and_line_ends),
      TEST(category_f),
      TEST(labels_that_are_kept_as_they_are),
      TEST(a_long_label),
      TEST(many_labels_in_linear_time),
      TEST(every_file_format_gives_the_tensor_back),
      TEST(headers_are_always_distinct),
      TEST(too_many_columns),
      TEST(rows_cross_the_buffer),
      TEST(bad_delimiters_and_dims),
      TEST(no_memory_is_an_error),
      TEST(conditions_choose_rows),
      TEST(times_of_day),
      TEST(an_empty_file_has_no_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
