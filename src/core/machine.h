/* What this process may use of the machine. */
#ifndef PD_MACHINE_H
#define PD_MACHINE_H

#include <stdint.h>

/** Processors this process may use: affinity mask and cgroup quota respected, at least 1. */
int pd_machine_processors(void);
/** Bytes this process may use: the smaller of what the machine has available and what the
 *  cgroup leaves. */
uint64_t pd_machine_memory(void);
/** Address space that the process may still map under its limit (ulimit -v); UINT64_MAX: no limit.
 */
uint64_t pd_machine_address_space(void);
/** Bytes of a core's cache of a level (1 to 3); a usual size where the system does not say. */
uint64_t pd_machine_cache(int level);
/** The same in all processes on a machine until it starts anew, and another on other machines. */
uint64_t pd_machine_identity(void);

#endif
