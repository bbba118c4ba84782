/* System calls of reading and writing, in one place: they go on after signals and short
 * transfers, and tests can make them fail. */
#ifndef PD_SYSTEM_CALLS_H
#define PD_SYSTEM_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** Opens for reading; -1 and errno on failure. */
int pd_sys_open_read(const char *path);
/** Creates a file that does not exist yet; -1 and errno on failure. */
int pd_sys_create(const char *path, mode_t mode);
/** Reads up to `size` bytes: fewer only at the end of the file. -1 and errno on failure. */
ssize_t pd_sys_read(int file, void *buffer, size_t size);
/** The same at an offset, without moving the file's position. */
ssize_t pd_sys_read_at(int file, void *buffer, size_t size, uint64_t offset);
/** Writes all `size` bytes; -1 and errno on failure. */
int pd_sys_write(int file, const void *buffer, size_t size);
/** The same at an offset. */
int pd_sys_write_at(int file, const void *buffer, size_t size, uint64_t offset);
/** Makes written data durable; -1 and errno on failure. */
int pd_sys_sync(int file);
/** Closes; -1 and errno when written data was lost. */
int pd_sys_close(int file);
/** Renames, replacing `to`; -1 and errno on failure. */
int pd_sys_rename(const char *from, const char *to);

#endif
