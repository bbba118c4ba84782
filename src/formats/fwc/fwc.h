/* The tables of format "fwc". */
#ifndef PD_FWC_H
#define PD_FWC_H

#include "formats/format.h"

extern const struct polyad_format pd_fwc_format;
extern const struct polyad_kernels pd_fwc_kernels_cpu;
extern const struct polyad_kernels pd_fwc_kernels_cuda;

#endif
