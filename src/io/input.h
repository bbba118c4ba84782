/* Input of bytes: a file or standard input, decompressed on the way when its first bytes say
 * that it is gzip or Zstandard. Never seeks, so pipes work. */
#ifndef PD_INPUT_H
#define PD_INPUT_H

#include "core/core.h"

struct pd_input;

/** Opens `path` ("-": standard input). Fails for directories and compressors that are known but
 *  not read (xz, bzip2, …), which it names. */
polyad_status pd_input_open(polyad_context *context, const char *path, struct pd_input **input);
/** Fills the buffer: *got is less than `size` only at the end. Errors of reading or of
 *  compressed data are reported once all bytes before them were handed out. May be called from
 *  another thread than the context's: it then records nothing but returns the status, and
 *  pd_input_error() records it. */
polyad_status pd_input_read(struct pd_input *input, void *buffer, size_t size, size_t *got);
/** The first bytes of the data (up to 64 KiB; fewer only when there are no more), which stay to
 *  be read. */
polyad_status pd_input_peek(struct pd_input *input, const unsigned char **data, size_t *size);
/** Skips bytes that were seen with pd_input_peek(), before anything is read. */
void pd_input_skip(struct pd_input *input, size_t size);
/** Records the error that pd_input_read() met; `line` is the line reached. */
polyad_status pd_input_error(struct pd_input *input, uint64_t line);
/** Most bytes that the data can have: the file's size for plain regular files, 32768 times
 *  that for compressed ones, no bound for pipes. Headers that declare more are lies. */
uint64_t pd_input_size_bound(const struct pd_input *input);
/** Closes; NULL is fine. */
void pd_input_close(struct pd_input *input);
/** Name for messages. */
const char *pd_input_path(const struct pd_input *input);

/** Reads ahead on a thread of its own, so that parsing and decompression overlap. */
struct pd_prefetch;

/** Blocks of `block` bytes with `headroom` writable bytes in front of each. */
polyad_status pd_prefetch_create(polyad_context *context, struct pd_input *input, size_t block,
                                 size_t headroom, struct pd_prefetch **prefetch);
/** The next block: valid until the next call. *size is less than a block only at the end, 0 when
 *  there is no more. */
polyad_status pd_prefetch_next(struct pd_prefetch *prefetch, unsigned char **data, size_t *size);
void pd_prefetch_destroy(struct pd_prefetch *prefetch);

#endif
