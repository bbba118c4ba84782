/* The steps in which a GPU shares a tensor out to the members of a team (plan/part_there.c): cells
 * are found and sorted by, which keeps the order of the nonzeros in each; the indices that occur
 * are told to the host, which numbers them anew. */
#include "core/bits.h"
#include "device/cuda/cuda_build.h"
#include "device/cuda/cuda_build_launch.h"
#include "device/cuda/cuda_copy.h"
#include "device/cuda/cuda_deal_launch.h"
#include "device/cuda/cuda_sort.h"

/* Puts the ranges of the modes that are cut where kernels read them; `most` numbers have room. */
static polyad_status bring_grid(polyad_context *context, const struct pd_build *build,
                                const struct pd_build_grid *grid, uint64_t *there,
                                struct pd_gpu_deal_grid *job) {
  int next = 0;
  *job = (struct pd_gpu_deal_grid){.nnz = build->nnz, .cut = there};
  for (int n = 0; n < build->order; ++n) {
    if (grid->ranges[n] == 1) continue;
    PD_TRY(pd_cuda_copy_in(context, build->device, there + next, grid->cut[n],
                           (uint64_t)grid->ranges[n] * sizeof *there));
    job->index[job->modes] = build->index[n];
    job->ranges[job->modes] = grid->ranges[n];
    job->first[job->modes++] = next;
    next += grid->ranges[n];
  }
  return POLYAD_OK;
}

/* The order of the cells in build->keys[0]. */
static polyad_status sort_by_cell(polyad_context *context, struct pd_build *build, int cells) {
  struct pd_gpu_sort_job job = {.keys = {build->keys[0], build->keys[1]},
                                .values = {build->permutation[0], build->permutation[1]},
                                .key_bytes = 4,
                                .value_bytes = 4,
                                .count = build->nnz,
                                .bits = pd_bit_length((uint64_t)cells - 1)};
  PD_CUDA_ENTER(context, build->device);
  build->identity = job.bits == 0;
  if (build->identity) return POLYAD_OK;
  PD_TRY(PD_CUDA(context, state, pd_gpu_count_up(build->permutation[0], build->nnz, stream)));
  return pd_cuda_sort_arrays(context, build->device, &job, &build->at);
}

polyad_status pd_cuda_deal(polyad_context *context, struct pd_build *build,
                           const struct pd_build_grid *grid, uint64_t *count) {
  uint64_t ranges = 0, cells = (uint64_t)grid->cells;
  struct pd_gpu_deal_grid job;
  uint32_t *counts;
  for (int n = 0; n < build->order; ++n)
    ranges += (uint64_t)grid->ranges[n];
  PD_CUDA_ENTER(context, build->device);
  PD_TRY(pd_cuda_build_temporary(context, build, ranges * sizeof *job.cut + cells * 4));
  uint32_t *counted = (uint32_t *)((uint64_t *)build->temporary + ranges);
  PD_TRY(bring_grid(context, build, grid, build->temporary, &job));
  PD_TRY(PD_CUDA(context, state, cudaMemsetAsync(counted, 0, cells * sizeof *counted, stream)));
  PD_TRY(PD_CUDA(context, state, pd_gpu_deal_cells(&job, build->keys[0], stream)));
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_build_degrees(build->keys[0], build->nnz, cells, counted, stream)));
  PD_TRY(sort_by_cell(context, build, grid->cells));
  PD_TRY(pd_cuda_services->alloc(context, cells, sizeof *counts, (void **)&counts));
  polyad_status status =
      pd_cuda_copy_out(context, build->device, counts, counted, cells * sizeof *counts);
  for (uint64_t k = 0; k < cells && status == POLYAD_OK; ++k)
    count[k] = counts[k];
  pd_cuda_services->free(context, counts);
  return status;
}

polyad_status pd_cuda_deal_mark(polyad_context *context, const struct pd_device *device,
                                const uint32_t *index, uint64_t count, uint64_t first,
                                uint64_t length, uint32_t *has) {
  uint64_t bytes = (length + 31) / 32 * sizeof *has;
  uint32_t *there = NULL;
  PD_CUDA_ENTER(context, device);
  PD_TRY(pd_cuda_allocate(context, device, bytes, 1, (void **)&there));
  polyad_status status = PD_CUDA(context, state, cudaMemsetAsync(there, 0, bytes, stream));
  if (status == POLYAD_OK)
    status =
        PD_CUDA(context, state, pd_gpu_deal_mark(index, count, (uint32_t)first, there, stream));
  if (status == POLYAD_OK) status = pd_cuda_copy_out(context, device, has, there, bytes);
  pd_cuda_release(context, device, there);
  return status;
}

polyad_status pd_cuda_deal_renumber(polyad_context *context, const struct pd_device *device,
                                    uint32_t *index, uint64_t count, uint64_t first,
                                    uint64_t length, const uint32_t *number) {
  uint32_t *there = NULL;
  PD_CUDA_ENTER(context, device);
  polyad_status status =
      pd_cuda_upload(context, device, length, sizeof *number, number, (void **)&there);
  if (status == POLYAD_OK)
    status =
        PD_CUDA(context, state, pd_gpu_deal_renumber(index, count, (uint32_t)first, there, stream));
  pd_cuda_release(context, device, there); /* waits */
  return status;
}
