/* Bytes of a file or of standard input, decompressed on the way when the first bytes say that
 * they are gzip or Zstandard. Never seeks, so pipes work. Records no errors: it may run on a
 * thread of its own, and keeps what went wrong until it is asked. */
#ifndef PD_DECODER_H
#define PD_DECODER_H

#include "core/core.h"

struct pd_decoder;

/** Opens `path` ("-": standard input). Fails for directories and for compressors that are known
 *  but not read (xz, bzip2, …), which it names. */
polyad_status pd_decoder_open(polyad_context *context, const char *path,
                              struct pd_decoder **decoder);
/** Fills the buffer: *got is less than `size` only at the end or before an error. The error comes
 *  with the next call, so that all bytes before it are seen. */
polyad_status pd_decoder_read(struct pd_decoder *decoder, void *buffer, size_t size, size_t *got);
/** Makes a pd_decoder_read() that waits for a pipe on another thread return soon. */
void pd_decoder_stop(struct pd_decoder *decoder);
/** Whether bytes pass through a decompressor. */
bool pd_decoder_compressed(const struct pd_decoder *decoder);
/** Whether several threads decompress, which pays with many bytes at a time. */
bool pd_decoder_in_parallel(const struct pd_decoder *decoder);
/** Size of a regular file, -1 for pipes. */
int64_t pd_decoder_size(const struct pd_decoder *decoder);
/** Bytes of the file that what was read so far came from. */
uint64_t pd_decoder_consumed(const struct pd_decoder *decoder);
/** Fills the buffer from a plain regular file with several threads. */
polyad_status pd_decoder_read_parallel(struct pd_decoder *decoder, int threads, void *buffer,
                                       size_t size, size_t *got);
/** Goes on at a byte of a plain regular file. */
polyad_status pd_decoder_seek(struct pd_decoder *decoder, uint64_t offset);
/** Reads bytes of a plain regular file, fewer only at its end, without going there. */
polyad_status pd_decoder_read_at(struct pd_decoder *decoder, uint64_t offset, void *buffer,
                                 size_t size, size_t *got);
/** The same for any thread: keeps no error. False unless all bytes were read. */
bool pd_decoder_read_all_at(const struct pd_decoder *decoder, uint64_t offset, void *buffer,
                            size_t size);
/** Records the error that was met: "PATH: error: …", after line `line` when that is not 0. */
polyad_status pd_decoder_fail(struct pd_decoder *decoder, uint64_t line);
/** Compressor whose data begins with these bytes ("gzip", "xz", …), or NULL. */
const char *pd_compressor_name(const unsigned char *bytes, size_t size);
const char *pd_decoder_path(const struct pd_decoder *decoder);
/** Closes; NULL is fine. */
void pd_decoder_close(struct pd_decoder *decoder);

#endif
