/* The text is cut at line ends into one piece for each thread. Each thread first counts the lines
 * of its piece, so that all know where their nonzeros begin in the chunk; then it parses them into
 * that place: lines of the usual form in vectors or by a short loop, all others by tns_line.h,
 * which alone reports errors. Gaps that comments and blank lines left are closed at the end. An
 * index that 32 bits do not hold makes all pieces be parsed again, with 64. */
#include "io/tns_block.h"
#include "io/tns_fast.h"
#include "io/tns_vector.h"
#include <float.h>
#include <string.h>

enum { PIECES_MAX = 256 };

uint64_t pd_tns_count_lines(const char *p, const char *end) {
  uint64_t count = 0;
  while (end - p >= 128) { /* sums of bytes vectorise; 128 of them fit a byte */
    uint8_t part = 0;
    for (int k = 0; k < 128; ++k)
      part = (uint8_t)(part + (p[k] == '\n'));
    count += part;
    p += 128;
  }
  for (; p < end; ++p)
    count += *p == '\n';
  return count;
}

static const char *tns_block_skip_blanks(const char *p) {
  while (pd_fast_blank(*p))
    ++p;
  return p;
}

/* One line of the common form; NULL when it has another. Reads up to its "\n", which is there. */
static inline const char *fast_line(const struct pd_tns_form *form, int order, const char *p,
                                    uint64_t *index, double *value) {
  const char *line = p;
  p = tns_block_skip_blanks(p);
  for (int n = 0; n < order; ++n) {
    uint64_t raw;
    p = pd_fast_index(p, &raw);
    if (p == NULL || raw < form->base) return NULL;
    index[n] = raw - form->base;
    if (form->dims != NULL && index[n] >= form->dims[n]) return NULL;
    if (!pd_fast_blank(*p) && !(form->pattern && n + 1 == order)) return NULL;
    p = tns_block_skip_blanks(p);
  }
  *value = 1;
  if (!form->pattern) {
    p = pd_fast_value(p, value);
    if (p == NULL) return NULL;
    p = tns_block_skip_blanks(p);
  }
  p += *p == '\r';
  return *p == '\n' && p - line <= PD_TNS_LONGEST_LINE ? p + 1 : NULL;
}

#if defined(__SSE2__)
/* A short line of the most common form: indices of up to 8 digits with one blank behind each, then
 * a value. Where each field ends is known at once for the whole line, so that no field waits for
 * the one before. NULL when it has another form. */
static inline const char *short_line(const struct pd_tns_form *form, int order, const char *p,
                                     uint64_t *index, double *value) {
  uint64_t others = pd_fast_others(p), raw;
  unsigned start = 0, stop;
  for (int n = 0; n < order; ++n) {
    if (!pd_fast_field(p, start, others, &stop, &raw) || raw < form->base) return NULL;
    index[n] = raw - form->base;
    if (!pd_fast_blank(p[stop]) || (form->dims != NULL && index[n] >= form->dims[n])) return NULL;
    others &= others - 1;
    start = stop + 1;
  }
  if (pd_fast_field(p, start, others, &stop, &raw) && p[stop] == '\n') {
    *value = (double)raw;
    return p + stop + 1;
  }
  p = pd_fast_value(p + start, value);
  return p != NULL && *p == '\n' ? p + 1 : NULL;
}
#else
static inline const char *short_line(const struct pd_tns_form *form, int order, const char *p,
                                     uint64_t *index, double *value) {
  (void)form, (void)order, (void)p, (void)index, (void)value;
  return NULL;
}
#endif

static inline void tns_block_put(const struct pd_tns_form *form, int order,
                                 struct pd_coordinates_chunk *chunk, struct pd_tns_piece *piece,
                                 const uint64_t *index, double value) {
  uint64_t at = piece->first + piece->count++;
  for (int n = 0; n < order; ++n) {
    if (index[n] > piece->largest[n]) piece->largest[n] = index[n];
    if (chunk->index_bytes == 4)
      ((uint32_t *)chunk->index[n])[at] = (uint32_t)index[n];
    else
      ((uint64_t *)chunk->index[n])[at] = index[n];
  }
  if (form->single)
    ((float *)chunk->values)[at] = (float)value;
  else
    ((double *)chunk->values)[at] = value;
}

/* What one thread parses. */
struct job {
  const struct pd_tns_form *form;
  const char *text_end;
  bool truncated;
  struct pd_coordinates_chunk *chunk;
  struct pd_tns_piece *piece;
};

static uint64_t line_number(const struct pd_tns_piece *piece, const char *line) {
  return pd_tns_count_lines(piece->begin, line) + 1;
}

/* A line of any form: blank, a nonzero, or wrong (then false). `end` is its "\n". */
static bool take_line(const struct job *job, const char *p, const char *end) {
  uint64_t index[POLYAD_MAX_ORDER];
  double value;
  bool underflow = false, truncated = job->truncated && end + 1 == job->text_end;
  struct pd_tns_piece *piece = job->piece;
  int found =
      pd_tns_parse_line(job->form, p, end, truncated, index, &value, &underflow, &piece->error);
  if (found < 0) {
    piece->error_line = line_number(piece, p);
    return false;
  }
  if (underflow && piece->underflows++ == 0) piece->underflow_line = line_number(piece, p);
  if (found > 0) tns_block_put(job->form, job->form->order, job->chunk, piece, index, value);
  return true;
}

static inline void parse_lines(const struct job *job, int order) {
  const struct pd_tns_form *form = job->form;
  struct pd_tns_piece *piece = job->piece;
  uint64_t index[POLYAD_MAX_ORDER];
  double value = 0;
  const char *p = piece->begin;
  while (p < piece->end) {
    const char *next = form->pattern ? NULL : short_line(form, order, p, index, &value);
    if (next == NULL) next = fast_line(form, order, p, index, &value);
    if (next != NULL && (!form->single || (value <= FLT_MAX && value >= -FLT_MAX))) {
      tns_block_put(form, order, job->chunk, piece, index, value);
      p = next;
      continue;
    }
    const char *end = memchr(p, '\n', (size_t)(piece->end - p));
    if (!take_line(job, p, end)) break;
    p = end + 1;
  }
}

/* A line that is left over where others are parsed as vectors. */
static bool other_line(void *user, const char *p, const char *end, struct pd_tns_columns *columns) {
  const struct job *job = user;
  struct pd_tns_piece *piece = job->piece;
  uint64_t index[POLYAD_MAX_ORDER];
  double value = 0;
  bool fine = true;
  piece->count = columns->at - piece->first;
  if (fast_line(job->form, job->form->order, p, index, &value) != NULL)
    tns_block_put(job->form, job->form->order, job->chunk, piece, index, value);
  else
    fine = take_line(job, p, end);
  columns->at = piece->first + piece->count;
  return fine;
}

static void parse_vectors(struct job *job, pd_tns_vector_parser *parser) {
  struct pd_tns_piece *piece = job->piece;
  struct pd_tns_columns columns = {.values = job->chunk->values, .at = piece->first};
  for (int n = 0; n < job->form->order; ++n)
    columns.index[n] = job->chunk->index[n];
  parser(job->form, piece->begin, piece->end, other_line, job, &columns);
  piece->count = columns.at - piece->first;
  for (int n = 0; n < job->form->order; ++n)
    if (columns.largest[n] > piece->largest[n]) piece->largest[n] = columns.largest[n];
}

/* The orders of most tensors have loops of a known length. */
void pd_tns_parse_piece(const struct pd_tns_form *form, const char *text_end, bool truncated,
                        struct pd_coordinates_chunk *chunk, struct pd_tns_piece *piece) {
  struct job job = {form, text_end, truncated, chunk, piece};
  pd_tns_vector_parser *parser = chunk->index_bytes == 4 ? pd_tns_vector_parser_of(form) : NULL;
  if (parser != NULL)
    parse_vectors(&job, parser);
  else if (form->order == 3)
    parse_lines(&job, 3);
  else if (form->order == 4)
    parse_lines(&job, 4);
  else if (form->order == 5)
    parse_lines(&job, 5);
  else
    parse_lines(&job, form->order);
  for (int n = 0; chunk->index_bytes == 4 && n < form->order; ++n)
    piece->wide |= piece->largest[n] > UINT32_MAX;
}

/* Cuts the text at line ends into about equal pieces. */
static int tns_block_cut(const char *text, const char *end, int wanted,
                         struct pd_tns_piece *pieces) {
  int count = 0;
  const char *p = text;
  for (int k = 1; k <= wanted && p < end; ++k) {
    const char *stop = end;
    if (k < wanted) {
      stop = text + pd_part_begin((uint64_t)(end - text), k, wanted);
      if (stop < p) stop = p;
      const char *line_end = memchr(stop, '\n', (size_t)(end - stop));
      stop = line_end == NULL ? end : line_end + 1;
    }
    pieces[count++] = (struct pd_tns_piece){.begin = p, .end = stop};
    p = stop;
  }
  return count;
}

/* Closes the gaps that comments and blank lines left between the pieces' nonzeros. Returns how
 * many there are. */
static uint64_t compact(const struct pd_tns_form *form, struct pd_coordinates_chunk *chunk,
                        const struct pd_tns_piece *pieces, int count) {
  uint64_t at = chunk->count;
  size_t value_bytes = form->single ? 4 : 8, bytes = (size_t)chunk->index_bytes;
  for (int k = 0; k < count; ++k) {
    const struct pd_tns_piece *piece = &pieces[k];
    if (piece->first != at) {
      for (int n = 0; n < form->order; ++n)
        memmove((char *)chunk->index[n] + at * bytes,
                (char *)chunk->index[n] + piece->first * bytes, (size_t)piece->count * bytes);
      memmove((char *)chunk->values + at * value_bytes,
              (char *)chunk->values + piece->first * value_bytes,
              (size_t)piece->count * value_bytes);
    }
    at += piece->count;
  }
  return at - chunk->count;
}

/* Parses the pieces into the room behind the chunk's nonzeros. */
static polyad_status tns_block_parse(const struct pd_tns_form *form, const char *end,
                                     bool truncated, struct pd_coordinates *coordinates,
                                     struct pd_tns_piece *pieces, int count,
                                     struct pd_coordinates_chunk **chunk) {
  uint64_t room = 0;
  for (int k = 0; k < count; ++k)
    room += pieces[k].lines;
  PD_TRY(pd_coordinates_room(coordinates, room, chunk));
  uint64_t first = (*chunk)->count;
  for (int k = 0; k < count; ++k) {
    struct pd_tns_piece clean = {
        .begin = pieces[k].begin, .end = pieces[k].end, .lines = pieces[k].lines, .first = first};
    first += pieces[k].lines;
    pieces[k] = clean;
  }
#pragma omp parallel for num_threads(count) schedule(static, 1)
  for (int k = 0; k < count; ++k)
    pd_tns_parse_piece(form, end, truncated, *chunk, &pieces[k]);
  return POLYAD_OK;
}

static bool any_wide(const struct pd_tns_piece *pieces, int count) {
  bool wide = false;
  for (int k = 0; k < count; ++k)
    wide |= pieces[k].wide;
  return wide;
}

static void summarise(const struct pd_tns_form *form, struct pd_coordinates *coordinates,
                      const struct pd_tns_piece *pieces, int count, struct pd_tns_result *result) {
  for (int k = 0; k < count; ++k) {
    for (int n = 0; n < form->order; ++n)
      if (pieces[k].largest[n] > coordinates->largest[n])
        coordinates->largest[n] = pieces[k].largest[n];
    if (pieces[k].error_line > 0 && result->error_line == 0) {
      result->error_line = result->lines + pieces[k].error_line;
      result->error = pieces[k].error;
    }
    if (pieces[k].underflows > 0 && result->underflows == 0)
      result->underflow_line = result->lines + pieces[k].underflow_line;
    result->lines += pieces[k].lines;
    result->underflows += pieces[k].underflows;
  }
}

polyad_status pd_tns_parse_block(const struct pd_tns_form *form, const struct pd_tns_text *text,
                                 struct pd_coordinates *coordinates, struct pd_tns_result *result) {
  struct pd_tns_piece *pieces = NULL;
  struct pd_coordinates_chunk *chunk = NULL;
  polyad_context *context = coordinates->context;
  *result = (struct pd_tns_result){0};
  int wanted = pd_threads_for(context, (uint64_t)(text->end - text->begin), text->piece_bytes);
  if (wanted > PIECES_MAX) wanted = PIECES_MAX;
  PD_TRY(PD_NEW(context, (uint64_t)wanted, &pieces));
  int count = tns_block_cut(text->begin, text->end, wanted, pieces);
#pragma omp parallel for num_threads(count) schedule(static, 1)
  for (int k = 0; k < count; ++k)
    pieces[k].lines = pd_tns_count_lines(pieces[k].begin, pieces[k].end);
  polyad_status status =
      tns_block_parse(form, text->end, text->truncated, coordinates, pieces, count, &chunk);
  if (status == POLYAD_OK && any_wide(pieces, count)) {
    coordinates->index_bytes = 8;
    status = tns_block_parse(form, text->end, text->truncated, coordinates, pieces, count, &chunk);
  }
  if (status == POLYAD_OK) {
    summarise(form, coordinates, pieces, count, result);
    pd_coordinates_add(coordinates, compact(form, chunk, pieces, count));
  }
  pd_free(context, pieces);
  return status;
}
