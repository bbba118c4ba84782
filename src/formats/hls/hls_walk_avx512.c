#define WALK pd_hls_walk_avx512
#include "formats/hls/hls_walk_body.h"
