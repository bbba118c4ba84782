/* Writes delimited text: a header, then a row for each nonzero. */
#include "io/delimited_field.h"
#include "io/formats.h"
#include "io/number.h"
#include <stdio.h>
#include <string.h>

struct writer {
  polyad_context *context;
  const polyad_tensor *tensor;
  const char *path;
  struct pd_output *output;
  char delimiter;
};

/* Whether `name` would be the same column as another: one before, or that of the values. */
static bool delimited_write_is_taken(const struct writer *w, int mode, const char *name) {
  if (strcmp(name, "value") == 0) return true;
  for (int n = 0; n < w->tensor->order; ++n) {
    const char *other = w->tensor->mode_name[n];
    if (n != mode && other != NULL && strcmp(name, other) == 0) return true;
  }
  return false;
}

/* Names of modes where they tell columns apart, else "mode1", … with underscores as needed. */
static polyad_status write_header(struct writer *w) {
  for (int n = 0; n < w->tensor->order; ++n) {
    const char *name = w->tensor->mode_name[n];
    char own[64];
    if (name == NULL || name[0] == '\0' || delimited_write_is_taken(w, n, name)) {
      int length = snprintf(own, sizeof own, "mode%d", n + 1);
      for (; delimited_write_is_taken(w, n, own) && length < (int)sizeof own - 1; ++length) {
        own[length] = '_';
        own[length + 1] = '\0';
      }
      name = own;
    }
    PD_TRY(pd_field_write(w->context, w->output, w->path, w->delimiter, name, strlen(name)));
    PD_TRY(pd_output_write(w->output, &w->delimiter, 1));
  }
  return pd_output_write(w->output, "value\n", 6);
}

static polyad_status delimited_write_write_row(struct writer *w, uint64_t p) {
  const polyad_tensor *tensor = w->tensor;
  char number[PD_NUMBER_TEXT + 1];
  for (int n = 0; n < tensor->order; ++n) {
    uint64_t index = pd_tensor_index(tensor, n, p);
    size_t length;
    const char *label = polyad_tensor_label(tensor, n, index, &length);
    if (label == NULL) {
      length = pd_format_index(number, index + 1);
      label = number;
    }
    PD_TRY(pd_field_write(w->context, w->output, w->path, w->delimiter, label, length));
    PD_TRY(pd_output_write(w->output, &w->delimiter, 1));
  }
  size_t length = pd_format_number(number, pd_tensor_value(tensor, p), tensor->type == POLYAD_F32);
  number[length++] = '\n';
  return pd_output_write(w->output, number, length);
}

polyad_status pd_delimited_write(polyad_context *context, const polyad_tensor *tensor,
                                 const char *path) {
  struct writer w = {context, tensor, path, NULL, pd_has_extension(path, ".tsv") ? '\t' : ','};
  PD_TRY(pd_output_open(context, path, pd_compression_of(path), &w.output));
  polyad_status status = write_header(&w);
  for (uint64_t p = 0; p < tensor->nnz && status == POLYAD_OK; ++p)
    status = delimited_write_write_row(&w, p);
  if (status == POLYAD_OK) return pd_output_commit(w.output);
  pd_output_abort(w.output);
  return status;
}
