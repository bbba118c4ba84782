/* The kernels of "fwc". */
#ifndef PD_FWC_GPU_H
#define PD_FWC_GPU_H

#include "formats/nonzeros/nonzeros_gpu.h"

/* Array k of a list: indices of the fibers in slot k, and of the nonzeros in the last. */
enum { PD_FWC_START = 32, PD_FWC_UNIT_FIBER };

PD_NZ_DECLARE(pd_fwc_add);

#endif
