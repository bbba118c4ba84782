/* Writes checkpoints. The new state goes into a temporary file, which its checksum seals; then
 * FILE.prev becomes a second name of FILE, and the new file takes the name FILE, which is there at
 * any moment. A lock keeps a second run away. */
#include "io/atomic_file.h"
#include "io/checkpoint.h"
#include "io/checkpoint_format.h"
#include "io/system_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { PATH_BYTES = 4096 };

struct pd_checkpoint {
  polyad_context *context;
  char path[PATH_BYTES]; /* links resolved */
  char lock_path[PATH_BYTES];
  int lock; /* the open lock file */
  bool own; /* whether the file at `path` is known to be good: this run wrote it */
  struct pd_output *output;
  uint64_t bytes;
  XXH3_state_t *hash;
};

static polyad_status checkpoint_write_fail(struct pd_checkpoint *checkpoint, const char *what) {
  return pd_fail_at(checkpoint->context, POLYAD_IO, checkpoint->path, 0, 0, "cannot %s: %s", what,
                    strerror(errno));
}

/* The lock file disappears when a run ends; one that was opened just before is no lock. */
static bool is_current(int file, const char *path) {
  struct stat mine, there;
  return fstat(file, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino &&
         mine.st_dev == there.st_dev;
}

static polyad_status checkpoint_write_take_lock(struct pd_checkpoint *checkpoint) {
  for (;;) {
    checkpoint->lock = open(checkpoint->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (checkpoint->lock < 0) return checkpoint_write_fail(checkpoint, "write checkpoints");
    if (flock(checkpoint->lock, LOCK_EX | LOCK_NB) < 0) {
      if (errno == EINTR) {
        (void)close(checkpoint->lock);
        continue;
      }
      (void)close(checkpoint->lock);
      checkpoint->lock = -1;
      return pd_fail_at(checkpoint->context, POLYAD_IO, checkpoint->path, 0, 0,
                        "another run is writing this checkpoint; expected a file of its own for "
                        "each run");
    }
    if (is_current(checkpoint->lock, checkpoint->lock_path)) return POLYAD_OK;
    (void)close(checkpoint->lock);
  }
}

/* The second name that a checkpoint has for a moment on its way to FILE.prev. */
static void second_name_of(const char *path, char second[PATH_BYTES + 128]) {
  const char *slash = strrchr(path, '/'), *base = slash == NULL ? path : slash + 1;
  snprintf(second, PATH_BYTES + 128, "%.*s.%.100s.polyad-prev.tmp", (int)(base - path), path, base);
}

/* Nobody else writes this checkpoint, so a second name of it is what a killed run left. (Other
 * temporary files go when the next output is opened.) */
static void checkpoint_write_remove_stale(const char *path) {
  char second[PATH_BYTES + 128];
  second_name_of(path, second);
  (void)unlink(second);
}

static polyad_status checkpoint_write_resolve(struct pd_checkpoint *checkpoint, const char *path) {
  char *real = realpath(path, NULL);
  const char *name = real == NULL ? path : real;
  bool fits = strlen(name) < PATH_BYTES - 160;
  snprintf(checkpoint->path, PATH_BYTES, "%s", fits ? name : path);
  snprintf(checkpoint->lock_path, PATH_BYTES, "%s.lock", name);
  free(real);
  if (fits) return POLYAD_OK;
  errno = ENAMETOOLONG;
  return checkpoint_write_fail(checkpoint, "write checkpoints");
}

polyad_status pd_checkpoint_open(polyad_context *context, const char *path,
                                 struct pd_checkpoint **out) {
  struct pd_checkpoint *checkpoint = NULL;
  polyad_status status = POLYAD_OK;
  *out = NULL;
  PD_EXPECT(context, path[0] != '\0' && strcmp(path, "-") != 0,
            "a checkpoint needs a file; found %s", path[0] == '-' ? "'-'" : "an empty name");
  PD_TRY(PD_NEW_ZERO(context, 1, &checkpoint));
  checkpoint->context = context;
  checkpoint->lock = -1;
  PD_TRY_CLEANUP(checkpoint_write_resolve(checkpoint, path));
  PD_TRY_CLEANUP(checkpoint_write_take_lock(checkpoint));
  checkpoint_write_remove_stale(checkpoint->path);
  PD_TRY_CLEANUP(pd_output_probe(context, checkpoint->path));
  checkpoint->hash = XXH3_createState();
  if (checkpoint->hash == NULL) PD_TRY_CLEANUP(pd_fail_memory(context, sizeof(XXH3_state_t *)));
  *out = checkpoint;
  checkpoint = NULL;
cleanup:
  pd_checkpoint_close(checkpoint);
  return status;
}

void pd_checkpoint_close(struct pd_checkpoint *checkpoint) {
  if (checkpoint == NULL) return;
  pd_checkpoint_abort(checkpoint);
  if (checkpoint->lock >= 0) {
    (void)unlink(checkpoint->lock_path);
    (void)close(checkpoint->lock);
  }
  XXH3_freeState(checkpoint->hash);
  pd_free(checkpoint->context, checkpoint);
}

polyad_status pd_checkpoint_begin(struct pd_checkpoint *checkpoint) {
  struct pd_checkpoint_head head = {.version = PD_CHECKPOINT_VERSION,
                                    .byte_order = PD_CHECKPOINT_BYTE_ORDER};
  memcpy(head.magic, PD_CHECKPOINT_MAGIC, sizeof head.magic);
  XXH3_64bits_reset(checkpoint->hash);
  checkpoint->bytes = 0;
  PD_TRY(pd_output_open(checkpoint->context, checkpoint->path, PD_PLAIN, &checkpoint->output));
  return pd_output_write(checkpoint->output, &head, sizeof head);
}

polyad_status pd_checkpoint_put(struct pd_checkpoint *checkpoint, const void *data, size_t size) {
  XXH3_64bits_update(checkpoint->hash, data, size);
  checkpoint->bytes += size;
  return pd_output_write(checkpoint->output, data, size);
}

/* FILE.prev becomes a second name of FILE, so that FILE is never missing. A file that another run
 * left is looked at first: a damaged one must not replace a good FILE.prev. */
static polyad_status keep_previous(struct pd_checkpoint *checkpoint) {
  char previous[PATH_BYTES], second[PATH_BYTES + 128], why[160];
  if (!checkpoint->own && pd_checkpoint_examine(checkpoint->path, why) != PD_CHECKPOINT_GOOD)
    return POLYAD_OK;
  snprintf(previous, sizeof previous, "%.*s.prev", PATH_BYTES - 8, checkpoint->path);
  second_name_of(checkpoint->path, second);
  (void)unlink(second);
  if (link(checkpoint->path, second) < 0) { /* a file system without second names */
    if (errno == ENOENT || pd_sys_rename(checkpoint->path, previous) == 0) return POLYAD_OK;
    return checkpoint_write_fail(checkpoint, "keep the checkpoint before");
  }
  int result = pd_sys_rename(second, previous), reason = errno;
  (void)unlink(second); /* still there when both were names of one file */
  errno = reason;
  return result == 0 ? POLYAD_OK : checkpoint_write_fail(checkpoint, "keep the checkpoint before");
}

/* Writes length and checksum into the head, and with them all that is still in memory. */
static polyad_status seal(struct pd_checkpoint *checkpoint) {
  uint64_t tail[2] = {checkpoint->bytes, XXH3_64bits_digest(checkpoint->hash)};
  return pd_output_patch(checkpoint->output, offsetof(struct pd_checkpoint_head, bytes), tail,
                         sizeof tail);
}

polyad_status pd_checkpoint_rehearse(struct pd_checkpoint *checkpoint) {
  polyad_status status = seal(checkpoint);
  pd_checkpoint_abort(checkpoint);
  return status;
}

polyad_status pd_checkpoint_commit(struct pd_checkpoint *checkpoint) {
  polyad_status status = seal(checkpoint);
  if (status == POLYAD_OK) status = keep_previous(checkpoint);
  if (status != POLYAD_OK) {
    pd_checkpoint_abort(checkpoint);
    return status;
  }
  status = pd_output_commit(checkpoint->output);
  checkpoint->output = NULL;
  if (status == POLYAD_OK) checkpoint->own = true;
  return status;
}

void pd_checkpoint_abort(struct pd_checkpoint *checkpoint) {
  pd_output_abort(checkpoint->output);
  checkpoint->output = NULL;
}
