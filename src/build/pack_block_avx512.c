#define TABLE pd_pack_functions_avx512
#include "build/pack_block_body.h"
