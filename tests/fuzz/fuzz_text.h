/* What the targets of FROSTT text share. */
#ifndef PD_FUZZ_TEXT_H
#define PD_FUZZ_TEXT_H

#include "fuzz_input.h"

#include "io/formats.h"
#include <stdio.h>
#include <string.h>

/* What reading came to. */
struct fuzz_text {
  polyad_status status;
  uint64_t hash;
  char message[320];
};

static inline polyad_read_options fuzz_text_options(uint8_t bits) {
  polyad_read_options options;
  polyad_read_options_init(&options);
  options.index_base = (bits & 1) == 0;
  options.pattern = (bits & 2) != 0;
  options.type = (bits & 4) != 0 ? POLYAD_F32 : POLYAD_F64;
  options.duplicates = (polyad_duplicates)((bits >> 3) % 5);
  return options;
}

static inline struct fuzz_text fuzz_read_text(const char *path, const polyad_read_options *options,
                                              int threads, struct pd_tns_blocks blocks) {
  struct fuzz_text text = {0};
  polyad_context *context = fuzz_begin(threads);
  struct pd_input *input = NULL;
  polyad_tensor *tensor = NULL;
  text.status = pd_input_open(context, path, &input);
  if (text.status == POLYAD_OK)
    text.status = pd_tns_read_blocks(context, input, options, &blocks, UINT64_MAX, 0, &tensor);
  pd_input_close(input);
  if (text.status == POLYAD_OK) {
    fuzz_require(pd_tensor_check(context, tensor) == POLYAD_OK, "a valid tensor");
    text.hash = polyad_tensor_hash(tensor);
  } else {
    fuzz_check_failure(context, text.status);
    snprintf(text.message, sizeof text.message, "%s", polyad_last_error(context));
  }
  polyad_tensor_destroy(tensor);
  fuzz_end(context);
  return text;
}

static inline int fuzz_same_text(const struct fuzz_text *a, const struct fuzz_text *b) {
  return a->status == b->status && a->hash == b->hash && strcmp(a->message, b->message) == 0;
}

#endif
