#include "io/delimited_block.h"
#include "io/tns_block.h"
#include <math.h>
#include <string.h>

/* While threads work the dictionaries do not change: what they do not have goes to tables of each
 * thread, under numbers with the highest bit set, and gets its number in the order of the file
 * afterwards. */
static const uint32_t FRESH = UINT32_C(1) << 31;
enum { LEAST_BYTES = 64 << 10, LABEL_BYTES = 32 };

struct piece {
  const char *begin, *end;
  uint64_t lines, first; /* rows, and the place of the first in the chunk */
  struct pd_fresh *fresh;
  uint32_t currency; /* of the values so far */
  uint64_t underflows;
  bool failed;
};

polyad_status pd_block_open(struct pd_block *b) {
  PD_TRY(PD_NEW(b->context, b->plan->count, &b->role));
  for (size_t c = 0; c < b->plan->count; ++c)
    b->role[c] = c == b->plan->value ? PD_ROLE_VALUE : PD_ROLE_NONE;
  for (int n = b->plan->order - 1; n >= 0; --n) {
    int16_t *first = &b->role[b->plan->mode[n].column];
    b->next[n] = *first;
    *first = (int16_t)n;
  }
  return POLYAD_OK;
}

static void delimited_block_clear(struct pd_block *b) {
  for (int t = 0; t < PD_BLOCK_THREADS; ++t)
    for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
      PD_FREE(b->context, b->fresh[t][n].label, b->fresh[t][n].slot, b->fresh[t][n].made);
      b->fresh[t][n] = (struct pd_fresh){0};
    }
  b->rows = 0;
}

void pd_block_close(struct pd_block *b) {
  delimited_block_clear(b);
  pd_free(b->context, b->role);
}

/* Tables that the rows of a piece cannot overfill. */
static polyad_status reserve(struct pd_block *b, int threads, uint64_t rows) {
  if (rows <= b->rows && b->fresh[threads - 1][0].label != NULL) return POLYAD_OK;
  rows += rows / 4; /* later pieces may have a few more */
  if (rows < b->rows) rows = b->rows;
  delimited_block_clear(b);
  for (b->slots = 1024; b->slots < 2 * rows;)
    b->slots *= 2;
  for (int t = 0; t < threads; ++t)
    for (int n = 0; n < b->plan->order; ++n) {
      struct pd_fresh *fresh = &b->fresh[t][n];
      PD_TRY(PD_NEW(b->context, rows, &fresh->label));
      PD_TRY(PD_NEW(b->context, b->slots, &fresh->slot));
      if (b->plan->mode[n].grid != PD_GRID_NONE)
        PD_TRY(PD_NEW(b->context, rows * LABEL_BYTES, &fresh->made));
    }
  b->rows = rows;
  return POLYAD_OK;
}

static bool same(const struct pd_fresh_label *label, const char *text, size_t length) {
  return label->length == length && memcmp(label->text, text, length) == 0;
}

/* The number of a label, in the dictionary or in the thread's table. */
static uint32_t delimited_block_number_of(const struct pd_block *b, int mode,
                                          struct pd_fresh *fresh, const char *text, size_t length,
                                          bool made) {
  const struct pd_dictionary *dictionary = &b->dictionary[mode];
  if (!made && fresh->last.text != NULL && same(&fresh->last, text, length))
    return fresh->last.number; /* neighbouring rows often share labels */
  uint32_t number;
  uint64_t hash = pd_dictionary_hash(dictionary, text, length);
  if (!pd_dictionary_find(dictionary, text, length, hash, &number)) {
    uint64_t at = hash & (b->slots - 1);
    while (fresh->slot[at] != 0) {
      const struct pd_fresh_label *label = &fresh->label[fresh->slot[at] - 1];
      if (label->hash == hash && same(label, text, length)) break;
      at = (at + 1) & (b->slots - 1);
    }
    if (fresh->slot[at] == 0) {
      if (made) text = memcpy(fresh->made + (size_t)fresh->count * LABEL_BYTES, text, length);
      fresh->label[fresh->count] = (struct pd_fresh_label){text, length, hash, 0};
      fresh->slot[at] = ++fresh->count;
    }
    number = FRESH | (fresh->slot[at] - 1);
  }
  if (!made) fresh->last = (struct pd_fresh_label){text, length, hash, number};
  return number;
}

static bool delimited_block_take_label(const struct pd_block *b, int mode, struct pd_fresh *fresh,
                                       const char *text, size_t length, uint32_t *number) {
  const struct pd_mode_column *column = &b->plan->mode[mode];
  if (column->grid == PD_GRID_NONE) {
    *number = delimited_block_number_of(b, mode, fresh, text, length, false);
    return true;
  }
  char label[LABEL_BYTES];
  if (!pd_grid_label(b->plan, mode, text, length, label, &length, NULL)) return false;
  *number = delimited_block_number_of(b, mode, fresh, label, length, true);
  return true;
}

static bool take_value(const struct pd_block *b, struct piece *piece, const char *text,
                       size_t length, void *values, uint64_t at) {
  struct pd_written_number number = {.value = 1};
  if (text != NULL && !pd_written_number_read(b->plan->numbers, text, length, &number, NULL))
    return false;
  if (number.currency != 0) {
    if (piece->currency != 0 && piece->currency != number.currency) return false;
    piece->currency = number.currency;
  }
  piece->underflows += number.underflow;
  if (b->coordinates->type == POLYAD_F64) {
    ((double *)values)[at] = number.value;
    return isfinite(number.value);
  }
  ((float *)values)[at] = (float)number.value;
  piece->underflows += pd_becomes_zero(number.value);
  return isfinite((float)number.value);
}

/* One row, whose line ends at `end`; false for what single rows are for. */
static bool delimited_block_take_row(const struct pd_block *b, struct piece *piece, const char *p,
                                     const char *end, struct pd_coordinates_chunk *chunk,
                                     uint64_t at) {
  const char *value = NULL;
  size_t value_length = 0, column = 0;
  if (end > p && end[-1] == '\r') --end;
  if (p == end) return false;
  for (;; ++column) {
    const char *stop = p;
    while (stop < end && *stop != b->delimiter)
      ++stop;
    if (column == b->plan->count) return false;
    size_t length = (size_t)(stop - p);
    for (int n = b->role[column]; n >= 0; n = b->next[n])
      if (!delimited_block_take_label(b, n, &piece->fresh[n], p, length,
                                      (uint32_t *)chunk->index[n] + at))
        return false;
    if (b->role[column] == PD_ROLE_VALUE) {
      value = p;
      value_length = length;
    }
    if (stop == end) break;
    p = stop + 1;
  }
  return column + 1 == b->plan->count &&
         take_value(b, piece, value, value_length, chunk->values, at);
}

static void take_piece(const struct pd_block *b, struct piece *piece,
                       struct pd_coordinates_chunk *chunk) {
  for (int n = 0; n < b->plan->order; ++n) {
    memset(piece->fresh[n].slot, 0, (size_t)b->slots * sizeof *piece->fresh[n].slot);
    piece->fresh[n].count = 0;
    piece->fresh[n].last.text = NULL;
  }
  const char *p = piece->begin;
  for (uint64_t row = 0; row < piece->lines && !piece->failed; ++row) {
    const char *end = memchr(p, '\n', (size_t)(piece->end - p));
    piece->failed = !delimited_block_take_row(b, piece, p, end, chunk, piece->first + row);
    p = end + 1;
  }
}

/* New labels get their numbers in the order of the file. */
static polyad_status number_fresh(struct pd_block *b, const struct piece *pieces, int count) {
  for (int n = 0; n < b->plan->order; ++n)
    for (int t = 0; t < count; ++t)
      for (uint32_t k = 0; k < pieces[t].fresh[n].count; ++k) {
        struct pd_fresh_label *label = &pieces[t].fresh[n].label[k];
        PD_TRY(pd_dictionary_number(&b->dictionary[n], label->text, label->length, &label->number));
      }
  return POLYAD_OK;
}

static void put_numbers(const struct pd_block *b, const struct piece *piece,
                        struct pd_coordinates_chunk *chunk) {
  for (int n = 0; n < b->plan->order; ++n) {
    uint32_t *index = (uint32_t *)chunk->index[n] + piece->first;
    const struct pd_fresh *fresh = &piece->fresh[n];
    for (uint64_t p = 0; p < piece->lines && fresh->count > 0; ++p)
      if ((index[p] & FRESH) != 0) index[p] = fresh->label[index[p] & ~FRESH].number;
  }
}

/* Whether no field of the text can be a quoted one, and all numbers are below FRESH. */
static bool suits(const struct pd_block *b, const char *begin, const char *end) {
  for (int n = 0; n < b->plan->order; ++n)
    if (b->dictionary[n].labels.count >= FRESH) return false;
  return memchr(begin, '"', (size_t)(end - begin)) == NULL &&
         memchr(begin, '\0', (size_t)(end - begin)) == NULL;
}

/* About equal pieces of whole lines. */
static int delimited_block_cut(struct pd_block *b, const char *begin, const char *end,
                               struct piece *pieces) {
  int wanted = pd_threads_for(b->context, (uint64_t)(end - begin), LEAST_BYTES), count = 0;
  if (wanted > PD_BLOCK_THREADS) wanted = PD_BLOCK_THREADS;
  const char *p = begin;
  for (int t = 0; t < wanted && p < end; ++t) {
    const char *stop = begin + pd_part_begin((uint64_t)(end - begin), t + 1, wanted);
    if (stop < p) stop = p;
    if (stop < end) stop = (const char *)memchr(stop, '\n', (size_t)(end - stop)) + 1;
    pieces[count] = (struct piece){
        .begin = p, .end = stop, .fresh = b->fresh[count], .currency = b->plan->currency};
    ++count;
    p = stop;
  }
  return count;
}

/* Whether all rows could be taken and their values are in one currency, which `currency` gets. */
static bool pieces_hold(const struct piece *pieces, int count, uint32_t *currency) {
  uint32_t found = *currency;
  for (int t = 0; t < count; ++t) {
    if (pieces[t].failed || (found != 0 && pieces[t].currency != 0 && pieces[t].currency != found))
      return false;
    if (found == 0) found = pieces[t].currency;
  }
  *currency = found;
  return true;
}

polyad_status pd_block_take(struct pd_block *b, const char *begin, const char *end, uint64_t *lines,
                            bool *taken) {
  struct piece pieces[PD_BLOCK_THREADS];
  struct pd_coordinates_chunk *chunk;
  *taken = false;
  if (!suits(b, begin, end)) return POLYAD_OK;
  int count = delimited_block_cut(b, begin, end, pieces);
#pragma omp parallel for num_threads(count) schedule(static, 1)
  for (int t = 0; t < count; ++t)
    pieces[t].lines = pd_tns_count_lines(pieces[t].begin, pieces[t].end);
  uint64_t rows = 0, most = 0;
  for (int t = 0; t < count; ++t) {
    pieces[t].first = rows;
    rows += pieces[t].lines;
    if (pieces[t].lines > most) most = pieces[t].lines;
  }
  PD_TRY(reserve(b, count, most));
  PD_TRY(pd_coordinates_room(b->coordinates, rows, &chunk));
  for (int t = 0; t < count; ++t)
    pieces[t].first += chunk->count;
#pragma omp parallel for num_threads(count) schedule(static, 1)
  for (int t = 0; t < count; ++t)
    take_piece(b, &pieces[t], chunk);
  if (!pieces_hold(pieces, count, &b->plan->currency)) return POLYAD_OK;
  PD_TRY(number_fresh(b, pieces, count));
#pragma omp parallel for num_threads(count) schedule(static, 1)
  for (int t = 0; t < count; ++t)
    put_numbers(b, &pieces[t], chunk);
  for (int t = 0; t < count; ++t)
    b->underflows += pieces[t].underflows;
  pd_coordinates_add(b->coordinates, rows);
  *lines = rows;
  *taken = true;
  return POLYAD_OK;
}
