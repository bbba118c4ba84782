#define TABLE pd_tuple_functions_avx2
#include "tensor/tuple_block_body.h"
