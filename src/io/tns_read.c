/* Reader of FROSTT text (.tns): indices and a value on each line. */
#include "io/formats.h"
#include "io/input.h"
#include "io/tns_turns.h"
#include "tensor/tensor.h"
#include <string.h>

/* Turns fit the second level of a thread's cache. Small blocks notice errors in compressed data
 * early. */
enum {
  BLOCK_OF_THREAD = 1 << 20,
  BLOCK_MOST = 16 << 20,
  BLOCK_COMPRESSED = 4 << 20,
  PIECE = 64 << 10,
  TURN = 256 << 10
};

struct reader {
  polyad_context *context;
  const polyad_read_options *options;
  struct pd_input *input;
  struct pd_tns_form form;
  struct pd_coordinates coordinates;
  struct pd_tns_blocks blocks;
  uint64_t declared;                   /* nonzeros that a header promised; UINT64_MAX: no header */
  uint64_t taken;                      /* nonzeros that a sink has taken */
  uint64_t lines;                      /* before the current text */
  uint64_t underflows, underflow_line; /* values that round to zero; the line of the first */
  uint64_t stated[POLYAD_MAX_ORDER];   /* dims that a comment states */
  int stated_order;                    /* number of them; 0: no comment does */
  bool started;                        /* the first bytes were looked at */
  bool inside_comment;                 /* the rest of the carried line is dropped */
  bool plain;                          /* turns may go on: lines are plain nonzeros so far */
  char *buffer;
  size_t carried; /* bytes of a line's beginning from the block before */
};

static uint64_t found_so_far(const struct reader *r) { return r->taken + r->coordinates.count; }

/* Offers the sink what there is. */
static polyad_status tns_read_hand_over(struct reader *r, bool last) {
  const struct pd_tns_sink *sink = r->blocks.sink;
  uint64_t found = found_so_far(r);
  if (sink == NULL) return POLYAD_OK;
  PD_TRY(sink->take(sink->user, &r->coordinates, r->form.dims, last));
  r->taken = found - r->coordinates.count;
  return POLYAD_OK;
}

static polyad_status fail_line(struct reader *r, uint64_t line, const struct pd_tns_error *error) {
  return pd_fail_at(r->context, error->status, pd_input_path(r->input), line, error->column, "%s",
                    error->text);
}

/* Looks at the first bytes: byte order marks and binary data. Returns where text begins. */
static polyad_status tns_read_start(struct reader *r, const char **text, const char *end) {
  const unsigned char *bytes = (const unsigned char *)*text;
  size_t size = (size_t)(end - *text);
  r->started = true;
  if (size >= 2 &&
      ((bytes[0] == 0xff && bytes[1] == 0xfe) || (bytes[0] == 0xfe && bytes[1] == 0xff)))
    return pd_fail_at(
        r->context, POLYAD_PARSE, pd_input_path(r->input), 1, 1,
        "UTF-16 text; expected UTF-8 or ASCII: convert it (iconv -f UTF-16 -t UTF-8)");
  if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) *text += 3;
  return POLYAD_OK;
}

/* Takes the dims from a comment "# dims: 4 5 6", which writers put before the nonzeros. Any other
 * comment is left alone. */
static void read_dims_comment(struct reader *r, const char *p, const char *end) {
  uint64_t dims[POLYAD_MAX_ORDER];
  int order = 0;
  size_t length = strlen(PD_TNS_DIMS_COMMENT);
  if ((size_t)(end - p) <= length || memcmp(p, PD_TNS_DIMS_COMMENT, length) != 0) return;
  if (end[-1] == '\r') --end;
  for (p += length; p < end; ++order) {
    if (*p++ != ' ' || order == POLYAD_MAX_ORDER) return;
    uint64_t dim = 0;
    const char *first = p;
    for (; p < end && *p >= '0' && *p <= '9'; ++p)
      if (!pd_mul(dim, 10, &dim) || !pd_add(dim, (uint64_t)(*p - '0'), &dim)) return;
    if (p == first || dim < 1 || dim > INT64_MAX) return;
    dims[order] = dim;
  }
  memcpy(r->stated, dims, sizeof dims);
  r->stated_order = order;
}

/* The first line with fields says how many modes there are; dims that a comment before it states
 * for so many modes hold. */
static polyad_status find_order(struct reader *r, const char *text, const char *end,
                                bool truncated) {
  uint64_t line = r->lines, index[POLYAD_MAX_ORDER];
  for (const char *p = text; p < end && r->form.order == 0;) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    double value;
    bool underflow = false;
    struct pd_tns_error error;
    ++line;
    read_dims_comment(r, p, stop);
    int found = pd_tns_parse_line(&r->form, p, stop, truncated && stop + 1 == end, index, &value,
                                  &underflow, &error);
    if (found < 0) return fail_line(r, line, &error);
    if (found > 0) r->form.order = (int)pd_tns_count_fields(p, stop) - !r->form.pattern;
    p = stop + 1;
  }
  r->coordinates.order = r->form.order;
  if (r->form.order > 0 && r->form.order == r->stated_order) r->form.dims = r->stated;
  return POLYAD_OK;
}

/* Names the line of the first nonzero past the `allowed` ones, unless an error comes before. */
static polyad_status fail_surplus(struct reader *r, const char *text, const char *end,
                                  uint64_t allowed, uint64_t error_line) {
  uint64_t line = 0, found = 0;
  for (const char *p = text; p < end && found <= allowed;) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    ++line;
    found += pd_tns_count_fields(p, stop) > 0;
    p = stop + 1;
  }
  if (found <= allowed || (error_line > 0 && error_line < line)) return POLYAD_OK;
  return pd_fail_at(r->context, POLYAD_PARSE, pd_input_path(r->input), r->lines + line, 1,
                    "more nonzeros than the %llu that the header declares; expected the end of "
                    "the file",
                    (unsigned long long)r->declared);
}

/* Parses whole lines: every one, also the last, ends with "\n". */
static polyad_status tns_read_parse(struct reader *r, const char *text, const char *end,
                                    bool truncated) {
  if (text == end) return POLYAD_OK;
  if (r->form.order == 0) PD_TRY(find_order(r, text, end, truncated));
  if (r->form.order == 0) { /* only comments and blank lines so far */
    r->lines += pd_tns_count_lines(text, end);
    return POLYAD_OK;
  }
  struct pd_tns_result result;
  uint64_t left = r->declared - found_so_far(r);
  struct pd_tns_text block = {
      .begin = text, .end = end, .truncated = truncated, .piece_bytes = r->blocks.piece_bytes};
  PD_TRY(pd_tns_parse_block(&r->form, &block, &r->coordinates, &result));
  if (found_so_far(r) > r->declared || result.error_line > 0)
    PD_TRY(fail_surplus(r, text, end, left, result.error_line));
  if (result.error_line > 0) return fail_line(r, r->lines + result.error_line, &result.error);
  if (r->underflows == 0 && result.underflows > 0)
    r->underflow_line = r->lines + result.underflow_line;
  r->lines += result.lines;
  r->underflows += result.underflows;
  return tns_read_hand_over(r, false);
}

/* A line that is longer than a line may be: an error in its beginning is the one to name. */
static polyad_status fail_long_line(struct reader *r, const char *line) {
  uint64_t index[POLYAD_MAX_ORDER];
  double value;
  bool underflow;
  struct pd_tns_error error;
  if (pd_tns_parse_line(&r->form, line, line + PD_TNS_LONGEST_LINE + 1, false, index, &value,
                        &underflow, &error) < 0)
    return fail_line(r, r->lines + 1, &error);
  return pd_fail_at(r->context, POLYAD_INTERNAL, pd_input_path(r->input), r->lines + 1, 0,
                    "a line that is too long was taken");
}

/* What follows the last line end stays for the next block. Only the part in front of a comment
 * need be kept: comments may have any length. */
static polyad_status carry(struct reader *r, char *tail, const char *end) {
  size_t size = (size_t)(end - tail);
  if (size > PD_TNS_LONGEST_LINE) {
    const char *comment = memchr(tail, '#', PD_TNS_LONGEST_LINE);
    if (comment == NULL) return fail_long_line(r, tail);
    size = (size_t)(comment - tail);
    r->inside_comment = true;
  }
  memmove(r->buffer, tail, size);
  r->carried = size;
  return POLYAD_OK;
}

/* One more block behind what the block before left over. */
static polyad_status take_block(struct reader *r, size_t got) {
  char *text = r->buffer, *fresh = text + r->carried, *end = fresh + got;
  if (r->inside_comment) {
    char *stop = memchr(fresh, '\n', got);
    if (stop == NULL) return POLYAD_OK;
    r->inside_comment = false;
    got = (size_t)(end - stop);
    memmove(fresh, stop, got);
    end = fresh + got;
  }
  const char *begin = text;
  if (!r->started) PD_TRY(tns_read_start(r, &begin, end));
  char *last = end;
  while (last > begin && last[-1] != '\n')
    --last;
  PD_TRY(tns_read_parse(r, begin, last, false));
  return carry(r, last, end);
}

/* Lines of a plain file behind those that were taken, as far as all threads can go on by
 * themselves.
 */
static polyad_status take_turns(struct reader *r) {
  struct pd_tns_turns turns = {.form = &r->form,
                               .input = r->input,
                               .coordinates = &r->coordinates,
                               .bytes = r->blocks.turn_bytes,
                               .buffer = r->buffer + PD_TNS_LONGEST_LINE};
  if (!r->plain || r->form.order == 0 || r->inside_comment ||
      !pd_input_rest(r->input, &turns.begin, &turns.end))
    return POLYAD_OK;
  turns.begin -= r->carried;
  PD_TRY(pd_tns_take_turns(&turns));
  r->plain = turns.plain;
  if (turns.lines == 0) return POLYAD_OK;
  r->lines += turns.lines;
  r->carried = 0;
  return pd_input_go_to(r->input, turns.begin);
}

static polyad_status take_all(struct reader *r) {
  for (;;) {
    size_t got;
    PD_TRY(take_turns(r));
    if (pd_input_read(r->input, r->buffer + r->carried, r->blocks.block_bytes, &got) != POLYAD_OK)
      return pd_input_error(r->input, r->lines);
    if (got == 0) break;
    PD_TRY(take_block(r, got));
  }
  if (r->carried == 0) {
    r->lines += r->inside_comment;
    return POLYAD_OK;
  }
  char *begin = r->buffer, *end = begin + r->carried;
  *end++ = '\n';
  return tns_read_parse(r, begin, end, !r->inside_comment);
}

/* Of a tensor without nonzeros the file has the lengths alone. */
static void take_stated_dims(struct reader *r) {
  if (r->form.order > 0 || r->stated_order == 0) return;
  r->coordinates.order = r->form.order = r->stated_order;
  r->form.dims = r->stated;
}

static polyad_status tns_read_finish(struct reader *r, polyad_tensor **tensor) {
  const char *path = pd_input_path(r->input);
  bool header = r->declared != UINT64_MAX;
  if (r->options->shares > 1 && r->coordinates.count == 0)
    return pd_share_of_nothing(r->context, r->options, tensor);
  if (header && found_so_far(r) < r->declared)
    return pd_fail_at(r->context, POLYAD_PARSE, path, 0, 0,
                      "%llu nonzeros; expected the %llu that the header declares; the file may be "
                      "truncated",
                      (unsigned long long)found_so_far(r), (unsigned long long)r->declared);
  if (!header && r->lines == 0)
    return pd_fail_at(r->context, POLYAD_PARSE, path, 0, 0,
                      "file is empty; expected lines of N indices and a value");
  take_stated_dims(r);
  if (found_so_far(r) == 0 && r->form.dims != r->stated && !header)
    return pd_fail_at(r->context, POLYAD_PARSE, path, 0, 0,
                      "%llu line%s and no nonzero; expected lines of N indices and a value",
                      (unsigned long long)r->lines, r->lines == 1 ? "" : "s");
  pd_warn_of_underflow(r->context, path, r->underflow_line, r->underflows);
  if (r->blocks.sink != NULL) return tns_read_hand_over(r, true);
  return pd_coordinates_finish(&r->coordinates, r->form.dims, r->options->duplicates,
                               r->options->zeros, tensor);
}

/* For a line's beginning, and behind it a block or a turn of each thread. */
static size_t buffer_bytes(const struct reader *r) {
  size_t block = r->blocks.block_bytes + PD_TNS_PADDING + 1;
  size_t turns = (size_t)polyad_threads(r->context) * pd_tns_turn_buffer(r->blocks.turn_bytes);
  return PD_TNS_LONGEST_LINE + (r->plain && turns > block ? turns : block);
}

polyad_status pd_tns_read_blocks(polyad_context *context, struct pd_input *input,
                                 const polyad_read_options *options,
                                 const struct pd_tns_blocks *blocks, uint64_t declared,
                                 uint64_t lines, polyad_tensor **tensor) {
  struct reader *r = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 1, &r));
  r->context = context;
  r->options = options;
  r->input = input;
  r->blocks = *blocks;
  r->declared = declared;
  r->lines = lines;
  r->started = lines > 0;
  r->plain = blocks->turn_bytes > 0 && blocks->sink == NULL && declared == UINT64_MAX;
  r->form = (struct pd_tns_form){.order = options->order,
                                 .pattern = options->pattern != 0,
                                 .base = (uint64_t)options->index_base,
                                 .single = options->type == POLYAD_F32,
                                 .dims = options->order > 0 ? options->dims : NULL};
  r->coordinates = (struct pd_coordinates){
      .context = context, .order = options->order, .type = options->type, .index_bytes = 4};
  /* One chunk takes what is expected, and a little more. */
  if (blocks->sink == NULL)
    r->coordinates.expected = (uint64_t)(1.03 * (double)pd_input_expected_lines(input));
  PD_TRY_CLEANUP(PD_NEW(context, buffer_bytes(r), &r->buffer));
  PD_TRY_CLEANUP(take_all(r));
  status = tns_read_finish(r, tensor);
cleanup:
  if (r != NULL) {
    pd_free(context, r->buffer);
    pd_coordinates_clear(&r->coordinates);
  }
  pd_free(context, r);
  return status;
}

static struct pd_tns_blocks usual_blocks(polyad_context *context, const struct pd_input *input) {
  size_t size = (size_t)polyad_threads(context) * BLOCK_OF_THREAD;
  if (size > BLOCK_MOST) size = BLOCK_MOST;
  if (pd_input_plain_size(input) == 0) size = BLOCK_COMPRESSED;
  return (struct pd_tns_blocks){.block_bytes = size, .piece_bytes = PIECE, .turn_bytes = TURN};
}

polyad_status pd_tns_read_body(polyad_context *context, struct pd_input *input,
                               const polyad_read_options *options, uint64_t declared,
                               uint64_t lines, polyad_tensor **tensor) {
  const struct pd_tns_blocks blocks = usual_blocks(context, input);
  return pd_tns_read_blocks(context, input, options, &blocks, declared, lines, tensor);
}

polyad_status pd_tns_read_into(polyad_context *context, struct pd_input *input,
                               const polyad_read_options *options, const struct pd_tns_sink *sink) {
  struct pd_tns_blocks blocks = usual_blocks(context, input);
  blocks.sink = sink;
  if (blocks.block_bytes > sink->memory / 16) blocks.block_bytes = (size_t)(sink->memory / 16);
  if (blocks.block_bytes < PIECE) blocks.block_bytes = PIECE;
  return pd_tns_read_blocks(context, input, options, &blocks, UINT64_MAX, 0, NULL);
}

polyad_status pd_tns_read(polyad_context *context, const char *path, struct pd_input *input,
                          const polyad_read_options *options, polyad_tensor **tensor) {
  (void)path; /* the input has its name */
  return pd_tns_read_body(context, input, options, UINT64_MAX, 0, tensor);
}
