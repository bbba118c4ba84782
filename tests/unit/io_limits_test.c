/* Limits of the readers, each tried on both sides. */
#include "harness.h"

#include "io/labels_lines.h"
#include "io/number.h"
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static char path[64];
static polyad_context *context;

static int set_up(void **state) {
  (void)state;
  strcpy(path, "/tmp/polyad-limits-XXXXXX");
  int file = mkstemp(path);
  if (file < 0 || close(file) != 0) return 1;
  return polyad_context_create(&context) != POLYAD_OK;
}

static int tear_down(void **state) {
  (void)state;
  uint64_t left = polyad_memory_in_use(context);
  polyad_context_destroy(context);
  return unlink(path) != 0 || left != 0;
}

static void put(const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static polyad_status read_text(int index_base, polyad_tensor **tensor) {
  polyad_read_options options;
  polyad_read_options_init(&options);
  options.format = POLYAD_FILE_TNS;
  options.index_base = index_base;
  return polyad_tensor_read(context, path, &options, tensor);
}

/* ---- indices ----------------------------------------------------------------------------------
 */

/* Modes have at most 2^63 - 1 indices: the largest is 2^63 - 1 when they count from 1, one less
 * when they count from 0. */
static void largest_index_of_each_base(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int base;
    const char *says; /* NULL: it is read */
  } cases[] = {
      {"9223372036854775807 1 1\n", 1, NULL},
      {"9223372036854775808 1 1\n", 1, "expected at most 9223372036854775807"},
      {"9223372036854775806 1 1\n", 0, NULL},
      {"9223372036854775807 1 1\n", 0, "expected at most 9223372036854775806"},
      {"18446744073709551616 1 1\n", 0, "expected at most 9223372036854775806"},
      {"0 1 1\n", 0, NULL},
      {"0 1 1\n", 1, "expected at least 1"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    polyad_tensor *tensor = NULL;
    put(cases[k].text, strlen(cases[k].text));
    polyad_status status = read_text(cases[k].base, &tensor);
    assert_int_equal(status, cases[k].says == NULL ? POLYAD_OK : POLYAD_PARSE);
    if (cases[k].says != NULL)
      assert_non_null(strstr(polyad_last_error(context), cases[k].says));
    else if (k != 5)
      assert_true(polyad_tensor_dims(tensor)[0] == INT64_MAX);
    polyad_tensor_destroy(tensor);
  }
}

static enum pd_number_result parse_index(const char *text, uint64_t *value) {
  return pd_parse_index(text, text + strlen(text), value);
}

/* Written with a point or an exponent, an index is exact only below 2^53. */
static void largest_index_with_a_point(void **state) {
  (void)state;
  uint64_t value = 0;
  assert_int_equal(parse_index("9007199254740991.0", &value), PD_NUMBER_OK);
  assert_true(value == UINT64_C(9007199254740991));
  assert_int_equal(parse_index("9007199254740992.0", &value), PD_NUMBER_TOO_LARGE);
  assert_int_equal(parse_index("9007199254740993.0", &value), PD_NUMBER_TOO_LARGE);
  assert_int_equal(parse_index("9007199254740991e0", &value), PD_NUMBER_OK);
  assert_int_equal(parse_index("9007199254740992e0", &value), PD_NUMBER_TOO_LARGE);
  assert_int_equal(parse_index("9007199254740992", &value), PD_NUMBER_OK); /* digits alone are */
  assert_true(value == UINT64_C(9007199254740992));
  assert_int_equal(parse_index("0.0", &value), PD_NUMBER_OK);
  assert_true(value == 0);
  assert_int_equal(parse_index("-1.0", &value), PD_NUMBER_MALFORMED);
  assert_int_equal(parse_index("0.5", &value), PD_NUMBER_MALFORMED);
}

/* Digits that a double needs fit; one more than is read does not. */
static void longest_number(void **state) {
  (void)state;
  char text[PD_NUMBER_LONGEST + 1];
  double value = 0;
  memset(text, '0', sizeof text);
  text[0] = '1';
  text[1] = '.';
  text[PD_NUMBER_LONGEST - 1] = '1';
  assert_int_equal(pd_parse_double(text, text + PD_NUMBER_LONGEST, &value), PD_NUMBER_OK);
  assert_true(value == 1);
  assert_int_equal(pd_parse_double(text, text + PD_NUMBER_LONGEST + 1, &value), PD_NUMBER_TOO_LONG);
}

/* ---- gzip -------------------------------------------------------------------------------------
 */

static size_t pack(const char *text, unsigned char *out, size_t room) {
  z_stream z;
  memset(&z, 0, sizeof z);
  assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = (unsigned char *)(uintptr_t)text;
  z.avail_in = (unsigned)strlen(text);
  z.next_out = out;
  z.avail_out = (unsigned)room;
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  size_t size = room - z.avail_out;
  deflateEnd(&z);
  return size;
}

/* Zero bytes may follow the last member, as tapes leave them; a member after them is not one. */
static void nothing_follows_the_padding(void **state) {
  (void)state;
  unsigned char bytes[1024];
  for (size_t zeros = 0; zeros <= 2; ++zeros)
    for (int member = 0; member < 2; ++member) {
      polyad_tensor *tensor = NULL;
      memset(bytes, 0, sizeof bytes);
      size_t size = pack("1 1 1\n", bytes, 256) + zeros;
      if (member) size += pack("2 2 1\n", bytes + size, 256);
      put(bytes, size);
      polyad_status status = read_text(1, &tensor);
      if (zeros > 0 && member) {
        assert_int_equal(status, POLYAD_PARSE);
        assert_non_null(strstr(polyad_last_error(context), "data after the end"));
      } else {
        assert_int_equal(status, POLYAD_OK);
        assert_int_equal(polyad_tensor_nnz(tensor), 1 + member);
      }
      polyad_tensor_destroy(tensor);
    }
}

/* ---- byte order marks -------------------------------------------------------------------------
 */

/* A letter that begins as the mark does (U+FEF1) is a letter, and half a mark is no mark. */
static void only_a_whole_mark_is_skipped(void **state) {
  (void)state;
  static const struct {
    const char *text, *name;
  } cases[] = {
      {"\xef\xbb\xb1,b\nx,y\n", "\xef\xbb\xb1"},
      {"\xef\xbb\xbf"
       "a,b\nx,y\n",
       "a"},
      {"\xef\xbb\xbf\xef\xbb\xbf,b\nx,y\n", "\xef\xbb\xbf"},
  };
  polyad_read_options options;
  polyad_tensor *tensor;
  polyad_read_options_init(&options);
  options.format = POLYAD_FILE_DELIMITED;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    put(cases[k].text, strlen(cases[k].text));
    assert_int_equal(polyad_tensor_read(context, path, &options, &tensor), POLYAD_OK);
    assert_string_equal(polyad_tensor_mode_name(tensor, 0), cases[k].name);
    polyad_tensor_destroy(tensor);
  }
  put("\xef\xbb"
      "1 1 1\n",
      8);
  assert_int_equal(read_text(1, &tensor), POLYAD_PARSE);
  put("\xef\xbb\xb1"
      "1 1 1\n",
      9);
  assert_int_equal(read_text(1, &tensor), POLYAD_PARSE);
  put("\xef\xbb\xbf"
      "1 1 1\n",
      9);
  assert_int_equal(read_text(1, &tensor), POLYAD_OK);
  polyad_tensor_destroy(tensor);
}

/* ---- labels -----------------------------------------------------------------------------------
 */

/* More than the arrays begin with room for, of lengths from 0 to 70. */
static void many_labels(void **state) {
  (void)state;
  enum { COUNT = 5000, LONGEST = 70 };
  char line[LONGEST + 1];
  memset(line, 'x', sizeof line);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  for (int k = 0; k < COUNT; ++k)
    fprintf(file, "%.*s%d\n", k % LONGEST, line, k);
  assert_int_equal(fclose(file), 0);
  for (uint64_t count = COUNT - 1; count <= COUNT + 1; ++count) {
    struct pd_labels labels = {0};
    polyad_status status = pd_labels_read_lines(context, path, 0, count, &labels);
    assert_int_equal(status, count == COUNT ? POLYAD_OK : POLYAD_MISMATCH);
    for (uint64_t k = 0; k < labels.count; ++k) {
      char expected[LONGEST + 16];
      snprintf(expected, sizeof expected, "%.*s%d", (int)k % LONGEST, line, (int)k);
      assert_string_equal(labels.text + labels.start[k], expected);
      assert_true(labels.start[k + 1] - labels.start[k] == strlen(expected) + 1);
    }
    if (count == COUNT) assert_true(labels.count == COUNT);
    pd_free(context, labels.start);
    pd_free(context, labels.text);
  }
}

/* Dims that a comment states hold where they are larger than what is found. */
static void stated_dims(void **state) {
  (void)state;
  static const char text[] = "# dims: 12 100 9223372036854775807\n3 4 5 1\n12 1 1 2\n";
  polyad_tensor *tensor;
  put(text, strlen(text));
  assert_int_equal(read_text(1, &tensor), POLYAD_OK);
  assert_int_equal(polyad_tensor_dims(tensor)[0], 12);
  assert_int_equal(polyad_tensor_dims(tensor)[1], 100);
  assert_int_equal(polyad_tensor_dims(tensor)[2], INT64_MAX);
  polyad_tensor_destroy(tensor);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(largest_index_of_each_base),
      TEST(largest_index_with_a_point),
      TEST(longest_number),
      TEST(nothing_follows_the_padding),
      TEST(only_a_whole_mark_is_skipped),
      TEST(many_labels),
      TEST(stated_dims),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
