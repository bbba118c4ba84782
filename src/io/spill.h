/* A file that holds for a while what memory does not: it has no name, so that it is gone when the
 * process ends, however it ends. Its room on the disk is taken beforehand: a disk that is too full
 * is an error before hours of work, not in the middle of them. */
#ifndef PD_SPILL_H
#define PD_SPILL_H

#include "core/core.h"

struct pd_spill {
  int file;              /* -1: none */
  const char *directory; /* for messages; the caller's */
};

/** Where spill files are when nobody says: $TMPDIR, else /var/tmp, which unlike /tmp is seldom kept
 *  in memory. */
const char *pd_spill_directory(void);

/** Makes an empty file in `directory`, which lives as long as the spill does.
 *  @return POLYAD_IO when it cannot be made there */
polyad_status pd_spill_create(polyad_context *context, const char *directory,
                              struct pd_spill *spill);
/** Makes the file `bytes` long and takes the room on the disk.
 *  @return POLYAD_IO, with the room that is free, when there is not as much */
polyad_status pd_spill_reserve(polyad_context *context, const struct pd_spill *spill,
                               uint64_t bytes);
/** Makes the file `bytes` long: what is behind is cut off. */
polyad_status pd_spill_resize(polyad_context *context, const struct pd_spill *spill,
                              uint64_t bytes);
/** Reads and writes at an offset. Thread-safe but for the message of a failure. */
polyad_status pd_spill_read(polyad_context *context, const struct pd_spill *spill, uint64_t offset,
                            uint64_t bytes, void *buffer);
polyad_status pd_spill_write(polyad_context *context, const struct pd_spill *spill, uint64_t offset,
                             uint64_t bytes, const void *buffer);
/** The same without a message, for threads of their own: 0, or an error number (0 bytes where the
 *  file ends too early: EIO). */
int pd_spill_fetch(const struct pd_spill *spill, uint64_t offset, uint64_t bytes, void *buffer);
/** Records that reading failed with an error number of pd_spill_fetch(). */
polyad_status pd_spill_fail(polyad_context *context, const struct pd_spill *spill, int error);
/** Closes the file: its room on the disk is free again. */
void pd_spill_close(struct pd_spill *spill);

#endif
