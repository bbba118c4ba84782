/* The table of format "flycoo" on CUDA devices. */
#ifndef PD_FLYCOO_CUDA_H
#define PD_FLYCOO_CUDA_H

#include "formats/format.h"

extern const struct polyad_kernels pd_flycoo_kernels_cuda;

#endif
