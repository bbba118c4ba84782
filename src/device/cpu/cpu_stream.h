/* STREAM on the CPU. */
#ifndef PD_CPU_STREAM_H
#define PD_CPU_STREAM_H

#include "device/device.h"
#include "portable/portable.h"

polyad_status pd_cpu_stream(polyad_context *context, const struct pd_device *device,
                            const struct pd_stream_job *job, bool portable);

#endif
