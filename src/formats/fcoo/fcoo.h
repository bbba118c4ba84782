/* The tables of format "fcoo". */
#ifndef PD_FCOO_H
#define PD_FCOO_H

#include "formats/format.h"

extern const struct polyad_format pd_fcoo_format;
extern const struct polyad_kernels pd_fcoo_kernels_cpu;
extern const struct polyad_kernels pd_fcoo_kernels_cuda;

#endif
