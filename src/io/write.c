/* Writing a tensor: which writer. */
#include "io/formats.h"
#include <string.h>

polyad_status polyad_tensor_write(polyad_context *context, const polyad_tensor *tensor,
                                  const char *path, polyad_file_format format) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (tensor == NULL || path == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "tensor or path is NULL");
  char delimiter = 0;
  polyad_file_format by_name = pd_file_format_of(path, &delimiter);
  if (format == POLYAD_FILE_AUTO) format = strcmp(path, "-") == 0 ? POLYAD_FILE_TNS : by_name;
  switch (format) {
  case POLYAD_FILE_TNS:
    PD_TRY(pd_labels_write(context, tensor, path));
    return pd_tns_write(context, tensor, path);
  case POLYAD_FILE_TOOLBOX:
    PD_TRY(pd_labels_write(context, tensor, path));
    return pd_toolbox_write(context, tensor, path);
  case POLYAD_FILE_PTN:
    return pd_ptn_write(context, tensor, path);
  case POLYAD_FILE_DELIMITED:
    return pd_delimited_write(context, tensor, path, delimiter);
  case POLYAD_FILE_AUTO:
    break;
  }
  return pd_fail_at(context, POLYAD_INVALID_ARGUMENT, path, 0, 0,
                    "an extension that no file format has; expected .tns, .txt, .ptn, .csv or "
                    ".tsv, all but .ptn also with .gz or .zst");
}
