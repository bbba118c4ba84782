/* The tables of format "hicoo". */
#ifndef PD_HICOO_H
#define PD_HICOO_H

#include "formats/format.h"

extern const struct polyad_format pd_hicoo_format;
extern const struct polyad_kernels pd_hicoo_kernels_cpu;
extern const struct polyad_kernels pd_hicoo_kernels_cuda;

#endif
