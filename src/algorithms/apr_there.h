/* PDNR and PQNR on a device with memory of its own (linalg/newton_rows.h): where the nonzeros of
 * every mode's rows come from, and what a run's rows get. */
#ifndef PD_APR_THERE_H
#define PD_APR_THERE_H

#include "algorithms/apr_state.h"

struct pd_apr_there;

polyad_status pd_apr_there_create(struct pd_apr *apr, struct pd_apr_there **there);
/** NULL is fine. */
void pd_apr_there_destroy(const struct pd_apr *apr, struct pd_apr_there *there);
/** Bytes on the device beside factors and plan, at most: what solving takes and, where rows have to
 *  be put in order first, the nonzeros. */
uint64_t pd_apr_there_bytes(const struct pd_apr *apr);
/** Solves every row of the mode once. Of the last mode, logarithms[i] (the host's) gets the sum of
 *  x log m over row i. */
polyad_status pd_apr_there_solve(struct pd_apr *apr, struct pd_apr_there *there, int mode,
                                 double *logarithms, struct pd_newton_found *found);

#endif
