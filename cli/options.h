/* Command-line options as tables: parsing, checking and help from one description. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "text.h"

enum cli_kind {
  CLI_FLAG,   /* bool: set to true */
  CLI_MODES,  /* const char *: a list of modes behind =, or all of them, CLI_ALL_MODES */
  CLI_TEXT,   /* const char * */
  CLI_OUTPUT, /* const char *: the name of what the option writes */
  CLI_RESULT, /* the same, of what the same run writes again to the same bytes; a decomposition's
                 model has a hash of its own instead */
  CLI_CHOICE, /* const char *: one of `choices`, separated by blanks */
  CLI_COUNT,  /* uint64_t: an integer from `least` to `most` */
  CLI_REAL,   /* double: finite, at least `least` */
  CLI_NUMBER, /* double: finite, of any sign */
  CLI_SHARE,  /* double: above 0 and below 1 */
  CLI_SIZE,   /* uint64_t: bytes, such as 4G; "auto" is 0 */
  CLI_GROUP   /* a heading in the help */
};

/** What an option of kind CLI_MODES stores where no list was given. */
#define CLI_ALL_MODES ""

/** Whether the value of an option is the word behind it. */
#define CLI_TAKES_WORD(option) ((option)->kind != CLI_FLAG && (option)->kind != CLI_MODES)

struct cli_option {
  const char *name;
  char letter; /* 0: none */
  enum cli_kind kind;
  size_t offset;        /* of the member that gets the argument */
  const char *argument; /* name of the argument in the help */
  const char *help;
  const char *choices;
  uint64_t least, most; /* most 0: no limit */
};

/** An entry of a table of options: what stores its argument in which member of `type`. Behind the
 *  help may come .letter, .choices, .least and .most. */
#define CLI_OPTION(type, what, member, option_name, argument_name, ...)                            \
  {                                                                                                \
    .kind = CLI_##what, .offset = offsetof(type, member), .name = (option_name),                   \
    .argument = (argument_name), .help = __VA_ARGS__                                               \
  }
#define CLI_HEADING(text)                                                                          \
  { .kind = CLI_GROUP, .help = (text) }

/** What a subcommand says of itself. */
struct cli_usage {
  const char *command;  /* "cpd" */
  const char *synopsis; /* "FILE -r RANK [options]" */
  const char *summary;
  const char *example;
  const struct cli_option *options;
  int option_count;
  int least_arguments, most_arguments;
  int result_arguments; /* the last ones: names of what is written, as of CLI_RESULT */
  bool measures;        /* what it tells are times and rates, which no run repeats */
  bool inquires;        /* tells of this installation: its JSON object has no manifest */
};

/** A usage's options. */
#define CLI_OPTIONS(table)                                                                         \
  .options = (table), .option_count = (int)(sizeof(table) / sizeof *(table))

/** Parses the arguments into the structure that the options' offsets speak of. Positional ones are
 * moved to the end and *first tells where.
 *  @return 0; 2 after an error was printed; -1 after help was printed (the command ends well) */
int cli_parse(const struct cli_usage *usage, int argc, char **argv, void *into, int *first);

/** Strict numbers of options and arguments, the same in every locale; false when malformed. */
bool cli_read_count(const char *text, uint64_t *value);
bool cli_read_real(const char *text, double *value);
bool cli_read_size(const char *text, uint64_t *value);
/** Which of `choices`, separated by blanks, a text is, from 0; NULL is the first, -1 is none. An
 *  enumeration whose values are listed in their order is read with it. */
int cli_choice(const char *choices, const char *text);
/** Comma-separated counts; the number of them, or -1. */
int cli_read_counts(const char *text, int room, uint64_t *values);
int cli_read_reals(const char *text, int room, double *values);

#endif
