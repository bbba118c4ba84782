/* The tables of format "bcsf". */
#ifndef PD_BCSF_H
#define PD_BCSF_H

#include "formats/format.h"

extern const struct polyad_format pd_bcsf_format;
extern const struct polyad_kernels pd_bcsf_kernels_cpu;
extern const struct polyad_kernels pd_bcsf_kernels_cuda;

#endif
