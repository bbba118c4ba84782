/* The kernels of "fcoo". */
#ifndef PD_FCOO_GPU_H
#define PD_FCOO_GPU_H

#include "formats/nonzeros/nonzeros_gpu.h"

/* Array k of a list: indices of slot k, which is an input for all k above 0. */
enum { PD_FCOO_FLAGS = 32, PD_FCOO_ROW_ID, PD_FCOO_UNIT_ROW };

PD_NZ_DECLARE(pd_fcoo_add);
PD_NZ_DECLARE_CHAIN(pd_fcoo_chain);

#endif
