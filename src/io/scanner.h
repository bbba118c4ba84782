/* Words of a text input, with their places. */
#ifndef PD_SCANNER_H
#define PD_SCANNER_H

#include "io/input.h"

enum { PD_WORD_BYTES = 4096, PD_SCANNER_BYTES = 256 << 10 };

struct pd_scanner {
  polyad_context *context;
  struct pd_input *input;
  unsigned char *buffer;
  size_t at, used;
  bool end;
  uint64_t line, column; /* of the next byte, from 1 */
  char word[PD_WORD_BYTES];
  size_t length; /* of the word; 0 at the end of the input */
  uint64_t word_line, word_column;
};

polyad_status pd_scanner_create(polyad_context *context, struct pd_input *input,
                                struct pd_scanner **scanner);
void pd_scanner_destroy(struct pd_scanner *scanner);
/** The next word must be the first word of `expected`, which goes on after a comma. */
polyad_status pd_scanner_expect(struct pd_scanner *scanner, const char *expected);
/** The next word must be an integer from `least` to `most`; `what` names it. */
polyad_status pd_scanner_integer(struct pd_scanner *scanner, const char *what, uint64_t least,
                                 uint64_t most, uint64_t *value);
/** The next word must be a finite number. */
polyad_status pd_scanner_number(struct pd_scanner *scanner, const char *what, double *value);
/** Nothing may follow. */
polyad_status pd_scanner_end(struct pd_scanner *scanner);

#endif
