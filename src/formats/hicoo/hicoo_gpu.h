/* The kernels of "hicoo". */
#ifndef PD_HICOO_GPU_H
#define PD_HICOO_GPU_H

#include "formats/nonzeros/nonzeros_gpu.h"

/* Which arrays the kernels get: array n has the elements of mode n, and array PD_HICOO_BLOCK + n
 * its blocks. Number 0 that they get is the bits of an element. */
enum { PD_HICOO_BLOCK = 16, PD_HICOO_START = 32, PD_HICOO_UNIT_BLOCK };

PD_NZ_DECLARE(pd_hicoo_add);
PD_NZ_DECLARE_CHAIN(pd_hicoo_chain);

#endif
