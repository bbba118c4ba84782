/* The tables of format "coo". */
#ifndef PD_COO_H
#define PD_COO_H

#include "formats/format.h"

extern const struct polyad_format pd_coo_format;
extern const struct polyad_kernels pd_coo_kernels_cpu;

#endif
