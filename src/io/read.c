/* Reading a tensor: which reader, and labels afterwards. */
#include "io/formats.h"

void polyad_read_options_init(polyad_read_options *options) {
  *options = (polyad_read_options){
      .type = POLYAD_F64, .index_base = 1, .duplicates = POLYAD_DUPLICATES_SUM};
}

static polyad_status read_check_options(polyad_context *context,
                                        const polyad_read_options *options) {
  if (options->index_base != 0 && options->index_base != 1)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "index base %d found; expected 1 or 0",
                   options->index_base);
  PD_EXPECT(context, options->order >= 0 && options->order <= POLYAD_MAX_ORDER,
            "%d dims found; expected at most %d", options->order, POLYAD_MAX_ORDER);
  for (int n = 0; n < options->order; ++n)
    PD_EXPECT(context, options->dims[n] >= 1 && options->dims[n] <= (uint64_t)INT64_MAX,
              "length %llu of mode %d found; expected 1 to 9223372036854775807",
              (unsigned long long)options->dims[n], pd_shown_mode(context, n));
  PD_EXPECT(context, options->shares >= 0 && options->share >= 0 &&
                             options->share<(options->shares > 1 ? options->shares : 1),
                                            "share %d of %d found; expected 0 to %d",
                                            options->share, options->shares, options->shares> 1
                         ? options->shares - 1
                         : 0);
  if ((unsigned)options->missing > POLYAD_MISSING_ERROR)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "policy %d for missing fields is unknown",
                   (int)options->missing);
  if (options->type != POLYAD_F32 && options->type != POLYAD_F64)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "value type %d is unknown",
                   (int)options->type);
  return POLYAD_OK;
}

/* From a file whose name tells no format, or one whose first bytes are to be looked at. */
static polyad_status read_opened(polyad_context *context, const char *path,
                                 const struct pd_file_format *format,
                                 const polyad_read_options *options, polyad_tensor **tensor) {
  const struct pd_file_format *text = pd_file_format_numbered(POLYAD_FILE_TNS), *found;
  struct pd_input *input = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY(pd_input_open(context, path, &input));
  if (format == NULL || format == text) {
    found = pd_file_format_recognise(input);
    format = found != NULL ? found : text;
  }
  if (options->shares > 1 && format == text && pd_input_plain_size(input) > 0)
    status = pd_tns_read_share(context, input, options, tensor);
  else if (options->share > 0)
    status = pd_share_of_nothing(context, options, tensor);
  else if (format->read_tensor == NULL)
    status = pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                        "this is a file of format %s; expected a tensor", format->name);
  else
    status = format->read_tensor(context, path, input, options, tensor);
  pd_input_close(input);
  return status;
}

/* Whether an option is given that only delimited text heeds. */
static bool asks_for_columns(const polyad_read_options *options) {
  return options->columns != NULL || options->value != NULL || options->delimiter != 0 ||
         options->where != NULL || options->missing != POLYAD_MISSING_KEEP ||
         options->numbers != POLYAD_NUMBERS_PLAIN || options->time_zone != NULL;
}

/* Whether a file of this format has values wherever it has indices. */
static bool has_values(polyad_file_format number) {
  return number == POLYAD_FILE_PTN || number == POLYAD_FILE_NPZ || number == POLYAD_FILE_NPY;
}

/* Reads what the name tells, or else what the first bytes tell: text with indices where no format
 * recognises them. A .tns file that begins with a word of the Tensor Toolbox is such a file. */
static polyad_status read_any(polyad_context *context, const char *path,
                              const polyad_read_options *options, polyad_tensor **tensor) {
  const struct pd_file_format *format;
  format = options->format == POLYAD_FILE_AUTO
               ? pd_file_format_by_name(path, POLYAD_CONTENTS_TENSOR)
               : pd_file_format_numbered(options->format);
  if (options->format != POLYAD_FILE_AUTO && (format == NULL || format->read_tensor == NULL))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "file format %d found; expected one that tensors are read from",
                   (int)options->format);
  if (asks_for_columns(options) && (format == NULL || format->number != POLYAD_FILE_DELIMITED))
    return pd_fail_at(
        context, POLYAD_INVALID_ARGUMENT, path, 0, 0,
        "options of tables (columns, value, delimiter, where, missing, numbers, time zone) are "
        "given "
        "for a file that is no table; expected delimited text, such as .csv (of a pipe: input "
        "format csv)");
  if (options->pattern && format != NULL && has_values(format->number))
    return pd_fail_at(context, POLYAD_INVALID_ARGUMENT, path, 0, 0,
                      "values are asked to be 1 (pattern), but a file of format %s has its own; "
                      "expected text with indices alone",
                      format->name);
  if (format != NULL && format->opens && options->shares > 1 && format->number == POLYAD_FILE_PTN)
    return pd_ptn_read_share(context, path, options, tensor);
  if (format != NULL && format->opens)
    return options->share > 0 ? pd_share_of_nothing(context, options, tensor)
                              : format->read_tensor(context, path, NULL, options, tensor);
  return read_opened(context, path, format, options, tensor);
}

polyad_status polyad_tensor_read(polyad_context *context, const char *path,
                                 const polyad_read_options *options, polyad_tensor **tensor) {
  PD_ENTER(context);
  if (tensor != NULL) *tensor = NULL;
  PD_EXPECT(context, path != NULL && tensor != NULL, "path or tensor is NULL");
  polyad_read_options defaults;
  polyad_read_options_init(&defaults);
  if (options == NULL) options = &defaults;
  PD_TRY(read_check_options(context, options));
  polyad_tensor *made = NULL;
  polyad_status status = read_any(context, path, options, &made);
  if (status == POLYAD_OK && options->shares > 1 && made->file_mark == 0)
    made->file_mark = PD_FILE_OF_ONE;
  if (status == POLYAD_OK && options->shares <= 1)
    status = pd_labels_attach(context, path, options, made);
  if (status != POLYAD_OK) {
    polyad_tensor_destroy(made);
    return status;
  }
  *tensor = made;
  return POLYAD_OK;
}
