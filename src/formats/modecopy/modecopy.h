/* The tables of format "modecopy". */
#ifndef PD_MODECOPY_H
#define PD_MODECOPY_H

#include "formats/format.h"

extern const struct polyad_format pd_modecopy_format;
extern const struct polyad_kernels pd_modecopy_kernels_cpu;

#endif
