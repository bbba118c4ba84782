/* What subcommands share: common options, the context, reading the tensor, signals, progress. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "options.h"
#include <polyad/polyad.h>

struct cli_session {
  polyad_context *context;
  polyad_team *team; /* of the processes of a launcher; NULL: this process is alone */
  int warnings;
  /* common options */
  const char *device, *precision, *json, *log;
  uint64_t threads, memory_limit, seed;
  bool quiet, verbose;
  double second_share; /* of two devices */
  const char *compute; /* type of products; NULL: native */
  bool tune;
  const char *tune_cache; /* NULL: the user's; "none": none */
  char tune_path[4096];
  /* options of reading */
  bool pattern;
  uint64_t index_base;
  const char *input_format, *duplicates, *zeros, *dims, *labels, *columns, *value, *delimiter;
  const char *where, *missing, *numbers, *time_zone;
};

/* clang-format off */
/** Options that expand inside a cli_option table of a type `t` with a member `session`: of results
 *  and messages, ... */
#define CLI_TALK_OPTIONS(t)                                                                        \
  {.kind = CLI_GROUP, .help = "result and messages"},                                              \
  {.name = "json", .kind = CLI_OUTPUT, .offset = offsetof(t, session.json), .argument = "FILE",      \
   .help = "write a JSON object; - writes it, and nothing\nelse, to standard output"},             \
  {.name = "quiet", .letter = 'q', .kind = CLI_FLAG, .offset = offsetof(t, session.quiet),         \
   .help = "no talk on standard error, only errors; results stay"},                                                                \
  {.name = "verbose", .letter = 'v', .kind = CLI_FLAG, .offset = offsetof(t, session.verbose),     \
   .help = "say what is chosen and why"}

/** ... of storage; `which` says which format is meant, ... */
#define CLI_STORAGE_OPTIONS(t, which)                                                              \
  {.kind = CLI_GROUP, .help = "storage"},                                                          \
  {.name = "format", .kind = CLI_TEXT, .offset = offsetof(t, format), .argument = "FORMAT",        \
   .help = (which)},                                                                               \
  {.name = "variant", .kind = CLI_TEXT, .offset = offsetof(t, variant), .argument = "NAME",        \
   .help = "auto (default) or one of the format's"},                                               \
  {.name = "compute", .kind = CLI_CHOICE, .offset = offsetof(t, session.compute),                  \
   .argument = "TYPE",                                                                             \
   .choices = "native f16 bf16 tf32",                                                              \
   .help = "types of products: native (default: the precision),\nor f16, bf16, tf32 in formats that compute in them"},  \
  {.name = "second-share", .kind = CLI_SHARE, .offset = offsetof(t, session.second_share),         \
   .argument = "X",                                                                                \
   .help = "share of the nonzeros that the second of two\ndevices has (default: measured)"}

/** What --format may be, as the help says it. */
#define CLI_FORMAT_HELP                                                                            \
  "auto (default), or NAME[:VARIANT][:KEY=N]... as polyad\nformats lists names, variants and keys"

/** ... of subcommands that may measure formats before they choose one, ... */
#define CLI_TUNE_OPTIONS(t)                                                                        \
  {.name = "tune", .kind = CLI_FLAG, .offset = offsetof(t, session.tune),                          \
   .help = "measure the formats that can be used, and take the fastest"},                          \
  {.name = "tune-cache", .kind = CLI_OUTPUT, .offset = offsetof(t, session.tune_cache),              \
   .argument = "FILE",                                                                             \
   .help = "where --tune keeps what it measured, or none\n(default: polyad/tune in the user's cache)"}

/** ... of every subcommand that computes, ... */
#define CLI_COMMON_OPTIONS(t)                                                                      \
  {.kind = CLI_GROUP, .help = "common options"},                                                   \
  {.name = "device", .kind = CLI_TEXT, .offset = offsetof(t, session.device),                      \
   .argument = "DEVICE",                                                                           \
   .help = "auto (default), cpu, cuda, cuda:1, opencl; several\nGPUs: cuda:all, cuda:0-3; or two: cuda,cpu"},                                           \
  {.name = "precision", .kind = CLI_CHOICE, .offset = offsetof(t, session.precision),              \
   .argument = "f32|f64",                                                                          \
   .choices = "f32 f64", .help = "type of values and factors (default f64)"},                      \
  {.name = "threads", .letter = 't', .kind = CLI_COUNT, .offset = offsetof(t, session.threads),    \
   .argument = "N",                                                                                \
   .least = 1, .help = "threads (default: all processors)"},                                       \
  {.name = "memory-limit", .kind = CLI_SIZE, .offset = offsetof(t, session.memory_limit),          \
   .argument = "SIZE",                                                                             \
   .help = "most memory to use, such as 4G (default: what there is)"},                             \
  {.name = "seed", .kind = CLI_COUNT, .offset = offsetof(t, session.seed), .argument = "S",        \
   .help = "seed of everything random (default 0)"},                                               \
  CLI_TALK_OPTIONS(t),                                                                             \
  {.name = "log", .kind = CLI_OUTPUT, .offset = offsetof(t, session.log), .argument = "FILE",        \
   .help = "write what happens, one JSON object a line"}

/** ... and of subcommands that read a tensor. */
#define CLI_READ_OPTIONS(t)                                                                        \
  {.kind = CLI_GROUP, .help = "reading"},                                                          \
  {.name = "input-format", .kind = CLI_TEXT, .offset = offsetof(t, session.input_format),          \
   .argument = "EXT",                                                                              \
   .help = "read FILE as if its name ended in .EXT, such as csv:\nfor pipes and odd names"},       \
  {.name = "index-base", .kind = CLI_COUNT, .offset = offsetof(t, session.index_base),             \
   .argument = "0|1",                                                                              \
   .most = 1, .help = "smallest index in text files (default 1)"},                                 \
  {.name = "pattern", .kind = CLI_FLAG, .offset = offsetof(t, session.pattern),                    \
   .help = "lines have no value column: all values are 1"},                                        \
  {.name = "duplicates", .kind = CLI_CHOICE, .offset = offsetof(t, session.duplicates),            \
   .argument = "POLICY",                                                                           \
   .choices = "sum max min first error mean last count",                                           \
   .help = "repeated coordinates: sum (default), count, mean,\nmin, max, first, last, error"},      \
  {.name = "aggregate", .kind = CLI_CHOICE, .offset = offsetof(t, session.duplicates),             \
   .argument = "HOW",                                                                              \
   .choices = "sum count mean min max last",                                                       \
   .help = "--duplicates in words of tables: what rows of the\nsame labels become"},               \
  {.name = "zeros", .kind = CLI_CHOICE, .offset = offsetof(t, session.zeros),                      \
   .argument = "drop|keep",                                                                        \
   .choices = "drop keep",                                                                         \
   .help = "entries that are zero: drop (default), or keep them as\ncells that were observed"},   \
  {.name = "dims", .kind = CLI_TEXT, .offset = offsetof(t, session.dims), .argument = "I1,I2,...", \
   .help = "lengths of the modes (default: as found)"},                                            \
  {.name = "labels", .kind = CLI_TEXT, .offset = offsetof(t, session.labels), .argument = "DIR",   \
   .help = "label files mode-K-*.map (default: STEM.labels beside FILE)"},                         \
  {.name = "columns", .kind = CLI_TEXT, .offset = offsetof(t, session.columns),                    \
   .argument = "LIST",                                                                             \
   .help = "delimited text: columns that are modes,\nNAME[:round=D|:bin=W],... and of times\n"     \
           "NAME:hour|weekday|date|week|month[=dmy|=mdy]"},                                        \
  {.name = "where", .kind = CLI_TEXT, .offset = offsetof(t, session.where),                        \
   .argument = "LIST",                                                                             \
   .help = "delimited text: rows to take,\nCOLUMN=TEXT,COLUMN<BOUND,COLUMN>BOUND,..."},            \
  {.name = "missing", .kind = CLI_CHOICE, .offset = offsetof(t, session.missing),                  \
   .argument = "HOW",                                                                              \
   .choices = "keep skip error",                                                                   \
   .help = "delimited text: rows with an empty field or NA: keep\n(default), skip, error"},        \
  {.name = "numbers", .kind = CLI_CHOICE, .offset = offsetof(t, session.numbers),                  \
   .argument = "HOW",                                                                              \
   .choices = "plain grouped point comma",                                                         \
   .help = "delimited text: numbers are plain (default, 1234.5),\n"                                \
           "or have thousands and a currency, with the decimal mark\n"                             \
           "that each tells (grouped), a point or a comma"},                                       \
  {.name = "time-zone", .kind = CLI_TEXT, .offset = offsetof(t, session.time_zone),                \
   .argument = "FROM[:TO]",                                                                        \
   .help = "delimited text: times are moved from one zone's\nclocks to another's: UTC:Europe/Berlin"}, \
  {.name = "value", .kind = CLI_TEXT, .offset = offsetof(t, session.value), .argument = "NAME",    \
   .help = "delimited text: column of the values\n(default: value, else rows are counted)"},       \
  {.name = "delimiter", .kind = CLI_TEXT, .offset = offsetof(t, session.delimiter),                \
   .argument = "C",                                                                                \
   .help = "delimited text: what separates fields"}
/* clang-format on */

/** Defaults; called before parsing. */
void cli_session_init(struct cli_session *session);
/** Creates the context as the options say. 0, or an exit status after an error was printed. */
int cli_session_open(struct cli_session *session);
/** The same for what is computed on the CPU alone: another --device is an error of usage. */
int cli_session_open_on_cpu(struct cli_session *session);
void cli_session_close(struct cli_session *session);

/** Reads the tensor as the options say. 0, or an exit status. */
int cli_read_tensor(struct cli_session *session, const char *path, polyad_tensor **tensor);
polyad_type cli_precision(const struct cli_session *session);
/** What --compute says. */
polyad_compute cli_compute(const struct cli_session *session);
/** Hands --precision, --compute and --second-share to the plan. */
void cli_set_types(const struct cli_session *session, polyad_plan_options *options);

/** Hands --tune and --tune-cache to the plan. */
void cli_set_tuning(struct cli_session *session, polyad_plan_options *options);

struct cli_output {
  const char *name; /* for messages, such as "--json" */
  const char *path; /* NULL: not asked for */
};

/** Checks before any work that no two outputs are the same, that none is an input (also through
 *  links), and that each can be written. 0, or an exit status. */
int cli_check_outputs(struct cli_session *session, const struct cli_output *outputs, int count,
                      const char *const *inputs, int input_count);
/** Checks that no output is an input, also through links. 0, or an exit status. */
int cli_check_inputs(const struct cli_output *outputs, int count, const char *const *inputs,
                     int input_count);
/** Whether a name asks for a directory: it ends in a slash. */
bool cli_is_directory_name(const char *path);
/** Whether results are printed for people: not when standard output belongs to the JSON object or
 * to `output` (may be NULL). */
bool cli_shows_results(const struct cli_session *session, const char *output);

/** A message on standard error, unless --quiet. */
void cli_talk(const struct cli_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Called first of all: SIGINT, SIGTERM, SIGHUP and SIGXCPU (the limit of processor time) end the
 *  process with status 130, 143, 129 or 152. */
void cli_signals_install(void);
/** Between these, a first signal ends the computation after its iteration (a second one ends the
 *  process). After the end results are written, which signals do not cut short. */
void cli_computing_begin(struct cli_session *session);
void cli_computing_end(void);
/** Exit status for a signal that came while computing (130, 143, 129, 152), or 0. */
int cli_signal_status(void);
/** After such a signal: says after which iteration the run was stopped, where its model is and how
 *  to go on. `output` and `checkpoint` may be NULL. */
void cli_tell_stopped(const struct cli_session *session, int iterations, const char *output,
                      const char *checkpoint);

/** Flushes standard output. 0, or an exit status after an error (quiet when the reader has gone).
 */
int cli_finish_output(void);

#endif
