/* The allocator of the fuzz targets. */
#ifndef PD_FUZZ_MEMORY_H
#define PD_FUZZ_MEMORY_H

#include <polyad/context.h>

/** Keeps large blocks for the next run: under AddressSanitizer each new one would be mapped and
 *  unmapped, which takes longer than the rest of a run. What a program may not touch of a kept
 *  block, and a strip behind one in use, is poisoned: errors are found nearly as in a new one. */
extern const polyad_allocator fuzz_allocator;

#endif
