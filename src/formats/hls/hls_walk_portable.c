#define WALK pd_hls_walk_portable
#include "formats/hls/hls_walk_body.h"
