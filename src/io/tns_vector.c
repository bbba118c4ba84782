/* Lines of FROSTT text by AVX-512: indices of up to 8 digits with one blank behind each, then a
 * value.
 *
 * Text is taken in windows of 4 KiB, and in each by fields, whatever line they belong to, so that
 * no line waits for the one before it. A field is what ends at a byte that is no digit:
 * compressions list where the fields of a window end, and by which bytes. Eight fields at a time
 * become numbers: one permutation moves the digits of each to 8 bytes of its own, at their right
 * end; two sums of neighbouring products make numbers of 4 digits, a third one of 8. Then each line
 * looks at a few bits: whether its indices end at blanks and have 1 to 8 digits, and what form its
 * value has. The parts of a value in front of and behind its point are two fields.
 *
 * What an index may be is looked at afterwards, in the columns of a whole run of lines: a run with
 * an index that is out of range is parsed once more, line by line, by the caller's function. */
#include "io/tns_vector.h"
#include "io/tns_block.h"
#include "io/tns_fast.h"
#include <immintrin.h>
#include <stddef.h>

enum { WINDOW = 4096, STEP = 64, GROUP = 8, GROUP_BYTES = 128, DIGITS_MOST = 8 };
enum { FIELDS = WINDOW + 2 * STEP, FLAG_WORDS = FIELDS / 64 + 2 };

_Static_assert((int)PD_TNS_PADDING >= STEP + GROUP_BYTES, "what is read behind the text");
_Static_assert(POLYAD_MAX_ORDER + 2 <= 57, "the flags of a line are read at once");

/* The fields of a window of text. */
struct fields {
  const char *text;
  uint32_t count, lines;
  uint16_t before_first;     /* end[-1]: in front of the window */
  uint16_t end[FIELDS];      /* the offset of the byte behind each field */
  char byte[FIELDS];         /* that byte */
  uint16_t last[FIELDS];     /* of each line, the field that its "\n" ends */
  uint32_t number[FIELDS];   /* where the field has 1 to 8 digits */
  uint64_t odd[FLAG_WORDS];  /* bit f: field f ends at no blank, or has no digit or too many */
  uint64_t size[FLAG_WORDS]; /* bit f: it has no digit or too many */
};

_Static_assert(offsetof(struct fields, end) == offsetof(struct fields, before_first) + 2,
               "the end in front of the first one");

static inline __m512i ascending_bytes(void) {
  static const char places[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                  16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                  32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                  48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
  return _mm512_loadu_si512(places);
}

/* Stores the places of the bits of `found`, plus `first`, as 16-bit numbers. */
static inline void store_places(uint64_t found, uint16_t first, uint16_t *to) {
  __m512i places = _mm512_maskz_compress_epi8(found, ascending_bytes());
  __m512i add = _mm512_set1_epi16((short)first);
  __m512i low = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(places));
  _mm512_storeu_si512(to, _mm512_add_epi16(low, add));
  if (__builtin_popcountll(found) <= 32) return;
  __m512i high = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(places, 1));
  _mm512_storeu_si512(to + 32, _mm512_add_epi16(high, add));
}

/* Lists the fields of [text, text + size), size at most WINDOW. */
static void find_fields(struct fields *fields, size_t size) {
  uint32_t count = 0;
  for (size_t at = 0; at < size; at += STEP) {
    __m512i text = _mm512_loadu_si512(fields->text + at);
    __m512i digits = _mm512_sub_epi8(text, _mm512_set1_epi8('0'));
    uint64_t ends = _mm512_cmpgt_epu8_mask(digits, _mm512_set1_epi8(9));
    if (size - at < STEP) ends &= ~UINT64_C(0) >> (STEP - (size - at));
    store_places(ends, (uint16_t)at, fields->end + count);
    _mm512_storeu_si512(fields->byte + count, _mm512_maskz_compress_epi8(ends, text));
    count += (uint32_t)__builtin_popcountll(ends);
  }
  fields->count = count;
}

/* Sets the flags of fields, and lists the lines. Fields behind the last line are forgotten. */
static void find_lines(struct fields *fields) {
  const __m512i most = _mm512_set1_epi16(DIGITS_MOST - 1), two = _mm512_set1_epi16(2);
  uint32_t lines = 0;
  for (uint32_t f = 0; f < fields->count; f += 64) {
    uint64_t size = 0;
    for (uint32_t half = 0; half < 64; half += 32) {
      __m512i end = _mm512_loadu_si512(fields->end + f + half);
      __m512i before = _mm512_loadu_si512(&fields->before_first + f + half);
      __m512i spare = _mm512_sub_epi16(_mm512_sub_epi16(end, before), two);
      size |= (uint64_t)_mm512_cmpgt_epu16_mask(spare, most) << half;
    }
    __m512i byte = _mm512_loadu_si512(fields->byte + f);
    uint64_t blank = _mm512_cmpeq_epi8_mask(byte, _mm512_set1_epi8(' ')) |
                     _mm512_cmpeq_epi8_mask(byte, _mm512_set1_epi8('\t'));
    uint64_t line = _mm512_cmpeq_epi8_mask(byte, _mm512_set1_epi8('\n'));
    if (fields->count - f < 64) line &= ~UINT64_C(0) >> (64 - (fields->count - f));
    fields->size[f / 64] = size;
    fields->odd[f / 64] = size | ~blank;
    store_places(line, (uint16_t)f, fields->last + lines);
    lines += (uint32_t)__builtin_popcountll(line);
  }
  fields->lines = lines;
  fields->count = lines == 0 ? 0 : fields->last[lines - 1] + 1u;
}

/* Bytes of vectors that are the same for every group. */
struct patterns {
  __m512i field;  /* byte k of lane l is 2 l: where the end of field l stands */
  __m512i offset; /* byte k of a lane is k - 8: how far its digit lies in front of the end */
  __m512i narrow; /* where the numbers lie that are made */
};

static struct patterns make_patterns(void) {
  char field[64], offset[64];
  for (int k = 0; k < 64; ++k) {
    field[k] = (char)(k / 8 * 2);
    offset[k] = (char)(k % 8 - 8);
  }
  return (struct patterns){_mm512_loadu_si512(field), _mm512_loadu_si512(offset),
                           _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 13, 12, 9, 8, 5, 4, 1, 0)};
}

/* The numbers of GROUP fields from `f` on, which together have less than GROUP_BYTES bytes. */
static inline void group_numbers(const struct patterns *patterns, struct fields *fields, uint32_t f,
                                 uint16_t first) {
  const char *text = fields->text + first;
  __m128i from_here = _mm_set1_epi16((short)first);
  __m128i ends = _mm_loadu_si128((const __m128i *)(const void *)(fields->end + f));
  __m128i starts = _mm_loadu_si128((const __m128i *)(const void *)(&fields->before_first + f));
  __m512i end = _mm512_permutexvar_epi8(patterns->field,
                                        _mm512_castsi128_si512(_mm_sub_epi16(ends, from_here)));
  __m512i start = _mm512_permutexvar_epi8(patterns->field,
                                          _mm512_castsi128_si512(_mm_sub_epi16(starts, from_here)));
  __m512i place = _mm512_add_epi8(end, patterns->offset);
  __mmask64 inside = _mm512_cmpgt_epi8_mask(place, start);
  __m512i bytes = _mm512_maskz_permutex2var_epi8(inside, _mm512_loadu_si512(text), place,
                                                 _mm512_loadu_si512(text + STEP));
  bytes = _mm512_and_si512(bytes, _mm512_set1_epi8(15)); /* a digit becomes its value */
  __m512i pairs = _mm512_maddubs_epi16(bytes, _mm512_set1_epi16(1 << 8 | 10));
  __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(1 << 16 | 100));
  __m512i numbers =
      _mm512_madd_epi16(_mm512_packus_epi32(fours, fours), _mm512_set1_epi32(1 << 16 | 10000));
  numbers = _mm512_permutexvar_epi32(patterns->narrow, numbers);
  _mm256_storeu_si256((__m256i *)(void *)(fields->number + f), _mm512_castsi512_si256(numbers));
}

/* One field: the longer ones are not asked for. */
static void single_number(struct fields *fields, uint32_t f) {
  uint16_t first = (uint16_t)((&fields->before_first)[f] + 1);
  uint64_t number = 0;
  (void)pd_fast_digits(fields->text + first, &number);
  fields->number[f] = (uint32_t)number;
}

static void find_numbers(struct fields *fields) {
  const struct patterns patterns = make_patterns();
  for (uint32_t f = 0; f < fields->count; f += GROUP) {
    uint16_t first = (uint16_t)((&fields->before_first)[f] + 1);
    uint32_t last = f + GROUP <= fields->count ? f + GROUP : fields->count;
    if (fields->end[last - 1] - first < GROUP_BYTES)
      group_numbers(&patterns, fields, f, first);
    else
      for (uint32_t k = f; k < last; ++k)
        single_number(fields, k);
  }
}

/* The flags of the fields from `f` on; at least 57 bits are right. */
static inline uint64_t flags_from(const uint64_t *flags, uint32_t f) {
  uint64_t found;
  memcpy(&found, (const char *)flags + f / 8, sizeof found);
  return found >> f % 8;
}

/* A value of digits with a point among them. */
static inline double decimal(uint32_t whole, uint32_t fraction, unsigned digits) {
  static const double power[DIGITS_MOST + 1] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
  static const uint32_t scale[DIGITS_MOST + 1] = {1,      10,      100,      1000,     10000,
                                                  100000, 1000000, 10000000, 100000000};
  uint64_t mantissa = (uint64_t)whole * scale[digits] + fraction;
  /* 53 bits over an exact power of ten are rounded once. */
  if (mantissa <= UINT64_C(1) << 53) return (double)mantissa / power[digits];
  return pd_decimal_value(mantissa, -(int)digits);
}

/* A value of another form: fields from `f` on up to the line end, which field `last` has. */
static bool long_value(const struct fields *fields, uint32_t f, uint32_t last, double *value) {
  const char *end = fields->text + fields->end[last];
  const char *stop = pd_fast_value(fields->text + fields->end[f - 1] + 1, value);
  return stop != NULL && (stop == end || (*stop == '\r' && stop + 1 == end));
}

/* The value of the line whose fields are `first` to `last`; false when the line has another form.
 */
static inline __attribute__((always_inline)) bool
line_value(const struct fields *fields, int order, uint32_t first, uint32_t last, double *value) {
  uint32_t f = first + (uint32_t)order;
  uint64_t indices = (UINT64_C(1) << order) - 1;
  if (last < f || (flags_from(fields->odd, first) & indices) != 0) return false;
  uint64_t size = flags_from(fields->size, f);
  if (last == f && (size & 1) == 0) {
    *value = (double)fields->number[f];
    return true;
  }
  if (last == f + 1 && (size & 3) == 0 && fields->byte[f] == '.') {
    unsigned digits = (unsigned)(fields->end[last] - fields->end[f] - 1);
    *value = decimal(fields->number[f], fields->number[last], digits);
    return true;
  }
  return long_value(fields, f, last, value);
}

/* Lines of a window. */
struct window {
  const struct pd_tns_form *form;
  const struct fields *fields;
  pd_tns_other_line *other;
  void *user;
};

static bool take_other(const struct window *window, uint32_t line, struct pd_tns_columns *columns) {
  const struct fields *fields = window->fields;
  uint32_t begin = line == 0 ? 0 : fields->end[fields->last[line - 1]] + 1u;
  return window->other(window->user, fields->text + begin,
                       fields->text + fields->end[fields->last[line]], columns);
}

/* Makes indices of the numbers of one mode. Returns the largest; numbers that were too small have
 * become the largest of all. */
static uint32_t shift_column(uint32_t base, uint32_t *index, uint64_t count) {
  uint32_t largest = 0;
  for (uint64_t p = 0; p < count; ++p) {
    index[p] -= base;
    largest = index[p] > largest ? index[p] : largest;
  }
  return largest;
}

/* Ends a run of lines [first, line) whose numbers lie from place `begin` on. False: stop. */
static bool end_run(const struct window *window, uint64_t begin, uint32_t first, uint32_t line,
                    struct pd_tns_columns *columns) {
  const struct pd_tns_form *form = window->form;
  uint32_t largest[POLYAD_MAX_ORDER];
  bool fine = true;
  if (columns->at == begin) return true;
  for (int n = 0; n < form->order; ++n) {
    largest[n] = shift_column((uint32_t)form->base, columns->index[n] + begin, columns->at - begin);
    fine = fine && largest[n] < UINT32_MAX && (form->dims == NULL || largest[n] < form->dims[n]);
  }
  if (fine) {
    for (int n = 0; n < form->order; ++n)
      if (largest[n] > columns->largest[n]) columns->largest[n] = largest[n];
    return true;
  }
  columns->at = begin;
  for (; first < line; ++first)
    if (!take_other(window, first, columns)) return false;
  return true;
}

static inline __attribute__((always_inline)) bool
take_window(const struct window *window, int order, struct pd_tns_columns *columns) {
  const struct fields *fields = window->fields;
  const bool single = window->form->single;
  uint64_t begin = columns->at, at = begin;
  uint32_t run = 0, first = 0, last;
  double value;
  for (uint32_t line = 0; line < fields->lines; ++line, first = last + 1) {
    last = fields->last[line];
    if (line_value(fields, order, first, last, &value)) {
#pragma GCC unroll 8
      for (int n = 0; n < order; ++n)
        columns->index[n][at] = fields->number[first + (uint32_t)n];
      if (single)
        ((float *)columns->values)[at++] = (float)value;
      else
        ((double *)columns->values)[at++] = value;
      continue;
    }
    columns->at = at;
    if (!end_run(window, begin, run, line, columns)) return false;
    if (!take_other(window, line, columns)) return false;
    begin = at = columns->at;
    run = line + 1;
  }
  columns->at = at;
  return end_run(window, begin, run, fields->lines, columns);
}

/* The orders of most tensors have loops of a known length. */
static bool take_lines(const struct window *window, struct pd_tns_columns *columns) {
  switch (window->form->order) {
  case 3:
    return take_window(window, 3, columns);
  case 4:
    return take_window(window, 4, columns);
  case 5:
    return take_window(window, 5, columns);
  default:
    return take_window(window, window->form->order, columns);
  }
}

void pd_tns_vector_lines(const struct pd_tns_form *form, const char *text, const char *end,
                         pd_tns_other_line *other, void *user, struct pd_tns_columns *columns) {
  struct fields fields;
  const struct window window = {form, &fields, other, user};
  fields.before_first = UINT16_MAX; /* -1 */
  while (text < end) {
    size_t size = (size_t)(end - text) < WINDOW ? (size_t)(end - text) : WINDOW;
    fields.text = text;
    find_fields(&fields, size);
    find_lines(&fields);
    if (fields.lines == 0) { /* a line that is longer */
      const char *stop = memchr(text + size, '\n', (size_t)(end - text) - size);
      if (!other(user, text, stop, columns)) return;
      text = stop + 1;
      continue;
    }
    find_numbers(&fields);
    text += fields.end[fields.count - 1] + 1;
    if (!take_lines(&window, columns)) return;
  }
}
