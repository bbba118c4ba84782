#define TABLE pd_tuple_functions_plain
#include "tensor/tuple_block_body.h"
