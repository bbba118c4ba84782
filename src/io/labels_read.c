/* Label files that belong to a tensor file. */
#include "io/formats.h"
#include "io/labels_lines.h"
#include "io/labels_path.h"
#include "io/system_calls.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Files found for the modes; "" where there is none. */
struct found {
  char file[POLYAD_MAX_ORDER][PD_LABELS_NAME_BYTES + 8];
  char name[POLYAD_MAX_ORDER][PD_LABELS_NAME_BYTES];
};

static polyad_status note_file(polyad_context *context, const char *directory, const char *file,
                               int order, struct found *found) {
  uint64_t mode;
  char name[PD_LABELS_NAME_BYTES], quoted[2][PD_QUOTE_BYTES];
  if (!pd_labels_parse_name(file, &mode, name)) return POLYAD_OK;
  if (mode < 1 || mode > (uint64_t)order)
    return pd_fail_at(context, POLYAD_MISMATCH, directory, 0, 0,
                      "%s is for mode %" PRIu64 "; expected modes 1 to %d",
                      pd_quote(quoted[0], file, strlen(file)), mode, order);
  char *kept = found->file[mode - 1];
  if (kept[0] != '\0') { /* in the same order whatever the directory's */
    const char *one = strcmp(kept, file) < 0 ? kept : file, *two = one == kept ? file : kept;
    return pd_fail_at(context, POLYAD_MISMATCH, directory, 0, 0,
                      "%s and %s are both for mode %" PRIu64 "; expected one file per mode",
                      pd_quote(quoted[0], one, strlen(one)), pd_quote(quoted[1], two, strlen(two)),
                      mode);
  }
  snprintf(kept, sizeof found->file[0], "%s", file);
  memcpy(found->name[mode - 1], name, sizeof name);
  return POLYAD_OK;
}

static polyad_status list_files(polyad_context *context, const char *directory, bool wanted,
                                int order, struct found *found) {
  DIR *listing = opendir(directory);
  if (listing == NULL) {
    char text[PD_ERRNO_BYTES];
    if (!wanted && (errno == ENOENT || errno == ENOTDIR)) return POLYAD_OK;
    return pd_fail_at(context, POLYAD_IO, directory, 0, 0,
                      "cannot open the directory of labels: %s", pd_errno_text(text, errno));
  }
  polyad_status status = POLYAD_OK;
  for (struct dirent *entry = readdir(listing); entry != NULL && status == POLYAD_OK;
       entry = readdir(listing))
    status = note_file(context, directory, entry->d_name, order, found);
  (void)closedir(listing);
  return status;
}

static polyad_status check_any(polyad_context *context, const char *directory, int order,
                               const struct found *found) {
  for (int n = 0; n < order; ++n)
    if (found->file[n][0] != '\0') return POLYAD_OK;
  return pd_fail_at(context, POLYAD_MISMATCH, directory, 0, 0,
                    "no label file found; expected mode-1.map, mode-2-NAME.map, ... in a directory "
                    "of labels that is named");
}

static polyad_status set_name(polyad_context *context, polyad_tensor *tensor, int mode,
                              const char *name) {
  if (name[0] == '\0') return POLYAD_OK;
  char *copy;
  size_t bytes = strlen(name) + 1;
  PD_TRY(PD_NEW(context, bytes, &copy));
  memcpy(copy, name, bytes);
  pd_free(context, tensor->mode_name[mode]);
  tensor->mode_name[mode] = copy;
  return POLYAD_OK;
}

/* Label files are found by their names, not asked for one by one: a pipe among them, which nobody
 * may ever write to, is refused and not waited for. */
static polyad_status check_file(polyad_context *context, const char *file) {
  struct stat about;
  if (stat(file, &about) < 0 || S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))
    return POLYAD_OK; /* or reading says why not */
  return pd_fail_at(context, POLYAD_IO, file, 0, 0, "a %s found; expected a regular file of labels",
                    S_ISFIFO(about.st_mode) ? "pipe" : "device or socket");
}

/* Of a directory that somebody named, labels count more than those that came with the tensor. */
static polyad_status attach(polyad_context *context, const char *directory, bool wanted,
                            bool required, polyad_tensor *tensor) {
  char file[PD_LABELS_PATH_BYTES + PD_LABELS_NAME_BYTES + 16];
  if (strlen(directory) >= PD_LABELS_PATH_BYTES)
    return pd_fail_at(context, POLYAD_IO, directory, 0, 0, "name of the directory is too long");
  struct found *found;
  PD_TRY(PD_NEW_ZERO(context, 1, &found));
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(list_files(context, directory, wanted, tensor->order, found));
  if (required) PD_TRY_CLEANUP(check_any(context, directory, tensor->order, found));
  for (int n = 0; n < tensor->order; ++n) {
    if (found->file[n][0] == '\0' || (!wanted && tensor->labels[n].count != 0)) continue;
    struct pd_labels labels = {0};
    snprintf(file, sizeof file, "%s/%s", directory, found->file[n]);
    PD_TRY_CLEANUP(check_file(context, file));
    PD_TRY_CLEANUP(pd_labels_read_lines(context, file, n, tensor->dims[n], &labels));
    pd_tensor_take_labels(tensor, n, &labels);
    PD_TRY_CLEANUP(set_name(context, tensor, n, found->name[n]));
  }

cleanup:
  pd_free(context, found);
  return status;
}

polyad_status pd_labels_attach(polyad_context *context, const char *path,
                               const polyad_read_options *options, polyad_tensor *tensor) {
  char beside[PD_LABELS_PATH_BYTES];
  const char *directory = options->labels;
  if (directory != NULL && directory[0] == '\0') return POLYAD_OK;
  if (directory != NULL) return attach(context, directory, true, true, tensor);
  if (strcmp(path, "-") == 0 || !pd_labels_directory(beside, path)) return POLYAD_OK;
  return attach(context, beside, false, false, tensor);
}

polyad_status pd_labels_attach_model(polyad_context *context, const char *directory,
                                     polyad_tensor *outline) {
  return attach(context, directory, true, false, outline);
}
