/* The tables of format "blco". */
#ifndef PD_BLCO_H
#define PD_BLCO_H

#include "formats/format.h"

extern const struct polyad_format pd_blco_format;
extern const struct polyad_kernels pd_blco_kernels_cpu;
extern const struct polyad_kernels pd_blco_kernels_cuda;

#endif
