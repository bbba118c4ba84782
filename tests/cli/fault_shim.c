/* Makes the k-th call of one kind fail, or all of them odd: FAULT_CALL names it (write, fsync,
 * close, rename, read, open, thread), FAULT_AT says which (from 1; 0: all), FAULT_HOW is an errno's
 * number, "short" (one byte at a time) or "eintr" (every other call). Only descriptors of regular
 * files and pipes above 2 are touched, and only renames and opens of names that contain FAULT_NAME.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int calls;

static int is_named(const char *path) {
  const char *name = getenv("FAULT_NAME");
  return name == NULL || strstr(path, name) != NULL;
}

static int is_file(int file) {
  struct stat about;
  char link[64], path[4096];
  if (file <= 2 || fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return 0;
  strcpy(link, "/proc/self/fd/");
  char digits[12], *at = digits + sizeof digits;
  *--at = '\0';
  do
    *--at = (char)('0' + file % 10);
  while ((file /= 10) > 0);
  strcat(link, at);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return is_named(path);
}

/* Whether this call of `kind` fails; sets errno. */
static int fails(const char *kind) {
  const char *call = getenv("FAULT_CALL"), *at = getenv("FAULT_AT"), *how = getenv("FAULT_HOW");
  if (call == NULL || strcmp(call, kind) != 0) return 0;
  int which = atomic_fetch_add(&calls, 1) + 1;
  if (how != NULL && strcmp(how, "short") == 0) return 0;
  if (how != NULL && strcmp(how, "eintr") == 0) {
    errno = EINTR;
    return which % 2 == 1;
  }
  errno = how == NULL ? EIO : atoi(how);
  return at == NULL || atoi(at) == 0 || atoi(at) == which;
}

static size_t cut(const char *kind, size_t size) {
  const char *call = getenv("FAULT_CALL"), *how = getenv("FAULT_HOW");
  int is_short = call != NULL && strcmp(call, kind) == 0 && how != NULL && !strcmp(how, "short");
  return is_short && size > 1 ? 1 : size;
}

typedef ssize_t transfer(int, const void *, size_t);
typedef ssize_t transfer_at(int, void *, size_t, off_t);
typedef ssize_t transfer_from(int, const void *, size_t, off_t);
typedef int on_file(int);
typedef int on_names(const char *, const char *);

#define REAL(name, type)                                                                           \
  static type *real;                                                                               \
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, name)

ssize_t write(int file, const void *data, size_t size) {
  REAL("write", transfer);
  if (!is_file(file)) return real(file, data, size);
  return fails("write") ? -1 : real(file, data, cut("write", size));
}

ssize_t pwrite(int file, const void *data, size_t size, off_t offset) {
  REAL("pwrite", transfer_from);
  if (!is_file(file)) return real(file, data, size, offset);
  return fails("write") ? -1 : real(file, data, cut("write", size), offset);
}

ssize_t pwrite64(int file, const void *data, size_t size, off_t offset) {
  return pwrite(file, data, size, offset);
}

ssize_t read(int file, void *data, size_t size) {
  REAL("read", transfer);
  if (!is_file(file)) return real(file, data, size);
  return fails("read") ? -1 : real(file, data, cut("read", size));
}

ssize_t pread(int file, void *data, size_t size, off_t offset) {
  REAL("pread", transfer_at);
  if (!is_file(file)) return real(file, data, size, offset);
  return fails("read") ? -1 : real(file, data, cut("read", size), offset);
}

ssize_t pread64(int file, void *data, size_t size, off_t offset) {
  return pread(file, data, size, offset);
}

int fsync(int file) {
  REAL("fsync", on_file);
  return is_file(file) && fails("fsync") ? -1 : real(file);
}

int fdatasync(int file) {
  REAL("fdatasync", on_file);
  return is_file(file) && fails("fsync") ? -1 : real(file);
}

/* Whether closing can lose what was written. */
static int is_writable(int file) { return (fcntl(file, F_GETFL) & O_ACCMODE) != O_RDONLY; }

int close(int file) {
  REAL("close", on_file);
  int failing = is_file(file) && is_writable(file) && fails("close"), number = errno,
      result = real(file);
  if (!failing) return result;
  errno = number;
  return -1;
}

int rename(const char *from, const char *to) {
  REAL("rename", on_names);
  return is_named(to) && fails("rename") ? -1 : real(from, to);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                   void *argument) {
  int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  return fails("thread") ? EAGAIN : real(thread, attributes, function, argument);
}
