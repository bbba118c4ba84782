/* Head of a checkpoint file; the state follows it. */
#ifndef PD_CHECKPOINT_FORMAT_H
#define PD_CHECKPOINT_FORMAT_H

#include "core/core.h"

#define PD_CHECKPOINT_MAGIC "polyadCK"
/* Version 2: all methods save through one frame, and fits with their bounds. Version 3: the hash of
 * a long tensor is made from those of its blocks. */
enum { PD_CHECKPOINT_VERSION = 3, PD_CHECKPOINT_BYTE_ORDER = 0x01020304 };

struct pd_checkpoint_head {
  char magic[8];
  uint32_t version;
  uint32_t byte_order;
  uint64_t bytes;    /* of the state */
  uint64_t checksum; /* XXH3 of the state */
};

/** What is wrong with the file at `path`. */
enum pd_checkpoint_flaw {
  PD_CHECKPOINT_GOOD,
  PD_CHECKPOINT_MISSING,
  PD_CHECKPOINT_UNREADABLE,
  PD_CHECKPOINT_DAMAGED,
  PD_CHECKPOINT_OTHER_VERSION
};

/** Reads the whole file; `why` gets what was found in words. */
enum pd_checkpoint_flaw pd_checkpoint_examine(const char *path, char why[160]);

#endif
