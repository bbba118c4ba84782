/* The kernels of "hbcsf" for slices outside its trees. */
#ifndef PD_HBCSF_GPU_H
#define PD_HBCSF_GPU_H

#include "formats/nonzeros/nonzeros_gpu.h"

/* Array 0 of a list of slices: ids of slices; arrays 1 on: ids of the other levels. */
enum { PD_HBCSF_START = 16, PD_HBCSF_UNIT_SLICE };

PD_NZ_DECLARE(pd_hbcsf_single);
PD_NZ_DECLARE(pd_hbcsf_listed);

#endif
