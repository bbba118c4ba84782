/* The tables of format "flycoo". */
#ifndef PD_FLYCOO_H
#define PD_FLYCOO_H

#include "formats/format.h"

extern const struct polyad_format pd_flycoo_format;
extern const struct polyad_kernels pd_flycoo_kernels_cpu;

#endif
