/* The tensor-times-matrix chain of "alto" on a GPU: its walk. */
#ifndef PD_ALTO_TTMC_CUDA_H
#define PD_ALTO_TTMC_CUDA_H

#include "formats/format.h"

extern const struct pd_walk pd_alto_ttmc_walk_cuda;

#endif
