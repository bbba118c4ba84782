/* All instances of KERNEL_BODY for both types and vectors of FULL_BYTES bytes, and of TYPE_BODY, if
 * there is one, for both types. */

/* What is to be unrolled says so: -O3 would make twice as much of it, no faster. */
#define PD_UNROLLED _Pragma("GCC unroll 16")
#define PD_ROLLED _Pragma("GCC unroll 1")
#define VAL float
#define VAL_IS_DOUBLE false
#if FULL_BYTES == 64
#define FULL_LANES 16
#elif FULL_BYTES == 32
#define FULL_LANES 8
#else
#define FULL_LANES 4
#endif
#include "formats/rowsum/instances.h"
#ifdef TYPE_BODY
#include TYPE_BODY
#endif
#undef FULL_LANES
#undef VAL_IS_DOUBLE
#undef VAL
#define VAL double
#define VAL_IS_DOUBLE true
#if FULL_BYTES == 64
#define FULL_LANES 8
#elif FULL_BYTES == 32
#define FULL_LANES 4
#else
#define FULL_LANES 2
#endif
#include "formats/rowsum/instances.h"
#ifdef TYPE_BODY
#include TYPE_BODY
#endif
#undef FULL_LANES
#undef VAL_IS_DOUBLE
#undef VAL
