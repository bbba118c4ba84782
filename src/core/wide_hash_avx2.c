#define TABLE pd_wide_hash_avx2
#include "core/wide_hash_body.h"
