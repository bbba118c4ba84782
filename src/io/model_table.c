/* Writes a Kruskal tensor as one long table: a row for each entry of each factor, with the columns
 * component, mode, label, strength and weight (of the component). Modes and labels stand under
 * their names, or counted from 1 where they have none. Data frames and databases take such a table
 * as it is. */
#include "core/numbers.h"
#include "io/delimited_field.h"
#include "io/formats.h"
#include "io/number.h"
#include "tensor/tensor.h"
#include <string.h>

struct table {
  polyad_context *context;
  const struct pd_model *model;
  const polyad_tensor *outline;
  struct pd_output *output;
  const char *path;
  char delimiter;
};

/* A field that is an integer, and the delimiter behind it. */
static size_t put_count(char *text, uint64_t count, char delimiter) {
  size_t length = pd_format_index(text, count);
  text[length] = delimiter;
  return length + 1;
}

static polyad_status write_text(struct table *t, const char *text, size_t length) {
  PD_TRY(pd_field_write(t->context, t->output, t->path, t->delimiter, text, length));
  return pd_output_write(t->output, &t->delimiter, 1);
}

static polyad_status write_mode_name(struct table *t, int mode) {
  const char *name = t->outline == NULL ? NULL : polyad_tensor_mode_name(t->outline, mode);
  char own[PD_NUMBER_TEXT + 1];
  if (name != NULL && name[0] != '\0') return write_text(t, name, strlen(name));
  return pd_output_write(t->output, own, put_count(own, (uint64_t)mode + 1, t->delimiter));
}

static polyad_status model_table_write_label(struct table *t, int mode, uint64_t row) {
  size_t length;
  const char *label =
      t->outline == NULL ? NULL : polyad_tensor_label(t->outline, mode, row, &length);
  char own[PD_NUMBER_TEXT + 1];
  if (label != NULL) return write_text(t, label, length);
  return pd_output_write(t->output, own, put_count(own, row + 1, t->delimiter));
}

/* The rows of one component in one mode. */
static polyad_status write_column(struct table *t, uint64_t r, int mode) {
  const struct pd_model *k = t->model;
  bool single = k->type == POLYAD_F32;
  char component[PD_NUMBER_TEXT + 1], weight[PD_NUMBER_TEXT + 2], strength[PD_NUMBER_TEXT + 1];
  size_t component_length = put_count(component, r + 1, t->delimiter), weight_length = 0;
  weight[weight_length++] = t->delimiter;
  weight_length += pd_format_number(weight + 1, pd_load(k->type, k->first, r), single);
  weight[weight_length++] = '\n';
  for (uint64_t i = 0; i < k->dims[mode]; ++i) {
    size_t length = pd_format_number(
        strength, pd_load(k->type, k->factor[mode], i * k->ranks[mode] + r), single);
    PD_TRY(pd_output_write(t->output, component, component_length));
    PD_TRY(write_mode_name(t, mode));
    PD_TRY(model_table_write_label(t, mode, i));
    PD_TRY(pd_output_write(t->output, strength, length));
    PD_TRY(pd_output_write(t->output, weight, weight_length));
  }
  return POLYAD_OK;
}

static polyad_status write_table(struct table *t) {
  PD_TRY(pd_output_printf(t->output, "component%cmode%clabel%cstrength%cweight\n", t->delimiter,
                          t->delimiter, t->delimiter, t->delimiter));
  for (uint64_t r = 0; r < t->model->entries; ++r)
    for (int n = 0; n < t->model->order; ++n)
      PD_TRY(write_column(t, r, n));
  return POLYAD_OK;
}

polyad_status pd_delimited_write_model(polyad_context *context, const struct pd_model *model,
                                       const char *path) {
  struct table t = {.context = context,
                    .model = model,
                    .outline = model->outline,
                    .path = path,
                    .delimiter = pd_has_extension(path, ".tsv") ? '\t' : ','};
  PD_TRY(pd_output_open(context, path, pd_compression_of(path), &t.output));
  polyad_status status = write_table(&t);
  if (status == POLYAD_OK) return pd_output_commit(t.output);
  pd_output_abort(t.output);
  return status;
}
