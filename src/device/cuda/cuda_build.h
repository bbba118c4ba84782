/* The steps of building a storage on a GPU. */
#ifndef PD_CUDA_BUILD_H
#define PD_CUDA_BUILD_H

#include "device/build.h"

extern const struct pd_device_build pd_cuda_build;

#endif
