#include "io/atomic_file.h"
#include "core/random.h"
#include "io/compressor.h"
#include "io/system_calls.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, BUFFER_BYTES = 1 << 20 };

struct pd_output {
  polyad_context *context;
  char name[PATH_BYTES];      /* as the caller gave it */
  char target[PATH_BYTES];    /* with links resolved */
  char temporary[PATH_BYTES]; /* "" for standard output */
  int file;
  struct pd_compressor *compressor; /* NULL: plain */
  unsigned char *buffer;
  size_t used;
};

enum pd_compression pd_compression_of(const char *path) {
  size_t length = strlen(path);
  if (length > 3 && strcmp(path + length - 3, ".gz") == 0) return PD_GZIP;
  if (length > 4 && strcmp(path + length - 4, ".zst") == 0) return PD_ZSTD;
  return PD_PLAIN;
}

static polyad_status fail(struct pd_output *output, const char *what) {
  return pd_fail_at(output->context, POLYAD_IO, output->name, 0, 0, "cannot %s: %s", what,
                    strerror(errno));
}

/* The file behind a symbolic link, so that renaming replaces the file and not the link. */
static polyad_status resolve(struct pd_output *output) {
  struct stat about;
  if (lstat(output->name, &about) == 0 && S_ISLNK(about.st_mode)) {
    char *real = realpath(output->name, NULL);
    if (real == NULL) return fail(output, "follow the link");
    int length = snprintf(output->target, PATH_BYTES, "%s", real);
    free(real);
    if (length < 0 || length >= PATH_BYTES) {
      errno = ENAMETOOLONG;
      return fail(output, "open for writing");
    }
    return POLYAD_OK;
  }
  snprintf(output->target, PATH_BYTES, "%s", output->name);
  return POLYAD_OK;
}

/* A new file beside the target, with a name that no other process uses. */
static polyad_status create_temporary(struct pd_output *output) {
  struct stat about;
  mode_t mode = 0666;
  bool existed = stat(output->target, &about) == 0;
  if (existed && S_ISDIR(about.st_mode)) {
    errno = EISDIR;
    return fail(output, "open for writing");
  }
  const char *slash = strrchr(output->target, '/');
  int directory = slash == NULL ? 0 : (int)(slash - output->target) + 1;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  for (uint64_t attempt = 0; attempt < 100; ++attempt) {
    uint64_t tag = pd_random_u64((uint64_t)now.tv_nsec, (uint64_t)getpid(), attempt);
    int length = snprintf(output->temporary, PATH_BYTES, "%.*s.%.100s.%016llx.tmp", directory,
                          output->target, output->target + directory, (unsigned long long)tag);
    if (length < 0 || length >= PATH_BYTES) {
      errno = ENAMETOOLONG;
      break;
    }
    output->file = pd_sys_create(output->temporary, mode);
    if (output->file >= 0 || errno != EEXIST) break;
  }
  if (output->file < 0) {
    output->temporary[0] = '\0';
    return fail(output, "open for writing");
  }
  if (existed) (void)fchmod(output->file, about.st_mode & 07777);
  return POLYAD_OK;
}

static polyad_status open_file(struct pd_output *output) {
  if (strcmp(output->name, "-") == 0) {
    output->file = dup(STDOUT_FILENO);
    return output->file < 0 ? fail(output, "write to standard output") : POLYAD_OK;
  }
  PD_TRY(resolve(output));
  return create_temporary(output);
}

polyad_status pd_output_open(polyad_context *context, const char *path,
                             enum pd_compression compression, struct pd_output **out) {
  struct pd_output *output = NULL;
  *out = NULL;
  if (path[0] == '\0') return pd_fail(context, POLYAD_IO, "the name of an output is empty");
  if (strlen(path) >= PATH_BYTES - 128)
    return pd_fail_at(context, POLYAD_IO, path, 0, 0, "cannot open for writing: %s",
                      strerror(ENAMETOOLONG));
  PD_TRY(PD_NEW_ZERO(context, 1, &output));
  output->context = context;
  output->file = -1;
  snprintf(output->name, PATH_BYTES, "%s", path);
  polyad_status status = PD_NEW(context, BUFFER_BYTES, &output->buffer);
  if (status == POLYAD_OK && compression != PD_PLAIN)
    status = pd_compressor_create(context, compression, &output->compressor);
  if (status == POLYAD_OK) status = open_file(output);
  if (status != POLYAD_OK) {
    pd_output_abort(output);
    return status;
  }
  *out = output;
  return POLYAD_OK;
}

static polyad_status write_out(void *user, const void *data, size_t size) {
  struct pd_output *output = user;
  return pd_sys_write(output->file, data, size) < 0 ? fail(output, "write") : POLYAD_OK;
}

static polyad_status flush(struct pd_output *output, bool end) {
  size_t used = output->used;
  output->used = 0;
  if (output->compressor != NULL)
    return pd_compressor_write(output->compressor, output->buffer, used, end, write_out, output);
  return used == 0 ? POLYAD_OK : write_out(output, output->buffer, used);
}

polyad_status pd_output_write(struct pd_output *output, const void *data, size_t size) {
  if (output->compressor == NULL && size >= BUFFER_BYTES) {
    PD_TRY(flush(output, false));
    return write_out(output, data, size);
  }
  const unsigned char *from = data;
  while (size > 0) {
    size_t room = BUFFER_BYTES - output->used, part = size < room ? size : room;
    memcpy(output->buffer + output->used, from, part);
    output->used += part;
    from += part;
    size -= part;
    if (output->used == BUFFER_BYTES) PD_TRY(flush(output, false));
  }
  return POLYAD_OK;
}

polyad_status pd_output_printf(struct pd_output *output, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0 || length >= (int)sizeof text)
    return pd_fail(output->context, POLYAD_INTERNAL, "a line of text is too long");
  return pd_output_write(output, text, (size_t)length);
}

polyad_status pd_output_patch(struct pd_output *output, uint64_t offset, const void *data,
                              size_t size) {
  PD_TRY(flush(output, false));
  return pd_sys_write_at(output->file, data, size, offset) < 0 ? fail(output, "write") : POLYAD_OK;
}

/* Makes the rename durable. A directory that cannot be synced is no reason to fail. */
static void sync_directory(const char *target) {
  char directory[PATH_BYTES];
  snprintf(directory, sizeof directory, "%s", target);
  char *slash = strrchr(directory, '/');
  if (slash == NULL)
    snprintf(directory, sizeof directory, ".");
  else
    slash[slash == directory] = '\0';
  int file = pd_sys_open_read(directory);
  if (file < 0) return;
  (void)pd_sys_sync(file);
  (void)pd_sys_close(file);
}

polyad_status pd_output_commit(struct pd_output *output) {
  polyad_status status = flush(output, true);
  bool renames = output->temporary[0] != '\0';
  if (status == POLYAD_OK && renames && pd_sys_sync(output->file) < 0)
    status = fail(output, "write");
  int file = output->file;
  output->file = -1;
  if (pd_sys_close(file) < 0 && status == POLYAD_OK) status = fail(output, "write");
  if (status == POLYAD_OK && renames) {
    if (pd_sys_rename(output->temporary, output->target) < 0) {
      status = fail(output, "replace");
    } else {
      output->temporary[0] = '\0';
      sync_directory(output->target);
    }
  }
  pd_output_abort(output);
  return status;
}

void pd_output_abort(struct pd_output *output) {
  if (output == NULL) return;
  if (output->file >= 0) (void)pd_sys_close(output->file);
  if (output->temporary[0] != '\0') (void)unlink(output->temporary);
  pd_compressor_destroy(output->compressor);
  pd_free(output->context, output->buffer);
  pd_free(output->context, output);
}

polyad_status pd_output_probe(polyad_context *context, const char *path) {
  struct pd_output *output;
  PD_TRY(pd_output_open(context, path, PD_PLAIN, &output));
  pd_output_abort(output);
  return POLYAD_OK;
}
