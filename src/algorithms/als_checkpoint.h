/* State of a CP-ALS run in a file: saving, and going on from it. */
#ifndef PD_ALS_CHECKPOINT_H
#define PD_ALS_CHECKPOINT_H

#include "algorithms/als_state.h"

/** Claims the checkpoint file of the options, if they name one, and writes a whole state to a
 *  temporary file that is then removed: a run that cannot save fails at its start. */
polyad_status pd_als_checkpoint_open(struct pd_als *als);
/** Saves the state when it is due: every checkpoint_every iterations, and at the end of a run. A
 *  save that fails is a warning: the run goes on, and the file before stays. */
polyad_status pd_als_checkpoint_save(struct pd_als *als, bool end);
void pd_als_checkpoint_close(struct pd_als *als);

/** Fills the state from options->run.resume: iterations then go on to the same bits as if the run
 * had never ended.
 *  @return POLYAD_MISMATCH, naming both values, for another tensor, rank, precision, seed, ... */
polyad_status pd_als_resume(struct pd_als *als);

#endif
