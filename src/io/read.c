/* Reading a tensor: which reader, and labels afterwards. */
#include "io/formats.h"
#include <string.h>

void polyad_read_options_init(polyad_read_options *options) {
  *options = (polyad_read_options){
      .type = POLYAD_F64, .index_base = 1, .duplicates = POLYAD_DUPLICATES_SUM};
}

/* End of the name without ".gz" or ".zst". */
static size_t plain_length(const char *path) {
  size_t length = strlen(path);
  switch (pd_compression_of(path)) {
  case PD_GZIP:
    return length - 3;
  case PD_ZSTD:
    return length - 4;
  case PD_PLAIN:
    break;
  }
  return length;
}

polyad_file_format pd_file_format_of(const char *path, char *delimiter) {
  static const struct {
    const char *extension;
    polyad_file_format format;
    char delimiter;
  } known[] = {{".tns", POLYAD_FILE_TNS, 0},         {".ptn", POLYAD_FILE_PTN, 0},
               {".txt", POLYAD_FILE_TOOLBOX, 0},     {".sptensor", POLYAD_FILE_TOOLBOX, 0},
               {".csv", POLYAD_FILE_DELIMITED, ','}, {".tsv", POLYAD_FILE_DELIMITED, '\t'}};
  size_t length = plain_length(path);
  for (size_t k = 0; k < sizeof known / sizeof *known; ++k) {
    size_t size = strlen(known[k].extension);
    if (length > size && memcmp(path + length - size, known[k].extension, size) == 0) {
      if (delimiter != NULL) *delimiter = known[k].delimiter;
      return known[k].format;
    }
  }
  return POLYAD_FILE_AUTO;
}

static polyad_status check_options(polyad_context *context, const polyad_read_options *options) {
  if (options->index_base != 0 && options->index_base != 1)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "index base %d found; expected 1 or 0",
                   options->index_base);
  if (options->order < 0 || options->order > POLYAD_MAX_ORDER)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "%d dims found; expected at most %d",
                   options->order, POLYAD_MAX_ORDER);
  for (int n = 0; n < options->order; ++n)
    if (options->dims[n] < 1 || options->dims[n] > (uint64_t)INT64_MAX)
      return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                     "length %llu of mode %d found; expected 1 to 9223372036854775807",
                     (unsigned long long)options->dims[n], pd_shown_mode(context, n));
  if (options->type != POLYAD_F32 && options->type != POLYAD_F64)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "value type %d is unknown",
                   (int)options->type);
  return POLYAD_OK;
}

/* Text that may be FROSTT's or the Tensor Toolbox's, which its first word tells; what has no
 * extension that says otherwise may also be polyad's binary. */
static polyad_status read_text(polyad_context *context, const char *path,
                               const polyad_read_options *options, polyad_file_format format,
                               polyad_tensor **tensor) {
  struct pd_input *input = NULL;
  polyad_status status = POLYAD_OK;
  bool toolbox = format == POLYAD_FILE_TOOLBOX;
  PD_TRY(pd_input_open(context, path, &input));
  if (format == POLYAD_FILE_AUTO && pd_ptn_recognise(input)) {
    status = pd_ptn_read_input(context, input, options, tensor);
    goto cleanup;
  }
  if (!toolbox) PD_TRY_CLEANUP(pd_toolbox_recognise(input, &toolbox));
  status = toolbox ? pd_toolbox_read(context, input, options, tensor)
                   : pd_tns_read(context, input, options, tensor);
cleanup:
  pd_input_close(input);
  return status;
}

static polyad_status read_any(polyad_context *context, const char *path,
                              const polyad_read_options *options, polyad_tensor **tensor) {
  polyad_read_options chosen = *options;
  char delimiter = 0;
  polyad_file_format format = options->format;
  if (format == POLYAD_FILE_AUTO) format = pd_file_format_of(path, &delimiter);
  if (chosen.delimiter == 0) chosen.delimiter = delimiter != 0 ? delimiter : ',';
  switch (format) {
  case POLYAD_FILE_PTN:
    return pd_ptn_read(context, path, &chosen, tensor);
  case POLYAD_FILE_DELIMITED:
    return pd_delimited_read(context, path, &chosen, tensor);
  case POLYAD_FILE_AUTO: /* an unknown extension, or standard input: text */
  case POLYAD_FILE_TNS:
  case POLYAD_FILE_TOOLBOX:
    break;
  }
  return read_text(context, path, &chosen, format, tensor);
}

polyad_status polyad_tensor_read(polyad_context *context, const char *path,
                                 const polyad_read_options *options, polyad_tensor **tensor) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (tensor != NULL) *tensor = NULL;
  if (path == NULL || tensor == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "path or tensor is NULL");
  polyad_read_options defaults;
  polyad_read_options_init(&defaults);
  if (options == NULL) options = &defaults;
  PD_TRY(check_options(context, options));
  polyad_tensor *made = NULL;
  polyad_status status = read_any(context, path, options, &made);
  if (status == POLYAD_OK) status = pd_labels_attach(context, path, options, made);
  if (status != POLYAD_OK) {
    polyad_tensor_destroy(made);
    return status;
  }
  *tensor = made;
  return POLYAD_OK;
}
