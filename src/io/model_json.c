/* Writes a model as a JSON object (docs/json/model.json): dims, ranks, weights or core, and for
 * each mode its name, its labels and its factor, a row for each index. */
#include "io/formats.h"
#include "io/number_rows.h"
#include "tensor/tensor.h"
#include <string.h>

static const struct pd_row_style json_rows = {"[", ",", "]", ",\n"};
static const struct pd_row_style json_list = {"[", ",", "]", ""};

/* ---- text -------------------------------------------------------------------------------------
 */

/* A string of JSON. Bytes that are no UTF-8 become U+FFFD. */
static polyad_status write_string(struct pd_output *output, const char *text, size_t length) {
  const unsigned char *s = (const unsigned char *)text;
  PD_TRY(pd_output_write(output, "\"", 1));
  for (size_t i = 0; i < length;) {
    size_t size = pd_utf8_length(s + i, length - i);
    if (size == 0)
      PD_TRY(pd_output_write(output, "\xef\xbf\xbd", 3));
    else if (s[i] < 0x20 || s[i] == 0x7f)
      PD_TRY(pd_output_printf(output, "\\u%04x", s[i]));
    else if (s[i] == '"' || s[i] == '\\')
      PD_TRY(pd_output_printf(output, "\\%c", s[i]));
    else
      PD_TRY(pd_output_write(output, s + i, size));
    i += size == 0 ? 1 : size;
  }
  return pd_output_write(output, "\"", 1);
}

static polyad_status write_labels(struct pd_output *output, const polyad_tensor *outline, int mode,
                                  uint64_t count) {
  if (outline == NULL || outline->labels[mode].count == 0) return pd_output_printf(output, "null");
  for (uint64_t i = 0; i < count; ++i) {
    size_t length;
    const char *label = polyad_tensor_label(outline, mode, i, &length);
    PD_TRY(pd_output_write(output, i == 0 ? "[" : ",", 1));
    PD_TRY(write_string(output, label, length));
  }
  return pd_output_write(output, "]", 1);
}

/* ---- the object -------------------------------------------------------------------------------
 */

static polyad_status write_sizes(struct pd_output *output, const char *key, int count,
                                 const uint64_t *sizes) {
  PD_TRY(pd_output_printf(output, "\"%s\": [", key));
  for (int n = 0; n < count; ++n)
    PD_TRY(pd_output_printf(output, "%s%llu", n == 0 ? "" : ",", (unsigned long long)sizes[n]));
  return pd_output_printf(output, "],\n");
}

static polyad_status model_json_write_mode(polyad_context *context, struct pd_output *output,
                                           const struct pd_model *model, int mode) {
  const polyad_tensor *outline = model->outline;
  const char *name = outline == NULL ? NULL : polyad_tensor_mode_name(outline, mode);
  PD_TRY(pd_output_printf(output, "%s{\"name\": ", mode == 0 ? "" : ",\n"));
  if (name == NULL)
    PD_TRY(pd_output_printf(output, "null"));
  else
    PD_TRY(write_string(output, name, strlen(name)));
  PD_TRY(pd_output_printf(output, ",\n\"labels\": "));
  PD_TRY(write_labels(output, outline, mode, model->dims[mode]));
  PD_TRY(pd_output_printf(output, ",\n\"factor\": [\n"));
  PD_TRY(pd_rows_write(context, output, model->type, model->factor[mode], model->dims[mode],
                       model->ranks[mode], &json_rows));
  return pd_output_printf(output, "]}");
}

static polyad_status write_object(polyad_context *context, struct pd_output *output,
                                  const struct pd_model *model) {
  PD_TRY(pd_output_printf(output, "{\"kind\": \"%s\",\n", model->tucker ? "ttensor" : "ktensor"));
  PD_TRY(write_sizes(output, "dims", model->order, model->dims));
  if (model->tucker)
    PD_TRY(write_sizes(output, "ranks", model->order, model->ranks));
  else
    PD_TRY(pd_output_printf(output, "\"rank\": %llu,\n", (unsigned long long)model->ranks[0]));
  PD_TRY(pd_output_printf(output, "\"%s\": ", model->tucker ? "core" : "weights"));
  PD_TRY(pd_rows_write(context, output, model->type, model->first, 1, model->entries, &json_list));
  PD_TRY(pd_output_printf(output, ",\n\"modes\": [\n"));
  for (int n = 0; n < model->order; ++n)
    PD_TRY(model_json_write_mode(context, output, model, n));
  return pd_output_printf(output, "\n]}\n");
}

polyad_status pd_json_write_model(polyad_context *context, const struct pd_model *model,
                                  const char *path) {
  struct pd_output *output = NULL;
  PD_TRY(pd_output_open(context, path, pd_compression_of(path), &output));
  polyad_status status = write_object(context, output, model);
  if (status == POLYAD_OK) return pd_output_commit(output);
  pd_output_abort(output);
  return status;
}
