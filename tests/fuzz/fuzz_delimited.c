/* The reader of delimited text. The first byte chooses among options. */
#include "fuzz_input.h"

#include "io/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const columns[] = {NULL, "a", "a:round=1", "a:bin=0.25,b"};
  if (size == 0) return 0;
  const char *path = fuzz_file(data + 1, size - 1);
  polyad_context *context = fuzz_begin(1);
  polyad_read_options options;
  polyad_tensor *tensor;
  polyad_read_options_init(&options);
  options.columns = columns[data[0] % 4];
  options.delimiter = data[0] & 4 ? '\t' : ',';
  options.type = data[0] & 8 ? POLYAD_F32 : POLYAD_F64;
  options.value = data[0] & 16 ? "b" : NULL;
  options.numbers = (polyad_numbers)(size / 5 % 4);
  if (size % 5 == 0) {
    options.columns = "a:hour,a:date";
    options.time_zone = size % 2 == 0 ? "America/New_York:UTC" : ":America/New_York";
  }
  options.duplicates = (polyad_duplicates)((data[0] >> 5) % 5);
  polyad_status status = pd_delimited_read(context, path, NULL, &options, &tensor);
  if (status == POLYAD_OK)
    fuzz_require(pd_tensor_check(context, tensor) == POLYAD_OK, "a valid tensor");
  else
    fuzz_check_failure(context, status);
  polyad_tensor_destroy(tensor);
  fuzz_end(context);
  return 0;
}
