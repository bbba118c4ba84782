/* Trees of compressed fibers on a GPU. */
#ifndef PD_FIBERS_CUDA_H
#define PD_FIBERS_CUDA_H

#include "formats/fibers/fibers.h"
#include "formats/fibers/fibers_gpu.h"
#include "formats/nonzeros/nonzeros_cuda.h"

/** Adds the tree as a list for output `mode` (-1: all). `alone`: no other list has its slices. */
void pd_fibers_list(const struct pd_fibers *tree, int mode, bool alone, int kind,
                    struct pd_nz_lists *to);

#endif
