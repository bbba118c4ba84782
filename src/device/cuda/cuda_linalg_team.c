/* Sums over the rows that the members of a team own. Every member folds what its blocks have left
 * into one list of numbers, all get all lists, and what a member does alone with the lists of its
 * blocks all do with those of the members, in the order of their ranks: all have the same bits. */
#include "device/cuda/cuda_linalg_work.h"
#include "device/cuda/cuda_team_launch.h"

_Static_assert((int)PD_GPU_COLUMN_SUMS == (int)PD_COLUMN_SUMS, "the CPU reads what GPUs send");

polyad_status pd_cuda_join(polyad_context *context, struct pd_linalg_work *work,
                           polyad_team *team) {
  uint64_t numbers = (uint64_t)work->rank * (uint64_t)(work->rank + PD_GPU_COLUMN_SUMS);
  work->members = pd_cuda_services->team_size(team);
  pd_cuda_release(context, work->device, work->mine); /* of a team that it was in before */
  work->mine = NULL;
  PD_TRY(pd_cuda_allocate(context, work->device,
                          pd_mul_saturated(numbers, (uint64_t)work->members + 1), sizeof(double),
                          (void **)&work->mine));
  work->all = work->mine + numbers;
  work->team = team;
  return POLYAD_OK;
}

/* Sums of blocks, of which the last quarter are largest magnitudes, or parts of a Gram matrix, as
 * one. */
static polyad_status fold_lists(polyad_context *context, struct pd_linalg_work *work,
                                const double *from, int count, uint64_t width, bool columns,
                                double *out) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  const struct pd_gpu_fold job = {.from = from,
                                  .step = width,
                                  .count = count,
                                  .width = width,
                                  .largest_begin = columns ? width - (uint64_t)work->rank : width,
                                  .largest_end = width,
                                  .out = out};
  return PD_CUDA(context, state, pd_gpu_fold_sums(&job, pd_cuda_stream(state)));
}

static polyad_status gather_lists(polyad_context *context, struct pd_linalg_work *work,
                                  uint64_t numbers) {
  return pd_cuda_services->team_gather(context, work->team, work->mine, numbers * sizeof(double),
                                       work->all);
}

polyad_status pd_cuda_share_columns(polyad_context *context, struct pd_linalg_work *work,
                                    const double **sums, int *blocks) {
  uint64_t width = PD_GPU_COLUMN_SUMS * (uint64_t)work->rank;
  *sums = work->sums;
  if (work->team == NULL) return POLYAD_OK;
  PD_TRY(fold_lists(context, work, work->sums, *blocks, width, true, work->mine));
  PD_TRY(gather_lists(context, work, width));
  *sums = work->all;
  *blocks = work->members;
  return POLYAD_OK;
}

polyad_status pd_cuda_share_finish(polyad_context *context, struct pd_linalg_work *work,
                                   struct pd_gpu_finish *finish) {
  uint64_t rank = (uint64_t)work->rank, square = rank * rank, width = PD_GPU_COLUMN_SUMS * rank;
  if (work->team == NULL) return POLYAD_OK;
  PD_TRY(fold_lists(context, work, work->partial, finish->parts, square, false, work->mine));
  PD_TRY(fold_lists(context, work, work->sums, finish->blocks, width, true, work->mine + square));
  PD_TRY(gather_lists(context, work, square + width));
  finish->partial = work->all;
  finish->sums = work->all + square;
  finish->partial_step = finish->sums_step = square + width;
  finish->parts = finish->blocks = work->members;
  return POLYAD_OK;
}

polyad_status pd_cuda_share_scalars(polyad_context *context, struct pd_linalg_work *work, int first,
                                    int count, bool largest) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  if (work->team == NULL) return POLYAD_OK;
  PD_TRY(pd_cuda_services->team_gather(context, work->team, work->scalars + first,
                                       (uint64_t)count * sizeof(double), work->all));
  const struct pd_gpu_fold job = {.from = work->all,
                                  .step = (uint64_t)count,
                                  .count = work->members,
                                  .width = (uint64_t)count,
                                  .largest_end = largest ? (uint64_t)count : 0,
                                  .out = work->scalars + first};
  return PD_CUDA(context, state, pd_gpu_fold_sums(&job, pd_cuda_stream(state)));
}
