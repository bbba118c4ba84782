/* Writes label files beside a tensor's or a model's file. */
#include "io/atomic_file.h"
#include "io/formats.h"
#include "io/labels_path.h"
#include "io/system_calls.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A label file has a label on each line: one with a line break in it would be two. The first such
 * label of the tensor, and its mode from 1; NULL where there is none. */
static const char *find_broken(const polyad_tensor *tensor, int *mode, size_t *length) {
  for (int n = 0; n < tensor->order; ++n)
    for (uint64_t i = 0; i < tensor->labels[n].count; ++i) {
      const char *label = polyad_tensor_label(tensor, n, i, length);
      *mode = n + 1;
      if (memchr(label, '\n', *length) != NULL || (*length > 0 && label[*length - 1] == '\r'))
        return label;
    }
  return NULL;
}

static polyad_status check_lines(polyad_context *context, const polyad_tensor *tensor,
                                 const char *path) {
  int mode;
  size_t length;
  char quoted[PD_QUOTE_BYTES];
  const char *label = find_broken(tensor, &mode, &length);
  if (label == NULL) return POLYAD_OK;
  return pd_fail_at(context, POLYAD_UNSUPPORTED, path, 0, 0,
                    "label %s of mode %d has a line break, which a label file cannot hold; "
                    "expected .ptn, .csv or .tsv for such labels",
                    pd_quote(quoted, label, length), mode);
}

/* Whether label files can hold a model's labels. That they cannot is a warning: the model, which
 * may have taken hours, is written without them. */
static bool fit_for_files(polyad_context *context, const polyad_tensor *outline, const char *path) {
  int mode;
  size_t length;
  char quoted[PD_QUOTE_BYTES];
  const char *label = find_broken(outline, &mode, &length);
  if (label == NULL) return true;
  pd_log(context, POLYAD_LOG_WARNING,
         "%s is written without labels: label %s of mode %d has a line break, which a label file "
         "cannot hold; .ptm keeps such labels",
         path, pd_quote(quoted, label, length), mode);
  return false;
}

static polyad_status labels_write_write_mode(polyad_context *context, const polyad_tensor *tensor,
                                             int mode, const char *directory) {
  char name[PD_LABELS_NAME_BYTES], path[PD_LABELS_PATH_BYTES + PD_LABELS_NAME_BYTES];
  struct pd_output *output;
  polyad_status status = POLYAD_OK;
  pd_labels_file_name(name, mode + 1, tensor->mode_name[mode]);
  snprintf(path, sizeof path, "%s/%s", directory, name);
  PD_TRY(pd_output_open(context, path, PD_PLAIN, &output));
  for (uint64_t i = 0; i < tensor->labels[mode].count && status == POLYAD_OK; ++i) {
    size_t length;
    const char *label = polyad_tensor_label(tensor, mode, i, &length);
    status = pd_output_write(output, label, length);
    if (status == POLYAD_OK) status = pd_output_write(output, "\n", 1);
  }
  if (status == POLYAD_OK) return pd_output_commit(output);
  pd_output_abort(output);
  return status;
}

/* Label files of the tensor that stood here before would be taken for this one's. */
static void labels_write_remove_stale(const polyad_tensor *tensor, const char *directory) {
  DIR *listing = opendir(directory);
  if (listing == NULL) return;
  for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
    uint64_t mode;
    char name[PD_LABELS_NAME_BYTES], written[PD_LABELS_NAME_BYTES] = "";
    if (!pd_labels_parse_name(entry->d_name, &mode, name)) continue;
    if (mode >= 1 && mode <= (uint64_t)tensor->order && tensor->labels[mode - 1].count != 0)
      pd_labels_file_name(written, (int)mode, tensor->mode_name[mode - 1]);
    if (strcmp(written, entry->d_name) != 0) (void)unlinkat(dirfd(listing), entry->d_name, 0);
  }
  (void)closedir(listing);
}

/* A tensor without labels leaves label files alone, which may be somebody's work, but whoever reads
 * it from now on takes them for its own. */
static void warn_of_others(polyad_context *context, const char *path) {
  char directory[PD_LABELS_PATH_BYTES], name[PD_LABELS_NAME_BYTES];
  DIR *listing = pd_labels_directory(directory, path) ? opendir(directory) : NULL;
  if (listing == NULL) return;
  for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
    uint64_t mode;
    if (!pd_labels_parse_name(entry->d_name, &mode, name)) continue;
    pd_log(
        context, POLYAD_LOG_WARNING,
        "%s has label files, but the tensor has no labels: readers of %s take them for its labels; "
        "remove them, or write .ptn",
        directory, path);
    break;
  }
  (void)closedir(listing);
}

static bool is_labelled(const polyad_tensor *tensor) {
  bool labelled = false;
  for (int n = 0; n < tensor->order; ++n)
    labelled = labelled || tensor->labels[n].count != 0;
  return labelled;
}

static polyad_status write_into(polyad_context *context, const polyad_tensor *tensor,
                                const char *directory) {
  char text[PD_ERRNO_BYTES];
  if (mkdir(directory, 0777) != 0 && errno != EEXIST)
    return pd_fail_at(context, POLYAD_IO, directory, 0, 0, "cannot create the directory: %s",
                      pd_errno_text(text, errno));
  for (int n = 0; n < tensor->order; ++n)
    if (tensor->labels[n].count != 0)
      PD_TRY(labels_write_write_mode(context, tensor, n, directory));
  labels_write_remove_stale(tensor, directory);
  return POLYAD_OK;
}

polyad_status pd_labels_write(polyad_context *context, const polyad_tensor *tensor,
                              const char *path) {
  char directory[PD_LABELS_PATH_BYTES];
  if (strcmp(path, "-") == 0) return POLYAD_OK;
  if (!is_labelled(tensor)) {
    warn_of_others(context, path);
    return POLYAD_OK;
  }
  PD_TRY(check_lines(context, tensor, path));
  if (!pd_labels_directory(directory, path))
    return pd_fail_at(context, POLYAD_IO, path, 0, 0, "name is too long for its labels' directory");
  return write_into(context, tensor, directory);
}

polyad_status pd_labels_write_model(polyad_context *context, int order,
                                    const polyad_tensor *outline, const char *path) {
  char directory[PD_LABELS_PATH_BYTES];
  if (!pd_labels_model_directory(directory, path)) return POLYAD_OK; /* nothing can lie there */
  if (outline != NULL && is_labelled(outline) && fit_for_files(context, outline, path))
    return write_into(context, outline, directory);
  polyad_tensor none = {.order = order};
  labels_write_remove_stale(&none, directory);
  (void)rmdir(directory); /* where nothing else lies in it */
  return POLYAD_OK;
}
