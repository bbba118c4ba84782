#define WALK pd_hls_walk_plain
#include "formats/hls/hls_walk_body.h"
