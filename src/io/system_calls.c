#include "io/system_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int pd_sys_open_read(const char *path) {
  int file;
  do
    file = open(path, O_RDONLY | O_CLOEXEC);
  while (file < 0 && errno == EINTR);
  return file;
}

int pd_sys_create(const char *path, mode_t mode) {
  int file;
  do
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  while (file < 0 && errno == EINTR);
  return file;
}

ssize_t pd_sys_read(int file, void *buffer, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t got = read(file, (char *)buffer + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}

ssize_t pd_sys_read_at(int file, void *buffer, size_t size, uint64_t offset) {
  size_t done = 0;
  while (done < size) {
    ssize_t got = pread(file, (char *)buffer + done, size - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}

int pd_sys_write(int file, const void *buffer, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t put = write(file, (const char *)buffer + done, size - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return -1;
    done += (size_t)put;
  }
  return 0;
}

int pd_sys_write_at(int file, const void *buffer, size_t size, uint64_t offset) {
  size_t done = 0;
  while (done < size) {
    ssize_t put = pwrite(file, (const char *)buffer + done, size - done, (off_t)(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return -1;
    done += (size_t)put;
  }
  return 0;
}

int pd_sys_sync(int file) {
  int done;
  do
    done = fsync(file);
  while (done < 0 && errno == EINTR);
  /* Pipes and some file systems have nothing to sync. */
  return done < 0 && (errno == EINVAL || errno == EROFS || errno == ENOTSUP) ? 0 : done;
}

int pd_sys_close(int file) {
  /* After EINTR the descriptor is gone on Linux: closing again could hit another file. */
  return close(file) < 0 && errno != EINTR ? -1 : 0;
}

int pd_sys_rename(const char *from, const char *to) { return rename(from, to); }
