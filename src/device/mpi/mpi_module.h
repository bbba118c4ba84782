/* What a module for an MPI brings. */
#ifndef PD_MPI_MODULE_H
#define PD_MPI_MODULE_H

#include "device/team.h"

/** This process in a communicator. */
struct pd_mpi_member {
  int rank, size;
  void *state; /* of the collectives */
};

struct pd_mpi_module {
  struct pd_collectives collectives;
  /** Initialises MPI where that has not been done, and duplicates the communicator: MPI_COMM_WORLD
   *  or the one with this handle of Fortran. */
  polyad_status (*join)(polyad_context *context, bool world, int handle,
                        struct pd_mpi_member *member);
};

#endif
