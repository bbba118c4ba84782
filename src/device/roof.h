/* Measuring what bounds kernels on a device. */
#ifndef PD_ROOF_H
#define PD_ROOF_H

#include "core/core.h"
#include <polyad/bench.h>

enum { PD_ROOF_FLOPS_THREADS = 1 << 18, PD_ROOF_FLOPS_SUMS = 8 };

/** One run. Arrays are on the device. */
struct pd_roof_job {
  polyad_roof what;
  polyad_type type;
  uint64_t rank, rows; /* of the table */
  uint64_t bytes;      /* of each array of a copy */
  uint64_t count;      /* rows gathered or added to; steps of each thread of the flops */
  void *table, *other; /* other: where a copy goes, and results that nobody reads */
  const uint32_t *index;
};

#endif
