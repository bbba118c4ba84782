#define TABLE pd_pack_functions_avx2
#include "build/pack_block_body.h"
