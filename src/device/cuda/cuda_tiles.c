/* Tiles of nonzeros on a GPU: slots of the steps of building (device/build.h). What is not known in
 * number before is found in the memory of the sort keys, and copied from there. */
#include "device/cuda/cuda_build.h"
#include "device/cuda/cuda_build_launch.h"
#include "device/cuda/cuda_copy.h"
#include <string.h>

/* The chosen places in memory of their own. */
static polyad_status select_places(polyad_context *context, struct pd_build *build,
                                   const struct pd_gpu_build_split *of, uint32_t **places,
                                   uint64_t *count) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  uint64_t *number = build->numbers + PD_GPU_BUILD_SUMS;
  uint32_t *found = build->keys[0];
  cudaStream_t stream = pd_cuda_stream(state);
  size_t size = 0;
  PD_TRY(PD_CUDA(context, state, pd_gpu_build_split(of, found, number, NULL, &size, stream)));
  PD_TRY(pd_cuda_build_temporary(context, build, size));
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_build_split(of, found, number, build->temporary, &size, stream)));
  PD_TRY(pd_cuda_copy_out(context, build->device, count, number, sizeof *count));
  PD_TRY(pd_cuda_allocate(context, build->device, *count, sizeof **places, (void **)places));
  if (*count == 0) return POLYAD_OK;
  return PD_CUDA(
      context, state,
      cudaMemcpyAsync(*places, found, *count * sizeof **places, cudaMemcpyDeviceToDevice, stream));
}

static polyad_status split_runs(polyad_context *context, struct pd_build *build,
                                const uint32_t *start, uint32_t runs, uint32_t least,
                                struct pd_build_parts *parts) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  struct pd_gpu_build_split of = {
      .start = start, .runs = runs, .least = least, .large = 1, .nnz = build->nnz};
  uint64_t rest;
  PD_TRY(select_places(context, build, &of, &parts->in, &parts->large));
  of.large = 0;
  PD_TRY(select_places(context, build, &of, &parts->rest, &rest));
  of.large = of.begins = 1;
  PD_TRY(select_places(context, build, &of, &parts->first, &parts->runs));
  PD_TRY(pd_cuda_allocate(context, build->device, parts->runs + 1, sizeof *parts->begin,
                          (void **)&parts->begin));
  return PD_CUDA(context, state,
                 pd_gpu_build_begins(parts->first, parts->runs, parts->in, parts->large,
                                     parts->begin, pd_cuda_stream(state)));
}

polyad_status pd_cuda_build_split(polyad_context *context, struct pd_build *build,
                                  const struct pd_build_key *key, uint32_t least,
                                  struct pd_build_parts *parts) {
  uint32_t *start = NULL, runs;
  *parts = (struct pd_build_parts){0};
  polyad_status status = pd_cuda_build_runs(context, build, key, &start, &runs);
  if (status == POLYAD_OK) status = split_runs(context, build, start, runs, least, parts);
  pd_cuda_release(context, build->device, start);
  return status;
}

polyad_status pd_cuda_build_bitmaps(polyad_context *context, struct pd_build *build,
                                    const struct pd_build_parts *parts,
                                    const struct pd_build_planes *cell, uint64_t words,
                                    uint32_t *bits) {
  struct pd_gpu_build_bitmaps job = {.permutation = pd_cuda_build_order(build),
                                     .fields = cell->fields,
                                     .place = parts->in,
                                     .begin = parts->begin,
                                     .count = parts->large,
                                     .words = words,
                                     .runs = (uint32_t)parts->runs,
                                     .bits = bits};
  memcpy(job.index, build->index, sizeof job.index);
  memcpy(job.field, cell->field, sizeof job.field);
  PD_CUDA_ENTER(context, build->device);
  if (parts->runs == 0) return POLYAD_OK;
  PD_TRY(PD_CUDA(context, state,
                 cudaMemsetAsync(bits, 0, parts->runs * words * sizeof *bits, stream)));
  return PD_CUDA(context, state, pd_gpu_build_bitmaps(&job, stream));
}

polyad_status pd_cuda_build_pack(polyad_context *context, struct pd_build *build,
                                 const struct pd_build_planes *items, int bits, uint64_t words) {
  struct pd_gpu_build_pack job = {.permutation = pd_cuda_build_order(build),
                                  .place = items->place,
                                  .fields = items->fields,
                                  .bits = bits,
                                  .items = items->padded,
                                  .words = words,
                                  .to = items->plane[0]};
  memcpy(job.index, build->index, sizeof job.index);
  memcpy(job.field, items->field, sizeof job.field);
  PD_CUDA_ENTER(context, build->device);
  return PD_CUDA(context, state, pd_gpu_build_pack(&job, stream));
}

polyad_status pd_cuda_build_largest(polyad_context *context, struct pd_build *build, double *most) {
  uint64_t *bits = build->numbers + PD_GPU_BUILD_SUMS;
  PD_CUDA_ENTER(context, build->device);
  PD_TRY(PD_CUDA(context, state, cudaMemsetAsync(bits, 0, sizeof *bits, stream)));
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_build_largest(build->values, (int)pd_type_bytes(build->type), build->nnz,
                                      bits, stream)));
  return pd_cuda_copy_out(context, build->device, most, bits, sizeof *most);
}
