/* STREAM and the portable kernels on the CPU. */
#ifndef PD_CPU_PORTABLE_H
#define PD_CPU_PORTABLE_H

#include "device/device.h"
#include "portable/portable.h"

/** The portable kernels for the current instruction set; NULL when their module does not load. */
const struct pd_portable_cpu *pd_portable_cpu_current(void);
/** Why they are not to be had, in one line; "" when they are. */
const char *pd_portable_cpu_why_not(void);

polyad_status pd_cpu_stream(polyad_context *context, const struct pd_device *device,
                            const struct pd_stream_job *job, bool portable);
polyad_status pd_cpu_rows(polyad_context *context, const struct pd_device *device,
                          const struct pd_rows_launch *launch);
/** NULL when the portable kernels are not to be had. */
const struct pd_rows_shape *pd_cpu_rows_shape(const struct pd_device *device);
uint64_t pd_cpu_rows_groups(polyad_context *context, const struct pd_device *device);

#endif
