/* The table of format "alto" on CUDA devices. */
#ifndef PD_ALTO_CUDA_H
#define PD_ALTO_CUDA_H

#include "formats/format.h"

extern const struct polyad_kernels pd_alto_kernels_cuda;

#endif
