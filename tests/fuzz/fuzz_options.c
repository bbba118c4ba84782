/* Options of the command: lines of the input are its arguments. Every kind of option is parsed, and
 * the numbers in them are compared with what the C library reads. */
#include "fuzz_command.h"
#include "fuzz_input.h"

#include "apr_options.h"
#include "session.h"
#include "text.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 40 };

struct arguments {
  struct cli_session session;
  struct cli_apr_options apr;
  const char *format, *variant, *output;
  double number;
  bool flag;
};

static const struct cli_option table[] = {
    {.name = "number",
     .letter = 'n',
     .kind = CLI_NUMBER,
     .offset = offsetof(struct arguments, number),
     .argument = "X",
     .help = "a number"},
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .offset = offsetof(struct arguments, output),
     .argument = "FILE",
     .help = "a file"},
    {.name = "flag",
     .letter = 'f',
     .kind = CLI_FLAG,
     .offset = offsetof(struct arguments, flag),
     .help = "a flag"},
    CLI_APR_OPTIONS(struct arguments),
    CLI_STORAGE_OPTIONS(struct arguments, "a format"),
    CLI_TUNE_OPTIONS(struct arguments),
    CLI_READ_OPTIONS(struct arguments),
    CLI_COMMON_OPTIONS(struct arguments),
};

static const struct cli_usage usage = {.command = "fuzz",
                                       .synopsis = "FILE [options]",
                                       .summary = "Tries options.",
                                       CLI_OPTIONS(table),
                                       .least_arguments = 1,
                                       .most_arguments = 2};

/* ---- numbers ----------------------------------------------------------------------------------
 */

static void try_count(const char *text) {
  uint64_t value;
  bool digits = *text != '\0' && text[strspn(text, "0123456789")] == '\0';
  errno = 0;
  unsigned long long expected = strtoull(text, NULL, 10);
  bool read = cli_read_count(text, &value);
  fuzz_require(read == (digits && errno == 0), "counts are digits of 64 bits");
  fuzz_require(!read || value == expected, "the same count");
}

static void try_real(const char *text) {
  double value, expected;
  char *end;
  bool read = cli_read_real(text, &value);
  expected = strtod(text, &end);
  bool plain =
      strpbrk(text, "xXnNiIpP") == NULL && *text != '\0' && strchr(" \t\n\v\f\r", *text) == NULL;
  fuzz_require(read == (plain && *end == '\0' && end > text && isfinite(expected)),
               "reals are decimal and finite");
  fuzz_require(!read || memcmp(&value, &expected, sizeof value) == 0, "the same real");
}

static void try_size(const char *text) {
  uint64_t value = 0;
  if (!cli_read_size(text, &value) || strcmp(text, "auto") == 0) return;
  char *unit;
  errno = 0;
  unsigned long long number = strtoull(text, &unit, 10);
  const char *units = "KMGT", *found = *unit == '\0' ? NULL : strchr(units, *unit & ~0x20);
  int shift = found == NULL || *unit == '\0' ? 0 : 10 * (int)(found - units + 1);
  fuzz_require(errno == 0 && number > 0 && value >> shift == number &&
                   value << 0 == number << shift,
               "bytes are a number and a unit");
}

static void try_lists(const char *text) {
  uint64_t counts[4];
  double reals[4];
  int count = cli_read_counts(text, 4, counts), real = cli_read_reals(text, 4, reals);
  fuzz_require(count >= -1 && count <= 4 && count != 0, "a number of counts");
  fuzz_require(real >= -1 && real <= 4 && real != 0, "a number of reals");
}

/* ---- arguments --------------------------------------------------------------------------------
 */

static void try_parse(int argc, char **argv) {
  struct arguments into = {0};
  int first = 0;
  fuzz_command_begin();
  int status = cli_parse(&usage, argc, argv, &into, &first);
  fuzz_command_end(status > 0);
  fuzz_require(status == 0 || status == 2 || status == -1, "a status");
  if (status != 0) return;
  fuzz_require(first >= 1 && argc - first >= 1 && argc - first <= 2, "one or two arguments");
  fuzz_require(isfinite(into.number) && into.session.index_base <= 1, "values in their limits");
  double share = into.session.second_share;
  fuzz_require(share == 0 || (share > 0 && share < 1), "a share");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *argv[MOST_ARGUMENTS + 2] = {NULL}, *text = malloc(size + 1), *next = text;
  int argc = 0;
  fuzz_require(text != NULL, "memory");
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  argv[argc++] = strdup("fuzz");
  while (next != NULL && argc <= MOST_ARGUMENTS) {
    char *line = strsep(&next, "\n");
    try_count(line);
    try_real(line);
    try_size(line);
    try_lists(line);
    argv[argc++] = strdup(line); /* each alone, so that a sanitizer sees reads past its end */
  }
  char *owned[MOST_ARGUMENTS + 2];
  memcpy(owned, argv, sizeof owned); /* parsing moves them */
  try_parse(argc, argv);
  for (int k = 0; k < argc; ++k)
    free(owned[k]);
  free(text);
  return 0;
}
