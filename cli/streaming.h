/* Tensors that stream from disk: the options, the decision, and what is said of it. */
#ifndef CLI_STREAMING_H
#define CLI_STREAMING_H

#include "json.h"

struct cli_streaming {
  const char *stream;    /* "auto", "always" or "never" */
  const char *spill_dir; /* NULL: the library's */
  bool able;             /* out: it can stream where memory is not enough */
  bool options_hold;     /* out: nothing is wrong with the plan's options */
  uint64_t disk;         /* out: bytes that it takes there; 0: not known */
};

/* clang-format off */
/** Options inside the table of a type `t` with a member `streaming`. */
#define CLI_STREAM_OPTIONS(t)                                                                      \
  CLI_OPTION(t, CHOICE, streaming.stream, "stream", "WHEN",                                        \
             "leave the tensor of a .ptn or .tns file on disk: auto\n"                             \
             "(default: where it does not fit into the device's\n"                               \
             "memory), always, never", .choices = "auto always never"),          \
  CLI_OPTION(t, TEXT, streaming.spill_dir, "spill-dir", "DIR",                                     \
             "where a tensor that streams has its temporary file\n"                                \
             "(default: $TMPDIR, else /var/tmp)")
/* clang-format on */

/** Whether the tensor in `path` is to stream. `able`: nothing else that was asked for forbids it.
 */
bool cli_streams(const struct cli_session *session, struct cli_streaming *streaming,
                 const char *path, const polyad_plan_options *options,
                 const polyad_read_options *read, bool able);
/** Whether it is to stream now that what cli_streams() thought possible in memory has ended with
 *  `made`: the tensor does not fit, or leaves no room to build a format beside it. */
bool cli_streams_instead(const struct cli_session *session, const struct cli_streaming *streaming,
                         polyad_status made);
/** Makes the plan, and says how it streams. */
polyad_status cli_stream_plan(const struct cli_session *session,
                              const struct cli_streaming *streaming, const char *path,
                              const polyad_plan_options *options, const polyad_read_options *read,
                              polyad_plan **plan);
/** The members "streamed" and "stream" of the JSON object. */
void cli_json_streaming(cJSON *object, const polyad_plan *plan);

#endif
