#define TABLE pd_tuple_functions_avx512
#include "tensor/tuple_block_body.h"
