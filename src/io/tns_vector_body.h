/* Lines of FROSTT text by vectors: indices of up to 8 digits with one blank behind each, then a
 * value.
 *
 * Text is taken in windows of 4 KiB, and in each by fields, whatever line they belong to, so that
 * no line waits for the one before it. A field is what ends at a byte that is no digit:
 * find_fields() lists where the fields of a window end, and by which bytes. find_numbers() makes
 * numbers of several fields at a time: the digits of each become 8 bytes of a vector, zeros in
 * front; two sums of neighbouring products make numbers of 4 digits, a third one of 8. Then each
 * line looks at a few bits: whether its indices end at blanks and have 1 to 8 digits, and what form
 * its value has. The parts of a value in front of and behind its point are two fields. Where all
 * lines of a window hold whole numbers, which a few bits of all fields tell, its columns are
 * copied.
 *
 * What an index may be is looked at afterwards, in the columns of a whole run of lines: a run with
 * an index that is out of range is parsed once more, line by line, by the caller's function.
 *
 * A file that includes this one first brings what its instruction set does in its own way:
 * store_places(), find_fields(), field_flags() and find_numbers(), on the fields below
 * (tns_vector_fields.h), and PD_TNS_VECTOR(), which puts its name behind theirs. */
/* Sets the flags of fields, and lists the lines. Fields behind the last line are forgotten. */
static void find_lines(struct fields *fields) {
  uint32_t lines = 0;
  for (uint32_t f = 0; f < fields->count; f += 64) {
    struct flags flags = PD_TNS_VECTOR(field_flags)(fields, f);
    if (fields->count - f < 64) flags.line &= ~UINT64_C(0) >> (64 - (fields->count - f));
    fields->size[f / 64] = flags.size;
    fields->odd[f / 64] = flags.size | ~flags.blank;
    PD_TNS_VECTOR(store_places)(flags.line, (uint16_t)f, fields->last + lines);
    lines += (uint32_t)__builtin_popcountll(flags.line);
  }
  fields->lines = lines;
  fields->count = lines == 0 ? 0 : fields->last[lines - 1] + 1u;
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
  if (last == f + 1 && (size & 3) == 0 && fields->text[fields->end[f]] == '.') {
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

/* Whether all lines have `order` indices and a whole number: `order + 1` fields of 1 to 8 digits,
 * all but the last of which end at blanks. Fields that end at no blank are then the last ones
 * alone. */
static bool all_whole(const struct fields *fields, int order) {
  uint32_t fields_of_line = (uint32_t)order + 1, odd = 0;
  uint16_t differ = 0, expected = (uint16_t)order;
  uint64_t size = 0;
  if (fields->count != fields->lines * fields_of_line) return false;
  for (uint32_t line = 0; line < fields->lines; ++line)
    differ |= (uint16_t)(fields->last[line] ^ (uint16_t)(expected + line * fields_of_line));
  for (uint32_t f = 0; f < fields->count; f += 64) {
    uint32_t left = fields->count - f;
    uint64_t mask = left < 64 ? ~UINT64_C(0) >> (64 - left) : ~UINT64_C(0);
    size |= fields->size[f / 64] & mask;
    odd += (uint32_t)__builtin_popcountll(fields->odd[f / 64] & mask);
  }
  return differ == 0 && size == 0 && odd == fields->lines;
}

/* Puts the indices of lines of which all_whole() is true. */
static inline __attribute__((always_inline)) void put_whole(const uint32_t *number, int order,
                                                            uint32_t lines, uint64_t at,
                                                            const struct pd_tns_columns *columns) {
  uint32_t *index[POLYAD_MAX_ORDER];
#pragma GCC unroll 8
  for (int n = 0; n < order; ++n)
    index[n] = columns->index[n] + at;
  for (uint32_t line = 0; line < lines; ++line, number += order + 1)
#pragma GCC unroll 8
    for (int n = 0; n < order; ++n)
      index[n][line] = number[n];
}

static bool take_whole(const struct window *window, struct pd_tns_columns *columns) {
  const int order = window->form->order;
  const uint32_t *number = window->fields->number, lines = window->fields->lines;
  const uint64_t begin = columns->at;
  if (order == 3)
    put_whole(number, 3, lines, begin, columns);
  else if (order == 4)
    put_whole(number, 4, lines, begin, columns);
  else if (order == 5)
    put_whole(number, 5, lines, begin, columns);
  else
    put_whole(number, order, lines, begin, columns);
  number += order;
  for (uint64_t at = begin; at < begin + lines; ++at, number += order + 1)
    if (window->form->single)
      ((float *)columns->values)[at] = (float)*number;
    else
      ((double *)columns->values)[at] = (double)*number;
  columns->at = begin + lines;
  return end_run(window, begin, 0, lines, columns);
}

static inline __attribute__((always_inline)) bool
take_window(const struct window *window, int order, struct pd_tns_columns *columns) {
  const struct fields *fields = window->fields;
  const bool single = window->form->single;
  if (all_whole(fields, order)) return take_whole(window, columns);
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

void PD_TNS_VECTOR(pd_tns_vector_lines)(const struct pd_tns_form *form, const char *text,
                                        const char *end, pd_tns_other_line *other, void *user,
                                        struct pd_tns_columns *columns) {
  struct fields fields;
  const struct window window = {form, &fields, other, user};
  fields.before_first = UINT16_MAX; /* -1 */
  while (text < end) {
    size_t size = (size_t)(end - text) < WINDOW ? (size_t)(end - text) : WINDOW;
    fields.text = text;
    PD_TNS_VECTOR(find_fields)(&fields, size);
    find_lines(&fields);
    if (fields.lines == 0) { /* a line that is longer */
      const char *stop = memchr(text + size, '\n', (size_t)(end - text) - size);
      if (!other(user, text, stop, columns)) return;
      text = stop + 1;
      continue;
    }
    PD_TNS_VECTOR(find_numbers)(&fields);
    text += fields.end[fields.count - 1] + 1;
    if (!take_lines(&window, columns)) return;
  }
}
