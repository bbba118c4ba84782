/* Rows of a factor on their way between the members of a team, on a GPU. */
#include "device/cuda/cuda_team.h"
#include "device/cuda/cuda_team_launch.h"

static struct pd_gpu_matrix listed_matrix(const struct pd_matrix *matrix) {
  return (struct pd_gpu_matrix){.data = matrix->data,
                                .rows = matrix->rows,
                                .stride = matrix->stride,
                                .rank = (int)matrix->columns,
                                .wide = matrix->type == POLYAD_F64};
}

polyad_status pd_cuda_take_rows(polyad_context *context, const struct pd_matrix *matrix,
                                uint64_t count, const uint64_t *index, void *to) {
  PD_CUDA_ENTER(context, matrix->device);
  return PD_CUDA(
      context, state,
      pd_gpu_take_rows(listed_matrix(matrix), count, index, to, state->processors, stream));
}

polyad_status pd_cuda_add_rows(polyad_context *context, const void *from, uint64_t count,
                               const uint64_t *index, struct pd_matrix *matrix) {
  PD_CUDA_ENTER(context, matrix->device);
  return PD_CUDA(
      context, state,
      pd_gpu_add_rows(from, count, index, listed_matrix(matrix), state->processors, stream));
}
