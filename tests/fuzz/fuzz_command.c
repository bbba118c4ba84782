#include "fuzz_command.h"
#include "fuzz_input.h"

#include "session.h"
#include <getopt.h>
#include <stdio.h>

enum { MESSAGE_BYTES = 1 << 14 };

static FILE *nowhere, *messages, *usual_output, *usual_error;
static char text[MESSAGE_BYTES];

/* What signals say goes to a session, and none runs here. */
void cli_talk(const struct cli_session *session, const char *format, ...) {
  (void)session;
  (void)format;
}

static void check_message(size_t length, bool failed) {
  if (!failed) {
    fuzz_require(length == 0, "no message without an error");
    return;
  }
  fuzz_require(length > 1 && length <= 301 && text[length - 1] == '\n', "a line of bounded length");
  for (size_t k = 0; k + 1 < length; ++k)
    fuzz_require((unsigned char)text[k] >= 0x20 && text[k] != 0x7f, "no control bytes");
}

/* getopt_long() keeps a place inside the arguments of the run before, unless it is started anew. */
static void forget_arguments(void) {
  char name[] = "fuzz", *none[] = {name, NULL};
  static const struct option nothing[1];
  optind = 0;
  (void)getopt_long(1, none, "", nothing, NULL);
}

void fuzz_command_begin(void) {
  if (nowhere == NULL) {
    nowhere = fopen("/dev/null", "w");
    messages = fmemopen(text, sizeof text, "w");
    fuzz_require(nowhere != NULL && messages != NULL, "files in memory");
    setvbuf(messages, NULL, _IONBF, 0);
  }
  rewind(messages);
  forget_arguments();
  usual_error = stderr;
  usual_output = stdout;
  stderr = messages;
  stdout = nowhere;
}

void fuzz_command_end(bool failed) {
  stderr = usual_error;
  stdout = usual_output;
  check_message((size_t)ftell(messages), failed);
}
