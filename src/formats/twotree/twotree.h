/* Format "twotree". */
#ifndef PD_TWOTREE_H
#define PD_TWOTREE_H

#include "formats/format.h"

extern const struct polyad_format pd_twotree_format;
extern const struct polyad_kernels pd_twotree_kernels_cpu;

#endif
