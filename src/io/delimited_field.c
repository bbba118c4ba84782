/* Fields of delimited text, as tables of tensors and of models have them. */
#include "io/delimited_field.h"
#include <string.h>

static bool needs_quotes(char delimiter, const char *text, size_t length) {
  if (length == 0) return false;
  if (text[0] == '"' || (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)) return true;
  for (size_t i = 0; i < length; ++i)
    if (text[i] == delimiter || text[i] == '\n' || text[i] == '\r' || text[i] == '"') return true;
  return false;
}

polyad_status pd_field_write(polyad_context *context, struct pd_output *output, const char *path,
                             char delimiter, const char *text, size_t length) {
  if (memchr(text, '\0', length) != NULL) {
    char quoted[PD_QUOTE_BYTES];
    return pd_fail_at(
        context, POLYAD_UNSUPPORTED, path, 0, 0,
        "label %s has a NUL byte, which text cannot hold; expected a binary file for it",
        pd_quote(quoted, text, length));
  }
  if (!needs_quotes(delimiter, text, length)) return pd_output_write(output, text, length);
  PD_TRY(pd_output_write(output, "\"", 1));
  for (size_t done = 0; done < length;) {
    const char *quote = memchr(text + done, '"', length - done);
    size_t part = quote == NULL ? length - done : (size_t)(quote - text) - done + 1;
    PD_TRY(pd_output_write(output, text + done, part));
    if (quote != NULL) PD_TRY(pd_output_write(output, "\"", 1));
    done += part;
  }
  return pd_output_write(output, "\"", 1);
}
