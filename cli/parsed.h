/* The words of the command line after the subcommand, as they were parsed: options by their long
 * names, each before its value, then -- and the files. */
#ifndef CLI_PARSED_H
#define CLI_PARSED_H

#include "options.h"

/** Forgets all words, and keeps of which subcommand the next ones are. */
void cli_parsed_begin(const struct cli_usage *usage);
/** Adds an option by its long name, with its value (NULL: it has none), or, without a name, a file.
 *  Files come last. */
void cli_parsed_add(const char *option, const char *value);
/** Adds an option of kind CLI_MODES: with its list, unless that is NULL, in one word. */
void cli_parsed_add_list(const char *option, const char *list);
/** Whether an option was given, by its long name. */
bool cli_parsed_has(const char *option);
/** Number of words. */
size_t cli_parsed_count(void);
/** Word k. */
const char *cli_parsed_word(size_t k);
/** What the subcommand says of itself. */
const struct cli_usage *cli_parsed_usage(void);

#endif
