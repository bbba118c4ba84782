/* Text that a caller made, written as every output is. */
#include "io/atomic_file.h"
#include <polyad/io.h>
#include <string.h>

polyad_status polyad_text_write(polyad_context *context, const char *path, const char *text,
                                size_t length) {
  PD_ENTER(context);
  if (path == NULL || (text == NULL && length > 0))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "path or text is NULL");
  struct pd_output *output = NULL;
  PD_TRY(pd_output_open(context, path, PD_PLAIN, &output));
  polyad_status status = pd_output_write(output, text, length);
  if (status == POLYAD_OK) return pd_output_commit(output);
  pd_output_abort(output);
  return status;
}

polyad_status polyad_output_check(polyad_context *context, const char *path) {
  PD_ENTER(context);
  PD_EXPECT(context, path != NULL, "path is NULL");
  return strcmp(path, "-") == 0 ? POLYAD_OK : pd_output_probe(context, path);
}
