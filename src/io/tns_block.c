#include "io/tns_block.h"
#include "io/number.h"
#include <float.h>
#include <string.h>

enum { PIECES_MAX = 256, PIECE_BYTES = 64 << 10 };

/* The lines of one thread. */
struct piece {
  const char *begin, *end;
  uint64_t lines; /* line ends */
  uint64_t first; /* place of its first nonzero in the chunk */
  uint64_t count;
  uint64_t largest[POLYAD_MAX_ORDER];
  uint64_t error_line; /* from 1 within the piece; 0: none */
  struct pd_tns_error error;
  uint64_t underflows;
  bool wide; /* met an index that 32 bits do not hold */
};

static uint64_t count_lines(const char *p, const char *end) {
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

/* Plain decimal digits, then a blank or the end of the line; NULL sends the line to the slow
 * path, which knows every other form and every error. */
static const char *fast_index(const char *p, uint64_t *value) {
  uint64_t sum = 0;
  const char *start = p;
  for (;; ++p) {
    unsigned digit = (unsigned)(unsigned char)*p - '0';
    if (digit > 9) break;
    sum = sum * 10 + digit;
  }
  if (p == start || p - start > 18) return NULL;
  *value = sum;
  return p;
}

static const double exact_power[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Up to 15 digits with at most one point: exact without rounding twice. */
static const char *fast_value(const char *p, double *value) {
  bool negative = *p == '-';
  p += negative;
  uint64_t mantissa = 0;
  int digits = 0, fraction = 0;
  for (;; ++p, ++digits) {
    unsigned digit = (unsigned)(unsigned char)*p - '0';
    if (digit > 9) break;
    mantissa = mantissa * 10 + digit;
  }
  if (*p == '.') {
    for (++p;; ++p, ++fraction) {
      unsigned digit = (unsigned)(unsigned char)*p - '0';
      if (digit > 9) break;
      mantissa = mantissa * 10 + digit;
    }
  }
  if (digits + fraction < 1 || digits + fraction > 15) return NULL;
  double magnitude = (double)mantissa / exact_power[fraction];
  *value = negative ? -magnitude : magnitude;
  return p;
}

static const char *skip_blanks(const char *p) {
  while (*p == ' ' || *p == '\t')
    ++p;
  return p;
}

/* One line by the common form; NULL when it has another. Reads up to its '\n', which is there. */
static const char *fast_line(const struct pd_tns_form *form, const char *p, uint64_t *index,
                             double *value) {
  for (int n = 0; n < form->order; ++n) {
    p = skip_blanks(p);
    uint64_t raw;
    p = fast_index(p, &raw);
    if (p == NULL || raw < form->base) return NULL;
    index[n] = raw - form->base;
    if (form->dims != NULL && index[n] >= form->dims[n]) return NULL;
    if (*p != ' ' && *p != '\t' && !(form->pattern && n + 1 == form->order)) return NULL;
  }
  *value = 1;
  p = skip_blanks(p);
  if (!form->pattern) {
    p = fast_value(p, value);
    if (p == NULL) return NULL;
    p = skip_blanks(p);
  }
  p += *p == '\r';
  return *p == '\n' ? p + 1 : NULL;
}

static void put(const struct pd_tns_form *form, struct pd_chunk *chunk, struct piece *piece,
                const uint64_t *index, double value) {
  uint64_t at = piece->first + piece->count++;
  for (int n = 0; n < form->order; ++n) {
    if (index[n] > piece->largest[n]) piece->largest[n] = index[n];
    if (chunk->index_bytes == 4) {
      ((uint32_t *)chunk->index[n])[at] = (uint32_t)index[n];
      piece->wide |= index[n] > UINT32_MAX;
    } else {
      ((uint64_t *)chunk->index[n])[at] = index[n];
    }
  }
  if (form->single)
    ((float *)chunk->values)[at] = (float)value;
  else
    ((double *)chunk->values)[at] = value;
}

static void parse_piece(const struct pd_tns_form *form, bool final, const char *text_end,
                        struct pd_chunk *chunk, struct piece *piece) {
  uint64_t index[POLYAD_MAX_ORDER], line = 0;
  double value = 0;
  const char *p = piece->begin;
  while (p < piece->end) {
    const char *end = memchr(p, '\n', (size_t)(piece->end - p));
    ++line;
    const char *after = end == NULL ? piece->end : end + 1;
    if (end != NULL) {
      const char *next = fast_line(form, p, index, &value);
      if (next == after && (!form->single || (value <= FLT_MAX && value >= -FLT_MAX))) {
        put(form, chunk, piece, index, value);
        p = next;
        continue;
      }
    }
    bool underflow = false, last = final && end == NULL && piece->end == text_end;
    int found = pd_tns_parse_line(form, p, end == NULL ? piece->end : end, last, index, &value,
                                  &underflow, &piece->error);
    if (found < 0) {
      piece->error_line = line;
      return;
    }
    piece->underflows += underflow;
    if (found > 0) put(form, chunk, piece, index, value);
    p = after;
  }
}

/* Cuts the text at line ends into about equal pieces. */
static int cut(const char *text, const char *end, int wanted, struct piece *pieces) {
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
    pieces[count++] = (struct piece){.begin = p, .end = stop};
    p = stop;
  }
  return count;
}

/* Closes the gaps that comments and blank lines left between the pieces' nonzeros. */
static void compact(const struct pd_tns_form *form, struct pd_chunk *chunk,
                    const struct piece *pieces, int count) {
  uint64_t at = 0;
  size_t value_bytes = form->single ? 4 : 8, bytes = (size_t)chunk->index_bytes;
  for (int k = 0; k < count; ++k) {
    const struct piece *piece = &pieces[k];
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
  chunk->count = at;
}

/* One pass with indices of the given width; *wide tells that 32 bits were too few. */
static polyad_status parse(const struct pd_tns_form *form, const char *end, bool final,
                           struct pd_coordinates *coordinates, struct piece *pieces, int count,
                           int index_bytes, struct pd_chunk **chunk, bool *wide) {
  uint64_t room = 0;
  for (int k = 0; k < count; ++k) {
    struct piece clean = {
        .begin = pieces[k].begin, .end = pieces[k].end, .lines = pieces[k].lines, .first = room};
    room += pieces[k].lines + 1; /* the last line may have no line end */
    pieces[k] = clean;
  }
  PD_TRY(pd_chunk_create(coordinates->context, form->order, coordinates->type, room, index_bytes,
                         chunk));
#pragma omp parallel for num_threads(count) schedule(static, 1)
  for (int k = 0; k < count; ++k)
    parse_piece(form, final, end, *chunk, &pieces[k]);
  *wide = false;
  for (int k = 0; k < count; ++k)
    *wide |= pieces[k].wide;
  return POLYAD_OK;
}

static void summarise(const struct pd_tns_form *form, struct pd_coordinates *coordinates,
                      const struct piece *pieces, int count, struct pd_tns_result *result) {
  for (int k = 0; k < count; ++k) {
    for (int n = 0; n < form->order; ++n)
      if (pieces[k].largest[n] > coordinates->largest[n])
        coordinates->largest[n] = pieces[k].largest[n];
    if (pieces[k].error_line > 0 && result->error_line == 0) {
      result->error_line = result->lines + pieces[k].error_line;
      result->error = pieces[k].error;
    }
    result->lines += pieces[k].lines;
    result->underflows += pieces[k].underflows;
  }
}

polyad_status pd_tns_parse_block(const struct pd_tns_form *form, const char *text, const char *end,
                                 bool final, struct pd_coordinates *coordinates,
                                 struct pd_tns_result *result) {
  struct piece *pieces = NULL;
  struct pd_chunk *chunk = NULL;
  polyad_context *context = coordinates->context;
  *result = (struct pd_tns_result){0};
  int wanted = pd_threads_for(context, (uint64_t)(end - text), PIECE_BYTES);
  if (wanted > PIECES_MAX) wanted = PIECES_MAX;
  PD_TRY(PD_NEW(context, (uint64_t)wanted, &pieces));
  int count = cut(text, end, wanted, pieces);
#pragma omp parallel for num_threads(wanted) schedule(static, 1)
  for (int k = 0; k < count; ++k)
    pieces[k].lines = count_lines(pieces[k].begin, pieces[k].end);
  bool wide = false;
  polyad_status status = parse(form, end, final, coordinates, pieces, count, 4, &chunk, &wide);
  if (status == POLYAD_OK && wide) {
    pd_chunk_destroy(context, chunk, form->order);
    status = parse(form, end, final, coordinates, pieces, count, 8, &chunk, &wide);
  }
  if (status == POLYAD_OK) {
    summarise(form, coordinates, pieces, count, result);
    compact(form, chunk, pieces, count);
    if (chunk->count > 0)
      pd_coordinates_append(coordinates, chunk);
    else
      pd_chunk_destroy(context, chunk, form->order);
  }
  pd_free(context, pieces);
  return status;
}
