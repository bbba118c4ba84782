/* The state of a run outside of the run: in a checkpoint, from which another run goes on, or in
 * memory, for the best of several starts.
 *
 * A method lists its state once, in pd_method::save: the options that must be equal where a run
 * goes on, then all numbers and matrices that iterations go on from. The frame calls that list to
 * count bytes, to save and to load, so that the three cannot disagree.
 *
 * A checkpoint is: struct pd_run_head; the frame's numbers; the method's list; the trace. That of a
 * scan of ranks, which is many runs, is the head and a list (struct pd_archive_work). */
#ifndef PD_ARCHIVE_H
#define PD_ARCHIVE_H

#include "device/device.h"
#include <polyad/plan.h>

struct pd_checkpoint;
struct pd_checkpoint_input;
struct pd_run;

enum pd_archive_task { PD_ARCHIVE_COUNT, PD_ARCHIVE_SAVE, PD_ARCHIVE_LOAD };

/** Where a list goes to or comes from: a checkpoint or memory, of which only one is not NULL. */
struct pd_archive {
  polyad_context *context;
  enum pd_archive_task task;
  struct pd_checkpoint *file;
  struct pd_checkpoint_input *input;
  unsigned char *memory;
  const polyad_plan
      *plan;         /* of a team that shares a checkpoint: member 0 has the file; else NULL */
  uint64_t bytes;    /* so far */
  polyad_status put; /* of writing the file: what fails there does not end the run */
};

/** An option that a run must share with the checkpoint that it goes on from.
 *  @return POLYAD_MISMATCH, naming both values */
polyad_status pd_archive_option(struct pd_archive *archive, const char *name, double value);
/** The same of a value that says more than a number: messages have what `words` makes of it. */
enum { PD_OPTION_TEXT_BYTES = 80 };
typedef void (*pd_option_words)(polyad_context *context, double value,
                                char text[PD_OPTION_TEXT_BYTES]);
polyad_status pd_archive_option_in_words(struct pd_archive *archive, const char *name, double value,
                                         pd_option_words words);
polyad_status pd_archive_count(struct pd_archive *archive, uint64_t *number);
polyad_status pd_archive_real(struct pd_archive *archive, double *number);
/** A matrix on its device; `host` is room for it on the host, or NULL. POLYAD_PARSE, naming `what`,
 *  when a number in a checkpoint is not finite. */
polyad_status pd_archive_matrix(struct pd_archive *archive, const char *what,
                                struct pd_matrix *matrix, void *host);
/** The factor of a mode, of which a team's members have rows: a checkpoint has all of them, in the
 *  order of the whole tensor. `host` is room for this member's rows, or NULL. */
polyad_status pd_archive_factor(struct pd_archive *archive, const char *what, int mode,
                                struct pd_matrix *factor, void *host);

/** Numbers on the host; POLYAD_PARSE, naming `what`, when one in a checkpoint is not finite. */
polyad_status pd_archive_numbers(struct pd_archive *archive, const char *what, polyad_type type,
                                 uint64_t count, void *numbers);
/** For lists that find a number which cannot be: POLYAD_PARSE. */
polyad_status pd_archive_impossible(struct pd_archive *archive, const char *what, uint64_t found,
                                    uint64_t most);

/* ---- states of what is more than a run ------------------------------------------------------- */

/** A computation of many runs on one plan, which keeps what it has finished. */
struct pd_archive_work {
  polyad_context *context;
  const polyad_plan *plan;
  const char *name; /* of the state in checkpoints: at most 7 characters */
  polyad_status (*list)(void *state, struct pd_archive *archive);
  void *state;
};

/** Claims a file and writes the state on trial, as pd_run_claim() does. */
polyad_status pd_archive_claim(const struct pd_archive_work *work, const char *path,
                               struct pd_checkpoint **checkpoint);
/** Saves the state; a file that cannot be written is a warning, and the one before stays. */
polyad_status pd_archive_save(const struct pd_archive_work *work, struct pd_checkpoint *checkpoint);
/** Fills the state from a file; see pd_run_resume(). */
polyad_status pd_archive_resume(const struct pd_archive_work *work, const char *path);
/** Gives a claim back; NULL is fine. */
void pd_archive_release(struct pd_checkpoint *checkpoint);

/* ---- called by the frame ------------------------------------------------------------------ */

/** Claims the checkpoint file of the options, if they name one, and writes a whole state to a
 *  temporary file that is then removed: a run that cannot save fails at its start. */
polyad_status pd_run_claim(struct pd_run *run);
/** Gives the claim back, if there is one. */
void pd_run_unclaim(struct pd_run *run);
/** Saves the state when it is due: every checkpoint_every iterations, and at the end of a start. A
 *  file that cannot be written is a warning, counted in run->unsaved: the run goes on, and the file
 *  before stays. */
polyad_status pd_run_save(struct pd_run *run, bool end);
/** Fills the state from options->resume: iterations then go on to the same bits as if the run had
 *  never ended.
 *  @return POLYAD_MISMATCH, naming both values, for another tensor, rank, precision, seed, ... */
polyad_status pd_run_resume(struct pd_run *run);
/** Keeps the method's state in memory, over what was kept before; and goes back to it. */
polyad_status pd_run_remember(struct pd_run *run);
polyad_status pd_run_recall(struct pd_run *run);

#endif
