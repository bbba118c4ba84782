/* The kernels that are written once, as the CPU's backend compiled them, and what describes a run
 * of STREAM on any device. See README.md. */
#ifndef PD_PORTABLE_H
#define PD_PORTABLE_H

#include "core/core.h"
#include <polyad/stream.h>

/** One loop of STREAM over arrays of `count` numbers, a multiple of PD_STREAM_UNIT, in memory of
 *  the device that runs it. */
struct pd_stream_job {
  polyad_stream_loop loop;
  polyad_type type;
  uint64_t count;
  void *a, *b, *c;
  double scalar;
};

enum { PD_STREAM_UNIT = 4096 };

/** The CPU's compilation of the kernels for one instruction set. */
struct pd_portable_cpu {
  const char *capability; /* as pd_cpu_capability() says it */
  void (*stream)(const struct pd_stream_job *job, int threads);
};

/** Those for a capability: the best that the machine has is pd_cpu_capability(). */
const struct pd_portable_cpu *pd_portable_cpu_for(const char *capability);

extern const struct pd_portable_cpu pd_portable_cpu_plain;
extern const struct pd_portable_cpu pd_portable_cpu_avx2;
extern const struct pd_portable_cpu pd_portable_cpu_avx512;

#endif
