/* A model as a directory of plain text: lambda.txt (CP) or core.txt (Tucker), mode1.txt, … and,
 * where labels are known, mode1.top.tsv, … It is written beside its place and renamed, so that it
 * is whole or absent. */
#include "core/numbers.h"
#include "io/atomic_file.h"
#include "io/formats.h"
#include "io/number.h"
#include "io/number_rows.h"
#include "io/system_calls.h"
#include "io/temporary.h"
#include "tensor/ktensor.h"
#include "tensor/tensor.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = PD_PATH_BYTES, FILE_BYTES = PD_PATH_BYTES + 64 };

/* Rows x columns numbers, a row on each line. */
static polyad_status write_matrix(polyad_context *context, const char *path, polyad_type type,
                                  const void *matrix, uint64_t rows, uint64_t columns) {
  struct pd_output *output;
  PD_TRY(pd_output_open(context, path, PD_PLAIN, &output));
  polyad_status status =
      pd_rows_write(context, output, type, matrix, rows, columns, &pd_plain_rows);
  if (status == POLYAD_OK) status = pd_output_write(output, "\n", 1);
  if (status == POLYAD_OK) return pd_output_commit(output);
  pd_output_abort(output);
  return status;
}

/* Bytes that would break a line of the table, and backslashes, are escaped. */
static polyad_status model_directory_write_label(struct pd_output *output, const char *label,
                                                 size_t length) {
  for (size_t i = 0; i < length; ++i) {
    unsigned char c = (unsigned char)label[i];
    if (c == '\\')
      PD_TRY(pd_output_write(output, "\\\\", 2));
    else if (c < 0x20 || c == 0x7f)
      PD_TRY(pd_output_printf(output, "\\x%02x", c));
    else
      PD_TRY(pd_output_write(output, label + i, 1));
  }
  return POLYAD_OK;
}

static polyad_status write_component(struct pd_output *output, const polyad_ktensor *ktensor,
                                     const polyad_tensor *tensor, int mode, uint64_t r,
                                     uint64_t count, const uint64_t *rows) {
  for (uint64_t k = 0; k < count; ++k) {
    char value[PD_NUMBER_TEXT];
    double number = pd_load(ktensor->type, ktensor->factor[mode], rows[k] * ktensor->rank + r);
    size_t length, digits = pd_format_number(value, number, ktensor->type == POLYAD_F32);
    const char *label = polyad_tensor_label(tensor, mode, rows[k], &length);
    PD_TRY(pd_output_printf(output, "%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t", r + 1, k + 1,
                            rows[k] + 1));
    PD_TRY(model_directory_write_label(output, label, length));
    PD_TRY(pd_output_printf(output, "\t%.*s\n", (int)digits, value));
  }
  return POLYAD_OK;
}

/* The `top` rows of largest magnitude of each column of a factor with their labels. */
static polyad_status write_top(polyad_context *context, const polyad_ktensor *ktensor,
                               const polyad_tensor *tensor, int mode, uint64_t top,
                               const char *path) {
  uint64_t count = top < ktensor->dims[mode] ? top : ktensor->dims[mode], *rows = NULL;
  struct pd_output *output = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY(pd_output_open(context, path, PD_PLAIN, &output));
  PD_TRY_CLEANUP(PD_NEW(context, count, &rows));
  PD_TRY_CLEANUP(pd_output_printf(output, "component\tplace\tindex\tlabel\tvalue\n"));
  for (uint64_t r = 0; r < ktensor->rank; ++r) {
    PD_TRY_CLEANUP(polyad_ktensor_top(context, ktensor, mode, r, count, rows));
    PD_TRY_CLEANUP(write_component(output, ktensor, tensor, mode, r, count, rows));
  }
  status = pd_output_commit(output);
  output = NULL;

cleanup:
  pd_output_abort(output);
  pd_free(context, rows);
  return status;
}

static polyad_status write_factor(polyad_context *context, const struct pd_model *model, int n,
                                  const char *directory) {
  char path[FILE_BYTES];
  snprintf(path, sizeof path, "%s/mode%d.txt", directory, n + 1);
  PD_TRY(
      write_matrix(context, path, model->type, model->factor[n], model->dims[n], model->ranks[n]));
  if (model->outline == NULL || model->outline->labels[n].count == 0 || model->top <= 0)
    return POLYAD_OK;
  /* The factor, seen as part of a Kruskal tensor. */
  polyad_ktensor view = {.order = model->order, .rank = model->ranks[n], .type = model->type};
  view.dims[n] = model->dims[n];
  view.factor[n] = model->factor[n];
  snprintf(path, sizeof path, "%s/mode%d.top.tsv", directory, n + 1);
  return write_top(context, &view, model->outline, n, (uint64_t)model->top, path);
}

static polyad_status write_files(polyad_context *context, const struct pd_model *model,
                                 const char *directory) {
  char path[FILE_BYTES];
  uint64_t rows = model->ranks[0]; /* a weight on each line, or the core's last modes */
  snprintf(path, sizeof path, "%s/%s.txt", directory, model->tucker ? "core" : "lambda");
  PD_TRY(write_matrix(context, path, model->type, model->first, rows, model->entries / rows));
  for (int n = 0; n < model->order; ++n)
    PD_TRY(write_factor(context, model, n, directory));
  return POLYAD_OK;
}

static polyad_status model_directory_fail(polyad_context *context, const char *path,
                                          const char *what, int error) {
  char text[PD_ERRNO_BYTES];
  return pd_fail_at(context, POLYAD_IO, path, 0, 0, "cannot %s the directory: %s", what,
                    pd_errno_text(text, error));
}

static void sync_parent(const char *target) {
  char parent[PATH_BYTES] = ".";
  const char *slash = strrchr(target, '/');
  if (slash != NULL) {
    size_t length = (size_t)(slash - target) + 1;
    memcpy(parent, target, length);
    parent[length] = '\0';
  }
  int file = pd_sys_open_read(parent);
  if (file < 0) return; /* the directory is in place all the same */
  (void)pd_sys_sync(file);
  (void)pd_sys_close(file);
}

polyad_status pd_directory_write_model(polyad_context *context, const struct pd_model *model,
                                       const char *path) {
  PD_EXPECT(context, path[0] != '\0', "model or path is missing; expected both");
  if (strlen(path) >= PATH_BYTES)
    return model_directory_fail(context, path, "create", ENAMETOOLONG);
  struct pd_temporary temporary;
  char target[PATH_BYTES];
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/')
    --length;
  memcpy(target, path, length);
  target[length] = '\0';
  struct stat about;
  if (lstat(target, &about) == 0)
    return pd_fail_at(context, POLYAD_IO, path, 0, 0,
                      "exists already; expected the name of a new directory");
  if (errno == ENAMETOOLONG || pd_temporary_create(target, true, &temporary) < 0)
    return model_directory_fail(context, path, "create", errno);
  polyad_status status = write_files(context, model, temporary.path);
  if (status == POLYAD_OK && pd_temporary_replace(&temporary, target) < 0)
    status = model_directory_fail(context, path, "create", errno);
  if (status == POLYAD_OK) sync_parent(target);
  pd_temporary_remove(&temporary);
  return status;
}
