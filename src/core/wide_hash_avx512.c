#define TABLE pd_wide_hash_avx512
#include "core/wide_hash_body.h"
