/* What subcommands share: common options, the context, reading the tensor, signals, progress. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "options.h"
#include "transforms.h"
#include <polyad/polyad.h>

struct cli_session {
  polyad_context *context;
  bool joins;        /* the processes of a launcher, if there are several */
  polyad_team *team; /* of these processes; NULL: this process is alone */
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
  struct cli_transforms transforms;
};

/** Choices in the order of the library's enumerations. */
#define CLI_COMPUTES "native f16 bf16 tf32"
#define CLI_DUPLICATES "sum max min first error mean last count"
#define CLI_MISSING "keep skip error"
#define CLI_NUMBERS "plain grouped point comma"

/* clang-format off */
/** Options that expand inside a cli_option table of a type `t` with a member `session`: of results
 *  and messages, ... */
#define CLI_TALK_OPTIONS(t)                                                                        \
  CLI_HEADING("result and messages"),                                                              \
  CLI_OPTION(t, OUTPUT, session.json, "json", "FILE",                                              \
             "write a JSON object; - writes it, and nothing\nelse, to standard output"),        \
  CLI_OPTION(t, FLAG, session.quiet, "quiet", NULL,                                                \
             "no messages on standard error but errors; results stay", .letter = 'q'),             \
  CLI_OPTION(t, FLAG, session.verbose, "verbose", NULL,                                            \
             "say what is chosen and why", .letter = 'v')

/** ... of storage; `which` says which format is meant, ... */
#define CLI_STORAGE_OPTIONS(t, which)                                                              \
  CLI_HEADING("storage"),                                                                          \
  CLI_OPTION(t, TEXT, format, "format", "FORMAT", (which)),                                        \
  CLI_OPTION(t, TEXT, variant, "variant", "NAME", "auto (default) or one of the format's"),        \
  CLI_OPTION(t, CHOICE, session.compute, "compute", "TYPE",                                        \
             "types of products: native (default: the precision),\n"                               \
             "or f16, bf16, tf32 in formats that compute in them", .choices = CLI_COMPUTES), \
  CLI_OPTION(t, SHARE, session.second_share, "second-share", "X",                                  \
             "share of the nonzeros that the second of two\ndevices has (default: measured)")

/** What --format may be, as the help says it. */
#define CLI_FORMAT_HELP                                                                            \
  "auto (default), or NAME[:VARIANT][:KEY=N]... as polyad\nformats lists names, variants and keys"

/** ... of subcommands that may measure formats before they choose one, ... */
#define CLI_TUNE_OPTIONS(t)                                                                        \
  CLI_OPTION(t, FLAG, session.tune, "tune", NULL,                                                  \
             "measure the formats that can be used, and take the fastest"),                        \
  CLI_OPTION(t, OUTPUT, session.tune_cache, "tune-cache", "FILE",                                  \
             "where --tune keeps what it measured, or none\n"                                      \
             "(default: polyad/tune in the user's cache)")

/** What --device may be: of subcommands that compute on the CPU alone
 *  (cli_session_open_on_cpu()), or on it or one GPU (cli_session_open_on_one()); ... */
#define CLI_DEVICE_CPU "auto (default) or cpu, which are the same here"
#define CLI_DEVICE_ONE "auto (default), cpu, cuda or cuda:1"

/** ... of every subcommand that computes, ... */
#define CLI_COMMON_OPTIONS(t)                                                                      \
  CLI_COMMON_OPTIONS_ON(t, "auto (default), cpu, cuda, cuda:1, opencl; several\n"                  \
                           "GPUs: cuda:all, cuda:0-3; or two: cuda,cpu")
#define CLI_COMMON_OPTIONS_ON(t, devices)                                                          \
  CLI_HEADING("common options"),                                                                   \
  CLI_OPTION(t, TEXT, session.device, "device", "DEVICE", devices),                                \
  CLI_OPTION(t, CHOICE, session.precision, "precision", "f32|f64",                                 \
             "type of values and factors (default f64)", .choices = "f32 f64"),                    \
  CLI_OPTION(t, COUNT, session.threads, "threads", "N",                                            \
             "threads (default: all processors)", .letter = 't', .least = 1),                      \
  CLI_OPTION(t, SIZE, session.memory_limit, "memory-limit", "SIZE",                                \
             "most memory to use, such as 4G (default: what there is)"),                           \
  CLI_OPTION(t, COUNT, session.seed, "seed", "S", "seed of everything random (default 0)"),        \
  CLI_TALK_OPTIONS(t),                                                                             \
  CLI_OPTION(t, OUTPUT, session.log, "log", "FILE",                                                \
             "write what happens, one JSON object a line")

/** ... and of subcommands that read a tensor. */
#define CLI_READ_OPTIONS(t)                                                                        \
  CLI_HEADING("reading"),                                                                          \
  CLI_OPTION(t, TEXT, session.input_format, "input-format", "EXT",                                 \
             "read FILE as if its name ended in .EXT, such as csv:\nfor pipes and odd names"),  \
  CLI_OPTION(t, COUNT, session.index_base, "index-base", "0|1",                                    \
             "smallest index in text files (default 1)", .most = 1),                               \
  CLI_OPTION(t, FLAG, session.pattern, "pattern", NULL,                                            \
             "lines have no value column: all values are 1"),                                      \
  CLI_OPTION(t, CHOICE, session.duplicates, "duplicates", "POLICY",                                \
             "repeated coordinates: sum (default), count, mean,\n"                                 \
             "min, max, first, last, error", .choices = CLI_DUPLICATES),\
  CLI_OPTION(t, CHOICE, session.duplicates, "aggregate", "HOW",                                    \
             "--duplicates in words of tables: what rows of the\n"                                 \
             "same labels become", .choices = "sum count mean min max last"),                      \
  CLI_OPTION(t, CHOICE, session.zeros, "zeros", "drop|keep",                                       \
             "entries that are zero: drop (default), or keep them as\n"                            \
             "cells that were observed", .choices = "drop keep"),                                  \
  CLI_OPTION(t, TEXT, session.dims, "dims", "I1,I2,...",                                           \
             "lengths of the modes (default: as found)"),                                          \
  CLI_OPTION(t, TEXT, session.labels, "labels", "DIR",                                             \
             "label files mode-K-*.map (default: STEM.labels beside FILE)"),                       \
  CLI_OPTION(t, TEXT, session.columns, "columns", "LIST",                                          \
             "delimited text: columns that are modes,\n"                                           \
             "NAME[:round=D|:bin=W],... and of times\n"                                            \
             "NAME:hour|weekday|date|week|month[=dmy|=mdy]"),                                      \
  CLI_OPTION(t, TEXT, session.where, "where", "LIST", "delimited text: rows to take,\n"            \
             "COLUMN=TEXT,COLUMN<BOUND,COLUMN>BOUND,..."),                                         \
  CLI_OPTION(t, CHOICE, session.missing, "missing", "HOW",                                         \
             "delimited text: rows with an empty field or NA: keep\n"                              \
             "(default), skip, error", .choices = CLI_MISSING),                              \
  CLI_OPTION(t, CHOICE, session.numbers, "numbers", "HOW",                                         \
             "delimited text: numbers are plain (default, 1234.5),\n"                              \
             "or have thousands and a currency, with the decimal mark\n"                           \
             "that each tells (grouped), a point or a comma", .choices = CLI_NUMBERS),\
  CLI_OPTION(t, TEXT, session.time_zone, "time-zone", "FROM[:TO]",                                 \
             "delimited text: times are moved from one zone's\n"                                   \
             "clocks to another's: UTC:Europe/Berlin"),                                            \
  CLI_OPTION(t, TEXT, session.value, "value", "NAME", "delimited text: column of the values\n"     \
             "(default: value, else rows are counted)"),                                           \
  CLI_OPTION(t, TEXT, session.delimiter, "delimiter", "C",                                         \
             "delimited text: what separates fields")
/* clang-format on */

/** Defaults; called before parsing. */
void cli_session_init(struct cli_session *session);
/** Creates the context as the options say. 0, or an exit status after an error was printed. */
int cli_session_open(struct cli_session *session);
/** The same for what is computed on the CPU alone: another --device is an error of usage. */
int cli_session_open_on_cpu(struct cli_session *session);
/** The same for what one GPU of CUDA computes, too. */
int cli_session_open_on_one(struct cli_session *session);
/** Settles "auto" before a file is read for a computation: a GPU readies itself meanwhile. */
void cli_session_settle(struct cli_session *session);
void cli_session_close(struct cli_session *session);

/** Reads the tensor as the options say, changes its values, and tells the manifest its hash. 0, or
 *  an exit status. */
int cli_read_tensor(struct cli_session *session, const char *path, polyad_tensor **tensor);
/** The same, but what the library makes of reading is the caller's to tell, and so is the tensor's
 *  hash: cli_plan_of() tells the manifest that of its plan. */
int cli_try_read_tensor(struct cli_session *session, const char *path, polyad_status *made,
                        polyad_tensor **tensor);
/** The first of the options of reading that was given, with its dashes, or NULL. */
const char *cli_reading_given(void);
/** How files are read, as the options say. 0, or an exit status. */
int cli_read_options(struct cli_session *session, polyad_read_options *options);
polyad_type cli_precision(const struct cli_session *session);
/** What --compute says. */
polyad_compute cli_compute(const struct cli_session *session);
/** Hands --precision, --compute and --second-share to the plan. */
void cli_set_types(const struct cli_session *session, polyad_plan_options *options);

/** Makes a plan of the tensor in a file, and tells the manifest its hash. `takes`: it consumes the
 *  tensor, which is then NULL, to save its memory. */
polyad_status cli_plan_of(struct cli_session *session, const char *path, polyad_tensor **tensor,
                          const polyad_plan_options *options, bool takes, polyad_plan **plan);

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
 * to `output` (may be NULL). The line of progress is removed first, since they may share a
 * terminal. */
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
/** The same for a computation whose iterations are shown: its phase and its progress begin and end
 *  with it, and the end gives the exit status of what the library returned. */
void cli_iterations_begin(struct cli_session *session);
int cli_iterations_end(struct cli_session *session, polyad_status done);
/** Exit status for a signal that came while computing (130, 143, 129, 152), or 0. */
int cli_signal_status(void);
/** After such a signal, to this process or to another that computes with it: says after which
 *  iteration the run was stopped, where its model is and how to go on. `output` and `checkpoint`
 * may be NULL. */
void cli_tell_stopped(const struct cli_session *session, const polyad_run_info *info,
                      const char *output, const char *checkpoint);

/** Flushes standard output. 0, or an exit status after an error (quiet when the reader has gone).
 */
int cli_finish_output(void);

#endif
