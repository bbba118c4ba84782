/* A team of processes: the module of the MPI that there is, loaded when it is asked for. One
 * source, src/device/mpi, is built for each MPI, since their binary interfaces differ: a handle of
 * a communicator is a pointer in Open MPI and an integer in MPICH. */
#include "core/machine.h"
#include "device/module.h"
#include "device/mpi/mpi_module.h"
#include "device/team.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Symbols that only one MPI has, and the module built for it. */
static const struct {
  const char *name, *symbol;
} known[] = {{"openmpi", "ompi_mpi_comm_world"}, {"mpich", "MPIR_Err_create_code"}};
enum { KNOWN = sizeof known / sizeof *known };

/* 0 where the text is no number above 0. */
static int read_count(const char *text) {
  char *end;
  long count = text == NULL ? 0 : strtol(text, &end, 10);
  return count > 0 && count <= INT_MAX && *end == '\0' ? (int)count : 0;
}

/* Open MPI's mpirun, MPICH's (Hydra) and Slurm's srun with PMI-2, and srun with PMIx. */
int polyad_team_launched(void) {
  const char *size = getenv("OMPI_COMM_WORLD_SIZE");
  if (size == NULL) size = getenv("PMI_SIZE");
  if (size == NULL && getenv("PMIX_RANK") != NULL) size = getenv("SLURM_NTASKS");
  return read_count(size);
}

/* Slurm lists the tasks of its machines as in "4(x2),3": 4 on machine 0 and 1, 3 on machine 2. */
static int slurm_tasks(const char *list, const char *machine) {
  int tasks, consumed;
  for (long left = strtol(machine, NULL, 10); sscanf(list, "%d%n", &tasks, &consumed) == 1;) {
    long machines = 1;
    list += consumed;
    if (sscanf(list, "(x%ld)%n", &machines, &consumed) == 1) list += consumed;
    if (left < machines) return tasks;
    left -= machines;
    if (*list++ != ',') break;
  }
  return 0;
}

/* Processes that the launcher started on this machine; 1 where it does not say. */
static int launched_here(void) {
  if (polyad_team_launched() < 2) return 1;
  const char *list = getenv("SLURM_STEP_TASKS_PER_NODE"), *machine = getenv("SLURM_NODEID");
  int count = read_count(getenv("OMPI_COMM_WORLD_LOCAL_SIZE"));
  if (count == 0) count = read_count(getenv("MPI_LOCALNRANKS"));
  if (count == 0 && list != NULL && machine != NULL) count = slurm_tasks(list, machine);
  return count > 1 ? count : 1;
}

polyad_status polyad_team_share_machine(polyad_context *context) {
  PD_ENTER(context);
  int here = launched_here();
  if (here < 2) return POLYAD_OK;
  pd_threads_suggest(context, pd_machine_part(here));
  pd_memory_divide(context, here);
  return POLYAD_OK;
}

/* The module for the MPI that the process has loaded; else that of the launcher; else the first
 * that is there. */
static const struct pd_mpi_module *find_module(const char **why_not) {
  for (int k = 0; k < KNOWN; ++k)
    if (dlsym(RTLD_DEFAULT, known[k].symbol) != NULL) return pd_module_mpi(known[k].name, why_not);
  bool hydra = getenv("PMI_SIZE") != NULL && getenv("OMPI_COMM_WORLD_SIZE") == NULL;
  const struct pd_mpi_module *module = pd_module_mpi(known[hydra ? 1 : 0].name, why_not);
  if (module != NULL || hydra) return module;
  bool launched = getenv("OMPI_COMM_WORLD_SIZE") != NULL; /* by Open MPI: the other is no help */
  const char *why_neither = "";
  return launched ? NULL : pd_module_mpi(known[1].name, &why_neither);
}

/* Members of one machine that may use the same processors or memory divide them. */
static polyad_status divide_machine(polyad_context *context, polyad_team *team) {
  struct pd_machine_hold mine, *all = NULL;
  PD_TRY(PD_NEW(context, (uint64_t)team->size, &all));
  pd_machine_hold(&mine);
  polyad_status status = pd_team_gather(context, team, &mine, sizeof mine, all);
  int alone = pd_machine_share(&mine, 1, 0);
  team->threads = alone;
  if (status == POLYAD_OK) {
    team->threads = pd_machine_share(all, team->size, team->rank);
    pd_memory_divide(context, pd_machine_memory_users(all, team->size, team->rank));
  }
  pd_free(context, all);
  PD_TRY(status);
  bool asked = pd_threads_are_set(context);
  pd_threads_suggest(context, team->threads);
  if (!asked && team->threads < alone && team->rank == 0) /* one of them talks */
    pd_log(context, POLYAD_LOG_INFO,
           "threads: %d of %d, since other processes of the team may use the same processors",
           polyad_threads(context), alone);
  return POLYAD_OK;
}

static polyad_status create(polyad_context *context, int communicator, polyad_team **team) {
  const char *why_not = "";
  const struct pd_mpi_module *module = find_module(&why_not);
  struct pd_mpi_member member;
  if (module == NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED, "several processes need MPI: %s", why_not);
  PD_TRY(module->join(context, communicator == POLYAD_TEAM_WORLD, communicator, &member));
  PD_TRY(
      pd_team_create(context, member.rank, member.size, &module->collectives, member.state, team));
  polyad_status status = pd_team_agree(context, *team, divide_machine(context, *team));
  if (status == POLYAD_OK) return POLYAD_OK;
  polyad_team_destroy(*team);
  *team = NULL;
  return status;
}

polyad_status polyad_team_create_mpi(polyad_context *context, int communicator,
                                     polyad_team **team) {
  PD_ENTER(context);
  if (team == NULL) return pd_fail(context, POLYAD_INVALID_ARGUMENT, "team is NULL");
  *team = NULL;
  return create(context, communicator, team);
}
