#include "fault/faulty_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const faulty_call_name[FAULTY_CALLS] = {"open",  "read",  "write",
                                                    "fsync", "close", "rename"};

static struct fault_plan plan = {.which = -1};
static atomic_long calls[FAULTY_CALLS];
static atomic_long interruptions;
static atomic_int failed, harmless;

void faulty_calls_start(struct fault_plan with) {
  for (int call = 0; call < FAULTY_CALLS; ++call)
    atomic_store(&calls[call], 0);
  atomic_store(&failed, 0);
  atomic_store(&harmless, 0);
  plan = with;
}

struct fault_report faulty_calls_stop(void) {
  plan = (struct fault_plan){.which = -1};
  return (struct fault_report){atomic_load(&failed) != 0, atomic_load(&harmless) != 0};
}

static bool fails(enum faulty_call call, bool nothing_lost) {
  if (plan.which < 0 || call != plan.call) return false;
  long which = atomic_fetch_add(&calls[call], 1);
  if (which < plan.which || (which > plan.which && !plan.ever)) return false;
  /* Several failures are harmless together when each of them is. */
  bool first = atomic_exchange(&failed, 1) == 0;
  if (first || !nothing_lost) atomic_store(&harmless, nothing_lost);
  errno = plan.error;
  return true;
}

/* The first of each two calls is interrupted by a signal. */
static bool interrupted(void) {
  if (!plan.storm || atomic_fetch_add(&interruptions, 1) % 2 != 0) return false;
  errno = EINTR;
  return true;
}

static size_t cut(size_t size) { return plan.storm && size > 7 ? size / 2 : size; }

static bool is_directory(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool is_read_only(int file) { return (fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY; }

/* Such as the file that a check of an output makes and takes away again. */
static bool is_empty(int file) {
  struct stat about;
  return fstat(file, &about) == 0 && about.st_size == 0;
}

int __real_open(const char *path, int flags, ...);
ssize_t __real_read(int file, void *buffer, size_t size);
ssize_t __real_pread(int file, void *buffer, size_t size, off_t offset);
ssize_t __real_write(int file, const void *buffer, size_t size);
ssize_t __real_pwrite(int file, const void *buffer, size_t size, off_t offset);
int __real_fsync(int file);
int __real_close(int file);
int __real_rename(const char *from, const char *to);
int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_read(int file, void *buffer, size_t size);
ssize_t __wrap_pread(int file, void *buffer, size_t size, off_t offset);
ssize_t __wrap_write(int file, const void *buffer, size_t size);
ssize_t __wrap_pwrite(int file, const void *buffer, size_t size, off_t offset);
int __wrap_fsync(int file);
int __wrap_close(int file);
int __wrap_rename(const char *from, const char *to);

int __wrap_open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (fails(FAULTY_OPEN, is_directory(path)) || interrupted()) return -1;
  return __real_open(path, flags, mode);
}

ssize_t __wrap_read(int file, void *buffer, size_t size) {
  if (fails(FAULTY_READ, false) || interrupted()) return -1;
  return __real_read(file, buffer, cut(size));
}

ssize_t __wrap_pread(int file, void *buffer, size_t size, off_t offset) {
  if (fails(FAULTY_READ, false) || interrupted()) return -1;
  return __real_pread(file, buffer, cut(size), offset);
}

ssize_t __wrap_write(int file, const void *buffer, size_t size) {
  if (fails(FAULTY_WRITE, false) || interrupted()) return -1;
  return __real_write(file, buffer, cut(size));
}

ssize_t __wrap_pwrite(int file, const void *buffer, size_t size, off_t offset) {
  if (fails(FAULTY_WRITE, false) || interrupted()) return -1;
  return __real_pwrite(file, buffer, cut(size), offset);
}

int __wrap_fsync(int file) {
  if (fails(FAULTY_SYNC, is_read_only(file)) || interrupted()) return -1;
  return __real_fsync(file);
}

int __wrap_close(int file) {
  bool nothing_lost = is_read_only(file) || is_empty(file);
  int done = __real_close(file); /* a failing close gives the descriptor back too */
  return fails(FAULTY_CLOSE, nothing_lost) ? -1 : done;
}

int __wrap_rename(const char *from, const char *to) {
  return fails(FAULTY_RENAME, false) ? -1 : __real_rename(from, to);
}
