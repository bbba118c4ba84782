/* System calls of reading and writing, in one place: they go on after signals and short
 * transfers, and tests can make them fail (they are replaced when a test is linked or run). */
#ifndef PD_SYSTEM_CALLS_H
#define PD_SYSTEM_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* All return -1 with errno set on failure. Descriptors are above 2, so that what a program
 * without standard streams opens is never taken for one. */

/** Opens for reading. */
int pd_sys_open_read(const char *path);
/** Opens an existing file, such as a device or a pipe, for writing. */
int pd_sys_open_write(const char *path);
/** Opens a file for writes past the page cache, whose bytes, addresses and sizes are those of whole
 *  pages. Fails where there is no such way, and on file systems that are in memory anyway. */
int pd_sys_open_direct(const char *path);
/** Creates a file that does not exist yet. */
int pd_sys_create(const char *path, mode_t mode);
/** Another descriptor of an open file. */
int pd_sys_duplicate(int file);
/** Reads up to `size` bytes: fewer only at the end of the file. */
ssize_t pd_sys_read(int file, void *buffer, size_t size);
/** Reads what there is now (at least one byte), 0 at the end. */
ssize_t pd_sys_read_some(int file, void *buffer, size_t size);
/** Reads up to `size` bytes at an offset, without moving the file's position. */
ssize_t pd_sys_read_at(int file, void *buffer, size_t size, uint64_t offset);
/** Writes all `size` bytes. A reader that is gone (EPIPE) or a file size limit (EFBIG) is an
 *  error and raises no signal. */
int pd_sys_write(int file, const void *buffer, size_t size);
/** The same at an offset. */
int pd_sys_write_at(int file, const void *buffer, size_t size, uint64_t offset);
/** Makes a file at least `bytes` long and takes the room for them on the disk. */
int pd_sys_allocate(int file, uint64_t bytes);
/** Makes a file at least so long and takes the room for the part at `offset`, where the file system
 *  can do so at once. */
int pd_sys_take_room(int file, uint64_t offset, uint64_t bytes);
/** Lets the disk begin with what was written, and does not wait for it. */
void pd_sys_begin_writing(int file, uint64_t offset, uint64_t bytes);
/** Makes written data durable. */
int pd_sys_sync(int file);
/** Closes; fails when written data was lost. */
int pd_sys_close(int file);
/** Renames, replacing `to`. */
int pd_sys_rename(const char *from, const char *to);

enum { PD_ERRNO_BYTES = 96 };
/** Text of an error number; thread-safe. Returns `text`. */
const char *pd_errno_text(char text[PD_ERRNO_BYTES], int error);

#endif
