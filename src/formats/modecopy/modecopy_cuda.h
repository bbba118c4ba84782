/* The table of format "modecopy" on CUDA devices. */
#ifndef PD_MODECOPY_CUDA_H
#define PD_MODECOPY_CUDA_H

#include "formats/format.h"

extern const struct polyad_kernels pd_modecopy_kernels_cuda;

#endif
