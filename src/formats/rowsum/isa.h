/* Which instruction set the CPU's kernels use. */
#ifndef PD_ISA_H
#define PD_ISA_H

#include <stdbool.h>

enum pd_isa { PD_ISA_PORTABLE, PD_ISA_AVX2, PD_ISA_AVX512, PD_ISA_COUNT };

/** The best that this processor and system can run, or what pd_isa_force() set. */
enum pd_isa pd_isa_current(void);
/** Whether this processor and build can run it. */
bool pd_isa_available(enum pd_isa isa);
/** For tests: uses `isa` from now on; PD_ISA_COUNT: the best again. */
void pd_isa_force(enum pd_isa isa);
/** "portable", "avx2", "avx512". */
const char *pd_isa_name(enum pd_isa isa);

#endif
