/* The one writer of all outputs: a temporary file beside the target, synced, renamed over the
 * target, and the directory synced. Until pd_output_commit() succeeds the old target is as it
 * was. A target that is a symbolic link stays one; one that is a device or a pipe is written
 * directly. */
#ifndef PD_ATOMIC_FILE_H
#define PD_ATOMIC_FILE_H

#include "core/core.h"

struct pd_output;

enum pd_compression { PD_PLAIN, PD_GZIP, PD_ZSTD };

/** Compression that the end of a name asks for (".gz", ".zst"). */
enum pd_compression pd_compression_of(const char *path);

/** Opens an output; "-" is standard output. Fails at once when the directory is missing or not
 *  writable, or when the target is a directory or may not be written. */
polyad_status pd_output_open(polyad_context *context, const char *path,
                             enum pd_compression compression, struct pd_output **output);
/** Appends bytes. */
polyad_status pd_output_write(struct pd_output *output, const void *data, size_t size);
/** Appends formatted text (at most 1023 bytes). */
polyad_status pd_output_printf(struct pd_output *output, const char *format, ...) PD_PRINTF(2, 3);
/** Whether bytes already written may be replaced: not in pipes, nor in compressed files. */
bool pd_output_can_patch(const struct pd_output *output);
/** Replaces bytes already written. */
polyad_status pd_output_patch(struct pd_output *output, uint64_t offset, const void *data,
                              size_t size);
/** Finishes: flushes, syncs, renames. Frees the output, also on failure (the temporary file is
 *  then removed). */
polyad_status pd_output_commit(struct pd_output *output);
/** Gives up: removes the temporary file and frees the output. NULL is fine. */
void pd_output_abort(struct pd_output *output);

/** Fails when `path` could not be written now, without leaving anything behind: so that a long
 *  computation fails at its start. */
polyad_status pd_output_probe(polyad_context *context, const char *path);

#endif
