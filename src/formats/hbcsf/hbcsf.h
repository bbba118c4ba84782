/* The tables of format "hbcsf". */
#ifndef PD_HBCSF_H
#define PD_HBCSF_H

#include "formats/format.h"

extern const struct polyad_format pd_hbcsf_format;
extern const struct polyad_kernels pd_hbcsf_kernels_cpu;
extern const struct polyad_kernels pd_hbcsf_kernels_cuda;

#endif
