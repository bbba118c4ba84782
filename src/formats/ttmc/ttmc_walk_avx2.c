#define WALK pd_ttmc_walk_avx2
#include "formats/ttmc/ttmc_walk_body.h"
