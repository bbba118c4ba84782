/* Launchers of PDNR and PQNR on a GPU: see linalg/newton_rows.h for what they compute. */
#ifndef PD_CUDA_NEWTON_LAUNCH_H
#define PD_CUDA_NEWTON_LAUNCH_H

#include "linalg/newton_job.h"
#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PD_GPU_NEWTON_KINDS = 4 }; /* of blocks, for rows of different lengths */

/** What the rows of a mode have come to; zero before the launches. */
struct pd_gpu_newton_found {
  unsigned long long kkt; /* the bits of the largest violation */
  unsigned long long inner, changed;
  unsigned long long next[PD_GPU_NEWTON_KINDS]; /* of each kind, the first row not taken yet */
};

/** Where blocks that solve a row together wait for each other; zero at first. */
struct pd_gpu_newton_gate {
  unsigned arrived, turn;
  unsigned long long taken; /* the first row that they have taken */
};

/** Rows of `least` to `most` nonzeros. */
struct pd_gpu_newton_rows {
  struct pd_newton_shape shape;
  uint64_t least, most;
  int team; /* blocks that solve a row together, in scratch; they have shape.threads in all */
  double *scratch; /* memory of so many `teams`; NULL: it is shared memory */
  int teams;       /* at most; without scratch, as many as the multiprocessors hold */
  struct pd_gpu_newton_gate *gates; /* of so many teams, where there is more than one block */
  int processors;
};

cudaError_t pd_gpu_newton_solve(const struct pd_newton_job *job,
                                const struct pd_gpu_newton_rows *rows, unsigned long long *next,
                                struct pd_gpu_newton_found *found, cudaStream_t stream);

/** Where the nonzeros of each row begin and end, from the rows of all: those of a row stand
 *  together. first and end are zero before. */
struct pd_gpu_newton_places {
  uint64_t nnz;
  const uint32_t *plane, *order;
  uint32_t shift, mask;
  uint64_t *first, *end;
};
cudaError_t pd_gpu_newton_find_rows(const struct pd_gpu_newton_places *places, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
