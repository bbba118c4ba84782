/* Input for readers: a file or standard input ("-"), plain, gzip or Zstandard (by its first
 * bytes, not by its name), read in order and never twice, so that pipes work. Compressed data is
 * decoded ahead on a thread of its own; plain files are read by several threads. Memory is
 * bounded. */
#ifndef PD_INPUT_H
#define PD_INPUT_H

#include "core/core.h"

struct pd_input;

/** Opens `path` ("-": standard input). Fails for directories and compressors that are known but
 *  not read (xz, bzip2, …), which it names. */
polyad_status pd_input_open(polyad_context *context, const char *path, struct pd_input **input);
/** Fills the buffer: *got is less than `size` only at the end or before an error. The error comes
 *  with the next call, which returns its status and records nothing: pd_input_error() does. */
polyad_status pd_input_read(struct pd_input *input, void *buffer, size_t size, size_t *got);
/** Allocates an array and reads it; *got is less than `bytes` at the end or before an error. Where
 *  nothing proves the size, memory grows with what has come, so that a lie about it costs none. */
polyad_status pd_input_load(struct pd_input *input, uint64_t bytes, void **array, uint64_t *got);
/** The first bytes of the data (up to 64 KiB; fewer only when there are no more), which stay to
 *  be read. */
polyad_status pd_input_peek(struct pd_input *input, const unsigned char **data, size_t *size);
/** Skips bytes that were seen with pd_input_peek(), before anything is read. */
void pd_input_skip(struct pd_input *input, size_t size);
/** Records the error that pd_input_read() met; `line` is the last whole line before it (0: none).
 *  Returns its status. */
polyad_status pd_input_error(struct pd_input *input, uint64_t line);
/** Leaves of a plain regular file only the lines that begin in part `part` of `parts` equal ones;
 * to be called before anything is read. `begin` gets the byte where they do. */
polyad_status pd_input_cut(struct pd_input *input, int part, int parts, uint64_t *begin);
/** Line ends in the first bytes of a plain regular file. */
polyad_status pd_input_count_lines(struct pd_input *input, uint64_t bytes, uint64_t *lines);
/** Whether what is read passes through a decompressor. */
bool pd_input_compressed(const struct pd_input *input);
/** Size of a plain regular file, or of the part that is left of it; 0 when it is not known or the
 * data is compressed. */
uint64_t pd_input_plain_size(const struct pd_input *input);
/** Bytes [*begin, *end) of a plain regular file are still to be read; false where that is not
 * known.
 */
bool pd_input_rest(const struct pd_input *input, uint64_t *begin, uint64_t *end);
/** Reads bytes of a plain regular file out of turn, from any thread; records no error. False unless
 *  all were read. */
bool pd_input_read_at(const struct pd_input *input, uint64_t offset, void *buffer, size_t size);
/** Goes on at a later byte of the rest. */
polyad_status pd_input_go_to(struct pd_input *input, uint64_t offset);
/** About how many lines a plain regular file has, or the part that is left of it, from samples that
 *  are spread over it; 0 when that is not known. */
uint64_t pd_input_expected_lines(struct pd_input *input);
/** Closes; NULL is fine. */
void pd_input_close(struct pd_input *input);
/** Name for messages. */
const char *pd_input_path(const struct pd_input *input);

#endif
