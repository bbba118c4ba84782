/* Writes what is large into a file by several threads. */
#ifndef PD_WIDE_WRITE_H
#define PD_WIDE_WRITE_H

#include "core/core.h"

/* From so many bytes on threads and buffers are worth it. What is shorter stays in the page cache,
 * where the next program finds it. */
enum { PD_WIDE_WRITE_LEAST = 64 << 20 };

/** Writes `size` bytes at `offset` of a regular file that is open as `file` and has the name
 *  `path`. All threads of the context that are worth it write pieces of it, past the page cache
 *  where the file system has a way. The disk has begun with all of it afterwards.
 *  @return 0, or -1 with errno set */
int pd_wide_write(polyad_context *context, int file, const char *path, const void *data,
                  size_t size, uint64_t offset);

#endif
