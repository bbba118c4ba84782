/* A temporary file or directory beside the target that it will replace, and what is left of such
 * things when a process was killed.
 *
 * The temporary of "model.ktensor" is ".model.ktensor.polyad-K.tmp" with the smallest K that is
 * free. Its maker holds a lock (flock) on it until it is renamed or removed. The kernel drops the
 * lock when the process ends, however it ends, so a name of this pattern without a lock belongs to
 * a process that is dead: the next writer of the same target removes it. Where a file system has no
 * such locks, nothing is taken for dead. */
#ifndef PD_TEMPORARY_H
#define PD_TEMPORARY_H

#include "io/live_files.h"
#include <stdbool.h>

enum { PD_PATH_BYTES = 4096 };

struct pd_temporary {
  char path[PD_PATH_BYTES]; /* "" where there is none */
  int file;                 /* open for reading and writing; -1 for a directory, or when closed */
  int lock;                 /* descriptor that holds the lock, or -1 */
  struct pd_live_file live; /* removed when the process exits */
};

/** Makes a temporary file, or directory, for `target` (a path that is no link) and removes those
 *  that dead processes left for it. Returns 0, or -1 with errno set and nothing left behind. */
int pd_temporary_create(const char *target, bool directory, struct pd_temporary *temporary);
/** Renames the temporary, whose `file` is closed, to `target` and lets the lock go. Returns 0, or
 *  -1 with errno set: the temporary is still there then. */
int pd_temporary_replace(struct pd_temporary *temporary, const char *target);
/** Closes and removes what is still there; a directory with the files in it. */
void pd_temporary_remove(struct pd_temporary *temporary);

#endif
