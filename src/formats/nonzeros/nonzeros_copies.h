/* Copies of a short output. Atomic sums of many nonzeros that meet in a few rows wait for each
 * other; so thread blocks add to one of several copies, which are summed at the end. */
#ifndef PD_NONZEROS_COPIES_H
#define PD_NONZEROS_COPIES_H

#include "device/cuda/cuda_state.h"
#include "formats/nonzeros/nonzeros.h"
#include "formats/nonzeros/nonzeros_gpu.h"

/** Numbers in the copies of the mode that needs most of them; none where no mode is short. */
uint64_t pd_nz_copies_numbers(const struct pd_nz *host, uint64_t rank);

/** Zeroes what kernels add to and tells what that is: copies in `memory` where the output is short
 *  and there is memory, else the output itself. */
polyad_status pd_nz_copies_begin(polyad_context *context, struct pd_cuda_state *state, void *memory,
                                 const struct pd_matrix *out, struct pd_nz_output *to);
/** Sums the copies into the output, where there are any. */
polyad_status pd_nz_copies_end(polyad_context *context, struct pd_cuda_state *state,
                               const struct pd_nz_output *from, struct pd_matrix *out);

#endif
