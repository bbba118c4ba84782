#define WALK pd_ttmc_walk_portable
#include "formats/ttmc/ttmc_walk_body.h"
