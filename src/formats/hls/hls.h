/* The tables of format "hls". */
#ifndef PD_HLS_H
#define PD_HLS_H

#include "formats/format.h"

extern const struct polyad_format pd_hls_format;
extern const struct polyad_kernels pd_hls_kernels_cpu;

#endif
