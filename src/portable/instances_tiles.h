/* One kind of kernel for one number of inputs, in the tiles that the backend names. The kinds that
 * are not bound by what a tile holds come in one whole and one partial tile only. */
#if PD_KIND < 2
#define PD_TILE 0
#define PD_LANES PD_TILE0_LANES
#define PD_VECTORS PD_TILE0_VECTORS
#define PD_PARTIAL 0
#include "portable/instance.h"
#endif

#define PD_TILE 1
#define PD_LANES PD_TILE1_LANES
#define PD_VECTORS PD_TILE1_VECTORS
#define PD_PARTIAL 0
#include "portable/instance.h"

#if PD_KIND < 2
#define PD_TILE 2
#define PD_LANES PD_TILE2_LANES
#define PD_VECTORS PD_TILE2_VECTORS
#define PD_PARTIAL 0
#include "portable/instance.h"
#endif

#define PD_TILE 3
#define PD_LANES PD_TILE1_LANES
#define PD_VECTORS PD_TILE1_VECTORS
#define PD_PARTIAL 1
#include "portable/instance.h"
