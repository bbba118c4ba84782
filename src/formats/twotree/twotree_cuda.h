/* The table of format "twotree" on CUDA devices. */
#ifndef PD_TWOTREE_CUDA_H
#define PD_TWOTREE_CUDA_H

#include "formats/format.h"

extern const struct polyad_kernels pd_twotree_kernels_cuda;

#endif
