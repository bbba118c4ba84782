/* Tensor Toolbox text: recognising it, and reading an sptensor. */
#include "io/formats.h"
#include "io/number.h"
#include <string.h>

static const char *const words[] = {"sptensor", "ktensor", "ttensor", "tensor", "matrix"};

/* Length of the known word that the data begins with, as a word of its own; 0 when none. */
static size_t known_word(const unsigned char *data, size_t size) {
  for (size_t k = 0; k < sizeof words / sizeof *words; ++k) {
    size_t length = strlen(words[k]);
    if (size >= length && memcmp(data, words[k], length) == 0 &&
        (size == length || data[length] <= ' '))
      return length;
  }
  return 0;
}

/* Length of a byte order mark of UTF-8 in front. */
static size_t mark_length(const unsigned char *data, size_t size) {
  return size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

bool pd_toolbox_recognise(const unsigned char *head, size_t size) {
  size_t mark = mark_length(head, size);
  return known_word(head + mark, size - mark) > 0;
}

/* The header in the first bytes of the input. */
struct header {
  polyad_context *context;
  const char *path;
  struct pd_input *input;
  const char *line, *p, *end; /* of the present line; of the next; of the bytes */
  uint64_t lines;
  bool drained; /* nothing is left to read */
};

/* Where the first bytes end, the data ends too, or cannot be read further. */
static polyad_status drain(struct header *h) {
  unsigned char byte;
  size_t left, got;
  const unsigned char *data;
  if (h->drained) return POLYAD_OK;
  PD_TRY(pd_input_peek(h->input, &data, &left));
  pd_input_skip(h->input, left);
  h->drained = true;
  if (pd_input_read(h->input, &byte, 1, &got) != POLYAD_OK)
    return pd_input_error(h->input, h->lines - 1);
  if (got > 0)
    return pd_fail_at(h->context, POLYAD_PARSE, h->path, h->lines, 1,
                      "a header line of more than %zu bytes; expected a few numbers", left);
  return POLYAD_OK;
}

static polyad_status fail_end(struct header *h, const char *expected) {
  PD_TRY(drain(h));
  return pd_fail_at(h->context, POLYAD_PARSE, h->path, h->lines, 0,
                    "the file ends here; expected %s", expected);
}

static uint64_t column(const struct header *h, const char *at) {
  return (uint64_t)(at - h->line) + 1;
}

/* The next line, as [*text, *stop). */
static polyad_status next_line(struct header *h, const char *expected, const char **text,
                               const char **stop) {
  ++h->lines;
  if (h->p >= h->end) return fail_end(h, expected);
  const char *line_end = memchr(h->p, '\n', (size_t)(h->end - h->p));
  if (line_end == NULL) PD_TRY(drain(h));
  h->line = *text = h->p;
  *stop = line_end == NULL ? h->end : line_end;
  h->p = line_end == NULL ? h->end : line_end + 1;
  while (*stop > *text && ((*stop)[-1] == '\r' || (*stop)[-1] == ' ' || (*stop)[-1] == '\t'))
    --*stop;
  while (*text < *stop && (**text == ' ' || **text == '\t'))
    ++*text;
  return POLYAD_OK;
}

static polyad_status header_integers(struct header *h, const char *what, int count, uint64_t least,
                                     uint64_t most, uint64_t *values) {
  const char *text, *stop;
  char quoted[PD_QUOTE_BYTES];
  PD_TRY(next_line(h, what, &text, &stop));
  const char *p = text;
  int found = 0;
  while (p < stop) {
    const char *token = p;
    while (p < stop && *p != ' ' && *p != '\t')
      ++p;
    uint64_t value = 0;
    if (pd_parse_index(token, p, &value) != PD_NUMBER_OK || value < least || value > most)
      return pd_fail_at(h->context, POLYAD_PARSE, h->path, h->lines, column(h, token),
                        "%s; expected %s: integers from %llu to %llu",
                        pd_quote(quoted, token, (size_t)(p - token)), what,
                        (unsigned long long)least, (unsigned long long)most);
    if (found < count) values[found] = value;
    ++found;
    while (p < stop && (*p == ' ' || *p == '\t'))
      ++p;
  }
  if (found != count)
    return pd_fail_at(h->context, POLYAD_PARSE, h->path, h->lines, 1,
                      "%d numbers; expected %s: %d of them", found, what, count);
  return POLYAD_OK;
}

static polyad_status header_word(struct header *h) {
  const char *text, *stop;
  char quoted[PD_QUOTE_BYTES];
  PD_TRY(next_line(h, "the word sptensor", &text, &stop));
  size_t length = (size_t)(stop - text);
  if (length == 8 && memcmp(text, "sptensor", 8) == 0) return POLYAD_OK;
  if (known_word((const unsigned char *)text, length) == length && length > 0)
    return pd_fail_at(h->context, POLYAD_PARSE, h->path, 1, 1,
                      "a %.*s; expected a sparse tensor (sptensor)", (int)length, text);
  return pd_fail_at(h->context, POLYAD_PARSE, h->path, 1, 1,
                    "%s; expected one of sptensor, ktensor, ttensor, tensor, matrix",
                    pd_quote(quoted, text, length));
}

polyad_status pd_toolbox_read(polyad_context *context, const char *path, struct pd_input *input,
                              const polyad_read_options *options, polyad_tensor **tensor) {
  (void)path; /* the input has its name */
  const unsigned char *data;
  size_t size;
  PD_TRY(pd_input_peek(input, &data, &size));
  const char *begin = (const char *)data;
  struct header h = {.context = context,
                     .path = pd_input_path(input),
                     .input = input,
                     .p = begin + mark_length(data, size),
                     .end = begin + size};
  if (size == 0)
    return pd_fail_at(context, POLYAD_PARSE, h.path, 0, 0,
                      "file is empty; expected Tensor Toolbox text");
  uint64_t order, nnz, dims[POLYAD_MAX_ORDER];
  PD_TRY(header_word(&h));
  PD_TRY(header_integers(&h, "the number of modes", 1, 1, POLYAD_MAX_ORDER, &order));
  PD_TRY(header_integers(&h, "the length of each mode", (int)order, 1, (uint64_t)INT64_MAX, dims));
  PD_TRY(header_integers(&h, "the number of nonzeros", 1, 0, (uint64_t)INT64_MAX, &nnz));
  if (options->order > 0 && options->order != (int)order)
    return pd_fail_at(context, POLYAD_MISMATCH, h.path, 2, 1,
                      "%llu modes; expected %d, as the given dims have", (unsigned long long)order,
                      options->order);
  polyad_read_options body = *options;
  if (options->order == 0) memcpy(body.dims, dims, sizeof dims);
  body.order = (int)order;
  if (!h.drained) pd_input_skip(input, (size_t)(h.p - begin));
  return pd_tns_read_body(context, input, &body, nnz, h.lines, tensor);
}
