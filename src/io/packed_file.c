#include "io/packed_file.h"
#include "io/decoder.h"
#include "io/formats.h"
#include "io/sorted_runs.h"
#include "io/tns_line.h"
#include <string.h>
#include <sys/stat.h>

enum { RUN_MOST = 1 << 30 }; /* bytes of memory for a run: more of them cost little */

/* ---- which file --------------------------------------------------------------------------------
 */

/* The format that reading would take; NULL: of no name that is known, text unless its first bytes
 * tell otherwise. */
static const struct pd_file_format *named(const char *path, const polyad_read_options *options) {
  return options->format == POLYAD_FILE_AUTO ? pd_file_format_by_name(path, POLYAD_CONTENTS_TENSOR)
                                             : pd_file_format_numbered(options->format);
}

/* Whether an open input is text of indices. */
static bool holds_indices(struct pd_input *input, const struct pd_file_format *format) {
  const struct pd_file_format *found = pd_file_format_recognise(input);
  return found == NULL && (format == NULL || format->number == POLYAD_FILE_TNS);
}

/* ---- text --------------------------------------------------------------------------------------
 */

struct pack {
  struct pd_runs runs;
  struct pd_tns_sink sink;
  uint64_t dims[POLYAD_MAX_ORDER];
};

static polyad_status take_nonzeros(void *user, struct pd_coordinates *c, const uint64_t *dims,
                                   bool last) {
  struct pack *pack = user;
  uint64_t each = pd_runs_entry_bytes(c->order, c->type, c->index_bytes);
  if (pd_cancelled(c->context))
    return pd_fail(c->context, POLYAD_CANCELLED, "reading was cancelled");
  if (!last && c->count < pack->sink.memory / each) return POLYAD_OK;
  pack->runs.order = c->order; /* there may be no run at all to take them from */
  pack->runs.type = c->type;
  for (int n = 0; last && n < c->order; ++n)
    pack->dims[n] = dims != NULL ? dims[n] : c->largest[n] + 1;
  return c->count > 0 ? pd_runs_take(&pack->runs, c) : POLYAD_OK;
}

static polyad_status pack_text(polyad_context *context, struct pd_input *input,
                               const polyad_read_options *options, const char *directory,
                               struct pd_spill *packed) {
  struct pack pack;
  uint64_t used = polyad_memory_in_use(context), limit = polyad_memory_limit(context);
  PD_TRY(pd_runs_create(context, directory, &pack.runs));
  pack.sink = (struct pd_tns_sink){take_nonzeros, &pack, limit > used ? (limit - used) / 2 : 0};
  if (pack.sink.memory > RUN_MOST) pack.sink.memory = RUN_MOST;
  polyad_status status = pd_tns_read_into(context, input, options, &pack.sink);
  if (status == POLYAD_OK)
    status = pd_runs_merge(&pack.runs, pack.dims, options->duplicates, packed);
  pd_runs_clear(&pack.runs);
  return status;
}

static polyad_status open_text(polyad_context *context, const char *path, struct pd_input *input,
                               const polyad_read_options *options, const char *directory,
                               struct pd_ptn_blocks *blocks) {
  struct pd_spill packed = {.file = -1};
  if (options->zeros == POLYAD_ZEROS_KEEP)
    return pd_fail_at(context, POLYAD_UNSUPPORTED, path, 0, 0,
                      "a tensor that keeps zeros does not stream; expected them to be dropped");
  polyad_status status = pack_text(context, input, options, directory, &packed);
  if (status == POLYAD_OK) status = pd_ptn_blocks_take(context, path, &packed, blocks);
  pd_spill_close(&packed);
  return status;
}

polyad_status pd_packed_file_open(polyad_context *context, const char *path,
                                  const polyad_read_options *options, const char *directory,
                                  struct pd_ptn_blocks *blocks) {
  const struct pd_file_format *format = named(path, options);
  struct pd_input *input;
  *blocks = (struct pd_ptn_blocks){.context = context, .source = {.file = -1}};
  if (format == NULL || format->number != POLYAD_FILE_PTN) {
    PD_TRY(pd_input_open(context, path, &input));
    bool text = holds_indices(input, format);
    polyad_status status =
        text ? open_text(context, path, input, options, directory, blocks) : POLYAD_OK;
    pd_input_close(input);
    if (text) return status;
  }
  PD_TRY(pd_ptn_blocks_open(context, path, blocks));
  polyad_status status = pd_ptn_check_dims(context, path, &blocks->header, options);
  if (status != POLYAD_OK) pd_ptn_blocks_close(blocks);
  return status;
}

/* ---- estimates ---------------------------------------------------------------------------------
 */

/* Fields of the first line that is no comment. */
static int count_modes(const char *text, const char *end, bool pattern) {
  for (const char *stop; (stop = memchr(text, '\n', (size_t)(end - text))) != NULL;
       text = stop + 1) {
    int64_t fields = pd_tns_count_fields(text, stop);
    if (fields > 0) return fields <= POLYAD_MAX_ORDER ? (int)fields - !pattern : 0;
  }
  return 0;
}

/* About how many lines compressed text has: as if all of it were as its first megabytes are. */
static uint64_t lines_of_compressed(polyad_context *context, const char *path) {
  enum { SAMPLE = 4 << 20, PIECE = 64 << 10 };
  struct pd_decoder *decoder;
  uint64_t lines = 0, read = 0;
  char text[PIECE];
  size_t got = PIECE;
  if (pd_decoder_open(context, path, &decoder) != POLYAD_OK) return 0;
  polyad_status status = POLYAD_OK;
  while (status == POLYAD_OK && got == PIECE && read < SAMPLE) {
    status = pd_decoder_read(decoder, text, PIECE, &got);
    for (size_t k = 0; k < got; ++k)
      lines += text[k] == '\n';
    read += got;
  }
  uint64_t from = pd_decoder_consumed(decoder);
  double whole = (double)pd_decoder_size(decoder);
  pd_decoder_close(decoder);
  if (status != POLYAD_OK || from == 0) return 0;
  return got < PIECE ? lines : (uint64_t)((double)lines / (double)from * whole);
}

polyad_status pd_packed_file_estimate(polyad_context *context, const char *path,
                                      const polyad_read_options *options,
                                      struct pd_packed_estimate *estimate) {
  const struct pd_file_format *format = named(path, options);
  struct pd_input *input;
  struct stat about;
  const unsigned char *head;
  size_t size;
  *estimate = (struct pd_packed_estimate){0};
  if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return POLYAD_OK;
  polyad_status status = pd_input_open(context, path, &input);
  if (status == POLYAD_OUT_OF_MEMORY) return status;
  pd_begin(context);
  if (status != POLYAD_OK) return POLYAD_OK;
  estimate->text = holds_indices(input, format);
  if (estimate->text && pd_input_peek(input, &head, &size) == POLYAD_OK)
    estimate->order =
        count_modes((const char *)head, (const char *)head + size, options->pattern != 0);
  estimate->nnz = estimate->text ? pd_input_expected_lines(input) : 0;
  estimate->compressed = pd_input_compressed(input);
  pd_input_close(input);
  if (!estimate->text || !estimate->compressed) return POLYAD_OK;
  estimate->nnz = lines_of_compressed(context, path);
  pd_begin(context);
  return POLYAD_OK;
}
