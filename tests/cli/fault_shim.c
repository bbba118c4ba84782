/* Calls on files that fail, end the process, or are recorded, as fault_shim.h says. Loaded by
 * LD_PRELOAD; it needs no ptrace, which containers often forbid. */
#define _GNU_SOURCE
#include "fault_shim.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int calls;

__attribute__((destructor)) static void write_count(void) {
  const char *path = getenv("FAULT_COUNT");
  FILE *file = path == NULL ? NULL : fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%d\n", atomic_load(&calls));
  fclose(file);
}

static int is_how(const char *name) {
  const char *how = getenv("FAULT_HOW");
  return how != NULL && strcmp(how, name) == 0;
}

static int is_call(const char *kind) {
  const char *call = getenv("FAULT_CALL");
  return call != NULL && strcmp(call, kind) == 0;
}

int fault_strikes(const char *kind) {
  if (!is_call(kind)) return 0;
  const char *text = getenv("FAULT_AT"), *after = getenv("FAULT_AFTER"), *how = getenv("FAULT_HOW");
  int which = atomic_fetch_add(&calls, 1) + 1, at = text == NULL ? 0 : atoi(text);
  if (is_how("short")) return 0;
  if (is_how("eintr")) {
    errno = EINTR;
    return which % 2 == 1;
  }
  int strikes = at == 0 || which == at || (after != NULL && which > at);
  if (strikes && is_how("kill")) raise(SIGKILL);
  if (strikes) errno = how == NULL || is_how("torn") ? EIO : atoi(how);
  return strikes;
}

/* A call that changes files counts under its own name and as a change. */
static int change_strikes(const char *kind) {
  return fault_strikes(kind) || fault_strikes("change");
}

/* ---- which files are meant --------------------------------------------------------------- */

static int is_named(const char *path) {
  const char *name = getenv("FAULT_NAME");
  return name == NULL || strstr(path, name) != NULL;
}

static int path_of(int file, char path[4096]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, 4095);
  if (length < 0) return 0;
  path[length] = '\0';
  return 1;
}

static int is_file(int file) {
  struct stat about;
  char path[4096];
  if (file <= 2 || fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return 0;
  return path_of(file, path) && is_named(path);
}

static int is_output(int file) {
  return is_file(file) && (fcntl(file, F_GETFL) & O_ACCMODE) != O_RDONLY;
}

static int is_directory(int file) {
  struct stat about;
  return file > 2 && fstat(file, &about) == 0 && S_ISDIR(about.st_mode);
}

/* ---- the record: one line for each change ------------------------------------------------- */

static FILE *record_file(void) {
  static FILE *file;
  const char *path = getenv("FAULT_LOG");
  if (file == NULL && path != NULL) {
    file = fopen(path, "w");
    if (file != NULL) setvbuf(file, NULL, _IOLBF, 1 << 16);
  }
  return file;
}

static void record_names(const char *what, const char *first, const char *second) {
  int error = errno;
  FILE *file = record_file();
  if (file != NULL) fprintf(file, "%s\t%s\t%s\n", what, first, second);
  errno = error;
}

static void record_file_call(const char *what, int descriptor) {
  struct stat about;
  char path[4096], number[32];
  if (record_file() == NULL || fstat(descriptor, &about) != 0 || !path_of(descriptor, path)) return;
  snprintf(number, sizeof number, "%llu", (unsigned long long)about.st_ino);
  record_names(what, number, path);
}

static void record_write(int descriptor, const void *data, size_t size, off_t offset) {
  struct stat about;
  FILE *file = record_file();
  if (file == NULL || fstat(descriptor, &about) != 0) return;
  fprintf(file, "write\t%llu\t%lld\t", (unsigned long long)about.st_ino, (long long)offset);
  for (size_t k = 0; k < size; ++k)
    fprintf(file, "%02x", ((const unsigned char *)data)[k]);
  fputc('\n', file);
}

/* ---- the calls --------------------------------------------------------------------------- */

typedef ssize_t transfer(int, const void *, size_t);
typedef ssize_t transfer_at(int, void *, size_t, off_t);
typedef ssize_t transfer_from(int, const void *, size_t, off_t);
typedef int on_file(int);
typedef int on_name(const char *);
typedef int on_names(const char *, const char *);
typedef int opening(const char *, int, ...);
typedef int making(const char *, mode_t);
typedef int removing(int, const char *, int);

#define REAL(name, type)                                                                           \
  static type *real;                                                                               \
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, name)

static size_t cut(const char *kind, size_t size) {
  return is_call(kind) && is_how("short") && size > 1 ? 1 : size;
}

int open(const char *path, int flags, ...) {
  REAL("open", opening);
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  int creates = (flags & O_CREAT) != 0;
  if (is_named(path) && (fault_strikes("open") || (creates && fault_strikes("change")))) return -1;
  int file = real(path, flags, mode);
  if (file >= 0 && creates && is_named(path)) record_file_call("create", file);
  return file;
}

int open64(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open(path, flags, mode);
}

/* Half of the data reaches the file, then the process is gone. */
static void tear(int file, const void *data, size_t size, off_t offset) {
  if (!is_how("torn")) return;
  REAL("pwrite", transfer_from);
  (void)!real(file, data, size / 2, offset);
  raise(SIGKILL);
}

ssize_t write(int file, const void *data, size_t size) {
  REAL("write", transfer);
  if (!is_file(file)) return real(file, data, size);
  off_t offset = lseek(file, 0, SEEK_CUR);
  if (change_strikes("write")) {
    tear(file, data, size, offset);
    return -1;
  }
  ssize_t done = real(file, data, cut("write", size));
  if (done > 0) record_write(file, data, (size_t)done, offset);
  return done;
}

ssize_t pwrite(int file, const void *data, size_t size, off_t offset) {
  REAL("pwrite", transfer_from);
  if (!is_file(file)) return real(file, data, size, offset);
  if (change_strikes("write")) {
    tear(file, data, size, offset);
    return -1;
  }
  ssize_t done = real(file, data, cut("write", size), offset);
  if (done > 0) record_write(file, data, (size_t)done, offset);
  return done;
}

ssize_t pwrite64(int file, const void *data, size_t size, off_t offset) {
  return pwrite(file, data, size, offset);
}

ssize_t read(int file, void *data, size_t size) {
  REAL("read", transfer);
  if (!is_file(file)) return real(file, data, size);
  return fault_strikes("read") ? -1 : real(file, data, cut("read", size));
}

ssize_t pread(int file, void *data, size_t size, off_t offset) {
  REAL("pread", transfer_at);
  if (!is_file(file)) return real(file, data, size, offset);
  return fault_strikes("read") ? -1 : real(file, data, cut("read", size), offset);
}

ssize_t pread64(int file, void *data, size_t size, off_t offset) {
  return pread(file, data, size, offset);
}

int fsync(int file) {
  REAL("fsync", on_file);
  if (is_file(file) && change_strikes("fsync")) return -1;
  if (is_directory(file) && fault_strikes("change")) return -1;
  int done = real(file);
  if (done == 0 && is_file(file)) record_file_call("sync", file);
  if (done == 0 && is_directory(file)) record_file_call("sync_directory", file);
  return done;
}

int fdatasync(int file) { return fsync(file); }

int close(int file) {
  REAL("close", on_file);
  /* Closing what was only read loses nothing. */
  int failing = is_output(file) && change_strikes("close"), number = errno, result = real(file);
  if (!failing) return result;
  errno = number;
  return -1;
}

int rename(const char *from, const char *to) {
  REAL("rename", on_names);
  if (!is_named(to)) return real(from, to);
  if (change_strikes("rename")) return -1;
  int done = real(from, to);
  if (done == 0) record_names("rename", from, to);
  return done;
}

int link(const char *from, const char *to) {
  REAL("link", on_names);
  if (!is_named(to)) return real(from, to);
  if (fault_strikes("change")) return -1;
  int done = real(from, to);
  if (done == 0) record_names("link", from, to);
  return done;
}

int unlink(const char *path) {
  REAL("unlink", on_name);
  if (!is_named(path)) return real(path);
  if (fault_strikes("change")) return -1;
  int done = real(path);
  if (done == 0) record_names("unlink", path, "");
  return done;
}

int unlinkat(int directory, const char *path, int flags) {
  REAL("unlinkat", removing);
  char folder[4096], whole[8200];
  if (!path_of(directory, folder)) return real(directory, path, flags);
  snprintf(whole, sizeof whole, "%s/%s", folder, path);
  if (!is_named(whole)) return real(directory, path, flags);
  if (fault_strikes("change")) return -1;
  int done = real(directory, path, flags);
  if (done == 0) record_names("unlink", whole, "");
  return done;
}

int mkdir(const char *path, mode_t mode) {
  REAL("mkdir", making);
  if (is_named(path) && fault_strikes("change")) return -1;
  int done = real(path, mode);
  if (done == 0 && is_named(path)) record_names("mkdir", path, "");
  return done;
}

int rmdir(const char *path) {
  REAL("rmdir", on_name);
  if (is_named(path) && fault_strikes("change")) return -1;
  int done = real(path);
  if (done == 0 && is_named(path)) record_names("rmdir", path, "");
  return done;
}
