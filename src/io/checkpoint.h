/* Files that keep the state of a long computation: versioned, checksummed, locked against a second
 * run, with the state before in FILE.prev. After a crash or a power cut at any moment at least one
 * of the two loads. Bytes are the machine's own; a file of another byte order is refused. */
#ifndef PD_CHECKPOINT_H
#define PD_CHECKPOINT_H

#include "core/core.h"

/* ---- writing ---------------------------------------------------------------------------- */

struct pd_checkpoint;

/** Claims `path` for this run: fails when another run holds it or when it cannot be written, and
 *  removes temporary files that a killed run left. Creates nothing but PATH.lock, which goes with
 *  pd_checkpoint_close(). */
polyad_status pd_checkpoint_open(polyad_context *context, const char *path,
                                 struct pd_checkpoint **checkpoint);
/** Gives the claim back; NULL is fine. */
void pd_checkpoint_close(struct pd_checkpoint *checkpoint);

/** Starts a state; then its bytes. */
polyad_status pd_checkpoint_begin(struct pd_checkpoint *checkpoint);
polyad_status pd_checkpoint_put(struct pd_checkpoint *checkpoint, const void *data, size_t size);
/** Makes the state durable: the file before becomes FILE.prev. */
polyad_status pd_checkpoint_commit(struct pd_checkpoint *checkpoint);
/** Writes the state out as far as to prove that there is room for it, and throws it away. */
polyad_status pd_checkpoint_rehearse(struct pd_checkpoint *checkpoint);
/** Gives the state up; files stay as they were. */
void pd_checkpoint_abort(struct pd_checkpoint *checkpoint);

/* ---- reading ---------------------------------------------------------------------------- */

struct pd_checkpoint_input;

/** Opens the state in `path`, or, when that is missing or damaged, in `path`.prev (and says so as a
 *  warning). The whole file is read and its checksum compared first.
 *  @return POLYAD_IO when there is neither, POLYAD_PARSE when both are damaged, POLYAD_UNSUPPORTED
 *  for a version that is too new */
polyad_status pd_checkpoint_input_open(polyad_context *context, const char *path,
                                       struct pd_checkpoint_input **input);
/** The next `size` bytes; POLYAD_PARSE when there are not so many. */
polyad_status pd_checkpoint_get(struct pd_checkpoint_input *input, void *data, size_t size);
/** Bytes not read yet. */
uint64_t pd_checkpoint_left(const struct pd_checkpoint_input *input);
/** The file that was opened. */
const char *pd_checkpoint_input_path(const struct pd_checkpoint_input *input);
/** Closes; NULL is fine. */
void pd_checkpoint_input_close(struct pd_checkpoint_input *input);

#endif
