/* Reads checkpoints: FILE, or FILE.prev where FILE cannot be used. */
#include "io/checkpoint.h"
#include "io/checkpoint_format.h"
#include "io/system_calls.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum { PATH_BYTES = 4096, WHY_BYTES = 160, BUFFER_BYTES = 1 << 16 };

struct pd_checkpoint_input {
  polyad_context *context;
  char path[PATH_BYTES];
  int file;
  uint64_t left;
};

static enum pd_checkpoint_flaw checkpoint_read_check_head(const struct pd_checkpoint_head *head,
                                                          char *why) {
  if (memcmp(head->magic, PD_CHECKPOINT_MAGIC, sizeof head->magic) != 0) {
    snprintf(why, WHY_BYTES, "it is no checkpoint of polyad");
    return PD_CHECKPOINT_DAMAGED;
  }
  if (head->byte_order != PD_CHECKPOINT_BYTE_ORDER) {
    snprintf(why, WHY_BYTES, "it comes from a machine of another byte order");
    return PD_CHECKPOINT_DAMAGED;
  }
  if (head->version > PD_CHECKPOINT_VERSION) {
    snprintf(why, WHY_BYTES, "it has version %u, newer than the %d that this polyad reads",
             (unsigned)head->version, PD_CHECKPOINT_VERSION);
    return PD_CHECKPOINT_OTHER_VERSION;
  }
  if (head->version < PD_CHECKPOINT_VERSION) {
    snprintf(why, WHY_BYTES,
             "it has version %u, older than the %d that this polyad reads; go on with the polyad "
             "that wrote it, or start anew",
             (unsigned)head->version, PD_CHECKPOINT_VERSION);
    return PD_CHECKPOINT_OTHER_VERSION;
  }
  return PD_CHECKPOINT_GOOD;
}

/* Compares length and checksum of what follows the head. */
static enum pd_checkpoint_flaw checkpoint_read_check_state(int file,
                                                           const struct pd_checkpoint_head *head,
                                                           XXH3_state_t *state, char *why) {
  unsigned char buffer[BUFFER_BYTES];
  uint64_t bytes = 0;
  XXH3_64bits_reset(state);
  for (;;) {
    ssize_t got = pd_sys_read(file, buffer, sizeof buffer);
    if (got < 0) {
      snprintf(why, WHY_BYTES, "cannot read: %s", strerror(errno));
      return PD_CHECKPOINT_UNREADABLE;
    }
    if (got == 0) break;
    XXH3_64bits_update(state, buffer, (size_t)got);
    bytes += (uint64_t)got;
  }
  if (bytes != head->bytes) {
    snprintf(why, WHY_BYTES,
             "it holds %llu bytes of state; expected %llu: it is cut off or damaged",
             (unsigned long long)bytes, (unsigned long long)head->bytes);
    return PD_CHECKPOINT_DAMAGED;
  }
  if (XXH3_64bits_digest(state) != head->checksum) {
    snprintf(why, WHY_BYTES, "its checksum does not match: it is damaged");
    return PD_CHECKPOINT_DAMAGED;
  }
  return PD_CHECKPOINT_GOOD;
}

static enum pd_checkpoint_flaw examine_file(int file, struct pd_checkpoint_head *head, char *why) {
  ssize_t got = pd_sys_read(file, head, sizeof *head);
  if (got < 0) {
    snprintf(why, WHY_BYTES, "cannot read: %s", strerror(errno));
    return PD_CHECKPOINT_UNREADABLE;
  }
  if ((size_t)got < sizeof *head) {
    snprintf(why, WHY_BYTES, "it is %d bytes long; expected at least %d", (int)got,
             (int)sizeof *head);
    return PD_CHECKPOINT_DAMAGED;
  }
  enum pd_checkpoint_flaw flaw = checkpoint_read_check_head(head, why);
  if (flaw != PD_CHECKPOINT_GOOD) return flaw;
  XXH3_state_t *state = XXH3_createState();
  if (state == NULL) {
    snprintf(why, WHY_BYTES, "no memory to check it");
    return PD_CHECKPOINT_UNREADABLE;
  }
  flaw = checkpoint_read_check_state(file, head, state, why);
  XXH3_freeState(state);
  return flaw;
}

enum pd_checkpoint_flaw pd_checkpoint_examine(const char *path, char why[WHY_BYTES]) {
  struct pd_checkpoint_head head;
  int file = pd_sys_open_read(path);
  if (file < 0) {
    snprintf(why, WHY_BYTES, "cannot open: %s", strerror(errno));
    return errno == ENOENT ? PD_CHECKPOINT_MISSING : PD_CHECKPOINT_UNREADABLE;
  }
  enum pd_checkpoint_flaw flaw = examine_file(file, &head, why);
  (void)pd_sys_close(file);
  return flaw;
}

static polyad_status status_of(enum pd_checkpoint_flaw flaw) {
  switch (flaw) {
  case PD_CHECKPOINT_GOOD:
    return POLYAD_OK;
  case PD_CHECKPOINT_MISSING:
  case PD_CHECKPOINT_UNREADABLE:
    return POLYAD_IO;
  case PD_CHECKPOINT_OTHER_VERSION:
    return POLYAD_UNSUPPORTED;
  case PD_CHECKPOINT_DAMAGED:
    break;
  }
  return POLYAD_PARSE;
}

/* Settles which of the two files to read: writes its name into input->path. */
static polyad_status checkpoint_read_choose(struct pd_checkpoint_input *input, const char *path) {
  char why[WHY_BYTES], why_previous[WHY_BYTES];
  snprintf(input->path, PATH_BYTES, "%s", path);
  enum pd_checkpoint_flaw flaw = pd_checkpoint_examine(path, why);
  if (flaw == PD_CHECKPOINT_GOOD) return POLYAD_OK;
  if (flaw == PD_CHECKPOINT_OTHER_VERSION)
    return pd_fail_at(input->context, POLYAD_UNSUPPORTED, path, 0, 0, "cannot resume: %s", why);
  snprintf(input->path, PATH_BYTES, "%s.prev", path);
  enum pd_checkpoint_flaw previous = pd_checkpoint_examine(input->path, why_previous);
  if (previous == PD_CHECKPOINT_GOOD) {
    pd_log(input->context, POLYAD_LOG_WARNING,
           "going on from the checkpoint before, %s: the last one cannot be used: %s", input->path,
           why);
    return POLYAD_OK;
  }
  if (flaw == PD_CHECKPOINT_MISSING && previous == PD_CHECKPOINT_MISSING)
    return pd_fail_at(input->context, POLYAD_IO, path, 0, 0,
                      "there is no checkpoint to resume from; expected one that an earlier run "
                      "with --checkpoint wrote");
  return pd_fail_at(input->context, status_of(flaw), path, 0, 0,
                    "cannot resume: %s; %s.prev cannot be used either: %s", why,
                    strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1, why_previous);
}

polyad_status pd_checkpoint_input_open(polyad_context *context, const char *path,
                                       struct pd_checkpoint_input **out) {
  struct pd_checkpoint_input *input = NULL;
  struct pd_checkpoint_head head;
  *out = NULL;
  if (strlen(path) >= PATH_BYTES - 8)
    return pd_fail_at(context, POLYAD_IO, path, 0, 0, "cannot open: %s", strerror(ENAMETOOLONG));
  PD_TRY(PD_NEW_ZERO(context, 1, &input));
  input->context = context;
  input->file = -1;
  polyad_status status = checkpoint_read_choose(input, path);
  if (status == POLYAD_OK) {
    input->file = pd_sys_open_read(input->path);
    if (input->file < 0 || pd_sys_read(input->file, &head, sizeof head) != (ssize_t)sizeof head)
      status =
          pd_fail_at(context, POLYAD_IO, input->path, 0, 0, "cannot read: %s", strerror(errno));
    input->left = head.bytes;
  }
  if (status != POLYAD_OK) {
    pd_checkpoint_input_close(input);
    return status;
  }
  *out = input;
  return POLYAD_OK;
}

polyad_status pd_checkpoint_get(struct pd_checkpoint_input *input, void *data, size_t size) {
  if (size > input->left)
    return pd_fail_at(input->context, POLYAD_PARSE, input->path, 0, 0,
                      "the checkpoint ends too early: %llu bytes left; expected %llu",
                      (unsigned long long)input->left, (unsigned long long)size);
  ssize_t got = pd_sys_read(input->file, data, size);
  if (got < 0 || (size_t)got != size)
    return pd_fail_at(input->context, POLYAD_IO, input->path, 0, 0, "cannot read: %s",
                      got < 0 ? strerror(errno) : "the file became shorter");
  input->left -= size;
  return POLYAD_OK;
}

uint64_t pd_checkpoint_left(const struct pd_checkpoint_input *input) { return input->left; }

const char *pd_checkpoint_input_path(const struct pd_checkpoint_input *input) {
  return input->path;
}

void pd_checkpoint_input_close(struct pd_checkpoint_input *input) {
  if (input == NULL) return;
  if (input->file >= 0) (void)pd_sys_close(input->file);
  pd_free(input->context, input);
}
