#define ISA "plain"
#define TABLE pd_factor_kernels_plain
#include "linalg/factor_kernels_instance.h"
