/* The table of format "hls" on CUDA devices. */
#ifndef PD_HLS_CUDA_H
#define PD_HLS_CUDA_H

#include "formats/format.h"

extern const struct polyad_kernels pd_hls_kernels_cuda;

#endif
