/* The kernels that are written once, as the CPU's backend compiled them. See README.md. */
#ifndef PD_PORTABLE_H
#define PD_PORTABLE_H

#include "core/core.h"
#include "portable/portable_launch.h"

/** The CPU's compilation of the kernels for one instruction set. */
struct pd_portable_cpu {
  const char *capability; /* as pd_cpu_capability() says it */
  struct pd_rows_shape shape;
  void (*stream)(const struct pd_stream_job *job, int threads);
  void (*rows)(const struct pd_rows_launch *launch, int threads);
};

/** Those for a capability: the best that the machine has is pd_cpu_capability(). */
const struct pd_portable_cpu *pd_portable_cpu_for(const char *capability);

/** Makes the one above return those of `capability` whatever it is asked for; NULL: no longer. For
 *  tests, on machines that have it. */
void pd_portable_cpu_force(const char *capability);

extern const struct pd_portable_cpu pd_portable_cpu_plain;
extern const struct pd_portable_cpu pd_portable_cpu_avx2;
extern const struct pd_portable_cpu pd_portable_cpu_avx512;

#endif
