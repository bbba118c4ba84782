#include "io/atomic_file.h"
#include "io/compressor.h"
#include "io/system_calls.h"
#include "io/temporary.h"
#include "io/wide_write.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  PATH_BYTES = PD_PATH_BYTES,
  BUFFER_BYTES = 1 << 20,
  EARLY_BYTES = 4 << 20,   /* appended until the disk begins with them */
  EARLY_PATCH = 256 << 10, /* in one piece elsewhere */
  MOST_LINKS = 40
};

struct pd_output {
  polyad_context *context;
  char name[PATH_BYTES];   /* as the caller gave it */
  char target[PATH_BYTES]; /* with links resolved */
  struct pd_temporary temporary;
  int file;
  struct pd_compressor *compressor; /* NULL: plain */
  unsigned char *buffer;
  size_t capacity, used;
  uint64_t written, begun; /* bytes given to the system, and those that the disk has begun with */
};

enum pd_compression pd_compression_of(const char *path) {
  size_t length = strlen(path);
  if (length > 3 && strcmp(path + length - 3, ".gz") == 0) return PD_GZIP;
  if (length > 4 && strcmp(path + length - 4, ".zst") == 0) return PD_ZSTD;
  return PD_PLAIN;
}

static polyad_status fail_with(struct pd_output *output, const char *what, int error) {
  char text[PD_ERRNO_BYTES];
  const char *name = strcmp(output->name, "-") == 0 ? "<stdout>" : output->name;
  return pd_fail_at(output->context, POLYAD_IO, name, 0, 0, "cannot %s: %s", what,
                    pd_errno_text(text, error));
}

static polyad_status atomic_file_fail(struct pd_output *output, const char *what) {
  return fail_with(output, what, errno);
}

/* Bytes of the directory part of a path, with its slash. */
static int directory_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? 0 : (int)(slash - path) + 1;
}

/* Follows symbolic links, also to a file that does not exist yet, so that renaming replaces the
 * file and not the link. A name that is too long for its file system is found out here, since the
 * temporary's name is shorter and would do. */
static polyad_status atomic_file_resolve(struct pd_output *output) {
  struct stat about;
  memcpy(output->target, output->name, PATH_BYTES);
  for (int links = 0; lstat(output->target, &about) == 0 && S_ISLNK(about.st_mode); ++links) {
    char link[PATH_BYTES], joined[2 * PATH_BYTES];
    ssize_t length = readlink(output->target, link, sizeof link - 1);
    if (length < 0) return atomic_file_fail(output, "follow the link");
    if (links == MOST_LINKS) return fail_with(output, "follow the link", ELOOP);
    link[length] = '\0';
    int kept = link[0] == '/' ? 0 : directory_length(output->target);
    int needed = snprintf(joined, sizeof joined, "%.*s%s", kept, output->target, link);
    if (needed < 0 || needed >= PATH_BYTES)
      return fail_with(output, "follow the link", ENAMETOOLONG);
    memcpy(output->target, joined, (size_t)needed + 1);
  }
  if (lstat(output->target, &about) < 0 && errno == ENAMETOOLONG)
    return atomic_file_fail(output, "open for writing");
  return POLYAD_OK;
}

static polyad_status atomic_file_open_file(struct pd_output *output) {
  if (strcmp(output->name, "-") == 0) {
    output->file = pd_sys_duplicate(STDOUT_FILENO);
    return output->file < 0 ? atomic_file_fail(output, "write") : POLYAD_OK;
  }
  struct stat about;
  bool exists = stat(output->name, &about) == 0;
  if (exists && S_ISDIR(about.st_mode)) return fail_with(output, "open for writing", EISDIR);
  if (exists && !S_ISREG(about.st_mode)) {
    output->file = pd_sys_open_write(output->name);
    return output->file < 0 ? atomic_file_fail(output, "open for writing") : POLYAD_OK;
  }
  if (exists && access(output->name, W_OK) < 0) return atomic_file_fail(output, "open for writing");
  PD_TRY(atomic_file_resolve(output));
  if (pd_temporary_create(output->target, false, &output->temporary) < 0)
    return atomic_file_fail(output, "open for writing");
  output->file = output->temporary.file;
  output->temporary.file = -1;
  if (exists) (void)fchmod(output->file, about.st_mode & 07777);
  return POLYAD_OK;
}

polyad_status pd_output_open(polyad_context *context, const char *path,
                             enum pd_compression compression, struct pd_output **out) {
  struct pd_output *output = NULL;
  *out = NULL;
  if (path[0] == '\0')
    return pd_fail(context, POLYAD_IO, "the name of an output is empty; expected a file");
  if (strlen(path) >= PATH_BYTES)
    return pd_fail_at(context, POLYAD_IO, path, 0, 0, "cannot open for writing: name too long");
  PD_TRY(PD_NEW_ZERO(context, 1, &output));
  output->context = context;
  output->file = output->temporary.file = output->temporary.lock = -1;
  memcpy(output->name, path, strlen(path) + 1);
  output->capacity = BUFFER_BYTES;
  polyad_status status = POLYAD_OK;
  if (compression != PD_PLAIN)
    status = pd_compressor_create(context, compression, &output->compressor);
  if (output->compressor != NULL) output->capacity = pd_compressor_block(output->compressor);
  if (status == POLYAD_OK) status = PD_NEW(context, output->capacity, &output->buffer);
  if (status == POLYAD_OK) status = atomic_file_open_file(output);
  if (status != POLYAD_OK) {
    pd_output_abort(output);
    return status;
  }
  *out = output;
  return POLYAD_OK;
}

/* The disk writes a large file while the rest of it is made, so that the end waits for less. */
static void begin_writing(struct pd_output *output) {
  pd_sys_begin_writing(output->file, output->begun, output->written - output->begun);
  output->begun = output->written;
}

/* Our own file is written at offsets, since several threads have no common position. */
static polyad_status write_out(void *user, const void *data, size_t size) {
  struct pd_output *output = user;
  bool own = output->temporary.path[0] != '\0', wide = own && size >= PD_WIDE_WRITE_LEAST;
  int done = wide ? pd_wide_write(output->context, output->file, output->temporary.path, data, size,
                                  output->written)
             : own ? pd_sys_write_at(output->file, data, size, output->written)
                   : pd_sys_write(output->file, data, size);
  if (done < 0) return atomic_file_fail(output, "write");
  output->written += size;
  if (wide) output->begun = output->written;
  if (own && output->written - output->begun >= EARLY_BYTES) begin_writing(output);
  return POLYAD_OK;
}

static polyad_status atomic_file_flush(struct pd_output *output, bool end) {
  size_t used = output->used;
  output->used = 0;
  if (output->compressor != NULL)
    return pd_compressor_write(output->compressor, output->buffer, used, end, write_out, output);
  return used == 0 ? POLYAD_OK : write_out(output, output->buffer, used);
}

polyad_status pd_output_write(struct pd_output *output, const void *data, size_t size) {
  if (output->compressor == NULL && size >= BUFFER_BYTES) {
    PD_TRY(atomic_file_flush(output, false));
    return write_out(output, data, size);
  }
  const unsigned char *from = data;
  while (size > 0) {
    size_t room = output->capacity - output->used, part = size < room ? size : room;
    memcpy(output->buffer + output->used, from, part);
    output->used += part;
    from += part;
    size -= part;
    if (output->used == output->capacity) PD_TRY(atomic_file_flush(output, false));
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

bool pd_output_can_patch(const struct pd_output *output) {
  return output->compressor == NULL && output->temporary.path[0] != '\0';
}

polyad_status pd_output_patch(struct pd_output *output, uint64_t offset, const void *data,
                              size_t size) {
  PD_TRY(atomic_file_flush(output, false));
  if (pd_sys_write_at(output->file, data, size, offset) < 0)
    return atomic_file_fail(output, "write");
  if (size >= EARLY_PATCH) pd_sys_begin_writing(output->file, offset, size);
  return POLYAD_OK;
}

/* Makes the rename durable. The new file is whole and in its place by then, so a directory that
 * cannot be synced is a warning. */
static void sync_directory(struct pd_output *output) {
  char directory[PATH_BYTES] = ".";
  int length = directory_length(output->target);
  if (length > 0) {
    memcpy(directory, output->target, (size_t)length);
    directory[length] = '\0';
  }
  int file = pd_sys_open_read(directory);
  bool synced = file >= 0 && pd_sys_sync(file) == 0;
  char text[PD_ERRNO_BYTES];
  if (!synced)
    pd_log(output->context, POLYAD_LOG_WARNING,
           "%s: written, but its directory cannot be synced: %s", output->name,
           pd_errno_text(text, errno));
  if (file >= 0) (void)pd_sys_close(file);
}

static polyad_status atomic_file_finish(struct pd_output *output) {
  bool renames = output->temporary.path[0] != '\0';
  PD_TRY(atomic_file_flush(output, true));
  if (renames && pd_sys_sync(output->file) < 0) return atomic_file_fail(output, "write");
  int file = output->file;
  output->file = -1;
  if (pd_sys_close(file) < 0) return atomic_file_fail(output, "write");
  if (!renames) return POLYAD_OK;
  if (pd_temporary_replace(&output->temporary, output->target) < 0)
    return atomic_file_fail(output, "replace");
  sync_directory(output);
  return POLYAD_OK;
}

polyad_status pd_output_commit(struct pd_output *output) {
  polyad_status status = atomic_file_finish(output);
  pd_output_abort(output);
  return status;
}

void pd_output_abort(struct pd_output *output) {
  if (output == NULL) return;
  if (output->file >= 0) (void)pd_sys_close(output->file);
  pd_temporary_remove(&output->temporary);
  pd_compressor_destroy(output->compressor);
  PD_FREE(output->context, output->buffer, output);
}

polyad_status pd_output_probe(polyad_context *context, const char *path) {
  struct pd_output *output;
  struct stat about;
  /* Opening and closing a pipe would end its reader. */
  if (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode) &&
      access(path, W_OK) == 0)
    return POLYAD_OK;
  PD_TRY(pd_output_open(context, path, PD_PLAIN, &output));
  pd_output_abort(output);
  return POLYAD_OK;
}
