#define TABLE pd_pack_functions_plain
#include "build/pack_block_body.h"
