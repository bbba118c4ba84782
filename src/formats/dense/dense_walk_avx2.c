#define WALK pd_dense_walk_avx2
#include "formats/dense/dense_walk_body.h"
