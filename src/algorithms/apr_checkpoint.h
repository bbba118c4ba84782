/* State of a CP-APR run in a file: saving, and going on from it. See als_checkpoint.h. */
#ifndef PD_APR_CHECKPOINT_H
#define PD_APR_CHECKPOINT_H

#include "algorithms/apr_state.h"

polyad_status pd_apr_checkpoint_open(struct pd_apr *apr);
polyad_status pd_apr_checkpoint_save(struct pd_apr *apr, bool end);
void pd_apr_checkpoint_close(struct pd_apr *apr);
/** Fills the state from options->run.resume. */
polyad_status pd_apr_resume(struct pd_apr *apr);

#endif
