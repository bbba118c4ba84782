/* The table of format "alto" on CUDA devices. */
#ifndef PD_ALTO_CUDA_H
#define PD_ALTO_CUDA_H

#include "formats/format.h"

extern const struct polyad_kernels pd_alto_kernels_cuda;

struct pd_alto;

/** What lies on the device, for kernels in other files. */
struct pd_alto_device_view {
  const struct pd_alto *host;
  const void *values;
  const uint32_t *order[POLYAD_MAX_ORDER]; /* of each mode: its nonzeros row by row; NULL in the
                                              atomic edition */
};
void pd_alto_view_device(const void *on_device, struct pd_alto_device_view *view);

#endif
