/* The tables of format "mmcsf". */
#ifndef PD_MMCSF_H
#define PD_MMCSF_H

#include "formats/format.h"

extern const struct polyad_format pd_mmcsf_format;
extern const struct polyad_kernels pd_mmcsf_kernels_cpu;
extern const struct polyad_kernels pd_mmcsf_kernels_cuda;

#endif
