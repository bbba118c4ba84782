#define WALK pd_dense_walk_avx512
#include "formats/dense/dense_walk_body.h"
