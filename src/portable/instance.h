/* One instance of the kernel over rows, and what starts it (PD_LAUNCHER, the host side of a
 * backend). */
#include "portable/kernels_rows.h"
#include PD_LAUNCHER
#undef PD_TILE
#undef PD_LANES
#undef PD_VECTORS
#undef PD_PARTIAL
