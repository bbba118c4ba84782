/* PDNR and PQNR of a device (linalg/newton_rows.h) on the host, for a fake one: what GPUs run in a
 * block of threads runs in threads of the system, which wait for each other where theirs do. */
#ifndef HOST_NEWTON_H
#define HOST_NEWTON_H

#include "linalg/newton_rows.h"

extern const struct pd_newton host_newton;

/** Threads of a block, at most 8, and nonzeros that it keeps at once. */
void host_newton_block(int threads, int batch);

#endif
