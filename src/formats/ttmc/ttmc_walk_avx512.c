#define WALK pd_ttmc_walk_avx512
#include "formats/ttmc/ttmc_walk_body.h"
