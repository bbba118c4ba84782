/* FROSTT text that threads read and parse in turns: whatever stands in it and wherever turns end,
 * the tensor, the first error and the warnings are those of reading in blocks alone. */
#include "context_fixture.h"

#include "core/random.h"
#include "io/formats.h"
#include "io/tns_turns.h"
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { LINES = 3000, ORDER = 3, PARTS = 3, TEXT = 320 };

static char path[32];
static char warning[TEXT];

/* What one line has in place of a nonzero of common form. */
static const char *const odd_lines[] = {
    "1 2 3 4\n",     /* one of common form */
    "# a comment\n", /* which leaves a gap */
    "\n",            /* likewise */
    "1 2 x 4\n",     /* errors */
    "0 2 3 4\n",
    "1 2 3\n",
    "1 2 8589934592 4\n",  /* 64 bits */
    "1 2 3 1e-400\n",      /* a warning */
    "1\t2  3 -4.25e1\r\n", /* other forms */
    "00000000000000000001 2 3 4\n",
    "1 2 3 4 #", /* the next line belongs to the comment */
    "\n\n\n\n\n\n\n\n\n\n\n\n",
};
enum { ODD_LINES = sizeof odd_lines / sizeof *odd_lines };

static int make_path(void **state) {
  strcpy(path, "/tmp/polyad-turns-XXXXXX");
  int file = mkstemp(path);
  if (file < 0) return 1;
  close(file);
  return set_up(state);
}

static int remove_path(void **state) { return unlink(path) != 0 || tear_down(state) != 0; }

static void keep_warning(void *user, polyad_log_level level, const char *message) {
  (void)user;
  if (level == POLYAD_LOG_WARNING) snprintf(warning, sizeof warning, "%s", message);
}

/* Lines in no order, `odd` in place of line `where`; `ended`: the last has a line end. */
static void write_text(const char *odd, int where, bool ended) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  for (uint64_t line = 0; line < LINES; ++line) {
    if ((int)line == where) {
      fputs(odd, file);
      continue;
    }
    for (uint64_t n = 0; n < ORDER; ++n)
      fprintf(file, "%" PRIu64 " ", 1 + pd_random_u64(1, line, n) % 1000000);
    fprintf(file, line % 7 == 0 ? "%d.5" : "%d", (int)(line % 90 + 1));
    if (line + 1 < LINES || ended) fputs("\n", file);
  }
  fclose(file);
}

struct outcome {
  polyad_status status;
  uint64_t hash, nnz;
  char message[TEXT], warned[TEXT];
};

static struct outcome read_part(size_t turn_bytes, int part, int parts) {
  struct outcome outcome = {0};
  const struct pd_tns_blocks blocks = {
      .block_bytes = 1024, .piece_bytes = 64, .turn_bytes = turn_bytes};
  polyad_read_options options;
  struct pd_input *input;
  polyad_tensor *tensor = NULL;
  uint64_t begin;
  polyad_read_options_init(&options);
  options.shares = parts;
  options.share = part;
  warning[0] = '\0';
  pd_begin(context);
  assert_int_equal(pd_input_open(context, path, &input), POLYAD_OK);
  if (parts > 1) assert_int_equal(pd_input_cut(input, part, parts, &begin), POLYAD_OK);
  outcome.status = pd_tns_read_blocks(context, input, &options, &blocks, UINT64_MAX, 0, &tensor);
  pd_input_close(input);
  memcpy(outcome.warned, warning, sizeof warning);
  if (outcome.status != POLYAD_OK) {
    snprintf(outcome.message, sizeof outcome.message, "%s", polyad_last_error(context));
    return outcome;
  }
  assert_int_equal(pd_tensor_check(context, tensor), POLYAD_OK);
  outcome.hash = polyad_tensor_hash(tensor);
  outcome.nnz = polyad_tensor_nnz(tensor);
  polyad_tensor_destroy(tensor);
  return outcome;
}

static void check_part(int part, int parts) {
  static const size_t sizes[] = {40, 97, 1000, 20000};
  struct outcome want = read_part(0, part, parts);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
    struct outcome got = read_part(sizes[k], part, parts);
    assert_string_equal(got.message, want.message);
    assert_string_equal(got.warned, want.warned);
    assert_int_equal(got.status, want.status);
    assert_int_equal(got.nnz, want.nnz);
    assert_true(got.hash == want.hash);
  }
}

static void turns_change_nothing(void **state) {
  (void)state;
  static const int places[] = {0, 70, 1500, 2998, 2999};
  polyad_set_log(context, POLYAD_LOG_WARNING, keep_warning, NULL);
  for (int odd = 0; odd < ODD_LINES; ++odd)
    for (size_t k = 0; k < sizeof places / sizeof *places; ++k) {
      if (TEST_SANITIZED && ((size_t)odd + k) % 2 != 0) continue;
      write_text(odd_lines[odd], places[k], odd % 2 == 0);
      check_part(0, 1);
      for (int part = 0; part < PARTS; ++part)
        check_part(part, PARTS);
    }
}

/* All that is in front of the turn with an odd line is taken, and what is taken ends at a line. */
static void turns_end_before_what_is_odd(void **state) {
  (void)state;
  enum { BYTES = 500, TURN_LINES = 100, WHERE = 1500 };
  static char buffer[3 * (BYTES + PD_TNS_TURN_TAIL + PD_TNS_PADDING + 1)];
  struct pd_tns_form form = {.order = ORDER, .base = 1};
  for (int odd = 1; odd < 8; ++odd) {
    struct pd_coordinates coordinates = {
        .context = context, .order = ORDER, .type = POLYAD_F64, .index_bytes = 4};
    struct pd_coordinates_chunk *chunk;
    struct pd_tns_turns turns = {
        .form = &form, .coordinates = &coordinates, .bytes = BYTES, .buffer = buffer};
    char before[2] = "";
    write_text(odd_lines[odd], WHERE, true);
    assert_int_equal(pd_input_open(context, path, &turns.input), POLYAD_OK);
    assert_true(pd_input_rest(turns.input, &turns.begin, &turns.end));
    assert_int_equal(pd_coordinates_room(&coordinates, LINES, &chunk), POLYAD_OK);
    assert_int_equal(pd_tns_take_turns(&turns), POLYAD_OK);
    assert_false(turns.plain);
    assert_in_range(turns.lines, WHERE - TURN_LINES, WHERE);
    assert_int_equal(coordinates.count, turns.lines);
    assert_true(pd_input_read_at(turns.input, turns.begin - 1, before, 1));
    assert_string_equal(before, "\n");
    pd_input_close(turns.input);
    pd_coordinates_clear(&coordinates);
  }
}

/* Where the memory ends turns end, and may go on when there is more. */
static void turns_end_with_the_room(void **state) {
  (void)state;
  enum { BYTES = 500, ROOM = 600 };
  static char buffer[3 * (BYTES + PD_TNS_TURN_TAIL + PD_TNS_PADDING + 1)];
  struct pd_tns_form form = {.order = ORDER, .base = 1, .single = true};
  struct pd_coordinates coordinates = {
      .context = context, .order = ORDER, .type = POLYAD_F32, .index_bytes = 4};
  struct pd_coordinates_chunk *chunk;
  struct pd_tns_turns turns = {
      .form = &form, .coordinates = &coordinates, .bytes = BYTES, .buffer = buffer};
  write_text(odd_lines[0], 0, true);
  assert_int_equal(pd_input_open(context, path, &turns.input), POLYAD_OK);
  assert_true(pd_input_rest(turns.input, &turns.begin, &turns.end));
  uint64_t lines = 0;
  for (int round = 0; round < 2; ++round) {
    assert_int_equal(pd_coordinates_room(&coordinates, ROOM, &chunk), POLYAD_OK);
    assert_int_equal(pd_tns_take_turns(&turns), POLYAD_OK);
    assert_true(turns.plain);
    assert_in_range(turns.lines, 1, chunk->room);
    lines += turns.lines;
  }
  assert_int_equal(coordinates.count, lines);
  pd_input_close(turns.input);
  pd_coordinates_clear(&coordinates);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(turns_change_nothing, make_path, remove_path),
      cmocka_unit_test_setup_teardown(turns_end_before_what_is_odd, make_path, remove_path),
      cmocka_unit_test_setup_teardown(turns_end_with_the_room, make_path, remove_path)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
