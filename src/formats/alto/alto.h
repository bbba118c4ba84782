/* The tables of format "alto". */
#ifndef PD_ALTO_H
#define PD_ALTO_H

#include "formats/format.h"

extern const struct polyad_format pd_alto_format;
extern const struct polyad_kernels pd_alto_kernels_cpu;

#endif
