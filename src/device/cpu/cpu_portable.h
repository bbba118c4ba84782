/* STREAM and the portable kernels on the CPU. */
#ifndef PD_CPU_PORTABLE_H
#define PD_CPU_PORTABLE_H

#include "device/device.h"
#include "portable/portable.h"

polyad_status pd_cpu_stream(polyad_context *context, const struct pd_device *device,
                            const struct pd_stream_job *job, bool portable);
polyad_status pd_cpu_rows(polyad_context *context, const struct pd_device *device,
                          const struct pd_rows_launch *launch);
const struct pd_rows_shape *pd_cpu_rows_shape(const struct pd_device *device);
uint64_t pd_cpu_rows_groups(polyad_context *context, const struct pd_device *device);

#endif
