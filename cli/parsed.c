#include "parsed.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char **words;
static size_t count, room;
static bool files; /* have begun, after the word -- */
static struct cli_usage of;

void cli_parsed_begin(const struct cli_usage *usage) {
  of = *usage;
  while (count > 0)
    free(words[--count]);
  free(words);
  words = NULL;
  room = 0;
  files = false;
}

/* Without memory a word is missing: replay is then told that options differ. */
static void add_word(const char *word) {
  if (count == room) {
    size_t more = room == 0 ? 32 : 2 * room;
    char **longer = realloc(words, more * sizeof *longer);
    if (longer == NULL) return;
    words = longer;
    room = more;
  }
  char *copy = strdup(word);
  if (copy != NULL) words[count++] = copy;
}

void cli_parsed_add(const char *option, const char *value) {
  char name[80] = "--";
  bool first_file = option == NULL && !files;
  files = option == NULL;
  if (option != NULL) snprintf(name, sizeof name, "--%s", option);
  if (option != NULL || first_file) add_word(name);
  if (value != NULL) add_word(value);
}

void cli_parsed_add_list(const char *option, const char *list) {
  size_t bytes = strlen("--=") + strlen(option) + (list != NULL ? strlen(list) : 0) + 1;
  char *word = malloc(bytes);
  files = false;
  if (word == NULL) return;
  snprintf(word, bytes, "--%s%s%s", option, list != NULL ? "=" : "", list != NULL ? list : "");
  add_word(word);
  free(word);
}

static bool takes_value(const char *option) {
  for (int k = 0; k < of.option_count; ++k)
    if (of.options[k].name != NULL && strcmp(of.options[k].name, option) == 0)
      return CLI_TAKES_WORD(&of.options[k]);
  return false;
}

bool cli_parsed_has(const char *option) {
  for (size_t k = 0; k < count && strcmp(words[k], "--") != 0; ++k) {
    const char *name = words[k] + strlen("--");
    size_t length = strcspn(name, "="); /* a list of modes stands behind it */
    if (length == strlen(option) && memcmp(name, option, length) == 0) return true;
    if (takes_value(name)) ++k;
  }
  return false;
}

size_t cli_parsed_count(void) { return count; }

const char *cli_parsed_word(size_t k) { return words[k]; }

const struct cli_usage *cli_parsed_usage(void) { return &of; }
