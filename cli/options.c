#include "options.h"
#include "parsed.h"
#include "text.h"
#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 96, HELP_COLUMN = 30 };

bool cli_read_count(const char *text, uint64_t *value) {
  uint64_t sum = 0;
  if (*text == '\0') return false;
  for (; *text != '\0'; ++text) {
    if (!isdigit((unsigned char)*text)) return false;
    if (__builtin_mul_overflow(sum, UINT64_C(10), &sum) ||
        __builtin_add_overflow(sum, (uint64_t)(*text - '0'), &sum))
      return false;
  }
  *value = sum;
  return true;
}

bool cli_read_real(const char *text, double *value) {
  /* The command never sets a locale, so strtod reads a point; the characters keep out "nan",
   * "inf" and hexadecimal numbers. */
  if (*text == '\0' || strspn(text, "0123456789+-.eE") != strlen(text)) return false;
  char *end;
  *value = strtod(text, &end);
  return *end == '\0' && isfinite(*value);
}

bool cli_read_size(const char *text, uint64_t *value) {
  if (strcmp(text, "auto") == 0) {
    *value = 0;
    return true;
  }
  size_t digits = strspn(text, "0123456789");
  char number[24];
  if (digits == 0 || digits >= sizeof number) return false;
  memcpy(number, text, digits);
  number[digits] = '\0';
  if (!cli_read_count(number, value) || *value == 0) return false;
  const char *unit = text + digits;
  static const char *const units[] = {"", "K", "M", "G", "T"};
  for (int k = 0; k < 5; ++k) {
    size_t length = strlen(units[k]);
    if (strncasecmp(unit, units[k], length) != 0 || (k == 0 && *unit != '\0')) continue;
    const char *rest = unit + length;
    if (*rest != '\0' && strcasecmp(rest, "B") != 0 && strcasecmp(rest, "iB") != 0) return false;
    return !__builtin_mul_overflow(*value, UINT64_C(1) << (10 * k), value);
  }
  return false;
}

/* Calls `take` with each comma-separated piece; the number of pieces, or -1. */
static int each_piece(const char *text, int room, bool (*take)(const char *, void *, int),
                      void *values) {
  int count = 0;
  for (;;) {
    size_t length = strcspn(text, ",");
    char piece[64];
    if (length == 0 || length >= sizeof piece || count == room) return -1;
    memcpy(piece, text, length);
    piece[length] = '\0';
    if (!take(piece, values, count++)) return -1;
    if (text[length] == '\0') return count;
    text += length + 1;
  }
}

static bool take_count(const char *text, void *values, int at) {
  return cli_read_count(text, &((uint64_t *)values)[at]);
}

static bool take_real(const char *text, void *values, int at) {
  return cli_read_real(text, &((double *)values)[at]);
}

int cli_read_counts(const char *text, int room, uint64_t *values) {
  return each_piece(text, room, take_count, values);
}

int cli_read_reals(const char *text, int room, double *values) {
  return each_piece(text, room, take_real, values);
}

int cli_choice(const char *choices, const char *text) {
  if (text == NULL) return 0;
  size_t length = strlen(text), size;
  int at = 0;
  for (const char *p = choices;; p += size + 1, ++at) {
    size = strcspn(p, " ");
    if (size == length && memcmp(p, text, size) == 0) return at;
    if (p[size] == '\0') return -1;
  }
}

static int store_count(const struct cli_option *option, const char *text, uint64_t *to) {
  char quoted[CLI_QUOTE_BYTES];
  uint64_t most = option->most == 0 ? UINT64_MAX : option->most, value;
  bool read = cli_read_count(text, &value);
  if (read && value >= option->least && value <= most) {
    *to = value;
    return 0;
  }
  /* Digits that are not read are of a number too large for 64 bits: then the range has two ends. */
  bool too_large = !read && text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
  if (option->most == 0 && !too_large)
    return cli_usage_error("--%s %s found; expected an integer of at least %llu", option->name,
                           cli_quote(quoted, text), (unsigned long long)option->least);
  return cli_usage_error("--%s %s found; expected an integer from %llu to %llu", option->name,
                         cli_quote(quoted, text), (unsigned long long)option->least,
                         (unsigned long long)most);
}

static int store_real(const struct cli_option *option, const char *text, double *to) {
  char quoted[CLI_QUOTE_BYTES];
  bool is_real = cli_read_real(text, to);
  if (option->kind == CLI_SHARE && !(is_real && *to > 0 && *to < 1))
    return cli_usage_error("--%s %s found; expected a number between 0 and 1", option->name,
                           cli_quote(quoted, text));
  if (option->kind == CLI_NUMBER)
    return is_real ? 0
                   : cli_usage_error("--%s %s found; expected a number", option->name,
                                     cli_quote(quoted, text));
  if (!is_real || *to < (double)option->least || (option->most != 0 && *to > (double)option->most))
    return cli_usage_error("--%s %s found; expected a finite number of at least %llu, such as 1e-4",
                           option->name, cli_quote(quoted, text),
                           (unsigned long long)option->least);
  return 0;
}

/* Stores an option's argument; 0, or 2 after an error was printed. */
static int store(const struct cli_option *option, const char *text, void *into) {
  char quoted[CLI_QUOTE_BYTES];
  void *to = (char *)into + option->offset;
  switch (option->kind) {
  case CLI_FLAG:
    *(bool *)to = true;
    return 0;
  case CLI_MODES:
    *(const char **)to = text != NULL ? text : CLI_ALL_MODES;
    if (text == NULL || *text != '\0') return 0;
    return cli_usage_error("--%s= is empty; expected %s", option->name, option->argument);
  case CLI_TEXT:
  case CLI_OUTPUT:
  case CLI_RESULT:
    if (*text == '\0')
      return cli_usage_error("--%s is empty; expected %s", option->name, option->argument);
    *(const char **)to = text;
    return 0;
  case CLI_CHOICE:
    if (cli_choice(option->choices, text) < 0)
      return cli_usage_error("--%s %s is unknown; expected one of: %s", option->name,
                             cli_quote(quoted, text), option->choices);
    *(const char **)to = text;
    return 0;
  case CLI_COUNT:
    return store_count(option, text, to);
  case CLI_REAL:
  case CLI_NUMBER:
  case CLI_SHARE:
    return store_real(option, text, to);
  case CLI_SIZE:
    if (!cli_read_size(text, to))
      return cli_usage_error("--%s %s found; expected bytes, such as 500M or 4G, or auto",
                             option->name, cli_quote(quoted, text));
    return 0;
  case CLI_GROUP:
    break;
  }
  return 0;
}

static void print_option(const struct cli_option *option) {
  if (option->kind == CLI_GROUP) {
    printf("\n%s:\n", option->help);
    return;
  }
  char left[80], letter[8] = "    ";
  if (option->letter != 0) snprintf(letter, sizeof letter, "-%c, ", option->letter);
  bool list = option->kind == CLI_MODES;
  snprintf(left, sizeof left, "  %s--%s%s%s%s", letter, option->name,
           option->argument == NULL ? "" : (list ? "[=" : " "),
           option->argument != NULL ? option->argument : "", list ? "]" : "");
  printf(cli_width(left) > HELP_COLUMN - 1 ? "%s\n%*s" : "%s%*s", left,
         cli_width(left) > HELP_COLUMN - 1 ? HELP_COLUMN : HELP_COLUMN - cli_width(left), "");
  for (const char *line = option->help;;) { /* a line feed goes on in the help's column */
    size_t length = strcspn(line, "\n");
    printf("%.*s\n", (int)length, line);
    if (line[length] == '\0') break;
    line += length + 1;
    printf("%*s", HELP_COLUMN, "");
  }
}

static void print_help(const struct cli_usage *usage) {
  printf("usage: polyad %s %s\n\n%s\n", usage->command, usage->synopsis, usage->summary);
  for (int k = 0; k < usage->option_count; ++k)
    print_option(&usage->options[k]);
  if (usage->example != NULL) printf("\nexample:\n%s\n", usage->example);
}

/* A long option that does not exist, or exists more than once for an abbreviation. */
static int unknown_long(const struct cli_usage *usage, const char *word) {
  char quoted[CLI_QUOTE_BYTES], name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
  const char *near = NULL, *first = NULL, *second = NULL;
  int least = 3;
  for (int k = 0; k < usage->option_count; ++k) {
    const char *known = usage->options[k].name;
    if (known == NULL) continue;
    if (strcmp(known, name) == 0 && usage->options[k].kind == CLI_FLAG)
      return cli_usage_error("option --%s takes no value", known);
    if (strncmp(known, name, strlen(name)) == 0) *(first == NULL ? &first : &second) = known;
    int far = cli_distance(known, name);
    if (far < least) {
      least = far;
      near = known;
    }
  }
  cli_quote(quoted, word);
  if (second != NULL)
    return cli_usage_error("option %s is ambiguous: --%s or --%s", quoted, first, second);
  if (near != NULL) return cli_usage_error("unknown option %s; did you mean --%s?", quoted, near);
  return cli_usage_error("unknown option %s; see polyad %s --help", quoted, usage->command);
}

/* Says what is wrong where getopt_long() stopped; `word` is where it began. */
static int unknown_option(const struct cli_usage *usage, char **argv, const char *word) {
  bool is_short = optopt != 0 && optopt < 256 && optopt != 'h';
  if (!is_short && strncmp(argv[optind - 1], "--", 2) == 0) word = argv[optind - 1];
  if (!is_short && strncmp(word, "--", 2) == 0) return unknown_long(usage, word);
  char letter[2] = {(char)optopt, '\0'};
  return cli_usage_error("unknown option -%s; see polyad %s --help",
                         isgraph(optopt) && optopt < 127 ? letter : "?", usage->command);
}

/* getopt's tables from ours. Entry k of `longs` is option number val - 256. */
static void make_tables(const struct cli_usage *usage, struct option *longs, char *shorts) {
  int count = 0;
  *shorts++ = ':';
  *shorts++ = 'h';
  longs[count++] = (struct option){"help", no_argument, NULL, 'h'};
  for (int k = 0; k < usage->option_count; ++k) {
    const struct cli_option *option = &usage->options[k];
    if (option->kind == CLI_GROUP) continue;
    bool takes = CLI_TAKES_WORD(option);
    int argument = takes                       ? required_argument
                   : option->kind == CLI_MODES ? optional_argument
                                               : no_argument;
    longs[count++] = (struct option){option->name, argument, NULL, 256 + k};
    if (option->letter == 0) continue;
    *shorts++ = option->letter;
    if (takes) *shorts++ = ':';
  }
  longs[count] = (struct option){0};
  *shorts = '\0';
}

static const struct cli_option *find(const struct cli_usage *usage, int result) {
  if (result >= 256) return &usage->options[result - 256];
  for (int k = 0; k < usage->option_count; ++k)
    if (usage->options[k].letter == result) return &usage->options[k];
  return NULL;
}

/* An argument too many may be the file behind a list that a blank parts from its option. */
static int fail_argument(const struct cli_usage *usage, const char *argument, const char *first,
                         const void *into) {
  char quoted[CLI_QUOTE_BYTES], list[CLI_QUOTE_BYTES];
  for (int k = 0; k < usage->option_count; ++k) {
    const struct cli_option *option = &usage->options[k];
    if (option->kind != CLI_MODES) continue;
    const char *given = *(const char *const *)((const char *)into + option->offset);
    if (given != NULL && strcmp(given, CLI_ALL_MODES) == 0)
      return cli_usage_error("argument %s is one too many; a list of modes is joined to its option "
                             "by =: --%s=MODES, not --%s %s",
                             cli_quote(quoted, argument), option->name, option->name,
                             cli_quote(list, first));
  }
  return cli_usage_error("argument %s is one too many; usage: polyad %s %s",
                         cli_quote(quoted, argument), usage->command, usage->synopsis);
}

/* Those that are no options, from optind on. */
static int check_arguments(const struct cli_usage *usage, int argc, char **argv, const void *into) {
  int arguments = argc - optind;
  if (arguments < usage->least_arguments)
    return cli_usage_error("an argument is missing; usage: polyad %s %s", usage->command,
                           usage->synopsis);
  if (arguments > usage->most_arguments)
    return fail_argument(usage, argv[optind + usage->most_arguments], argv[optind], into);
  for (int k = optind; k < argc; ++k)
    if (argv[k][0] == '\0')
      return cli_usage_error("an argument is empty; usage: polyad %s %s", usage->command,
                             usage->synopsis);
  return 0;
}

int cli_parse(const struct cli_usage *usage, int argc, char **argv, void *into, int *first) {
  struct option longs[OPTIONS_MAX + 2];
  char shorts[2 * OPTIONS_MAX + 4];
  make_tables(usage, longs, shorts);
  cli_parsed_begin(usage);
  opterr = 0;
  optind = 1;
  for (;;) {
    const char *word = optind < argc ? argv[optind] : "";
    int result = getopt_long(argc, argv, shorts, longs, NULL);
    if (result == -1) break;
    if (result == 'h') {
      print_help(usage);
      return -1;
    }
    if (result == '?') return unknown_option(usage, argv, word);
    if (result == ':')
      return cli_usage_error("option --%s needs a value: %s", find(usage, optopt)->name,
                             find(usage, optopt)->argument);
    int status = store(find(usage, result), optarg, into);
    if (status != 0) return status;
    if (find(usage, result)->kind == CLI_MODES)
      cli_parsed_add_list(find(usage, result)->name, optarg);
    else
      cli_parsed_add(find(usage, result)->name, optarg);
  }
  *first = optind;
  for (int k = optind; k < argc; ++k)
    cli_parsed_add(NULL, argv[k]);
  return check_arguments(usage, argc, argv, into);
}
