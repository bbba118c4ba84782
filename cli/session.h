/* What subcommands share: common options, the context, reading the tensor, signals, progress. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "options.h"
#include <polyad/polyad.h>

struct cli_session {
  polyad_context *context;
  /* common options */
  const char *device, *precision, *json;
  uint64_t threads, memory_limit, seed;
  bool quiet, verbose;
  /* options of reading */
  bool pattern;
  uint64_t index_base;
  const char *duplicates, *dims, *labels, *columns, *value, *delimiter;
};

/** Options that every subcommand which computes has. Expands inside a cli_option table. */
#define CLI_COMMON_OPTIONS(s)                                                                      \
  {.kind = CLI_GROUP, .help = "common options"},                                                   \
      {"device", 0, CLI_TEXT, &(s).device, "DEVICE", "auto (default), cpu, cuda, cuda:1, opencl",  \
       NULL,     0, 0},                                                                            \
      {"precision",                                                                                \
       0,                                                                                          \
       CLI_CHOICE,                                                                                 \
       &(s).precision,                                                                             \
       "f32|f64",                                                                                  \
       "type of values and factors "                                                               \
       "(default f64)",                                                                            \
       "f32 f64",                                                                                  \
       0,                                                                                          \
       0},                                                                                         \
      {"threads", 't', CLI_COUNT, &(s).threads, "N", "threads (default: all processors)",          \
       NULL,      1,   0},                                                                         \
      {"memory-limit",                                                                             \
       0,                                                                                          \
       CLI_SIZE,                                                                                   \
       &(s).memory_limit,                                                                          \
       "SIZE",                                                                                     \
       "most memory to use, such as 4G (default: what there is)",                                  \
       NULL,                                                                                       \
       0,                                                                                          \
       0},                                                                                         \
      {"seed", 0, CLI_COUNT, &(s).seed, "S", "seed of everything random (default 0)", NULL, 0, 0}, \
      {"json",                                                                                     \
       0,                                                                                          \
       CLI_TEXT,                                                                                   \
       &(s).json,                                                                                  \
       "FILE",                                                                                     \
       "write a JSON object; - writes it, and nothing "                                            \
       "else, to standard output",                                                                 \
       NULL,                                                                                       \
       0,                                                                                          \
       0},                                                                                         \
      {"quiet", 'q', CLI_FLAG, &(s).quiet, NULL, "no talk, only errors", NULL, 0, 0}, {            \
    "verbose", 'v', CLI_FLAG, &(s).verbose, NULL, "say what is chosen and why", NULL, 0, 0         \
  }

/** Options of subcommands that read a tensor. */
#define CLI_READ_OPTIONS(s)                                                                        \
  {.kind = CLI_GROUP, .help = "reading"},                                                          \
      {"index-base",                                                                               \
       0,                                                                                          \
       CLI_COUNT,                                                                                  \
       &(s).index_base,                                                                            \
       "0|1",                                                                                      \
       "smallest index in text files "                                                             \
       "(default 1)",                                                                              \
       NULL,                                                                                       \
       0,                                                                                          \
       1},                                                                                         \
      {"pattern", 0, CLI_FLAG, &(s).pattern, NULL, "lines have no value column: all values are 1", \
       NULL,      0, 0},                                                                           \
      {"duplicates",                                                                               \
       0,                                                                                          \
       CLI_CHOICE,                                                                                 \
       &(s).duplicates,                                                                            \
       "POLICY",                                                                                   \
       "repeated coordinates: sum (default), max, min, first, error",                              \
       "sum max min first error",                                                                  \
       0,                                                                                          \
       0},                                                                                         \
      {"dims", 0, CLI_TEXT, &(s).dims, "I1,I2,…", "lengths of the modes (default: as found)",      \
       NULL,   0, 0},                                                                              \
      {"labels",                                                                                   \
       0,                                                                                          \
       CLI_TEXT,                                                                                   \
       &(s).labels,                                                                                \
       "DIR",                                                                                      \
       "label files mode-K-*.map (default: "                                                       \
       "STEM.labels beside FILE)",                                                                 \
       NULL,                                                                                       \
       0,                                                                                          \
       0},                                                                                         \
      {"columns",                                                                                  \
       0,                                                                                          \
       CLI_TEXT,                                                                                   \
       &(s).columns,                                                                               \
       "LIST",                                                                                     \
       "delimited text: columns that are modes, "                                                  \
       "NAME[:round=D|:bin=W],…",                                                                  \
       NULL,                                                                                       \
       0,                                                                                          \
       0},                                                                                         \
      {"value",                                                                                    \
       0,                                                                                          \
       CLI_TEXT,                                                                                   \
       &(s).value,                                                                                 \
       "NAME",                                                                                     \
       "delimited text: column of the values "                                                     \
       "(default: value, else rows are counted)",                                                  \
       NULL,                                                                                       \
       0,                                                                                          \
       0},                                                                                         \
  {                                                                                                \
    "delimiter", 0, CLI_TEXT, &(s).delimiter, "C", "delimited text: what separates fields", NULL,  \
        0, 0                                                                                       \
  }

/** Defaults; called before parsing. */
void cli_session_init(struct cli_session *session);
/** Creates the context as the options say. 0, or an exit status after an error was printed. */
int cli_session_open(struct cli_session *session);
void cli_session_close(struct cli_session *session);

/** Reads the tensor as the options say. 0, or an exit status. */
int cli_read_tensor(struct cli_session *session, const char *path, polyad_tensor **tensor);
polyad_type cli_precision(const struct cli_session *session);

/** Checks before any work that an output can be written and is not an input: 0, or a status. */
int cli_check_output(struct cli_session *session, const char *output, const char *input);

/** A message on standard error, unless --quiet. */
void cli_talk(const struct cli_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Between these, SIGINT, SIGTERM and SIGHUP end the computation after its iteration (a second
 *  one ends the process); outside they end the process. */
void cli_computing_begin(struct cli_session *session);
void cli_computing_end(struct cli_session *session);
/** Exit status for a signal that came while computing (130, 143, 129), or 0. */
int cli_signal_status(void);

/** Flushes standard output. 0, or 1 after an error (quiet when the reader has gone). */
int cli_finish_output(void);

#endif
