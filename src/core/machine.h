/* What this process may use of the machine. */
#ifndef PD_MACHINE_H
#define PD_MACHINE_H

#include <stdint.h>

enum { PD_MACHINE_PROCESSORS = 1024 }; /* as many as an affinity mask of the system's C library */

/** What a process may use of a machine's processors, to be compared with what others may use. */
struct pd_machine_hold {
  uint64_t machine;                          /* pd_machine_identity() */
  uint64_t processors;                       /* in the affinity mask */
  uint64_t mask[PD_MACHINE_PROCESSORS / 64]; /* the affinity mask; all bits where it is unknown */
  double quota;          /* processors that a cgroup's quota is worth; infinite: there is none */
  uint64_t quota_group;  /* equal in processes that share this quota */
  uint64_t memory_group; /* equal in processes that share pd_machine_memory() */
};

/** Processors this process may use: affinity mask and cgroup quota respected, at least 1. */
int pd_machine_processors(void);
void pd_machine_hold(struct pd_machine_hold *hold);
/** Processors for one of several processes where those that may use the same ones divide them: its
 *  part of each processor of its mask and of its quota, in whole processors, at least 1. With none
 *  beside it that is pd_machine_processors(). */
int pd_machine_share(const struct pd_machine_hold *all, int count, int which);
/** How many of several processes have the memory of one of them together, itself included. */
int pd_machine_memory_users(const struct pd_machine_hold *all, int count, int which);
/** Processors for one of `count` processes on this machine of which only the number is known: an
 *  equal part of what the first process of the system or container may use, or fewer where this
 *  process may use fewer; at least 1. */
int pd_machine_part(int count);
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
