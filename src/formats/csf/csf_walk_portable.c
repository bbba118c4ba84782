#define WALK pd_csf_walk_portable
#include "formats/csf/csf_walk_body.h"
