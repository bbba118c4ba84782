/* One kind of kernel for two, three, four and any number of inputs. */
#define PD_INPUTS 2
#include "portable/instances_tiles.h"
#undef PD_INPUTS
#define PD_INPUTS 3
#include "portable/instances_tiles.h"
#undef PD_INPUTS
#define PD_INPUTS 4
#include "portable/instances_tiles.h"
#undef PD_INPUTS
#define PD_INPUTS 0
#include "portable/instances_tiles.h"
#undef PD_INPUTS
