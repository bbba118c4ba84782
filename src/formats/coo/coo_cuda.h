/* The kernels of "coo" for CUDA. */
#ifndef PD_COO_CUDA_H
#define PD_COO_CUDA_H

#include "formats/nonzeros/nonzeros_gpu.h"

PD_NZ_DECLARE(pd_coo_sorted);
PD_NZ_DECLARE(pd_coo_atomic);

#endif
