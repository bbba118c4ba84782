#define _GNU_SOURCE /* fallocate, O_DIRECT, sync_file_range */
#include "io/system_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/magic.h>
#include <sys/vfs.h>
#endif

static int above_standard(int file) {
  if (file < 0 || file > 2) return file;
  int moved = pd_sys_duplicate(file), error = errno;
  (void)close(file);
  errno = error;
  return moved;
}

static int open_again(const char *path, int flags, mode_t mode) {
  int file;
  do
    file = open(path, flags | O_CLOEXEC, mode);
  while (file < 0 && errno == EINTR);
  return above_standard(file);
}

int pd_sys_open_read(const char *path) { return open_again(path, O_RDONLY, 0); }

int pd_sys_open_write(const char *path) { return open_again(path, O_WRONLY, 0); }

int pd_sys_create(const char *path, mode_t mode) {
  return open_again(path, O_RDWR | O_CREAT | O_EXCL, mode);
}

int pd_sys_open_direct(const char *path) {
#ifdef __linux__
  struct statfs about;
  int file = open_again(path, O_WRONLY | O_DIRECT, 0);
  if (file < 0 || fstatfs(file, &about) < 0 || about.f_type != TMPFS_MAGIC) return file;
  (void)close(file);
#else
  (void)path;
#endif
  errno = ENOTSUP;
  return -1;
}

int pd_sys_duplicate(int file) { return fcntl(file, F_DUPFD_CLOEXEC, 3); }

ssize_t pd_sys_read_some(int file, void *buffer, size_t size) {
  ssize_t got;
  do
    got = read(file, buffer, size);
  while (got < 0 && errno == EINTR);
  return got;
}

ssize_t pd_sys_read(int file, void *buffer, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t got = pd_sys_read_some(file, (char *)buffer + done, size - done);
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

/* While a thread writes, SIGPIPE and SIGXFSZ wait; one that the write raised is taken away. */
struct held_signals {
  sigset_t held, before;
  bool pipe_pending;
};

static void hold_signals(struct held_signals *signals) {
  sigset_t pending;
  sigemptyset(&signals->held);
  sigaddset(&signals->held, SIGPIPE);
  sigaddset(&signals->held, SIGXFSZ);
  sigemptyset(&pending);
  (void)sigpending(&pending);
  signals->pipe_pending = sigismember(&pending, SIGPIPE) == 1;
  (void)pthread_sigmask(SIG_BLOCK, &signals->held, &signals->before);
}

static void release_signals(const struct held_signals *signals, bool failed) {
  int error = errno;
  const struct timespec now = {0, 0};
  if (failed && !signals->pipe_pending && (error == EPIPE || error == EFBIG))
    while (sigtimedwait(&signals->held, NULL, &now) < 0 && errno == EINTR) {
    }
  (void)pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
  errno = error;
}

static ssize_t write_part(int file, const char *from, size_t size, bool anywhere, off_t offset) {
  return anywhere ? pwrite(file, from, size, offset) : write(file, from, size);
}

static int system_calls_write_all(int file, const char *from, size_t size, bool anywhere,
                                  uint64_t offset) {
  struct held_signals signals;
  hold_signals(&signals);
  bool failed = false;
  for (size_t done = 0; done < size && !failed;) {
    ssize_t put = write_part(file, from + done, size - done, anywhere, (off_t)(offset + done));
    if (put >= 0)
      done += (size_t)put;
    else
      failed = errno != EINTR;
  }
  release_signals(&signals, failed);
  return failed ? -1 : 0;
}

int pd_sys_write(int file, const void *buffer, size_t size) {
  return system_calls_write_all(file, buffer, size, false, 0);
}

int pd_sys_write_at(int file, const void *buffer, size_t size, uint64_t offset) {
  return system_calls_write_all(file, buffer, size, true, offset);
}

int pd_sys_allocate(int file, uint64_t bytes) {
  struct held_signals signals;
  int error;
  hold_signals(&signals);
  do
    error = posix_fallocate(file, 0, (off_t)bytes);
  while (error == EINTR);
  errno = error;
  release_signals(&signals, error != 0);
  errno = error;
  return error == 0 ? 0 : -1;
}

int pd_sys_take_room(int file, uint64_t offset, uint64_t bytes) {
#ifdef __linux__
  struct held_signals signals;
  int done;
  hold_signals(&signals);
  do
    done = fallocate(file, 0, (off_t)offset, (off_t)bytes);
  while (done < 0 && errno == EINTR);
  release_signals(&signals, done < 0);
  return done;
#else
  (void)file, (void)offset, (void)bytes;
  errno = ENOTSUP;
  return -1;
#endif
}

void pd_sys_begin_writing(int file, uint64_t offset, uint64_t bytes) {
#ifdef SYNC_FILE_RANGE_WRITE
  (void)sync_file_range(file, (off_t)offset, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
#else
  (void)file, (void)offset, (void)bytes;
#endif
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
