#include "plan/tune_cache.h"
#include "io/atomic_file.h"
#include "io/system_calls.h"
#include <errno.h>
#include <inttypes.h>
#include <polyad/plan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { DIGITS = 32, HEAD_BYTES = 20 + 16 + 1 };
static const char magic[] = "polyad tune cache 1 ";

/* ---- reading -------------------------------------------------------------------------------- */

static void ignore(polyad_context *context, const char *path, const char *why) {
  pd_log(context, POLYAD_LOG_INFO, "the tuning cache %s is not used: %s", path, why);
}

/* All of a file, with a zero behind it. NULL when it is missing or cannot be read. */
static char *tune_cache_read_all(polyad_context *context, const char *path) {
  char reason[PD_ERRNO_BYTES], *text = NULL;
  int file = pd_sys_open_read(path);
  if (file < 0) {
    if (errno != ENOENT) ignore(context, path, pd_errno_text(reason, errno));
    return NULL;
  }
  struct stat about;
  bool regular = fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
                 about.st_size <= (off_t)PD_TUNE_CACHE_BYTES;
  if (!regular) {
    ignore(context, path, "it is no file of this kind");
  } else if (pd_alloc(context, PD_TUNE_CACHE_BYTES + 1, 1, (void **)&text) != POLYAD_OK) {
    ignore(context, path, polyad_last_error(context));
  } else {
    ssize_t size = pd_sys_read(file, text, PD_TUNE_CACHE_BYTES);
    if (size < 0) {
      ignore(context, path, pd_errno_text(reason, errno));
      pd_free(context, text);
      text = NULL;
    } else {
      text[size] = '\0';
    }
  }
  (void)pd_sys_close(file);
  return text;
}

static void tune_cache_checksum_of(const char *entries, char digits[17]) {
  snprintf(digits, 17, "%016" PRIx64, (uint64_t)XXH3_64bits(entries, strlen(entries)));
}

/* Where the entries begin; NULL when the file is damaged or something else, such as one whose last
 * line has no end: the next entry would become a part of it. */
static char *entries_of(char *text) {
  char sum[17];
  size_t length = strlen(text);
  if (length < HEAD_BYTES || strncmp(text, magic, sizeof magic - 1) != 0 ||
      text[HEAD_BYTES - 1] != '\n' || text[length - 1] != '\n')
    return NULL;
  tune_cache_checksum_of(text + HEAD_BYTES, sum);
  return strncmp(text + sizeof magic - 1, sum, 16) == 0 ? text + HEAD_BYTES : NULL;
}

/* The entries of the file, in memory that is returned through *text; NULL: none. */
static char *tune_cache_load(polyad_context *context, const char *path, char **text) {
  *text = tune_cache_read_all(context, path);
  char *entries = *text == NULL ? NULL : entries_of(*text);
  if (*text != NULL && entries == NULL) ignore(context, path, "it is damaged, or another file");
  return entries;
}

static void digits_of(const char *key, char digits[DIGITS + 1]) {
  XXH128_hash_t hash = XXH3_128bits(key, strlen(key));
  snprintf(digits, DIGITS + 1, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
           (uint64_t)hash.low64);
}

/* The line that begins with these digits. */
static char *find_line(char *entries, const char digits[DIGITS + 1]) {
  for (char *line = entries; line != NULL && *line != '\0';) {
    if (strncmp(line, digits, DIGITS) == 0 && line[DIGITS] == ' ') return line;
    line = strchr(line, '\n');
    if (line != NULL) ++line;
  }
  return NULL;
}

bool pd_tune_cache_find(polyad_context *context, const char *path, const char *key,
                        char found[PD_TUNE_TEXT_BYTES]) {
  char digits[DIGITS + 1], *text = NULL, *entries = tune_cache_load(context, path, &text);
  digits_of(key, digits);
  char *line = entries == NULL ? NULL : find_line(entries, digits);
  size_t length = line == NULL ? 0 : strcspn(line + DIGITS + 1, "\n");
  bool fits = line != NULL && length < PD_TUNE_TEXT_BYTES;
  if (fits) {
    memcpy(found, line + DIGITS + 1, length);
    found[length] = '\0';
  }
  pd_free(context, text);
  pd_begin(context);
  return fits;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Takes out the line of these digits, and the oldest while there are too many. */
static void tune_cache_make_room(char *entries, const char digits[DIGITS + 1]) {
  char *line = find_line(entries, digits);
  if (line != NULL) {
    char *next = line + strcspn(line, "\n");
    next += *next == '\n';
    memmove(line, next, strlen(next) + 1);
  }
  int count = 0;
  for (const char *c = entries; *c != '\0'; ++c)
    count += *c == '\n';
  char *first = entries;
  while (count-- >= PD_TUNE_ENTRIES)
    first = strchr(first, '\n') + 1;
  memmove(entries, first, strlen(first) + 1);
}

static polyad_status tune_cache_write_all(polyad_context *context, const char *path,
                                          const char *entries) {
  struct pd_output *output = NULL;
  char sum[17];
  tune_cache_checksum_of(entries, sum);
  PD_TRY(pd_output_open(context, path, PD_PLAIN, &output));
  polyad_status status = pd_output_printf(output, "%s%s\n", magic, sum);
  if (status == POLYAD_OK) status = pd_output_write(output, entries, strlen(entries));
  if (status == POLYAD_OK) return pd_output_commit(output);
  pd_output_abort(output);
  return status;
}

void pd_tune_cache_store(polyad_context *context, const char *path, const char *key,
                         const char *value) {
  char digits[DIGITS + 1], *text = NULL, *all = NULL,
                           *entries = tune_cache_load(context, path, &text);
  polyad_status status = POLYAD_OK;
  digits_of(key, digits);
  if (entries != NULL) tune_cache_make_room(entries, digits);
  size_t before = entries == NULL ? 0 : strlen(entries);
  size_t size = before + DIGITS + strlen(value) + 3;
  PD_TRY_CLEANUP(pd_alloc(context, size, 1, (void **)&all));
  snprintf(all, size, "%s%s %s\n", entries == NULL ? "" : entries, digits, value);
  PD_TRY_CLEANUP(tune_cache_write_all(context, path, all));
cleanup:
  if (status != POLYAD_OK)
    pd_log(context, POLYAD_LOG_INFO, "what was measured is not kept: %s",
           polyad_last_error(context));
  pd_begin(context); /* no error of the call */
  PD_FREE(context, all, text);
}

/* ---- where it lies -------------------------------------------------------------------------- */

/* Makes a directory that may be there already. */
static bool directory(const char *path) {
  struct stat about;
  if (mkdir(path, 0700) == 0) return true;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* `path` gets one more part; false, and "", when there is no room. */
static bool tune_cache_append(char *path, size_t size, const char *part) {
  size_t length = strlen(path);
  bool fits = length + strlen(part) + 2 <= size;
  if (fits)
    snprintf(path + length, size - length, "/%s", part);
  else
    path[0] = '\0';
  return fits;
}

int polyad_tune_cache_path(char *path, size_t size) {
  if (path == NULL || size == 0) return 0;
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  bool given = cache != NULL && cache[0] == '/'; /* others are to be ignored, says the standard */
  const char *base = given ? cache : home;
  path[0] = '\0';
  if (base == NULL || base[0] != '/' || strlen(base) >= size) return 0;
  snprintf(path, size, "%s", base);
  bool there = given || tune_cache_append(path, size, ".cache");
  there = there && directory(path) && tune_cache_append(path, size, "polyad") && directory(path) &&
          tune_cache_append(path, size, "tune");
  if (!there) path[0] = '\0';
  return there;
}
