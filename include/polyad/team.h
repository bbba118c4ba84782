/** @file
 *  @brief Several processes that decompose one tensor together, through MPI.
 *
 *  Every process runs the same program: it makes a context and a team, reads its share of the
 *  tensor (polyad_read_options::share) or brings one of its own, and makes a plan of it
 *  (polyad_plan_options::team). The plan brings every nonzero to the process that needs it, and
 *  polyad_cp_als() on such a plan is one decomposition by all. Calls that take a team, or a plan or
 *  tensor that was made with one, are made by all its members, in the same order.
 *
 *  An error of one member fails the call on all of them, with a message that names the member. Then
 *  the team is spent. */
#ifndef POLYAD_TEAM_H
#define POLYAD_TEAM_H

#include <polyad/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A member's end of a team. It belongs to the context of its making and must outlive what was
 *  made with it. */
typedef struct polyad_team polyad_team;

/** How many processes mpirun, srun or another launcher of MPI programs has started with this one,
 * as the environment tells; 0: there is no launcher. */
POLYAD_API int polyad_team_launched(void);

/** Joins the processes of a communicator of MPI. The library is linked with no MPI: a module is
 *  loaded, of the MPI that the process has loaded, or else of the one it was built for.
 *
 *  Where MPI has not been initialised it is, and finalised with the team. Calls on a team are made
 *  by one thread at a time (MPI_THREAD_SERIALIZED).
 *
 *  Processes of the team that may use the same processors of one machine divide them: a context
 *  whose number of threads nobody has set (polyad_set_threads()) has polyad_team_threads() from now
 *  on. They divide the memory of a machine or of a control group likewise: a memory limit that
 *  nobody has set (polyad_set_memory_limit()) becomes an equal part of it. Memory of devices is not
 *  divided.
 *  @param communicator  as an integer of Fortran: MPI_Comm_c2f() of C, py2f() of mpi4py. The team
 *                       has a duplicate. POLYAD_TEAM_WORLD: MPI_COMM_WORLD
 *  @param[out] team  destroyed with polyad_team_destroy()
 *  @return POLYAD_UNSUPPORTED where there is no such module, naming what is missing;
 *  POLYAD_DEVICE where MPI fails, with its message */
POLYAD_API POLYAD_CHECKED polyad_status polyad_team_create_mpi(polyad_context *context,
                                                               int communicator,
                                                               polyad_team **team);
#define POLYAD_TEAM_WORLD (-1) /**< for polyad_team_create_mpi(): MPI_COMM_WORLD */

/** For a process that a launcher started beside others and that joins no team: its threads and its
 *  memory limit, where nobody has set them, become its part of what the machine has for as many
 *  processes as the launcher started there, as the environment tells. Processors that the launcher
 *  gave this process alone it keeps. Without a launcher nothing changes.
 *  @return POLYAD_INVALID_ARGUMENT for NULL */
POLYAD_API POLYAD_CHECKED polyad_status polyad_team_share_machine(polyad_context *context);

/** Chooses the device of a member, as polyad_set_device() does for a process that is alone: every
 *  member calls it, and may name a device of its own. "cuda" gives the members on each machine its
 *  GPUs in turn, so that the k-th of them has number k modulo their number; "auto" does so where
 *  every member sees a GPU, else all have the CPU. NULL as team: polyad_set_device().
 *  @return what polyad_set_device() returns, or the failure of another member */
POLYAD_API POLYAD_CHECKED polyad_status polyad_team_set_device(polyad_context *context,
                                                               polyad_team *team,
                                                               const char *device);

/** Leaves the team; NULL is fine. Plans of the team are destroyed before. */
POLYAD_API void polyad_team_destroy(polyad_team *team);

/** This member's number, from 0; 0 for NULL. */
POLYAD_API int polyad_team_rank(const polyad_team *team);
/** Number of members; 1 for NULL. */
POLYAD_API int polyad_team_size(const polyad_team *team);
/** Threads for this member: the processors that it may use where no other member may use them, and
 *  its part of those that others may use, too; at least 1. What a cgroup's quota gives several
 *  members together they divide in the same way. NULL: all processors that this process may use. */
POLYAD_API int polyad_team_threads(const polyad_team *team);

/** Meets all members, each with its own status: to be called where a program has done something
 *  that may have failed on one of them alone.
 *  @return POLYAD_OK when all have that; else on every member the status and message
 *  (polyad_last_error()) of the lowest member that has another. NULL as team: `status` */
POLYAD_API POLYAD_CHECKED polyad_status polyad_team_agree(polyad_context *context,
                                                          polyad_team *team, polyad_status status);

#ifdef __cplusplus
}
#endif
#endif
