/* Scratch memory of the dense algebra on a GPU, and what a team's members do with its sums. */
#ifndef PD_CUDA_LINALG_WORK_H
#define PD_CUDA_LINALG_WORK_H

#include "device/cuda/cuda_linalg_launch.h"
#include "device/cuda/cuda_state.h"
#include "linalg/linalg.h"

struct pd_linalg_work {
  const struct pd_device *device;
  int rank, processors;
  double *memory; /* all of the below, on the device */
  double *scalars, *factor, *squares, *inverse, *invert, *sums, *partial, *residual;
  /* Where fetches leave scalars, of as many runs as this work came first of so far: pinned memory,
     and for several runs a place on the device where they come together. */
  double *host, *gathered;
  int host_runs;
  double seen[PD_SCALARS]; /* what the last fetch found: counters on the device only grow */
  /* What the MTTKRP that comes next does not need runs beside it: the end of an update, and what
     prepare() enqueues. */
  cudaStream_t side;
  cudaEvent_t fork, joined; /* before and after that */
  bool apart;               /* the stream has not waited for it */
  bool norm_apart;          /* all that it has not waited for is the model's norm */
  bool sent; /* the scalars are on their way, and `arrived` tells when they are there */
  cudaEvent_t arrived;
  /* A team that the rows are shared by; NULL: none. Members fold their sums into one list, and
     every member gets all lists: what follows is then done on all, with the same bits. */
  polyad_team *team;
  int members;
  double *mine, *all; /* a list, and one of each member: rank^2 + 4 rank numbers */
};

/** The slots of these names. */
uint64_t pd_cuda_work_bytes(uint64_t rank, int threads);
polyad_status pd_cuda_work_create(polyad_context *context, const struct pd_device *device,
                                  uint64_t rank, struct pd_linalg_work **work);
void pd_cuda_work_destroy(polyad_context *context, struct pd_linalg_work *work);
/** Makes `host`, and for several runs `gathered`, where they are not large enough yet. */
polyad_status pd_cuda_work_host(polyad_context *context, int runs, struct pd_linalg_work *work);

/** A matrix as kernels get it. */
static inline struct pd_gpu_matrix pd_gpu_matrix_of(const struct pd_matrix *matrix) {
  return (struct pd_gpu_matrix){.data = matrix->data,
                                .rows = matrix->rows,
                                .stride = matrix->stride,
                                .rank = (int)matrix->columns,
                                .wide = matrix->type == POLYAD_F64};
}

/** All Gram matrices but number `skip`. */
static inline struct pd_gpu_grams pd_gpu_grams_of(int count, const struct pd_matrix *const *grams,
                                                  int skip, double ridge) {
  struct pd_gpu_grams chosen = {.ridge = ridge};
  for (int n = 0; n < count; ++n)
    if (n != skip) chosen.gram[chosen.count++] = grams[n]->data;
  return chosen;
}

/** Makes the device current, and lets what comes next in the stream wait for the side's work. */
polyad_status pd_cuda_linalg_enter(polyad_context *context, struct pd_linalg_work *work);
/** Lets what comes next on the side wait for all before it in the stream, unless the side is at
 * work that the stream has not waited for: then for that alone. */
polyad_status pd_cuda_linalg_branch(polyad_context *context, struct pd_linalg_work *work);
/** After what was enqueued on the side. */
polyad_status pd_cuda_linalg_leave(polyad_context *context, struct pd_linalg_work *work);
/** What functions begin with that enqueue work: names the device's `state` and `stream`. */
#define PD_LINALG_ENTER(context, work)                                                             \
  struct pd_cuda_state *state = pd_cuda_state_of((work)->device);                                  \
  PD_TRY(pd_cuda_linalg_enter((context), (work)));                                                 \
  cudaStream_t stream __attribute__((unused)) = pd_cuda_stream(state)

/* The slots of these names, and the pass over rows that they share (cuda_linalg_update.c). */

polyad_status pd_cuda_gram(polyad_context *context, struct pd_linalg_work *work,
                           const struct pd_matrix *a, struct pd_matrix *out,
                           struct pd_matrix *peak);
polyad_status pd_cuda_prepare(polyad_context *context, int runs, const struct pd_update *updates);
polyad_status pd_cuda_update_rows(polyad_context *context, int runs,
                                  const struct pd_update *updates);
polyad_status pd_cuda_update_rows_nonnegative(polyad_context *context, int runs,
                                              const struct pd_update *updates);
polyad_status pd_cuda_update_finish(polyad_context *context, int runs,
                                    const struct pd_update *updates);
polyad_status pd_cuda_pass(polyad_context *context, struct pd_linalg_work *work,
                           struct pd_gpu_rows *rows);

polyad_status pd_cuda_column_norms(polyad_context *context, struct pd_linalg_work *work,
                                   const struct pd_matrix *x, uint64_t first, int count,
                                   const int *exponent, double *norm, double *peak);
polyad_status pd_cuda_form_columns(polyad_context *context, struct pd_linalg_work *work,
                                   const struct pd_column_form *form, const struct pd_matrix *x,
                                   struct pd_matrix *to);

/** The slot join. */
polyad_status pd_cuda_join(polyad_context *context, struct pd_linalg_work *work, polyad_team *team);

/* Sums over a team; without one nothing is done. Each is enqueued in the stream, and all members
 * make the call. */

/** The sums over columns in work->sums, of `blocks` blocks: `sums` and `blocks` become those of the
 *  members, which count as blocks. */
polyad_status pd_cuda_share_columns(polyad_context *context, struct pd_linalg_work *work,
                                    const double **sums, int *blocks);
/** The same of all that an update is finished from. */
polyad_status pd_cuda_share_finish(polyad_context *context, struct pd_linalg_work *work,
                                   struct pd_gpu_finish *finish);
/** `count` scalars from `first` on, added up over the members, or the largest of them. */
polyad_status pd_cuda_share_scalars(polyad_context *context, struct pd_linalg_work *work, int first,
                                    int count, bool largest);

#endif
