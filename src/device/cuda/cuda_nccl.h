/* A member of a team that NCCL connects, and the thread that watches over it (cuda_nccl_watch.c).
 */
#ifndef PD_CUDA_NCCL_H
#define PD_CUDA_NCCL_H

#include "device/cuda/cuda_team.h"

typedef struct nccl_communicator *nccl_comm;

/** So many of a member's last operations are watched. */
enum { PD_NCCL_WATCHED = 32 };

struct pd_nccl_member {
  struct pd_cuda_state *device;
  nccl_comm comm; /* NULL: not joined, or given up */
  int rank, size;
  void *room; /* on the GPU, for the first operation */
  /* Held while a call of NCCL works on the communicator, whichever thread makes it. */
  pthread_mutex_t lock;
  pthread_cond_t leaves;
  pthread_t watcher;
  bool made, watched, leaving;
  double limit; /* seconds that an operation may take; 0: for ever */
  int (*abort_comm)(nccl_comm comm);
  cudaEvent_t begins[PD_NCCL_WATCHED], ends[PD_NCCL_WATCHED]; /* of the last operations */
  _Atomic uint64_t asked;                                     /* operations, since it joined */
  atomic_bool gave_up;
};

/** Makes the events and the rest, and starts the thread. Undone by pd_nccl_watch_end(), also after
 * a failure. `abort_comm` ends what the communicator is doing, and frees it. */
polyad_status pd_nccl_watch_begin(polyad_context *context, struct pd_nccl_member *member,
                                  int (*abort_comm)(nccl_comm comm));
void pd_nccl_watch_end(struct pd_nccl_member *member);

/** Around the calls that enqueue an operation: between them the communicator is this thread's, and
 * pd_nccl_end(), which gets what came of the operation, follows also where pd_nccl_begin() failed.
 * Both, and what comes between them, may fail in one member alone: where the others enqueue the
 * operation they wait in vain on their GPUs, and give up. */
polyad_status pd_nccl_begin(polyad_context *context, struct pd_nccl_member *member);
polyad_status pd_nccl_end(polyad_context *context, struct pd_nccl_member *member,
                          polyad_status status);

#endif
