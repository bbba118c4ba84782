#include "io/ptn_source.h"
#include "io/system_calls.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIPE_CHUNK = 1 << 22 };

/* Standard input may stand in the middle of a file: it is read like a pipe. */
static polyad_status open_input(polyad_context *context, struct pd_ptn_source *source) {
  if (source->file >= 0) (void)pd_sys_close(source->file);
  source->file = -1;
  return pd_input_open(context, source->path, &source->input);
}

polyad_status pd_ptn_source_open(polyad_context *context, const char *path,
                                 struct pd_ptn_source *source) {
  *source = (struct pd_ptn_source){.path = path, .file = -1, .close = true, .size = UINT64_MAX};
  if (strcmp(path, "-") == 0) return open_input(context, source);
  source->file = pd_sys_open_read(path);
  struct stat about;
  if (source->file < 0 || fstat(source->file, &about) != 0) {
    char text[PD_ERRNO_BYTES];
    (void)pd_errno_text(text, errno);
    pd_ptn_source_close(source);
    return pd_fail_at(context, POLYAD_IO, path, 0, 0, "cannot open: %s", text);
  }
  if (!S_ISREG(about.st_mode)) return open_input(context, source);
  source->seekable = true;
  source->size = (uint64_t)about.st_size;
  return POLYAD_OK;
}

struct pd_ptn_source pd_ptn_source_of_input(struct pd_input *input) {
  return (struct pd_ptn_source){
      .path = pd_input_path(input), .file = -1, .input = input, .size = UINT64_MAX};
}

void pd_ptn_source_close(struct pd_ptn_source *source) {
  if (source->file >= 0) (void)pd_sys_close(source->file);
  if (source->close) pd_input_close(source->input);
  source->file = -1;
  source->input = NULL;
}

int64_t pd_ptn_source_read(struct pd_ptn_source *source, uint64_t offset, uint64_t bytes,
                           void *buffer) {
  if (source->seekable) return pd_sys_read_at(source->file, buffer, (size_t)bytes, offset);
  size_t got;
  polyad_status status = pd_input_read(source->input, buffer, (size_t)bytes, &got);
  return status == POLYAD_OK ? (int64_t)got : -1;
}

polyad_status pd_ptn_source_fail(polyad_context *context, const struct pd_ptn_source *source,
                                 int64_t got, uint64_t offset, int error, uint64_t declared) {
  char text[PD_ERRNO_BYTES];
  if (got < 0 && source->input != NULL) return pd_input_error(source->input, 0);
  if (got < 0)
    return pd_fail_at(context, POLYAD_IO, source->path, 0, 0, "read error at byte %" PRIu64 ": %s",
                      offset, pd_errno_text(text, error));
  return pd_fail_at(context, POLYAD_PARSE, source->path, 0, 0,
                    "declares %" PRIu64 " bytes, file has %" PRIu64 ": it is truncated", declared,
                    offset + (uint64_t)got);
}

polyad_status pd_ptn_source_read_all(polyad_context *context, struct pd_ptn_source *source,
                                     uint64_t offset, uint64_t bytes, void *buffer,
                                     uint64_t declared) {
  int64_t got = pd_ptn_source_read(source, offset, bytes, buffer);
  if (got >= 0 && (uint64_t)got == bytes) return POLYAD_OK;
  return pd_ptn_source_fail(context, source, got, offset, errno, declared);
}

polyad_status pd_ptn_source_load(polyad_context *context, struct pd_ptn_source *source,
                                 uint64_t offset, uint64_t bytes, uint64_t declared, void **array) {
  polyad_status status = POLYAD_OK;
  uint64_t capacity = source->seekable || bytes < PIPE_CHUNK ? bytes : PIPE_CHUNK, done = 0;
  PD_TRY(pd_alloc(context, capacity, 1, array));
  for (;;) {
    PD_TRY_CLEANUP(pd_ptn_source_read_all(context, source, offset + done, capacity - done,
                                          (char *)*array + done, declared));
    done = capacity;
    if (done == bytes) return POLYAD_OK;
    capacity = bytes / 2 < capacity ? bytes : 2 * capacity;
    PD_TRY_CLEANUP(pd_realloc(context, capacity, 1, array));
  }

cleanup:
  pd_free(context, *array);
  *array = NULL;
  return status;
}
