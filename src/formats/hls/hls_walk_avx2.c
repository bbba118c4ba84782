#define WALK pd_hls_walk_avx2
#include "formats/hls/hls_walk_body.h"
