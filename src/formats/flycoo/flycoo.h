/* The tables of format "flycoo". */
#ifndef PD_FLYCOO_H
#define PD_FLYCOO_H

#include "formats/format.h"

extern const struct polyad_format pd_flycoo_format;
extern const struct polyad_kernels pd_flycoo_kernels_cpu;

/** Elements of a workspace on the CPU as the last MTTKRP left them, and the mode in whose order
 *  they are (for tests). */
const uint32_t *pd_flycoo_cpu_elements(const void *scratch, int *mode);

#endif
