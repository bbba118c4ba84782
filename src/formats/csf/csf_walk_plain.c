#define WALK pd_csf_walk_plain
#include "formats/csf/csf_walk_body.h"
