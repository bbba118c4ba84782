/* Which instruction set the CPU's kernels use: the one place that asks the processor.
 *
 * Kernels that are worth it are compiled once for each set, in files NAME_plain.c, NAME_avx2.c and
 * NAME_avx512.c (cmake/isa.cmake has the compiler's options), and the table of the current set is
 * taken when they run. That is the best set which the processor has, unless the environment
 * variable POLYAD_ISA names another: "plain", "avx2" or "avx512"; "auto" and "" mean the best. The
 * variable is read once in a process, when the first kernel or device is asked for. */
#ifndef PD_ISA_H
#define PD_ISA_H

#include "core/core.h"

/** Ascending: a processor that has one has those before it. Plain is what every processor of the
 *  architecture has: on x86-64 vectors of 16 bytes without fused operations. */
enum pd_isa { PD_ISA_PLAIN, PD_ISA_AVX2, PD_ISA_AVX512, PD_ISA_COUNT };

/** What pd_isa_force() set, else what POLYAD_ISA names, else the best that this processor and
 *  system can run; also the best where the name cannot be followed, which pd_isa_check() reports.
 */
enum pd_isa pd_isa_current(void);
/** Whether this processor and build can run it. */
bool pd_isa_available(enum pd_isa isa);
/** For tests: uses `isa` from now on; PD_ISA_COUNT: no longer. */
void pd_isa_force(enum pd_isa isa);
/** "plain", "avx2", "avx512". */
const char *pd_isa_name(enum pd_isa isa);
/** Fails with POLYAD_INVALID_ARGUMENT when POLYAD_ISA names no instruction set, and with
 *  POLYAD_UNSUPPORTED when it names one that this processor cannot run. */
polyad_status pd_isa_check(polyad_context *context);
/** Whether pext and pdep may be used and are fast: the current set is not plain, and the processor
 *  has BMI2 as instructions rather than microcode (as AMD's before Zen 3). */
bool pd_isa_has_pext(void);
/** Whether AVX-512's permutations and compressions of bytes (VBMI, VBMI2) may be used: the current
 *  set is avx512, and the processor has them (Intel's since Ice Lake, AMD's since Zen 4). */
bool pd_isa_has_byte_permutations(void);

/** A table that pd_isa_current() indexes: name_plain, name_avx2 and name_avx512 of those sets that
 *  this build is for. */
#if defined(__x86_64__)
#define PD_FOR_EACH_ISA(name)                                                                      \
  { name##_plain, name##_avx2, name##_avx512 }
#else
#define PD_FOR_EACH_ISA(name)                                                                      \
  { name##_plain }
#endif
/** The member of such a table that is used now. */
#define PD_ISA_PICK(type, name) (((type *const[])PD_FOR_EACH_ISA(name))[pd_isa_current()])

#endif
