/* The steps of building and sharing out (device/build.h) on the host, made of the functions that
 * the kernels of GPUs call for each nonzero, row or word: what a GPU adds is only that it calls
 * them in parallel. Tests give them to devices whose memory is the host's. */
#ifndef PD_HOST_STEPS_H
#define PD_HOST_STEPS_H

#include "device/build.h"

extern const struct pd_device_build host_steps;

#endif
