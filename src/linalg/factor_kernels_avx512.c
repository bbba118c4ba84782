#define ISA "avx512"
#define TABLE pd_factor_kernels_avx512
#include "linalg/factor_kernels_instance.h"
