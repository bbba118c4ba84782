/* FROSTT text: the first byte chooses options, the rest is the file. Threads and blocks must not
 * change the result. */
#include "fuzz_input.h"

#include "io/formats.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct result {
  polyad_status status;
  uint64_t hash;
  char message[320];
};

static struct result read_once(const char *path, const polyad_read_options *options, int threads,
                               struct pd_tns_blocks blocks) {
  struct result result = {0};
  polyad_context *context = fuzz_context(threads);
  struct pd_input *input = NULL;
  polyad_tensor *tensor = NULL;
  result.status = pd_input_open(context, path, &input);
  if (result.status == POLYAD_OK)
    result.status = pd_tns_read_blocks(context, input, options, &blocks, UINT64_MAX, 0, &tensor);
  pd_input_close(input);
  if (result.status == POLYAD_OK) {
    fuzz_require(pd_tensor_check(context, tensor) == POLYAD_OK, "a valid tensor");
    result.hash = polyad_tensor_hash(tensor);
  } else {
    fuzz_check_failure(context, result.status);
    snprintf(result.message, sizeof result.message, "%s", polyad_last_error(context));
  }
  polyad_tensor_destroy(tensor);
  fuzz_context_end(context);
  return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  char path[64];
  int file = fuzz_open(data + 1, size - 1, path);
  polyad_read_options options;
  polyad_read_options_init(&options);
  options.index_base = (data[0] & 1) == 0;
  options.pattern = (data[0] & 2) != 0;
  options.type = (data[0] & 4) != 0 ? POLYAD_F32 : POLYAD_F64;
  struct result large = read_once(path, &options, 1, (struct pd_tns_blocks){1 << 20, 64 << 10});
  struct result small = read_once(path, &options, 3, (struct pd_tns_blocks){61, 7});
  close(file);
  fuzz_require(large.status == small.status && large.hash == small.hash &&
                   strcmp(large.message, small.message) == 0,
               "blocks and threads do not change the result");
  return 0;
}
