/* The options --columns, --value and --delimiter of delimited text: a line each, then the file. An
 * empty line leaves the option out. */
#include "fuzz_input.h"

#include "io/formats.h"
#include <stdlib.h>
#include <string.h>

/* The next line as a string of its own, so that a sanitizer sees reads past its end; NULL for an
 * empty one. Strings end at a zero byte. */
static char *take_line(const uint8_t **data, size_t *size) {
  const uint8_t *end = *size == 0 ? NULL : memchr(*data, '\n', *size);
  size_t length = end == NULL ? *size : (size_t)(end - *data);
  char *line = length == 0 ? NULL : malloc(length + 1);
  if (line != NULL) {
    memcpy(line, *data, length);
    line[length] = '\0';
  }
  *data += length + (end != NULL);
  *size -= length + (end != NULL);
  return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  polyad_read_options options;
  polyad_tensor *tensor;
  polyad_read_options_init(&options);
  char *columns = take_line(&data, &size), *value = take_line(&data, &size);
  char *delimiter = take_line(&data, &size);
  options.columns = columns;
  options.value = value;
  options.delimiter = delimiter == NULL ? ',' : delimiter[0];
  polyad_context *context = fuzz_begin(1);
  polyad_status status = pd_delimited_read(context, fuzz_file(data, size), NULL, &options, &tensor);
  if (status == POLYAD_OK)
    fuzz_require(pd_tensor_check(context, tensor) == POLYAD_OK, "a valid tensor");
  else
    fuzz_check_failure(context, status);
  polyad_tensor_destroy(tensor);
  fuzz_end(context);
  free(columns);
  free(value);
  free(delimiter);
  return 0;
}
