/* Roofs of the CPU. */
#ifndef PD_CPU_ROOF_H
#define PD_CPU_ROOF_H

#include "device/device.h"
#include "device/roof.h"

polyad_status pd_cpu_roof(polyad_context *context, const struct pd_device *device,
                          const struct pd_roof_job *job);

#endif
