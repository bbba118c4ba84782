/* The table of format "modecopy" on CUDA devices. */
#ifndef PD_MODECOPY_CUDA_H
#define PD_MODECOPY_CUDA_H

#include "formats/format.h"

extern const struct polyad_kernels pd_modecopy_kernels_cuda;

struct pd_modecopy;

/** What lies on the device, for kernels in other files: the storage it was made from, and one
 *  copy's planes and values. */
const struct pd_modecopy *pd_modecopy_device_host(const void *on_device);
void pd_modecopy_device_copy(const void *on_device, int mode, uint32_t *const **plane,
                             const void **values);

#endif
