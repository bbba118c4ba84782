/* The kernels that are written once, as the CPU's backend compiled them. See README.md. */
#ifndef PD_PORTABLE_H
#define PD_PORTABLE_H

#include "core/core.h"
#include "portable/portable_launch.h"

/** The CPU's compilation of the kernels for one instruction set. */
struct pd_portable_cpu {
  struct pd_rows_shape shape;
  void (*stream)(const struct pd_stream_job *job, int threads);
  void (*rows)(const struct pd_rows_launch *launch, int threads);
};

/* They are built into a module (device/cpu/cpu_portable_module.c), which is loaded when they are
 * first needed: pd_portable_cpu_current() in device/cpu/cpu_portable.h. */

extern const struct pd_portable_cpu pd_portable_cpu_plain;
extern const struct pd_portable_cpu pd_portable_cpu_avx2;
extern const struct pd_portable_cpu pd_portable_cpu_avx512;

#endif
