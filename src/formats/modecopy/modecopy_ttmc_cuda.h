/* The tensor-times-matrix chain of "modecopy" on a GPU: its walk. */
#ifndef PD_MODECOPY_TTMC_CUDA_H
#define PD_MODECOPY_TTMC_CUDA_H

#include "formats/format.h"

extern const struct pd_walk pd_modecopy_ttmc_walk_cuda;

#endif
