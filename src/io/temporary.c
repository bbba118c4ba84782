#include "io/temporary.h"
#include "io/system_calls.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* So many writers of one target can be at work at once; names are looked at until so many in a row
 * are free. */
enum { MOST_NAMES = 100, FREE_NAMES = 8 };

static bool name_of(const char *target, int number, char path[PD_PATH_BYTES]) {
  const char *slash = strrchr(target, '/');
  int directory = slash == NULL ? 0 : (int)(slash - target) + 1;
  int length = snprintf(path, PD_PATH_BYTES, "%.*s.%.100s.polyad-%d.tmp", directory, target,
                        target + directory, number);
  return length >= 0 && length < PD_PATH_BYTES;
}

/* Whether the name still leads to the open file. */
static bool is_still(const char *path, int file) {
  struct stat named, open;
  return lstat(path, &named) == 0 && fstat(file, &open) == 0 && named.st_dev == open.st_dev &&
         named.st_ino == open.st_ino;
}

/* Removes a directory in which there are files only. */
static void remove_directory(const char *path) {
  DIR *listing = opendir(path);
  if (listing == NULL) return;
  for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing))
    (void)unlinkat(dirfd(listing), entry->d_name, 0);
  (void)closedir(listing);
  (void)rmdir(path);
}

static void remove_entry(const char *path, bool directory) {
  if (directory)
    remove_directory(path);
  else
    (void)unlink(path);
}

/* Removes a temporary of ours whose process is dead. Returns whether the name is free now. */
static bool temporary_remove_stale(const char *path) {
  struct stat about;
  if (lstat(path, &about) < 0) return errno == ENOENT;
  bool directory = S_ISDIR(about.st_mode);
  if ((!directory && !S_ISREG(about.st_mode)) || about.st_uid != geteuid()) return false;
  int file = pd_sys_open_read(path);
  if (file < 0) return false;
  bool dead = flock(file, LOCK_EX | LOCK_NB) == 0 && is_still(path, file);
  if (dead) remove_entry(path, directory);
  (void)pd_sys_close(file);
  return dead;
}

/* Takes the lock of what was just made. Another process may have found it in the moment in which
 * it had no lock, and removed it: false then. Without locks it is ours by its name alone. */
static bool temporary_take_lock(struct pd_temporary *temporary) {
  if (flock(temporary->lock, LOCK_EX | LOCK_NB) < 0) return errno != EWOULDBLOCK;
  return is_still(temporary->path, temporary->lock);
}

static void close_all(struct pd_temporary *temporary) {
  if (temporary->file >= 0) (void)pd_sys_close(temporary->file);
  if (temporary->lock >= 0) (void)pd_sys_close(temporary->lock);
  temporary->file = temporary->lock = -1;
}

static bool is_readable(const char *path) {
  struct stat about;
  return lstat(path, &about) == 0 && (about.st_mode & S_IRUSR) != 0;
}

/* Tries one name. Returns 1 when it is ours, 0 when it is another's, -1 on failure. */
static int try_name(struct pd_temporary *temporary, bool directory) {
  if (directory) {
    if (mkdir(temporary->path, 0777) < 0) return errno == EEXIST ? 0 : -1;
  } else {
    temporary->file = pd_sys_create(temporary->path, 0666);
    if (temporary->file < 0) return errno == EEXIST ? 0 : -1;
  }
  temporary->lock = pd_sys_open_read(temporary->path);
  int error = errno;
  bool locked = temporary->lock >= 0 && temporary_take_lock(temporary);
  /* What the umask forbids to open for reading cannot be locked, nor be taken for dead. */
  if (locked || (temporary->lock < 0 && error == EACCES && !is_readable(temporary->path))) return 1;
  /* By another process, which removes it, or has done so before the lock's file was opened. */
  bool taken = temporary->lock >= 0 || error == ENOENT;
  if (!taken && (directory || is_still(temporary->path, temporary->file)))
    remove_entry(temporary->path, directory);
  close_all(temporary);
  errno = error;
  return taken ? 0 : -1;
}

/* Looks behind the name that was taken for more that dead processes left. */
static void remove_others(const char *target, int number) {
  char path[PD_PATH_BYTES];
  int error = errno;
  for (int unused = 0; ++number < MOST_NAMES && unused < FREE_NAMES;) {
    struct stat about;
    if (!name_of(target, number, path)) break;
    bool exists = lstat(path, &about) == 0;
    unused = exists ? 0 : unused + 1;
    if (exists) (void)temporary_remove_stale(path);
  }
  errno = error;
}

int pd_temporary_create(const char *target, bool directory, struct pd_temporary *temporary) {
  int made = 0, number = 0;
  temporary->file = temporary->lock = -1;
  temporary->live = (struct pd_live_file){0};
  errno = EEXIST;
  for (; number < MOST_NAMES && made == 0; ++number) {
    if (!name_of(target, number, temporary->path)) {
      errno = ENAMETOOLONG;
      made = -1;
      break;
    }
    made = try_name(temporary, directory);
    if (made == 0 && temporary_remove_stale(temporary->path)) made = try_name(temporary, directory);
  }
  if (made == 1) {
    remove_others(target, number - 1);
    pd_live_file_add(&temporary->live, temporary->path);
    return 0;
  }
  if (made == 0) errno = EEXIST;
  temporary->path[0] = '\0';
  return -1;
}

int pd_temporary_replace(struct pd_temporary *temporary, const char *target) {
  if (pd_sys_rename(temporary->path, target) < 0) return -1;
  pd_live_file_remove(&temporary->live);
  temporary->path[0] = '\0';
  close_all(temporary);
  return 0;
}

void pd_temporary_remove(struct pd_temporary *temporary) {
  struct stat about;
  pd_live_file_remove(&temporary->live);
  if (temporary->path[0] != '\0' && lstat(temporary->path, &about) == 0)
    remove_entry(temporary->path, S_ISDIR(about.st_mode));
  temporary->path[0] = '\0';
  close_all(temporary);
}
