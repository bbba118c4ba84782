/* The tables of format "csf". */
#ifndef PD_CSF_H
#define PD_CSF_H

#include "formats/format.h"

extern const struct polyad_format pd_csf_format;
extern const struct polyad_kernels pd_csf_kernels_cpu;

#endif
