#include "io/spill.h"
#include "io/system_calls.h"
#include "io/temporary.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

const char *pd_spill_directory(void) {
  const char *directory = getenv("TMPDIR");
  return directory != NULL && directory[0] != '\0' ? directory : "/var/tmp";
}

static polyad_status spill_fail(polyad_context *context, const struct pd_spill *spill,
                                const char *what, int error) {
  char text[PD_ERRNO_BYTES];
  return pd_fail_at(context, POLYAD_IO, spill->directory, 0, 0, "%s: %s", what,
                    pd_errno_text(text, error));
}

polyad_status pd_spill_create(polyad_context *context, const char *directory,
                              struct pd_spill *spill) {
  char target[PD_PATH_BYTES];
  struct pd_temporary temporary;
  *spill = (struct pd_spill){.file = -1, .directory = directory};
  int length = snprintf(target, sizeof target, "%s/spill", directory);
  if (length < 0 || (size_t)length >= sizeof target)
    return spill_fail(context, spill, "cannot make a spill file", ENAMETOOLONG);
  if (pd_temporary_create(target, false, &temporary) < 0)
    return spill_fail(context, spill, "cannot make a spill file", errno);
  spill->file = pd_sys_duplicate(temporary.file);
  int error = errno;
  pd_temporary_remove(&temporary); /* the name alone: the descriptor keeps the file */
  if (spill->file < 0) return spill_fail(context, spill, "cannot make a spill file", error);
  return POLYAD_OK;
}

polyad_status pd_spill_reserve(polyad_context *context, const struct pd_spill *spill,
                               uint64_t bytes) {
  struct statvfs about;
  char need[32], have[32] = "less";
  if (bytes == 0) return POLYAD_OK;
  if (pd_sys_allocate(spill->file, bytes) == 0) return POLYAD_OK;
  int error = errno;
  if (error != ENOSPC && error != EFBIG && error != EDQUOT)
    return spill_fail(context, spill, "cannot take room for a spill file", error);
  bool known = fstatvfs(spill->file, &about) == 0;
  if (ftruncate(spill->file, 0) < 0) known = false;
  if (known && fstatvfs(spill->file, &about) == 0)
    (void)pd_bytes_text(have, (uint64_t)about.f_bavail * about.f_frsize);
  if (error != ENOSPC) /* a limit of file sizes (ulimit -f, the filesystem's own) or a quota */
    return pd_fail_at(context, POLYAD_IO, spill->directory, 0, 0,
                      "a tensor that streams needs a file of %s (%llu bytes) here: %s; expected a "
                      "spill directory and limits that allow it",
                      pd_bytes_text(need, bytes), (unsigned long long)bytes, strerror(error));
  return pd_fail_at(context, POLYAD_IO, spill->directory, 0, 0,
                    "a tensor that streams needs %s (%llu bytes) of room here and there is %s; "
                    "expected a spill directory with as much room",
                    pd_bytes_text(need, bytes), (unsigned long long)bytes, have);
}

polyad_status pd_spill_resize(polyad_context *context, const struct pd_spill *spill,
                              uint64_t bytes) {
  if (ftruncate(spill->file, (off_t)bytes) == 0) return POLYAD_OK;
  return spill_fail(context, spill, "cannot set the length of a spill file", errno);
}

int pd_spill_fetch(const struct pd_spill *spill, uint64_t offset, uint64_t bytes, void *buffer) {
  ssize_t got = pd_sys_read_at(spill->file, buffer, (size_t)bytes, offset);
  if (got < 0) return errno;
  return (uint64_t)got == bytes ? 0 : EIO;
}

polyad_status pd_spill_fail(polyad_context *context, const struct pd_spill *spill, int error) {
  return spill_fail(context, spill, "cannot read the spill file", error);
}

polyad_status pd_spill_read(polyad_context *context, const struct pd_spill *spill, uint64_t offset,
                            uint64_t bytes, void *buffer) {
  int error = pd_spill_fetch(spill, offset, bytes, buffer);
  return error == 0 ? POLYAD_OK : pd_spill_fail(context, spill, error);
}

polyad_status pd_spill_write(polyad_context *context, const struct pd_spill *spill, uint64_t offset,
                             uint64_t bytes, const void *buffer) {
  if (bytes == 0 || pd_sys_write_at(spill->file, buffer, (size_t)bytes, offset) == 0)
    return POLYAD_OK;
  return spill_fail(context, spill, "cannot write the spill file", errno);
}

void pd_spill_close(struct pd_spill *spill) {
  if (spill->file >= 0) (void)pd_sys_close(spill->file);
  spill->file = -1;
}
