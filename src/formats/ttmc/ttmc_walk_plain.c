#define WALK pd_ttmc_walk_plain
#include "formats/ttmc/ttmc_walk_body.h"
