/* Tensors that stream from disk: the options, the decision, and what is said of it. */
#ifndef CLI_STREAMING_H
#define CLI_STREAMING_H

#include "json.h"

struct cli_streaming {
  const char *stream;    /* "auto", "always" or "never" */
  const char *spill_dir; /* NULL: the library's */
  uint64_t bytes;        /* out: that it takes in memory, by estimate; 0: it cannot stream */
};

/* clang-format off */
/** Options inside the table of a type `t` with a member `streaming`. */
#define CLI_STREAM_OPTIONS(t)                                                                      \
  CLI_OPTION(t, CHOICE, streaming.stream, "stream", "WHEN",                                        \
             "leave a .ptn tensor on disk: auto (default: where it\n"                              \
             "does not fit into memory), always, never", .choices = "auto always never"),          \
  CLI_OPTION(t, TEXT, streaming.spill_dir, "spill-dir", "DIR",                                     \
             "where a tensor that streams has its temporary file\n"                                \
             "(default: $TMPDIR, else /var/tmp)")
/* clang-format on */

/** Whether the tensor in `path` is to stream. `able`: nothing else that was asked for forbids it.
 */
bool cli_streams(const struct cli_session *session, struct cli_streaming *streaming,
                 const char *path, const polyad_plan_options *options, bool able);
/** Whether it is to stream now that planning in memory, which cli_streams() thought possible, has
 *  ended with `made`: no format could be built in what the tensor left of the memory. */
bool cli_streams_instead(const struct cli_session *session, const struct cli_streaming *streaming,
                         polyad_status made);
/** Makes the plan, and says how it streams. */
polyad_status cli_stream_plan(const struct cli_session *session,
                              const struct cli_streaming *streaming, const char *path,
                              const polyad_plan_options *options, polyad_plan **plan);
/** The members "streamed" and "stream" of the JSON object. */
void cli_json_streaming(cJSON *object, const polyad_plan *plan);

#endif
