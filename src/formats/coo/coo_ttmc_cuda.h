/* The tensor-times-matrix chain of "coo" on a GPU: its walk. */
#ifndef PD_COO_TTMC_CUDA_H
#define PD_COO_TTMC_CUDA_H

#include "formats/format.h"

extern const struct pd_walk pd_coo_ttmc_walk_cuda;

#endif
