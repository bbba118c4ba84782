/* A GPU as the device of a team's member. */
#ifndef PD_CUDA_TEAM_H
#define PD_CUDA_TEAM_H

#include "device/cuda/cuda_state.h"
#include "device/team.h"

/** The slots take_rows and add_rows. */
polyad_status pd_cuda_take_rows(polyad_context *context, const struct pd_matrix *matrix,
                                uint64_t count, const uint64_t *index, void *to);
polyad_status pd_cuda_add_rows(polyad_context *context, const void *from, uint64_t count,
                               const uint64_t *index, struct pd_matrix *matrix);

/** The slot link: NCCL, which is loaded when a team first needs it. */
extern const struct pd_device_link pd_cuda_nccl;

#endif
