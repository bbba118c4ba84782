#include "io/labels_lines.h"
#include "io/input.h"
#include <inttypes.h>
#include <string.h>

enum { CHUNK = 1 << 16 };

struct lines {
  polyad_context *context;
  struct pd_labels labels; /* count: lines stored; start has room for `room` + 1 */
  uint64_t room;
  uint64_t used, capacity; /* bytes of the text */
  uint64_t wanted;
  uint64_t found; /* lines seen; beyond `wanted` they are only counted */
};

static polyad_status labels_lines_append(struct lines *lines, const unsigned char *bytes,
                                         size_t size) {
  if (lines->found >= lines->wanted) return POLYAD_OK;
  if (size > lines->capacity - lines->used) {
    uint64_t needed = pd_add_saturated(lines->used, size);
    uint64_t doubled = pd_mul_saturated(lines->capacity, 2);
    uint64_t capacity = needed > doubled ? needed : doubled;
    PD_TRY(pd_realloc(lines->context, capacity, 1, (void **)&lines->labels.text));
    lines->capacity = capacity;
  }
  memcpy(lines->labels.text + lines->used, bytes, size);
  lines->used += size;
  return POLYAD_OK;
}

static polyad_status end_line(struct lines *lines) {
  if (lines->found >= lines->wanted) {
    ++lines->found;
    return POLYAD_OK;
  }
  struct pd_labels *labels = &lines->labels;
  if (lines->used > labels->start[labels->count] && labels->text[lines->used - 1] == '\r')
    --lines->used;
  PD_TRY(labels_lines_append(lines, (const unsigned char *)"", 1));
  if (labels->count == lines->room) {
    uint64_t room = 2 * lines->room < lines->wanted ? 2 * lines->room : lines->wanted;
    PD_TRY(pd_realloc(lines->context, room + 1, sizeof *labels->start, (void **)&labels->start));
    lines->room = room;
  }
  labels->start[++labels->count] = lines->used;
  ++lines->found;
  return POLYAD_OK;
}

static polyad_status take_chunk(struct lines *lines, const unsigned char *data, size_t size) {
  for (size_t at = 0; at < size;) {
    const unsigned char *end = memchr(data + at, '\n', size - at);
    size_t length = end == NULL ? size - at : (size_t)(end - data) - at;
    PD_TRY(labels_lines_append(lines, data + at, length));
    if (end != NULL) PD_TRY(end_line(lines));
    at += length + (end != NULL);
  }
  return POLYAD_OK;
}

static polyad_status labels_lines_read_all(struct lines *lines, struct pd_input *input) {
  unsigned char *chunk;
  const unsigned char *first;
  size_t got = 0;
  bool open = false; /* the last line has bytes but no end yet */
  polyad_status status = POLYAD_OK;
  PD_TRY(PD_NEW(lines->context, CHUNK, &chunk));
  PD_TRY_CLEANUP(pd_input_peek(input, &first, &got));
  if (got >= 3 && memcmp(first, "\xef\xbb\xbf", 3) == 0) pd_input_skip(input, 3);
  for (;;) {
    status = pd_input_read(input, chunk, CHUNK, &got);
    if (status != POLYAD_OK) {
      status = pd_input_error(input, lines->found);
      goto cleanup;
    }
    if (got == 0) break;
    PD_TRY_CLEANUP(take_chunk(lines, chunk, got));
    open = chunk[got - 1] != '\n';
  }
  if (open) status = end_line(lines);

cleanup:
  pd_free(lines->context, chunk);
  return status;
}

polyad_status pd_labels_read_lines(polyad_context *context, const char *path, int mode,
                                   uint64_t count, struct pd_labels *labels) {
  struct lines lines = {.context = context, .wanted = count, .capacity = 256};
  struct pd_input *input = NULL;
  polyad_status status = POLYAD_OK;
  lines.room = count < 256 ? count : 256;
  PD_TRY(pd_input_open(context, path, &input));
  PD_TRY_CLEANUP(PD_NEW(context, lines.room + 1, &lines.labels.start));
  PD_TRY_CLEANUP(PD_NEW(context, lines.capacity, &lines.labels.text));
  lines.labels.start[0] = 0;
  PD_TRY_CLEANUP(labels_lines_read_all(&lines, input));
  if (lines.found != count) {
    status = pd_fail_at(context, POLYAD_MISMATCH, path, 0, 0,
                        "%" PRIu64 " labels found; expected %" PRIu64 ", the length of mode %d",
                        lines.found, count, mode + 1);
    goto cleanup;
  }
  *labels = lines.labels;
  lines.labels = (struct pd_labels){0};

cleanup:
  pd_input_close(input);
  PD_FREE(context, lines.labels.start, lines.labels.text);
  return status;
}
