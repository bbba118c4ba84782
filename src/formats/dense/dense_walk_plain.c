#define WALK pd_dense_walk_plain
#include "formats/dense/dense_walk_body.h"
