#define WALK pd_csf_walk_avx512
#include "formats/csf/csf_walk_body.h"
