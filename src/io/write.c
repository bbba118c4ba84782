/* Writing a tensor: the file format decides which writer. */
#include "io/formats.h"

polyad_status polyad_tensor_write(polyad_context *context, const polyad_tensor *tensor,
                                  const char *path, polyad_file_format format) {
  PD_ENTER(context);
  PD_EXPECT(context, tensor != NULL && path != NULL, "tensor or path is NULL");
  const struct pd_file_format *row = format == POLYAD_FILE_AUTO
                                         ? pd_file_format_to_write(path, POLYAD_CONTENTS_TENSOR)
                                         : pd_file_format_numbered(format);
  if (row == NULL || row->write_tensor == NULL)
    return pd_file_format_fail(context, path, POLYAD_CONTENTS_TENSOR);
  /* Formats that have no place for labels get a directory of label files beside the file. */
  if (!row->labels) PD_TRY(pd_labels_write(context, tensor, path));
  return row->write_tensor(context, tensor, path);
}
